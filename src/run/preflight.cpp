#include "run/preflight.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/patience.hpp"
#include "comm/program_build.hpp"
#include "comm/roll_call.hpp"
#include "envs/task_libraries.hpp"

namespace drl {
namespace {

constexpr double kPatience = 2;  // seconds that a file system may take to report a directory

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

// Throws ReportedError on all ranks if the ranks' texts, which describe files that they have loaded, differ.
void require_same(Communicator& comm, const std::string& problem, const std::string& mine) {
  const auto hosts = gather_texts(comm, host_name()), texts = gather_texts(comm, mine.empty() ? "none" : mine);
  on_rank_zero(comm, [&] {
    if (groups_of(texts).size() > 1)
      throw UsageError(problem + values_with_ranks(texts, hosts) +
                       "; make all nodes find the same file, on a shared file system");
    return std::string();
  });
}

}  // namespace

std::string build_difference(const std::vector<std::string>& builds, const std::vector<std::string>& hosts) {
  return groups_of(builds).size() <= 1 ? "" : "ranks run different builds: " + values_with_ranks(builds, hosts);
}

void require_same_build(Communicator& comm) {
  const auto hosts = gather_texts(comm, host_name()), builds = gather_texts(comm, program_build());
  on_rank_zero(comm, [&] {
    const std::string difference = build_difference(builds, hosts);
    if (!difference.empty()) throw UsageError(difference + "; " + kSameBuildAdvice);
    return std::string();
  });
}

void require_same_tasks(Communicator& comm) {
  require_same(comm, "ranks load different task libraries: ", task_library_builds());
}

void require_same_files(Communicator& comm, const std::string& mine) {
  require_same(comm, "ranks simulate different models: ", mine);
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

std::vector<std::string> compare_hardware(Communicator& comm, const RankHardware& mine) {
  const auto hosts = gather_texts(comm, mine.host), cpus = gather_texts(comm, mine.cpu),
             gpus = gather_texts(comm, mine.gpu);
  const std::string difference = hardware_difference(cpus, gpus, hosts);
  if (!difference.empty()) log::warn("{}: {}", difference, kSameHardwareAdvice);
  return hosts;
}

void warn_if_not_shared(Communicator& comm, const std::filesystem::path& run) {
  const auto hosts = gather_texts(comm, host_name()), answers = gather_texts(comm, sees(run) ? "" : "no");
  std::vector<std::string> blind;
  for (const Group& host : groups_of(hosts))
    if (!answers[static_cast<size_t>(host.ranks.front())].empty()) blind.push_back(host.text);
  if (!blind.empty())
    log::warn(
        "the run directory {} does not exist on {} (it is not shared), so a requeued job may not find it: choose a "
        "shared directory with --runs_dir or DRL_RUNS_DIR",
        run.string(), join(blind, ", "));
}

}  // namespace drl
