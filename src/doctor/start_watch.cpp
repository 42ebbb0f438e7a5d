#include "doctor/start_watch.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/temp_file.hpp"
#include "comm/patience.hpp"
#include "doctor/findings.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr double kPatience = 5;  // s that the file system may take

fs::path nearest_existing(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace

fs::path WaitingRanks::place() const { return nearest_existing(folder_) / (".drl_doctor-" + start_); }

bool WaitingRanks::sign_in(int rank) const {
  return !start_.empty() && OwnFolder(place(), OwnFolder::If::missing_create).create(std::to_string(rank));
}

void WaitingRanks::sign_out(int rank) const {
  const OwnFolder folder(place(), OwnFolder::If::there);
  folder.remove(std::to_string(rank));
  folder.remove_if_empty();  // if this was the last
}

std::vector<int> WaitingRanks::list() const {
  std::vector<int> ranks;
  for (const std::string& name : OwnFolder(place(), OwnFolder::If::there).names())
    ranks.push_back(std::atoi(name.c_str()));
  std::ranges::sort(ranks);
  return ranks;
}

void WaitingRanks::remove() const {
  for (int rank : list()) sign_out(rank);
}

StartWatch::StartWatch(Watchdog& watchdog, Report& report, const LaunchInfo& launch, const std::string& start,
                       const fs::path& runs_folder, double seconds)
    : watchdog_(watchdog), report_(report), launch_(launch), waiting_(runs_folder, start) {
  if (!launch.launched()) return;
  watchdog.expect({{seconds / 4,
                    [this] {
                      done_within(kPatience, [waiting = waiting_, state = state_, rank = launch_.rank] {
                        state->signed_in = waiting.sign_in(rank);
                        if (state->started) waiting.sign_out(rank);  // meanwhile
                      });
                    }},
                   {seconds, [this, seconds] { report_missing(seconds); }},
                   {seconds + 2 * kPatience, [] {}}});  // the one that speaks first
}

void StartWatch::started() {
  watchdog_.rest();
  state_->started = true;
  if (state_->signed_in) waiting_.sign_out(launch_.rank);
}

void StartWatch::report_missing(double seconds) {
  const auto arrived = std::make_shared<std::vector<int>>();
  done_within(kPatience, [waiting = waiting_, arrived] { *arrived = waiting.list(); });
  // Signed in, and nobody is there: the one that has spoken has cleaned up. Without files, one rank of each node
  // speaks.
  const bool speaks =
      state_->signed_in ? !arrived->empty() && arrived->front() == launch_.rank : launch_.local_rank == 0;
  if (!speaks) return;
  report_.take_over();
  report_.add(start_finding(launch_, host_name(), *arrived, seconds));
  report_.finish();
  done_within(kPatience, [waiting = waiting_] { waiting.remove(); });
  std::_Exit(kFailure);
}

}  // namespace drl
