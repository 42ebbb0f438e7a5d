// Tests the objects that pictures show, for programs that draw them themselves. They need no OpenGL.
#include <cmath>
#include <fstream>
#include <numbers>
#include <optional>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "pixels.hpp"

namespace drl::test {
namespace {

std::vector<SceneObject> objects_of(const ScenePicture& picture) {
  return {picture.objects, picture.objects + picture.count};
}

// A line, an arrow and a capsule, each 2 m long along x from (1, 2, 3), and a red box.
TEST(Scene, HasTheShapesOfATask) {
  const FilmLibrary library(kFilmLibrary);
  FilmScene scene(library);
  Picture picture;
  Canvas canvas(picture.canvas());
  canvas.look({1, 2, 3}, 4);
  canvas.ground(-1);
  canvas.line({1, 2, 3}, {3, 2, 3}, 5, Canvas::blue);
  canvas.arrow({1, 2, 3}, {3, 2, 3}, 0.1f, Canvas::blue);
  canvas.capsule({1, 2, 3}, {3, 2, 3}, 0.1f, Canvas::blue);
  canvas.box({0, 0, 1}, {0.1f, 0.2f, 0.3f}, 0, Canvas::red);
  const ScenePicture placed = scene.place(picture.view(""), false);
  EXPECT_EQ(placed.velocities, 0);
  EXPECT_FALSE(placed.follows);
  EXPECT_EQ(placed.at[2], 3);
  const std::vector<SceneObject> objects = objects_of(placed);
  ASSERT_EQ(objects.size(), 5u);
  const SceneObject &ground = objects[0], &line = objects[1], &arrow = objects[2], &capsule = objects[3],
                    &box = objects[4];
  EXPECT_EQ(ground.kind, ObjectKind::plane);
  EXPECT_TRUE(ground.is_fixed);
  EXPECT_EQ(ground.second[3], 100);  // squares of 1 m
  EXPECT_EQ(line.kind, ObjectKind::line);
  EXPECT_EQ(arrow.kind, ObjectKind::arrow);
  for (const SceneObject* each : {&line, &arrow}) {  // they begin at the first end
    EXPECT_FLOAT_EQ(each->size[2], 2);
    for (size_t k = 0; k < 3; ++k) EXPECT_FLOAT_EQ(each->pos[k], static_cast<float>(k + 1));
  }
  EXPECT_EQ(capsule.kind, ObjectKind::capsule);
  EXPECT_FLOAT_EQ(capsule.pos[0], 2);   // the middle
  EXPECT_FLOAT_EQ(capsule.size[2], 1);  // half its length
  // The quaternion turns z to x: a quarter turn about y.
  EXPECT_NEAR(std::abs(capsule.quat[0]), std::numbers::sqrt2 / 2, 1e-6);
  EXPECT_NEAR(2 * (capsule.quat[1] * capsule.quat[3] + capsule.quat[0] * capsule.quat[2]), 1, 1e-6);
  EXPECT_EQ(box.kind, ObjectKind::box);
  EXPECT_GT(box.rgba[0], 2 * box.rgba[1]);
  EXPECT_FALSE(box.is_fixed);
}

// A ball that moves anywhere, and a post with a tetrahedron as its mesh.
constexpr const char* kModel = R"(<mujoco><asset>
  <mesh name="roof" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset><worldbody>
  <geom name="floor" type="plane" size="0 0 1"/>
  <geom type="mesh" mesh="roof" pos="-1 0 0"/>
  <body name="ball" pos="0 0 1"><freejoint/><geom type="sphere" size="0.3"/></body>
</worldbody></mujoco>)";
constexpr const char* kSlider = R"(<mujoco><worldbody>
  <body><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/><joint type="hinge" axis="0 1 0"/>
  <geom type="sphere" size="0.3"/></body></worldbody></mujoco>)";

class SceneOfModel : public testing::Test {
 protected:
  ScenePicture place(const char* model, const std::vector<double>& qpos, bool shows_contacts = false) {
    const std::string file = (folder / "model.xml").string();
    std::ofstream(file) << model;
    picture.emplace();
    Canvas(picture->canvas()).model(file.c_str(), qpos.data(), std::ssize(qpos));
    return scene.place(picture->view(""), shows_contacts);
  }

  TempFolder folder;
  FilmLibrary library{kFilmLibrary};
  FilmScene scene{library};
  std::optional<Picture> picture;
};

TEST_F(SceneOfModel, FollowsTheRobot) {
  for (const double x : {0.0, 5.0}) {
    const ScenePicture placed = place(kModel, {x, 0, 1, 1, 0, 0, 0});
    EXPECT_TRUE(placed.follows);
    EXPECT_FLOAT_EQ(placed.at[0], static_cast<float>(x));
    const std::vector<SceneObject> objects = objects_of(placed);
    ASSERT_EQ(objects.size(), 3u);
    EXPECT_TRUE(objects[0].is_fixed && objects[1].is_fixed);
    EXPECT_FALSE(objects[2].is_fixed);
    EXPECT_FLOAT_EQ(objects[2].pos[0], static_cast<float>(x));
    EXPECT_FLOAT_EQ(objects[2].size[0], 0.3f);
  }
}

TEST_F(SceneOfModel, HasItsMeshes) {
  const std::vector<SceneObject> objects = objects_of(place(kModel, {0, 0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(objects[1].kind, ObjectKind::mesh);
  const SceneMesh mesh = scene.mesh(objects[1].mesh);
  EXPECT_EQ(mesh.corner_count, 4 * 3);
  double volume = 0;  // of the tetrahedron, by the divergence theorem: the corners of all faces turn the same way
  for (int64_t k = 0; k < mesh.corner_count; k += 3) {
    const float *a = mesh.points + 6 * mesh.corners[k], *b = mesh.points + 6 * mesh.corners[k + 1],
                *c = mesh.points + 6 * mesh.corners[k + 2];
    volume += static_cast<double>(a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                                  a[2] * (b[0] * c[1] - b[1] * c[0])) /
              6;
  }
  EXPECT_NEAR(volume, 1.0 / 6, 1e-6);
  expect_mentions(error_from<UsageError>([&] { scene.mesh(1); }), {"mesh 1"});
}

TEST_F(SceneOfModel, ShowsContacts) {
  const std::vector<double> above = {5, 0, 1, 1, 0, 0, 0}, touching = {5, 0, 0.29, 1, 0, 0, 0};
  EXPECT_EQ(place(kModel, above, true).count, 3);
  EXPECT_EQ(place(kModel, touching, false).count, 3);
  EXPECT_EQ(place(kModel, touching, true).count, 4);
}

constexpr float kPush[3] = {1, 2, 3};

TEST_F(SceneOfModel, PushesTheRoot) {
  EXPECT_EQ(place(kModel, {0, 0, 1, 1, 0, 0, 0}).velocities, 6);
  std::vector<double> change(6, 10);
  scene.push(kPush, change.data());
  EXPECT_EQ(change, (std::vector<double>{11, 12, 13, 10, 10, 10}));
}

// The root can only move upwards and ahead.
TEST_F(SceneOfModel, PushesTheRootAsFarAsItsJointsAllow) {
  EXPECT_EQ(place(kSlider, {0, 0, 0}).velocities, 3);
  std::vector<double> change(3);
  scene.push(kPush, change.data());
  EXPECT_EQ(change, (std::vector<double>{3, 1, 0}));
}

}  // namespace
}  // namespace drl::test
