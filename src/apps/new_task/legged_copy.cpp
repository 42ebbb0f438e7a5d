// Changes the copy of a legged robot's model for a task on drl's bases.
#include <algorithm>
#include <cmath>

#include "apps/new_task/legged.hpp"
#include "base/format.hpp"

namespace drl {
namespace {

void remove_ground(ModelCopy& copy, Legged& robot) {
  const mjModel& m = copy.model();
  for (int g = m.ngeom - 1; g >= 0; --g) {
    if (m.body_weldid[m.geom_bodyid[g]] != 0 || m.geom_type[g] > mjGEOM_HFIELD) continue;
    robot.floor_contype = m.geom_contype[g], robot.floor_conaffinity = m.geom_conaffinity[g];
    mjs_delete(copy.spec(), copy.element(mjOBJ_GEOM, g));
  }
}

void add_sensor(ModelCopy& copy, const char* name, mjtSensor type, mjtObj kind, const std::string& of) {
  const int has = mj_name2id(&copy.model(), mjOBJ_SENSOR, name);
  if (has >= 0 && copy.model().sensor_type[has] == type) return;
  if (has >= 0) mjs_setName(copy.element(mjOBJ_SENSOR, has), copy.free_name(mjOBJ_SENSOR, name).c_str());
  mjsSensor* sensor = mjs_addSensor(copy.spec());
  mjs_setName(sensor->element, name);
  sensor->type = type, sensor->objtype = kind;
  mjs_setString(sensor->objname, of.c_str());
}

// Adds the sensors of the base, at the site of the model's own gyroscope if it has one on the root.
void add_base_sensors(ModelCopy& copy, const Legged& robot) {
  const mjModel& m = copy.model();
  std::string site;
  for (int s = 0; s < m.nsensor && site.empty(); ++s)
    if (m.sensor_type[s] == mjSENS_GYRO && m.body_weldid[m.site_bodyid[m.sensor_objid[s]]] == robot.root_id)
      site = copy.name(mjOBJ_SITE, m.sensor_objid[s]);
  if (site.empty()) {
    site = copy.free_name(mjOBJ_SITE, "imu");
    mjsSite* added = mjs_addSite(mjs_asBody(copy.element(mjOBJ_BODY, robot.root_id)), nullptr);
    mjs_setName(added->element, site.c_str());
  }
  add_sensor(copy, "imu_ang_vel", mjSENS_GYRO, mjOBJ_SITE, site);
  add_sensor(copy, "imu_lin_vel", mjSENS_VELOCIMETER, mjOBJ_SITE, site);
  add_sensor(copy, "root_angmom", mjSENS_SUBTREEANGMOM, mjOBJ_BODY, robot.root);
}

void add_foot(ModelCopy& copy, const LeggedFoot& foot) {
  mjsSite* site = mjs_addSite(mjs_asBody(copy.element(mjOBJ_BODY, foot.body_id)), nullptr);
  mjs_setName(site->element, foot.site.c_str());
  std::ranges::copy(foot.sole, site->pos);
  for (const int g : foot.geom_ids) {
    mjsGeom* geom = mjs_asGeom(copy.element(mjOBJ_GEOM, g));
    geom->priority = std::max(geom->priority, 1), geom->condim = std::max(geom->condim, 3);
  }
}

void set_position(ModelCopy& copy, int a, const LeggedJoint& joint) {
  mjsActuator* actuator = mjs_asActuator(copy.element(mjOBJ_ACTUATOR, a));
  double damping = joint.damping;
  mjs_setToPosition(actuator, joint.stiffness, &damping, nullptr, nullptr, 0);
  actuator->ctrllimited = mjLIMITED_FALSE, actuator->ctrlrange[0] = actuator->ctrlrange[1] = 0;
  actuator->forcelimited = mjLIMITED_TRUE, actuator->forcerange[0] = -joint.torque,
  actuator->forcerange[1] = joint.torque;
  actuator->gear[0] = 1;
}

// The torso's centre of mass differs between environments, which MuJoCo allows only if it is at no frame's origin.
void free_center(ModelCopy& copy, int body) {
  const mjModel& m = copy.model();
  if (has_own_center(m, body)) return;
  mjsBody* torso = mjs_asBody(copy.element(mjOBJ_BODY, body));
  torso->explicitinertial = 1, torso->mass = m.body_mass[body];
  std::copy_n(m.body_ipos + 3 * body, 3, torso->ipos);
  std::copy_n(m.body_iquat + 4 * body, 4, torso->iquat);
  std::copy_n(m.body_inertia + 3 * body, 3, torso->inertia);
  torso->ipos[2] += 1e-6;
}

void add_varied(ModelCopy& copy, const Legged& robot) {
  std::string data = "friction";
  for (const LeggedFoot& foot : robot.feet)
    for (const std::string& geom : foot.geoms) data += " " + geom;
  mjsText* text = mjs_addText(copy.spec());
  mjs_setName(text->element, "varies");
  mjs_setString(text->data, (data + " center_of_mass " + robot.torso).c_str());
}

}  // namespace

void change_copy(ModelCopy& copy, Legged& robot) {
  const mjModel& m = copy.model();
  robot.changes = {"Included files are part of it, and numbers have six digits.",
                   "The floor is in the files that include this one.",
                   "Feet have names, sites and friction of their own (priority 1), and the base has sensors."};
  remove_ground(copy, robot);
  for (const LeggedFoot& foot : robot.feet) add_foot(copy, foot);
  add_base_sensors(copy, robot);
  const int torso = mj_name2id(&m, mjOBJ_BODY, robot.torso.c_str());
  free_center(copy, torso < 0 ? robot.root_id : torso);
  add_varied(copy, robot);
  int motors = 0;
  for (int a = 0; a < m.nu; ++a)
    if (robot.joints[a].was_torque) set_position(copy, a, robot.joints[a]), ++motors;
  if (motors > 0)
    robot.changes.push_back(
        "Motors became position controllers: kp is 0.7 times as many N m/rad as the torque limit has N m (which is at "
        "most weight times height), and kv is 0.04 s times kp. Set them to those of your robot, here and in the "
        "header.");
  mjOption& option = copy.spec()->option;
  const double steps = 0.02 / option.timestep;
  if (option.timestep < 0.005 || std::abs(steps - std::round(steps)) > 1e-6) {
    robot.changes.push_back(fmt::format("The time step became 0.005 s instead of {:g} s.", option.timestep));
    option.timestep = 0.005;
  }
  if (option.integrator == mjINT_EULER && (motors > 0 || option.timestep > m.opt.timestep)) {
    robot.changes.push_back("The integrator became implicitfast.");
    option.integrator = mjINT_IMPLICITFAST;
  }
}

}  // namespace drl
