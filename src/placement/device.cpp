#include "placement/device.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "placement/gpu_vendors.hpp"

namespace drl {
namespace {

constexpr int kMostGpus = 4096;  // of a node

namespace fs = std::filesystem;

std::optional<size_t> parse_index(const std::string& text) { return number_in<size_t>(text); }
bool is_number(const std::string& text) { return parse_index(text).has_value(); }

// Parses CUDA_VISIBLE_DEVICES as CUDA does: the list ends at the first entry that is not a device ("-1", "NoDevFiles").
std::vector<std::string> devices_in_list(const std::string& list) {
  std::vector<std::string> devices;
  for (const std::string& entry : split(list, ',')) {
    const std::string device(trim(entry));
    if (!is_number(device) && !device.starts_with("GPU-") && !device.starts_with("MIG-")) break;
    devices.push_back(device);
  }
  return devices;
}

std::vector<std::string> numbers_below(int n) {
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) names.push_back(std::to_string(i));
  return names;
}

// Returns Slurm's GPU numbers, which count the whole node's GPUs: those of the step (in a task: of the task), or else
// of the job.
std::vector<std::string> slurm_gpus(const Environment& environment) {
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"})
    if (const auto list = environment(name)) return devices_in_list(*list);
  return {};
}

// Returns the numbers that the visible devices have on the node. If Slurm hides other devices (ConstrainDevices), CUDA
// numbers those in `slurm` from 0; otherwise CUDA and Slurm use the same numbers.
std::vector<std::string> ids_on_node(const std::vector<std::string>& visible, const std::vector<std::string>& slurm) {
  const bool renumbered = !std::ranges::all_of(visible, [&](const std::string& v) { return contains(slurm, v); });
  std::vector<std::string> ids = visible;
  for (std::string& id : ids)
    if (const auto index = parse_index(id); renumbered && index && *index < slurm.size()) id = slurm[*index];
  return ids;
}

bool is_list_of(const GpuVendor& vendor, const std::string& variable) {
  return variable == vendor.slurm_list ||
         std::ranges::any_of(vendor.lists, [&](const char* list) { return list && variable == list; });
}

// Returns the variable that lists the visible GPUs: the first that is set, or else Slurm's.
const char* list_of_visible(const Environment& environment, const GpuVendor& vendor) {
  for (const char* list : vendor.lists)
    if (list && environment(list)) return list;
  return vendor.slurm_list;
}

// Returns whether the batch system granted GPUs of other vendors, by the first of their lists that is set; an empty
// list means none. Returns nullopt if no list is set. Entries may be parts of GPUs ("0.1").
std::optional<bool> lists_other_gpus(const Environment& environment, const GpuVendor& ours) {
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"})
    if (const auto list = is_list_of(ours, name) ? std::nullopt : environment(name))
      return !devices_in_list(list->substr(0, list->find('.'))).empty();
  return std::nullopt;
}

[[noreturn]] void refuse_gpu_ids(const std::string& gpu_ids, const std::string& why, size_t visible) {
  const std::string last = visible > 1 ? fmt::format(" to {}", visible - 1) : "";
  throw UsageError(fmt::format("--gpu_ids {} is not valid ({}): use --gpu_ids all{} --gpu_ids None{}",
                               printable(gpu_ids), why, visible ? "," : " or",
                               visible ? ", or a list of numbers from 0" + last + " such as --gpu_ids 0" : ""));
}

// Returns the positions in `visible` that --gpu_ids selects.
std::vector<size_t> selected_positions(size_t visible, const std::string& gpu_ids) {
  std::vector<size_t> positions;
  if (gpu_ids.empty() || gpu_ids == "all") {
    positions.resize(visible);
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
  }
  if (no_gpus(gpu_ids)) return positions;
  std::string list = gpu_ids;
  std::ranges::replace_if(
      list, [](char c) { return c == '[' || c == ']' || c == ' '; }, ',');
  for (const std::string& word : split(list, ',')) {
    if (word.empty()) continue;
    const auto position = parse_index(word);
    if (!position) refuse_gpu_ids(gpu_ids, "\"" + printable(word) + "\" is not a number", visible);
    if (*position >= visible) refuse_gpu_ids(gpu_ids, counted(visible, "GPU") + " visible, counted from 0", visible);
    if (std::ranges::count(positions, *position)) refuse_gpu_ids(gpu_ids, word + " is listed twice", visible);
    positions.push_back(*position);
  }
  if (positions.empty()) refuse_gpu_ids(gpu_ids, "the list is empty", visible);
  return positions;
}

template <class T>
std::vector<T> at_positions(const std::vector<T>& all, const std::vector<size_t>& positions) {
  std::vector<T> chosen;
  for (size_t position : positions) chosen.push_back(all[position]);
  return chosen;
}

// Assigns devices to ranks by bipartite matching with augmenting paths: placing a rank may move earlier ranks to other
// devices.
class Matching {
 public:
  explicit Matching(const std::vector<std::vector<std::string>>& ids) : ids_(ids) {}

