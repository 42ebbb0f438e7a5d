#include "placement/topology.hpp"

#include <hwloc.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {

namespace {

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

Bitmap bitmap_of(const CpuSet& cpus) {
  Bitmap bitmap(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  for (size_t cpu = 0; cpu < cpus.size(); ++cpu)
    if (cpus[cpu]) hwloc_bitmap_set(bitmap.get(), static_cast<unsigned>(cpu));
  return bitmap;
}

CpuSet cpus_of(hwloc_const_bitmap_t bitmap) {
  CpuSet cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0 && cpu < static_cast<int>(cpus.size());
       cpu = hwloc_bitmap_next(bitmap, cpu))
    cpus.set(static_cast<size_t>(cpu));
  return cpus;
}

}  // namespace

std::string to_text(const CpuSet& cpus) {
  char* list = nullptr;
  if (hwloc_bitmap_list_asprintf(&list, bitmap_of(cpus).get()) < 0) return "";
  const std::unique_ptr<char, decltype(&std::free)> owner(list, std::free);
  return list;
}

CpuSet cpus_of_text(const std::string& text) {
  const Bitmap bitmap(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  DRL_CHECK(hwloc_bitmap_list_sscanf(bitmap.get(), text.c_str()) == 0, text);
  return cpus_of(bitmap.get());
}

struct Topology::Handle {
  explicit Handle(Read what) {
    DRL_CHECK(hwloc_topology_init(&topology) == 0, "hwloc");
    // Include cores that a container hides.
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    // The operating system reports the topology. hwloc's x86 component would query every core by running on it, and
    // wait for cores that are busy.
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (what == Read::cores_and_gpus)
      hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  }
  explicit Handle(hwloc_topology_t loaded) : topology(loaded) {}
  ~Handle() { hwloc_topology_destroy(topology); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Some machines (virtual machines, some ARM) do not report which hardware threads share a core. There, each hardware
  // thread counts as a core.
  int core_depth() const { return hwloc_get_type_or_below_depth(topology, HWLOC_OBJ_CORE); }
  hwloc_obj_t next_core(hwloc_obj_t core) const {
    return loaded ? hwloc_get_next_obj_by_depth(topology, core_depth(), core) : nullptr;
  }

  hwloc_topology_t topology = nullptr;
  bool loaded = true;
};

Topology::Topology(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

Topology Topology::read(Read what) {
  auto handle = std::make_unique<Handle>(what);
  handle->loaded = hwloc_topology_load(handle->topology) == 0;
  return Topology(std::move(handle));
}

const Topology& Topology::of_this_machine(Read what) {
  if (what == Read::cores_and_gpus) {
    static const Topology all = read(Read::cores_and_gpus);
    return all;
  }
  static const Topology cores = read(Read::cores);
  return cores;
}

Topology Topology::of_file(const std::filesystem::path& file) {
  auto handle = std::make_unique<Handle>(Read::cores_and_gpus);
  handle->loaded =
      hwloc_topology_set_xml(handle->topology, file.c_str()) == 0 && hwloc_topology_load(handle->topology) == 0;
  if (!handle->loaded)
    throw Error("cannot read the topology " + file.string() +
                " (hwloc does not accept the file): record it again with lstopo " + file.string());
  return Topology(std::move(handle));
}

CpuSet allowed_cpus() {
  const Bitmap allowed(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const auto topology = Topology::of_this_machine(Topology::Read::cores).handle_->topology;
  const bool known = hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_THREAD) == 0;
  return known ? cpus_of(allowed.get()) : CpuSet();
}

// Binds the whole process, so that the threads of BLAS, MPI and CUDA are bound too. hwloc visits all threads until it
// finds no new one.
bool bind_this_process(const CpuSet& cpus) {
  const auto topology = Topology::of_this_machine(Topology::Read::cores).handle_->topology;
  return hwloc_set_cpubind(topology, bitmap_of(cpus).get(), HWLOC_CPUBIND_PROCESS) == 0;
}

CpuSet Topology::all_cpus() const {
  return handle_->loaded ? cpus_of(hwloc_topology_get_topology_cpuset(handle_->topology)) : CpuSet();
}

int Topology::count_cores(const CpuSet& cpus) const {
  int cores = 0;
  const Bitmap wanted = bitmap_of(cpus);
  for (hwloc_obj_t core = handle_->next_core(nullptr); core; core = handle_->next_core(core))
    cores += hwloc_bitmap_intersects(core->cpuset, wanted.get());
  return cores;
}

CpuSet Topology::whole_cores(const CpuSet& cpus) const {
  CpuSet whole;
  const Bitmap wanted = bitmap_of(cpus);
  for (hwloc_obj_t core = handle_->next_core(nullptr); core; core = handle_->next_core(core))
    if (hwloc_bitmap_intersects(core->cpuset, wanted.get())) whole |= cpus_of(core->cpuset);
  return whole;
}

std::vector<CpuSet> Topology::divide(const CpuSet& cpus, int parts) const {
  if (parts < 1 || count_cores(cpus) < parts) return {};
  hwloc_topology_t copy = nullptr;
  if (hwloc_topology_dup(&copy, handle_->topology) != 0) return {};
  const Handle rest(copy);
  if (hwloc_topology_restrict(copy, bitmap_of(cpus).get(), 0) != 0) return {};
  std::vector<hwloc_cpuset_t> sets(static_cast<size_t>(parts), nullptr);
  hwloc_obj_t root = hwloc_get_root_obj(copy);
  if (hwloc_distrib(copy, &root, 1, sets.data(), static_cast<unsigned>(parts), rest.core_depth(), 0) != 0) return {};
  std::vector<CpuSet> result;
  for (hwloc_cpuset_t set : sets) result.push_back(cpus_of(set)), hwloc_bitmap_free(set);
  return result;
}

namespace {

// Returns whether a PCI device of a GPU vendor is a GPU, by its class. NVIDIA's have the classes of displays, among
// them 3D controllers. AMD's for computing are other displays (0x0380) or accelerators (0x12).
bool is_gpu(unsigned vendor, unsigned kind) {
  return vendor == kAmd.pci ? kind == 0x0380 || kind >> 8 == 0x12 : kind >> 8 == 0x03;
}

}  // namespace

std::vector<Topology::Gpu> Topology::gpus(const GpuVendor& vendor) const {
  std::vector<Gpu> gpus;
  if (!handle_->loaded) return gpus;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(handle_->topology, device));) {
    const auto& pci = device->attr->pcidev;
    if (pci.vendor_id != vendor.pci || !is_gpu(vendor.pci, pci.class_id)) continue;
    gpus.push_back({fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func),
                    cpus_of(hwloc_get_non_io_ancestor_obj(handle_->topology, device)->cpuset)});
  }
  std::ranges::sort(gpus, {}, &Gpu::pci);  // hwloc lists them by locality
  return gpus;
}

