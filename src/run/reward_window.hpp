// Computes the reported mean reward: the mean over the most recent iterations that together contain at least 100
// episodes. (The last 100 episodes to finish would favour short ones, and would need an order across ranks.)
#pragma once

#include <vector>

#include "device/state.hpp"
#include "envs/vec_env.hpp"

namespace drl {

class RewardWindow {
 public:
  static constexpr int64_t kEpisodes = 100;

  explicit RewardWindow(size_t reward_terms, size_t metrics = 0, size_t ends = 0);

  // Adds the episodes of all ranks in one iteration. An iteration without episodes changes nothing.
  void add(const EpisodeSums& sums);

  // Number of ended episodes in the window; less than kEpisodes only at the beginning of a run.
  double episodes() const;
  // The means are NaN until the first episode has ended.
  double mean_reward() const { return mean(1); }
  double mean_length() const { return mean(2); }
  double mean_term(size_t k) const { return mean(3 + k); }
  double mean_metric(size_t k) const { return mean(3 + terms_ + k); }
  double share_of_end(size_t k) const { return mean(3 + terms_ + metrics_ + k); }
  void visit_state(StateVisitor& visitor);

 private:
  double mean(size_t column) const;

  // Rows (count, reward, length, terms..., metrics..., ends...), newest last, zeros in front. kEpisodes rows are enough
  // because each row holds at least one episode.
  size_t terms_, metrics_, columns_;
  std::vector<double> rows_;
};

}  // namespace drl
