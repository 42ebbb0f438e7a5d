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
#include "envs/motor_network.hpp"
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
TEST(Randomised, Go1WithNetworksOfItsMotorsAgreesWithMujoco) {
  for (const std::string network : {"motor_softsign", "motor_lstm"}) {
    const std::string file = std::string(DRL_TEST_DATA) + "/envs/recordings/" + network + ".npz";
    expect_equal_steps<Go1VelocityFlat, Randomised<Go1VelocityFlat>>(
        Pair<Go1VelocityFlat, Randomised<Go1VelocityFlat>>({}, {}, &motor_network(file)));
  }
}
#endif

}  // namespace
}  // namespace drl
