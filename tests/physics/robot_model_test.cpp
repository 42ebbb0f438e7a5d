#include "physics/robot_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "drl/physics/height_fields.hpp"
#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "physics/float_error.hpp"
#include "physics/stiffness.hpp"

namespace drl::robot_compiler {
namespace {

RobotModel read(const std::string& inside, bool randomised = false, int places = 0) {
  const TempFolder folder;
  spill(folder / "robot.xml", "<mujoco>" + inside + "</mujoco>");
  return read_robot_model((folder / "robot.xml").string(), places, randomised);
}

// Reads a model that drl_robot can compile.
RobotModel supported(const std::string& inside) {
  RobotModel model = read(inside);
  EXPECT_TRUE(model.unsupported.empty()) << testing::PrintToString(unsupported_lines(model));
  return model;
}

TEST(MujocoModel, RefusesAnotherVersionThanThatOfTheBuild) {
  try {
    require_mujoco_version(2'003'004);
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    expect_mentions(error.what(), {"2.3.4", version_text(mjVERSION_HEADER)});
  }
}

// A ball of 1 kg with another of 3 kg welded to it 0.4 m away is one body, with its centre 0.3 m away.
TEST(RobotModel, WeldedBodiesAreOne) {
  const RobotModel model = supported(
      "<worldbody><body name='one'><freejoint/><geom type='sphere' size='0.1' mass='1'/>"
      "<body name='two' pos='0.4 0 0'><geom type='sphere' size='0.1' mass='3'/></body></body></worldbody>");
  ASSERT_EQ(model.bodies.size(), 1u);
  ASSERT_EQ(model.frames.size(), 3u);
  EXPECT_NEAR(model.bodies[0].mass, 4, 1e-15);
  EXPECT_NEAR(model.bodies[0].center[0], 0.3, 1e-15);
  const double spheres = 4 * 0.4 * 0.01, apart = 1 * 0.09 + 3 * 0.01;  // 2/5 m r^2, and m d^2
  EXPECT_NEAR(model.bodies[0].inertia[0], spheres, 1e-15);
  EXPECT_NEAR(model.bodies[0].inertia[1], spheres + apart, 1e-15);
  EXPECT_EQ(model.frames[2].body, 0);
  EXPECT_EQ(model.frames[2].pos[0], 0.4);
}

TEST(RobotModel, BothEndsOfACapsuleTouchTheFloor) {
  const RobotModel model = read(
      "<worldbody><geom type='plane' size='1 1 1' pos='0 0 -2' margin='0.01'/><body><freejoint/>"
      "<geom name='leg' type='capsule' fromto='0 0 0 0 0 -0.5' size='0.05' friction='0.7' "
      "margin='0.02'/></body></worldbody>");
  ASSERT_EQ(model.contacts.size(), 2u);
  EXPECT_EQ(model.contacts[0].radius, 0.05);
  EXPECT_EQ(model.contacts[0].height, -2);
  EXPECT_EQ(model.contacts[0].margin, 0.03);
  EXPECT_EQ(model.contacts[0].friction, 1);  // the larger one; MuJoCo's default is 1
  EXPECT_NEAR(std::min(model.contacts[0].center[2], model.contacts[1].center[2]), -0.5, 1e-15);
}

using Names = std::set<std::set<std::string>>;

// Returns the pairs of geoms that libmujoco checks: those in contact if margins are larger than the robot.
Names pairs_in_libmujoco(const std::string& file) {
  const auto model = load_model(file);
  std::fill_n(model->geom_margin, model->ngeom, 100), std::fill_n(model->body_margin, model->nbody, 100);
  std::fill_n(model->pair_margin, model->npair, 100);
  const std::unique_ptr<mjData, decltype(&mj_deleteData)> data(mj_makeData(model.get()), mj_deleteData);
  mj_forward(model.get(), data.get());
  Names names;
  for (int c = 0; c < data->ncon; ++c) {
    const int *geom = data->contact[c].geom, plane = mjGEOM_PLANE;
    if (model->geom_type[geom[0]] == plane || model->geom_type[geom[1]] == plane) continue;
    names.insert({mj_id2name(model.get(), mjOBJ_GEOM, geom[0]), mj_id2name(model.get(), mjOBJ_GEOM, geom[1])});
  }
  return names;
}

TEST(RobotModel, PairsMatchLibmujoco) {
  const std::string tests = DRL_TEST_DATA, models = tests + "/../src/robots/models/";
  for (const std::string& file :
       {models + "walker2d.xml", models + "hopper.xml", models + "humanoid.xml", models + "humanoid_standup.xml",
        tests + "/physics/models/tangle.xml", tests + "/physics/models/crawler.xml"}) {
    const RobotModel model = read_robot_model(file);
    EXPECT_TRUE(model.unsupported.empty()) << testing::PrintToString(unsupported_lines(model));
    Names names;
    for (const GeomPair& pair : model.pairs)
      names.insert({model.pair_geoms[static_cast<size_t>(pair.first)].name,
                    model.pair_geoms[static_cast<size_t>(pair.second)].name});
    EXPECT_EQ(names.size(), model.pairs.size()) << file;
    EXPECT_EQ(names, pairs_in_libmujoco(file)) << file;
  }
}

// Each of four equal edges is regularised four times as much as one row, whose weight is the inverse mass 1 / 2 kg of a
// free body. Together, the edges are as soft as one row.
TEST(RobotModel, EdgesWithoutFrictionAreTogetherAsSoftAsOneRow) {
  const RobotModel model = read(
      "<default><geom condim='1'/></default><worldbody><geom type='plane' size='1 1 1'/><body><freejoint/>"
      "<geom type='sphere' size='0.1' mass='2'/></body></worldbody>");
  ASSERT_EQ(model.contacts.size(), 1u);
  EXPECT_EQ(model.contacts[0].friction, 0);
  EXPECT_NEAR(model.contacts[0].weight, 4 * 0.5, 1e-12);
}

// Another contact has friction that an environment may change. The one without friction keeps having none.
TEST(RobotModel, FrictionVariesOnlyInContactsThatHaveIt) {
  const RobotModel model = read(
      "<worldbody><geom type='plane' size='1 1 1' condim='1'/><body><freejoint/><geom size='0.1' condim='1'/></body>"
      "<body><freejoint/><geom size='0.1' condim='3'/></body></worldbody>",
      true);
  ASSERT_EQ(model.contacts.size(), 2u);
  EXPECT_TRUE(model.contacts[0].cone.varies.empty());
  EXPECT_EQ(model.contacts[1].cone.varies.size(), 2u);  // the floor's and the ball's
}

// An elliptic cone without friction is one row, whose R is (1 - d) / d times the inverse mass 1 / 2 kg.
TEST(RobotModel, ConeWithoutFrictionIsOneRow) {
  const RobotModel model = read(
      "<option cone='elliptic'/><default><geom condim='1'/></default><worldbody><geom type='plane' size='1 1 1'/><body>"
      "<freejoint/><geom type='sphere' size='0.1' mass='2'/></body></worldbody>");
  ASSERT_EQ(model.contacts.size(), 1u);
  EXPECT_EQ(model.contacts[0].cone.dimensions, 1);
  EXPECT_NEAR(model.contacts[0].weight, 0.5, 1e-12);
}

constexpr char kBall[] = "<body><freejoint/><geom name='ball' type='sphere' size='0.1' solref='0.02 -1'/></body>";

// If the two numbers of solref have different signs, MuJoCo uses its default: the time constant t = 0.02 s and critical
// damping. Then k = 1 / (d t)^2 and b = 2 / (d t), where d is the largest impedance, 0.95.
TEST(RobotModel, SolrefOfMixedSignsIsReplacedByTheDefault) {
  const RobotModel model =
      read("<worldbody><geom type='plane' size='1 1 1' solref='0.02 -1'/>" + std::string(kBall) + "</worldbody>");
  ASSERT_EQ(model.contacts.size(), 1u);
  EXPECT_NEAR(model.contacts[0].softness.stiffness, 1 / (0.95 * 0.02 * 0.95 * 0.02), 1e-9);
  EXPECT_NEAR(model.contacts[0].softness.damping, 2 / (0.95 * 0.02), 1e-12);
}

// If solref is negative, it is -stiffness and -damping. For equal priorities, MuJoCo then takes the minimum of both
// geoms' solref, and so the larger stiffness and damping, whatever solmix is.
TEST(RobotModel, TheLargerOfTwoDirectStiffnessesIsUsed) {
  const RobotModel model = read(
      "<worldbody><geom type='plane' size='1 1 1' solmix='0' solref='-5000 -100'/><body><freejoint/>"
      "<geom type='sphere' size='0.1' solmix='1' solref='-500 -10'/></body></worldbody>");
  ASSERT_EQ(model.contacts.size(), 1u);
  EXPECT_NEAR(model.contacts[0].softness.stiffness, 5000 / (0.95 * 0.95), 1e-9);
  EXPECT_NEAR(model.contacts[0].softness.damping, 100 / 0.95, 1e-9);
}

// A ball of 1 mm in diameter has 2/5 m r^2 on the diagonal and zeros elsewhere.
TEST(RobotModel, InertiaOfASmallBallIsKept) {
  const RobotModel model =
      read("<worldbody><body><freejoint/><geom type='sphere' size='0.0005' mass='5e-7'/></body></worldbody>");
  ASSERT_EQ(model.frames.size(), 2u);
  for (size_t k = 0; k < 6; ++k) EXPECT_NEAR(model.frames[1].inertia[k], k < 3 ? 5e-14 : 0, 1e-25);
}

TEST(RobotModel, InfiniteNumbersAreReported) {
  const std::string begin = "<worldbody><body><joint name='hinge' ", end = "/><geom size='0.1'/></body></worldbody>";
  EXPECT_TRUE(read(begin + end).unsupported.empty());
  for (const char* attribute : {"damping='inf'", "stiffness='inf'"}) {
    const std::vector<std::string> unsupported = unsupported_lines(read(begin + attribute + end));
    ASSERT_EQ(unsupported.size(), 1u) << attribute;
    expect_mentions(unsupported[0], {"joint 'hinge': ", "not finite"});
  }
}

// Geoms that do not move need no contacts with each other.
TEST(RobotModel, StaticGeomsMakeNoPairs) {
  const RobotModel model = supported(
      "<worldbody><geom name='floor' type='plane' size='1 1 1'/><geom name='post' size='0.1'/><body name='wall' pos='0 "
      "0 1'>"
      "<geom name='wall' size='0.2'/></body><body><freejoint/><geom size='0.1' contype='0' conaffinity='0'/></body>"
      "</worldbody><contact><pair geom1='floor' geom2='wall'/><pair geom1='post' geom2='wall'/></contact>");
  EXPECT_TRUE(model.contacts.empty());
  EXPECT_TRUE(model.pairs.empty());
}

// For two free balls of 1 and 4 kg with friction 0.5, the weight is (1 + 1/4) 2 mu^2 (1 + mu^2).
TEST(RobotModel, WeightOfAPairCombinesBothBodies) {
  const RobotModel model = read(
      "<default><geom friction='0.5'/></default><worldbody><body><freejoint/><geom size='0.1' mass='1' margin='0.01'/>"
      "</body><body pos='1 0 0'><freejoint/><geom size='0.2' mass='4' margin='0.02'/></body></worldbody>");
  ASSERT_EQ(model.pairs.size(), 1u);
  EXPECT_EQ(model.pairs[0].edges, 4);
  EXPECT_EQ(model.pairs[0].margin, 0.03);
  EXPECT_NEAR(model.pairs[0].weight, 1.25 * 2 * 0.25 * 1.25, 1e-12);
}

// No force moves the centre of mass of a knob on its axis. Since 3.7, MuJoCo's regularisation of its contacts with the
// world is the least one.
TEST(RobotModel, ContactsOfAKnobAreRigid) {
  const RobotModel model = supported(
      "<worldbody><geom type='box' size='0.1 0.1 0.1' pos='0.9 0.19 0'/><body><joint axis='0 0 1'/>"
      "<geom type='box' size='1 0.1 0.1' mass='1'/></body></worldbody>");
  ASSERT_EQ(model.pairs.size(), 1u);
  EXPECT_GT(model.pairs[0].weight, 0);
  EXPECT_LT(model.pairs[0].weight, mujoco::kInertiasAreNotZero ? 10 : 1e-9);
  EXPECT_EQ(is_stiff(model), !mujoco::kInertiasAreNotZero);
}

// A ball has the inertia of a box with sides 2 sqrt(3/5) r: 2/5 r^2 = (a^2 + a^2) / 12. Static bodies need no box.
TEST(RobotModel, FluidBoxesHaveTheInertiaOfTheirBodies) {
  const RobotModel model = supported(
      "<option viscosity='0.1' wind='1 2 3'/><worldbody><body><geom size='0.1'/><body name='ball' pos='1 0 0'>"
      "<joint/><geom size='0.5'/></body></body></worldbody>");
  ASSERT_EQ(model.fluid_boxes.size(), 1u);
  EXPECT_EQ(model.fluid_boxes[0].name, "ball");
  for (const double half : model.fluid_boxes[0].half) EXPECT_NEAR(half, std::sqrt(0.6) * 0.5, 1e-15);
  EXPECT_EQ(model.wind, (Numbers3{1, 2, 3}));
  EXPECT_TRUE(read("<option wind='1 2 3'/>"
                   "<worldbody><body><freejoint/><geom size='0.1'/></body></worldbody>")
                  .fluid_boxes.empty());
}

// The weight of a cone is not scaled for edges: it is the inverse weight of 2 kg plus that of the floor, which is 0.
// Each friction coefficient is the larger one of both geoms, or that of the geom with the higher priority. Coefficients
// that vary are not part of `fixed`.
TEST(RobotModel, ConesHaveTheFrictionOfTheirGeoms) {
  const std::string text =
      "<option cone='elliptic' impratio='10'/><custom><text name='varies' data='friction ball center_of_mass body'/>"
      "</custom><worldbody><geom type='plane' size='1 1 1' friction='0.7 0.02 0.001'/><body name='body'><freejoint/>"
      "<inertial pos='0 0 0.1' mass='2' diaginertia='1 1 1'/><geom name='ball' size='0.1' friction='0.9 0.01 0.003' "
      "condim='6'/>"
      "<geom type='box' size='1 2 3' friction='0.9 0.01 0.003' condim='3'/></body></worldbody>";
  const RobotModel model = supported(text);
  EXPECT_EQ(model.impratio, 10);
  ASSERT_EQ(model.parameters.size(), 2u);
  EXPECT_EQ(model.parameters[0].start, (Numbers3{0.9, 0.01, 0.003}));
  EXPECT_EQ(model.parameters[1].index, 1);
  ASSERT_EQ(model.contacts.size(), 9u);
  const FloorContact &ball = model.contacts[0], &corner = model.contacts[4];
  EXPECT_NEAR(ball.weight, 0.5, 1e-12);
  EXPECT_EQ(ball.cone.dimensions, 6);
  EXPECT_EQ(ball.cone.fixed, (Numbers3{0.7, 0.02, 0.001}));
  EXPECT_EQ(ball.cone.varies, std::vector<int>{0});
  EXPECT_EQ(corner.cone.dimensions, 3);
  EXPECT_EQ(corner.cone.fixed, (Numbers3{0.9, 0.02, 0.003}));
  EXPECT_TRUE(corner.cone.varies.empty());
  EXPECT_EQ(corner.radius, 0);
  EXPECT_EQ(corner.center, (Numbers3{1, 2, -3}));  // the fourth of eight corners; x changes fastest
  std::string first = text;
  first.replace(first.find("condim='6'"), 10, "condim='6' priority='1'");
  EXPECT_EQ(read(first).contacts[0].cone.fixed, (Numbers3{1e-5, 1e-5, 1e-5}));  // MuJoCo's minimum
}

// A slide of 2 kg has R = (1 - 0.9) / 0.9 of its inverse weight 1/2, and a damping of 2 / (0.95 0.02 s), by MuJoCo's
// defaults. A free joint has dry friction in all six degrees of freedom.
TEST(RobotModel, DryFrictionIsReadForEachDegreeOfFreedom) {
  const RobotModel model = supported(
      "<worldbody><body><joint type='slide' frictionloss='3'/><geom size='0.1' mass='2'/></body><body pos='1 0 0'>"
      "<joint type='free' frictionloss='0.5' solimpfriction='0.5 0.8 0.01' solreffriction='-100 -40'/>"
      "<geom size='0.1' mass='4'/></body></worldbody>");
  ASSERT_EQ(model.dofs.size(), 7u);
  ASSERT_TRUE(model.dofs[0].friction);
  EXPECT_EQ(model.dofs[0].friction->most, 3);
  EXPECT_NEAR(model.dofs[0].friction->weight, 18, 1e-12);
  EXPECT_NEAR(model.dofs[0].friction->damping, 2 / (0.95 * 0.02), 1e-12);
  const double moment = 0.4 * 4 * 0.01;  // of inertia of the ball
  for (size_t k = 1; k < 7; ++k) {
    ASSERT_TRUE(model.dofs[k].friction);
    EXPECT_EQ(model.dofs[k].friction->most, 0.5);
    EXPECT_NEAR(model.dofs[k].friction->weight, k < 4 ? 4 : moment, 1e-12);
    EXPECT_NEAR(model.dofs[k].friction->damping, 50, 1e-12);
  }
}

// The contacts that a sensor chooses by geom, body or subtree, on either side. MuJoCo turns a contact around if its
// first geom is on the sensor's second side.
TEST(RobotModel, ContactSensorsChooseContactsByGeomBodyAndSubtree) {
  const RobotModel model = read(
      "<worldbody><geom name='floor' type='plane' size='1 1 1'/><body name='leg'><freejoint/><geom name='leg' "
      "size='0.1'/><body name='foot'><joint/><geom name='foot' size='0.1'/></body></body><body name='ball'><freejoint/>"
      "<geom name='ball' size='0.1'/></body></worldbody>"
      "<sensor><contact name='geom' geom1='foot' geom2='floor' data='found force' reduce='netforce'/>"
      "<contact name='body' body1='leg' data='found'/>"
      "<contact name='subtree' subtree2='leg' data='force dist' reduce='mindist'/>"
      "<contact name='again' geom1='foot' geom2='floor' data='normal tangent' reduce='maxforce'/>"
      "<contact name='itself' subtree1='leg' subtree2='leg'/></sensor>");
  ASSERT_TRUE(model.lacking_sensors.empty()) << model.lacking_sensors[0].name << model.lacking_sensors[0].why;
  const std::vector<int> sizes{4, 1, 4, 6, 1};
  for (size_t k = 0; k < sizes.size(); ++k) EXPECT_EQ(model.sensors[k].size, sizes[k]) << model.sensors[k].name;
  ASSERT_EQ(model.contacts.size(), 3u);  // leg, foot, ball; the plane is MuJoCo's first geom
  EXPECT_EQ(model.contacts[0].sensed.sensors, 0b00110u);
  EXPECT_EQ(model.contacts[0].sensed.turned, 0b00010u);
  EXPECT_EQ(model.contacts[1].sensed.sensors, 0b01101u);
  EXPECT_EQ(model.contacts[1].sensed.turned, 0b01001u);
  EXPECT_EQ(model.contacts[2].sensed.sensors, 0u);
  ASSERT_EQ(model.pairs.size(), 2u);  // leg and ball, foot and ball; parent and child do not touch
  EXPECT_EQ(model.pairs[0].sensed.sensors, 0b00110u);
  EXPECT_EQ(model.pairs[0].sensed.turned, 0b00100u);
  EXPECT_EQ(model.pairs[1].sensed.sensors, 0b00100u);
}

// MuJoCo lists contacts by pairs of bodies; explicit pairs come first. The capsule and the spheres are of body 1.
TEST(RobotModel, ContactSensorsKnowMujocosOrderOfContacts) {
  const RobotModel model = read(
      "<worldbody><body name='one'><freejoint/><geom name='a' type='capsule' size='0.1 0.1'/><geom name='b' "
      "size='0.1'/>"
      "</body><body name='two'><freejoint/><geom name='c' size='0.1'/></body><body name='three'><freejoint/>"
      "<geom name='d' size='0.1'/></body></worldbody><contact><pair geom1='c' geom2='b'/></contact>"
      "<sensor><contact name='any'/></sensor>");
  std::map<std::string, int> order;
  for (const GeomPair& pair : model.pairs)
    order[model.pair_geoms[static_cast<size_t>(pair.first)].name +
          model.pair_geoms[static_cast<size_t>(pair.second)].name] = pair.sensed.order;
  // Bodies 1 and 2: the explicit pair, whose geoms MuJoCo sorts by body, then the others by MuJoCo's first geom, which
  // is the sphere. Then 1 and 3.
  EXPECT_EQ(order, (std::map<std::string, int>{{"bc", 0}, {"ca", 1}, {"bd", 2}, {"da", 3}, {"cd", 4}}));
}

// A sensor that lanes do not compute is no reason to refuse a model: only tasks that use it cannot run in lanes.
TEST(RobotModel, SensorsThatAreNotComputedAreListedWithTheReason) {
  const RobotModel model = supported(
      "<option cone='elliptic'/><worldbody><geom name='floor' type='plane' size='1 1 1'/><geom name='post' size='0.1' "
      "contype='0' conaffinity='0'/><site name='mark'/><body name='body'><joint name='hip'/><geom name='ball' "
      "size='0.1' margin='0.2' gap='0.1'/><geom name='rod' type='capsule' size='0.1 "
      "0.1'/><geom name='ghost' size='0.1' contype='0' "
      "conaffinity='0'/><site name='imu'/><camera name='eye' resolution='3 2'/></body></worldbody>"
      "<sensor><rangefinder name='image' camera='eye'/><rangefinder name='normal' site='imu' data='dist normal'/>"
      "<gyro name='turning' site='imu'/><gyro name='late' site='imu' delay='0.02' "
      "nsample='4'/><gyro name='bounded' site='imu' cutoff='1'/><gyro name='fixed' site='mark'/>"
      "<contact name='feel' geom1='ball' geom2='floor' data='found force' reduce='netforce'/>"
      "<contact name='never' geom1='ghost' geom2='floor' data='found force' reduce='netforce'/>"
      "<contact name='place' geom1='ball' data='pos'/><contact name='both' geom1='ball' num='2'/>"
      "<contact name='near' site='imu'/><contact name='rod' "
      "geom1='rod' data='force'/></sensor>");
  std::vector<std::string> computed;
  for (const Sensor& sensor : model.sensors) computed.push_back(sensor.name);
  EXPECT_EQ(computed, (std::vector<std::string>{"turning", "bounded", "fixed", "feel", "never"}));
  EXPECT_EQ(model.sensors[0].first, 10);  // after six distances, a distance and a normal in MuJoCo's sensordata
  const std::vector<std::pair<std::string, std::string>> lacking{
      {"image", "camera"},     {"normal", "more than a distance"},
      {"late", "delay"},       {"place", "positions"},
      {"both", "one contact"}, {"near", "volume"},
      {"rod", "elliptic"}};
  ASSERT_EQ(model.lacking_sensors.size(), lacking.size());
  for (size_t k = 0; k < lacking.size(); ++k) {
    EXPECT_EQ(model.lacking_sensors[k].name, lacking[k].first);
    expect_mentions(model.lacking_sensors[k].why, {lacking[k].second});
  }
}

// Rays pass through geoms that are wholly transparent, by their colour or their material, and those of the site's body.
TEST(RobotModel, RangeFindersMeetVisibleGeomsOfOtherBodies) {
  const RobotModel model = read(
      "<asset><material name='air' rgba='1 1 1 0'/><material name='glass' rgba='1 1 1 0.1'/></asset><worldbody>"
      "<geom name='floor' type='plane' size='1 1 1' material='glass' rgba='1 1 1 0'/><geom name='air' size='1' "
      "material='air'/><geom name='ghost' size='1' rgba='1 1 1 0'/><body name='body'><joint/><geom name='ball' "
      "size='0.1'/><site name='eye'/><body><joint/><geom name='leg' type='capsule' size='0.1 0.1'/><site name='toe'/>"
      "</body></body></worldbody><sensor><rangefinder name='far' site='eye' cutoff='3'/><rangefinder name='near' "
      "site='toe'/></sensor>");
  EXPECT_TRUE(model.lacking_sensors.empty());
  std::vector<std::string> met;
  for (const SensorGeom& geom : model.ray_geoms) met.push_back(model.geoms[static_cast<size_t>(geom.geom)].name);
  EXPECT_EQ(met, (std::vector<std::string>{"floor", "leg", "ball"}));
  ASSERT_EQ(model.range_finders.size(), 2u);
  EXPECT_EQ(model.range_finders[0].frame, 1);
  EXPECT_EQ(model.range_finders[0].cutoff, 3);
  EXPECT_EQ(model.range_finders[1].frame, 2);
  EXPECT_EQ(model.range_finders[1].number, 1);
}

// A header has no room for a large mesh. These have 20 4^n triangles.
TEST(RobotModel, RangeFindersMeetSmallMeshes) {
  const auto robot = [](const char* divisions) {
    return "<asset><mesh name='ball' builtin='sphere' params='" + std::string(divisions) +
           "'/></asset><worldbody><geom name='rock' type='mesh' mesh='ball'/><body><joint/><geom size='0.1'/><site "
           "name='eye'/></body></worldbody><sensor><rangefinder name='far' site='eye'/></sensor>";
  };
  const RobotModel small = read(robot("2"));
  EXPECT_TRUE(small.lacking_sensors.empty());
  ASSERT_EQ(small.ray_meshes.size(), 1u);
  EXPECT_EQ(small.ray_meshes[0].triangles.size(), 320u);
  const RobotModel large = read(robot("4"));
  ASSERT_EQ(large.lacking_sensors.size(), 1u);
  expect_mentions(large.lacking_sensors[0].why, {"'rock'", "5000 triangles"});
}

// Limits of joints come before those of tendons, and those of balls are last.
TEST(RobotModel, SensorsOfLimitsFindTheirs) {
  const std::string bodies =
      "<worldbody><body><joint name='free' type='ball'/><geom size='0.1'/><body pos='0 0 1'><joint name='ball' "
      "type='ball' range='0 1'/><geom size='0.1'/><body pos='0 0 1'><joint name='hip' range='0 1'/><joint name='knee' "
      "range='0 2'/><geom size='0.1'/></body></body></body></worldbody><tendon><fixed name='cord' range='0 1'><joint "
      "joint='knee' coef='1'/></fixed></tendon><sensor><jointlimitpos joint='knee'/><jointlimitvel joint='ball'/>"
      "<tendonlimitfrc tendon='cord'/></sensor>";
  const RobotModel model = read(bodies);
  EXPECT_TRUE(model.lacking_sensors.empty());
  ASSERT_EQ(model.sensors.size(), 3u);
  EXPECT_EQ(model.sensors[0].index, 1);
  EXPECT_EQ(model.sensors[1].index, 3);
  EXPECT_EQ(model.sensors[2].index, 2);
  EXPECT_EQ(read("<option><flag limit='disable'/></option>" + bodies).sensors.at(0).index, -1);
}

// Sensors of the same bodies and cutoff share their pairs. Two planes have no distance.
TEST(RobotModel, SensorsOfDistancesHaveAllPairsOfTheirGeoms) {
  const RobotModel model = read(
      "<asset><mesh name='stone' vertex='0 0 0 .3 0 0 0 .2 0 .1 .1 .25'/></asset><worldbody><geom name='floor' "
      "type='plane' size='1 1 1'/><geom name='wall' type='plane' size='1 1 1'/><geom name='brick' type='box' size='1 1 "
      "1'/><body name='arm'><joint/><geom name='rod' type='capsule' size='0.1 0.1'/><geom name='stone' type='mesh' "
      "mesh='stone'/></body><body name='ball'><joint/><geom name='ball' size='0.1'/></body></worldbody><sensor>"
      "<distance name='a' body1='arm' body2='ball' cutoff='1'/><normal name='b' body1='arm' body2='ball' cutoff='1'/>"
      "<fromto name='c' body1='arm' body2='ball' cutoff='2'/><distance name='d' geom1='floor' geom2='wall'/>"
      "<distance name='e' geom1='brick' geom2='stone'/></sensor>");
  ASSERT_EQ(model.sensors.size(), 5u);
  std::vector<int> queries;
  for (const Sensor& sensor : model.sensors) queries.push_back(sensor.index);
  EXPECT_EQ(queries, (std::vector<int>{0, 0, 1, 2, 3}));
  ASSERT_EQ(model.distance_queries.size(), 4u);
  EXPECT_EQ(model.distance_queries[0].end - model.distance_queries[0].first, 2);
  EXPECT_EQ(model.distance_queries[2].end, model.distance_queries[2].first);
  std::vector<physics::ShapeKind> kinds;
  for (const SensorGeom& geom : model.distance_geoms) kinds.push_back(geom.kind);
  EXPECT_EQ(kinds, (std::vector<physics::ShapeKind>{SensorGeom::capsule, SensorGeom::sphere, SensorGeom::mesh,
                                                    SensorGeom::box}));
  EXPECT_EQ(model.hulls.size(), 1u);
  EXPECT_EQ(model.distance_pairs[1].first, 2);
  EXPECT_EQ(model.distance_pairs[1].second, 1);
  EXPECT_TRUE(model.lacking_sensors.empty());
}

// Without sensors, MuJoCo's sensordata stays 0.
TEST(RobotModel, NoSensorIsComputedIfTheirFlagIsOff) {
  const RobotModel model = supported(
      "<option><flag sensor='disable'/></option><worldbody><body><freejoint/><geom size='0.1'/><site "
      "name='imu'/></body>"
      "</worldbody><sensor><gyro name='turning' site='imu'/></sensor>");
  EXPECT_TRUE(model.sensors.empty());
  ASSERT_EQ(model.lacking_sensors.size(), 1u);
  expect_mentions(model.lacking_sensors[0].why, {"flag sensor"});
}

// Two sliding bodies of 2 and 4 kg, whose joints are coupled, and a free one of 3 kg that is welded to the second. The
// inverse weights are 1/2 + 1/4 and 1/4 + 1/3. The free body's rows of the matrix get entries with the second slide,
// through which the first one is coupled too. A constraint between bodies that do not move has no rows.
TEST(RobotModel, EqualitiesAddTheInverseWeightsOfBothSides) {
  const RobotModel model = supported(
      "<worldbody><body><joint name='a' type='slide'/><geom size='0.1' mass='2'/></body><body name='b'>"
      "<joint name='b' type='slide'/><geom size='0.1' mass='4'/></body><body name='c'><freejoint/><geom size='0.1' "
      "mass='3'/></body><body name='d'><geom size='0.1'/></body><site name='origin'/></worldbody><equality>"
      "<joint name='gear' joint1='a' joint2='b' polycoef='0.1 2 3 4 5'/>"
      "<weld name='bond' body1='b' body2='c' torquescale='0.5' anchor='1 2 3'/><connect body1='d' anchor='0 0 0'/>"
      "<weld name='off' body1='b' active='false'/></equality>");
  ASSERT_EQ(model.equalities.size(), 2u);
  const Equality &gear = model.equalities[0], &bond = model.equalities[1];
  EXPECT_EQ(gear.kind, Equality::joint);
  EXPECT_EQ(gear.polynomial, (std::array<double, 5>{0.1, 2, 3, 4, 5}));
  EXPECT_NEAR(gear.inverse_weight, 1.0 / 2 + 1.0 / 4, 1e-12);
  EXPECT_EQ(bond.kind, Equality::weld);
  EXPECT_EQ(bond.torque_scale, 0.5);
  EXPECT_EQ(bond.sides[0].body, 1);
  EXPECT_EQ(bond.sides[1].body, 2);
  EXPECT_EQ(bond.sides[1].pos, (Numbers3{1, 2, 3}));
  EXPECT_EQ(model.dofs[1].ancestors, (std::vector<int>{0}));
  EXPECT_EQ(model.dofs[2].ancestors, (std::vector<int>{1, 0}));
  EXPECT_EQ(model.dofs[4].ancestors, (std::vector<int>{3, 2, 1, 0}));
}

// Each of these features has no effect in its model.
TEST(RobotModel, FeaturesWithoutEffectAreNotRefused) {
  const std::string ball = "<worldbody><body><joint name='hip'/><geom name='ball' size='0.1'/></body></worldbody>";
  const std::vector<std::string> all = {
      "<option noslip_iterations='3'/>" + ball,
      "<option actuatorgroupdisable='1'/>" + ball,
      "<option><flag override='enable' multiccd='enable'/></option>" + ball,
      "<option><flag multiccd='enable'/></option><asset><hfield name='hills' nrow='2' ncol='2' size='1 1 1 1'/></asset>"
      "<worldbody><geom type='hfield' hfield='hills'/><body><freejoint/><geom size='0.1'/></body></worldbody>",
      ball + "<equality><joint joint1='hip' active='false'/></equality>",
      "<option><flag equality='disable'/></option>" + ball + "<equality><joint joint1='hip'/></equality>",
      "<option><flag spring='disable'/></option>" + ball +
          "<tendon><fixed stiffness='1'><joint joint='hip' coef='1'/></fixed></tendon>",
      "<option><flag contact='disable'/></option><worldbody><body><freejoint/><geom type='ellipsoid' size='1 1 1'/>"
      "</body><body><freejoint/><geom type='ellipsoid' size='1 1 1'/></body></worldbody>",
      ball + "<actuator><general joint='hip' gaintype='affine' gainprm='2 0 0'/></actuator>",
      "<default><geom solimp='0.9 0.9 0.001 0.5 3'/></default><worldbody><geom type='plane' size='1 1 1'/><body>"
      "<freejoint/><geom size='0.1'/></body></worldbody>",
      ball +
          "<worldbody><body><freejoint/><geom name='other' size='0.1'/></body></worldbody><contact><pair geom1='ball' "
          "geom2='other' condim='4' friction='1 1 0.1 0.2 0.3' solreffriction='0.01 1'/></contact>",
      "<option gravity='0 0 0'/><worldbody><body gravcomp='1'><joint actuatorgravcomp='true'/><geom size='0.1'/></body>"
      "</worldbody>",
      "<worldbody><body mocap='true'><geom size='0.1' contype='0' conaffinity='0'/></body><body><freejoint/>"
      "<geom size='0.1'/></body></worldbody>",
      "<worldbody><geom type='plane' size='1 1 1' euler='9 0 0'/><body><freejoint/><geom type='cylinder' size='1 1' "
      "condim='6'/></body><body><freejoint/><geom type='ellipsoid' size='1 1 1' condim='4'/></body></worldbody>",
      "<worldbody><body><freejoint/><geom type='box' size='1 1 1'/></body><body><freejoint/><geom type='box' "
      "size='1 1 1'/></body></worldbody>"};
  for (const std::string& inside : all) {
    const RobotModel model = read(inside);
    EXPECT_TRUE(model.unsupported.empty()) << inside << testing::PrintToString(unsupported_lines(model));
    EXPECT_FALSE(model.noslip) << inside;
  }
}

// With the flag multiccd, lanes have room for faces of 150 corners. MuJoCo before 3.11 ignores further ones.
TEST(RobotModel, FacesHaveAMostOfCorners) {
  const auto unsupported = [](int corners) {
    std::string vertices;
    for (int k = 0; k < 2 * corners; ++k) {
      const double angle = 2 * mjPI * (k / 2) / corners;
      vertices +=
          std::to_string(std::cos(angle)) + " " + std::to_string(std::sin(angle)) + (k % 2 == 0 ? " 0 " : " 1 ");
    }
    return unsupported_lines(read("<option><flag multiccd='enable'/></option><asset><mesh name='drum' vertex='" +
                                  vertices +
                                  "'/></asset><worldbody><geom type='box' size='1 1 1'/><body><freejoint/>"
                                  "<geom name='lid' type='mesh' mesh='drum'/></body></worldbody>"));
  };
  EXPECT_TRUE(unsupported(150).empty());
  const std::vector<std::string> lines = unsupported(151);
  EXPECT_EQ(lines.size(), mujoco::kClipsByUnitNormals ? 1u : 0u);
  for (const std::string& line : lines) expect_mentions(line, {"mesh 'drum'", "150 corners", "geom 'lid'"});
}

// The noslip solver has an effect if a pair that may touch, a joint or a tendon has friction.
TEST(RobotModel, NoslipNeedsFriction) {
  const auto has_noslip = [](const std::string& condim, const std::string& joint, const std::string& more) {
    return read("<option noslip_iterations='3'/><default><geom condim='" + condim +
                "'/></default><worldbody><geom name='floor' type='plane' size='1 1 1'/><body><joint name='hip' " +
                joint + "/><geom name='ball' size='0.1'/></body></worldbody>" + more)
        .noslip.has_value();
  };
  const std::string only_pair = "<contact><pair geom1='floor' geom2='ball' condim='1'/></contact>";
  const std::string cord = "<tendon><fixed frictionloss='1'><joint joint='hip' coef='1'/></fixed></tendon>";
  EXPECT_TRUE(has_noslip("3", "", ""));
  EXPECT_FALSE(has_noslip("1", "", ""));
  EXPECT_FALSE(has_noslip("3", "", only_pair));
  EXPECT_TRUE(has_noslip("1", "frictionloss='1'", ""));
  EXPECT_TRUE(has_noslip("1", "", cord));
}

// A ball that is ten cells wide may touch more prisms than libmujoco's 50 contacts. Without --places it has room for at
// least eight contacts.
TEST(RobotModel, PlacesOnAFineHeightFieldAreThoseOfTheOption) {
  const std::string ball =
      "<asset><hfield name='flat' nrow='41' ncol='41' size='1 1 1 1'/></asset><worldbody><geom type='hfield' "
      "hfield='flat'/><body pos='0 0 0.25'><freejoint/><geom size='0.25'/></body></worldbody>";
  EXPECT_EQ(read(ball, false, 30).pairs.at(0).places, 30);
  EXPECT_EQ(read(ball, false, 3).pairs.at(0).places, 3);
  EXPECT_EQ(read(ball, false, 999).pairs.at(0).places, physics::OverField::kMostContacts);
}

// The flag override replaces the margin, friction, solref and solimp of all contacts: stiffness 100 / 0.9^2 and damping
// 20 / 0.9. The second coefficient of friction differs from the first.
TEST(RobotModel, TheFlagOverrideReplacesParametersOfContacts) {
  const RobotModel model = supported(
      "<option o_margin='0.03' o_solref='-100 -20' o_solimp='0.8 0.9 0.02' o_friction='0.4 0.6 0.1 0.2 0.2'>"
      "<flag override='enable'/></option><worldbody><geom type='plane' size='1 1 1'/><body><freejoint/>"
      "<geom size='0.1' margin='0.2' gap='0.01'/></body></worldbody>");
  const GeomPair& pair = model.pairs.at(0);
  EXPECT_EQ(pair.margin, mujoco::kGapFollowsMargin ? 0.03 + 0.01 : 0.03);  // includes the gap
  EXPECT_EQ(pair.gap, 0.01);
  EXPECT_NEAR(pair.softness.stiffness, 100 / (0.9 * 0.9), 1e-10);
  EXPECT_NEAR(pair.softness.damping, 20 / 0.9, 1e-10);
  EXPECT_EQ(pair.friction, 0.4);
  EXPECT_EQ(pair.cone.second_sliding, 0.6);
}

// The time constant of solref is at least two time steps (of 2 ms), unless the flag refsafe is off. The stiffness is
// 1 / (d t)^2 with the largest impedance d = 0.95.
TEST(RobotModel, TheFlagRefsafeBoundsTimeConstants) {
  const std::string fall =
      "<worldbody><geom type='plane' size='1 1 1' solref='0.001 1'/><body><freejoint/><geom size='0.1' solref='0.001 "
      "1'/>"
      "</body></worldbody>";
  EXPECT_NEAR(read(fall).contacts.at(0).softness.stiffness, std::pow(0.95 * 0.004, -2), 1e-6);
  EXPECT_NEAR(read("<option><flag refsafe='disable'/></option>" + fall).contacts.at(0).softness.stiffness,
              std::pow(0.95 * 0.001, -2), 1e-6);
}

// libmujoco places a geom that is within 1e-6 of its body's inertial frame in this frame, and turns one that is as
// little turned with its body.
TEST(RobotModel, GeomsNearTheInertialFrameAreInIt) {
  const auto geom_at = [](const std::string& pos, const std::string& quat) {
    const RobotModel model = read(
        "<worldbody><body><joint/><inertial pos='0.1 0 0' quat='0.6 0.8 0 0' mass='1' diaginertia='1 2 2.5'/>"
        "<geom type='box' size='1 1 1' pos='" +
        pos + "' quat='" + quat + "'/></body></worldbody>");
    return model.geoms.at(0);
  };
  EXPECT_EQ(geom_at("0.100000001 0 0", "0.6 0.8 1e-9 0").pos, (Numbers3{0.1, 0, 0}));
  EXPECT_EQ(geom_at("0.100000001 0 0", "0.6 0.8 1e-9 0").turn, geom_at("0.1 0 0", "0.6 0.8 0 0").turn);
  EXPECT_EQ(geom_at("0.2 0 0", "1 1e-9 0 0").turn[1], (Numbers3{0, 1, 0}));
  EXPECT_EQ(geom_at("0.100000001 0 0", "1 0 0 0").pos[0], 0.100000001);
}

// The default solref and solimp give the damping 2 / (0.95 0.02), and R = (1 - 0.9) / 0.9 of the inverse weight.
TEST(RobotModel, TendonsOfJointsAreRead) {
  const RobotModel model = supported(
      "<worldbody><body><joint name='x' type='slide' axis='1 0 0'/><geom size='0.1' mass='2'/></body><body>"
      "<joint name='y' type='slide' axis='0 1 0'/><geom size='0.1' mass='1'/></body></worldbody><tendon>"
      "<fixed name='cord' stiffness='3' damping='4' springlength='0.1 0.2' limited='true' range='-1 2' margin='0.1' "
      "frictionloss='5' armature='0.5' actuatorfrclimited='true' actuatorfrcrange='-6 7'><joint joint='x' "
      "coef='2'/><joint joint='y' coef='-1'/>"
      "</fixed></tendon><actuator><motor tendon='cord' gear='3'/></actuator>");
  const Tendon& cord = model.tendons.at(0);
  ASSERT_EQ(cord.terms.size(), 2u);
  EXPECT_EQ(cord.terms[1].joint, 1);
  EXPECT_EQ(cord.terms[0].factor, 2);
  EXPECT_EQ(cord.terms[1].factor, -1);
  EXPECT_EQ(cord.stiffness.linear, 3);
  EXPECT_EQ(cord.damping.linear, 4);
  EXPECT_EQ(cord.armature, 0.5);
  EXPECT_EQ(cord.rest, (std::array<double, 2>{0.1, 0.2}));
  EXPECT_EQ(cord.force_range, (std::array<double, 2>{-6, 7}));
  EXPECT_EQ(cord.limit->low, -1);
  EXPECT_EQ(cord.limit->margin, 0.1);
  EXPECT_NEAR(cord.limit->softness.damping, 2 / (0.95 * 0.02), 1e-10);
  EXPECT_EQ(cord.friction->most, 5);
  EXPECT_NEAR(cord.friction->weight, 9 / cord.inverse_weight, 1e-9);
  EXPECT_TRUE(model.actuators[0].pulls(0));
  EXPECT_EQ(model.actuators[0].gear, 3);
  EXPECT_EQ(model.dofs[1].ancestors, std::vector<int>{0});  // the tendon's rows couple the two bodies
}

// A feature is one kind, however many elements have it.
TEST(RobotModel, ElementsOfOneKindAreGrouped) {
  std::string bodies;
  for (int k = 0; k < 20; ++k)
    bodies += "<body pos='" + std::to_string(k) + " 0 0'><joint name='j" + std::to_string(k) +
              "' limited='true' range='0 1' margin='60'/><geom size='0.1'/></body>";
  const RobotModel model = read("<worldbody>" + bodies + "</worldbody>");
  ASSERT_EQ(model.unsupported.size(), 1u);
  EXPECT_EQ(model.unsupported[0].what, "a range so narrow that both limits apply at once");
  EXPECT_EQ(model.unsupported[0].lines.size(), 20u);
  EXPECT_EQ(model.unsupported[0].lines[0], "joint 'j0': a range so narrow that both limits apply at once");
}

struct UnsupportedCase {
  const char* inside;
  std::vector<std::string> parts;  // parts of one line: the element, and what is not supported
};
class Unsupported : public testing::TestWithParam<UnsupportedCase> {};
TEST_P(Unsupported, IsReportedWithItsElement) {
  const std::vector<std::string>& parts = GetParam().parts;
  const std::vector<std::string> all = unsupported_lines(read(GetParam().inside));
  const bool is_reported = std::ranges::any_of(all, [&](const std::string& line) {
    return std::ranges::all_of(parts, [&](const std::string& part) { return line.find(part) != std::string::npos; });
  });
  EXPECT_TRUE(is_reported) << testing::PrintToString(parts) << " are not in:" << testing::PrintToString(all);
}
#define DRL_BODY(joint) "<worldbody><body>" joint "<geom name='ball' type='sphere' size='0.1'/></body></worldbody>"
#define DRL_BALL_ON_FLOOR(more)                                                       \
  "<worldbody><geom name='floor' type='plane' size='1 1 1'/><body><freejoint/><" more \
  " name='ball' size='0.1'/></body></worldbody>"
INSTANTIATE_TEST_SUITE_P(
    All, Unsupported,
    testing::Values(
        UnsupportedCase{DRL_BODY("<joint name='hip' limited='true' range='0 1' margin='60'/>"),
                        {"joint 'hip': ", "range so narrow"}},
        UnsupportedCase{"<custom><text name='varies' data='friction bal'/></custom>" DRL_BODY("<freejoint/>"),
                        {"text 'varies': ", "geom 'bal'"}},
        UnsupportedCase{"<custom><text name='varies' data='center_of_mass arm'/></custom><worldbody><body name='arm'>"
                        "<joint axis='0 1 0' pos='0 0 1'/><geom size='0.1'/></body></worldbody>",
                        {"body 'arm': ", "centre of mass", "<inertial>"}},
        UnsupportedCase{"<option density='1000' integrator='implicit'/>" DRL_BODY("<freejoint/>"),
                        {"option: ", "density", "implicit integrator"}},
        UnsupportedCase{
            "<option density='1000'/><default><geom fluidshape='ellipsoid'/></default>" DRL_BODY("<freejoint/>"),
            {"geom 'ball': ", "fluidshape ellipsoid"}},
        UnsupportedCase{
            DRL_BODY("<joint name='hip'/>") "<tendon><fixed name='cord' limited='true' range='0 1' margin='0.6'>"
                                            "<joint joint='hip' coef='1'/></fixed></tendon>",
            {"tendon 'cord': ", "range so narrow"}},
        UnsupportedCase{
            DRL_BODY("<joint name='hip'/>") "<equality><joint name='lock' joint1='hip' solimp='0.9 0.95 0.001 0.5 3'/>"
                                            "</equality>",
            {"equality 'lock': ", "power of solimp"}},
        UnsupportedCase{"<option timestep='0'/>" DRL_BODY("<freejoint/>"), {"option: ", "timestep"}},
        UnsupportedCase{"<option><flag sleep='enable'/></option>" DRL_BODY("<freejoint/>"), {"option: ", "flag sleep"}},
        UnsupportedCase{
            DRL_BODY("<joint name='hip'/>") "<actuator><motor name='motor' joint='hip' delay='0.02' nsample='4'/>"
                                            "</actuator>",
            {"actuator 'motor': ", "delay"}},
        UnsupportedCase{DRL_BODY("<joint name='hip'/>") "<actuator><general name='motor' joint='hip' dyntype='user' "
                                                        "actdim='2'/></actuator>",
                        {"actuator 'motor': ", "activation by a user"}},
        UnsupportedCase{"<worldbody><body name='foot'><freejoint/><geom size='0.1'/></body></worldbody>"
                        "<actuator><general name='motor' body='foot' biastype='affine' biasprm='0 0 -1'/></actuator>",
                        {"actuator 'motor': ", "adhesion whose force depends on a velocity"}},
        // libmujoco clamps the force of an actuator that is switched off, and applies no compensation without
        // actuators.
        UnsupportedCase{"<option actuatorgroupdisable='1'/>" DRL_BODY(
                            "<joint name='hip'/>") "<actuator><motor name='motor' joint='hip' group='1' "
                                                   "forcerange='1 2'/></actuator>",
                        {"actuator 'motor': ", "force range"}},
        UnsupportedCase{"<worldbody><body gravcomp='1'><joint name='hip' actuatorgravcomp='true'/><geom size='0.1'/>"
                        "</body></worldbody>",
                        {"joint 'hip': ", "gravity compensation"}},
        UnsupportedCase{"<asset><hfield name='hills' nrow='2' ncol='2' size='1 1 1 1'/></asset><worldbody>"
                        "<body><freejoint/><geom size='0.1'/><geom name='a' type='hfield' hfield='hills'/></body>"
                        "<body><freejoint/><geom name='b' size='0.1'/></body></worldbody>",
                        {"geom 'a': ", "geom 'b'", "a height field that moves"}},
        UnsupportedCase{"<option><flag nativeccd='disable'/></option><asset><hfield name='hills' nrow='2' ncol='2' "
                        "size='1 1 1 1'/></asset><worldbody><geom name='a' type='hfield' hfield='hills'/>"
                        "<body><freejoint/><geom name='b' size='0.1'/></body></worldbody>",
                        {"option: ", "nativeccd", "geoms 'a' and 'b'"}}));

// A model in libmujoco, with the constraints of its initial state, which `change` may change.
class Constrained {
 public:
  explicit Constrained(const std::string& inside, const std::function<void(mjData&)>& change = {}) {
    spill(file_, "<mujoco><compiler angle='radian'/>" + inside + "</mujoco>");
    model_ = load_model(file_);
    data_.reset(mj_makeData(model_.get()));
    if (change) change(*data_);
    mj_forward(model_.get(), data_.get());
  }
  const mjData& data() const { return *data_; }
  double error_of_float() { return float_error(*model_, *data_); }
  RobotModel robot() const { return read_robot_model(file_); }
  // Returns the largest weight of a row, times the inverse inertia along it.
  double stiffest_row() const {
    double most = 0;
    for (int row = 0; row < data_->nefc; ++row) {
      std::vector<double> solved(static_cast<size_t>(model_->nv));
      const double* along = data_->efc_J + row * model_->nv;
      mj_solveM(model_.get(), data_.get(), solved.data(), along, 1);
      most = std::max(most, data_->efc_D[row] * mju_dot(along, solved.data(), model_->nv));
    }
    return most;
  }
  // Returns J^T W J for a degree of freedom.
  double weight_along(int dof) const {
    double sum = 0;
    for (int row = 0; row < data_->nefc; ++row)
      sum += data_->efc_D[row] * std::pow(data_->efc_J[row * model_->nv + dof], 2);
    return sum;
  }

