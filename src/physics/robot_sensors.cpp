#include <sstream>

#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  void read_parameters() {
    for (int t = 0; t < m_.ntext; ++t) {
      if (std::string(m_.names + m_.name_textadr[t]) != "varies") continue;
      std::istringstream words(m_.text_data + m_.text_adr[t]);
      Parameter::Kind kind = Parameter::friction;
      for (std::string word; words >> word;) {
        if (word == "friction" || word == "center_of_mass")
          kind = word == "friction" ? Parameter::friction : Parameter::center_of_mass;
        else
          read_parameter(kind, word);
      }
    }
  }

  void read_sensors() {
    for (int s = 0; s < m_.nsensor; ++s)
      if (const std::string why = read_sensor(s); !why.empty())
        r_.lacking_sensors.push_back({name(mjOBJ_SENSOR, s), why});
  }

 private:
  // Reads a sensor, or returns why lanes do not compute it.
  std::string read_sensor(int s) {
    Sensor sensor{.name = name(mjOBJ_SENSOR, s), .first = m_.sensor_adr[s], .index = m_.sensor_objid[s]};
    if (is_off(mjDSBL_SENSOR)) return "the flag sensor disables it";
    if (m_.sensor_cutoff[s] > 0) return "it has a cutoff";
    if (m_.sensor_delay[s] > 0 || m_.sensor_interval[2 * s] > 0) return "it has a delay or an interval";
    int body = -1;  // the body that moves the sensor
    switch (m_.sensor_type[s]) {
      case mjSENS_GYRO:
      case mjSENS_VELOCIMETER:
        sensor.kind = m_.sensor_type[s] == mjSENS_GYRO ? Sensor::gyro : Sensor::velocimeter;
        body = m_.site_bodyid[sensor.index];
        break;
      case mjSENS_SUBTREEANGMOM:
        sensor.kind = Sensor::angular_momentum, body = sensor.index;
        break;
      case mjSENS_CONTACT:
        sensor.kind = Sensor::contact, sensor.index = contact_sensors_;
        if (const std::string why = read_contact_sensor(s); !why.empty()) return why;
        contact_sensors_ += 1;
        break;
      default:
        return "it is neither gyro, velocimeter, subtreeangmom nor contact";
    }
    if (body >= 0 && r_.frames[static_cast<size_t>(body)].body < 0) return "it is on a body that does not move";
    r_.sensors.push_back(sensor);
    return "";
  }

  void read_parameter(Parameter::Kind kind, const std::string& part) {
    const bool is_friction = kind == Parameter::friction;
    const int index = mj_name2id(&m_, is_friction ? mjOBJ_GEOM : mjOBJ_BODY, part.c_str());
    if (index < 0)
      return refuse("text 'varies': ", std::string("there is no ") + (is_friction ? "geom '" : "body '") + part + "'");
    Parameter parameter{.kind = kind, .index = index};
    if (!is_friction && !has_own_center(m_, index)) return refuse(quoted("body", mjOBJ_BODY, index), kNoOwnCenter);
    for (int k = 0; k < 3 && is_friction; ++k)
      parameter.start[static_cast<size_t>(k)] = m_.geom_friction[3 * index + k];
    r_.parameters.push_back(parameter);
  }

  // Reads a contact sensor, which gives the number of contacts between a geom and the floor, and their net force.
  // Returns why lanes do not compute it, or "".
  std::string read_contact_sensor(int s) {
    constexpr int kNetForce = 3, kFoundAndForce = 1 << mjCONDATA_FOUND | 1 << mjCONDATA_FORCE;
    const int *of = m_.sensor_intprm + mjNSENS * s, plane = m_.sensor_refid[s], geom = m_.sensor_objid[s];
    const bool is_of_geoms = m_.sensor_objtype[s] == mjOBJ_GEOM && m_.sensor_reftype[s] == mjOBJ_GEOM;
    if (of[0] != kFoundAndForce || of[1] != kNetForce || !is_of_geoms || m_.geom_type[plane] != mjGEOM_PLANE)
      return "it is a contact sensor other than data='found force' reduce='netforce' of a geom with a plane";
    if (!r_.elliptic) return "it is a contact sensor, and the friction cones are not elliptic";
    std::vector<FloorContact*> contacts;
    for (FloorContact& contact : r_.contacts)
      if (contact.geom == geom && contact.plane == plane) contacts.push_back(&contact);
    if (contacts.empty()) return "its geom cannot touch its plane";
    if (contacts[0]->sensor >= 0) return "it is the second sensor of its geom";
    for (FloorContact* contact : contacts) contact->sensor = contact_sensors_;
    return "";
  }

  int contact_sensors_ = 0;
};

}  // namespace

void read_parameters(const mjModel& model, RobotModel& robot) { Reader(model, robot).read_parameters(); }
void read_sensors(const mjModel& model, RobotModel& robot) { Reader(model, robot).read_sensors(); }

}  // namespace drl::robot_compiler
