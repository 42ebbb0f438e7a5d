// drl_doctor, and the preflight of drl_train, on several ranks of one machine; also with ranks that are missing, and
// with two builds.
#include "ranks.hpp"

#include "base/host.hpp"

namespace drl::test {
namespace {

const std::string kTrain = DRL_BIN "/drl_train";

class DoctorRanks : public RanksTest {
 protected:
  Words doctor(const Words& options = {}) const {
    return Words{kDoctor, "--runs_dir", (folder / "runs").string()} + options;
  }
  // With one of faulty_mpi.cpp's faults.
  Words faulty(const std::string& fault, const Words& words) const {
    return Words{"env", "LD_PRELOAD=" DRL_FAULTY_MPI, "FAULT=" + fault} + words;
  }

  // The program with another build-id, as if it was linked from other sources.
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

TEST_F(DoctorRanks, AreATable) {
  const Result result = mpirun({{3, doctor()}});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, ": 3 ranks on 1 node, started by mpirun\n")) << result.out;
  EXPECT_TRUE(holds(result.out, "\n  0-2    ")) << result.out;
  EXPECT_EQ(lines_of_check(result.out, "MPI exchange"),
            "ok       MPI exchange       3 ranks on 1 node, and all answer");
  EXPECT_TRUE(holds(lines_of_check(result.out, "all-reduce, node"), "3 ranks, sums right: 4 B in ")) << result.out;
  EXPECT_TRUE(holds(lines_of_check(result.out, "run directory"), "/runs: writable, ")) << result.out;
  EXPECT_TRUE(folder.names().empty()) << "something was left behind";
}

TEST_F(DoctorRanks, CanBeStartedByTheDoctor) {
  const Result result = run_program(doctor({"--ranks", "2"}));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, ": 2 ranks on 1 node")) << result.out;
  EXPECT_EQ(run_program({kDoctor, "--ranks", "2", "--runs_dir", "/proc/runs"}).exit_code, 1);
}

