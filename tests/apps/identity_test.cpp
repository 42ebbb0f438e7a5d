// Tests which run a command starts or resumes (docs/reference/runs.md, "Resume").
#include <cmath>
#include <csignal>
#include <map>
#include <memory>

#include "base/numbers.hpp"
#include "base/typed_path.hpp"
#include "programs.hpp"

namespace drl::test {
namespace {

int64_t iteration_in(const fs::path& file) {
  return std::get<int64_t>(read_checkpoint(file).attributes.at("iteration"));
}

TEST(Identity, TheSameNameAndOptionsResume) {
  const Runs runs;
  expect_exit(runs.train("--run_name r"_words + iterations_of(2)), 0);
  const Result result = expect_exit(runs.train("--run_name r --save_interval 2"_words + iterations_of(4)), 0);
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  EXPECT_TRUE(result.err.starts_with("resuming ")) << result.err;
  EXPECT_EQ(iterations(runs.run("r")), count_to(4));
  const nlohmann::json record = run_json(runs.run("r"));
  EXPECT_EQ(record.at("starts"), 2);
  EXPECT_EQ(record.at("iteration"), 4);
  EXPECT_EQ(record.at("env_steps"), 4 * 16 * 4);
  EXPECT_EQ(record.at("status"), "done");
}

TEST(Identity, ChangedOptionsNeedResumeOrFresh) {
  const Runs runs;
  const Words first = "--run_name r --ppo.gamma 0.9 --ppo.lam 0.8"_words;
  const Words changed = "--run_name r --ppo.gamma 0.8"_words;
  expect_exit(runs.train(first + iterations_of(2)), 0);
  const Words before = metrics(runs.run("r"));

  const Result refused = expect_error(runs.train(changed + iterations_of(4)),
                                      {"ppo.gamma: 0.9 -> 0.8", "ppo.lam: 0.8 -> 0.95", "--resume", "--fresh"});
  EXPECT_FALSE(holds(refused.err, "max_iterations")) << refused.err;
  EXPECT_EQ(metrics(runs.run("r")), before);

  const Result resumed = expect_exit(runs.train(changed + Words{"--resume"} + iterations_of(4)), 0);
  EXPECT_TRUE(holds(resumed.err, "ppo.gamma: 0.9 -> 0.8")) << resumed.err;
  EXPECT_EQ(iterations(runs.run("r")), count_to(4));
  const std::string options = slurp(runs.run("r") / "options.ini");
  EXPECT_TRUE(holds(options, "\ngamma = 0.8 ")) << options;
  EXPECT_TRUE(holds(options, "\nlam = 0.8 ")) << "the run keeps its other options";

  const Words old_rows = metrics(runs.run("r"));
  expect_exit(runs.train(changed + Words{"--fresh"} + iterations_of(1)), 0);
  EXPECT_EQ(iterations(runs.run("r")), count_to(1));
  EXPECT_EQ(metrics(runs.run("r.old")), old_rows);
  EXPECT_EQ(runs.names(), ("latest r r.old"_words));
}

TEST(Identity, TaskSeedAndShapesCannotChange) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --seed 1"_words + iterations_of(2)), 0);
  const Words before = metrics(runs.run("r"));
  for (const auto& [changed, named] :
       std::vector<std::pair<Words, std::string>>{{{"--seed", "2"}, "seed: 1 -> 2"},
                                                  {{"--task", "CartPole-v1"}, "task"},
                                                  {{"--algorithm", "grpo"}, "algorithm: ppo -> grpo"},
                                                  {{"--policy.actor_hidden_dims", "8"}, "policy/actor/0/weight"}}) {
    const Result result = expect_error(runs.train(Words{"--load_run", runs.run("r")} + iterations_of(4) + changed), {});
    EXPECT_TRUE(holds(result.err, named)) << result.err;
  }
  EXPECT_EQ(metrics(runs.run("r")), before);
}

// After its first start, the link `latest` leads to the student itself. The teacher's run may go on and be deleted.
TEST(Identity, AStudentKeepsItsTeacher) {
  const Runs runs("Pendulum-v1");
  expect_exit(runs.train("--run_name teacher"_words + iterations_of(1)), 0);
  const Words student = {"--algorithm",         "distill", "--teacher",  runs.run("latest"),
                         "--num_steps_per_env", "15",      "--run_name", "student"};
  const std::string kept = fs::path(runs.run("student") / "teacher.h5");
  expect_mentions(expect_exit(runs.train(student + iterations_of(1)), 0).out,
                  {"teacher", "iteration 1 of Pendulum-v1"});
  const std::string content = slurp(kept);
  expect_exit(runs.train("--load_run teacher"_words + iterations_of(2)), 0);
  fs::remove(checkpoint_file(runs.run("teacher"), 1));
  for (const Words& again : {Words{"--resume"} + iterations_of(2), iterations_of(2)}) {
    expect_exit(runs.train(student + again), 0);
    EXPECT_TRUE(holds(slurp(runs.run("student") / "options.ini"), "teacher = " + runs.run("teacher").string() + " "));
    EXPECT_TRUE(slurp(kept) == content);
  }
  fs::rename(runs.run("teacher"), runs.run("moved"));
  expect_exit(runs.train("--load_run student --num_steps_per_env 15"_words + iterations_of(3)), 0);
  EXPECT_TRUE(slurp(kept) == content);
  expect_exit(runs.train("--load_run student --num_steps_per_env 15"_words + Words{"--teacher", runs.run("moved")} +
                         iterations_of(4)),
              0);
  EXPECT_FALSE(slurp(kept) == content) << "the teacher was replaced";
}

// Teacher, student, and the student trained further. The teacher has not seen theta_dot, and the student has a memory.
TEST(Identity, AStudentIsAPolicyLikeAnyOther) {
  const Runs runs("Pendulum-v1");
  expect_exit(runs.train("--run_name a --env.hidden_obs theta_dot"_words + iterations_of(1)), 0);
  const Words distill = "--algorithm distill --num_steps_per_env 15 --max_iterations 1"_words;
  const Words gru = "--policy.rnn_type gru --policy.rnn_hidden_dim 4"_words;
  expect_exit(runs.train(distill + gru + Words{"--run_name", "b", "--teacher", runs.run("a")}), 0);
  expect_exit(runs.train(distill + Words{"--run_name", "c", "--teacher", runs.run("b")}), 0);
  const std::string saved = (runs.path() / "b.h5").string();
  expect_exit(run_program({kEval, "--run", runs.run("b"), "--episodes", "2", "--save_pretrained", saved}), 0);
  const Checkpoint student = read_checkpoint(checkpoint_file(runs.run("b"), 1));
  for (const std::string& origin : {runs.run("b").string(), saved}) {
    const Words still = "--ppo.schedule fixed --ppo.learning_rate 1e-30 --max_iterations 1"_words;  // changes no weight
    const Result result = expect_exit(
        runs.train(still + Words{"--run_name", "d", "--fresh", "--policy.init_std", "0.25", "--init_from", origin}), 0);
    EXPECT_FALSE(holds(result.err, "no effect")) << result.err;
    const Checkpoint further = read_checkpoint(checkpoint_file(runs.run("d"), 1));
    for (const Tensor& tensor : student.tensors) {
      if (!tensor.name.starts_with("policy/actor/")) continue;
      EXPECT_EQ(tensor, *further.find(tensor.name)) << tensor.name;
    }
    EXPECT_FLOAT_EQ(numbers<float>(further.find("policy/log_std")->data).front(), std::log(0.25f));
  }
}

TEST(Identity, AStartWithNothingToDoChangesNoFile) {
  const Runs runs;
  const Words command = "--run_name r"_words + iterations_of(2);
  expect_exit(runs.train(command), 0);
  const auto files = [&] {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(runs.run("r")))
      if (entry.is_regular_file()) found[entry.path()] = slurp(entry.path());
    return found;
  };
  const auto before = files();
  for (const Words& again : {command, "--resume --run_name r --ppo.gamma 0.9"_words + iterations_of(1)}) {
    expect_mentions(expect_exit(runs.train(again), 0).out, {"nothing to do"});
    EXPECT_TRUE(files() == before);
  }
}

