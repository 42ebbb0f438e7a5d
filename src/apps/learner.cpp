#include "apps/learner.hpp"

#include "base/check.hpp"
#include "base/format.hpp"
#include "envs/make_env.hpp"
#include "gpu/vendor.hpp"
#include "nets/host_nets.hpp"
#include "run/evaluator.hpp"
#include "run/option_files.hpp"
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
  return make_nccl_communicator(host, {options.init_timeout, options.comm_timeout, options.deterministic, gpu, hosts});
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

// Throws UsageError if --nets and --precision name an engine that the device does not have. The run would otherwise
// record an engine that did not train it.
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
  if (train.nets == "auto" && train.precision != "fp32" && train.precision != "tf32")
    throw UsageError(
        fmt::format("--precision {} is not available with --nets auto on GPUs (there, {} computes the networks in "
                    "float32{}): add --nets fused, or use --precision fp32{} or --device cpu",
                    train.precision, kGpuVendor.blas, kGpuVendor.has_tf32 ? " or TF32" : "",
                    kGpuVendor.has_tf32 ? ", --precision tf32" : ""));
}

// Returns the number of environments of each rank.
int64_t envs_per_rank(const TrainOptions& options, int ranks) {
  const int64_t total = options.num_envs_total;
  if (total == 0) return options.num_envs;
  if (total % ranks == 0) return total / ranks;
  const int64_t below = total / ranks * ranks;
  throw UsageError(
      fmt::format("--num_envs_total {} cannot be divided over {} ranks (each has the same number of environments): use "
                  "--num_envs_total {}{}",
                  total, ranks, below > 0 ? fmt::format("{} or ", below) : "", below + ranks));
}

BatchPlan batch_plan(const Options& options, const Communicator& comm, const TaskSpec& task) {
  const TrainOptions& train = options.train;
  const int ranks = comm.size();
  try {
    return options.algorithm().plan({.num_envs = envs_per_rank(train, ranks),
                                     .num_steps = train.num_steps_per_env,
                                     .rank = comm.rank(),
                                     .world_size = ranks,
                                     .shards = train.shards ? train.shards : ranks,
                                     .sequences = options.policy.is_recurrent()},
                                    task);
  } catch (const EnvCountError& error) {
    if (train.num_envs_total == 0) throw;
    throw error.in_total(train.num_envs_total, ranks);
  }
}

}  // namespace

Learner::Learner(const Options& options, const Workplace& place, Communicator& comm)
    : options_(options), placement_(place.placement), host_comm_(comm) {
  const TrainOptions& train = options.train;
  const int gpu = placement_.gpu;
  if (options.algorithm().name() == "distill") teacher_run_.emplace(options, comm);
  const EnvSetup setup = teacher_run_ ? teacher_run_->student_setup() : options.env->setup();
  on_all_ranks(comm, [&] {
    require_engine(train, gpu >= 0);
    if (gpu >= 0) open_gpu_libraries();
    const TaskSpec task = task_spec(train.task, setup);
    plan_ = batch_plan(options, comm, task);
    spec_ = options.algorithm().policy(task, options.policy);
  });
  if (gpu < 0 && comm.size() > 1) comm.limit_waiting(options.gpu.comm_timeout, place.rank_hosts);
  if (gpu >= 0) gpu_comm_ = gpu_communicator(options.gpu, gpu, comm, place.rank_hosts);
  const uint64_t seed = static_cast<uint64_t>(train.seed);
  on_all_ranks(comm, [&] {
    const EnvConfig envs{plan_.num_envs, plan_.rank * plan_.num_envs, seed, train.init_at_random_ep_len,
                         setup,          placement_.threads};
    queue_ = gpu < 0 ? make_host_queue(place.isa) : gpu_queue(gpu, place.isa);
    nets_ = make_nets(spec_.layout);
    envs_ = make_env(train.task, envs, *queue_);
    if (train.nan_policy == "dump" && std::get<DelayPlan>(setup.wrappers).delays())
      throw UsageError(
          "--nan_policy dump and --env.delay are given (a step with delayed actions cannot be repeated from the state "
          "alone): leave out one of them");
    if (train.nan_policy == "dump" && std::get<GroupPlan>(setup.wrappers).any())
      throw UsageError(
          "--nan_policy dump cannot be combined with --env.actor_obs, --env.hidden_obs or --algorithm distill (a dump "
          "holds the task's own observations): leave it out");
    if (train.nan_policy == "dump") lost_states_.emplace(train.task, envs, place.isa, plan_.rank, comm.size());
  });
  if (teacher_run_) {
    std::unique_ptr<Nets> nets;
    on_all_ranks(comm, [&] { nets = make_nets(teacher_run_->policy().layout); });
    teacher_.emplace(teacher_run_->load(*queue_, std::move(nets), comm));
  }
  on_all_ranks(comm, [&] {
    algorithm_ =
        options.algorithm().make({*queue_, options.policy, plan_, seed, spec_, *nets_, *envs_, options.gpu.cuda_graphs,
                                  lost_states_ ? &*lost_states_ : nullptr, teacher_ ? &*teacher_ : nullptr,
                                  [this](const ParamLayout& layout) { return make_nets(layout); }});
  });
  require_same_files(comm, envs_->files());
  on_all_ranks(comm, [&] { contents_ = contents_of(options.env->files()); });
  require_same_contents(comm, contents_);
  if (gpu < 0) return;
  GpuIdentity mine;
  on_all_ranks(comm, [&] { mine = gpu_identity(gpu); });
  energy_.emplace(mine, comm);
}

std::unique_ptr<Nets> Learner::make_nets(const ParamLayout& layout) {
  const TrainOptions& train = options_.train;
  return placement_.gpu < 0 ? make_host_nets(*queue_, layout, train.nets, placement_.threads, train.precision)
                            : gpu_nets(*queue_, layout, (plan_.num_steps + 1) * plan_.num_envs, train);
}

std::string Learner::engine() const { return nets_->description() + (placement_.gpu < 0 ? "" : ", " + gpu_versions()); }

std::optional<GpuEnergy> Learner::gpu_energy() { return energy_ ? energy_->read() : std::nullopt; }

void Learner::write_lost_states_to(const std::filesystem::path& run, const RunFacts& facts,
                                   const std::string& options_ini) {
  if (!lost_states_) return;
  std::map<std::string, Attribute> attributes = {
      {"task", facts.task}, {"run", run.filename().string()}, {"versions", versions_text(facts)}};
  if (!facts.task_library.empty()) attributes["task_library"] = facts.task_library;
  lost_states_->write_to(run, std::move(attributes), options_ini);
}

double Learner::evaluate() {
  const EvaluationPlan plan{options_.train.task,
                            64,
                            64,
                            static_cast<uint64_t>(options_.train.seed),
                            ActionChoice::most_probable,
                            options_.env->setup(),
                            placement_.threads,
                            algorithm_->stats().curriculum};
  const std::unique_ptr<Queue> queue = make_host_queue(queue_->isa());
  const std::unique_ptr<Nets> nets =
      make_host_nets(*queue, spec_.layout, options_.train.nets, placement_.threads, options_.train.precision);
  const PolicyView policy = algorithm_->policy();
  Actor actor(*queue, *nets, spec_, policy.params.data(), policy.normalizer);
  return summarize(drl::evaluate(plan, actor).returns).mean;
}

}  // namespace drl
