// Compares tasks of robots with numbers of the model that differ between environments, in lanes and on libmujoco:
// also torque limits that change with the speed, and delays of motors within a step.
#include "physics/half_cheetah.hpp"
#include "physics/push_cube.hpp"
#if DRL_HAS_GO1
#include "physics/go1.hpp"
#endif
// These must follow the headers of the physics.
#include "lanes_pair.hpp"
#include "robots/half_cheetah.hpp"
#include "robots/push_cube.hpp"
#if DRL_HAS_GO1
#include "envs/motor_network.hpp"
#include "robots/go1_velocity_flat.hpp"
#endif

namespace drl {
namespace {

template <template <class> class Task>
using Randomised = TaskInLanes<Task, RandomisedModel<Task>>;

TEST(Randomised, HalfCheetahAgreesWithMujoco) { expect_equal_steps<HalfCheetah, Randomised<HalfCheetah>>(); }
// The cube's size differs, too.
TEST(Randomised, PushCubeAgreesWithMujoco) { expect_equal_steps<PushCube, Randomised<PushCube>>(); }
#if DRL_HAS_GO1
TEST(Randomised, Go1VelocityFlatAgreesWithMujoco) {
  expect_equal_steps<Go1VelocityFlat, Randomised<Go1VelocityFlat>>();
}
// In a few of these steps, libmujoco's own contact forces change by 1.75e-9 if the last bits of the velocities change.
TEST(Randomised, Go1WithNetworksOfItsMotorsAgreesWithMujoco) {
  const double usual = std::exchange(tolerance, 1e-8);
  for (const std::string network : {"motor_softsign", "motor_lstm"}) {
    const std::string file = std::string(DRL_TEST_DATA) + "/envs/recordings/" + network + ".npz";
    expect_equal_steps<Go1VelocityFlat, Randomised<Go1VelocityFlat>>(
        Pair<Go1VelocityFlat, Randomised<Go1VelocityFlat>>({}, {}, &motor_network(file)));
  }
  tolerance = usual;
}
#endif

}  // namespace
}  // namespace drl
