#include "comm/session.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <filesystem>

#include "base/check.hpp"
#include "base/failure.hpp"
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

// Returns whether this Open MPI was built with support for srun's PMI-1 or PMI-2, which is visible from its plugins.
// Returns true if it has no plugins to inspect.
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
constexpr const char* kSrunPlugin = "pmi2 (on a Cray: cray_shasta)";
#endif

// Returns the reason why MPI does not find the ranks that srun started, and the command to type.
std::string srun_mismatch() {
  const std::string plugin = process_environment()("SLURM_MPI_TYPE").value_or("");
  return " (srun" + (plugin.empty() ? "" : " --mpi=" + plugin) + " does not work with " + kMpi +
         "): start drl with srun --mpi=" + kSrunPlugin +
         "; if \"srun --mpi=list\" does not show this plugin, start drl with mpirun in an salloc or sbatch job";
}

// Returns the reason why MPI does not find the ranks, and what to type.
std::string launcher_mismatch(const LaunchInfo& launch) {
  if (launch.launcher == "srun") return srun_mismatch();
  return " (the launcher " + launch.launcher + " does not work with this " + kMpi +
         "): use the mpirun of the MPI that drl was built with";
}

// Otherwise Open MPI would end the program with forty lines from every rank.
void check_launcher_speaks_to_mpi(const LaunchInfo& launch) {
  if (speaks_to_mpi(launch)) return;
  if (launch.rank != 0) throw ReportedError(kUsage);
  throw UsageError("MPI cannot start" + launcher_mismatch(launch));
}

// Switches off MPI's GPU support, and logs the variables of the user that it changes.
void keep_mpi_off_gpus() {
  const Environment environment = process_environment();
  std::vector<std::string> changed;
  for (const Setting& setting : host_data_only(environment, kMpich)) {
    if (const auto value = environment(setting.name))
      changed.push_back(fmt::format("{}={} is {}{}", setting.name, printable(*value),
                                    setting.value ? "set to " : "unset", setting.value ? setting.value : ""));
    setting.value ? setenv(setting.name, setting.value, 1) : unsetenv(setting.name);
  }
  if (!changed.empty()) log::info("MPI transfers host data only, so {}", join(changed, ", "));
}

// hwloc, which MPI and drl use to find cores, loads all of its plugins at start: on Debian those for OpenCL, X11 and
// XML with thirty libraries, and on GPU nodes CUDA's. drl only needs the PCI plugin. A list that the user has set is
// kept.
void leave_out_hwloc_plugins() {
  setenv("HWLOC_PLUGINS_BLACKLIST",
         "hwloc_xml_libxml,hwloc_opencl,hwloc_gl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,hwloc_levelzero", 0);
}

bool has_started_mpi = false;

// Initialises MPI for one thread, which makes all MPI calls, and finalises it at the end.
class MpiLibrary {
 public:
  explicit MpiLibrary(const LaunchInfo& launch) : initialised_(launch.launched()) {
    if (!initialised_) return;
    check_launcher_speaks_to_mpi(launch);
    keep_mpi_off_gpus();
    has_started_mpi = true;
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED)
      throw Error(
          "MPI_Init_thread failed (drl's MPI library may not be that of the launcher): run ldd on the program and "
          "compare with mpirun --version");
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
  // All ranks see a wrong size, so only the first one reports it. Only some ranks see a wrong rank, so each reports it.
  if (launch.rank != 0 && comm.size() != launch.world_size) throw ReportedError(kUsage);
  throw UsageError(fmt::format("MPI sees rank {} of {}, but {} started rank {} of {}{}", comm.rank(), comm.size(),
                               launch.launcher, launch.rank, launch.world_size, launcher_mismatch(launch)));
}

// Ends all ranks after an error that the other ranks do not know about; they may be waiting for this one. Never
// returns, because MPI_Finalize would wait for the others.
[[noreturn]] void abort_all(Communicator& comm, const char* message, int exit_code) noexcept {
  try {
    log::error("{}", message);
  } catch (...) {  // no memory for the message
  }
  comm.abort(exit_code);
  std::_Exit(exit_code);  // never reached; compilers do not know that the virtual function does not return
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// Called by the address sanitizer (DRL_SANITIZE=address). Ranks are not checked for leaks: MPI leaks, and unloads its
// plugins before the check, which then cannot tell whose leaks they are.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() { return has_started_mpi; }
#endif

std::vector<Setting> host_data_only(const Environment& environment, bool mpich) {
  std::vector<Setting> settings;
  const auto gpu_support = environment("MPICH_GPU_SUPPORT_ENABLED");
  if (gpu_support ? *gpu_support != "0" : mpich) settings.push_back({"MPICH_GPU_SUPPORT_ENABLED", "0"});
  if (environment("MPICH_OFI_NIC_POLICY") == "GPU") settings.push_back({"MPICH_OFI_NIC_POLICY", nullptr});
  // Open MPI 4 and 5. Its CUDA support makes a context on GPU 0 in each rank: github.com/open-mpi/ompi/issues/11949.
  if (!mpich)
    for (const Setting setting : {Setting{"OMPI_MCA_opal_cuda_support", "0"}, Setting{"OMPI_MCA_accelerator", "null"}})
      if (!environment(setting.name)) settings.push_back(setting);
  return settings;
}

bool speaks_to_mpi(const LaunchInfo& launch) {
#ifdef OPEN_MPI
  const Environment environment = process_environment();
  const bool flux = launch.launcher == "flux" && environment("FLUX_PMI_LIBRARY_PATH");  // Open MPI 4 loads it
  return environment("PMIX_RANK") || flux || (environment("PMI_RANK") && speaks_pmi());
#else
  (void)launch;
  return true;  // MPICH finds out when it starts
#endif
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
      abort_all(*comm, error.what(), error.exit_code());
    } catch (const std::exception& error) {
      abort_all(*comm, message_of(error), kFailure);
    }
  } catch (const ReportedError& error) {
    return error.exit_code();
  } catch (const UsageError& error) {  // the same on all ranks; thrown before the communicator existed
    log::write(log::Level::common_error, error.what());
    return error.exit_code();
  } catch (const Error& error) {
    log::error("{}", error.what());
    return error.exit_code();
  }
}

}  // namespace drl
