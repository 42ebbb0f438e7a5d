// The machine that this process runs on.
#pragma once

#include <string>

namespace drl {

struct Machine {
  std::string cpu_model;
  int cores = 1;       // physical cores that this process may use
  int host_cores = 1;  // physical cores of the machine
};

Machine this_machine();
// Returns the CPU's name from /proc/cpuinfo. Arm CPUs only have numbers there: "aarch64 (implementer 0x41, part
// 0xd4f)". Pure.
std::string cpu_model_of(const std::string& cpuinfo, const std::string& architecture);

}  // namespace drl
