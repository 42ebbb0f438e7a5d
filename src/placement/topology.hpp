// Cores, NUMA nodes and GPUs of a node, as hwloc reads them: of this machine, or of a recorded one.
#pragma once

#include <bitset>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace drl {

// Hardware threads by the operating system's numbers; as many as cpu_set_t holds.
using CpuSet = std::bitset<1024>;

std::string to_text(const CpuSet& cpus);       // "0-3,64-67", "" when empty
CpuSet cpus_of_text(const std::string& text);  // its inverse

CpuSet allowed_cpus();  // those that this process may use; empty if the system does not say
// All threads that there are, and those that come; false if the system refuses.
bool bind_this_process(const CpuSet& cpus);

class Topology {
 public:
  struct Gpu {
    std::string pci;  // "0000:0f:00.0"
    CpuSet near;      // of its NUMA node or package, or of the whole node when the system does not know
  };
  enum class Read { cores, cores_and_gpus };  // looking for PCI devices takes 13 ms instead of 2

  // Of this machine, read once; without any cores if it cannot be read.
  static const Topology& of_this_machine(Read what);
  // As `lstopo FILE.xml` writes it. Throws Error.
  static Topology of_file(const std::filesystem::path& file);

  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  ~Topology();

  CpuSet all_cpus() const;

  // Physical cores that these hardware threads belong to: two threads of a core share its arithmetic units.
  int count_cores(const CpuSet& cpus) const;
  // All hardware threads of these cores.
  CpuSet whole_cores(const CpuSet& cpus) const;

  // The cores of `cpus` in `parts` disjoint parts, evenly over packages, NUMA nodes and caches, each of neighbours.
  // Empty if cores are fewer than parts.
  std::vector<CpuSet> divide(const CpuSet& cpus, int parts) const;

  // NVIDIA's, in the order of the PCI bus: so do Slurm and nvidia-smi number them, and CUDA if they are equal.
  std::vector<Gpu> gpus() const;

 private:
  struct Handle;
  explicit Topology(std::unique_ptr<Handle> handle);
  static Topology read(Read what);
  friend CpuSet allowed_cpus();
  friend bool bind_this_process(const CpuSet& cpus);
  std::unique_ptr<Handle> handle_;
};

}  // namespace drl
