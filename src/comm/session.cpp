#include "comm/session.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <filesystem>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

#ifdef OPEN_MPI
constexpr const char* kMpi = "Open MPI";
constexpr bool kMpich = false;
constexpr const char* kSrunPlugin = "pmix";

// Whether this Open MPI can speak PMI-1 or PMI-2 with srun: only if it was built so, which shows in its plugins. True
// when it has none to look at.
bool speaks_pmi() {
  Dl_info library;
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &library) == 0) return true;
  std::error_code error;
  const fs::path folder = fs::canonical(library.dli_fname, error).parent_path();
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with("openmpi")) continue;  // Debian nests them deeper than others
    for (const auto& file : fs::recursive_directory_iterator(entry.path(), error)) {
      const std::string name = file.path().filename();
      if (name.starts_with("mca_pmix_s1") || name.starts_with("mca_pmix_s2")) return true;
      any |= name.starts_with("mca_pmix_");
    }
  }
  return !any;
}
#else
constexpr const char* kMpi = "MPICH";
constexpr bool kMpich = true;
constexpr const char* kSrunPlugin = "pmi2 (on a Cray cray_shasta)";
#endif

// Why ranks that srun started do not find each other, and what to type.
std::string srun_and_mpi_disagree() {
  const std::string plugin = process_environment()("SLURM_MPI_TYPE").value_or("");
  return " (srun" + (plugin.empty() ? "" : " --mpi=" + plugin) + " and " + kMpi +
         " do not know each other): start it by srun --mpi=" + kSrunPlugin +
         "; if \"srun --mpi=list\" has no such plugin, by mpirun within salloc or sbatch";
}

// Why ranks do not find each other, and what to type.
std::string disagreement(const LaunchInfo& launch) {
  if (launch.launcher == "srun") return srun_and_mpi_disagree();
  return " (the launcher and " + std::string(kMpi) +
         " do not know each other): use the mpirun of the MPI that drl was built with";
}

// Open MPI ends the program where the launcher gave it nothing to find the other ranks by, with forty lines from every
// rank.
void check_launcher_speaks_to_mpi(const LaunchInfo& launch) {
#ifdef OPEN_MPI
  const Environment environment = process_environment();
  const bool flux = launch.launcher == "flux" && environment("FLUX_PMI_LIBRARY_PATH");  // which Open MPI 4 loads
  if (environment("PMIX_RANK") || flux || (environment("PMI_RANK") && speaks_pmi())) return;
  if (launch.rank != 0) throw ReportedError(kUsage);
  throw UsageError("MPI cannot start" + disagreement(launch));
#else
  (void)launch;
#endif
}

// Says what it takes from the user.
void keep_mpi_off_gpus() {
  const Environment environment = process_environment();
  std::vector<std::string> changed;
  for (const Setting& setting : host_data_only(environment, kMpich)) {
    if (const auto value = environment(setting.name))
      changed.push_back(fmt::format("{}={} is {}{}", setting.name, printable(*value),
                                    setting.value ? "set to " : "unset", setting.value ? setting.value : ""));
    setting.value ? setenv(setting.name, setting.value, 1) : unsetenv(setting.name);
  }
  if (!changed.empty()) log::info("MPI carries host data only: {}", join(changed, ", "));
}

// hwloc, which tells MPI and us where cores are, opens all of its plugins first: in Debian for OpenCL, X11 and XML,
// with thirty libraries; on GPU nodes CUDA's too. Of them we ask for the PCI bus only. A user's own list stays.
void leave_out_hwloc_plugins() {
  setenv("HWLOC_PLUGINS_BLACKLIST",
         "hwloc_xml_libxml,hwloc_opencl,hwloc_gl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,hwloc_levelzero", 0);
}

// MPI_Init by one thread that alone calls MPI afterwards; finalised unless the rank fails.
class MpiLibrary {
 public:
  explicit MpiLibrary(const LaunchInfo& launch) : initialised_(launch.launched()) {
    if (!initialised_) return;
    check_launcher_speaks_to_mpi(launch);
    keep_mpi_off_gpus();
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
  // Every rank sees a wrong size, and the first one says it. Wrong numbers only some see, and so end all.
  if (launch.rank != 0 && comm.size() != launch.world_size) throw ReportedError(kUsage);
  throw UsageError(fmt::format("MPI sees rank {} of {}, but {} started rank {} of {}{}", comm.rank(), comm.size(),
                               launch.launcher, launch.rank, launch.world_size, disagreement(launch)));
}

// The other ranks do not know of this error, and may be waiting for us.
int abort_all(Communicator& comm, const char* message, int exit_code) {
  log::error("{}", message);
  comm.abort(exit_code);
  return exit_code;
}

}  // namespace

std::vector<Setting> host_data_only(const Environment& environment, bool mpich) {
  std::vector<Setting> settings;
  const auto gpu_support = environment("MPICH_GPU_SUPPORT_ENABLED");
  if (gpu_support ? *gpu_support != "0" : mpich) settings.push_back({"MPICH_GPU_SUPPORT_ENABLED", "0"});
  if (environment("MPICH_OFI_NIC_POLICY") == "GPU") settings.push_back({"MPICH_OFI_NIC_POLICY", nullptr});
  return settings;
}

int run_session(const LaunchInfo& launch, const std::function<int(Communicator&)>& body) {
  try {
    leave_out_hwloc_plugins();
    MpiLibrary mpi(launch);
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
  } catch (const ReportedError& error) {
    return error.exit_code();
  } catch (const UsageError& error) {  // of all ranks alike; before there was a communicator
    log::write(log::Level::common_error, error.what());
    return error.exit_code();
  } catch (const Error& error) {
    log::error("{}", error.what());
    return error.exit_code();
  }
}

}  // namespace drl
