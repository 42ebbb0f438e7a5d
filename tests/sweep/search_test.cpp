#include "sweep/search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace drl {
namespace {

TEST(AshaRungs, ArePowersOfEtaThatTheTrialsCanFill) {
  EXPECT_EQ(asha_rungs(80, 16, 4, 1), (std::vector<int>{5, 20, 80}));
  EXPECT_EQ(asha_rungs(80, 15, 4, 1), (std::vector<int>{20, 80})) << "three rungs need 4 * 4 trials";
  EXPECT_EQ(asha_rungs(80, 1000, 4, 6), (std::vector<int>{20, 80}));
  EXPECT_EQ(asha_rungs(100, 27, 3, 1), (std::vector<int>{4, 12, 34, 100})) << "rounded up";
  EXPECT_EQ(asha_rungs(80, 3, 4, 1), (std::vector<int>{80}));
  EXPECT_EQ(asha_rungs(2, 1000, 2, 1), (std::vector<int>{1, 2}));
}

// Figures of merit by hand, with eta 2 and three rungs.
TEST(NextPromotion, TakesTheHighestRungAndItsBest) {
  std::vector<LadderTrial> trials(4);
  EXPECT_EQ(next_promotion(trials, 3, 2), (Promotion{0, 0}));
  trials[0] = {1, {10}};
  EXPECT_EQ(next_promotion(trials, 3, 2), (Promotion{1, 0})) << "the best half of one is none";
  trials[1] = {1, {30}};
  EXPECT_EQ(next_promotion(trials, 3, 2), (Promotion{1, 1}));
  trials[1].started = 2;  // it runs
  EXPECT_EQ(next_promotion(trials, 3, 2), (Promotion{2, 0}));
  trials[2] = {1, {40}}, trials[3] = {1, {20}};
  EXPECT_EQ(next_promotion(trials, 3, 2), (Promotion{2, 1})) << "the best half of 10, 30, 40, 20 is 40 and 30";
  trials[1].objectives.push_back(31), trials[2] = {2, {40, 35}};
  EXPECT_EQ(next_promotion(trials, 3, 2), (Promotion{2, 2}));
  trials[2].started = 3;
  EXPECT_EQ(next_promotion(trials, 3, 2), std::nullopt);
}

TEST(NextPromotion, LeavesFailedTrialsOut) {
  EXPECT_EQ(next_promotion({{1, {kWorst}}, {1, {kWorst}}}, 2, 2), std::nullopt);
  EXPECT_EQ(next_promotion({{1, {kWorst}}, {1, {-5}}}, 2, 2), (Promotion{1, 1}));
  EXPECT_EQ(next_promotion({{1, {kUnknown}}, {1, {kUnknown}}}, 2, 2), (Promotion{0, 1})) << "episodes may end later";
}

TEST(Exploit, TheWorstQuarterTakesTheStateOfTheBest) {
  const std::vector<double> objectives = {5, 1, 8, 3, 9, 2, 7, 6};  // the best are 4 and 2, the worst 1 and 5
  std::set<int> parents;
  for (int generation = 1; generation < 40; ++generation) {
    const std::vector<int> from = exploit(objectives, 1, generation);
    EXPECT_EQ(from, exploit(objectives, 1, generation));
    for (const int k : {0, 2, 3, 4, 6, 7}) EXPECT_EQ(from[static_cast<size_t>(k)], k);
    for (const size_t k : {1, 5}) parents.insert(from[k]);
  }
  EXPECT_EQ(parents, (std::set<int>{2, 4}));
}

TEST(Exploit, FailedMembersAreReplaced) {
  EXPECT_EQ(exploit({kWorst, 3, kWorst, kWorst}, 0, 1), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(exploit({kWorst, kWorst, kWorst, kWorst}, 0, 1), (std::vector<int>{0, 1, 2, 3}));
}

const Reached kNothing = {[](const std::string&, int) { return std::nullopt; }, [](const std::string&) { return 0; }};

// Runs the search with this number of jobs at a time and the objectives of trials; returns the sum of iterations.
int run(Search& search, size_t parallel, const std::vector<double>& objectives) {
  int sum = 0;
  std::map<std::string, int> done;
  std::vector<Job> running;
  for (;;) {
    while (running.size() < parallel)
      if (const auto job = search.next())
        running.push_back(*job);
      else
        break;
    if (running.empty()) return sum;
    const Job job = running.front();
    running.erase(running.begin());
    sum += job.iterations - done[job.run];
    done[job.run] = job.iterations;
    search.end(job, objectives[static_cast<size_t>(job.trial)]);
  }
}

TEST(Ladder, FindsTheBestWithFewIterations) {
  std::vector<Values> points;
  std::vector<double> objectives;
  for (int k = 0; k < 16; ++k) points.push_back({std::to_string(k)}), objectives.push_back(k * 7 % 16);
  for (const size_t parallel : {1, 3, 16}) {
    const auto search = make_ladder(points, asha_rungs(160, 16, 4, 1), 4, kNothing);
    EXPECT_LE(run(*search, parallel, objectives), 0.4 * 16 * 160) << parallel;
    EXPECT_EQ(search->results().size(), 16u);
    EXPECT_EQ(search->results().front().objective, 15) << parallel;
    EXPECT_EQ(search->results().front().job.iterations, 160);
  }
}

// Trial 0 has finished the second rung, trial 1 was stopped on it, trial 2 has failed, and trial 3 has not begun.
TEST(Ladder, GoesOnFromWhatRunsHaveReached) {
  const std::map<std::pair<std::string, int>, double> done = {{{"trial_000", 10}, 5},
                                                              {{"trial_000", 20}, 6},
                                                              {{"trial_001", 10}, 9},
                                                              {{"trial_002", 10}, kWorst},
                                                              {{"trial_002", 20}, kWorst}};
  const std::map<std::string, int> targets = {
      {"trial_000", 20}, {"trial_001", 20}, {"trial_002", 10}, {"trial_003", 0}};
  const Reached reached = {[&](const std::string& run, int iterations) -> std::optional<double> {
                             const auto found = done.find({run, iterations});
                             return found == done.end() ? std::nullopt : std::optional(found->second);
                           },
                           [&](const std::string& run) { return targets.at(run); }};
  const auto search = make_ladder({{"a"}, {"b"}, {"c"}, {"d"}}, {10, 20, 40}, 2, reached);
  const auto first = search->next(), second = search->next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->run, "trial_001");
  EXPECT_EQ(first->iterations, 20);
  EXPECT_EQ(first->point, Values{"b"});
  EXPECT_EQ(second->run, "trial_003");
  EXPECT_EQ(second->iterations, 10);
  EXPECT_FALSE(search->next());
  search->end(*first, 10);
  const auto third = search->next();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->run, "trial_001");
  EXPECT_EQ(third->iterations, 40);
}

