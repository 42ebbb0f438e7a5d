// main() of the tests of which some run on several ranks. All ranks run all tests in the same order. A failure on one
// rank is a failure of the program; an exception ends all ranks immediately. Without a launcher, no MPI is started.

#include "mpi_main.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "base/log.hpp"
#include "comm/session.hpp"

namespace drl::test {
namespace {

Communicator* the_world = nullptr;

// Prints failures only.
class FailurePrinter final : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed())
      std::printf("rank %d: %s:%d: %s\n", rank_, result.file_name() ? result.file_name() : "?", result.line_number(),
                  result.message());
  }

 private:
  int rank_;
};

int run_tests(Communicator& comm) {
  the_world = &comm;
  GTEST_FLAG_SET(catch_exceptions, false);
  log::init(comm.rank(), comm.size(), "testhost", false);
  if (comm.rank() != 0) {  // rank 0 lists all tests, the others only print failures
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    listeners.Append(new FailurePrinter(comm.rank()));
    delete listeners.Release(listeners.default_result_printer());
  }
  double failed = RUN_ALL_TESTS();
  comm.all_reduce_sum(std::span(&failed, 1));
  return failed != 0;
}

}  // namespace

Communicator& world() {
  static const std::unique_ptr<Communicator> alone = make_serial_communicator();
  return the_world ? *the_world : *alone;
}

}  // namespace drl::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const drl::LaunchInfo launch = drl::launch_info();
  return launch.launched() ? drl::run_session(launch, drl::test::run_tests) : RUN_ALL_TESTS();
}
