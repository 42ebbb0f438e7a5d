// The teacher of an algorithm that has one: the policy of another run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/engine.hpp"
#include "comm/communicator.hpp"
#include "envs/grouped_envs.hpp"
#include "run/state.hpp"
#include "run/train_options.hpp"
#include "store/checkpoint.hpp"

namespace drl {

class TeacherRun {
 public:
  // Collective: rank 0 reads the newest checkpoint of `run` (options.train.teacher). Throws UsageError if the student's
  // task lacks the observations or actions of the teacher. `student` must outlive this object.
  TeacherRun(const Options& student, Communicator& comm);
  TeacherRun(const TeacherRun&) = delete;
  TeacherRun& operator=(const TeacherRun&) = delete;

  // Returns the setup of the student's environments, in which the critic's observations are what the teacher sees.
  EnvSetup student_setup() const;
  // Collective: loads the policy into the memory of the engine's queue, which must outlive this object. Its networks
  // have at most `rows` rows at once.
  const Teacher& load(RunEngine& engine, int64_t rows, Communicator& comm);

 private:
  ObservationGroup group() const;
  void require_fit() const;

  const Options& student_;
  std::string file_, task_;
  Checkpoint checkpoint_;  // on rank 0
  bool is_alone_ = false;  // the checkpoint has no critic
  Options options_;
  PolicySpec spec_;
  std::unique_ptr<Nets> nets_;
  std::optional<PolicyMemory> memory_;
  std::optional<Teacher> teacher_;
};

}  // namespace drl
