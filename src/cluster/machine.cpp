#include "cluster/machine.hpp"

#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "cluster/topology.hpp"

namespace drl {
namespace {

std::string host_name() {
  char name[256] = "localhost";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  utsname system{};
  uname(&system);
  return cpu_model_of({std::istreambuf_iterator<char>(file), {}}, system.machine);
}

std::string formatted_utc_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::tm parts{};
  std::strftime(text, sizeof(text), format, gmtime_r(&now, &parts));
  return text;
}

}  // namespace

Machine this_machine() {
  const Topology& topology = Topology::of_this_machine(Topology::Read::cores);
  const auto cores = [&](const CpuSet& cpus) { return std::max(1, topology.count_cores(cpus)); };
  return {host_name(), cpu_model(), cores(allowed_cpus()), cores(topology.all_cpus())};
}

std::string cpu_model_of(const std::string& cpuinfo, const std::string& architecture) {
  const auto value_of = [&](const std::string& name) -> std::string {
    std::istringstream lines(cpuinfo);
    for (std::string line; std::getline(lines, line);)
      if (const size_t colon = line.find(": "); line.starts_with(name) && colon != std::string::npos)
        return line.substr(colon + 2);
    return "";
  };
  if (const std::string model = value_of("model name"); !model.empty()) return model;
  const std::string implementer = value_of("CPU implementer"), part = value_of("CPU part");
  if (part.empty()) return architecture.empty() ? "unknown CPU" : architecture;
  return architecture + " (implementer " + implementer + ", part " + part + ")";
}

// Open MPI goes on after a comma, MPICH and Cray MPICH in further lines.
std::string short_mpi_version(const std::string& text) {
  static const std::regex labels("^MPI VERSION\\s*:\\s*|Version:\\s*");
  return std::regex_replace(text.substr(0, text.find_first_of(",\n")), labels, "");
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return short_mpi_version(std::string(text, static_cast<size_t>(length)));
}

std::string network_variables() {
#ifdef OPEN_MPI
  return "OMPI_MCA_btl_tcp_if_include=ib0 (with UCX: UCX_NET_DEVICES=mlx5_0:1)";
#else
  return "FI_TCP_IFACE=ib0 (with UCX: UCX_NET_DEVICES=mlx5_0:1)";
#endif
}

std::string mpi_thread_level() {
  int running = 0, level = 0;
  MPI_Initialized(&running);
  if (!running) return "";
  MPI_Query_thread(&level);
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "single";
    case MPI_THREAD_FUNNELED:
      return "funneled";
    case MPI_THREAD_SERIALIZED:
      return "serialized";
    default:
      return "multiple";
  }
}

std::string utc_time() { return formatted_utc_time("%Y-%m-%dT%H:%M:%SZ"); }
std::string utc_time_for_names() { return formatted_utc_time("%Y-%m-%d_%H-%M-%S"); }

}  // namespace drl
