#include "sweep/search.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/format.hpp"
#include "drl/lanes/philox.hpp"

namespace drl {
namespace {

constexpr Purpose kExploit{202};  // no part of a run, see Purpose

// Returns the indices of `values`, the best first. Equal values stay in order.
std::vector<int> best_first(const std::vector<double>& values) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](int k) { return values[static_cast<size_t>(k)]; });
  return order;
}

}  // namespace

std::vector<int> asha_rungs(int most, int trials, int eta, int least) {
  std::vector<int> rungs = {most};
  for (int64_t power = eta; power <= trials && (most + power - 1) / power >= least; power *= eta) {
    const int iterations = static_cast<int>((most + power - 1) / power);
    if (iterations == rungs.back()) break;
    rungs.push_back(iterations);
  }
  std::ranges::reverse(rungs);
  return rungs;
}

std::optional<Promotion> next_promotion(const std::vector<LadderTrial>& trials, int rungs, int eta) {
  for (int rung = rungs - 2; rung >= 0; --rung) {
    std::vector<int> there;
    std::vector<double> objectives;
    for (size_t k = 0; k < trials.size(); ++k)
      if (std::ssize(trials[k].objectives) > rung) {
        there.push_back(static_cast<int>(k));
        objectives.push_back(trials[k].objectives[static_cast<size_t>(rung)]);
      }
    std::vector<int> best = best_first(objectives);
    best.resize(best.size() / static_cast<size_t>(eta));
    for (const int place : best) {
      const int trial = there[static_cast<size_t>(place)];
      if (trials[static_cast<size_t>(trial)].started == rung + 1 && objectives[static_cast<size_t>(place)] > kWorst)
        return Promotion{trial, rung + 1};
    }
  }
  for (size_t k = 0; k < trials.size(); ++k)
    if (trials[k].started == 0) return Promotion{static_cast<int>(k), 0};
  return std::nullopt;
}

std::vector<int> exploit(const std::vector<double>& objectives, uint64_t seed, int generation) {
  const std::vector<int> order = best_first(objectives);
  std::vector<int> from(objectives.size());
  std::iota(from.begin(), from.end(), 0);
  const size_t alive = static_cast<size_t>(std::ranges::count_if(objectives, [](double o) { return o > kWorst; }));
  const size_t quarter = objectives.size() / 4, best = std::min(std::max<size_t>(quarter, 1), alive);
  if (best == 0) return from;
  for (size_t place = 0; place < order.size(); ++place) {
    if (place < std::max(std::min(order.size() - quarter, alive), best)) continue;
    const auto member = static_cast<size_t>(order[place]);
    const Words4 bits = random_bits(seed, kExploit, member, static_cast<uint64_t>(generation));
    from[member] = order[static_cast<size_t>(uniform01(bits[0], bits[1]) * static_cast<double>(best))];
  }
  return from;
}

namespace {

std::string run_name(int trial) { return fmt::format("trial_{:03}", trial); }

class Ladder : public Search {
 public:
  Ladder(std::vector<Values> points, std::vector<int> rungs, int eta, const Reached& reached)
      : points_(std::move(points)), rungs_(std::move(rungs)), eta_(eta), trials_(points_.size()) {
    for (size_t k = 0; k < trials_.size(); ++k) {
      LadderTrial& trial = trials_[k];
      const std::string run = run_name(static_cast<int>(k));
      for (const int rung : rungs_) {
        const auto objective = failed(trial) ? std::nullopt : reached.objective(run, rung);
        if (!objective) break;
        trial.objectives.push_back(*objective), ++trial.started;
      }
      const bool has_more = trial.objectives.size() < rungs_.size() && reached.target(run) >= at(trial);
      if (has_more && !failed(trial)) ++trial.started, interrupted_.push_back(static_cast<int>(k));
    }
  }

  std::optional<Job> next() override {
    if (!interrupted_.empty()) {
      const int trial = interrupted_.front();
      interrupted_.erase(interrupted_.begin());
      return job(trial, trials_[static_cast<size_t>(trial)].started - 1);
    }
    const auto promotion = next_promotion(trials_, static_cast<int>(rungs_.size()), eta_);
    if (!promotion) return std::nullopt;
    ++trials_[static_cast<size_t>(promotion->trial)].started;
    return job(promotion->trial, promotion->rung);
  }
  void end(const Job& job, double objective) override {
    trials_[static_cast<size_t>(job.trial)].objectives.push_back(objective);
  }

