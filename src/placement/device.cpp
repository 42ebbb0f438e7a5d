#include "placement/device.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

std::optional<size_t> place_in(const std::string& text) { return number_in<size_t>(text); }
bool is_number(const std::string& text) { return place_in(text).has_value(); }

// As CUDA reads CUDA_VISIBLE_DEVICES: what stands before the first entry that is no device ("-1", "NoDevFiles").
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

// Slurm's numbers, which are those of the whole node: of the step (in a task, of that task), or of the job.
std::vector<std::string> slurm_gpus(const Environment& environment) {
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"})
    if (const auto list = environment(name)) return devices_in_list(*list);
  return {};
}

// Where Slurm hides the other devices (ConstrainDevices), CUDA counts from 0 among `slurm`'s; else both mean the same.
std::vector<std::string> ids_on_node(const std::vector<std::string>& visible, const std::vector<std::string>& slurm) {
  const bool counted_anew = !std::ranges::all_of(visible, [&](const std::string& v) { return contains(slurm, v); });
  std::vector<std::string> ids = visible;
  for (std::string& id : ids)
    if (const auto place = place_in(id); counted_anew && place && *place < slurm.size()) id = slurm[*place];
  return ids;
}

std::string first_word(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

// Of PCI classes 0x03 (display and 3D controllers), and 0x12 (processing accelerators, as AMD's MI300).
bool has_pci_gpu(const fs::path& root, const std::string& vendor) {
  std::error_code ignored;
  for (const fs::directory_entry& device : fs::directory_iterator(root / "sys/bus/pci/devices", ignored)) {
    if (first_word(device.path() / "vendor") != vendor) continue;
    const std::string kind = first_word(device.path() / "class");
    if (kind.starts_with("0x03") || kind.starts_with("0x12")) return true;
  }
  return false;
}

bool has_nvidia_gpu(const fs::path& root) {
  std::error_code ignored;
  return fs::exists(root / "dev/nvidia0", ignored) || has_pci_gpu(root, "0x10de");
}

// Also a processor's own graphics: whether they are a job's GPUs, the job says.
bool has_amd_gpu(const fs::path& root) {
  std::error_code ignored;
  if (fs::exists(root / "dev/kfd", ignored))  // ROCm's driver, which computes through the render nodes
    for (const fs::directory_entry& device : fs::directory_iterator(root / "dev/dri", ignored))
      if (device.path().filename().string().starts_with("renderD")) return true;
  return has_pci_gpu(root, "0x1002");
}

// What a batch system grants: the first of these lists that is set, even if it is empty (ROCm reads them in this
// order). nullopt if none is.
std::optional<bool> lists_amd_gpus(const Environment& environment) {
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
    if (const auto list = environment(name)) return !devices_in_list(*list).empty();
  return std::nullopt;
}

[[noreturn]] void bad_gpu_ids(const std::string& gpu_ids, const std::string& why, size_t visible) {
  const std::string last = visible > 1 ? fmt::format(" to {}", visible - 1) : "";
  throw UsageError(fmt::format("--gpu_ids {} is not possible ({}): give all, None{}", printable(gpu_ids), why,
                               visible ? ", or a list from 0" + last + " as in --gpu_ids 0" : ""));
}

// The places in `visible` that --gpu_ids names.
std::vector<size_t> gpu_places(size_t visible, const std::string& gpu_ids) {
  std::vector<size_t> places;
  if (gpu_ids.empty() || gpu_ids == "all") {
    places.resize(visible);
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  if (no_gpus(gpu_ids)) return places;
  std::string list = gpu_ids;
  std::ranges::replace_if(
      list, [](char c) { return c == '[' || c == ']' || c == ' '; }, ',');
  for (const std::string& word : split(list, ',')) {
    if (word.empty()) continue;
    const auto place = place_in(word);
    if (!place) bad_gpu_ids(gpu_ids, "\"" + printable(word) + "\" is not a number", visible);
    if (*place >= visible) bad_gpu_ids(gpu_ids, counted(visible, "GPU") + " visible, counted from 0", visible);
    if (std::ranges::count(places, *place)) bad_gpu_ids(gpu_ids, word + " stands there twice", visible);
    places.push_back(*place);
  }
  if (places.empty()) bad_gpu_ids(gpu_ids, "it names no GPU", visible);
  return places;
}

template <class T>
std::vector<T> at_places(const std::vector<T>& all, const std::vector<size_t>& places) {
  std::vector<T> chosen;
  for (size_t place : places) chosen.push_back(all[place]);
  return chosen;
}

// Gives a rank a device; ranks that have one may have to move to another (augmenting paths of a bipartite matching).
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
  std::map<std::string, size_t> holders_;  // of the devices
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
        fmt::format("{} ranks of this node cannot have a GPU each (some see only the same ones, of {}): "
                    "let all see all, by srun --gpu-bind=none",
                    ids.size(), join(all, ", ")));
  throw UsageError(
      fmt::format("{0} ranks of this node have only {1} ({2}; each rank needs its own): start one rank per "
                  "GPU, by srun --ntasks-per-node={3}, or by --ranks {3} on one node",
                  ids.size(), counted(std::ssize(all), "GPU"), join(all, ", "), all.size()));
}

}  // namespace

