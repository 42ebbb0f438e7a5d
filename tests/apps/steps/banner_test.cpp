#include "apps/banner.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../../support/mentions.hpp"
#include "envs/make_env.hpp"
#include "steps.hpp"

namespace drl {
namespace {

using test::settings_of;

Workplace two_nodes() {
  Workplace place = test::plain_workplace(4);
  place.launch = {.launcher = "srun", .world_size = 4, .job_id = "12"};
  place.machine = {.cpu_model = "Some CPU", .cores = 8, .host_cores = 16};
  place.placement.text = "2 ranks per node";
  place.placement.cores = 4;
  place.placement.ranks_on_host = 2;
  place.rank_hosts = {"n1", "n1", "n2", "n2"};
  return place;
}

RunStart start_in(const std::string& directory) {
  RunStart start;
  start.directory = directory;
  return start;
}

TEST(Facts, DescribeThisStart) {
  const auto settings = settings_of({"--init_from", "old.h5"});
  Workplace place = two_nodes();
  const RunFacts facts = facts_of(*settings, place, "an engine", "a.xml (12)", start_in("runs/CartPole-v1/slurm-12"));
  EXPECT_EQ(facts.task, "CartPole-v1");
  EXPECT_EQ(facts.run, "slurm-12");
  EXPECT_EQ(facts.hosts, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(facts.rank_hosts.size(), 4u);
  EXPECT_EQ(facts.world_size, 4);
  EXPECT_EQ(facts.origin, "old.h5");
  EXPECT_EQ(facts.versions.at("engine"), "an engine");
  EXPECT_EQ(facts.versions.at("model"), "a.xml (12)");
  EXPECT_FALSE(facts.shares_cores);
  place.placement.threads = 5;  // on 4 cores
  EXPECT_TRUE(facts_of(*settings, place, "", "", start_in("r")).shares_cores);
  place.placement.threads = 4;
  place.machine.host_cores = 7;  // for 2 ranks of 4 threads
  EXPECT_TRUE(facts_of(*settings, place, "", "", start_in("r")).shares_cores);
}

// CartPole-v1 has 4 observations and 2 actions. The actor has 4*4+4 + 4*2+2 = 30 parameters, the critic 4*4+4 + 4+1
// = 25. 4 ranks with 8 environments and 16 steps each make 512 samples.
TEST(Banner, DescribesTheRun) {
  const auto settings = settings_of({"--ppo.num_learning_epochs", "3", "--ppo.num_mini_batches", "2",
                                     "--policy.activation", "tanh", "--num_envs", "8"});
  const Options& options = settings->options;
  Workplace place = two_nodes();
  RunFacts facts = facts_of(*settings, place, "libtorch 9", "", start_in("runs/r"));
  facts.versions = {{"drl", "1.2"}, {"engine", "libtorch 9"}, {"mpi", "MPI 5"}, {"hdf5", "1.14"}, {"isa", "best"}};
  facts.git_hash = "abc";
  facts.job.emplace();
  facts.job->job = "13", facts.job->partition = "gpu", facts.job->node_count = 2, facts.job->restart_count = 1;
  const BatchPlan plan{8, 16, 0, 4, 4, 2};
  const PolicySpec networks = policy_spec(task_spec("CartPole-v1"), options.policy);
  expect_mentions(banner(options, place, facts, plan, networks, "runs/r", 3723),
                  {"drl 1.2 (abc)",
                   "CartPole-v1",
                   "PPO",
                   "  run          runs/r\n",
                   "  job          13, ",
                   "job 12",
                   "restart 1",
                   "2 nodes",
                   "partition gpu",
                   "1:02:03 left",
                   "  world        4 ranks on n1, n2",
                   "srun",
                   "  placement    2 ranks per node\n",
                   "  device       cpu, Some CPU\n",
                   "  environments 8 per rank, 32 in total\n",
                   "  iteration    16 steps",
                   "512",
                   "3 epochs",
                   "2 mini-batches",
                   "256",
                   "  networks     actor 4-4-2, critic 4-4-1, tanh; 55 parameters\n",
                   "  libraries    best",
                   "libtorch 9, MPI 5, HDF5 1.14\n"});
}

TEST(Banner, NamesTheGpuAndManyNodes) {
  const auto settings = settings_of();
  Workplace place = test::plain_workplace();
  place.machine = {"Some CPU", 8, 8};
  place.gpu_model = "A GPU";
  place.placement.device = "cuda:1";
  place.rank_hosts = {"n1", "n2", "n3", "n4", "n5"};
  RunFacts facts = facts_of(*settings, place, "", "", start_in("r"));
  facts.job.emplace();
  facts.job->job = facts.job_id = "12";
  const BatchPlan plan{1250, 1000, 0, 1, 1, 1};
  const std::string text = banner(settings->options, place, facts, plan,
                                  policy_spec(task_spec("CartPole-v1"), settings->options.policy), "r", INFINITY);
  expect_mentions(text, {"12, no time limit\n", "1 rank on 5 nodes, n1 ... n5\n", "cuda:1, A GPU\n", "1,250 per rank",
                         "1,250,000"});
  EXPECT_EQ(text.find("--ranks"), std::string::npos) << "idle cores do not matter for a run on a GPU\n" << text;
}

TEST(Banner, MentionsIdleCores) {
  const auto settings = settings_of();
  Workplace place = test::plain_workplace();
  place.machine = {"Some CPU", 8, 8};
  const RunFacts facts = facts_of(*settings, place, "", "", start_in("r"));
  const std::string text = banner(settings->options, place, facts, {1250, 1000, 0, 1, 1, 1},
                                  policy_spec(task_spec("CartPole-v1"), settings->options.policy), "r", INFINITY);
  expect_mentions(text, {"  cores        1 of 8", "--ranks 8"});
}

TEST(ResumeCommand, UsesTheLauncherOfThisStart) {
  const auto settings = settings_of({"--after_checkpoint", "cp $1 /far away"});
  const std::string words = "drl_train --task CartPole-v1 --load_run 'my runs/r'",
                    hook = " --after_checkpoint 'cp $1 /far away'";
  Workplace place = two_nodes();
  const auto command = [&](const char* launcher, bool by_ourselves = false) {
    place.launch.launcher = launcher;
    return resume_command(*settings, place, "my runs/r", by_ourselves);
  };
  EXPECT_EQ(command(""), words + hook);
  EXPECT_EQ(command("mpirun", true), words + hook + " --ranks 4");
  EXPECT_EQ(command("srun"), "srun -N 2 -n 4 " + words + hook);
  EXPECT_EQ(command("flux"), "flux run -n 4 " + words + hook);
  EXPECT_EQ(command("jsrun"), "jsrun -n 4 " + words + hook);
  EXPECT_EQ(command("mpirun"), "mpirun -n 4 " + words + hook);
  EXPECT_EQ(command("pals"), "mpiexec -n 4 " + words + hook);
  settings->command.threads = 2;
  EXPECT_EQ(command(""), words + " --threads 2" + hook);
}

}  // namespace
}  // namespace drl
