// The teacher of an algorithm that has one: the policy of another run. The student's run keeps a copy of it, so that
// the teacher's run may go on, move or be deleted.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/engine.hpp"
#include "base/options.hpp"
#include "comm/communicator.hpp"
#include "envs/grouped_envs.hpp"
#include "run/state.hpp"
#include "run/train_options.hpp"
#include "store/checkpoint.hpp"

namespace drl {

// The file with the copy, in the directory of the student's run.
inline constexpr const char* kTeacherFile = "teacher.h5";

// Returns the absolute path of the run or file that --teacher means, which the run records. `run` is the directory that
// this start may continue, or "". If its teacher is meant, or `teacher` is the run itself (a path such as
// runs/TASK/latest leads to the student after the first start), returns what the run has recorded, which need not
// exist. Names are looked up in `runs_dir` (see runs_folder()). Throws UsageError.
std::string meaning_of_teacher(const std::string& teacher, const std::filesystem::path& run,
                               const std::string& recorded, const std::string& runs_dir);

class TeacherRun {
 public:
  // Collective: rank 0 reads the copy in the directory `resumed` if it is of student.train.teacher, else the newest
  // checkpoint of that. Throws UsageError if the student's task lacks the observations or actions of the teacher.
  // `student` must outlive this object. Only rank 0's `resumed` is used; "": the run is new.
  TeacherRun(const Options& student, const std::filesystem::path& resumed, Communicator& comm);
  TeacherRun(const TeacherRun&) = delete;
  TeacherRun& operator=(const TeacherRun&) = delete;

  // Returns the setup of the student's environments, in which the critic's observations are what the teacher sees.
  EnvSetup student_setup() const;
  // Returns "runs/T/a, iteration 6 of Cartpole, which observes the group policy". Only on rank 0.
  std::string text() const;
  // Writes the copy to the run's directory, unless it is there, and warns of what differs between teacher and student.
  // `table` has the student's options. Only on rank 0.
  void keep(const std::filesystem::path& run, const OptionTable& table) const;
  // Collective: loads the policy into the memory of the engine's queue, which must outlive this object. Its networks
  // have at most `rows` rows at once. Each engine gets its own.
  const Teacher& load(RunEngine& engine, int64_t rows, Communicator& comm);
  // Frees what load() reads. Call it after the last load().
  void release_checkpoint() { checkpoint_ = {}; }

 private:
  ObservationGroup group() const;
  void require_fit() const;

  const Options& student_;
  std::string file_, task_;
  Checkpoint checkpoint_, copy_;  // on rank 0
  bool is_kept_ = false;          // file_ is the copy
  bool is_alone_ = false;         // the checkpoint has no critic
  Options options_;
  PolicySpec spec_;
  struct Loaded {
    std::unique_ptr<Nets> nets;
    PolicyMemory memory;
    Teacher teacher;
  };
  std::list<Loaded> loaded_;
};

}  // namespace drl
