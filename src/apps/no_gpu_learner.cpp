// Of builds without CUDA, in which no placement names a GPU.
#include "apps/learner.hpp"
#include "base/check.hpp"

namespace drl {

std::unique_ptr<Learner> make_gpu_learner(const Options&, const LearnerPlan&) {
  DRL_CHECK(false, "this build has no CUDA");
  return nullptr;
}

std::unique_ptr<Communicator> make_gpu_communicator(const Options&, const Placement&, Communicator&,
                                                    const std::vector<std::string>&) {
  return nullptr;
}

}  // namespace drl
