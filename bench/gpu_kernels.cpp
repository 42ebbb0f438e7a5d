// Measures each kernel, matrix product and copy of an iteration on a GPU, as the learner enqueues them.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "gpu/runtime.hpp"
#include "kernel_costs.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/gpu_fused/fused_gpu_nets.hpp"
#include "ppo_loop.hpp"
#include "spin.hpp"

namespace drl {
namespace {

constexpr const char* kHelp =
    "gpu_kernels lists the kernels, matrix products and copies of one iteration of PPO on a GPU: actor and critic\n"
    "with two layers of 64 tanh units, 5 epochs of 4 mini-batches. For each, it prints the number of launches, the "
    "memory\n"
    "traffic and the operations by formula, the time on the GPU (the median over iterations), and the least time that\n"
    "this traffic and these operations need. Kernels are launched one at a time; graphs launch the same ones. The "
    "traffic\n"
    "of the fused kernels is unknown.\n";

constexpr uint64_t kSpin = 20'000;  // ns, in which the host enqueues a launch and two events

struct KernelOptions {
  std::string device = "cuda", task = "CartPole-v1", nets = "auto", precision = "fp32", json;
  int num_envs = 65536, num_steps = 32, iterations = 5;
  double bandwidth = 0, peak = 0;
  bool times = true, help = false;

  void describe(OptionVisitor& v) {
    v("device", device, "cuda, or cuda:N");
    v("task", task, "task to train");
    v("num_envs", num_envs, "number of environments", between(1, 1 << 24));
    v("num_steps_per_env", num_steps, "steps of a rollout", at_least(1));
    v("nets", nets, "auto (layer by layer) or fused, as drl_train's --nets", one_of({"auto", "fused"}));
    v("precision", precision,
      "factors of matrix products: fp32; tf32 with --nets auto; fp16 and bf16 with --nets fused",
      one_of({"fp32", "tf32", "fp16", "bf16"}));
    v("iterations", iterations, "measured iterations", at_least(1));
    v("bandwidth", bandwidth, "the card's memory bandwidth, 0 = by its name", unit("GB/s"), at_least(0));
    v("peak", peak, "the card's float32 speed without tensor cores, 0 = by its name", unit("TFLOP/s"), at_least(0));
    v("times", times, "measure times; otherwise only count");
    v("json", json, "also write the numbers to this file");
    v("help", help, "print this text", letter('h'));
  }
};

// The launches of one name in one iteration.
struct Work {
  std::string name;
  int64_t launches = 0;
  bool known = true;  // the cost is
  Cost cost = {};
  double seconds = 0;
};

// Counts the launches of an iteration and, if it is `timed`, measures the time of each between two events. A kernel
// that runs before them gives the host the time to enqueue all three.
class Recorder final : public LaunchWatch {
 public:
  Recorder(Queue& queue, bool timed) : queue_(queue), timed_(timed) { launch_watch = this; }
  ~Recorder() override { launch_watch = nullptr; }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void begins(const Launch& launch) override {
    const std::string name = name_of(launch);
    const auto [at, added] = places_.try_emplace(name, work_.size());
    if (added) work_.push_back({.name = name});
    Work& work = work_[at->second];
    work.launches += 1;
    const std::optional<Cost> cost = cost_of(launch);
    work.known = work.known && cost;
    if (cost) work.cost.bytes += cost->bytes, work.cost.flops += cost->flops;
    if (!timed_) return;
    enqueue_spin(queue_, kSpin);
    Timing& timing = timings_.emplace_back(Timing{at->second, queue_.make_event(), queue_.make_event()});
    timing.begin->record();
  }
  void ends() override {
    if (timed_) timings_.back().end->record();
  }

  // Returns the work in the order of the first launches. All of it must be done.
  std::vector<Work> take() {
    for (const Timing& timing : timings_) work_[timing.work].seconds += timing.end->seconds_since(*timing.begin);
    return std::move(work_);
  }

