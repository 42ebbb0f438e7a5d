#include "doctor/gpu_checks.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>

#include "base/check.hpp"
#include "base/log.hpp"
#include "cluster/cuda_support.hpp"
#include "cluster/environment.hpp"
#include "cluster/nccl_communicator.hpp"
#include "doctor/all_reduce.hpp"
#include "doctor/gpu_findings.hpp"
#include "doctor/gpu_probe.hpp"
#include "doctor/nccl_log.hpp"
#include "doctor/nccl_network.hpp"
#include "doctor/nvml.hpp"

namespace drl {
namespace {

using Json = nlohmann::json;

// Each makes sense only if those before it went well.
constexpr const char* kInOrder[] = {"GPU kernel", "GPU peer access", "GPU speed", "GPU clocks",
                                    "NCCL start", "NCCL network",    "GPU sums"};

// The checks from `first` on, as skipped.
std::vector<Check> skipped_from(const std::string& first, const std::string& why) {
  std::vector<Check> checks;
  for (auto name = std::ranges::find(kInOrder, first); name != std::end(kInOrder); ++name)
    checks.push_back({*name, Status::skipped, why});
  return checks;
}

// Ends the examination on all ranks: a GPU that hangs may be in the way of an orderly end, and after a failure of NCCL
// the ranks do not hear of each other any more.
[[noreturn]] void end_with(const Check& failed) {
  std::vector<Check> later;
  if (const auto name = std::ranges::find(kInOrder, failed.name); name != std::end(kInOrder))
    if (std::next(name) != std::end(kInOrder)) later = skipped_from(*std::next(name), "\"" + failed.name + "\" failed");
  throw CheckFailed(failed, later);
}

constexpr double kNcclDeadlines = 20;  // s by which NCCL's own ones, and the end after them, may exceed a round's
constexpr const char* kElsewhere = "it failed on another rank";

class GpuExamination {
 public:
  GpuExamination(Rounds& rounds, const Placement& placement, const std::vector<RankFacts>& ranks)
      : rounds_(rounds), device_(placement.gpu), ranks_(ranks) {}

  void run();

 private:
  // What all ranks know already.
  void add(const Check& check) {
    rounds_.begin(check.name);
    rounds_.end(check);
  }
  void skip_from(const std::string& first, const std::string& why) {
    for (const Check& check : skipped_from(first, why)) add(check);
  }
  // s for a kernel, so that its rank can still say that it hangs.
  double patience() const { return rounds_.timeout() / 2; }
  // What this rank found, of all ranks.
  template <class T>
  std::vector<T> share(const T& mine) {
    std::vector<T> all;
    for (const std::string& text : rounds_.share(text_of(Json(mine)))) all.push_back(Json::parse(text).get<T>());
    return all;
  }
  void note(const std::string& name, const nlohmann::ordered_json& figures) {
    if (rounds_.leads()) rounds_.report().add_figures(name, figures);
  }

  void check_health();
  void check_kernel();
  void on_all(const std::string& check, const std::function<void()>& work);
  void on_all_by_nccl(const std::string& check, const std::function<void()>& work);
  void check_peers();
  void check_speed();
  void check_nccl();
  void check_network(const NcclLog& log);
  std::unique_ptr<Communicator> connect(Communicator& host);
  std::optional<AllReduceTimes> add_up(Communicator& nccl, const std::string& check);
  void check_sums();
  void check_sums_of_all();
  void check_sums_in_nodes(const std::vector<HostRanks>& nodes);
  void end_nccl();

