// Tests robots with pyramidal cones.
#include "exact.hpp"

#include <fstream>
#include <sstream>

#include "robots.hpp"

namespace drl {
namespace {

template <>
struct Files<inverted_pendulum_robot> {
  static constexpr const char* file = "src/robots/models/inverted_pendulum.xml";
};
template <>
struct Files<inverted_double_pendulum_robot> {
  static constexpr const char* file = "src/robots/models/inverted_double_pendulum.xml";
};
template <>
struct Files<reacher_robot> {
  static constexpr const char* file = "src/robots/models/reacher.xml";
};
template <>
struct Files<half_cheetah_robot> {
  static constexpr const char* file = "src/robots/models/half_cheetah.xml";
};
template <>
struct Files<walker2d_robot> {
  static constexpr const char* file = "src/robots/models/walker2d.xml";
};
template <>
struct Files<ant_robot> {
  static constexpr const char* file = "src/robots/models/ant.xml";
};
template <>
struct Files<hopper_robot> {
  static constexpr const char* file = "src/robots/models/hopper.xml";
};
template <>
struct Files<humanoid_robot> {
  static constexpr const char* file = "src/robots/models/humanoid.xml";
};
template <>
struct Files<humanoid_standup_robot> {
  static constexpr const char* file = "src/robots/models/humanoid_standup.xml";
};
template <>
struct Files<swimmer_robot> {
  static constexpr const char* file = "src/robots/models/swimmer.xml";
};
template <>
struct Files<tangle_robot> {
  static constexpr const char* file = "tests/physics/models/tangle.xml";
};

using Robots = testing::Types<inverted_pendulum_robot, inverted_double_pendulum_robot, reacher_robot,
                              half_cheetah_robot, walker2d_robot, ant_robot, hopper_robot, humanoid_robot,
                              humanoid_standup_robot, swimmer_robot, tangle_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Pyramidal, Exact, Robots);

// Compares time steps with the controls of a trained policy, from states that the policy visited (policy_record.py).
template <class P>
void expect_recording(Compared<P>& compared, const std::string& task, int frame_skip) {
  test::Reference& reference = compared.reference;
  std::ifstream file(std::string(DRL_TEST_DATA) + "/physics/recordings/" + task + ".txt");
  RobotState at{std::vector<double>(P::nq), std::vector<double>(P::nv), std::vector<double>(P::nv),
                std::vector<double>(P::nu)};
  int steps = 0;
  for (std::string line; std::getline(file, line) && !testing::Test::HasFailure();) {
    std::istringstream numbers(line);
    std::string word;
    numbers >> word;
    const auto read = [&](std::vector<double>& to) {
      for (double& x : to) numbers >> x;
    };
    if (word == "state") read(at.qpos), read(at.qvel);
    if (word != "ctrl") continue;
    read(at.ctrl);
    for (int k = 0; k < frame_skip; ++k, ++steps) at = reference.state_of(compared.expect_step(at));
    ASSERT_TRUE(numbers) << line;
  }
  EXPECT_EQ(steps, 200 * frame_skip);
}
using HalfCheetahTest = Exact<half_cheetah_robot>;
TEST_F(HalfCheetahTest, StepsOfATrainedPolicyMatchLibmujoco) { expect_recording(compared, "HalfCheetah-v5", 5); }
using Walker2dTest = Exact<walker2d_robot>;
TEST_F(Walker2dTest, StepsOfATrainedPolicyMatchLibmujoco) { expect_recording(compared, "Walker2d-v5", 4); }
using AntTest = Exact<ant_robot>;
TEST_F(AntTest, StepsOfATrainedPolicyMatchLibmujoco) { expect_recording(compared, "Ant-v5", 5); }

// Parallel capsules touch twice, at ends that are beside the other capsule.
using TangleTest = Exact<tangle_robot>;
TEST_F(TangleTest, ParallelCapsulesTouchTwice) {
  const mjModel& m = reference.model();
  const int rod = mj_name2id(&m, mjOBJ_GEOM, "rod"), elbow = mj_name2id(&m, mjOBJ_GEOM, "elbow");
  for (const double height : {0.0, 0.1, 0.2, -0.25, 0.3}) {
    RobotState from = reference.next_state();
    std::ranges::fill(from.qpos, 0.0);
    double* ball = from.qpos.data() + 4;
    mju_negQuat(ball + 3, m.geom_quat + 4 * rod);  // the rod is upright, as the elbow is
    mjtNum off[3];
    mju_rotVecQuat(off, m.geom_pos + 3 * rod, ball + 3);
    const double at[3] = {0.06, 0.05, 0.14 + height};
    for (int k = 0; k < 3; ++k) ball[k] = at[k] - off[k];
    const mjData& expected = reference.after_forward(from);
    int contacts = 0;
    for (int c = 0; c < expected.ncon; ++c) {
      const int* geom = expected.contact[c].geom;
      contacts += std::minmax(geom[0], geom[1]) == std::minmax(rod, elbow) ? 1 : 0;
    }
    EXPECT_EQ(contacts, 2);
    compared.expect_evaluation(from);
    ASSERT_FALSE(HasFailure()) << height;
  }
}

}  // namespace
}  // namespace drl
