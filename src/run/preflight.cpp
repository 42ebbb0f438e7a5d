#include "run/preflight.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <utility>

#include "base/build_id.hpp"
#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/patience.hpp"
#include "comm/roll_call.hpp"
#include "envs/task_libraries.hpp"

namespace drl {
namespace {

constexpr double kPatience = 2;         // seconds that a file system may take to report a directory
constexpr size_t kMostDifferences = 3;  // options that a message lists
constexpr char kEnd = '\0';             // ends each option in a text; no argument of a program contains it
constexpr const char* kNotGiven = "not given";

// Returns true if this node sees the directory within kPatience. A file system that hangs must not stop the run,
// because only rank 0 writes files.
bool sees(const std::filesystem::path& folder) {
  const auto there = std::make_shared<std::atomic<bool>>(false);
  return done_within(kPatience,
                     [there, folder] {
                       std::error_code ignored;
                       *there = std::filesystem::is_directory(folder, ignored);
                     }) &&
         *there;
}

}  // namespace

std::string build_difference(const std::vector<std::string>& builds, const std::vector<std::string>& hosts) {
  const auto groups = groups_of(builds);
  if (std::ranges::count_if(groups, [](const Group& group) { return !group.text.empty(); }) <= 1) return "";
  return "ranks run different builds: " + values_with_ranks(builds, hosts);
}

void require_same_build(Communicator& comm, bool compare) {
  const auto hosts = gather_texts(comm, host_name()), builds = gather_texts(comm, compare ? program_build() : "");
  on_rank_zero(comm, [&] {
    const std::string difference = build_difference(builds, hosts);
    if (!difference.empty()) throw UsageError(difference + "; " + kSameBuildAdvice);
  });
}

std::string options_text(const std::vector<NamedValue>& given) {
  std::string text;
  for (const NamedValue& option : given) text += option.name + '=' + option.value + kEnd;
  return text;
}

std::string options_difference(const std::vector<std::string>& texts, const std::vector<std::string>& hosts) {
  std::map<std::string, std::vector<std::string>> values;  // by option, one for each rank
  for (size_t rank = 0; rank < texts.size(); ++rank)
    for (const std::string& option : split(texts[rank], kEnd)) {
      const size_t equals = option.find('=');
      if (equals == option.npos) continue;  // after the last kEnd
      auto& of_ranks = values.try_emplace(option.substr(0, equals), texts.size(), kNotGiven).first->second;
      of_ranks[rank] = shown(option.substr(equals + 1));
    }
  std::vector<std::string> differences;
  for (const auto& [name, of_ranks] : values)
    if (groups_of(of_ranks).size() > 1) differences.push_back("--" + name + ": " + values_with_ranks(of_ranks, hosts));
  return join(at_most(kMostDifferences, std::move(differences), "", " more options"), "; ");
}

void require_same_options(Communicator& comm, const std::vector<NamedValue>& given) {
  const std::string mine = options_text(given);
  std::byte differs{broadcast_text(comm, mine) != mine};
  for (std::byte one : comm.gather(std::span(&differs, 1), 0)) differs |= one;
  comm.broadcast(std::span(&differs, 1), 0);
  if (differs == std::byte{0}) return;
  const auto hosts = gather_texts(comm, host_name()), texts = gather_texts(comm, mine);
  on_rank_zero(comm, [&] {
    throw UsageError("the ranks were given different options (" + options_difference(texts, hosts) +
                     "): give all ranks the same options; to train several runs, start drl_train once for each");
  });
}

void require_same_texts(Communicator& comm, const std::string& problem, const std::string& mine) {
  const auto hosts = gather_texts(comm, host_name()), texts = gather_texts(comm, mine.empty() ? "none" : mine);
  on_rank_zero(comm, [&] {
    if (groups_of(texts).size() > 1)
      throw UsageError(problem + values_with_ranks(texts, hosts) +
                       "; make all nodes find the same file, on a shared file system");
  });
}

void require_same_tasks(Communicator& comm) {
  require_same_texts(comm, "ranks load different task libraries: ", task_library_builds());
}

void require_same_files(Communicator& comm, const std::string& mine) {
  require_same_texts(comm, "ranks simulate different models: ", mine);
}

std::string hardware_difference(std::vector<std::string> cpus, std::vector<std::string> gpus,
                                const std::vector<std::string>& hosts) {
  std::vector<std::string> differences;
  for (const auto& [what, models] : {std::pair{"GPUs: ", &gpus}, {"CPUs: ", &cpus}}) {
    std::ranges::replace(*models, "", "none");
    if (groups_of(*models).size() > 1) differences.push_back(what + values_with_ranks(*models, hosts));
  }
  return differences.empty() ? "" : "ranks compute on different hardware (" + join(differences, "; ") + ")";
}

std::string device_difference(const std::vector<std::string>& gpus, const std::vector<std::string>& hosts) {
  std::vector<std::string> devices;
  for (const std::string& gpu : gpus) devices.emplace_back(gpu.empty() ? "the CPU" : "a GPU");
  return groups_of(devices).size() <= 1 ? "" : values_with_ranks(devices, hosts);
}

std::vector<std::string> compare_hardware(Communicator& comm, const RankHardware& mine) {
  const auto hosts = gather_texts(comm, mine.host), cpus = gather_texts(comm, mine.cpu),
             gpus = gather_texts(comm, mine.gpu);
  on_rank_zero(comm, [&] {
    if (const std::string devices = device_difference(gpus, hosts); !devices.empty())
      throw UsageError("ranks would compute on different devices (" + devices +
                       "): request GPUs on all nodes, or use --device cpu");
  });
  const std::string difference = hardware_difference(cpus, gpus, hosts);
  if (!difference.empty()) log::warn("{}: {}", difference, kSameHardwareAdvice);
  return hosts;
}

void warn_if_not_shared(Communicator& comm, const std::filesystem::path& run) {
  const auto hosts = gather_texts(comm, host_name()), answers = gather_texts(comm, sees(run) ? "" : "no");
  std::vector<std::string> blind;
  for (const Group& host : groups_of(hosts))
    if (!answers[host.ranks.front()].empty()) blind.push_back(host.text);
  if (!blind.empty())
    log::warn(
        "the run directory {} does not exist on {} (it is not shared), so a requeued job may not find it: choose a "
        "shared directory with --runs_dir or DRL_RUNS_DIR",
        run.string(), join(blind, ", "));
}

}  // namespace drl
