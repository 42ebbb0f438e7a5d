#include <algorithm>
#include <exception>

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "comm/nccl_communicator.hpp"
#include "comm/roll_call.hpp"
#include "device/array.hpp"
#include "device/gpu_queue.hpp"
#include "doctor/all_reduce.hpp"
#include "doctor/checks.hpp"
#include "doctor/gpu_probe.hpp"
#include "doctor/nccl_network.hpp"
#include "gpu/runtime.hpp"
#include "placement/cuda_support.hpp"

namespace drl {
namespace {

constexpr double kNcclDeadlines = 20;  // s that NCCL's own deadlines and its shutdown may take beyond a round's timeout
constexpr const char* kFailedElsewhere = "it failed on another rank";

// NCCL all-reduces in the memory of this process's device.
class GpuAllReduce {
 public:
  explicit GpuAllReduce(Communicator& nccl) : nccl_(nccl) {}
  // Leaks the memory after a failure, as the communicator does, because freeing it would wait for the GPU.
  ~GpuAllReduce() {
    if (std::uncaught_exceptions() > 0) (void)buffers_.release();
  }

  // Runs an all-reduce of `bytes` and returns whether its sum is correct. This and repeat() throw Error or
  // ReportedError if an all-reduce exceeds the communicator's timeout.
  bool is_correct_sum(int64_t bytes) {
    Buffers& buffers = *buffers_;
    const std::vector<float> mine = test_data(nccl_.rank(), bytes);
    std::ranges::copy(mine, buffers.host_data.data());
    buffers.queue->copy(buffers.data.data(), buffers.host_data.data(), mine.size());
    enqueue(bytes);
    buffers.queue->copy(buffers.host_data.data(), buffers.data.data(), mine.size());
    nccl_.wait([&] { return buffers.queue->done(); });
    return drl::is_correct_sum(std::span(buffers.host_data.data(), mine.size()), nccl_.size());
  }

  // Returns the seconds that `times` all-reduces take on the device. They are launched as one graph: if the host
  // enqueued them one by one, this would measure the host.
  double repeat(int64_t bytes, int times) {
    Buffers& buffers = *buffers_;
    const double before = nccl_.stats().wait_seconds;
    if (times == 1) {
      enqueue(bytes);
    } else {
      const CommStats captured = nccl_.capture([&] {
        buffers.recording = buffers.queue->record([&] {
          for (int k = 0; k < times; ++k) enqueue(bytes);
        });
      });
      buffers.queue->launch(*buffers.recording);
      nccl_.count_replayed(captured, {buffers.queue->native()});
    }
    nccl_.wait([&] { return buffers.queue->done(); });
    return nccl_.stats().wait_seconds - before;
  }

 private:
  void enqueue(int64_t bytes) {
    nccl_.all_reduce_sum(std::span(buffers_->data.data(), static_cast<size_t>(bytes) / sizeof(float)),
                         {buffers_->queue->native()});
  }

