// Tests of drl_doctor and of drl_train's preflight with several ranks on one machine, with faults such as missing ranks
// and different builds.
#include "ranks.hpp"

#include "base/host.hpp"

namespace drl::test {
namespace {

const std::string kTrain = bin("drl_train");

class DoctorRanks : public RanksTest {
 protected:
  Words doctor(const Words& options = {}) const {
    return Words{kDoctor, "--runs_dir", (folder / "runs").string()} + options;
  }
  // Adds one of the faults of faulty_mpi.cpp to a command.
  Words faulty(const std::string& fault, const Words& words) const {
    return Words{"env", "LD_PRELOAD=" + kFaultyMpi, "FAULT=" + fault} + words;
  }

  // Copies the program with another build-id, as if it had been linked from other sources.
  std::string other_build(const std::string& program) const {
    std::string bytes = slurp(program);
    const std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);  // sizes of name and id, NT_GNU_BUILD_ID, name
    const size_t at = bytes.find(note);
    EXPECT_NE(at, std::string::npos) << "the linker wrote no build-id";
    if (at != std::string::npos) bytes[at + note.size()] = static_cast<char>(bytes[at + note.size()] ^ 1);
    const std::string path = folder / "other_program";
    spill(path, bytes);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
};

TEST_F(DoctorRanks, PassAllChecksAndShareATableRow) {
  const Result result = expect_exit(mpirun({{3, doctor()}}), 0);
  expect_mentions(result.out, {": 3 ranks on 1 node", " mpirun\n"});
  EXPECT_TRUE(holds(result.out, "\n  0-2    ")) << result.out;
  expect_check(result, "MPI exchange", "ok", {"3 ranks", "1 node"});
  expect_check(result, "all-reduce, node", "", {"3 ranks", "4 B in "});
  expect_check(result, "run directory", "ok", {"/runs", "writable"});
  EXPECT_TRUE(folder.names().empty()) << "files were left behind";
}

TEST_F(DoctorRanks, AreStartedByTheOptionRanks) {
  const Result result = expect_exit(run_program(doctor("--ranks 2"_words)), 0);
  EXPECT_TRUE(holds(result.out, ": 2 ranks on 1 node")) << result.out;
  expect_exit(run_program({kDoctor, "--ranks", "2", "--runs_dir", "/proc/runs"}), 1);
}

TEST_F(DoctorRanks, PrintAUsageErrorOnce) {
  expect_error(mpirun({{2, doctor("--json /nowhere/found.json"_words)}}), {});
}

TEST_F(DoctorRanks, ThatDoNotStartAreNamed) {
  const Result result = expect_exit(mpirun({{2, doctor("--timeout 8"_words)}, {1, {"sleep", "1000"}}}), 1);
  expect_check(result, "MPI start", "failed", {"rank 0 of 3 (", "MPI_Init", "8 s", "; rank 2 ", "->"});
  EXPECT_EQ(count_lines(result.out), 3u) << result.out;  // the check, its remedy and the summary, from one rank only
  EXPECT_TRUE(folder.names().empty()) << "files were left behind";
}

TEST_F(DoctorRanks, ThatStopInTheRollCallAreNamed) {
  const Result result =
      expect_exit(mpirun({{2, doctor("--timeout 8"_words)}, {1, faulty("stop", doctor("--timeout 8"_words))}}), 1);
  expect_check(result, "MPI exchange", "failed", {"rank 2 on ", "8 s", "->"});
  EXPECT_EQ(count_lines(result.out), 3u) << result.out;
}

TEST_F(DoctorRanks, NameRankZeroIfItStops) {
  const Result result =
      expect_exit(mpirun({{1, faulty("stop", doctor("--timeout 8"_words))}, {2, doctor("--timeout 8"_words)}}), 1);
  expect_check(result, "MPI exchange", "failed", {"rank 0 ", "8 s"});
  EXPECT_EQ(count_lines(result.out), 3u) << result.out;
}

TEST_F(DoctorRanks, WithWrongSumsFail) {
  const Result result = expect_exit(mpirun({{1, doctor()}, {1, faulty("wrong_sum", doctor())}}), 1);
  expect_check(result, "all-reduce", "failed", {"ranks 0, 1 on " + host_name(), "OMPI_MCA_pml=ob1"});
  EXPECT_NE(lines_of_check(result.out, "time left"), "") << "the other checks must continue";
}

TEST_F(DoctorRanks, WithLostMessagesFail) {
  expect_check(expect_exit(mpirun({{2, faulty("lost", doctor("--timeout 8"_words))}}), 1), "all-reduce", "failed",
               {"of 4 B", "8 s", "->", "OMPI_MCA_coll=^hcoll,ucc"});
}

TEST_F(DoctorRanks, ReportAFailingMpiCall) {
  const Result result =
      expect_exit(mpirun({{2, faulty("MPI_Comm_split", doctor({"--json", folder / "found.json"}))}}), 1);
  expect_check(result, "drl_doctor", "failed", {"MPI_Comm_split"});
  EXPECT_TRUE(holds(result.out, "1 failed\n")) << result.out;
  EXPECT_TRUE(std::filesystem::exists(folder / "found.json"));
}

// A failing MPI call is reported with MPI's error, not as a rank that does not answer.
TEST_F(DoctorRanks, WithAFailingMpiCallAreNotReportedAsMissing) {
  for (const std::string call : {"MPI_Isend", "MPI_Test", "MPI_Iprobe", "MPI_Recv", "MPI_Iallreduce"}) {
    const Words options = doctor("--timeout 8"_words);
    const Result second = mpirun({{1, options}, {1, faulty(call, options)}});
    EXPECT_EQ(second.exit_code, 1) << call;
    expect_mentions(second.err, {"error: [rank 1 on ", "] " + call, "MPI_ERR_OTHER"});
    EXPECT_FALSE(holds(second.out, "no answer from") || holds(second.out, "did not finish within"))
        << call << second.out;

    const Result first = mpirun({{1, faulty(call, options)}, {1, options}});
    EXPECT_EQ(first.exit_code, 1) << call;
    expect_check(first, "drl_doctor", "failed", {call, "MPI_ERR_OTHER"});
  }
}

// Rank 0 reports the failures that other ranks send to it.
TEST_F(DoctorRanks, ReportAFailingMpiCallOfAnotherRank) {
  const Words options = doctor("--timeout 8"_words);
  for (const auto& [call, check] : {std::pair{"MPI_Iprobe", "MPI exchange"}, {"MPI_Iallreduce", "all-reduce"}}) {
    expect_check(mpirun({{1, options}, {1, faulty(call, options)}}), check, "failed",
                 {"rank 1 on ", call, "MPI_ERR_OTHER"});
  }
}

// Rank 0 waits in an all-reduce in this case, and cannot report.
TEST_F(DoctorRanks, EndIfAnMpiCallFailsInACollective) {
  expect_exit(mpirun({{1, doctor()}, {1, faulty("MPI_Allreduce", doctor())}}), 1, {"MPI_Allreduce", "MPI_ERR_OTHER"});
}

// Runs two ranks on each of two nodes.
TEST_F(DoctorRanks, OnTwoNodesPassAllChecks) {
  const auto node = [&](const std::string& name) {
    return Part{2, Words{"env", "LD_PRELOAD=" + kFaultyMpi, "HOST_NAME=" + name} + doctor()};
  };
  const Result result = expect_exit(mpirun({node("node1"), node("node2")}), 0);
  expect_mentions(result.out, {": 4 ranks on 2 nodes", " mpirun\n"});
  expect_check(result, "placement", "", {"2 ranks"});
  expect_check(result, "all-reduce, node", "", {"2 ranks, "});
  expect_check(result, "all-reduce, all", "", {"4 ranks, "});
  expect_check(result, "run directory", "ok", {"all nodes"});
}

TEST_F(DoctorRanks, ThatHangInMpiFinalizeFail) {
  expect_check(expect_exit(mpirun({{2, faulty("no_end", doctor("--timeout 8"_words))}}), 1), "MPI end", "failed",
               {"MPI_Finalize"});
}

// Stops a rank in the middle of the checks, most of the time in an all-reduce.
class StopLater : public DoctorRanks {
 protected:
  Result stop(int rank) const {
    Process process(Words{mpiexec(), "--quiet", "--oversubscribe", "-n", "3"} + doctor("--timeout 8"_words),
                    kMpirunAsRoot);
    EXPECT_TRUE(wait_until([&] { return holds(process.out(), "program load"); })) << process.out() << process.err();
    const std::string variable = '\0' + std::string("OMPI_COMM_WORLD_RANK=") + std::to_string(rank) + '\0';
    for (const auto& entry : std::filesystem::directory_iterator("/proc"))
      if (holds(slurp(entry.path() / "cmdline"), folder.path()) && holds(slurp(entry.path() / "environ"), variable))
        ::kill(std::stoi(entry.path().filename()), SIGSTOP);
    return process.wait();
  }
};

TEST_F(StopLater, EndsAllRanks) {
  const Result result = expect_exit(stop(2), 1);
  EXPECT_TRUE(holds(result.out, "failed   all-reduce")) << result.out;
  EXPECT_TRUE(holds(result.out, "rank 2 on ") || holds(result.out, "within 8 s\n")) << result.out;
  EXPECT_TRUE(holds(result.out, "1 failed\n")) << result.out;
}

TEST_F(StopLater, EndsAllRanksIfRankZeroStops) {
  const Result result = expect_exit(stop(0), 1);
  EXPECT_TRUE(holds(result.out, "failed   ")) << result.out;
  expect_mentions(result.out, {"rank 0", "->", "srun --nodelist"});
}

TEST_F(DoctorRanks, OfTwoBuildsFail) {
  const Words options = {"--runs_dir", (folder / "runs").string()};
  expect_check(expect_exit(mpirun({{2, Words{kDoctor} + options}, {1, Words{other_build(kDoctor)} + options}}), 1),
               "drl build", "failed", {" (ranks 0, 1 on ", " (rank 2 on ", "->"});
}

class Preflight : public DoctorRanks {
 protected:
  Words train(const std::string& program, const Words& options) const {
    return Words{program, "--task",           "Cartpole", "--num_envs", "16",         "--num_steps_per_env",
                 "4",     "--max_iterations", "2",        "--quiet",    "--runs_dir", (folder / "runs").string()} +
           options;
  }
  Result on_two_builds(const Words& options = {}) const {
    return mpirun({{1, train(kTrain, options)}, {1, train(other_build(kTrain), options)}});
  }
};

TEST_F(Preflight, RefusesTwoBuilds) {
  expect_error(on_two_builds(), {"builds", "(rank 0 on ", "(rank 1 on "});
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));
}

TEST_F(Preflight, CanBeSwitchedOff) {
  expect_exit(on_two_builds({"--preflight", "off"}), 0);
  expect_exit(run_program(train(kTrain, {"--preflight", "long"})), 2);
}

TEST_F(Preflight, PrintsNothingIfBuildsAgree) {
  const Result result = expect_exit(mpirun({{2, train(kTrain, {})}}), 0);
  EXPECT_EQ(result.err, "");
}

// There is nothing to save yet, and MPI_Init would wait for the missing rank for ever.
TEST_F(Preflight, IsEndedBySigtermWhileARankIsMissing) {
  expect_exit(mpirun({{1, faulty("terminate", train(kTrain, {}))}, {1, {"sleep", "1000"}}}), 143,
              {"stopped by a signal before the training began"});
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));
}

}  // namespace
}  // namespace drl::test