 private:
  TempFolder folder_;
  std::string file_ = (folder_ / "robot.xml").string();
  std::unique_ptr<mjModel, DeleteModel> model_;
  std::unique_ptr<mjData, decltype(&mj_deleteData)> data_{nullptr, mj_deleteData};
};
constexpr char kDense[] = "<option jacobian='dense'/>";

// A ball of 2 kg lies deep in the floor. Compares the stiffness of its contact with the weights of libmujoco's rows,
// times the inverse inertia along the normal z and the tangent x, without rotation.
TEST(Stiffness, IsTheWeightOfRowsRelativeToTheInertia) {
  constexpr double kMass = 2, kImpratio = 7;
  for (const std::string cone : {"pyramidal", "elliptic"})
    for (const double mu : {0.3, 0.9, 1.6})
      for (const int condim : {1, 3}) {
        const std::string friction = " friction='" + std::to_string(mu) + " 0.005 0.0001'";
        const Constrained ball(kDense + ("<option cone='" + cone) + "' impratio='" + std::to_string(kImpratio) +
                               "'/><worldbody><geom type='plane' size='1 1 1' condim='1'" + friction +
                               "/><body><freejoint/><geom name='ball' type='sphere' size='0.1' mass='2' "
                               "solimp='0.5 0.97 0.001' condim='" +
                               std::to_string(condim) + "'" + friction + " solmix='1e9'/></body></worldbody>");
        ASSERT_EQ(ball.data().ncon, 1);
        const StiffestConstraint stiffest = stiffest_constraint(ball.robot());
        EXPECT_EQ(stiffest.name, "ball");
        EXPECT_NEAR(stiffest.stiffness * kMass / std::max(ball.weight_along(2), ball.weight_along(0)), 1, 1e-6)
            << cone << mu << condim;
      }
}

// A ball rests on the floor, where d / (1 - d) d x / (d_most time)^2 = 9.81, for an impedance d that rises linearly
// with the depth x.
TEST(Stiffness, ThatOccursIsThatOfTheDepth) {
  constexpr double kLeast = 0.1, kMost = 0.9999, kWidth = 0.01, kTime = 0.02;
  const auto impedance = [](double depth) { return kLeast + (kMost - kLeast) * depth / kWidth; };
  double depth = 0;
  for (double step = kWidth; step > 1e-15; step /= 2) {
    const double d = impedance(depth + step);
    if (depth + step < kWidth && d / (1 - d) * d * (depth + step) < 9.81 * std::pow(kMost * kTime, 2)) depth += step;
  }
  const Constrained ball(
      "<default><geom condim='1' solimp='0.1 0.9999 0.01 0.5 1'/></default><worldbody><geom type='plane' size='1 1 1'/>"
      "<body pos='0 0 0.1'><joint type='slide' axis='0 0 1'/><geom size='0.1' mass='2' pos='0 0 " +
      testing::PrintToString(-depth) + "'/></body></worldbody>");
  const RobotModel robot = ball.robot();
  ASSERT_TRUE(robot.float_trial);
  EXPECT_NEAR(robot.float_trial->stiffest / (impedance(depth) / (1 - impedance(depth))), 1, 1e-4);
  EXPECT_LT(robot.float_trial->error, 1e-6);  // M has one entry
}

// A ball lies on a sliding ball, and sticks to it. The stiffness of their contact across the normal is 1e4 impratio
// times the inertia. In float, 1 + 1e10 is 1e10: the sum loses the inertia of both.
TEST(Stiffness, DecidesByTheDigitsThatFloatKeeps) {
  for (const bool is_stiff : {false, true}) {
    Constrained balls(std::string("<option cone='elliptic' gravity='1 0 -9.81' impratio='") + (is_stiff ? "1e6" : "1") +
                      "'/><default><geom size='0.1' mass='2' solimp='0.9999 0.9999 0.01'/></default><worldbody>"
                      "<body><joint type='slide' axis='1 0 0'/><geom/></body><body pos='0 0 0.1999'>"
                      "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><geom/></body></worldbody>");
    if (is_stiff)
      EXPECT_GT(balls.error_of_float(), 0.1);
    else
      EXPECT_LT(balls.error_of_float(), 1e4 * std::pow(2, -23));
    const RobotModel robot = balls.robot();
    EXPECT_GT(stiffest_constraint(robot).stiffness, kMostStiffInFloat);
    EXPECT_EQ(needs_double(robot), is_stiff);
  }
}

// Compares the stiffness of an equality constraint with the weights of libmujoco's rows, times the inverse inertia
// along each row.
TEST(Stiffness, OfEqualitiesIsTheWeightOfRowsRelativeToTheInertia) {
  const auto bodies = [](const std::string& joint) {
    return "<worldbody><body name='a'><" + joint + " name='a'/><geom size='0.1' mass='2'/></body><body name='b'><" +
           joint + " name='b'/><geom size='0.1' mass='0.3'/></body></worldbody><equality>";
  };
  const std::string slides = bodies("joint type='slide'"), balls = bodies("freejoint");
  for (const std::string& inside :
       {slides + "<joint name='e' joint1='a' joint2='b' solimp='0.5 0.97 0.001' polycoef='0 4 0 0 0'/>",
        balls + "<connect name='e' body1='a' body2='b' anchor='0 0 0' solimp='0.5 0.97 0.001'/>",
        balls + "<weld name='e' body1='b' torquescale='3' solimp='0.97 0.5 0.001'/>",
        balls + "<weld name='e' body1='b' torquescale='0.3' solimp='0.97 0.5 0.001'/>"}) {
    const Constrained both(kDense + inside + "</equality>", [](mjData& d) { d.qpos[0] += 0.7; });  // the first body's
    const StiffestConstraint stiffest = stiffest_constraint(both.robot());
    EXPECT_EQ(stiffest.name, "e");
    EXPECT_NEAR(stiffest.stiffness / both.stiffest_row(), 1, 1e-6) << inside;
  }
}

// The same for rows along several degrees of freedom: a tendon's limit, its dry friction, and the limit of a ball
// joint. Those along one do not count.
TEST(Stiffness, OfTendonsAndBallsIsTheWeightOfRowsRelativeToTheInertia) {
  const std::string slides =
      "<worldbody><body><joint name='a' type='slide'/><geom size='0.1' mass='2'/></body><body><joint name='b' "
      "type='slide'/><geom size='0.1' mass='0.3'/></body></worldbody><tendon><fixed name='e' limited='true' range='1 "
      "9' ";
  const std::string both = "<joint joint='a' coef='1'/><joint joint='b' coef='-3'/></fixed></tendon>";
  const std::string one = "<joint joint='a' coef='1'/></fixed></tendon>";
  const std::string stiff = "0.5 0.999 0.001";
  struct Case {
    std::string inside;
    bool counts = true, is_ball = false;
  };
  for (const auto& [inside, counts, is_ball] :
       {Case{slides + "solimplimit='" + stiff + "'>" + both},
        Case{slides + "solimplimit='" + stiff + "'>" + one, false},
        Case{slides + "solimplimit='0.1 0.2 0.001' frictionloss='3' solimpfriction='0.998 0.998 0.001'>" + both},
        Case{"<worldbody><body><joint name='e' type='ball' limited='true' range='0 0.1' solimplimit='" + stiff +
                 "'/><geom size='0.1' mass='2'/></body></worldbody>",
             true, true}}) {
    const Constrained solved("<option jacobian='dense'><flag contact='disable'/></option>" + inside,
                             [turns = is_ball](mjData& d) {
                               if (turns) d.qpos[0] = std::cos(0.3), d.qpos[1] = std::sin(0.3);
                             });
    const double most = solved.stiffest_row();
    ASSERT_GT(most, 400) << inside;
    const RobotModel robot = solved.robot();
    EXPECT_NEAR(stiffest_constraint(robot).stiffness / most, counts ? 1 : 0, 1e-6) << inside;
    EXPECT_EQ(needs_double(robot), counts && most > kMostStiffInFloat) << inside;
  }
}

}  // namespace
}  // namespace drl::robot_compiler
