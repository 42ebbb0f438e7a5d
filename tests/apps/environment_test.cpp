// Runs the programs in 120 mutated environments of launchers. They must either work or print a one-line error.
#include "../support/launchers.hpp"
#include "programs.hpp"

namespace drl::test {
namespace {

// Returns true if a variable gives a rank above 0. Then only rank 0, which does not exist here, would print errors.
bool is_rank_beyond_the_first(const Variables& variables) {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK", "SLURM_PROCID", "PALS_RANKID"})
    if (const auto found = variables.find(name); found != variables.end() && std::atoi(found->second.c_str()) > 0)
      return true;
  return false;
}

std::string text_of(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) text += name + "=" + value.substr(0, 80) + "\n";
  return text;
}

// Runs the program in an empty directory, with a PATH without srun and squeue. Returns the exit code.
int expect_success_or_error(const Words& words, unsigned seed, Variables variables) {
  variables["PATH"] = "/nowhere";
  const TempFolder folder;
  const Result result = run_program(words, variables, [&] {
    if (::chdir(folder.path().c_str()) != 0) ::_exit(99);
  });
  const Words lines = split(result.err, '\n');
  const auto errors =
      std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("error: "); });
  const std::string label =
      join(words, " ") + ", seed " + std::to_string(seed) + ":\n" + result.err + text_of(variables);
  if (result.exit_code == 0) {
    EXPECT_EQ(errors, 0) << label;
  } else {
    EXPECT_EQ(result.exit_code, 2) << label;
    EXPECT_LE(errors, 1) << label;
    EXPECT_TRUE(errors == 1 || is_rank_beyond_the_first(variables)) << label;
  }
  return result.exit_code;
}

// Expects that some of the environments work and some are refused.
void expect_successes_and_errors(const Words& words, unsigned first, unsigned count,
                                 const std::function<void(Variables&)>& change = {}) {
  unsigned successes = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    Variables variables = mutated_environment(seed);
    if (change) change(variables);
    successes += expect_success_or_error(words, seed, variables) == 0;
  }
  EXPECT_GT(successes, 0u);
  EXPECT_LT(successes, count);
}

// For programs that start MPI: removes the variables that point to a server. The server does not exist, and the MPI
// library itself would report that.
void without_servers(Variables& variables) {
  std::erase_if(variables, [](const auto& variable) {
    return variable.first.starts_with("PMIX_") || variable.first == "FLUX_PMI_LIBRARY_PATH";
  });
}

const std::string kDoctor = bin("drl_doctor");
const Words kOneIteration = "--task CartPole-v1 --num_envs 4 --num_steps_per_env 4 --max_iterations 1"_words;

TEST(Environments, DrlTrainPrintsItsVersionOrAnError) { expect_successes_and_errors({kTrain, "--version"}, 0, 25); }
TEST(Environments, DrlTrainRunsOrPrintsAnError) {
  expect_successes_and_errors(Words{kTrain} + kOneIteration, 25, 25, without_servers);
}
TEST(Environments, DrlDoctorPrintsItsHelpOrAnError) { expect_successes_and_errors({kDoctor, "--help"}, 50, 25); }
TEST(Environments, DrlDoctorRunsOrPrintsAnError) {
  expect_successes_and_errors({kDoctor, "--timeout", "20"}, 75, 25, without_servers);
}

// drl_eval reads the variables only to refuse several ranks. It always fails, because the run does not exist.
TEST(Environments, DrlEvalPrintsAnError) {
  for (unsigned seed = 100; seed < 120; ++seed)
    EXPECT_EQ(expect_success_or_error({kEval, "--run", "nothing"}, seed, mutated_environment(seed)), 2);
}
}  // namespace
}  // namespace drl::test