TEST(Identity, ResumeSelectsTheLatestRun) {
  const Runs runs;
  for (const char* name : {"b", "a"}) ASSERT_EQ(runs.train(Words{"--run_name", name} + iterations_of(1)).exit_code, 0);
  EXPECT_EQ(run_of(runs.run("latest")), runs.run("a"));
  expect_exit(runs.train(Words{"--resume"} + iterations_of(2)), 0);
  EXPECT_EQ(iterations(runs.run("a")), count_to(2));
  expect_exit(runs.train("--load_run b"_words + iterations_of(3)), 0);
  EXPECT_EQ(iterations(runs.run("b")), count_to(3));
  EXPECT_EQ(run_of(runs.run("latest")), runs.run("b"));
}

TEST(Identity, AJobResumesItsRun) {
  const Runs runs;
  const Process::Variables job = job_variables("42");
  expect_exit(runs.train(iterations_of(2), job), 0);
  const Result again = expect_exit(runs.train(iterations_of(4), job), 0);
  EXPECT_TRUE(again.err.starts_with("resuming ")) << again.err;
  EXPECT_EQ(count_lines(again.err), 1u);
  EXPECT_EQ(iterations(runs.run("slurm-42")), count_to(4));
  EXPECT_EQ(run_json(runs.run("slurm-42")).at("job_ids"), nlohmann::json::array({"42"}));
  const Words before = metrics(runs.run("slurm-42"));
  expect_mentions(expect_exit(runs.train(iterations_of(4), job), 0).out, {"nothing to do", "iteration 4"});
  EXPECT_EQ(metrics(runs.run("slurm-42")), before);
  expect_exit(runs.train("--seed 7"_words + iterations_of(1), job), 0);
  EXPECT_EQ(iterations(runs.run("slurm-42.2")), count_to(1));
  EXPECT_EQ(runs.names(), ("latest slurm-42 slurm-42.2"_words));
}

