#include "report/csv.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>

#include "../support/temp_folder.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// Metrics with 100 steps per iteration and a different number in each column.
IterationMetrics metrics_of(int64_t iteration) {
  return {iteration,
          150,
          100 * iteration,
          {{"steps_per_second", "", "", 1.2e6},
           {"mean_reward", "", "", 0.1},
           {"value_loss", "", "", 1},
           {"learning_rate", "", "", 1e-5},
           {"episode/alive", "", "", 1.0 / 3},
           {"episode/pole_angle", "", "", std::nan("")}}};
}

constexpr char kHeader[] =
    "iteration,env_steps,steps_per_second,mean_reward,value_loss,learning_rate,episode/alive,episode/pole_angle\n";

std::string row_of(int iteration) {
  return std::to_string(iteration) + "," + std::to_string(100 * iteration) +
         ",1200000,0.1,1,1e-05,0.3333333333333333,nan\n";
}

std::string rows(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += row_of(i);
  return text;
}

void append(CsvWriter& csv, int first, int last) {
  for (int i = first; i <= last; ++i) csv.append(metrics_of(i));
}

TEST(Csv, WritesOneRowPerIterationWhenFlushed) {
  const TempFolder folder;
  CsvWriter csv(folder / "metrics.csv", metrics_of(0));
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
  const IterationMetrics metrics{1, 1, 2, {{"x", "", "", std::copysign(std::nan(""), -1.0)}}};
  CsvWriter csv(folder / "metrics.csv", metrics);
  csv.append(metrics);
  csv.flush();
  EXPECT_EQ(slurp(folder / "metrics.csv"), "iteration,env_steps,x\n1,2,nan\n");
}

TEST(Csv, RefusesNamesThatWouldBreakARow) {
  const TempFolder folder;
  for (const char* name : {"a,b", "a\"b", "a\nb"})
    EXPECT_THROW(CsvWriter(folder / "metrics.csv", {1, 1, 2, {{name, "", "", 0}}}), std::exception) << name;
}

TEST(Csv, ResumeRemovesLaterRows) {
  const TempFolder folder;
  spill(folder / "metrics.csv", kHeader + rows(1, 12));
  CsvWriter csv(folder / "metrics.csv", metrics_of(0), 9);
  append(csv, 10, 20);
  csv.flush();
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader + rows(1, 20));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"metrics.csv"});
}

TEST(Csv, ResumeRemovesAnUnfinishedRow) {
  const TempFolder folder;
  const std::string whole = kHeader + rows(1, 10);
  for (size_t missing = 1; missing <= row_of(10).size(); ++missing) {
    spill(folder / "metrics.csv", whole.substr(0, whole.size() - missing));
    CsvWriter csv(folder / "metrics.csv", metrics_of(0), 9);
    EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader + rows(1, 9));
  }
}

TEST(Csv, ResumeCreatesAMissingFile) {
  const TempFolder folder;
  CsvWriter csv(folder / "metrics.csv", metrics_of(0), 9);
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader);
}

TEST(Csv, ANewRunReplacesAnOlderFile) {
  const TempFolder folder;
  spill(folder / "metrics.csv", kHeader + rows(1, 12));
  CsvWriter csv(folder / "metrics.csv", metrics_of(0));
  EXPECT_EQ(slurp(folder / "metrics.csv"), kHeader);
}

// value_loss and episode/alive are new, mean_reward moves, and old_loss no longer exists.
TEST(Csv, ResumeWithOtherColumnsKeepsTheOldOnesByName) {
  const TempFolder folder;
  const fs::path file = folder / "metrics.csv";
  spill(file,
        "iteration,env_steps,mean_reward,old_loss,steps_per_second,learning_rate,episode/pole_angle\n"
        "1,100,0.5,7,2.5,1e-05,nan\n2,200,0.25,8,3.5,nan,4\n3,300,1,1,1,1,1\n");
  std::string wide = kHeader;
  wide.insert(wide.size() - 1, ",old_loss");
  const std::string kept = "1,100,2.5,0.5,nan,1e-05,nan,nan,7\n2,200,3.5,0.25,nan,nan,nan,4,8\n";
  const auto with_old_loss = [](int iteration) {
    return row_of(iteration).insert(row_of(iteration).size() - 1, ",nan");
  };
  {
    CsvWriter csv(file, metrics_of(0), 2);
    append(csv, 3, 3);
    csv.flush();
  }
  EXPECT_EQ(slurp(file), wide + kept + with_old_loss(3));
  CsvWriter csv(file, metrics_of(0), 3);
  append(csv, 4, 4);
  csv.flush();
  EXPECT_EQ(slurp(file), wide + kept + with_old_loss(3) + with_old_loss(4));
}

TEST(Csv, ResumeRefusesOtherFiles) {
  const TempFolder folder;
  for (const std::string& text : {std::string("iteration,reward\n1,2\n"), std::string(), std::string("MZ"),
                                  kHeader + rows(1, 2) + "garbage\n", std::string("iteration,env_steps,a\n1,2\n")}) {
    spill(folder / "metrics.csv", text);
    EXPECT_THROW(CsvWriter(folder / "metrics.csv", metrics_of(0), 9), UsageError);
    EXPECT_EQ(slurp(folder / "metrics.csv"), text);
  }
}

// Limits the size of files to `bytes` during its lifetime, like a full disk.
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

TEST(Csv, AFullDiskLosesNoRows) {
  const TempFolder folder;
  CsvWriter csv(folder / "metrics.csv", metrics_of(0));
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
