// Measures steps per second of drl_train's training loop, without files and console.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drl/lanes/philox.hpp"
#include "nets/host_nets.hpp"
#include "placement/topology.hpp"
#include "ppo_loop.hpp"
#ifdef DRL_GPU_SUPPORT
#include "nets/gpu/gpu_nets.hpp"
#include "nets/gpu_fused/fused_gpu_nets.hpp"
#endif

namespace drl {
namespace {

constexpr const char* kHelp =
    "ppo_bench measures the training loop on CartPole-v1: 32 steps per iteration, actor and critic with two layers of\n"
    "64 tanh units, 5 epochs of 4 mini-batches. It prints medians over the iterations.\n"
    "On a GPU, it compares graphs with separate kernel launches, TF32, the fused engine and one core.\n";

constexpr const char* kTask = "CartPole-v1";
constexpr int64_t kSteps = 32, kCpuEnvs = 4096, kGpuEnvs = 65536;

struct PpoBenchOptions {
  std::string device = "auto";
  int num_envs = 0, iterations = 7;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("device", device, "auto (a GPU if there is one), cpu, cuda, or cuda:N");
    v("num_envs", num_envs, "number of environments, 0 = 4096 on a CPU, 65536 on a GPU", between(0, 1 << 24));
    v("iterations", iterations, "measured iterations of each loop", at_least(1));
    v("help", help, "print this text", letter('h'));
  }
};

// The networks' backend on a GPU: cuBLAS layer by layer, or fused kernels, with a precision.
enum class Backend { layerwise, layerwise_tf32, fused_fp32, fused_fp16, fused_bf16 };

std::unique_ptr<Nets> make_nets(Queue& queue, const ParamLayout& layout, [[maybe_unused]] int64_t rows,
                                [[maybe_unused]] Backend backend) {
#ifdef DRL_GPU_SUPPORT
  if (queue.on_gpu()) {
    if (backend <= Backend::layerwise_tf32)
      return make_gpu_nets(queue, layout, rows, backend == Backend::layerwise_tf32);
    return make_fused_gpu_nets(queue, layout, rows,
                               backend == Backend::fused_fp32   ? FusedPrecision::fp32
                               : backend == Backend::fused_fp16 ? FusedPrecision::fp16
                                                                : FusedPrecision::bf16);
  }
#endif
  return make_host_nets(queue, layout, "auto", 1);
}

// Runs and times drl's whole iterations.
class Loop {
 public:
  // `gpu` is -1 to use one core.
  Loop(int64_t num_envs, int gpu, bool graphs = true, Backend backend = Backend::layerwise)
      : samples_(num_envs * kSteps),
        loop_(kTask, num_envs, kSteps, gpu, graphs, [backend](Queue& queue, const ParamLayout& layout, int64_t rows) {
          return make_nets(queue, layout, rows, backend);
        }) {}
  void iterate() {
    const double start = steady_seconds();
    loop_.iterate();
    total_.push_back(steady_seconds() - start);
    collect_.push_back(loop_.stats().collection_time);
    update_.push_back(loop_.stats().learning_time);
  }
  // Runs three iterations: libraries load their kernels in the first, and graphs are captured in the second.
  void warm_up() {
    for (int k = 0; k < 3; ++k) iterate();
    total_.clear(), collect_.clear(), update_.clear();
  }
  double seconds() const { return median(total_); }
  double steps_per_second() const { return static_cast<double>(samples_) / seconds(); }
  double collect_share() const { return median(collect_) / seconds(); }
  double update_share() const { return median(update_) / seconds(); }

 private:
  int64_t samples_;
  PpoLoop loop_;
  std::vector<double> total_, collect_, update_;
};

// Returns the seconds that the environment steps of one rollout take.
double environment_seconds(int64_t num_envs) {
  const auto queue = make_queue(-1);
  const auto envs = make_env(kTask, {num_envs, 0, 0, true}, *queue);
  const Rollout rollout(*queue, envs->spec(), kSteps, num_envs);
  envs->reset(*queue, rollout.start_row(), {});
  auto* choices = reinterpret_cast<int32_t*>(rollout.view().action);
  for (int64_t i = 0; i < kSteps * num_envs; ++i)
    choices[i] = static_cast<int32_t>(random_bits(0, Purpose::benchmark, static_cast<uint64_t>(i), 0)[0] & 1);
  double start = 0;
  for (int64_t k = 0; k < 40 * kSteps; ++k) {
    if (k == 20 * kSteps) start = steady_seconds();
    envs->step(*queue, {&k}, 0, num_envs, rollout.row(k % kSteps));
  }
  return (steady_seconds() - start) / 20;
}

void print(const char* name, const Loop& loop) {
  std::printf("%-22s %10.3f M steps/s, %8.2f ms an iteration: collect %4.1f %%, update %4.1f %%\n", name,
              loop.steps_per_second() / 1e6, loop.seconds() * 1e3, 100 * loop.collect_share(),
              100 * loop.update_share());
}

void measure_core(int64_t num_envs, int iterations) {
  Loop loop(num_envs, -1);
  loop.warm_up();
  for (int k = 0; k < iterations; ++k) loop.iterate();
  std::printf("one core of %s, %lld environments\n", this_machine().cpu_model.c_str(),
              static_cast<long long>(num_envs));
  print("drl", loop);
  std::printf("%-22s %10.2f %% of the iteration\n", "environments",
              100 * environment_seconds(num_envs) / loop.seconds());
}

void measure_gpu(int64_t num_envs, int iterations, int gpu) {
  Loop graphs(num_envs, gpu), eager(num_envs, gpu, false), core(kCpuEnvs, -1);
  for (Loop* loop : {&graphs, &eager}) loop->warm_up();
  for (int k = 0; k < iterations; ++k) graphs.iterate(), eager.iterate();
  for (int k = 0; k < 3; ++k) core.iterate();
  std::printf("%s, %lld environments; one core of %s, %lld environments\n", gpu_name(gpu).c_str(),
              static_cast<long long>(num_envs), this_machine().cpu_model.c_str(), static_cast<long long>(kCpuEnvs));
  print("GPU, graphs", graphs);
  print("GPU, without graphs", eager);
  for (const auto& [name, backend] : {std::pair{"GPU, TF32", Backend::layerwise_tf32},
                                      {"GPU, fused fp32", Backend::fused_fp32},
                                      {"GPU, fused fp16", Backend::fused_fp16},
                                      {"GPU, fused bf16", Backend::fused_bf16}}) {
    Loop fused(num_envs, gpu, true, backend);
    fused.warm_up();
    for (int k = 0; k < iterations; ++k) fused.iterate();
    print(name, fused);
  }
  print("one core", core);
  std::printf("%-22s %10.2f\n%-22s %10.1f\n", "graphs / no graphs", eager.seconds() / graphs.seconds(), "GPU / core",
              graphs.steps_per_second() / core.steps_per_second());
}

void run(const PpoBenchOptions& options) {
  const int gpu = chosen_gpu(options.device);
  if (gpu >= 0) return measure_gpu(options.num_envs ? options.num_envs : kGpuEnvs, options.iterations, gpu);
  measure_core(options.num_envs ? options.num_envs : kCpuEnvs, options.iterations);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::bench_main(argc, argv, drl::kHelp, drl::PpoBenchOptions{}, drl::run); }
