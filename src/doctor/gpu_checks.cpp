#include <algorithm>
#include <exception>

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "comm/nccl_communicator.hpp"
#include "device/array.hpp"
#include "device/gpu_queue.hpp"
#include "doctor/all_reduce.hpp"
#include "doctor/checks.hpp"
#include "doctor/nccl_network.hpp"

namespace drl {
namespace {

constexpr double kNcclDeadlines = 20;  // s by which NCCL's own ones, and the end after them, may exceed a round's
constexpr const char* kElsewhere = "it failed on another rank";

// All-reduces in the memory of this process's device.
class GpuAllReduce {
 public:
  explicit GpuAllReduce(Communicator& nccl) : nccl_(nccl) {}
  // As the communicator: after a failure nothing is freed, which would wait for the GPU.
  ~GpuAllReduce() {
    if (std::uncaught_exceptions() > 0) (void)device_.release();
  }

  // Both throw Error (or ReportedError) if one does not end within the communicator's limit.
  bool is_right(int64_t bytes) {
    OnDevice& on = *device_;
    const std::vector<float> mine = summands(nccl_.rank(), bytes);
    std::ranges::copy(mine, on.on_host.data());
    on.queue->copy(on.data.data(), on.on_host.data(), mine.size());
    enqueue(bytes);
    on.queue->copy(on.on_host.data(), on.data.data(), mine.size());
    nccl_.wait([&] { return on.queue->done(); });
    return drl::is_right(std::span(on.on_host.data(), mine.size()), nccl_.size());
  }

  // s on the device. In a recording, as one by one they would take the time that the host needs to enqueue them.
  double repeat(int64_t bytes, int times) {
    OnDevice& on = *device_;
    const double before = nccl_.stats().wait_seconds;
    if (times == 1) {
      enqueue(bytes);
    } else {
      const CommStats captured = nccl_.capture([&] {
        on.recording = on.queue->record([&] {
          for (int k = 0; k < times; ++k) enqueue(bytes);
        });
      });
      on.queue->launch(*on.recording);
      nccl_.count_replayed(captured, {on.queue->native()});
    }
    nccl_.wait([&] { return on.queue->done(); });
    return nccl_.stats().wait_seconds - before;
  }

 private:
  void enqueue(int64_t bytes) {
    nccl_.all_reduce_sum(std::span(device_->data.data(), static_cast<size_t>(bytes) / sizeof(float)),
                         {device_->queue->native()});
  }

