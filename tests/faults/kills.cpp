// kills: kills runs by SIGKILL at random moments and resumes them. See kUsage.
#include <signal.h>

#include <cstdio>

#include "../apps/programs.hpp"
#include "arguments.hpp"
#include "base/clock.hpp"
#include "random.hpp"

namespace drl::faults {
namespace {

using namespace drl::test;

constexpr const char* kUsage =
    "kills: trains on two ranks, kills ranks or launchers by SIGKILL at random\n"
    "moments, and resumes the run, until it is done; then the next run, until --count\n"
    "kills were made. After each kill, every checkpoint must be readable, and that of\n"
    "the iteration in run.json must be there. The iterations since the last save may be\n"
    "lost, and those of the eight saves that may wait for a slow disk. In the end, the\n"
    "checkpoint and metrics.csv must be bit-identical to those of a run that was not\n"
    "interrupted.\n"
    "\n"
    "  kills --count 1000 --seed 7\n";

struct Options {
  int count = 50;
  int64_t seed = 1;
  double seconds = 0;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("count", count, "number of kills", at_least(1));
    v("seed", seed, "key of the moments and the victims", at_least(0));
    v("seconds", seconds, "stop after this time, even with fewer kills; 0 = no limit", at_least(0));
    v("help", help, "print this text", letter('h'));
  }
};

constexpr int kInterval = 10, kLast = 100;  // iterations
constexpr int kWaitingSaves = 8;            // docs/reference/runs.md
constexpr double kPatience = 600;           // seconds for processes to end, and for a run
constexpr double kLauncherPatience = 60;    // seconds for processes to end; --ranks ends a hung mpirun after 30

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool condition, const std::string& what) {
  if (!condition) throw Failure(what);
}

// A run that is started and killed again and again.
enum class Victim { rank_0, rank_1, launcher, all };
constexpr const char* kNames[] = {"rank 0", "rank 1", "the launcher", "all processes"};

class Kills {
 public:
  explicit Kills(const Options& options)
      : options_(options), random_(static_cast<uint64_t>(options.seed), 0), begin_(steady_seconds()) {}

  // Returns the number of failures: 0 or 1.
  int run() {
    std::string failure;
    try {
      const double begin = steady_seconds();
      start("whole", false, false).expect_success();
      seconds_per_run_ = steady_seconds() - begin;
      while (!is_over()) {
        const std::string name = "run_" + std::to_string(runs_done_++);
        kill_until_done(name);
        expect_whole(name);
        fs::remove_all(runs_.run(name));
        std::printf("%d of %d kills in %.0f s\n", kills_, options_.count, steady_seconds() - begin_);
        std::fflush(stdout);
      }
    } catch (const std::exception& error) {
      failure = error.what();
    }
    std::printf(
        "kills: %d kills of seed %ld in %.0f s (%d of rank 0, %d of rank 1, %d of the launcher, %d of all processes) "
        "in "
        "%d runs of %d iterations, saved every %d: %d checkpoints read, at most %d iterations lost, %d launchers of "
        "Open "
        "MPI hung\n",
        kills_, static_cast<long>(options_.seed), steady_seconds() - begin_, by_victim_[0], by_victim_[1],
        by_victim_[2], by_victim_[3], runs_done_, kLast, kInterval, checkpoints_read_, most_lost_, hung_launchers_);
    if (!failure.empty()) std::printf("FAILURE: %s\n", failure.c_str());
    return failure.empty() ? 0 : 1;
  }

 private:
  // A start of the program that will end, or that the caller kills.
  struct Start {
    std::unique_ptr<Process> process;
    void expect_success() const {
      const Result result = process->wait(kPatience);
      require(result.exit_code == 0,
              "a run ended with exit code " + std::to_string(result.exit_code) + ": " + result.err);
    }
  };

  bool is_over() const {
    return kills_ >= options_.count || (options_.seconds > 0 && steady_seconds() - begin_ > options_.seconds);
  }

  // Two ranks, started by mpirun or by --ranks. A run of which a checkpoint exists is resumed in one of three ways.
  Start start(const std::string& name, bool by_mpirun, bool exists) {
    Words words = {kTrain, "--runs_dir", runs_.path().string()};
    const Words options =
        "--task Cartpole --num_envs 64 --num_steps_per_env 16 --ppo.num_learning_epochs 1 "
        "--ppo.num_mini_batches 4"_words +
        Words{"--run_name", name, "--save_interval", std::to_string(kInterval)} + iterations_of(kLast);
    switch (exists ? random_.below(3) : 0) {
      case 0:
        words = words + options;
        break;
      case 1:
        words = words + options + Words{"--resume"};
        break;
      default:
        words = words + Words{"--task", "Cartpole", "--load_run", name};
    }
    if (!by_mpirun) return {std::make_unique<Process>(words + "--ranks 2"_words)};
    return {std::make_unique<Process>(mpirun(2) + words)};
  }

