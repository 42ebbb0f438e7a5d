// Tests of robots' models, by the colours in their pictures.
#include <fstream>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "pixels.hpp"

namespace drl::test {
namespace {

// A red ball that can move anywhere, and a fixed blue post.
constexpr const char* kModel = R"(<mujoco><worldbody>
  <camera name="above" pos="0 0 12" xyaxes="1 0 0 0 1 0"/>
  <geom type="box" size="0.3 0.3 0.5" pos="-1 0 0.5" rgba="0.2 0.4 0.8 1"/>
  <body name="ball" pos="0 0 1"><freejoint/><geom type="sphere" size="0.3" rgba="0.9 0.1 0.1 1"/></body>
</worldbody></mujoco>)";

class RobotPicture : public testing::Test {
 protected:
  // Draws the ball at (x, y, z) into `rgb`.
  void draw(Studio& studio, double x, double y, double z) {
    const double qpos[] = {x, y, z, 1, 0, 0, 0};
    draw(studio, qpos, 7);
  }
  void draw(Studio& studio, const double* qpos, int64_t size) {
    Picture picture;
    Canvas(picture.canvas()).model(file.c_str(), qpos, size);
    studio.renderer->draw(picture.view(""), rgb);
  }
  Spot find(bool (*is)(const uint8_t*)) const { return test::find(rgb, 320, 240, is); }
  std::string refusal(const char* camera, int64_t size = 7) {
    Studio studio(320, 240, camera);
    const double qpos[9] = {0, 0, 1, 1};
    return error_from<UsageError>([&] { draw(studio, qpos, size); });
  }
  void SetUp() override {
    if (const std::string why = Studio().trouble; !why.empty()) GTEST_SKIP() << why;
    std::ofstream(file) << kModel;
  }

  TempFolder folder;
  std::string file = (folder / "ball.xml").string();
  std::vector<uint8_t> rgb;
};

// The ball is always in the middle. The post leaves the picture to the left.
TEST_F(RobotPicture, TheTrackCameraFollowsTheRobot) {
  Studio studio;
  for (double x : {0.0, 1.5, 50.0}) {
    draw(studio, x, 0, 1);
    const Spot ball = find(is_red);
    ASSERT_GT(ball.pixels, 100) << x;
    EXPECT_NEAR(ball.x, 160, 2) << x;
    EXPECT_NEAR(ball.y, 120, 3) << x;
    if (x == 50) {
      EXPECT_EQ(find(is_blue).pixels, 0);
    }
  }
}

// Planes are drawn infinite, as they are in the physics, whatever their size in the model.
TEST_F(RobotPicture, TheGroundIsInfinite) {
  std::ofstream(file) << R"(<mujoco><asset><material name="grass" rgba="0 0.8 0 1"/></asset><worldbody>
    <geom type="plane" size="2 2 1" material="grass"/>
    <body pos="0 0 1"><freejoint/><geom type="sphere" size="0.3"/></body></worldbody></mujoco>)";
  Studio studio;
  draw(studio, 50, 0, 1);
  EXPECT_GT(find([](const uint8_t* p) { return p[1] > 2 * p[0] && p[1] > 2 * p[2]; }).pixels, 320 * 240 / 3);
}

TEST_F(RobotPicture, TheFreeCameraDoesNotMove) {
  Studio studio(320, 240, "free");
  draw(studio, -0.4, 0, 1.5);
  const Spot before = find(is_red), post = find(is_blue);
  draw(studio, 0.2, 0, 1.5);
  EXPECT_GT(find(is_red).x, before.x + 20);
  EXPECT_NEAR(find(is_blue).x, post.x, 3);
}

// Seen from above, y points up in the picture.
TEST_F(RobotPicture, ACameraOfTheModelCanBeChosen) {
  Studio studio(320, 240, "above");
  draw(studio, 2, 1, 1);
  const Spot ball = find(is_red);
  EXPECT_GT(ball.x, 180);
  EXPECT_LT(ball.y, 110);
}

TEST_F(RobotPicture, MistakesAreUsageErrors) {
  expect_mentions(refusal("below"), {"below", "track, free, above", "--camera"});
  expect_mentions(refusal("track", 9), {"7", "9", "positions"});
  std::ofstream(file) << "<mujoco><worldbody><geom type=\"cone\"/></worldbody></mujoco>";
  expect_mentions(refusal("track"), {file, "line 1"});
  EXPECT_EQ(refusal("track").find('\n'), std::string::npos);
  file = "/nowhere/ball.xml";
  expect_mentions(refusal("track"), {"/nowhere/ball.xml"});
}

}  // namespace
}  // namespace drl::test