TEST(Population, GoesThroughGenerationsTogether) {
  const auto search =
      make_population({.space = parse_space("a = uniform 0 10", "f"), .ends = {10, 20}, .factor = 2, .seed = 1},
                      {{"1"}, {"2"}, {"3"}, {"4"}});
  std::vector<Job> jobs;
  while (const auto job = search->next()) jobs.push_back(*job);
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_TRUE(search->forks().empty());
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_FALSE(search->next()) << "while others run";
    search->end(jobs[k], static_cast<double>(k));
  }
  jobs.clear();
  while (const auto job = search->next()) jobs.push_back(*job);
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[0].run, "trial_000_g1");  // the worst goes on from the best
  EXPECT_EQ(jobs[0].parent, "trial_003");
  EXPECT_EQ(jobs[0].from, 10);
  EXPECT_TRUE(jobs[0].point == Values{"2"} || jobs[0].point == Values{"8"});
  EXPECT_EQ(jobs[3].run, "trial_003");
  EXPECT_EQ(jobs[3].iterations, 20);
  ASSERT_EQ(search->forks().size(), 1u);
  EXPECT_EQ(search->forks().front().run, "trial_000_g1");
  for (const Job& job : jobs) search->end(job, job.trial == 0 ? 100 : 0);
  EXPECT_FALSE(search->next());
  EXPECT_EQ(search->results().front().job.run, "trial_000_g1");
}

}  // namespace
}  // namespace drl