  // Kills the run at moments that are spread evenly over its duration. What the kill leaves must end by itself.
  void kill_until_done(const std::string& name) {
    for (;;) {
      const bool by_mpirun = random_.one_in(2), exists = newest_checkpoint(runs_.run(name)) > 0;
      const double moment = (0.05 + 1.0 * random_.uniform()) * seconds_per_run_;
      const auto victim = static_cast<Victim>(random_.below(4));
      const Start run = start(name, by_mpirun, exists);
      if (is_over()) return run.expect_success();
      if (wait_until([&] { return !run.process->running(); }, moment)) return run.expect_success();
      const int saved = newest_checkpoint(runs_.run(name));
      if (!kill(*run.process, victim)) return run.expect_success();
      ++kills_, ++by_victim_[static_cast<int>(victim)];
      expect_end(*run.process, victim);
      require(newest_checkpoint(runs_.run(name)) >= saved, "a checkpoint is gone");
      check(name);
    }
  }

  // Waits until no process of the run is left. Open MPI 4's mpirun now and then waits for ever in PMIx_server_finalize
  // when its ranks have gone. --ranks ends such a launcher; for a plain mpirun this program does, and counts it.
  void expect_end(Process& launcher, Victim victim) {
    const auto all_gone = [&] { return !launcher.running() && runs_.processes().empty(); };
    if (wait_until(all_gone, kLauncherPatience)) return;
    const std::vector<pid_t> left = runs_.processes();
    if (!left.empty() && std::ranges::all_of(left, is_mpirun)) {
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
      ++hung_launchers_;
    }
    require(wait_until(all_gone, kPatience),
            std::string("processes still run after the kill of ") + kNames[static_cast<int>(victim)]);
  }

  static bool is_mpirun(pid_t pid) {
    const std::string name = slurp("/proc/" + std::to_string(pid) + "/comm");
    return name.starts_with("mpi") || name.starts_with("orte");
  }

  // Returns false if the victim does not run yet, or no longer.
  bool kill(const Process& launcher, Victim victim) const {
    std::vector<pid_t> victims;
    if (victim == Victim::launcher) {
      victims = {launcher.pid()};
    } else if (victim == Victim::all) {
      victims = runs_.processes();
    } else {
      for (const std::string variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        victims = victims.empty()
                      ? runs_.processes('\0' + variable + "=" + std::to_string(static_cast<int>(victim)) + '\0')
                      : victims;
    }
    for (const pid_t pid : victims) ::kill(pid, SIGKILL);
    return !victims.empty();
  }

  // All checkpoints must be readable, and the newest must be recent: run.json has the iteration of the last save that
  // was finished.
  void check(const std::string& name) {
    const fs::path run = runs_.run(name);
    for (const int iteration : checkpoints(run)) {
      read_checkpoint(checkpoint_file(run, iteration));
      ++checkpoints_read_;
    }
    if (!fs::exists(run / "metrics.csv") || !fs::exists(run / "run.json")) return;  // the first ones of a run
    const std::string rows = slurp(run / "metrics.csv");
    const std::vector<std::string> lines = split(rows.substr(0, rows.rfind('\n') + 1), '\n');
    int last = 0;
    for (const std::string& line : lines)
      if (!line.empty() && !line.starts_with("iteration")) last = std::max(last, std::stoi(line));
    const int lost = last - newest_checkpoint(run);
    most_lost_ = std::max(most_lost_, lost);
    const auto refuse_unless = [&](bool good, const std::string& what) {
      require(good, what + ", but the newest checkpoint is of " + std::to_string(newest_checkpoint(run)));
    };
    refuse_unless(lost <= (1 + kWaitingSaves) * kInterval, "iteration " + std::to_string(last) + " was reached");
    const int saved = run_json(run).at("iteration");
    refuse_unless(newest_checkpoint(run) >= saved,
                  "run.json says that iteration " + std::to_string(saved) + " was saved");
  }

  void expect_whole(const std::string& name) const {
    const fs::path whole = runs_.run("whole"), run = runs_.run(name);
    require(iterations(run) == count_to(kLast), "metrics.csv does not have each iteration once");
    require(metrics(run) == metrics(whole), "metrics.csv differs from that of an uninterrupted run");
    require(datasets(checkpoint_file(run, kLast)) == datasets(checkpoint_file(whole, kLast)),
            "the last checkpoint differs from that of an uninterrupted run");
    require(run_json(run).at("status") == "done", "run.json does not say that the run is done");
  }

  const Options options_;
  Random random_;
  Runs runs_;
  const double begin_;
  double seconds_per_run_ = 0;
  int kills_ = 0, runs_done_ = 0, checkpoints_read_ = 0, most_lost_ = 0, hung_launchers_ = 0, by_victim_[4] = {};
};

int run(const Options& options) { return Kills(options).run(); }

}  // namespace
}  // namespace drl::faults

int main(int argc, char** argv) { return drl::faults::program(argc, argv, drl::faults::kUsage, drl::faults::run); }
