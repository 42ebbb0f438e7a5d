// Compares tasks of robots with numbers of the model that differ between environments, in lanes and on libmujoco:
// also torque limits that change with the speed, and delays of motors within a step.
#include "physics/half_cheetah.hpp"
#if DRL_HAS_GO1
#include "physics/go1.hpp"
#endif
// These must follow the headers of the physics.
#include "lanes_pair.hpp"
#include "robots/half_cheetah.hpp"
#if DRL_HAS_GO1
#include "robots/go1_velocity_flat.hpp"
#endif

namespace drl {
namespace {

template <template <class> class Task>
using Randomised = TaskInLanes<Task, RandomisedModel<Task>>;

TEST(Randomised, HalfCheetahAgreesWithMujoco) { expect_equal_steps<HalfCheetah, Randomised<HalfCheetah>>(); }
#if DRL_HAS_GO1
TEST(Randomised, Go1VelocityFlatAgreesWithMujoco) {
  expect_equal_steps<Go1VelocityFlat, Randomised<Go1VelocityFlat>>();
}
#endif

}  // namespace
}  // namespace drl
