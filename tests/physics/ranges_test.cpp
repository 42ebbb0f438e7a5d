// Tests sensors that need no solution, in double and in lanes of float, and rays to shapes.
#include <cmath>
#include <set>

#include "drl/physics/loop.hpp"
#include "drl/physics/shared_heights.hpp"
#include "physics/scout.hpp"
#include "physics/sounder.hpp"
#include "tested_robots.hpp"
#include "two_geoms.hpp"

namespace drl {
namespace {

using physics::ShapeKind;
using namespace test;

// Computes the sensors that need no solution.
template <class P>
void derive(const typename P::Stage& stage, typename P::Derived& derived) {
  physics::derive_frames<P>(stage, derived), physics::derive_centers<P>(stage, derived);
  physics::derive_motion<P>(stage, derived), physics::derive_sensors<P>(stage, derived);
}
// In float, a ray that nearly misses a geom may miss it, and a lane has the same results in a pack and alone.
TEST(Scout, SensesInLanesOfFloat) {
  test::Reference reference(test::tested("scout").file);
  using F = Pack<float, 4>;
  using Alone = scout_robot::Physics<float>;
  using Packs = scout_robot::Physics<F>;
  using P = scout_robot::Physics<double>;
  constexpr int kNumbers = P::kSensorNumbers;
  int apart = 0, compared_numbers = 0;
  for (int k = 0; k < 500; ++k) {
    Packs::Stage packs{};
    Packs::Derived of_packs;
    Alone::Derived of_lanes[4];
    float qpos[P::nq][4], qvel[P::nv][4];
    for (int l = 0; l < 4; ++l) {
      const RobotState from = reference.next_state();
      Alone::Stage stage{};
      for (int i = 0; i < P::nq; ++i) stage.qpos[i] = static_cast<float>(from.qpos[static_cast<size_t>(i)]);
      for (int i = 0; i < P::nv; ++i) stage.qvel[i] = static_cast<float>(from.qvel[static_cast<size_t>(i)]);
      for (int i = 0; i < P::nq; ++i) qpos[i][l] = stage.qpos[i];
      for (int i = 0; i < P::nv; ++i) qvel[i][l] = stage.qvel[i];
      derive<Alone>(stage, of_lanes[l]);
      const mjData& expected = reference.after_forward(from);
      for (int n = 0; n < kNumbers; ++n) {
        if (P::sensor_place(n) >= 0) continue;
        const double error = std::abs(static_cast<double>(of_lanes[l].sensor[n]) - expected.sensordata[n]);
        apart += error > 2e-5 * (1 + std::abs(expected.sensordata[n])), compared_numbers += 1;
      }
    }
    for (int i = 0; i < P::nq; ++i) packs.qpos[i] = load<F>(qpos[i]);
    for (int i = 0; i < P::nv; ++i) packs.qvel[i] = load<F>(qvel[i]);
    derive<Packs>(packs, of_packs);
    for (int n = 0; n < kNumbers; ++n)
      for (int l = 0; l < 4 && P::sensor_place(n) < 0; ++l)
        ASSERT_EQ(lane(of_packs.sensor[n], l), of_lanes[l].sensor[n]) << "sensor " << n;
  }
  EXPECT_LE(apart, compared_numbers / 1000);
}

// Rays from random places, inside and outside, also along the shapes' axes, and what libmujoco's rays meet. Touch
// sensors only ask whether a ray meets their volume.
TEST(ShapeRays, MeetWhatLibmujocosDo) {
  test::Draws draw(3);
  for (int kind = mjGEOM_PLANE; kind <= mjGEOM_BOX; ++kind) {
    if (kind == mjGEOM_HFIELD) continue;
    int hits = 0;
    for (int n = 0; n < 5000; ++n) {
      const double size[3] = {draw(0.1, 0.5), draw(0.1, 0.5), draw(0.1, 0.5)};
      const physics::Vec3 from{draw(-0.6, 0.6), draw(-0.6, 0.6), draw(-0.6, 0.6)};
      physics::Vec3 along = draw.direction();
      if (n % 3 == 0) {
        const double sign = n % 2 == 0 ? 1 : -1;
        along = {0, 0, 0}, along[n / 6 % 3] = sign;
      }
      const double low[3] = {-size[0], -size[1], -size[2]};
      const double x = kind == mjGEOM_PLANE       ? physics::ray_to_plane(size, from.at, along.at)
                       : kind == mjGEOM_SPHERE    ? physics::ray_to_sphere(size[0], from.at, along.at)
                       : kind == mjGEOM_CAPSULE   ? physics::ray_to_capsule(size[0], size[1], from.at, along.at)
                       : kind == mjGEOM_ELLIPSOID ? physics::ray_to_ellipsoid(size, from.at, along.at)
                       : kind == mjGEOM_CYLINDER  ? physics::ray_to_cylinder(size[0], size[1], from.at, along.at)
                                                  : physics::ray_to_box(low, size, from.at, along.at);
      const double origin[3] = {0, 0, 0}, axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
      const double expected = mju_rayGeom(origin, axes, size, from.at, along.at, kind, nullptr);
      ASSERT_NEAR(x, expected, 1e-9) << "kind " << kind << ", ray " << n;
      if (kind != mjGEOM_PLANE) {
        const auto volume = static_cast<ShapeKind>(kind - mjGEOM_SPHERE + static_cast<int>(ShapeKind::sphere));
        ASSERT_EQ(physics::ray_meets(volume, size, from.at, along.at), expected >= 0) << kind << ", ray " << n;
      }
      hits += expected >= 0;
    }
    EXPECT_GT(hits, kind == mjGEOM_PLANE ? 100 : 500);
    EXPECT_LT(hits, 4500);
  }
}

TEST(Sounder, MeasuresItsHeightAboveHeightFields) {
  using P = sounder_robot::Physics<double>;
  test::Reference reference("tests/physics/models/sounder.xml");
  load_heights<P>(reference.model());
  P::Stage stage{};
  physics::begin_parameters<P>(stage);
  std::set<double> shown;
  for (int k = 0; k < 2000; ++k) {
    const RobotState from = reference.next_state();
    const mjData& expected = reference.after_forward(from);
    P::State state{};
    std::ranges::copy(from.qpos, state.qpos), std::ranges::copy(from.qvel, state.qvel);
    physics::begin_stage<P>(state, from.ctrl.data(), stage);
    P::Derived derived;
    derive<P>(stage, derived);
    for (int s = 0; s < 2; ++s) ASSERT_NEAR(derived.sensor[s], expected.sensordata[s], 1e-9) << "state " << k;
    shown.insert(derived.sensor[k % 2]);
  }
  EXPECT_GE(shown.size(), 500u);
}

}  // namespace
}  // namespace drl