  bool place(size_t rank) {
    seen_.clear();
    return take(rank);
  }
  const std::map<std::string, size_t>& holders() const { return holders_; }

 private:
  bool take(size_t rank) {
    for (const std::string& id : ids_[rank]) {
      if (!seen_.insert(id).second) continue;
      const auto holder = holders_.find(id);
      if (holder != holders_.end() && !take(holder->second)) continue;
      holders_[id] = rank;
      return true;
    }
    return false;
  }

  const std::vector<std::vector<std::string>>& ids_;
  std::map<std::string, size_t> holders_;  // the rank of each assigned device
  std::set<std::string> seen_;
};

[[noreturn]] void too_few_devices(const std::vector<std::vector<std::string>>& ids) {
  std::vector<std::string> all;
  for (const auto& list : ids)
    for (const std::string& id : list)
      if (!contains(all, id)) all.push_back(id);
  std::ranges::sort(all);
  if (all.size() >= ids.size())
    throw UsageError(
        fmt::format("the {} ranks on this node cannot have one GPU each (some of them see too few of the GPUs {}): let "
                    "each rank see all GPUs, with srun --gpu-bind=none",
                    ids.size(), join(all, ", ")));
  throw UsageError(
      fmt::format("the {0} ranks on this node have only {1} ({2}; each rank needs its own): start one rank per GPU, "
                  "with srun --ntasks-per-node={3}, or with --ranks {3} on a single node",
                  ids.size(), counted(std::ssize(all), "GPU"), join(all, ", "), all.size()));
}

// Returns 0 if the variable is not set.
int gpus_on_node(const Environment& environment) {
  constexpr const char* kName = "SLURM_GPUS_ON_NODE";
  const int count = number(environment, kName).value_or(0);
  if (count <= kMostGpus) return count;
  throw UsageError(
      fmt::format("{0} = {1} (a node has at most {2}; a script may have changed it): run \"unset {0}\", or start the "
                  "program with srun",
                  kName, count, kMostGpus));
}

}  // namespace

Gpus visible_gpus(const Environment& environment, const fs::path& root, const GpuVendor& ours) {
  Gpus gpus;
  const std::vector<std::string> slurm = slurm_gpus(environment);
  const int on_node = std::max(gpus_on_node(environment), static_cast<int>(slurm.size()));
  gpus.in_job = environment("SLURM_JOB_ID").has_value();
  const GpuVendors vendors = gpu_vendors(root);
  gpus.physical = vendors.has(ours);
  gpus.list = list_of_visible(environment, ours);
  const auto list = environment(gpus.list);
  gpus.visible = list ? devices_in_list(*list) : numbers_below(on_node);
  gpus.granted = on_node > 0 && !gpus.visible.empty();
  gpus.vendor = vendors.other_than(ours);
  if (!gpus.vendor.empty() && gpus.in_job)
    gpus.vendor_granted = lists_other_gpus(environment, ours).value_or(gpus.granted);
  gpus.ids = ids_on_node(gpus.visible, slurm);
  const auto task = environment("SLURM_LOCALID");
  // If this task sees only one of several devices, and no variable contains its number on the node, it gets a name that
  // is unique to the task.
  if (slurm.empty() && on_node > 1 && gpus.ids.size() == 1 && is_number(gpus.ids[0]) && task)
    gpus.ids[0] += " of task " + *task;
  return gpus;
}

