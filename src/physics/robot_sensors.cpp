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
    int contacts = 0;
    for (int s = 0; s < m_.nsensor; ++s) {
      const std::string where = quoted("sensor", mjOBJ_SENSOR, s);
      Sensor sensor{.name = name(mjOBJ_SENSOR, s), .first = m_.sensor_adr[s], .index = m_.sensor_objid[s]};
      if (m_.sensor_cutoff[s] > 0) refuse(where, "a cutoff");
      if (m_.sensor_delay[s] > 0 || m_.sensor_interval[2 * s] > 0) refuse(where, "a delay or an interval");
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
          sensor.kind = Sensor::contact, sensor.index = contacts, read_contact_sensor(s, contacts++, where);
          break;
        default:
          refuse(where, "it is neither gyro, velocimeter, subtreeangmom nor contact");
          continue;
      }
      if (body >= 0 && r_.frames[static_cast<size_t>(body)].body < 0)
        refuse(where, "it is on a body that does not move");
      r_.sensors.push_back(sensor);
    }
  }

 private:
  void read_parameter(Parameter::Kind kind, const std::string& part) {
    const bool is_friction = kind == Parameter::friction;
    const int index = mj_name2id(&m_, is_friction ? mjOBJ_GEOM : mjOBJ_BODY, part.c_str());
    if (index < 0) return refuse("text 'varies': there is no ", is_friction ? "geom '" : "body '", part, "'");
    Parameter parameter{.kind = kind, .index = index};
    if (!is_friction && !has_own_center(m_, index)) return refuse(quoted("body", mjOBJ_BODY, index), kNoOwnCenter);
    for (int k = 0; k < 3 && is_friction; ++k)
      parameter.start[static_cast<size_t>(k)] = m_.geom_friction[3 * index + k];
    r_.parameters.push_back(parameter);
  }

  // Reads a contact sensor, which gives the number of contacts between a geom and the floor, and their net force.
  void read_contact_sensor(int s, int number, const std::string& where) {
    constexpr int kNetForce = 3, kFoundAndForce = 1 << mjCONDATA_FOUND | 1 << mjCONDATA_FORCE;
    const int *of = m_.sensor_intprm + mjNSENS * s, plane = m_.sensor_refid[s], geom = m_.sensor_objid[s];
    const bool is_of_geoms = m_.sensor_objtype[s] == mjOBJ_GEOM && m_.sensor_reftype[s] == mjOBJ_GEOM;
    if (of[0] != kFoundAndForce || of[1] != kNetForce || !is_of_geoms || m_.geom_type[plane] != mjGEOM_PLANE)
      return refuse(where, "a contact sensor other than data='found force' reduce='netforce' of a geom with a plane");
    if (!r_.elliptic) return refuse(where, "a contact sensor without elliptic cones");
    for (FloorContact& contact : r_.contacts)
      if (contact.geom == geom && contact.plane == plane) {
        if (contact.sensor >= 0) refuse(where, "a second sensor of a geom");
        contact.sensor = number;
      }
  }
};

}  // namespace

void read_parameters(const mjModel& model, RobotModel& robot) { Reader(model, robot).read_parameters(); }
void read_sensors(const mjModel& model, RobotModel& robot) { Reader(model, robot).read_sensors(); }

}  // namespace drl::robot_compiler