  struct OnDevice {
    std::unique_ptr<Queue> queue = make_gpu_queue();
    Array<float> data{*queue, kLarge / sizeof(float)};
    Array<float> on_host{*queue, kMedium / sizeof(float), Memory::host};
    std::unique_ptr<RecordedWork> recording;
  };
  Communicator& nccl_;
  std::unique_ptr<OnDevice> device_ = std::make_unique<OnDevice>();
};

// A GPU that hangs may be in the way of an orderly end, and after a failure of NCCL the ranks do not hear of each other
// any more: CheckFailed then ends the examination on all ranks.
void check_kernel(Rounds& rounds, int device) {
  rounds.begin("GPU kernel");
  const double patience = rounds.timeout() / 2;  // so that a rank can still say that its kernel hangs
  const Check check = rounds.decide(try_kernel(device, patience),
                                    [&](const auto& reasons) { return kernel_finding(reasons, rounds.hosts()); });
  if (check.status == Status::failed) throw CheckFailed(check);
  rounds.end(check);
}

// The options of drl_train that messages name have another name here.
std::string with_own_option(std::string text) {
  for (const std::string option : {"--init_timeout", "--comm_timeout"})
    if (const size_t at = text.find(option); at != std::string::npos) text.replace(at, option.size(), "--timeout");
  return text;
}

// A stage of the round `name`, which NCCL ends by itself when it takes too long. Nodes of their own hear by the round
// that another one failed.
void stage(Rounds& rounds, const std::string& name, const std::function<void()>& work) {
  rounds.begin(name, kNcclDeadlines);
  std::string reason;
  try {
    work();
  } catch (const ReportedError&) {  // another rank of the group says it
    reason = kElsewhere;
  } catch (const Error& error) {
    reason = with_own_option(error.what());
    // What rank 0 found it says at once: the others of its group may not come to the end of this stage.
    if (rounds.leads()) throw CheckFailed(check_of_message(Status::failed, reason));
    if (!dynamic_cast<const SharedError*>(&error)) log::error("{}", error.what());
  }
  const Check check = rounds.decide(reason, [](const std::vector<std::string>& all) {
    std::string worst;
    for (const std::string& one : all)
      if (worst.empty() || (worst == kElsewhere && !one.empty())) worst = one;
    return worst.empty() ? Check{} : check_of_message(Status::failed, worst);
  });
  if (check.status == Status::failed) throw CheckFailed(check);
}

// Returns this rank's fabric.
std::string check_network(Rounds& rounds, const NcclLog& log) {
  rounds.begin("NCCL network");
  NcclNetwork mine = network_of_log(log.text());
  mine.fabrics = fabrics_of();
  mine.wish = network_wish(process_environment(), mine.fabrics);
  mine.trouble = log.trouble();
  const std::vector<NcclNetwork> all = rounds.gather(mine);
  rounds.report().add_figures("nccl_network", nlohmann::json(all));
  rounds.end(rounds.leads() ? network_finding(all, rounds.hosts()) : Check{});
  return fabric_of(mine);
}

void check_sums(Rounds& rounds, const std::string& name, const std::string& figures, Communicator& nccl,
                const AllReduceLimits& limits) {
  std::optional<GpuAllReduce> all_reduce;
  bool right = true;
  stage(rounds, name, [&] {
    all_reduce.emplace(nccl);
    for (int64_t bytes : {kSmall, kGradient, kMedium}) right &= all_reduce->is_right(bytes);
  });
  const Check sums = agree_on_sums(rounds, right,
                                   "GPUs, their links or NCCL corrupt data: try NCCL_P2P_DISABLE=1, then "
                                   "NCCL_ALGO=Ring, and tell the administrator (dmesg | grep -i xid)");
  if (sums.status == Status::failed) return rounds.end(sums);
  AllReduceTimes times;
  const RepeatAllReduce repeat = [&](int64_t bytes, int count) { return all_reduce->repeat(bytes, count); };
  stage(rounds, name, [&] { times = measure(nccl, kLarge, repeat); });
  end_with_times(rounds, figures, times, limits);
}

// `gpus` are the ranks' models; rank 0 knows them.
void check_nccl(Rounds& rounds, int device, const std::vector<std::string>& gpus) {
  const auto connect = [&](Communicator& host, const std::vector<std::string>& hosts) {
    return make_nccl_communicator(
        host, {.init_timeout = rounds.timeout(), .comm_timeout = rounds.timeout(), .device = device, .hosts = hosts});
  };
  const auto limits = [&](const std::string& fabric) {
    return rounds.leads() ? gpu_limits(gpus, fabric) : AllReduceLimits{};
  };
  const NcclLog log;
  std::unique_ptr<Communicator> all, host, node;  // of all ranks, and of this node's by MPI and by NCCL
  stage(rounds, "NCCL start", [&] { all = connect(rounds.comm(), rounds.hosts()); });
  rounds.end({Status::ok, "it connects all ranks"});
  const std::string fabric = check_network(rounds, log);
  const int hosts = rounds.standing().hosts;
  if (hosts > 1) check_sums(rounds, "GPU sums, all", "gpu_all_reduce_of_all_ranks", *all, limits(fabric));
  if (hosts < rounds.size()) {  // all nodes at the same time; a message names ranks of its own node only
    stage(rounds, "GPU sums, node", [&] {
      host = make_group_communicator(rounds.standing().host);
      node = connect(*host, std::vector<std::string>(static_cast<size_t>(rounds.size()), host_name()));
    });
    check_sums(rounds, "GPU sums, node", "gpu_all_reduce_in_a_node", *node, limits(""));
  }
  rounds.begin("NCCL end", kNcclDeadlines);  // that may hang as well
  node.reset();
  host.reset();
  all.reset();
  rounds.meet();
  rounds.end({Status::ok, "on all ranks"});
}

}  // namespace

void add_gpu_facts(const Placement& placement, RankFacts& facts) {
  if (placement.gpu < 0) return;
  try {
    static_cast<GpuIdentity&>(facts) = this_gpu(placement.gpu);
    facts.cuda = cuda_version();
  } catch (const Error&) {
    facts.gpu = "unknown";  // the check of kernels says why
  }
}

void check_gpus(Rounds& rounds, const Placement& placement, const std::vector<RankFacts>& ranks, bool wants_cpu) {
  rounds.begin("GPUs");
  const Check check = rounds.decide(
      "", [&](const auto&) { return gpus_finding(ranks, wants_cpu ? CudaSupport{} : cuda_support(), wants_cpu); });
  rounds.end(check);
  if (check.status != Status::ok) return;
  check_kernel(rounds, placement.gpu);
  check_nccl(rounds, placement.gpu, column(ranks, &RankFacts::gpu));
}

}  // namespace drl
