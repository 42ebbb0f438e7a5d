#include "cluster/session.hpp"

#include <mpi.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace drl {
namespace {

// MPI_Init by one thread that alone calls MPI afterwards; finalised unless the rank fails.
class MpiLibrary {
 public:
  explicit MpiLibrary(bool needed) : initialised_(needed) {
    if (!needed) return;
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED)
      throw Error("MPI could not be initialised: check that the program's MPI library is the launcher's");
  }
  ~MpiLibrary() {
    if (initialised_) MPI_Finalize();
  }
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

 private:
  bool initialised_;
};

void check_world(const LaunchInfo& launch, const Communicator& comm) {
  if (comm.rank() == launch.rank && comm.size() == launch.world_size) return;
  if (launch.rank != 0) throw ReportedError(kUsage);  // every rank sees it, the first one says it
  throw UsageError("MPI sees rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size()) + ", but " +
                   launch.launcher + " started rank " + std::to_string(launch.rank) + " of " +
                   std::to_string(launch.world_size) +
                   " (the launcher and the MPI library do not know each other): use the mpirun of the MPI that drl was "
                   "built with, or srun --mpi=pmix");
}

// The other ranks do not know of this error, and may be waiting for us.
int abort_all(Communicator& comm, const char* message, int exit_code) {
  log::error("{}", message);
  comm.abort(exit_code);
  return exit_code;
}

}  // namespace

int run_session(const LaunchInfo& launch, const std::function<int(Communicator&)>& body) {
  try {
    MpiLibrary mpi(launch.launched());
    const std::unique_ptr<Communicator> comm = launch.launched() ? make_mpi_communicator() : make_serial_communicator();
    try {
      check_world(launch, *comm);
      return body(*comm);
    } catch (const ReportedError& error) {
      return error.exit_code();
    } catch (const SharedError& error) {
      if (comm->rank() == 0) log::write(log::Level::common_error, error.what());
      return error.exit_code();
    } catch (const Error& error) {
      return abort_all(*comm, error.what(), error.exit_code());
    } catch (const std::exception& error) {
      return abort_all(*comm, error.what(), kFailure);
    }
  } catch (const Error& error) {  // before there was a communicator
    log::error("{}", error.what());
    return error.exit_code();
  }
}

}  // namespace drl
