#include "comm/late_ranks.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "comm/exchange.hpp"
#include "comm/rendezvous.hpp"

namespace drl {
namespace {

constexpr double kAnswerTime = 3;  // s, within which responsive ranks answer rank 0
constexpr double kAskAgain = 1;    // s

// A message is the communicator's name and one of these characters. A question has a number, which its answer repeats
// after the answering rank's progress.
constexpr char kQuestion = '?', kAnswer = '=', kEnd = '!';

}  // namespace

LateRanks::LateRanks(std::string name, const Communicator& comm) : name_(std::move(name)), rank_(comm.rank()) {
  if (rank_ > 0) others_ = {comm.world_rank(0)};
  for (int rank = 1; rank_ == 0 && rank < comm.size(); ++rank) others_.push_back(comm.world_rank(rank));
  answers_.resize(others_.size());
}

void LateRanks::send(const std::string& text, const std::vector<int>& world_ranks) const {
  exchange(name_ + text, world_ranks, {}, 0);
}

std::optional<LateRanks::Reason> LateRanks::poll(Progress mine) {
  for (const auto& [sender, message] : exchange("", {}, others_, 0)) {
    if (!message.starts_with(name_)) continue;
    const std::string text = message.substr(name_.size());
    if (text[0] == kEnd) return Reason{.is_reported = true, .silent = {}, .own_work = {}};
    if (text[0] == kQuestion) send(std::string{kAnswer, static_cast<char>(mine)} + text.substr(1), {sender});
    if (text[0] == kAnswer && text.substr(2) == std::to_string(question_))
      answers_[static_cast<size_t>(std::ranges::find(others_, sender) - others_.begin())] = Progress{text[1]};
  }
  if (mine == Progress::in_time) {
    is_open_ = false, age_.reset();
    return {};
  }
  if (!age_ || (!is_open_ && age_->seconds() >= kAskAgain)) {
    std::ranges::fill(answers_, std::nullopt);
    send(kQuestion + std::to_string(++question_), others_);
    is_open_ = true, age_.emplace();
  }
  const bool all_answered = std::ranges::all_of(answers_, [](const auto& answer) { return answer.has_value(); });
  if (!is_open_ || (!all_answered && age_->seconds() < (rank_ == 0 ? kAnswerTime : kGrace))) return {};
  is_open_ = false;
  std::optional<Reason> reason = judge(mine);
  if (reason && rank_ == 0) send({kEnd}, others_);
  return reason;
}

// Ranks other than 0 go on if rank 0 answers, because it asks too when it is late.
std::optional<LateRanks::Reason> LateRanks::judge(Progress mine) const {
  Reason reason;
  bool is_any_in_time = false;
  if (mine == Progress::own_work) reason.own_work.push_back(rank_);
  for (size_t k = 0; k < answers_.size(); ++k) {
    const int rank = rank_ == 0 ? static_cast<int>(k) + 1 : 0;
    if (!answers_[k]) reason.silent.push_back(rank);
    if (answers_[k] == Progress::own_work) reason.own_work.push_back(rank);
    is_any_in_time |= answers_[k] == Progress::in_time;
  }
  return reason.silent.empty() && (is_any_in_time || rank_ > 0) ? std::nullopt : std::optional(reason);
}

}  // namespace drl
