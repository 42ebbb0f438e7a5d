// Starts the doctor's ranks on this machine. Ranks may have different programs and environments; only Open MPI's mpirun
// can start such ranks in one job.
#pragma once

#include "comm/mpi_library.hpp"
#include "program.hpp"

namespace drl::test {

// `ranks` ranks that run the command `words`.
struct Part {
  int ranks;
  Words words;
};

inline const Process::Variables kMpirunAsRoot = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                 {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};

inline Result mpirun(const std::vector<Part>& parts) {
  Words words = {mpiexec(), "--quiet", "--oversubscribe", "--bind-to", "none"};
  for (size_t k = 0; k < parts.size(); ++k) {
    if (k > 0) words.push_back(":");
    words = words + Words{"-n", std::to_string(parts[k].ranks)} + parts[k].words;
  }
  return run_program(words, kMpirunAsRoot);
}

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!mpi_version().starts_with("Open MPI")) GTEST_SKIP() << "needs Open MPI's mpirun";
  }
  TempFolder folder;
};

}  // namespace drl::test