  Rounds& rounds_;
  const int device_;
  const std::vector<RankFacts>& ranks_;
  std::optional<Nvml> nvml_;
  std::vector<GpuHealth> health_;
  std::unique_ptr<Communicator> nccl_, here_, nccl_here_;  // of all ranks, and of this node's
};

void GpuExamination::run() {
  const Check libraries = gpu_library_finding(ranks_);
  const Check sharing = gpu_sharing_finding(ranks_, process_environment()("DRL_TEST_SHARE_GPU") == "1");
  for (const Check& check : {gpu_finding(ranks_), libraries, sharing}) add(check);
  check_health();  // before this program computes there
  if (sharing.status == Status::failed) return skip_from("GPU kernel", "ranks share a GPU");
  check_kernel();
  check_peers();
  check_speed();
  if (libraries.status == Status::failed) return skip_from("NCCL start", "the libraries differ");
  check_nccl();
}

void GpuExamination::check_health() {
  rounds_.begin("GPU processes");
  nvml_.emplace(ranks_[static_cast<size_t>(rounds_.rank())].pci);
  health_ = share(nvml_->health());
  rounds_.end(processes_finding(health_, rounds_.hosts()));
  add(memory_finding(health_, rounds_.hosts()));
}

void GpuExamination::check_kernel() {
  rounds_.begin("GPU kernel");
  const Check check = runtime_finding("GPU kernel", share(try_kernel(device_, patience())), rounds_.hosts());
  if (check.status == Status::failed) end_with(check);
  rounds_.end(check);
}

// Work with the runtime, which must not fail on any rank.
void GpuExamination::on_all(const std::string& check, const std::function<void()>& work) {
  std::string reason;
  try {
    work();
  } catch (const Error& error) {
    reason = runtime_reason(error.what());
  }
  const Check result = runtime_finding(check, share(reason), rounds_.hosts());
  if (result.status == Status::failed) end_with(result);
}

void GpuExamination::check_peers() {
  rounds_.begin("GPU peer access");
  PeerAccess mine;
  on_all("GPU peer access", [&] { mine = peer_access(device_); });
  rounds_.end(peers_finding(share(mine), ranks_));
}

void GpuExamination::check_speed() {
  rounds_.begin("GPU speed");
  rounds_.share("");  // all begin at the same time, as they compute in a training
  double seconds = 0;
  GpuHealth mine = health_[static_cast<size_t>(rounds_.rank())];
  const auto look_at_clocks = [&] { mine.slowdowns = nvml_->slowdowns(); };
  on_all("GPU speed", [&] { seconds = fastest_kernel(device_, patience(), look_at_clocks); });
  const std::vector<double> all = share(seconds);
  rounds_.end(gpu_speed_finding(all, rounds_.hosts()));
  note("gpu_kernel_seconds", all);

  rounds_.begin("GPU clocks");
  health_ = share(mine);
  rounds_.end(clocks_finding(health_, rounds_.hosts()));
  note("gpu_health", Json(health_));
}

// ---- NCCL -----------------------------------------------------------------------------------------------------------

// The options of drl_train that messages name have another name here.
std::string with_own_option(std::string text) {
  for (const std::string option : {"--init_timeout", "--comm_timeout"})
    if (const size_t at = text.find(option); at != std::string::npos) text.replace(at, option.size(), "--timeout");
  return text;
}

// A stage of the round `check`, which NCCL ends by itself when it takes too long. Nodes of their own hear by the round
// that another one failed.
void GpuExamination::on_all_by_nccl(const std::string& check, const std::function<void()>& work) {
  rounds_.begin(check, kNcclDeadlines);
  std::string reason;
  try {
    work();
  } catch (const ReportedError&) {  // another rank of the group says it
    reason = kElsewhere;
  } catch (const Error& error) {
    reason = with_own_option(error.what());
    // What rank 0 found it says at once: the others of its group may not come to the end of this stage.
    if (rounds_.leads()) end_with(check_of_message(check, Status::failed, reason));
    if (!dynamic_cast<const SharedError*>(&error)) log::error("{}", error.what());
  }
  std::string worst;
  for (const std::string& one : rounds_.share(reason))
    if (worst.empty() || (worst == kElsewhere && !one.empty())) worst = one;
  if (!worst.empty()) end_with(check_of_message(check, Status::failed, worst));
}

void GpuExamination::check_nccl() {
  const NcclLog log;
  on_all_by_nccl("NCCL start", [&] { nccl_ = connect(rounds_.comm()); });
  rounds_.end({"NCCL start", Status::ok, "it connects all ranks"});
  check_network(log);
  check_sums();
  end_nccl();
}

// That may hang as well.
void GpuExamination::end_nccl() {
  rounds_.begin("NCCL end", kNcclDeadlines);
  nccl_here_.reset();
  here_.reset();
  nccl_.reset();
  rounds_.share("");
  rounds_.end({"NCCL end", Status::ok, "on all ranks"});
}

void GpuExamination::check_sums() {
  if (rounds_.size() == 1) return add({"GPU sums", Status::ok, "1 rank, nothing to add up"});
  const std::vector<HostRanks> nodes = hosts_of(rounds_.hosts());
  if (nodes.size() > 1) check_sums_of_all();
  if (std::ssize(nodes) < rounds_.size()) check_sums_in_nodes(nodes);
}

void GpuExamination::check_network(const NcclLog& log) {
  rounds_.begin("NCCL network");
  NcclNetwork mine = network_of_log(log.text());
  mine.fabrics = fabrics_of();
  mine.wish = network_wish(process_environment(), mine.fabrics);
  mine.trouble = log.trouble();
  const std::vector<NcclNetwork> all = share(mine);
  rounds_.end(network_finding(all, rounds_.hosts()));
  note("nccl_network", Json(all));
}

std::unique_ptr<Communicator> GpuExamination::connect(Communicator& host) {
  const double limit = rounds_.timeout();
  return make_nccl_communicator(host, {limit, limit, false, device_, rounds_.hosts()});
}

// Times, unless sums are wrong, which ends the round.
std::optional<AllReduceTimes> GpuExamination::add_up(Communicator& nccl, const std::string& check) {
  std::optional<GpuAllReduce> all_reduce;
  rounds_.begin(check);
  on_all(check, [&] { all_reduce.emplace(nccl); });
  bool right = true;
  on_all_by_nccl(check, [&] {
    for (int64_t bytes : {kSmall, kGradient, kMedium}) right &= all_reduce->is_right(bytes);
  });
  const Check sums = sums_finding(check, share(right), rounds_.hosts());
  if (sums.status == Status::failed) return rounds_.end(sums), std::nullopt;
  AllReduceTimes times;
  on_all_by_nccl(check, [&] {
    times = measure(nccl, [&](int64_t bytes, int repeats) { return all_reduce->repeat(bytes, repeats); });
  });
  return times;
}

void GpuExamination::check_sums_of_all() {
  const auto times = add_up(*nccl_, "GPU sums, all");
  if (!times) return;
  note("gpu_all_reduce_of_all_ranks", json_of(*times));
  rounds_.end(all_reduce_finding("GPU sums, all", *times, gpu_limits(false)));
}

// Each node's ranks for themselves, all nodes at the same time.
void GpuExamination::check_sums_in_nodes(const std::vector<HostRanks>& nodes) {
  const std::string& mine = rounds_.hosts()[static_cast<size_t>(rounds_.rank())];
  const auto node = static_cast<int>(std::ranges::find(nodes, mine, &HostRanks::name) - nodes.begin());
  on_all_by_nccl("GPU sums, node", [&] {
    here_ = make_group_communicator(node);
    nccl_here_ = connect(*here_);
  });
  const auto times = add_up(*nccl_here_, "GPU sums, node");
  if (!times) return;
  const auto json = here_->size() > 1 ? json_of(*times) : nlohmann::ordered_json::array();
  const AllReduceTimes worst = slowest(rounds_.share(json.dump()), rounds_.hosts());
  note("gpu_all_reduce_in_a_node", json_of(worst));
  rounds_.end(all_reduce_finding("GPU sums, node", worst, gpu_limits(true)));
}

}  // namespace

void add_gpu_facts(const Placement& placement, RankFacts& facts) {
  if (placement.gpu < 0) return;
  try {
    const GpuIdentity gpu = this_gpu(placement.gpu);
    facts.gpu = gpu.gpu, facts.uuid = gpu.uuid, facts.pci = gpu.pci;
    facts.driver = gpu.driver, facts.nccl = gpu.nccl;
    facts.cuda = cuda_runtime_version();
  } catch (const Error&) {
    facts.gpu = "unknown";  // the check of kernels says why
  }
}

void check_gpus(Rounds& rounds, const Placement& placement, const std::vector<RankFacts>& ranks, bool wants_cpu) {
  rounds.begin("GPUs");
  const Check check = gpu_users_finding(ranks, wants_cpu ? CudaSupport{} : cuda_support(), wants_cpu);
  rounds.end(check);
  if (check.status == Status::ok) GpuExamination(rounds, placement, ranks).run();
}

}  // namespace drl
