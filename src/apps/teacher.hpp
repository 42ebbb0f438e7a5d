// The teacher of --algorithm distill: the policy of another run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/learner_parts.hpp"
#include "comm/communicator.hpp"
#include "envs/grouped_envs.hpp"
#include "nets/normalizer.hpp"
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
  // Collective: loads the policy into the memory of the queue, which must outlive this object. `nets` must have the
  // layout of policy().
  Teacher load(Queue& queue, std::unique_ptr<Nets> nets, Communicator& comm);
  const PolicySpec& policy() const { return spec_; }

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
  Array<float> params_;
  std::optional<Normalizer> normalizer_;
};

}  // namespace drl
