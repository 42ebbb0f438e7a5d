// The environments, networks and algorithm of one rank, on its device.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "apps/engine.hpp"
#include "apps/teacher.hpp"
#include "apps/workplace.hpp"
#include "run/gate.hpp"
#include "run/lost_states.hpp"
#include "run/run_manifest.hpp"
#include "run/train_options.hpp"

namespace drl {

class Learner {
 public:
  // Collective. Throws ReportedError on all ranks if the options contradict each other. `options`, `place` and `comm`
  // must outlive the Learner. `resumed` is the directory of the run that is resumed, if any; only rank 0's is used.
  Learner(const Options& options, const Workplace& place, Communicator& comm,
          const std::filesystem::path& resumed = {});

  const TaskSpec& task() const { return envs().spec(); }
  const BatchPlan& plan() const { return plan_; }  // of this rank
  const PolicySpec& policy() const { return spec_; }
  const TeacherRun* teacher() const { return teacher_ ? &*teacher_ : nullptr; }
  Algorithm& algorithm() { return *algorithm_; }
  Communicator& comm() { return engine().comm(); }
  std::optional<GpuEnergy> gpu_energy() { return engine().energy(); }
  std::string host_speeds() const { return envs().host_speeds(); }
  std::string files() const { return envs().files(); }
  // Returns the contents of the files that options name (run/option_files.hpp).
  const std::string& contents() const { return contents_; }
  std::string describe_engine() const;  // "libtorch 1.13.1 (OpenBLAS)"
  // With --nan_policy dump, writes the states of lost environments below the run's directory. Call before the first
  // iteration.
  void write_lost_states_to(const std::filesystem::path& run, const RunFacts& facts, const std::string& options_ini);
  // Collective. Returns the policy's mean return over 64 episodes with its most probable actions on rank 0. Each rank
  // plays a part of them, always on the CPU.
  double evaluate();
  // Collective. Plays the task's gate with them; the result is rank 0's. `options_ini` are the run's options.
  GateResult try_gate(const std::string& options_ini);

 private:
  // The parts of a learner. A rank has one, or one for each of its shards (--deterministic_shards).
  struct Part {
    BatchPlan plan;
    RunEngine engine;  // must outlive the recorded graphs, which hold its communicator's all-reduces
    std::unique_ptr<Nets> nets = nullptr;
    std::unique_ptr<VecEnv> envs = nullptr;
    std::optional<LostStates> lost_states = std::nullopt;
  };
  RunEngine& engine() { return parts_.front().engine; }
  const VecEnv& envs() const { return *parts_.front().envs; }
  std::unique_ptr<Algorithm> make_algorithm(Part& part, const Teacher* teacher);
  Evaluation play(const EnvSetup& setup, const std::vector<float>& curriculum, int64_t seed);

  const Options& options_;
  std::optional<Options> gate_options_;
  int threads_;
  Workplace place_of_part_;
  BatchPlan plan_;
  PolicySpec spec_;
  std::list<Part> parts_;
  std::optional<TeacherRun> teacher_;
  std::unique_ptr<Algorithm> algorithm_;
  std::string contents_;
};

}  // namespace drl