  struct Buffers {
    std::unique_ptr<Queue> queue = make_gpu_queue();
    Array<float> data{*queue, kLarge / sizeof(float)};
    Array<float> host_data{*queue, kMedium / sizeof(float), Memory::host};
    std::unique_ptr<RecordedWork> recording;
  };
  Communicator& nccl_;
  std::unique_ptr<Buffers> buffers_ = std::make_unique<Buffers>();
};

// Returns why a small kernel does not run on the device within `seconds`; "" if it does.
std::string try_kernel(int device, double seconds) {
  try {
    return run_kernel(device, seconds);
  } catch (const Error& error) {
    (void)gpuGetLastError();
    return check_of_message(Status::failed, error.what()).finding;
  }
}

// Runs a kernel on every rank's GPU. Throws CheckFailed if one fails: a hanging GPU can prevent an orderly exit, so all
// ranks must be aborted.
void check_kernel(MessageRounds& rounds, int device) {
  rounds.begin("GPU kernel");
  const double patience = rounds.timeout() / 2;  // leaves time to report a kernel that hangs
  const Check check = rounds.decide(try_kernel(device, patience),
                                    [&](const auto& reasons) { return kernel_finding(reasons, rounds.hosts()); });
  if (check.status == Status::failed) throw CheckFailed(check);
  rounds.end(check);
}

// Replaces the options of drl_train in a message by the doctor's --timeout.
std::string with_doctor_option(std::string text) {
  for (const std::string option : {"--init_timeout", "--comm_timeout"})
    if (const size_t at = text.find(option); at != std::string::npos) text.replace(at, option.size(), "--timeout");
  return text;
}

// Runs `work` as a stage of the round `name`; NCCL's communicator ends it if it takes too long. If it failed on any
// rank, throws CheckFailed on all ranks, also on nodes with their own communicators.
void run_stage(MessageRounds& rounds, const std::string& name, const std::function<void()>& work) {
  rounds.begin(name, kNcclDeadlines);
  std::string reason;
  try {
    work();
  } catch (const ReportedError&) {  // another rank of its communicator reports it
    reason = kFailedElsewhere;
  } catch (const Error& error) {
    reason = with_doctor_option(error.what());
    // Rank 0 reports its own failure at once: other ranks of its communicator may never finish this stage.
    if (rounds.is_rank_zero()) throw CheckFailed(check_of_message(Status::failed, reason));
    if (!dynamic_cast<const SharedError*>(&error)) log::error("{}", error.what());
  }
  const Check check = rounds.decide(reason, [](const std::vector<std::string>& all) {
    std::string worst;
    for (const std::string& one : all)
      if (worst.empty() || (worst == kFailedElsewhere && !one.empty())) worst = one;
    return worst.empty() ? Check{} : check_of_message(Status::failed, worst);
  });
  if (check.status == Status::failed) throw CheckFailed(check);
}

// Checks the network that NCCL chose. Returns this rank's fabric.
std::string check_network(MessageRounds& rounds, const NcclLog& log) {
  rounds.begin("NCCL network");
  NcclNetwork mine = network_of_log(log.text());
  mine.fabrics = fabrics_of();
  mine.wish = disabling_variable(process_environment(), mine.fabrics);
  mine.trouble = log.trouble();
  const std::vector<NcclNetwork> all = rounds.gather(mine);
  rounds.report().add_figures("nccl_network", nlohmann::json(all));
  rounds.end(rounds.is_rank_zero() ? network_finding(all, rounds.hosts()) : Check{});
  return fabric_of(mine);
}

void check_sums(MessageRounds& rounds, const std::string& name, const std::string& figures, Communicator& nccl,
                const AllReduceLimits& limits) {
  std::optional<GpuAllReduce> all_reduce;
  bool correct = true;
  run_stage(rounds, name, [&] {
    all_reduce.emplace(nccl);
    for (int64_t bytes : {kSmall, kGradient, kMedium}) correct &= all_reduce->is_correct_sum(bytes);
  });
  const Check sums = judge_sums(rounds, correct,
                                "GPUs, their links or NCCL corrupt data: try NCCL_P2P_DISABLE=1, then NCCL_ALGO=Ring, "
                                "and tell the administrator (dmesg | grep -i xid)");
  if (sums.status == Status::failed) return rounds.end(sums);
  AllReduceTimes times;
  const RepeatAllReduce repeat = [&](int64_t bytes, int count) { return all_reduce->repeat(bytes, count); };
  run_stage(rounds, name, [&] { times = measure(nccl, kLarge, repeat); });
  end_with_times(rounds, figures, times, limits);
}

// Checks NCCL's start, network, all-reduces and end. `gpus` are the ranks' models, used on rank 0 only.
void check_nccl(MessageRounds& rounds, int device, const std::vector<std::string>& gpus) {
  const auto connect = [&](Communicator& host, const std::vector<std::string>& hosts) {
    return make_nccl_communicator(
        host, {.init_timeout = rounds.timeout(), .comm_timeout = rounds.timeout(), .device = device, .hosts = hosts});
  };
  const auto limits = [&](const std::string& fabric) {
    return rounds.is_rank_zero() ? gpu_limits(gpus, fabric) : AllReduceLimits{};
  };
  const NcclLog log;
  std::unique_ptr<Communicator> all, host, node;  // all ranks by NCCL; this node's ranks by MPI and by NCCL
  run_stage(rounds, "NCCL start", [&] { all = connect(rounds.comm(), rounds.hosts()); });
  rounds.end({Status::ok, "all ranks are connected"});
  const std::string fabric = check_network(rounds, log);
  const int hosts = rounds.node().count;
  if (hosts > 1) check_sums(rounds, "GPU sums, all", "gpu_all_reduce_of_all_ranks", *all, limits(fabric));
  if (hosts < rounds.size()) {  // all nodes at the same time; messages name the ranks of one node only
    run_stage(rounds, "GPU sums, node", [&] {
      host = make_group_communicator(rounds.node().index);
      node = connect(*host, std::vector<std::string>(static_cast<size_t>(rounds.size()), host_name()));
    });
    check_sums(rounds, "GPU sums, node", "gpu_all_reduce_in_a_node", *node, limits(""));
  }
  rounds.begin("NCCL end", kNcclDeadlines);  // this may hang as well
  node.reset();
  host.reset();
  all.reset();
  rounds.barrier();
  rounds.end({Status::ok, "all ranks have disconnected"});
}

}  // namespace

void add_gpu_facts(const Placement& placement, RankFacts& facts, bool wants_cpu) {
  if (placement.gpu < 0) {
    if (!wants_cpu) facts.cuda_trouble = cuda_support().trouble, facts.cuda_remedy = cuda_support().remedy;
    return;
  }
  facts.device_order = process_environment()("CUDA_DEVICE_ORDER").value_or("");
  facts.gpu_trouble = caught_usage_error(gpuOpenLibraries);
  try {
    static_cast<GpuIdentity&>(facts) = this_gpu(placement.gpu);
    facts.cuda = cuda_version();
  } catch (const Error&) {
    facts.gpu = "unknown";  // the checks "GPUs" and "GPU kernel" report why
  }
}

void check_gpus(MessageRounds& rounds, const Placement& placement, const std::vector<RankFacts>& ranks,
                bool wants_cpu) {
  rounds.begin("GPUs");
  const Check check = rounds.decide("", [&](const auto&) { return gpus_finding(ranks, wants_cpu); });
  rounds.end(check);
  if (check.status != Status::ok) return;
  rounds.begin("GPU setup");
  rounds.end(rounds.is_rank_zero() ? gpu_setup_finding(ranks) : Check{});
  check_kernel(rounds, placement.gpu);
  check_nccl(rounds, placement.gpu, column(ranks, &RankFacts::gpu));
}

}  // namespace drl