TEST(Identity, ARunBelongsToOneProcess) {
  const Runs runs;
  EndlessRun first(runs);
  for (const Words& start : {Words{}, Words{"--resume"}, Words{"--fresh"}}) {
    expect_error(runs.train(kEndless + start), {runs.run("r").string(), "in use"});
  }
  first.signal(SIGUSR1);
  EXPECT_EQ(first.wait().exit_code, 75);
  EXPECT_EQ(runs.names(), ("latest r"_words));
}

// Starts four processes at once. Each must get its own run without waiting or failing.
void expect_four_runs(const Process::Variables& job) {
  const Runs runs;
  std::vector<std::unique_ptr<Process>> starts;
  for (const char* seed : {"1", "2", "3", "4"})
    starts.push_back(std::make_unique<Process>(runs.command(Words{"--seed", seed} + iterations_of(2)), job));
  std::string errors;
  for (const auto& start : starts) {
    const Result result = expect_exit(start->wait(), 0);
    errors += result.err;
  }
  EXPECT_EQ(errors, "");
  const Words names = runs.names();
  EXPECT_EQ(names.size(), 5u) << join(names, " ");
  for (const std::string& name : names) EXPECT_EQ(iterations(runs.run(name)), count_to(2)) << name;  // "latest" too
}

TEST(Identity, SimultaneousStartsGetDifferentRuns) {
  for (int round = 0; round < 2; ++round) {
    expect_four_runs({});
    expect_four_runs(job_variables("42"));
  }
}

// Each of two srun steps of a requeued job resumes its own run.
TEST(Identity, EachStepOfARequeuedJobResumesItsRun) {
  const Runs runs;
  const Process::Variables job = job_variables("42");
  for (int n : {2, 4}) {
    Process a(runs.command("--seed 1"_words + iterations_of(n)), job),
        b(runs.command("--seed 2"_words + iterations_of(n)), job);
    EXPECT_EQ(a.wait().exit_code, 0);
    EXPECT_EQ(b.wait().exit_code, 0);
    EXPECT_EQ(runs.names(), ("latest slurm-42 slurm-42.2"_words));
    for (const char* name : {"slurm-42", "slurm-42.2"}) EXPECT_EQ(iterations(runs.run(name)), count_to(n));
  }
}

TEST(Checkpoints, KeepTheNewestAndTheBest) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --eval_interval 1 --keep_checkpoints 2"_words + iterations_of(9)), 0);
  const fs::path run = runs.run("r"), best = run / "checkpoints" / fs::read_symlink(run / "checkpoints" / "best.h5");
  EXPECT_EQ(newest_checkpoint(run), 9);
  EXPECT_LE(checkpoints(run).size(), 3u);
  const auto score = [](const fs::path& file) {
    return std::get<double>(read_checkpoint(file).attributes.at("score"));
  };
  for (int iteration : checkpoints(run)) EXPECT_LE(score(checkpoint_file(run, iteration)), score(best));
  EXPECT_EQ(std::get<std::string>(read_checkpoint(best).attributes.at("score_kind")),
            "deterministic evaluation of 64 episodes");
}

TEST(Checkpoints, AreAlsoSavedAtIntervalsOfSeconds) {
  const Runs runs;
  EndlessRun process(runs, "--save_interval 1000000 --save_seconds 0.1"_words);
  process.signal(SIGUSR1);
  EXPECT_EQ(process.wait().exit_code, 75);
}

TEST(RunJson, DescribesTheRun) {
  const Runs runs;
  expect_exit(runs.train("--run_name r"_words + iterations_of(3)), 0);
  const nlohmann::json first = run_json(runs.run("r"));
  for (const char* key :
       {"task", "run", "status", "iteration", "env_steps", "world_size", "hosts", "devices", "versions", "git_hash",
        "launcher", "commands", "job_ids", "node_hours", "starts", "elapsed_seconds", "communication"})
    EXPECT_TRUE(first.contains(key)) << key;
  expect_exit(runs.train("--run_name r"_words + iterations_of(6)), 0);
  const nlohmann::json second = run_json(runs.run("r"));
  EXPECT_EQ(second.at("first_started"), first.at("first_started"));
  ASSERT_EQ(second.at("commands").size(), 2u);
  EXPECT_EQ(second.at("commands").at(0), first.at("commands").at(0));
  EXPECT_NE(second.at("commands").at(1).get<std::string>().find(" --max_iterations 6"), std::string::npos);
  // Each of the two starts counts once. On one node, node-hours are seconds / 3600.
  const double seconds = second.at("elapsed_seconds");
  EXPECT_GT(seconds, first.at("elapsed_seconds").get<double>());
  EXPECT_DOUBLE_EQ(second.at("node_hours").get<double>(), seconds / 3600);
  EXPECT_EQ(iteration_in(checkpoint_file(runs.run("r"), 6)), 6);
}

TEST(RunJson, RecordsAFailure) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --ppo.reward_scale 1e38"_words), 1, {"error: ", "gradient is not finite"});
  EXPECT_EQ(run_json(runs.run("r")).at("status"), "failed");
}

}  // namespace
}  // namespace drl::test