 private:
  struct Timing {
    size_t work;
    std::unique_ptr<Queue::Event> begin, end;
  };
  Queue& queue_;
  const bool timed_;
  std::vector<Work> work_;
  std::map<std::string, size_t> places_;
  std::vector<Timing> timings_;
};

// Makes the networks of --nets and --precision. Throws UsageError if there are none.
std::unique_ptr<Nets> make_nets(const KernelOptions& options, Queue& queue, const ParamLayout& layout, int64_t rows) {
  const bool fused = options.nets == "fused", tf32 = options.precision == "tf32";
  if (fused ? tf32 : options.precision == "fp16" || options.precision == "bf16")
    throw UsageError(fmt::format("--precision {} is not available with --nets {}: use {}", options.precision,
                                 options.nets, fused ? "fp32, fp16 or bf16" : "fp32 or tf32, or add --nets fused"));
  if (!fused) return make_gpu_nets(queue, layout, rows, tf32);
  return make_fused_gpu_nets(queue, layout, rows,
                             options.precision == "fp32"   ? FusedPrecision::fp32
                             : options.precision == "fp16" ? FusedPrecision::fp16
                                                           : FusedPrecision::bf16);
}

// Returns the work of one iteration, with the median times of several. All iterations launch the same work.
std::vector<Work> measure(const KernelOptions& options, int gpu) {
  PpoLoop loop(
      options.task, options.num_envs, options.num_steps, gpu, /*graphs=*/false,  // to watch every launch
      [&](Queue& queue, const ParamLayout& layout, int64_t rows) { return make_nets(options, queue, layout, rows); });
  if (options.nets == "fused" && !loop.description().starts_with("fused"))
    throw UsageError("--nets fused is not possible (" + loop.description() + "): use --nets auto");
  for (int k = 0; k < 2; ++k) loop.iterate();  // libraries load their kernels in the first
  std::vector<std::vector<Work>> all;
  for (int k = 0; k < (options.times ? options.iterations : 1); ++k) {
    Recorder recorder(loop.queue(), options.times);
    loop.iterate();
    all.push_back(recorder.take());
  }
  for (size_t place = 0; place < all[0].size(); ++place) {
    std::vector<double> seconds;
    for (const std::vector<Work>& work : all) seconds.push_back(work.at(place).seconds);
    all[0][place].seconds = median(seconds);
  }
  return all[0];
}

// Returns a number with `digits` digits after the point, or "-" if it is unknown (0).
std::string cell(double number, int digits) { return number > 0 ? fmt::format("{:.{}f}", number, digits) : "-"; }

void print_row(const Work& work, const Card& card) {
  const double rate = work.seconds > 0 ? 1 / work.seconds : 0;
  std::printf("%-56s %8lld %10s %10s %8s %8s %10s\n", work.name.substr(0, 56).c_str(),
              static_cast<long long>(work.launches), work.known ? cell(work.cost.bytes * 1e-6, 3).c_str() : "unknown",
              cell(work.seconds * 1e6, 1).c_str(), cell(work.cost.bytes * rate * 1e-9, 0).c_str(),
              cell(work.cost.flops * rate * 1e-12, 2).c_str(),
              work.known ? cell(least_seconds(card, work.cost, work.launches) * 1e6, 1).c_str() : "-");
}

// JSON has null in place of numbers that are unknown.
nlohmann::json number(bool known, double value) { return known ? nlohmann::json(value) : nlohmann::json(); }
nlohmann::json json_of(const Work& work, const Card& card) {
  const bool timed = work.seconds > 0;
  const double least = least_seconds(card, work.cost, work.launches);
  return {{"name", work.name},
          {"launches", work.launches},
          {"bytes", number(work.known, work.cost.bytes)},
          {"flops", number(work.known, work.cost.flops)},
          {"us", number(timed, work.seconds * 1e6)},
          {"gb_per_s", number(timed && work.known, timed ? work.cost.bytes / work.seconds * 1e-9 : 0)},
          {"tflop_per_s", number(timed && work.known, timed ? work.cost.flops / work.seconds * 1e-12 : 0)},
          {"model_us", number(work.known && least > 0, least * 1e6)}};
}

void run(const KernelOptions& options) {
  const int gpu = chosen_gpu(options.device);
  if (gpu < 0) throw UsageError("gpu_kernels needs a GPU (--device is " + options.device + "): use --device cuda");
  gpuOpenLibraries();
  Card card = card_of(gpu_name(gpu));
  if (options.bandwidth > 0) card.bandwidth = options.bandwidth * 1e9;
  if (options.peak > 0) card.peak = options.peak * 1e12;
  std::vector<Work> work = measure(options, gpu);
  Work total{.name = "all"};
  for (const Work& one : work) {
    total.launches += one.launches, total.seconds += one.seconds;
    total.cost.bytes += one.cost.bytes, total.cost.flops += one.cost.flops;
  }
  if (options.times) std::ranges::stable_sort(work, std::greater(), &Work::seconds);

  std::printf("%s, %s, %d environments, %d steps, --nets %s --precision %s\n%-56s %8s %10s %10s %8s %8s %10s\n",
              gpu_name(gpu).c_str(), options.task.c_str(), options.num_envs, options.num_steps, options.nets.c_str(),
              options.precision.c_str(), "", "launches", "MB", "us", "GB/s", "TFLOP/s", "model us");
  nlohmann::json kernels;
  double model = 0;
  for (const Work& one : work) {
    print_row(one, card);
    kernels.push_back(json_of(one, card));
    model += least_seconds(card, one.cost, one.launches);
  }
  std::printf("%-56s %8lld %10s %10s %8s %8s %10s\n", "all", static_cast<long long>(total.launches),
              cell(total.cost.bytes * 1e-6, 3).c_str(), cell(total.seconds * 1e6, 1).c_str(), "", "",
              cell(model * 1e6, 1).c_str());
  if (options.json.empty()) return;
  std::ofstream file(options.json);
  file << nlohmann::json{{"device", gpu_name(gpu)},
                         {"task", options.task},
                         {"num_envs", options.num_envs},
                         {"num_steps_per_env", options.num_steps},
                         {"nets", options.nets},
                         {"precision", options.precision},
                         {"kernels", kernels}}
              .dump(1)
       << "\n";
  if (!file.flush()) throw Error("--json " + options.json + " cannot be written: choose another file");
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::bench_main(argc, argv, drl::kHelp, drl::KernelOptions{}, drl::run); }
