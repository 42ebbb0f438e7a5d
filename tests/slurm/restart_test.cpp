// Ranks that drl_train --ranks starts again inside their job, on the nodes that are left.
#include "batch.hpp"

namespace drl::test {
namespace {

class NodeRestarts : public BatchTest {
 protected:
  static constexpr int kIterations = 600;
  // The results of this run do not depend on the number of ranks.
  Words command(const std::string& name, const Words& more) const {
    return Words{bin("drl_train"), "--runs_dir", folder / "runs", "--run_name", name} +
           "--task Cartpole --device cpu --num_envs_total 64 --num_steps_per_env 8 --deterministic_shards 4 --quiet "
           "--ppo.schedule fixed --save_interval 20 --keep_checkpoints 1000 --comm_timeout 3 --max_restarts 3"_words +
           iterations_of(kIterations) + more;
  }
  fs::path run(const std::string& name) const { return folder / "runs" / "Cartpole" / name; }
  void wait_for_checkpoint(int iteration) const {
    ASSERT_TRUE(wait_until([&] { return newest_checkpoint(run("r")) >= iteration; }, kLong));
  }
  void expect_bits_of_one_rank() const {
    expect_exit(run_for_long(command("alone", {"--ranks", "1"})), 0);
    EXPECT_EQ(datasets(checkpoint_file(run("r"), kIterations)), datasets(checkpoint_file(run("alone"), kIterations)));
    EXPECT_EQ(metrics(run("r")), metrics(run("alone")));
  }
  static void cluster(const std::string& verb, const std::string& node) {
    expect_exit(run_for_long({test_data("slurm/cluster"), verb, node}), 0);
  }
};

TEST_F(NodeRestarts, GoOnAfterARankAndThenANodeHaveDied) {
  const std::string log = folder / "log";
  const std::string job =
      submit({"--no-kill", "-N2", "-n8", "-o", log, "--wrap", shell_line(command("r", {"--ranks", "4"}))});
  wait_for_checkpoint(40);
  const std::string last_rank = "pkill -KILL -n -f 'run_name r '";
  expect_exit(run_shell(last_rank), 0);
  ASSERT_TRUE(wait_until([&] { return slurp(log).find("(restart 1 of 3)") != std::string::npos; }, kLong))
      << slurp(log);
  ASSERT_TRUE(wait_until([&] { return run_json(run("r")).at("starts") == 2; }, kLong));
  wait_for_checkpoint(newest_checkpoint(run("r")) + 40);
  cluster("down", "node2");
  ASSERT_TRUE(wait_for_end(job)) << slurp(log);
  cluster("up", "node2");
  EXPECT_EQ(job_field(job, "ExitCode"), "0:0") << slurp(log);
  const nlohmann::json facts = run_json(run("r"));
  EXPECT_EQ(facts.at("world_size"), 2);
  EXPECT_EQ(facts.at("hosts"), nlohmann::json({"node1"}));
  ASSERT_EQ(facts.at("restarted_after").size(), 2u) << facts;
  const std::string killed = facts.at("restarted_after").at(0), lost = facts.at("restarted_after").at(1);
  expect_mentions(killed, {"node", "Killed"});
  expect_mentions(lost, {"node2 does not answer"});
  expect_bits_of_one_rank();
}

TEST_F(NodeRestarts, TakeASpareNode) {
  Process process(Words{"salloc", "--no-kill", "-N2", "-n8"} + command("r", {"--ranks", "4", "--spare_nodes", "1"}));
  wait_for_checkpoint(40);
  EXPECT_EQ(run_json(run("r")).at("hosts"), nlohmann::json({"node1"}));
  cluster("down", "node1");
  const Result result = process.wait(kLong);
  cluster("up", "node1");
  expect_exit(result, 0, {"node1 does not answer"});
  EXPECT_EQ(run_json(run("r")).at("hosts"), nlohmann::json({"node2"}));
  EXPECT_EQ(run_json(run("r")).at("world_size"), 4);
  expect_bits_of_one_rank();
}

TEST_F(NodeRestarts, RefuseMoreSpareNodesThanThereAre) {
  expect_error(
      run_for_long(Words{"salloc", "--quiet", "-N2", "-n8"} + command("r", {"--ranks", "4", "--spare_nodes", "2"})),
      {"--spare_nodes 2", "2 nodes"});
}

}  // namespace
}  // namespace drl::test
