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

constexpr double kPatience = 5;  // s that a file system may take to respond

fs::path nearest_existing(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace

fs::path WaitingRanks::directory() const { return nearest_existing(folder_) / (".drl_doctor-" + start_); }

bool WaitingRanks::sign_in(int rank) const {
  return !start_.empty() &&
         PrivateFolder(directory(), PrivateFolder::Open::create_if_missing).create(std::to_string(rank));
}

void WaitingRanks::sign_out(int rank) const {
  const PrivateFolder folder(directory(), PrivateFolder::Open::existing);
  folder.remove(std::to_string(rank));
  folder.remove_if_empty();  // the last rank removes it
}

std::vector<int> WaitingRanks::list() const {
  std::vector<int> ranks;
  for (const std::string& name : PrivateFolder(directory(), PrivateFolder::Open::existing).names())
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
  watchdog.arm({{seconds / 4,
                 [this] {
                   done_within(kPatience, [waiting = waiting_, state = state_, rank = launch_.rank] {
                     state->signed_in = waiting.sign_in(rank);
                     if (state->started) waiting.sign_out(rank);  // MPI started in the meantime
                   });
                 }},
                {seconds, [this, seconds] { report_missing(seconds); }},
                {seconds + 2 * kPatience, [] {}}});  // gives the reporting rank time to write
}

void StartWatch::started() {
  watchdog_.disarm();
  state_->started = true;
  if (state_->signed_in) waiting_.sign_out(launch_.rank);
}

void StartWatch::report_missing(double seconds) {
  const auto arrived = std::make_shared<std::vector<int>>();
  done_within(kPatience, [waiting = waiting_, arrived] { *arrived = waiting.list(); });
  // If this rank signed in but the list is empty, another rank has reported and cleaned up. If this rank could not sign
  // in, the first rank of its node reports.
  const bool reports =
      state_->signed_in ? !arrived->empty() && arrived->front() == launch_.rank : launch_.local_rank == 0;
  if (!reports) return;
  report_.activate();
  report_.add(start_finding(launch_, host_name(), *arrived, seconds));
  report_.finish();
  done_within(kPatience, [waiting = waiting_] { waiting.remove(); });
  std::_Exit(kFailure);
}

}  // namespace drl
