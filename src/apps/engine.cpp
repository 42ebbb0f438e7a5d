#include "apps/engine.hpp"

#include "base/check.hpp"
#include "base/format.hpp"
#include "gpu/vendor.hpp"
#include "nets/host_nets.hpp"
#include "run/preflight.hpp"
#if defined(DRL_GPU_SUPPORT)
#include "comm/nccl_communicator.hpp"
#include "device/gpu_queue.hpp"
#include "gpu/runtime.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/gpu_fused/fused_gpu_nets.hpp"
#include "placement/cuda_support.hpp"
#endif

namespace drl {
namespace {

#if defined(DRL_GPU_SUPPORT)

// Makes a queue on GPU number `gpu`, which becomes the current device of this thread.
std::unique_ptr<Queue> gpu_queue(int gpu, Isa isa) {
  use_gpu(gpu);
  return make_gpu_queue(isa);
}

void open_gpu_libraries() { gpuOpenLibraries(); }

GpuIdentity gpu_identity(int gpu) { return this_gpu(gpu); }

std::string gpu_versions() {
  return fmt::format("{} {}, {} {}", kGpuVendor.runtime, cuda_version(), kGpuVendor.collectives, nccl_version());
}

std::unique_ptr<Nets> gpu_nets(Queue& queue, const ParamLayout& layout, int64_t rows, const TrainOptions& train) {
  if (train.nets != "fused") return make_gpu_nets(queue, layout, rows, train.precision == "tf32");
  return make_fused_gpu_nets(queue, layout, rows,
                             train.precision == "fp16"   ? FusedPrecision::fp16
                             : train.precision == "bf16" ? FusedPrecision::bf16
                                                         : FusedPrecision::fp32);
}

// Makes the communicator for all-reduces of GPU memory; `host` communicates host memory. Collective.
std::unique_ptr<Communicator> gpu_communicator(const GpuOptions& options, int gpu, Communicator& host,
                                               const std::vector<std::string>& hosts) {
  if (host.size() == 1) return make_serial_communicator();
  return make_nccl_communicator(host, {.init_timeout = options.init_timeout,
                                       .comm_timeout = options.comm_timeout,
                                       .deterministic = options.deterministic,
                                       .device = gpu,
                                       .hosts = hosts});
}

#else

// Without GPU support, place_rank never chooses a GPU, so these functions are never called.
[[noreturn]] void no_gpus() { throw Error("this build has no GPU support: use --device cpu"); }
std::unique_ptr<Queue> gpu_queue(int, Isa) { no_gpus(); }
void open_gpu_libraries() { no_gpus(); }
GpuIdentity gpu_identity(int) { no_gpus(); }
std::string gpu_versions() { no_gpus(); }
std::unique_ptr<Nets> gpu_nets(Queue&, const ParamLayout&, int64_t, const TrainOptions&) { no_gpus(); }
std::unique_ptr<Communicator> gpu_communicator(const GpuOptions&, int, Communicator&, const std::vector<std::string>&) {
  no_gpus();
}

#endif

}  // namespace

// The run would otherwise record an engine that did not train it.
void require_engine(const TrainOptions& train, bool on_gpu) {
  if (!on_gpu) {
    if (train.precision == "fp16" || train.precision == "tf32")
      throw UsageError(fmt::format(
          "--precision {} is not available on CPUs (their fused networks compute in float32 or bfloat16): use "
          "--precision bf16, or --device cuda{}",
          train.precision, train.precision == "fp16" ? " with --nets fused" : ""));
    return;
  }
  if (train.nets == "torch")
    throw UsageError(
        fmt::format("--nets torch is not available on GPUs (there, {} or drl's own kernels compute the networks): use "
                    "--nets auto, --nets fused, or --device cpu",
                    kGpuVendor.blas));
  if (train.precision == "tf32" && !kGpuVendor.has_tf32)
    throw UsageError(fmt::format("--precision tf32 is not available on {} GPUs ({} has no TF32): use --precision fp32",
                                 kGpuVendor.name, kGpuVendor.blas));
  if (train.precision == "tf32" && train.nets == "fused")
    throw UsageError(
        "--precision tf32 is not available with --nets fused (its kernels have no TF32): use --precision fp16, which "
        "also has 11 bits, or --nets auto");
  if (train.nets == "auto" && (train.precision == "fp16" || train.precision == "bf16"))
    throw UsageError(
        fmt::format("--precision {} is not available with --nets auto on GPUs (there, {} computes the networks in "
                    "float32{}): add --nets fused, or use --precision fp32{} or --device cpu",
                    train.precision, kGpuVendor.blas, kGpuVendor.has_tf32 ? " or TF32" : "",
                    kGpuVendor.has_tf32 ? ", --precision tf32" : ""));
}

RunEngine::RunEngine(const Options& options, const Workplace& place) : options_(options), place_(place) {
  require_engine(options.train, on_gpu());
  if (on_gpu()) open_gpu_libraries();
}

void RunEngine::connect(Communicator& host) {
  host_comm_ = &host;
  if (on_gpu())
    gpu_comm_ = gpu_communicator(options_.gpu, place_.placement.gpu, host, place_.rank_hosts);
  else if (host.size() > 1)
    host.limit_waiting(options_.gpu.comm_timeout, place_.rank_hosts);
}

void RunEngine::start() {
  queue_ = on_gpu() ? gpu_queue(place_.placement.gpu, place_.isa) : make_host_queue(place_.isa);
}

std::unique_ptr<Nets> RunEngine::make_nets(const ParamLayout& layout, int64_t rows) {
  return on_gpu() ? gpu_nets(queue(), layout, rows, options_.train) : make_host_nets(queue(), layout);
}

std::unique_ptr<Nets> RunEngine::make_host_nets(Queue& queue, const ParamLayout& layout) const {
  const TrainOptions& train = options_.train;
  return drl::make_host_nets(queue, layout, train.nets, place_.placement.threads, train.precision);
}

std::string RunEngine::library_versions() const { return on_gpu() ? ", " + gpu_versions() : ""; }

void RunEngine::measure_energy() {
  if (!on_gpu()) return;
  GpuIdentity mine;
  on_all_ranks(*host_comm_, [&] { mine = gpu_identity(place_.placement.gpu); });
  energy_.emplace(mine, *host_comm_);
}

}  // namespace drl
