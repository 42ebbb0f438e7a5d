// Counts what random motion of robots contains, so that the comparisons of exact_test.cpp include it.
#include <algorithm>
#include <set>

#include "tested_robots.hpp"

namespace drl {
namespace {

using namespace test;

// Contacts in the gap, contacts that push,
// several contacts of one body, and moving geoms.
TEST(Gecko, AdheresToAllKindsOfContacts) {
  Reference reference(tested("gecko").file);
  const mjModel& m = reference.model();
  const int pad = mj_name2id(&m, mjOBJ_BODY, "left_pad");
  int in_gap = 0, pushing = 0, several = 0, moving = 0;
  for (int k = 0; k < 3000; ++k) {
    const mjData& d = reference.after_forward(reference.next_state());
    int here = 0;
    for (int c = 0; c < d.ncon; ++c) {
      const int bodies[] = {m.geom_bodyid[d.contact[c].geom[0]], m.geom_bodyid[d.contact[c].geom[1]]};
      if (bodies[0] != pad && bodies[1] != pad) continue;
      here += 1;
      (d.contact[c].exclude == 1 ? in_gap : pushing) += 1;
      moving += m.body_weldid[bodies[0]] != 0 && m.body_weldid[bodies[1]] != 0 ? 1 : 0;
    }
    several += here > 1 ? 1 : 0;
  }
  EXPECT_GE(in_gap, 300);
  EXPECT_GE(pushing, 300);
  EXPECT_GE(several, 300);
  EXPECT_GE(moving, 30);
}

// The short rod reaches its rail in some of the states that the other tests compare.
TEST(Crank, RodReachesInSomeStatesOnly) {
  Reference reference(tested("crank").file);
  const mjModel& m = reference.model();
  const int pin = mj_name2id(&m, mjOBJ_SITE, "pin"), rail = mj_name2id(&m, mjOBJ_SITE, "rail");
  int reaches = 0;
  for (int k = 0; k < 1000; ++k) {
    const mjData& d = reference.after_forward(reference.next_state());
    double way[3], axis[3];
    for (int i = 0; i < 3; ++i)
      way[i] = d.site_xpos[3 * pin + i] - d.site_xpos[3 * rail + i], axis[i] = d.site_xmat[9 * rail + 3 * i + 2];
    mju_cross(axis, way, axis);
    reaches += mju_norm3(axis) < m.actuator_cranklength[1] ? 1 : 0;
  }
  EXPECT_GE(reaches, 100);
  EXPECT_LE(reaches, 900);
}

// The states that the other tests compare have contacts of all dimensions.
TEST(NoslipSolver, ComparesContactsOfAllDimensions) {
  for (const char* robot : {"noslip", "noslip_elliptic"}) {
    Reference reference(tested(robot).file);
    int contacts[7] = {};
    for (int k = 0; k < 3000; ++k) {
      const mjData& d = reference.after_forward(reference.next_state());
      for (int c = 0; c < d.ncon; ++c) contacts[d.contact[c].dim] += 1;
    }
    for (const int dimensions : {1, 3, 4, 6}) EXPECT_GE(contacts[dimensions], 50) << robot << ": " << dimensions;
  }
}

// Most states that the other tests compare would differ without the noslip solver.
TEST(NoslipSolver, ChangesMostStates) {
  for (const char* robot : {"noslip", "noslip_elliptic", "gears"}) {
    Reference reference(tested(robot).file), without(tested(robot).file);
    without.disable_noslip();
    int differ = 0;
    for (int k = 0; k < 300; ++k) {
      const RobotState at = reference.next_state();
      const mjData& d = reference.after_forward(at);
      differ += test::difference(without.after_forward(at).qacc, d.qacc, reference.model().nv) > 1e-4 ? 1 : 0;
    }
    EXPECT_GE(differ, 150) << robot;
  }
}

// Each touch sensor shows a force, and
// nothing although its body is touched.
TEST(Toucher, FeelsAndDoesNotFeelWhatTouchesItsBodies) {
  Reference reference(tested("toucher").file);
  const mjModel& m = reference.model();
  std::vector<int> felt(static_cast<size_t>(m.nsensor)), missed = felt;
  for (int k = 0; k < 6000; ++k) {
    const mjData& d = reference.after_forward(reference.next_state());
    for (int s = 0; s < m.nsensor; ++s) {
      if (m.sensor_type[s] != mjSENS_TOUCH) continue;
      const int body = m.site_bodyid[m.sensor_objid[s]];
      const bool is_touched = std::any_of(d.contact, d.contact + d.ncon, [&](const mjContact& c) {
        return c.efc_address >= 0 && (m.geom_bodyid[c.geom[0]] == body || m.geom_bodyid[c.geom[1]] == body);
      });
      const bool is_felt = d.sensordata[m.sensor_adr[s]] > 0;
      felt[static_cast<size_t>(s)] += is_felt, missed[static_cast<size_t>(s)] += is_touched && !is_felt;
    }
  }
  for (int s = 0; s < m.nsensor; ++s)
    if (m.sensor_type[s] == mjSENS_TOUCH) {
      EXPECT_GE(felt[static_cast<size_t>(s)], 10) << mj_id2name(&m, mjOBJ_SENSOR, s);
      EXPECT_GE(missed[static_cast<size_t>(s)], 10) << mj_id2name(&m, mjOBJ_SENSOR, s);
    }
}

// Each range finder and each
// limit shows something and nothing, each volume holds its object and does not, sensors of distances have geoms within
// their cutoffs, and all visible geoms are met.
TEST(Scout, SeesWhatItsSensorsCanShow) {
  Reference reference(tested("scout").file);
  const mjModel& m = reference.model();
  constexpr int kTransparent = 2;  // geoms
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

}  // namespace
}  // namespace drl
