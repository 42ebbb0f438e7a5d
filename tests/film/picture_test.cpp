// Tests of tasks that draw shapes, by the colours in their pictures.
#include <cmath>

#include "../support/mentions.hpp"
#include "drl/task/abi.hpp"
#include "envs/make_env.hpp"
#include "pixels.hpp"

namespace drl::test {
namespace {

class PictureTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!studio.trouble.empty()) GTEST_SKIP() << studio.trouble;
  }
  // Draws a task in a state, whose numbers are in the order of the task's header.
  const std::vector<uint8_t>& draw(const char* task, std::vector<float> state) {
    const TaskRecord& record = task_record(task);
    std::vector<void*> columns;
    for (float& number : state) columns.push_back(&number);
    EnvArrays arrays{};
    arrays.num_envs = 1, arrays.state = columns.data();
    int32_t age = 0, ended_by = 0;
    float reward = 0;
    std::vector<float> terms(static_cast<size_t>(record.reward_term_count + record.metric_count));
    std::vector<float*> term_columns;
    for (float& term : terms) term_columns.push_back(&term);
    arrays.age = &age, arrays.ended_by = &ended_by, arrays.episode_reward = &reward, arrays.terms = term_columns.data();
    LoopCall call{};
    call.envs = &arrays, call.params = record.default_params, call.end = 1;
    Picture picture;
    char error[256] = "";
    EXPECT_EQ(record.draw(&call, &picture.canvas(), error, sizeof(error)), 0) << error;
    studio.renderer->draw(picture.view(""), rgb);
    return rgb;
  }
  Spot find(bool (*is)(const uint8_t*)) const { return test::find(rgb, studio.width, studio.height, is); }

  Studio studio;
  std::vector<uint8_t> rgb;
};

// Each renderer draws its own size, even after another one was made, has drawn or was destroyed.
TEST_F(PictureTest, SeveralRenderersDoNotDisturbEachOther) {
  const std::vector<uint8_t> alone = draw("Pendulum-v1", {0.5f, 0});
  {
    Studio other(640, 480);
    EXPECT_EQ(draw("Pendulum-v1", {0.5f, 0}), alone) << "after another was made";
    std::vector<uint8_t> large;
    other.renderer->draw(Picture().view(""), large);
    EXPECT_EQ(draw("Pendulum-v1", {0.5f, 0}), alone) << "after another has drawn";
  }
  EXPECT_EQ(draw("Pendulum-v1", {0.5f, 0}), alone) << "after another was destroyed";
}

// Text would hide too much of a small picture.
TEST_F(PictureTest, SmallPicturesHaveNoText) {
  for (const int height : {198, 200}) {
    Studio of_height(264, height);
    std::vector<uint8_t> with, without;
    of_height.renderer->draw(Picture().view("a title"), with);
    of_height.renderer->draw(Picture().view(""), without);
    EXPECT_EQ(with == without, height < 200) << height;
  }
}

// Positive theta is to the right. The cart is blue and the pole orange.
TEST_F(PictureTest, ThePoleLeansByTheta) {
  for (const char* task : {"CartPole-v1", "Cartpole"}) {
    const bool gymnasium = std::string(task) == "CartPole-v1";  // x, x_dot, theta, theta_dot; the other: x, theta, ...
    const auto state = [&](float x, float theta) {
      return gymnasium ? std::vector<float>{x, 0, theta, 0} : std::vector<float>{x, theta, 0, 0};
    };
    draw(task, state(0, 0.2f));
    const Spot right = find(is_orange), cart = find(is_blue);
    draw(task, state(0, -0.2f));
    const Spot left = find(is_orange);
    draw(task, state(0, 0));
    const Spot upright = find(is_orange);
    ASSERT_GT(std::min({right.pixels, left.pixels, upright.pixels, cart.pixels}), 50) << task;
    EXPECT_GT(right.x, cart.x + 2) << task;
    EXPECT_LT(left.x, cart.x - 2) << task;
    EXPECT_NEAR(upright.x, studio.width / 2, 1.5) << task;
    EXPECT_NEAR(right.x - upright.x, upright.x - left.x, 1.5) << task;
    EXPECT_LT(upright.y, cart.y) << task;  // rows are counted from above
    draw(task, state(1, 0));
    EXPECT_GT(find(is_blue).x, cart.x + 20) << task;
  }
}

