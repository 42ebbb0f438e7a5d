// CASE MODEL: compares the header DRL_HEADER of a randomised robot DRL_COMPILED, in double, with libmujoco: in random
// motion, far beyond limits and folded up, with new numbers of the model in most states. Built by random_robots.
#include DRL_HEADER

#include "compared.cpp"
#include "exact_robot_of.hpp"

namespace drl {
namespace {

std::string model_file;

TEST(RandomRobot, MatchesLibmujocoWithTheChangedModel) {
  test::Compared compared(model_file, std::make_unique<test::ExactRobotOf<DRL_COMPILED::Physics<double>>>());
  test::Reference& reference = compared.reference;
  const auto is_degenerate = [&](const test::RobotState& state) {
    return reference.axes_meet(reference.after_forward(state));
  };
  for (int k = 0; k < 120; ++k) {
    for (int skipped = 0; skipped < 3; ++skipped) reference.next_state();
    const test::RobotState state = reference.next_state();
    if (k % 3 > 0) compared.vary();
    if (!is_degenerate(state)) compared.expect_step(state);
    ASSERT_FALSE(HasFailure()) << "state " << k;
  }
  for (int k = 0; k < 60; ++k) {
    const test::RobotState state = k % 2 == 0 ? reference.extreme_state() : reference.folded_state();
    compared.vary();
    if (!is_degenerate(state)) compared.expect_evaluation_or_no_place(state);
    ASSERT_FALSE(HasFailure()) << "penetrating state " << k;
  }
}

}  // namespace
}  // namespace drl

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  if (count != 2) return 2;
  drl::model_file = words[1];
  return RUN_ALL_TESTS();
}