Gpus visible_gpus(const Environment& environment, const fs::path& root) {
  Gpus gpus;
  const std::vector<std::string> slurm = slurm_gpus(environment);
  const int on_node = std::max(number(environment, "SLURM_GPUS_ON_NODE").value_or(0), static_cast<int>(slurm.size()));
  gpus.in_job = environment("SLURM_JOB_ID").has_value();
  gpus.physical = has_nvidia_gpu(root);
  const auto list = environment("CUDA_VISIBLE_DEVICES");
  gpus.visible = list ? devices_in_list(*list) : numbers_below(on_node);
  gpus.granted = on_node > 0 && !gpus.visible.empty();
  if (!gpus.physical && gpus.in_job && has_amd_gpu(root)) gpus.amd = lists_amd_gpus(environment).value_or(gpus.granted);
  gpus.ids = ids_on_node(gpus.visible, slurm);
  const auto task = environment("SLURM_LOCALID");
  // One device, of which nobody says which it is, where the node has several: this task's own.
  if (slurm.empty() && on_node > 1 && gpus.ids.size() == 1 && is_number(gpus.ids[0]) && task)
    gpus.ids[0] += " of task " + *task;
  return gpus;
}

bool no_gpus(const std::string& gpu_ids) { return gpu_ids == "None" || gpu_ids == "none"; }

Gpus select_gpus(Gpus gpus, const std::string& gpu_ids) {
  const std::vector<size_t> places = gpu_places(gpus.visible.size(), gpu_ids);
  if (gpus.places.empty())
    gpus.places.resize(gpus.visible.size()), std::iota(gpus.places.begin(), gpus.places.end(), 0);
  gpus.visible = at_places(gpus.visible, places);
  gpus.ids = at_places(gpus.ids, places);
  gpus.places = at_places(gpus.places, places);
  return gpus;
}

std::vector<int> assign_devices(const std::vector<std::vector<std::string>>& ids) {
  std::vector<int> places(ids.size(), -1);
  if (std::ranges::all_of(ids, [](const auto& list) { return list.empty(); })) return places;
  Matching matching(ids);
  for (size_t rank = ids.size(); rank-- > 0;)  // so that the first ranks, which come last, get their first devices
    if (!matching.place(rank)) too_few_devices(ids);
  for (const auto& [id, rank] : matching.holders())
    places[rank] = static_cast<int>(std::ranges::find(ids[rank], id) - ids[rank].begin());
  return places;
}

namespace {

// The GPUs that CUDA sees: what Slurm or CUDA_VISIBLE_DEVICES name, or all that the driver shows.
Gpus with_the_drivers(Gpus gpus, const CudaSupport& cuda) {
  if (!gpus.visible.empty() || cuda.devices == 0) return gpus;
  gpus.visible = gpus.ids = numbers_below(cuda.devices);
  return gpus;
}

// --device cuda:N is --device cuda --gpu_ids N.
std::string gpu_ids_of(const std::string& device, const std::string& gpu_ids) {
  const size_t colon = device.find(':');
  if (colon == std::string::npos) return gpu_ids;
  const std::string number = device.substr(colon + 1);
  if (!is_number(number))
    throw UsageError("--device " + printable(device) + " is unknown (a GPU has a number): use --device cuda:0");
  if (!gpu_ids.empty() && gpu_ids != "all" && gpu_ids != number)
    throw UsageError(
        fmt::format("--device {} and --gpu_ids {} name different GPUs: give one of them", device, printable(gpu_ids)));
  return number;
}

DeviceChoice on_the_cpu(const Gpus& gpus, const CudaSupport& cuda) {
  DeviceChoice choice;
  if (gpus.amd)
    throw UsageError(
        "the job's GPUs would idle (they are AMD's, and drl computes on NVIDIA GPUs and CPUs): ask for nodes with "
        "NVIDIA GPUs, or use --device cpu, and ask for no GPUs");
  const std::string why = !cuda.built ? "this build computes on the CPU only" : cuda.trouble;
  if (gpus.granted && gpus.physical)
    throw UsageError("the job's GPUs would idle (" + why + "): " +
                     (cuda.built ? "see nvidia-smi and drl_doctor on this node, or use --device cpu"
                                 : "use a build with CUDA (README, \"Build elsewhere\"), or --device cpu"));
  if (gpus.granted) {
    choice.gpus = gpus;
    choice.warning =
        "Slurm granted GPUs, but there is no NVIDIA GPU in this node: computing on the CPU, with one rank per GPU";
  } else if (gpus.physical && !gpus.in_job) {
    choice.info = "this machine's NVIDIA GPU is not used: " + why;
  }
  return choice;
}

}  // namespace

DeviceChoice choose_device(const std::string& device, const std::string& gpu_ids, const Gpus& gpus,
                           const CudaSupport& cuda) {
  const bool wants_cuda = device == "cuda" || device.starts_with("cuda:");
  if (device != "auto" && device != "cpu" && !wants_cuda)
    throw UsageError("--device " + printable(device) +
                     " is unknown (devices are auto, cpu, cuda and cuda:N): use --device auto");
  if (wants_cuda && !cuda.built)
    throw UsageError("--device " + printable(device) +
                     " is not available (this build computes on the CPU only): use a build with CUDA (README, \"Build "
                     "elsewhere\"), or --device cpu");
  if (wants_cuda && cuda.devices == 0)
    throw UsageError("--device " + printable(device) + " is not available (" + cuda.trouble +
                     "): ask for GPUs (srun --gpus-per-node=4), see nvidia-smi, or use --device cpu");
  if (device == "cpu" || no_gpus(gpu_ids)) return {};
  if (cuda.devices == 0) {
    DeviceChoice choice = on_the_cpu(gpus, cuda);
    const Gpus selected = select_gpus(gpus, gpu_ids);
    if (choice.one_rank_per_gpu()) choice.gpus = selected;
    return choice;
  }
  DeviceChoice choice;
  choice.cuda = true;
  choice.gpus = select_gpus(with_the_drivers(gpus, cuda), gpu_ids_of(device, gpu_ids));
  return choice;
}

}  // namespace drl