TEST_F(PictureTest, ThePendulumHangsAndStands) {
  draw("Pendulum-v1", {0, 0});
  const Spot up = find(is_orange);
  draw("Pendulum-v1", {3.1415927f, 0});
  const Spot down = find(is_orange);
  draw("Pendulum-v1", {1.5707963f, 0});
  const Spot left = find(is_orange);
  ASSERT_GT(std::min({up.pixels, down.pixels, left.pixels}), 100);
  EXPECT_LT(up.y, studio.height / 2 - 10);
  EXPECT_GT(down.y, studio.height / 2 + 10);
  EXPECT_LT(left.x, studio.width / 2 - 10);
}

// With both links down, the second is below the first. With theta1 = pi both are up, and the tip is above the red line.
TEST_F(PictureTest, TheAcrobotHangsAndStands) {
  draw("Acrobot-v1", {0, 0, 0, 0});
  EXPECT_GT(find(is_orange).y, find(is_blue).y + 10);
  EXPECT_GT(find(is_blue).y, find(is_red).y);
  draw("Acrobot-v1", {3.1415927f, 0, 0, 0});
  EXPECT_LT(find(is_orange).y, find(is_red).y);
  draw("Acrobot-v1", {1.5707963f, 0, 0, 0});  // to the right
  EXPECT_GT(find(is_orange).x, find(is_blue).x + 10);
}

// The car is blue, and the flag at the goal is red. The car is lowest at x = -pi/6, and beside the flag at the goal.
TEST_F(PictureTest, TheCarClimbsToTheFlag) {
  for (const char* task : {"MountainCar-v0", "MountainCarContinuous-v0"}) {
    draw(task, {-0.5235988f, 0});
    const Spot valley = find(is_blue);
    draw(task, {-1.1f, 0});
    const Spot left = find(is_blue);
    draw(task, {0.45f, 0});
    const Spot goal = find(is_blue), flag = find(is_red);
    ASSERT_GT(std::min({valley.pixels, left.pixels, goal.pixels, flag.pixels}), 10) << task;
    EXPECT_LT(left.x, valley.x) << task;
    EXPECT_LT(left.y, valley.y) << task;
    EXPECT_LT(goal.y, left.y) << task;
    EXPECT_NEAR(goal.x, flag.x, 20) << task;
  }
}

TEST_F(PictureTest, EveryBuiltInTaskDraws) {
  for (const std::string& task : task_names()) EXPECT_NE(task_record(task).draw, nullptr) << task;
}

TEST_F(PictureTest, TextIsWritten) {
  const auto dark = [](const std::vector<uint8_t>& some) {
    int64_t count = 0;
    for (int y = 200; y < 240; ++y)
      for (int x = 0; x < 80; ++x) count += some[3 * (static_cast<size_t>(y) * 320 + x)] < 110;
    return count;
  };
  Picture blank, written;
  Canvas(blank.canvas()).ground(0), Canvas(written.canvas()).ground(0);
  written.write("time", "1.00 s");
  std::vector<uint8_t> without, with;
  studio.renderer->draw(blank.view(""), without);
  studio.renderer->draw(written.view(""), with);
  EXPECT_GT(dark(with), dark(without) + 100);
}

TEST_F(PictureTest, ATaskWithoutDrawIsRefused) {
  TaskRecord record = task_record("CartPole-v1");
  record.draw = nullptr;
  EXPECT_THROW(require_draw(record), UsageError);
}

TEST(Cameras, OfTasksWithShapesAreTrackAndFree) {
  Studio studio(64, 64, "side");
  if (!studio.trouble.empty()) GTEST_SKIP() << studio.trouble;
  Picture picture;
  std::vector<uint8_t> rgb;
  expect_mentions(error_from<UsageError>([&] { studio.renderer->draw(picture.view(""), rgb); }),
                  {"side", "track", "free", "--camera"});
}

}  // namespace
}  // namespace drl::test