 private:
  static bool failed(const LadderTrial& trial) {
    return !trial.objectives.empty() && trial.objectives.back() == kWorst;
  }
  // Returns the iterations of the first rung that the trial has not finished.
  int at(const LadderTrial& trial) const { return rungs_[trial.objectives.size()]; }
  Job job(int trial, int rung) const {
    return {.trial = trial,
            .run = run_name(trial),
            .iterations = rungs_[static_cast<size_t>(rung)],
            .point = points_[static_cast<size_t>(trial)]};
  }
  std::vector<Result> all() const override {
    std::vector<Result> results;
    for (size_t k = 0; k < trials_.size(); ++k)
      if (const auto& objectives = trials_[k].objectives; !objectives.empty())
        results.push_back({job(static_cast<int>(k), static_cast<int>(objectives.size()) - 1), objectives.back()});
    return results;
  }

  std::vector<Values> points_;
  std::vector<int> rungs_;
  int eta_;
  std::vector<LadderTrial> trials_;
  std::vector<int> interrupted_;
};

class Population : public Search {
 public:
  Population(PopulationRule rule, const std::vector<Values>& points)
      : rule_(std::move(rule)), objectives_(points.size(), kWorst), last_(points.size()) {
    for (size_t k = 0; k < points.size(); ++k)
      members_.push_back({.trial = static_cast<int>(k),
                          .run = run_name(static_cast<int>(k)),
                          .iterations = rule_.ends.front(),
                          .point = points[k]});
  }

  std::optional<Job> next() override {
    if (started_ == members_.size() && !begin_generation()) return std::nullopt;
    return members_[started_++];
  }
  void end(const Job& job, double objective) override {
    const auto k = static_cast<size_t>(job.trial);
    objectives_[k] = objective, last_[k] = {job, objective};
    ++ended_;
  }
  std::vector<Job> forks() const override {
    std::vector<Job> forks;
    for (const Job& member : members_)
      if (member.from > 0) forks.push_back(member);
    return forks;
  }

 private:
  bool begin_generation() {
    const bool is_last = generation_ + 1 == std::ssize(rule_.ends);
    if (ended_ < members_.size() || is_last || *std::ranges::max_element(objectives_) == kWorst) return false;
    ++generation_, started_ = ended_ = 0;
    const std::vector<int> from = exploit(objectives_, rule_.seed, generation_);
    const std::vector<Job> before = members_;
    for (size_t k = 0; k < members_.size(); ++k) {
      Job& member = members_[k];
      if (const Job& parent = before[static_cast<size_t>(from[k])]; parent.trial != member.trial) {
        member.run = fmt::format("{}_g{}", run_name(member.trial), generation_);
        member.point = perturbed(rule_.space, parent.point, rule_.factor, rule_.seed, member.trial, generation_);
        member.parent = parent.run, member.from = parent.iterations;
      }
      member.iterations = rule_.ends[static_cast<size_t>(generation_)];
    }
    return true;
  }
  std::vector<Result> all() const override {
    std::vector<Result> results = last_;
    std::erase_if(results, [](const Result& result) { return result.job.run.empty(); });
    return results;
  }

  PopulationRule rule_;
  std::vector<Job> members_;
  std::vector<double> objectives_;
  std::vector<Result> last_;
  int generation_ = 0;
  size_t started_ = 0, ended_ = 0;  // in this generation
};

}  // namespace

std::vector<Result> Search::results() const {
  std::vector<Result> sorted = all();
  std::ranges::stable_sort(sorted, [](const Result& a, const Result& b) {
    const auto key = [](const Result& r) { return std::tuple(r.objective > kWorst, r.job.iterations, r.objective); };
    return key(a) > key(b);
  });
  return sorted;
}

std::unique_ptr<Search> make_ladder(std::vector<Values> points, std::vector<int> rungs, int eta,
                                    const Reached& reached) {
  return std::make_unique<Ladder>(std::move(points), std::move(rungs), eta, reached);
}

std::unique_ptr<Search> make_population(PopulationRule rule, std::vector<Values> points) {
  return std::make_unique<Population>(std::move(rule), points);
}

}  // namespace drl
