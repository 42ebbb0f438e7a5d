// Tests range finders, and sensors of limits, energies, sites' volumes and the time.
#include <algorithm>
#include <cmath>
#include <set>

#include "drl/physics/loop.hpp"
#include "exact.hpp"
#include "physics/scout.hpp"
#include "physics/scout_rk4.hpp"
#include "physics/sounder.hpp"
#include "two_geoms.hpp"

namespace drl {
namespace {

using physics::ShapeKind;
using test::Draws;

template <>
struct Files<scout_robot> {
  static constexpr const char* file = "tests/physics/models/scout.xml";
};
template <>
struct Files<scout_rk4_robot> {
  static constexpr const char* file = "tests/physics/models/scout_rk4.xml";
};
using ScoutRobots = testing::Types<scout_robot, scout_rk4_robot>;
INSTANTIATE_TYPED_TEST_SUITE_P(Ranges, Exact, ScoutRobots);

// Counts what sensors show in random motion, so that the comparisons above include it: each range finder and each
// limit shows something and nothing, each volume holds its object and does not, sensors of distances have geoms within
// their cutoffs, and all visible geoms are met.
using Scout = Exact<scout_robot>;
TEST_F(Scout, SeesWhatItsSensorsCanShow) {
  const mjModel& m = reference.model();
  constexpr int kTransparent = 3;  // geoms
  std::vector<int> shown(static_cast<size_t>(m.nsensor)), hidden = shown;
  std::set<int> met;
  for (int k = 0; k < 3000; ++k) {
    const mjData& d = reference.after_forward(k % 3 == 0 ? reference.folded_state() : reference.next_state());
    for (int s = 0; s < m.nsensor; ++s) {
      const double* values = d.sensordata + m.sensor_adr[s];
      const int type = m.sensor_type[s], site = m.sensor_objid[s];
      bool is_shown = std::any_of(values, values + m.sensor_dim[s], [](double x) { return x != 0; });
      if (type == mjSENS_RANGEFINDER) is_shown = values[0] >= 0;
      if (type == mjSENS_GEOMDIST) is_shown = values[0] < m.sensor_cutoff[s];
      shown[static_cast<size_t>(s)] += is_shown, hidden[static_cast<size_t>(s)] += !is_shown;
      if (type != mjSENS_RANGEFINDER) continue;
      const mjtNum* turn = d.site_xmat + 9 * site;
      const double along[] = {turn[2], turn[5], turn[8]};
      int geom;
      mj_ray(&m, &d, d.site_xpos + 3 * site, along, nullptr, 1, m.site_bodyid[site], &geom, nullptr);
      if (geom >= 0) met.insert(geom);
    }
  }
  for (int s = 0; s < m.nsensor; ++s) {
    const int type = m.sensor_type[s];
    const std::string name = mj_id2name(&m, mjOBJ_SENSOR, s);
    const bool is_never = type == mjSENS_CLOCK || name == "floor_roof";  // two planes; the time is 0
    const bool is_of_world = type == mjSENS_RANGEFINDER && m.body_weldid[m.site_bodyid[m.sensor_objid[s]]] == 0;
    const bool is_always = is_of_world || type == mjSENS_E_POTENTIAL || type == mjSENS_E_KINETIC ||
                           type == mjSENS_GYRO || (type >= mjSENS_GEOMDIST && type <= mjSENS_GEOMFROMTO);
    EXPECT_GE(shown[static_cast<size_t>(s)], is_never ? 0 : 10) << name;
    EXPECT_GE(hidden[static_cast<size_t>(s)], is_always ? 0 : 10) << name;
  }
  EXPECT_EQ(met.size(), static_cast<size_t>(m.ngeom) - kTransparent);
}

// The time is that of the beginning of a step, also where the stages of a step have times of their own.
template <class Robot>
void expect_time() {
  Compared<typename Robot::template Physics<double>> compared(Files<Robot>::file);
  const mjModel& m = compared.reference.model();
  const std::unique_ptr<mjData, test::DeleteData> data(mj_makeData(&m));
  compared.set(compared.reference.state_of(*data));
  const int number = m.sensor_adr[mj_name2id(&m, mjOBJ_SENSOR, "time")];
  for (int t = 0; t < 5; ++t) {
    mj_step(&m, data.get());
    physics::step<typename Robot::template Physics<double>>(compared.state, compared.ctrl, compared.stage);
    EXPECT_NEAR(compared.sensor(number), data->sensordata[number], 1e-15);
    EXPECT_NEAR(compared.sensor(number), 0.002 * t, 1e-15);
  }
}
TEST(Time, IsThatOfTheBeginningOfAStep) { expect_time<scout_robot>(); }
TEST(Time, IsThatOfTheBeginningOfARungeKuttaStep) { expect_time<scout_rk4_robot>(); }

// Computes the sensors that need no solution.
template <class P>
void derive(const typename P::Stage& stage, typename P::Derived& derived) {
  physics::derive_frames<P>(stage, derived), physics::derive_centers<P>(stage, derived);
  physics::derive_motion<P>(stage, derived), physics::derive_sensors<P>(stage, derived);
}
// In float, a ray that nearly misses a geom may miss it, and a lane has the same results in a pack and alone.
TEST_F(Scout, SensesInLanesOfFloat) {
  using F = Pack<float, 4>;
  using Alone = scout_robot::Physics<float>;
  using Packs = scout_robot::Physics<F>;
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

// Rays from random places, inside and outside, also along the shapes' axes, and what libmujoco's rays meet.
TEST(ShapeRays, MeetWhatLibmujocosDo) {
  Draws draw(3);
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
      hits += expected >= 0;
    }
    EXPECT_GT(hits, kind == mjGEOM_PLANE ? 100 : 500);
    EXPECT_LT(hits, 4500);
  }
}

TEST(Sounder, MeasuresItsHeightAboveHeightFields) {
  using P = sounder_robot::Physics<double>;
  Compared<P> compared("tests/physics/models/sounder.xml");
  std::set<double> shown;
  for (int k = 0; k < 2000; ++k) {
    const RobotState from = compared.reference.next_state();
    const mjData& expected = compared.reference.after_forward(from);
    compared.set(from);
    physics::begin_stage<P>(compared.state, compared.ctrl, compared.stage);
    P::Derived derived;
    derive<P>(compared.stage, derived);
    for (int s = 0; s < 2; ++s) ASSERT_NEAR(derived.sensor[s], expected.sensordata[s], 1e-9) << "state " << k;
    shown.insert(derived.sensor[k % 2]);
  }
  EXPECT_GE(shown.size(), 500u);
}

}  // namespace
}  // namespace drl
