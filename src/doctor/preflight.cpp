#include "doctor/preflight.hpp"

#include <atomic>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cluster/machine.hpp"
#include "cluster/program_build.hpp"
#include "doctor/findings.hpp"
#include "doctor/watchdog.hpp"

namespace drl {
namespace {

constexpr double kPatience = 2;  // s that a file system may take to say that a folder is there

// What the ranks say and their hosts, on rank 0.
struct Answers {
  std::vector<std::string> hosts, texts;
};

Answers ask_all(Communicator& comm, const std::string& mine) {
  Answers answers;
  for (const std::string& answer : gather_texts(comm, this_machine().host + "\t" + mine)) {
    const size_t tab = answer.find('\t');
    answers.hosts.push_back(answer.substr(0, tab));
    answers.texts.push_back(answer.substr(tab + 1));
  }
  return answers;
}

// A dead file system of a node that needs none (rank 0 alone writes) must not stop the run.
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

void require_same_build(Communicator& comm) {
  const Answers builds = ask_all(comm, program_build());
  on_rank_zero(comm, [&] {
    const Check check = build_finding(builds.texts, builds.hosts);
    if (check.status == Status::failed) throw UsageError(check.finding + "; " + check.remedy);
    return std::string();
  });
}

std::string hardware_warning(const std::vector<RankHardware>& ranks) {
  std::vector<std::string> hosts, differences;
  for (const RankHardware& rank : ranks) hosts.push_back(rank.host);
  for (const auto& [what, member] : {std::pair{"GPUs: ", &RankHardware::gpu}, {"CPUs: ", &RankHardware::cpu}}) {
    std::vector<std::string> values;
    for (const RankHardware& rank : ranks) values.push_back((rank.*member).empty() ? "none" : rank.*member);
    if (hosts_of(values).size() > 1) differences.push_back(what + by_value(values, hosts));
  }
  if (differences.empty()) return "";
  return "ranks compute on different hardware (" + join(differences, "; ") +
         "): the numbers depend on it, and the slowest sets the pace; ask for nodes of one kind (sbatch --constraint)";
}

std::vector<std::string> compare_hardware(Communicator& comm, const RankHardware& mine) {
  std::vector<RankHardware> ranks;
  for (const std::string& text : gather_texts(comm, join({mine.host, mine.cpu, mine.gpu}, "\t"))) {
    const std::vector<std::string> fields = split(text, '\t');
    ranks.push_back({fields[0], fields[1], fields[2]});
  }
  if (const std::string warning = hardware_warning(ranks); !warning.empty()) log::warn("{}", warning);
  std::vector<std::string> hosts;
  for (const RankHardware& rank : ranks) hosts.push_back(rank.host);
  return hosts;
}

void warn_if_not_shared(Communicator& comm, const std::filesystem::path& run) {
  const Answers answers = ask_all(comm, sees(run) ? "" : "no");
  std::vector<std::string> blind;
  for (const HostRanks& host : hosts_of(answers.hosts))
    if (answers.texts[static_cast<size_t>(host.ranks.front())] == "no") blind.push_back(host.name);
  if (!blind.empty())
    log::warn(
        "the run directory {} is not on {} (it is not shared): a requeued job may not find it again; name a shared "
        "folder by --runs_dir or DRL_RUNS_DIR",
        run.string(), join(blind, ", "));
}

}  // namespace drl