TEST_F(DoctorRanks, SayAnErrorOnce) {
  const Result result = mpirun({{2, doctor({"--json", "/nowhere/found.json"})}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
}

TEST_F(DoctorRanks, ThatNeverArriveAreNamed) {
  const Result result = mpirun({{2, doctor({"--timeout", "8"})}, {1, {"sleep", "1000"}}});
  EXPECT_EQ(result.exit_code, 1);
  const std::string found = lines_of_check(result.out, "MPI start");
  EXPECT_TRUE(found.starts_with("failed   MPI start          rank 0 of 3 (")) << result.out;
  EXPECT_TRUE(holds(found, ") has been in MPI_Init for 8 s; rank 2 never arrived")) << result.out;
  EXPECT_TRUE(holds(found, "\n         -> look for rank 2 (")) << result.out;
  EXPECT_EQ(count_lines(result.out), 3u) << result.out;  // and the summary; from one rank
  EXPECT_TRUE(folder.names().empty()) << "something was left behind";
}

TEST_F(DoctorRanks, ThatStopAreNamed) {
  const Result result = mpirun({{2, doctor({"--timeout", "8"})}, {1, faulty("stop", doctor({"--timeout", "8"}))}});
  EXPECT_EQ(result.exit_code, 1);
  const std::string found = lines_of_check(result.out, "MPI exchange");
  EXPECT_TRUE(found.starts_with("failed   MPI exchange       no answer from rank 2 on ")) << result.out;
  EXPECT_TRUE(holds(found, " within 8 s\n         -> look at that node")) << result.out;
  EXPECT_EQ(count_lines(result.out), 3u) << result.out;
}

TEST_F(DoctorRanks, RankZeroToo) {
  const Result result = mpirun({{1, faulty("stop", doctor({"--timeout", "8"}))}, {2, doctor({"--timeout", "8"})}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(lines_of_check(result.out, "MPI exchange")
                  .starts_with("failed   MPI exchange       no answer from rank 0 within 8 s\n"))
      << result.out;
  EXPECT_EQ(count_lines(result.out), 3u) << result.out;
}

TEST_F(DoctorRanks, ThatAddUpWrongly) {
  const Result result = mpirun({{1, doctor()}, {1, faulty("wrong_sum", doctor())}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(lines_of_check(result.out, "all-reduce"),
            "failed   all-reduce         sums are wrong on ranks 0, 1 on " + host_name() +
                "\n         -> this MPI or network corrupts data: try another "
                "transport (Open MPI: OMPI_MCA_pml=ob1), and tell the administrator")
      << result.out;
  EXPECT_NE(lines_of_check(result.out, "time left"), "") << "the other checks go on";
}

TEST_F(DoctorRanks, WhoseMessagesAreLost) {
  const Result result = mpirun({{2, faulty("lost", doctor({"--timeout", "8"}))}});
  EXPECT_EQ(result.exit_code, 1);
  const std::string found = lines_of_check(result.out, "all-reduce");
  EXPECT_TRUE(
      found.starts_with("failed   all-reduce         one of 4 B did not end within 8 s, though all ranks answer"))
      << result.out;
  EXPECT_TRUE(holds(found, "-> messages arrive, but MPI's all-reduces do not end: ")) << found;
}

TEST_F(DoctorRanks, WhoseMpiFailsReportIt) {
  const Result result = mpirun({{2, faulty("MPI_Comm_split", doctor({"--json", folder / "found.json"}))}});
  EXPECT_EQ(result.exit_code, 1);
  const std::string found = lines_of_check(result.out, "drl_doctor");
  EXPECT_TRUE(found.starts_with("failed   drl_doctor         MPI_Comm_split")) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, "1 failed\n")) << result.out;
  EXPECT_TRUE(std::filesystem::exists(folder / "found.json"));
}

// A call of MPI that fails says so in MPI's words; no rank is silent then.
TEST_F(DoctorRanks, WhoseCallsOfMpiFailAreNotSilent) {
  for (const std::string call : {"MPI_Isend", "MPI_Test", "MPI_Improbe", "MPI_Mrecv", "MPI_Iallreduce"}) {
    const Words options = doctor({"--timeout", "8"});
    const Result second = mpirun({{1, options}, {1, faulty(call, options)}});
    EXPECT_EQ(second.exit_code, 1) << call;
    EXPECT_TRUE(holds(second.err, "error: [rank 1 on ") && holds(second.err, "] " + call)) << second.err;
    EXPECT_TRUE(holds(second.err, "failed (MPI_ERR_OTHER: ")) << second.err;
    EXPECT_FALSE(holds(second.out, "no answer from") || holds(second.out, "did not end")) << call << second.out;

    const Result first = mpirun({{1, faulty(call, options)}, {1, options}});
    EXPECT_EQ(first.exit_code, 1) << call;
    const std::string found = lines_of_check(first.out, "drl_doctor");
    EXPECT_TRUE(found.starts_with("failed   drl_doctor         " + call)) << call << first.out << first.err;
    EXPECT_TRUE(holds(found, " failed (MPI_ERR_OTHER: ")) << found;
  }
}

// Rank 0 reports what it hears of the others.
TEST_F(DoctorRanks, RankZeroHearsWhoseCallsOfMpiFail) {
  const Words options = doctor({"--timeout", "8"});
  for (const auto& [call, check] : {std::pair{"MPI_Improbe", "MPI exchange"}, {"MPI_Iallreduce", "all-reduce"}}) {
    const Result result = mpirun({{1, options}, {1, faulty(call, options)}});
    const std::string found = lines_of_check(result.out, check);
    EXPECT_TRUE(found.starts_with("failed   ") && holds(found, "rank 1 on ")) << result.out;
    EXPECT_TRUE(holds(found, " did not come to its end: " + std::string(call) + " failed (MPI_ERR_OTHER: ")) << found;
  }
}

// Rank 0 waits in an all-reduce then.
TEST_F(DoctorRanks, EndWhereACallOfMpiFailsInTheMiddle) {
  const Result result = mpirun({{1, doctor()}, {1, faulty("MPI_Allreduce", doctor())}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(holds(result.err, "] MPI_Allreduce failed (MPI_ERR_OTHER: ")) << result.err;
}

// Two nodes of two ranks each: rank 0 alone knows all of them.
TEST_F(DoctorRanks, OfTwoNodes) {
  const auto node = [&](const std::string& name) {
    return Part{2, Words{"env", "LD_PRELOAD=" DRL_FAULTY_MPI, "HOST_NAME=" + name} + doctor()};
  };
  const Result result = mpirun({node("node1"), node("node2")});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, ": 4 ranks on 2 nodes, started by mpirun\n")) << result.out;
  EXPECT_TRUE(holds(lines_of_check(result.out, "placement"), "2 ranks a node, ")) << result.out;
  EXPECT_TRUE(holds(lines_of_check(result.out, "all-reduce, node"), "2 ranks, sums right: ")) << result.out;
  EXPECT_TRUE(holds(lines_of_check(result.out, "all-reduce, all"), "4 ranks, sums right: ")) << result.out;
  EXPECT_TRUE(holds(lines_of_check(result.out, "run directory"), "all nodes read it, its lock holds, ")) << result.out;
}

TEST_F(DoctorRanks, ThatDoNotEnd) {
  const Result result = mpirun({{2, faulty("no_end", doctor({"--timeout", "8"}))}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(
      lines_of_check(result.out, "MPI end").starts_with("failed   MPI end            no return from MPI_Finalize"))
      << result.out;
}

// A rank that stops in the middle of the checks: most of the time these are all-reduces.
class StopLater : public DoctorRanks {
 protected:
  Result stop(int rank) const {
    Process process(Words{DRL_MPIEXEC, "--quiet", "--oversubscribe", "-n", "3"} + doctor({"--timeout", "8"}),
                    kMpirunAsRoot);
    EXPECT_TRUE(wait_until([&] { return holds(process.out(), "program load"); })) << process.out() << process.err();
    const std::string variable = '\0' + std::string("OMPI_COMM_WORLD_RANK=") + std::to_string(rank) + '\0';
    for (const auto& entry : std::filesystem::directory_iterator("/proc"))
      if (holds(slurp(entry.path() / "cmdline"), folder.path()) && holds(slurp(entry.path() / "environ"), variable))
        ::kill(std::stoi(entry.path().filename()), SIGSTOP);
    return process.wait();
  }
};

TEST_F(StopLater, EndsTheExamination) {
  const Result result = stop(2);
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, "failed   all-reduce")) << result.out;
  EXPECT_TRUE(holds(result.out, "no answer from rank 2 on ") || holds(result.out, "did not end within 8 s\n"))
      << result.out;
  EXPECT_TRUE(holds(result.out, "1 failed\n")) << result.out;
}

TEST_F(StopLater, OfRankZeroToo) {
  const Result result = stop(0);
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_TRUE(holds(result.out, " does not go on\n         -> a rank or the network does not go on")) << result.out;
}

TEST_F(DoctorRanks, OfTwoBuildsAreNamed) {
  const Words options = {"--runs_dir", (folder / "runs").string()};
  const Result result = mpirun({{2, Words{kDoctor} + options}, {1, Words{other_build(kDoctor)} + options}});
  EXPECT_EQ(result.exit_code, 1);
  const std::string found = lines_of_check(result.out, "drl build");
  EXPECT_TRUE(found.starts_with("failed   drl build          ranks run different builds: 0.")) << result.out;
  EXPECT_TRUE(holds(found, " (ranks 0, 1 on ") && holds(found, " (rank 2 on ")) << result.out;
  EXPECT_TRUE(holds(found, "-> let all nodes load the same module")) << result.out;
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
  const Result result = on_two_builds();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.err.starts_with("error: ranks run different builds: ")) << result.err;
  EXPECT_TRUE(holds(result.err, "); let all nodes load the same module")) << result.err;
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));
}

TEST_F(Preflight, CanBeSwitchedOff) {
  const Result result = on_two_builds({"--preflight", "off"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(run_program(train(kTrain, {"--preflight", "long"})).exit_code, 2);
}

TEST_F(Preflight, IsSilentWhereAllIsWell) {
  const Result result = mpirun({{2, train(kTrain, {})}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace drl::test
