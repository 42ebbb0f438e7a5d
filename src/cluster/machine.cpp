#include "cluster/machine.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <set>

namespace drl {
namespace {

std::string host_name() {
  char name[256] = "localhost";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Two hardware threads of one core share its arithmetic units: they count once.
int physical_cores(const cpu_set_t& cpus) {
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cpus)) {
      const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      const std::string core = first_line(topology + "core_id");
      cores.insert(core.empty() ? "cpu" + std::to_string(cpu)
                                : first_line(topology + "physical_package_id") + ":" + core);
    }
  return static_cast<int>(cores.size());
}

int usable_cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? physical_cores(allowed) : 1;
}

int host_cores() {
  cpu_set_t online;
  CPU_ZERO(&online);
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &online);
  return physical_cores(online);
}

std::string formatted_utc_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::tm parts{};
  std::strftime(text, sizeof(text), format, gmtime_r(&now, &parts));
  return text;
}

}  // namespace

Machine this_machine() { return {host_name(), cpu_model(), usable_cores(), host_cores()}; }

// "Open MPI v4.1.4, package: ..." up to the first comma; MPICH has lines.
std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

std::string utc_time() { return formatted_utc_time("%Y-%m-%dT%H:%M:%SZ"); }
std::string utc_time_for_names() { return formatted_utc_time("%Y-%m-%d_%H-%M-%S"); }

}  // namespace drl
