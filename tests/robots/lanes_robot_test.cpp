// Compares tasks of one robot in lanes with libmujoco. CMakeLists.txt compiles this file once for each robot that
// tools/fetch_robots has downloaded, with the macros DRL_LANES_...: the task, the headers of its physics and its
// definition, optionally another task of the robot, and the velocity task's configuration with the robot's mass.
#include DRL_LANES_PHYSICS
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include DRL_LANES_HEADER
#ifdef DRL_LANES_OTHER
#include DRL_LANES_OTHER_HEADER
#endif

namespace drl {
namespace {

// On rough ground, episodes are on ground of all kinds. Robots soon lie on their trunks, which are boxes; their
// contacts with a height field are iterated (drl/physics/epa.hpp).
template <template <class> class Task>
void expect_agreement() {
  typename Pair<Task>::Params params{};
  typename Pair<Task>::Lanes::Params lanes_params{};
  if constexpr (HasTerrain<typename Pair<Task>::Params>) {
    static_assert(std::string_view(kTerrainNames[kTerrains - 1]) == "all");
    const auto choose_all = [](auto& terrain) {
      terrain.terrain = kTerrains - 1, terrain.rows = 4, terrain.level_max = 3;
      terrain.curriculum = false;  // another patch in each episode
    };
    choose_all(params.terrain), choose_all(lanes_params.terrain);
    tolerance = 1e-6;
  }
  const std::string file = find_model(Pair<Task>::Reference::model, nullptr);
  if constexpr (requires { params.prepare(file); }) params.prepare(file);  // reads the motions, for both
  expect_equal_steps<Task>(Pair<Task>(params, lanes_params));
}

// Returns the height of a geom's lowest point in m. The geom is a sphere, a capsule or a box.
[[maybe_unused]] double lowest_point(const mjModel& m, const mjData& data, int geom) {
  const double* size = m.geom_size + 3 * geom;
  const double* up = data.geom_xmat + 9 * geom + 6;  // the world's z axis in the geom's frame
  double below = size[0];
  if (m.geom_type[geom] == mjGEOM_CAPSULE) below += size[1] * std::abs(up[2]);
  if (m.geom_type[geom] == mjGEOM_BOX) {
    below = 0;
    for (int k = 0; k < 3; ++k) below += size[k] * std::abs(up[k]);
  }
  return data.geom_xpos[3 * geom + 2] - below;
}

// Checks that a velocity task's header and its model have the same motors, and that the robot starts on its feet.
template <class Config>
void expect_header_agrees_with_model(double kg) {
  const auto model = load_model(find_model(Config::model, nullptr));
  const mjModel& m = *model;
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(&m), mj_deleteData);
  ASSERT_EQ(m.nu, std::size(Config::joints));
  data->qpos[2] = Config::height;
  for (int k = 0; k < m.nu; ++k) {
    const velocity::Joint& joint = Config::joints[k];
    const int id = m.actuator_trnid[2 * k];
    EXPECT_STREQ(mj_id2name(&m, mjOBJ_JOINT, id), joint.name) << "the controls are in the order of the joints";
    EXPECT_EQ(m.actuator_gainprm[mjNGAIN * k], joint.motor.stiffness) << joint.name;
    EXPECT_EQ(m.actuator_biasprm[mjNBIAS * k + 1], -joint.motor.stiffness) << joint.name;
    EXPECT_EQ(m.actuator_biasprm[mjNBIAS * k + 2], -joint.motor.damping) << joint.name;
    EXPECT_EQ(m.actuator_forcerange[2 * k], -joint.motor.torque) << joint.name;
    EXPECT_EQ(m.actuator_forcerange[2 * k + 1], joint.motor.torque) << joint.name;
    EXPECT_GT(joint.angle, m.jnt_range[2 * id]) << joint.name;
    EXPECT_LT(joint.angle, m.jnt_range[2 * id + 1]) << joint.name;
    data->qpos[m.jnt_qposadr[id]] = joint.angle;
  }
  EXPECT_NEAR(mj_getTotalmass(&m), kg, 0.05 * kg);

  // Episodes start with the root 1 to 5 cm higher. In this posture, all feet are at the floor.
  mj_kinematics(&m, data.get());
  for (const velocity::Foot& foot : Config::feet) {
    const int site = mj_name2id(&m, mjOBJ_SITE, foot.site), body = mj_name2id(&m, mjOBJ_BODY, foot.body);
    ASSERT_GE(std::min(site, body), 0) << foot.site;
    EXPECT_EQ(m.site_bodyid[site], body);
  }
  for (const char* name : Config::foot_geoms) {
    const int geom = mj_name2id(&m, mjOBJ_GEOM, name);
    ASSERT_GE(geom, 0) << name;
    EXPECT_NEAR(lowest_point(m, *data, geom), 0, 0.04) << name;
  }
}

TEST(InLanes, DRL_LANES_TASK) { expect_agreement<DRL_LANES_TASK>(); }
#ifdef DRL_LANES_OTHER
TEST(InLanes, DRL_LANES_OTHER) { expect_agreement<DRL_LANES_OTHER>(); }
#endif
#ifdef DRL_LANES_CONFIG
TEST(HeaderAgreesWithModel, DRL_LANES_CONFIG) { expect_header_agrees_with_model<DRL_LANES_CONFIG>(DRL_LANES_KG); }
#endif

}  // namespace
}  // namespace drl
