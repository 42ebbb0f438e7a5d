#include "base/limits.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "../support/mentions.hpp"

namespace drl {
namespace {

TEST(Limits, ThatAreTooLowAreErrorsWithTheCommandToType) {
  Limit files{.option = "-n", .allowed = "files may be open", .hard = 16, .least = 40, .common = 1024};
  expect_mentions(limit_problem(files, "drl_train"), {"16 files", "ulimit -n)", "drl_train", "40", "ulimit -n 1024"});
  files.least = 2000;
  expect_mentions(limit_problem(files, "drl_train"), {"ulimit -n 2000"});
  files.hard = 2000;
  EXPECT_EQ(limit_problem(files, "drl_train"), "");
  files.hard = RLIM_INFINITY;
  EXPECT_EQ(limit_problem(files, "drl_train"), "");
}

// The limits of this process are lowered and restored; hard limits stay.
class SoftLimits : public testing::Test {
 protected:
  SoftLimits() {
    getrlimit(RLIMIT_STACK, &stack_), getrlimit(RLIMIT_NOFILE, &files_);
    set(RLIMIT_STACK, stack_, 1 << 17), set(RLIMIT_NOFILE, files_, 32);
  }
  ~SoftLimits() override { setrlimit(RLIMIT_STACK, &stack_), setrlimit(RLIMIT_NOFILE, &files_); }
  static rlim_t soft(decltype(RLIMIT_STACK) resource) {
    rlimit limit{};
    getrlimit(resource, &limit);
    return limit.rlim_cur;
  }

 private:
  static void set(decltype(RLIMIT_STACK) resource, rlimit limit, rlim_t soft) {
    limit.rlim_cur = soft;
    setrlimit(resource, &limit);
  }
  rlimit stack_{}, files_{};
};

TEST_F(SoftLimits, AreRaised) {
  raise_limits();
  EXPECT_GE(soft(RLIMIT_STACK), 8u << 20);
  EXPECT_GE(soft(RLIMIT_NOFILE), 64u);
  EXPECT_EQ(limits_problem("drl_train"), "");
  EXPECT_EQ(limits_problem("drl_train", 8), "");
}

TEST(Threads, ThatTheSystemRefusesAreErrors) {
  const auto refuse = [] {
    starting_thread([]() -> std::thread {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    });
  };
  try {
    refuse();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), kFailure);
    expect_mentions(error.what(), {"threads", "pids.max", "--threads"});
  }
}

// Sets a limit in a separate process and expects it in the reason of the error.
void expect_reason(__rlimit_resource resource, rlimit limit, int error, const std::string& part) {
  const auto check = [&] {
    setrlimit(resource, &limit);
    std::_Exit(reason_of(error).find(part) != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "") << part;
}

TEST(ReasonOf, NamesTheLimitAndHowToRaiseIt) {
  expect_reason(RLIMIT_NOFILE, {64, 200}, EMFILE, "ulimit -n is 64");
  expect_reason(RLIMIT_NOFILE, {64, 200}, EMFILE, "\"ulimit -n 200\"");
  expect_reason(RLIMIT_NOFILE, {64, 64}, EMFILE, "cannot raise");
  expect_reason(RLIMIT_FSIZE, {2048, RLIM_INFINITY}, EFBIG, "ulimit -f is 2");
  expect_reason(RLIMIT_FSIZE, {2048, RLIM_INFINITY}, EFBIG, "\"ulimit -f unlimited\"");
}

TEST(ReasonOf, IsTheSystemsTextForOtherErrors) {
  EXPECT_EQ(reason_of(ENOSPC), "No space left on device");
  EXPECT_EQ(reason_of(EDQUOT), "Disk quota exceeded");
}

}  // namespace
}  // namespace drl