std::vector<std::string> with_gpu_ids_joined(const std::vector<std::string>& arguments) {
  const auto is_part_of_list = [](const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789,[] ") == std::string::npos;
  };
  std::vector<std::string> joined;
  for (const std::string& word : arguments) {
    const size_t size = joined.size();
    const bool goes_on = size >= 2 && (joined[size - 2] == "--gpu_ids" || joined[size - 2] == "--gpu-ids") &&
                         is_part_of_list(joined[size - 1]) && is_part_of_list(word);
    if (goes_on) {
      joined.back() += "," + word;
    } else {
      joined.push_back(word);
    }
  }
  return joined;
}

bool no_gpus(const std::string& gpu_ids) { return gpu_ids == "None" || gpu_ids == "none"; }

std::string kind_of_device(const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  return kind == "hip" ? "cuda" : kind;
}

std::string kind_of_gpu_ids(const std::string& gpu_ids) { return no_gpus(gpu_ids) ? "None" : ""; }

Gpus select_gpus(Gpus gpus, const std::string& gpu_ids) {
  const std::vector<size_t> positions = selected_positions(gpus.visible.size(), gpu_ids);
  if (gpus.indices.empty())
    gpus.indices.resize(gpus.visible.size()), std::iota(gpus.indices.begin(), gpus.indices.end(), 0);
  gpus.visible = at_positions(gpus.visible, positions);
  gpus.ids = at_positions(gpus.ids, positions);
  gpus.indices = at_positions(gpus.indices, positions);
  return gpus;
}

std::vector<int> assign_devices(const std::vector<std::vector<std::string>>& ids) {
  std::vector<int> positions(ids.size(), -1);
  if (std::ranges::all_of(ids, [](const auto& list) { return list.empty(); })) return positions;
  Matching matching(ids);
  for (size_t rank = ids.size(); rank-- > 0;)  // in reverse order, so that the first ranks get their first devices
    if (!matching.place(rank)) too_few_devices(ids);
  for (const auto& [id, rank] : matching.holders())
    positions[rank] = static_cast<int>(std::ranges::find(ids[rank], id) - ids[rank].begin());
  return positions;
}

