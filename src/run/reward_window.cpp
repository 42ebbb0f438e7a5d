#include "run/reward_window.hpp"

#include <algorithm>

namespace drl {

RewardWindow::RewardWindow(size_t reward_terms, size_t metrics, size_t ends)
    : terms_(reward_terms),
      metrics_(metrics),
      columns_(3 + reward_terms + metrics + ends),
      rows_(kEpisodes * columns_, 0.0) {}

void RewardWindow::add(const EpisodeSums& sums) {
  if (sums.count == 0) return;
  std::rotate(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(columns_), rows_.end());
  double* newest = &rows_[rows_.size() - columns_];
  newest[0] = sums.count, newest[1] = sums.reward, newest[2] = sums.length;
  newest += 3;
  for (const auto* columns : {&sums.terms, &sums.metrics, &sums.ends})
    newest = std::copy(columns->begin(), columns->end(), newest);
}

double RewardWindow::episodes() const {
  double count = 0;
  for (size_t row = 0; row < kEpisodes; ++row) count += rows_[row * columns_];
  return count;
}

double RewardWindow::mean(size_t column) const {
  double count = 0, sum = 0;
  for (size_t row = kEpisodes; row-- > 0 && count < kEpisodes;) {
    count += rows_[row * columns_];
    sum += rows_[row * columns_ + column];
  }
  return sum / count;  // 0 / 0 is NaN
}

void RewardWindow::visit_state(StateVisitor& visitor) {
  visitor.array("report/reward_window", rows_.data(), {kEpisodes, static_cast<int64_t>(columns_)});
}

}  // namespace drl
