// Cores, NUMA nodes and GPUs of this machine or of a recorded one, read with hwloc.
#pragma once

#include <bitset>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/vendor.hpp"

namespace drl {

// A set of hardware threads, by the operating system's numbers. Its size is that of cpu_set_t.
using CpuSet = std::bitset<1024>;

std::string to_text(const CpuSet& cpus);       // "0-3,64-67"; "" if empty
CpuSet cpus_of_text(const std::string& text);  // inverse of to_text

// Returns the hardware threads that this process may use; empty if the system does not report them.
CpuSet allowed_cpus();
// Binds all existing threads of this process, and those created later. Returns false if the system refuses.
bool bind_this_process(const CpuSet& cpus);

class Topology {
 public:
  struct Gpu {
    std::string pci;  // "0000:0f:00.0"
    CpuSet near;      // hardware threads of its NUMA node or package; of the whole node if the locality is unknown
  };
  enum class Read { cores, cores_and_gpus };  // with PCI devices, reading takes 13 ms instead of 2 ms

  // Returns the topology of this machine, which is read once. It has no cores if it cannot be read.
  static const Topology& of_this_machine(Read what);
  // Reads a file that `lstopo FILE.xml` wrote. Throws Error.
  static Topology of_file(const std::filesystem::path& file);

  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  ~Topology();

  CpuSet all_cpus() const;

  // Returns the number of physical cores that these hardware threads belong to. Hardware threads of one core share its
  // arithmetic units.
  int count_cores(const CpuSet& cpus) const;
  // Returns all hardware threads of the cores that `cpus` belongs to.
  CpuSet whole_cores(const CpuSet& cpus) const;

  // Divides the cores of `cpus` into `parts` disjoint parts of neighbouring cores, spread evenly over packages, NUMA
  // nodes and caches. Returns an empty list if there are fewer cores than parts.
  std::vector<CpuSet> divide(const CpuSet& cpus, int parts) const;

  // Returns the GPUs of this vendor in PCI bus order. Slurm and nvidia-smi number GPUs in this order, and CUDA does so
  // if all GPUs are of the same model. AMD's are only those for computing, not graphics cards, among which are the
  // processors' own.
  std::vector<Gpu> gpus(const GpuVendor& vendor = kGpuVendor) const;

 private:
  struct Handle;
  explicit Topology(std::unique_ptr<Handle> handle);
  static Topology read(Read what);
  friend CpuSet allowed_cpus();
  friend bool bind_this_process(const CpuSet& cpus);
  std::unique_ptr<Handle> handle_;
};

// The machine that this process runs on.

struct Machine {
  std::string cpu_model;
  int cores = 1;          // physical cores that this process may use at a time, which a quota may limit
  int allowed_cores = 1;  // physical cores that this process may run on
  int host_cores = 1;     // physical cores of the machine, or the quota if that is less
};

Machine this_machine();

// Returns how many hardware threads the cgroup of this process and its parents give time to, rounded up; 0 if they have
// no quota. Containers (docker --cpus) and services (CPUQuota) have one, and still see all cores. `root` contains
// /proc/self/cgroup and /sys/fs/cgroup.
int cpu_quota(const std::filesystem::path& root = "/");
// Returns the bytes that this process may still use: what the machine has left, or less if a cgroup limits memory, as
// that of a Slurm job may; none if neither can be read.
std::optional<int64_t> available_memory(const std::filesystem::path& root = "/");
// Returns the CPU's name from /proc/cpuinfo. Arm CPUs only have numbers there: "aarch64 (implementer 0x41, part
// 0xd4f)". Pure.
std::string cpu_model_of(const std::string& cpuinfo, const std::string& architecture);

}  // namespace drl
