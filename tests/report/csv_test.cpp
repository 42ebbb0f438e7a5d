#include "report/csv.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>

#include "../support/temp_folder.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

const std::vector<std::string> kTerms = {"alive", "pole_angle"};

// iteration, 100 * iteration steps, and numbers that differ from column to column.
IterationMetrics metrics_of(int64_t iteration) {
  return {.iteration = iteration,
          .max_iterations = 150,
          .env_steps = 100 * iteration,
          .steps_per_second = 1.2e6,
          .mean_reward = 0.1,
          .mean_episode_length = 210.5,
          .episodes = 3,
          .reward_terms = {{"alive", 1.0 / 3}, {"pole_angle", std::nan("")}},
          .value_loss = 1,
          .surrogate_loss = -0.25,
          .entropy = 2,
          .kl = 0.011,
          .clip_fraction = 0.2,
          .gradient_norm = 4,
          .explained_variance = 0.5,
          .learning_rate = 1e-5,
          .action_std = 0.75,
          .collection_time = 5,
          .learning_time = 6,
          .waiting_time = 7,
          .iteration_time = 8,
          .elapsed_time = 9};
}

constexpr char kHeader[] =
    "iteration,env_steps,steps_per_second,mean_reward,mean_episode_length,episodes,value_loss,surrogate_loss,entropy,"
    "kl,"
    "clip_fraction,gradient_norm,explained_variance,learning_rate,action_std,collection_time,learning_time,waiting_"
    "time,"
    "iteration_time,elapsed_time,episode/alive,episode/pole_angle\n";

std::string row_of(int iteration) {
  return std::to_string(iteration) + "," + std::to_string(100 * iteration) +
         ",1200000,0.1,210.5,3,1,-0.25,2,0.011,0.2,4,0.5,1e-05,0.75,5,6,7,8,9,0.3333333333333333,nan\n";
}

std::string rows(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += row_of(i);
  return text;
}

void append(CsvWriter& csv, int first, int last) {
  for (int i = first; i <= last; ++i) csv.append(metrics_of(i));
}

TEST(Csv, WritesOneRowAnIterationWhenFlushed) {
  const TempFolder folder;
  CsvWriter csv(folder / "metrics.csv", kTerms);
  append(csv, 1, 2);
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader);
  csv.flush();
  csv.flush();
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader + rows(1, 2));
  append(csv, 3, 3);
  csv.sync();
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader + rows(1, 3));
}

TEST(Csv, NegativeNanIsNan) {
  const TempFolder folder;
  CsvWriter csv(folder / "metrics.csv", {});
  IterationMetrics metrics;
  metrics.mean_reward = std::copysign(std::nan(""), -1.0);
  csv.append(metrics);
  csv.flush();
  EXPECT_NE(slurp(folder / "metrics.csv").find("\n0,0,0,nan,0,"), std::string::npos);
}

TEST(Csv, ResumeCutsLaterRows) {
  const TempFolder folder;
  spill(folder / "metrics.csv", kHeader + rows(1, 12));
  CsvWriter csv(folder / "metrics.csv", kTerms, 9);
  append(csv, 10, 20);
  csv.flush();
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader + rows(1, 20));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"metrics.csv"});
}

TEST(Csv, ResumeCutsAnUnfinishedRow) {
  const TempFolder folder;
  const std::string whole = kHeader + rows(1, 10);
  for (size_t missing = 1; missing <= row_of(10).size(); ++missing) {
    spill(folder / "metrics.csv", whole.substr(0, whole.size() - missing));
    CsvWriter csv(folder / "metrics.csv", kTerms, 9);
    EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader + rows(1, 9));
  }
}

TEST(Csv, ResumeWithoutFileStartsOne) {
  const TempFolder folder;
  CsvWriter csv(folder / "metrics.csv", kTerms, 9);
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader);
}

TEST(Csv, StartReplacesAnOlderFile) {
  const TempFolder folder;
  spill(folder / "metrics.csv", kHeader + rows(1, 12));
  CsvWriter csv(folder / "metrics.csv", kTerms);
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader);
}

TEST(Csv, ResumeRefusesOtherColumnsAndOtherFiles) {
  const TempFolder folder;
  for (const std::string& text : {std::string("iteration,reward\n1,2\n"), kHeader + rows(1, 2) + "garbage\n"}) {
    spill(folder / "metrics.csv", text);
    EXPECT_THROW(CsvWriter(folder / "metrics.csv", kTerms, 9), UsageError);
    EXPECT_EQ(slurp(folder / "metrics.csv"), text);
  }
}

// Files may grow to `bytes` only, as on a full disk, while this lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_;
};

TEST(Csv, FullDiskKeepsWholeRowsAndLosesNone) {
  const TempFolder folder;
  CsvWriter csv(folder / "metrics.csv", kTerms);
  append(csv, 1, 5);
  csv.flush();
  const std::string before = slurp(folder / "metrics.csv");
  append(csv, 6, 20);
  {
    const FullDisk full(before.size() + 50);
    EXPECT_THROW(csv.flush(), Error);
  }
  EXPECT_EQ(slurp(folder / "metrics.csv"), before);
  csv.flush();
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader + rows(1, 20));
}

}  // namespace
}  // namespace drl