namespace {

// Returns the GPUs in `gpus`, which Slurm or CUDA_VISIBLE_DEVICES listed, or else all GPUs that the driver shows.
Gpus or_all_of_driver(Gpus gpus, const CudaSupport& cuda) {
  if (!gpus.visible.empty() || cuda.devices == 0) return gpus;
  gpus.visible = gpus.ids = numbers_below(cuda.devices);
  return gpus;
}

// --device cuda:N means --device cuda --gpu_ids N.
std::string gpu_ids_of(const std::string& device, const std::string& gpu_ids) {
  const size_t colon = device.find(':');
  if (colon == std::string::npos) return gpu_ids;
  const std::string number = device.substr(colon + 1);
  if (!is_number(number))
    throw UsageError("--device " + printable(device) +
                     " is not valid (a GPU's number must follow the colon): use --device cuda:0");
  if (!gpu_ids.empty() && gpu_ids != "all" && gpu_ids != number)
    throw UsageError(fmt::format(
        "--device {0} and --gpu_ids {1} select different GPUs (use one of the two options): use --device {0}", device,
        printable(gpu_ids)));
  return number;
}

std::string remedy(const CudaSupport& cuda, const std::string& otherwise) {
  return cuda.remedy.empty() ? otherwise : cuda.remedy;
}

// Returns the choice if CUDA shows no GPU. Throws UsageError if the GPUs of a Slurm job would be idle.
DeviceChoice choose_cpu(const Gpus& gpus, const CudaSupport& cuda, const GpuVendor& ours) {
  DeviceChoice choice;
  if (gpus.vendor_granted)
    throw UsageError(
        fmt::format("the job's GPUs would be idle (they are {} GPUs; this build of drl runs on {} GPUs and CPUs only): "
                    "request nodes with {} GPUs, or request no GPUs and use --device cpu",
                    gpus.vendor, ours.name, ours.name));
  const std::string why = !cuda.built ? "this build of drl has no GPU support" : cuda.trouble;
  if (gpus.granted && gpus.physical)
    throw UsageError("the job's GPUs would be idle (" + why + "): " +
                     (cuda.built ? remedy(cuda, fmt::format("run {} and drl_doctor on this node", ours.show_gpus))
                                 : "build drl with GPU support (docs/howto/install.md, \"GPUs\")") +
                     ", or use --device cpu");
  if (gpus.granted) {
    choice.gpus = gpus;
    choice.warning = fmt::format(
        "Slurm granted GPUs, but this node has no {} GPU: computing on the CPU, with one rank per granted GPU",
        ours.name);
  } else if (gpus.physical && !gpus.in_job) {
    choice.info = fmt::format("the {} GPU of this machine is not used ({}{})", ours.name, why,
                              cuda.built ? "" : "; docs/howto/install.md, \"GPUs\", says how to build one that has");
  }
  return choice;
}

}  // namespace

DeviceChoice choose_device(const std::string& device, const std::string& gpu_ids, const Gpus& gpus,
                           const CudaSupport& cuda, const GpuVendor& ours) {
  const bool says_hip = device == "hip" || device.starts_with("hip:");
  const bool wants_cuda = device == "cuda" || device.starts_with("cuda:") || says_hip;
  if (says_hip && ours.pci != kAmd.pci)
    throw UsageError("--device " + printable(device) +
                     " is not available (this build of drl is not for AMD GPUs): use --device cuda or --device cpu, or "
                     "build drl with -DDRL_WITH_HIP=ON (docs/howto/install.md, \"AMD GPUs\")");
  if (device != "auto" && device != "cpu" && !wants_cuda)
    throw UsageError("--device " + printable(device) +
                     " is not valid (choices: auto, cpu, cuda, cuda:N): use --device auto");
  if (wants_cuda && cuda.devices == 0 && !gpus.vendor.empty())
    throw UsageError(fmt::format(
        "--device {} is not available (this node has {} GPUs; {}): use a node with {} GPUs{}, or --device cpu",
        printable(device), gpus.vendor,
        cuda.built ? fmt::format("this build of drl runs on {} GPUs and CPUs only", ours.name)
                   : "this build of drl has no GPU support",
        ours.name, cuda.built ? "" : " and a build with GPU support (docs/howto/install.md, \"GPUs\")"));
  if (wants_cuda && !cuda.built)
    throw UsageError("--device " + printable(device) +
                     " is not available (this build of drl has no GPU support): build drl with GPU support "
                     "(docs/howto/install.md, \"GPUs\"), or use --device cpu");
  if (wants_cuda && cuda.devices == 0)
    throw UsageError("--device " + printable(device) + " is not available (" + cuda.trouble + "): " +
                     remedy(cuda, fmt::format("request GPUs (srun --gpus-per-node=4), check {}", ours.show_gpus)) +
                     ", or use --device cpu");
  if (device == "cpu" || no_gpus(gpu_ids)) return {};
  if (cuda.devices == 0) {
    DeviceChoice choice = choose_cpu(gpus, cuda, ours);
    const Gpus selected = select_gpus(gpus, gpu_ids);
    if (choice.one_rank_per_gpu()) choice.gpus = selected;
    return choice;
  }
  DeviceChoice choice;
  choice.cuda = true;
  choice.gpus = select_gpus(or_all_of_driver(gpus, cuda), gpu_ids_of(device, gpu_ids));
  return choice;
}

}  // namespace drl
