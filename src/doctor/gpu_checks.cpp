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
  GpuExamination(Rounds& rounds, const Placement& placement, const Ranks& ranks)
      : rounds_(rounds), device_(placement.gpu), ranks_(ranks) {}

  void run(bool wants_cpu);

 private:
  // What rank 0 knows already.
  void add(const Check& check) {
    rounds_.begin(check.name);
    rounds_.end(check);
  }
  void skip_from(const std::string& first, const std::string& why) {
    for (const Check& check : skipped_from(first, why)) add(check);
  }
  // s for a kernel, so that its rank can still say that it hangs.
  double patience() const { return rounds_.timeout() / 2; }

  template <class T>
  static std::vector<T> parsed(const std::vector<std::string>& texts) {
    std::vector<T> all;
    for (const std::string& text : texts) all.push_back(Json::parse(text).get<T>());
    return all;
  }
  // What this rank found, of all ranks on rank 0.
  template <class T>
  std::vector<T> collect(const T& mine) {
    return parsed<T>(rounds_.collect(text_of(Json(mine))));
  }
  // What rank 0 says of what all ranks found; the others learn the check's name and status only.
  template <class T>
  Check find(const T& mine, const std::function<Check(const std::vector<T>&)>& finding) {
    Check check;
    const auto verdict = [&](const std::vector<std::string>& texts) {
      check = finding(parsed<T>(texts));
      return text_of(Json{check.name, check.status});
    };
    const Json told = Json::parse(rounds_.decide(text_of(Json(mine)), verdict));
    check.name = told.at(0), check.status = told.at(1);
    return check;
  }
  Check find(const std::function<Check()>& finding) {
    return find<int>(0, [&](const auto&) { return finding(); });
  }
  // The end of a round in which rank 0 alone has something to say.
  void end(const std::function<Check()>& finding) { rounds_.end(rounds_.leads() ? finding() : Check{}); }
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
  std::unique_ptr<Communicator> connect(Communicator& host, const std::vector<std::string>& hosts);
  std::optional<AllReduceTimes> add_up(Communicator& nccl, const std::string& check);
  void check_sums();
  void check_sums_of_all();
  void check_sums_in_nodes();
  void end_nccl();

  Rounds& rounds_;
  const int device_;
  const Ranks& ranks_;
  std::optional<Nvml> nvml_;
  GpuHealth health_;
  std::unique_ptr<Communicator> nccl_, here_, nccl_here_;  // of all ranks, and of this node's
};

void GpuExamination::run(bool wants_cpu) {
  rounds_.begin("GPUs");
  const Check users =
      find([&] { return gpu_users_finding(ranks_.all, wants_cpu ? CudaSupport{} : cuda_support(), wants_cpu); });
  rounds_.end(users);
  if (users.status != Status::ok) return;
  rounds_.begin("GPU models");
  const Check libraries = find([&] { return gpu_library_finding(ranks_.all); });
  const Check sharing =
      find([&] { return gpu_sharing_finding(ranks_.all, process_environment()("DRL_TEST_SHARE_GPU") == "1"); });
  end([&] { return gpu_finding(ranks_.all); });
  for (const Check& check : {libraries, sharing}) add(check);
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
  nvml_.emplace(ranks_.mine.pci);
  health_ = nvml_->health();
  const std::vector<GpuHealth> all = collect(health_);
  end([&] { return processes_finding(all, rounds_.hosts()); });
  rounds_.begin("GPU memory");
  end([&] { return memory_finding(all, rounds_.hosts()); });
}

void GpuExamination::check_kernel() {
  rounds_.begin("GPU kernel");
  const Check check = find<std::string>(try_kernel(device_, patience()), [&](const std::vector<std::string>& reasons) {
    return runtime_finding("GPU kernel", reasons, rounds_.hosts());
  });
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
  const Check result = find<std::string>(reason, [&](const std::vector<std::string>& reasons) {
    return runtime_finding(check, reasons, rounds_.hosts());
  });
  if (result.status == Status::failed) end_with(result);
}