namespace {

std::string cpu_model() {
  utsname system{};
  uname(&system);
  return cpu_model_of(file_text("/proc/cpuinfo"), system.machine);
}

}  // namespace

Machine this_machine() {
  const Topology& topology = Topology::of_this_machine(Topology::Read::cores);
  const auto cores = [&](const CpuSet& cpus) { return std::max(1, topology.count_cores(cpus)); };
  const int allowed = cores(allowed_cpus()), all = cores(topology.all_cpus()), quota = cpu_quota();
  return {.cpu_model = cpu_model(),
          .cores = quota > 0 ? std::min(quota, allowed) : allowed,
          .allowed_cores = allowed,
          .host_cores = quota > 0 ? std::min(quota, all) : all};
}

namespace {

// Returns the quota of one cgroup in hardware threads; 0 if it has none. Version 2 has a file "50000 100000" or
// "max 100000" (time, period), and version 1 has two files, of which the first contains -1 without a quota.
double quota_of(const std::filesystem::path& group) {
  std::string text = file_text(group / "cpu.max");
  if (text.empty()) text = file_text(group / "cpu.cfs_quota_us") + " " + file_text(group / "cpu.cfs_period_us");
  std::istringstream numbers(text);
  double time = 0, period = 0;
  return numbers >> time >> period && time > 0 && period > 0 ? time / period : 0;
}

// Calls use(directory) for the cgroups of this process and their parents that control `controller`. Each line of
// /proc/self/cgroup is "NUMBER:CONTROLLERS:PATH", in version 2 "0::PATH" (cgroups(7)). A container may show the path
// outside, of which only the last parents exist in its /sys.
template <class Use>
void for_each_cgroup(const std::filesystem::path& root, const std::string& controller, const Use& use) {
  const std::filesystem::path mounts = root / "sys/fs/cgroup";
  for (const std::string& line : split(file_text(root / "proc/self/cgroup"), '\n')) {
    const size_t colon = line.find(':'), path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string controllers = path > colon ? line.substr(colon + 1, path - colon - 1) : "";
    if (!controllers.empty() && !contains(split(controllers, ','), controller)) continue;
    using Names = std::vector<std::string>;  // of directories in which the hierarchy may be
    for (const std::string& mount : controllers.empty() ? Names{"", "unified"} : Names{controllers, controller})
      for (std::filesystem::path group = line.substr(path + 2);; group = group.parent_path()) {
        use(mounts / mount / group);
        if (group.empty()) break;
      }
  }
}

// Returns the number after a name and spaces in a text such as /proc/meminfo and memory.stat.
std::optional<int64_t> number_after(const std::string& text, std::string_view name) {
  for (const std::string& line : split(text, '\n'))
    if (line.starts_with(name)) return std::atoll(line.c_str() + name.size());
  return std::nullopt;
}

// Returns the bytes that one cgroup may still use, counting files that it has read and the kernel can drop; none if it
// has no limit. Version 1 writes a number near 2^63 instead of "max".
std::optional<int64_t> memory_left_in(const std::filesystem::path& group) {
  const bool is_v2 = !file_text(group / "memory.max").empty();
  const std::string limit = file_text(group / (is_v2 ? "memory.max" : "memory.limit_in_bytes")),
                    used = file_text(group / (is_v2 ? "memory.current" : "memory.usage_in_bytes"));
  const int64_t most = std::atoll(limit.c_str());
  if (most <= 0 || used.empty()) return std::nullopt;
  const char* files = is_v2 ? "inactive_file " : "total_inactive_file ";
  const int64_t can_be_dropped = number_after(file_text(group / "memory.stat"), files).value_or(0);
  return std::max<int64_t>(0, most - std::atoll(used.c_str()) + can_be_dropped);
}

}  // namespace

int cpu_quota(const std::filesystem::path& root) {
  double least = 0;
  for_each_cgroup(root, "cpu", [&](const std::filesystem::path& group) {
    if (const double quota = quota_of(group); quota > 0) least = least > 0 ? std::min(least, quota) : quota;
  });
  return static_cast<int>(std::min(std::ceil(least), 1e6));
}

std::optional<int64_t> available_memory(const std::filesystem::path& root) {
  std::optional<int64_t> least = number_after(file_text(root / "proc/meminfo"), "MemAvailable:");
  if (least) *least *= 1024;
  for_each_cgroup(root, "memory", [&](const std::filesystem::path& group) {
    if (const std::optional<int64_t> left = memory_left_in(group)) least = least ? std::min(*least, *left) : *left;
  });
  return least;
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
