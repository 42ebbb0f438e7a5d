#include "placement/machine.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "placement/topology.hpp"

namespace drl {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  utsname system{};
  uname(&system);
  return cpu_model_of({std::istreambuf_iterator<char>(file), {}}, system.machine);
}

}  // namespace

Machine this_machine() {
  const Topology& topology = Topology::of_this_machine(Topology::Read::cores);
  const auto cores = [&](const CpuSet& cpus) { return std::max(1, topology.count_cores(cpus)); };
  return {cpu_model(), cores(allowed_cpus()), cores(topology.all_cpus())};
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

}  // namespace drl