void GpuExamination::check_peers() {
  rounds_.begin("GPU peer access");
  PeerAccess mine;
  on_all("GPU peer access", [&] { mine = peer_access(device_); });
  const std::vector<PeerAccess> all = collect(mine);
  end([&] { return peers_finding(all, ranks_.all); });
}

void GpuExamination::check_speed() {
  rounds_.begin("GPU speed");
  rounds_.meet();  // all begin at the same time, as they compute in a training
  double seconds = 0;
  const auto look_at_clocks = [&] { health_.slowdowns = nvml_->slowdowns(); };
  on_all("GPU speed", [&] { seconds = fastest_kernel(device_, patience(), look_at_clocks); });
  const std::vector<double> all_seconds = collect(seconds);
  end([&] { return gpu_speed_finding(all_seconds, rounds_.hosts()); });
  note("gpu_kernel_seconds", all_seconds);

  rounds_.begin("GPU clocks");
  const std::vector<GpuHealth> all = collect(health_);
  end([&] { return clocks_finding(all, rounds_.hosts()); });
  note("gpu_health", Json(all));
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
  const std::string worst = rounds_.decide(reason, [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& one : all)
      if (text.empty() || (text == kElsewhere && !one.empty())) text = one;
    return text;
  });
  if (!worst.empty()) end_with(check_of_message(check, Status::failed, worst));
}

void GpuExamination::check_nccl() {
  const NcclLog log;
  on_all_by_nccl("NCCL start", [&] { nccl_ = connect(rounds_.comm(), rounds_.hosts()); });
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
  rounds_.meet();
  rounds_.end({"NCCL end", Status::ok, "on all ranks"});
}

void GpuExamination::check_sums() {
  if (rounds_.size() == 1) return add({"GPU sums", Status::ok, "1 rank, nothing to add up"});
  if (rounds_.standing().hosts > 1) check_sums_of_all();
  if (rounds_.standing().hosts < rounds_.size()) check_sums_in_nodes();
}

void GpuExamination::check_network(const NcclLog& log) {
  rounds_.begin("NCCL network");
  NcclNetwork mine = network_of_log(log.text());
  mine.fabrics = fabrics_of();
  mine.wish = network_wish(process_environment(), mine.fabrics);
  mine.trouble = log.trouble();
  const std::vector<NcclNetwork> all = collect(mine);
  end([&] { return network_finding(all, rounds_.hosts()); });
  note("nccl_network", Json(all));
}

std::unique_ptr<Communicator> GpuExamination::connect(Communicator& host, const std::vector<std::string>& hosts) {
  const double limit = rounds_.timeout();
  return make_nccl_communicator(host, {limit, limit, false, device_, hosts});
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
  const Check sums =
      find<bool>(right, [&](const std::vector<bool>& all) { return sums_finding(check, all, rounds_.hosts()); });
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

// Each node's ranks for themselves, all nodes at the same time. A message names ranks of its own node only.
void GpuExamination::check_sums_in_nodes() {
  const std::vector<std::string> hosts(static_cast<size_t>(rounds_.size()), ranks_.mine.host);
  on_all_by_nccl("GPU sums, node", [&] {
    here_ = make_group_communicator(rounds_.standing().host);
    nccl_here_ = connect(*here_, hosts);
  });
  const auto times = add_up(*nccl_here_, "GPU sums, node");
  if (!times) return;
  const auto json = here_->size() > 1 ? json_of(*times) : nlohmann::ordered_json::array();
  const std::vector<std::string> all = rounds_.collect(json.dump());
  if (!rounds_.leads()) return rounds_.end({});
  const AllReduceTimes worst = slowest(all, rounds_.hosts());
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

void check_gpus(Rounds& rounds, const Placement& placement, const Ranks& ranks, bool wants_cpu) {
  GpuExamination(rounds, placement, ranks).run(wants_cpu);
}

}  // namespace drl
