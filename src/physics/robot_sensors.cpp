#include <algorithm>
#include <array>
#include <sstream>

#include "drl/physics/randomised_model.hpp"
#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

// How lanes show the types of MuJoCo's sensors. Those with objects show them, in the axes of a reference if there is
// one.
struct SensorType {
  int mujoco;
  Sensor::Kind kind;
  int size = 3;
  bool has_objects = false, is_velocity = false;
};
constexpr SensorType kTypes[] = {
    // clang-format off
    {mjSENS_GYRO, Sensor::gyro},
    {mjSENS_VELOCIMETER, Sensor::velocimeter},
    {mjSENS_SUBTREEANGMOM, Sensor::angular_momentum},
    {mjSENS_SUBTREECOM, Sensor::center},
    {mjSENS_SUBTREELINVEL, Sensor::center_velocity},
    {mjSENS_ACCELEROMETER, Sensor::accelerometer, 3, true},
    {mjSENS_MAGNETOMETER, Sensor::magnetometer, 3, true},
    {mjSENS_FRAMEPOS, Sensor::frame_position, 3, true},
    {mjSENS_FRAMEQUAT, Sensor::frame_quaternion, 4, true},
    {mjSENS_FRAMEXAXIS, Sensor::frame_axis, 3, true},
    {mjSENS_FRAMEYAXIS, Sensor::frame_axis, 3, true},
    {mjSENS_FRAMEZAXIS, Sensor::frame_axis, 3, true},
    {mjSENS_FRAMELINVEL, Sensor::frame_velocity, 3, true},
    {mjSENS_FRAMEANGVEL, Sensor::frame_turning, 3, true},
    {mjSENS_FRAMELINACC, Sensor::frame_acceleration, 3, true},
    {mjSENS_FRAMEANGACC, Sensor::frame_angular_acceleration, 3, true},
    {mjSENS_FORCE, Sensor::load_force, 3, true},
    {mjSENS_TORQUE, Sensor::load_torque, 3, true},
    {mjSENS_INSIDESITE, Sensor::inside, 1, true},
    {mjSENS_BALLQUAT, Sensor::ball, 4},
    {mjSENS_BALLANGVEL, Sensor::ball, 3, false, true},
    {mjSENS_JOINTPOS, Sensor::joint, 1},
    {mjSENS_JOINTVEL, Sensor::joint, 1, false, true},
    {mjSENS_TENDONPOS, Sensor::tendon, 1},
    {mjSENS_TENDONVEL, Sensor::tendon, 1, false, true},
    {mjSENS_ACTUATORPOS, Sensor::actuator, 1},
    {mjSENS_ACTUATORVEL, Sensor::actuator, 1, false, true},
    {mjSENS_ACTUATORFRC, Sensor::actuator_force, 1},
    {mjSENS_JOINTACTFRC, Sensor::joint_force, 1},
    {mjSENS_TENDONACTFRC, Sensor::tendon_force, 1},
    {mjSENS_JOINTLIMITPOS, Sensor::limit_position, 1},
    {mjSENS_JOINTLIMITVEL, Sensor::limit_velocity, 1},
    {mjSENS_JOINTLIMITFRC, Sensor::limit_force, 1},
    {mjSENS_TENDONLIMITPOS, Sensor::limit_position, 1},
    {mjSENS_TENDONLIMITVEL, Sensor::limit_velocity, 1},
    {mjSENS_TENDONLIMITFRC, Sensor::limit_force, 1},
    {mjSENS_CONTACT, Sensor::contact},
    {mjSENS_TOUCH, Sensor::touch, 1},
    {mjSENS_RANGEFINDER, Sensor::range, 1},
    {mjSENS_GEOMDIST, Sensor::distance, 1},
    {mjSENS_GEOMNORMAL, Sensor::normal, 3},
    {mjSENS_GEOMFROMTO, Sensor::segment, 6},
    {mjSENS_E_POTENTIAL, Sensor::potential_energy, 1},
    {mjSENS_E_KINETIC, Sensor::kinetic_energy, 1},
    {mjSENS_CLOCK, Sensor::time, 1},
    // clang-format on
};

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  void read_parameters() {
    if (r_.randomised)
      for (const ModelParameter& each : randomisable(m_)) add_parameter(each.kind, each.index);
    for (int t = 0; t < m_.ntext; ++t) {
      if (std::string(m_.names + m_.name_textadr[t]) != "varies") continue;
      std::istringstream words(m_.text_data + m_.text_adr[t]);
      ModelParameter::Kind kind = ModelParameter::friction;
      for (std::string word; words >> word;) {
        if (word == "friction" || word == "center_of_mass")
          kind = word == "friction" ? ModelParameter::friction : ModelParameter::center_of_mass;
        else
          read_parameter(kind, word);
      }
    }
  }

  void read_sensors() {
    order_contacts();
    for (int s = 0; s < m_.nsensor; ++s)
      if (const std::string why = read_sensor(s); !why.empty())
        r_.lacking_sensors.push_back({name(mjOBJ_SENSOR, s), why});
  }

 private:
  // Reads a sensor, or returns why lanes do not compute it.
  std::string read_sensor(int s) {
    Sensor sensor{.name = name(mjOBJ_SENSOR, s), .first = m_.sensor_adr[s], .index = m_.sensor_objid[s]};
    if (is_off(mjDSBL_SENSOR)) return "the flag sensor disables it";
    if (m_.sensor_delay[s] > 0 || m_.sensor_interval[2 * s] > 0) return "it has a delay or an interval";
    if (m_.sensor_datatype[s] == mjDATATYPE_REAL || m_.sensor_datatype[s] == mjDATATYPE_POSITIVE)
      sensor.cutoff = m_.sensor_cutoff[s], sensor.is_positive = m_.sensor_datatype[s] == mjDATATYPE_POSITIVE;
    const int type = m_.sensor_type[s], index = sensor.index;
    const auto known = std::ranges::find(kTypes, type, &SensorType::mujoco);
    if (known == std::end(kTypes)) return "it is of a type that lanes do not compute";
    sensor.kind = known->kind, sensor.size = known->size, sensor.is_velocity = known->is_velocity;
    if (known->has_objects) {
      if (sensor.kind == Sensor::frame_axis) sensor.axis = type - mjSENS_FRAMEXAXIS;
      if (sensor.kind == Sensor::inside) sensor.volume = volume_of(m_.sensor_refid[s]);
      return read_objects(s, sensor);
    }
    std::string why;
    if (sensor.kind == Sensor::angular_momentum && index == 0) why = "it shows the angular momentum of the world";
    if (sensor.kind == Sensor::contact) why = read_contact_sensor(s, sensor);
    if (sensor.kind == Sensor::touch) why = read_touch_sensor(sensor);
    if (sensor.kind == Sensor::range) why = read_range_finder(m_, s, sensor, r_);
    if (sensor.shows_distance()) why = read_distance_sensor(m_, s, sensor, r_);
    if (sensor.kind == Sensor::actuator && is_off(mjDSBL_ACTUATION))
      why = "actuators are switched off";  // libmujoco's velocities are 0 then
    else if (sensor.kind == Sensor::actuator && m_.actuator_trntype[index] == mjTRN_BODY)
      why = "its actuator adheres to contacts";
    if (type >= mjSENS_TENDONLIMITPOS && type <= mjSENS_TENDONLIMITFRC && dofs_of_tendon(r_, r_.tendons[index]).empty())
      why = "nothing moves its tendon";
    if (!why.empty()) return why;
    if (sensor.shows_limit() || sensor.kind == Sensor::limit_force) sensor.index = number_of_limit(s, index);
    r_.sensors.push_back(sensor);
    return "";
  }

  // Reads the object that a sensor shows and its reference, and adds the sensor; or returns why lanes do not compute
  // it.
  std::string read_objects(int s, Sensor& sensor) {
    const int reference = m_.sensor_refid[s];
    if (const std::string why = read_object(m_.sensor_objtype[s], m_.sensor_objid[s], sensor.object); !why.empty())
      return why;
    if (reference >= 0)
      if (const std::string why = read_object(m_.sensor_reftype[s], reference, sensor.reference); !why.empty())
        return why;
    const auto shifts = [&](const Parameter& of) {
      return of.kind == ModelParameter::center_of_mass && of.index == sensor.object.frame;
    };
    if (sensor.shows_acceleration() && sensor.object.is_inertial && std::ranges::any_of(r_.parameters, shifts))
      return "it shows an acceleration of a centre of mass that varies";
    r_.sensors.push_back(sensor);
    return "";
  }
  std::string read_object(int type, int k, Sensor::Object& object) const {
    const mjtNum* quat = nullptr;
    const auto set = [&](int body, const Placement& place) { object.frame = body, object.place = place; };
    const auto in_frame = [&](int body, const mjtNum* pos, const mjtNum* turn) {
      const Frame& frame = r_.frames[body];
      quat = turn;
      set(body, {"", frame.body, plus(frame.pos, times(frame.turn, numbers(pos))), times(frame.turn, rotation(turn))});
    };
    constexpr mjtNum kNoPos[] = {0, 0, 0}, kNoQuat[] = {1, 0, 0, 0};
    switch (type) {
      case mjOBJ_XBODY:
        in_frame(k, kNoPos, kNoQuat);
        break;
      case mjOBJ_BODY:
        object.is_inertial = true;
        in_frame(k, m_.body_ipos + 3 * k, m_.body_iquat + 4 * k);
        break;
      case mjOBJ_GEOM:
        set(m_.geom_bodyid[k], r_.geoms[k]), quat = m_.geom_quat + 4 * k;
        break;
      case mjOBJ_SITE:
        set(m_.site_bodyid[k], r_.sites[k]), quat = m_.site_quat + 4 * k;
        break;
      case mjOBJ_CAMERA:
        if (m_.cam_mode[k] != mjCAMLIGHT_FIXED) return "it shows a camera that follows something";
        in_frame(m_.cam_bodyid[k], m_.cam_pos + 3 * k, m_.cam_quat + 4 * k);
        break;
      default:
        return "it shows an object of a type that lanes do not know";
    }
    std::copy_n(quat, 4, object.quat.begin());
    return "";
  }

  // Returns the number of the limit of a sensor's joint or tendon among all limits, or -1 if it is switched off.
  int number_of_limit(int s, int object) const {
    const bool is_of_joint = m_.sensor_objtype[s] == mjOBJ_JOINT;
    int number = 0;
    for (const Joint* joint : limited_joints(r_)) {
      if (is_of_joint && joint == &r_.joints[object]) return number;
      number += 1;
    }
    for (const int t : limited_tendons(r_)) {
      const int ball = r_.tendons[t].ball;
      if (is_of_joint ? ball == object : ball < 0 && t == object) return number;
      number += 1;
    }
    return -1;
  }
  Volume volume_of(int site) const { return {shape_of(m_.site_type[site]), numbers(m_.site_size + 3 * site)}; }

  void read_parameter(ModelParameter::Kind kind, const std::string& part) {
    const bool is_friction = kind == ModelParameter::friction;
    const int index = mj_name2id(&m_, is_friction ? mjOBJ_GEOM : mjOBJ_BODY, part.c_str());
    if (index < 0)
      return refuse("text 'varies': ", std::string("there is no ") + (is_friction ? "geom '" : "body '") + part + "'");
    if (!is_friction && !has_own_center(m_, index)) return refuse(quoted("body", mjOBJ_BODY, index), kNoOwnCenter);
    const auto is_it = [&](const Parameter& other) { return other.kind == kind && other.index == index; };
    if (std::ranges::none_of(r_.parameters, is_it)) add_parameter(kind, index);
  }
  void add_parameter(ModelParameter::Kind kind, int index) {
    Parameter parameter{.kind = kind, .index = index};
    for (int k = 0; k < 3; ++k)
      parameter.start[k] =
          kind == ModelParameter::friction ? m_.geom_friction[3 * index + k] : ModelParameter::unchanged(kind, k);
    r_.parameters.push_back(parameter);
  }

  // Reads a contact sensor, or returns why lanes do not compute it. MuJoCo lets a sensor choose contacts by a geom, a
  // body or a subtree on either side.
  std::string read_contact_sensor(int s, Sensor& sensor) {
    const int *of = m_.sensor_intprm + mjNSENS * s, number = static_cast<int>(r_.contact_sensors.size());
    const int data = of[0];
    if (m_.sensor_objtype[s] == mjOBJ_SITE) return "it chooses contacts by a site's volume";
    if ((data & ~kContactData) != 0) return "it shows torques, positions or velocities";
    sensor.size = 0;
    for (int field = 0; field < mjNCONDATA; ++field)
      if ((data >> field & 1) != 0) sensor.size += field == mjCONDATA_FOUND || field == mjCONDATA_DIST ? 1 : 3;
    if (m_.sensor_dim[s] != sensor.size) return "it shows more than one contact";
    if (number == kMostContactSensors)
      return "it is one of more than " + std::to_string(kMostContactSensors) + " contact sensors";
    const bool is_of_one = of[1] != kNetForce, is_of_frame = is_of_one && (data & kInFrame) != 0;
    for (const FloorContact& contact : r_.contacts)
      if (is_of_frame && r_.elliptic && contact.axis && match(s, contact.plane, contact.geom) != 0)
        return "it shows a capsule on a plane in the contact's axes, and the friction cones are elliptic";
    sensor.index = number;
    r_.contact_sensors.push_back(
        {.reduce = of[1],
         .data = data,
         .place = places_,
         .needs_axes = is_of_frame,
         .needs_distance = of[1] == kLeastDistance || (is_of_one && (data & 1 << mjCONDATA_DIST) != 0)});
    places_ += sensor.size;
    const auto add = [&](SensedContact& sensed, int first, int second) {
      const int turn = match(s, first, second);
      if (turn != 0) sensed.sensors |= uint64_t{1} << number;
      if (turn < 0) sensed.turned |= uint64_t{1} << number;
    };
    for (FloorContact& contact : r_.contacts) add(contact.sensed, contact.plane, contact.geom);
    for (GeomPair& pair : r_.pairs) add(pair.sensed, geom_of(pair.first), geom_of(pair.second));
    return "";
  }

  // Reads a touch sensor, or returns why lanes do not compute it.
  std::string read_touch_sensor(Sensor& sensor) {
    const int site = sensor.index, frame = m_.site_bodyid[site];
    TouchSensor touch{.frame = frame, .site = r_.sites[site], .place = places_, .cutoff = sensor.cutoff};
    if (touch.site.body < 0) return "its site does not move";
    touch.volume = volume_of(site);
    sensor.index = static_cast<int>(r_.touch_sensors.size());
    r_.touch_sensors.push_back(touch);
    places_ += 1;
    return "";
  }

  int geom_of(int pair_geom) const { return r_.pair_geoms[pair_geom].geom; }
  // Returns whether a geom belongs to a sensor's object.
  bool belongs(int g, int type, int object) const {
    if (type == mjOBJ_UNKNOWN) return true;
    if (type == mjOBJ_GEOM) return g == object;
    int body = m_.geom_bodyid[g];
    while (type == mjOBJ_XBODY && body > object) body = m_.body_parentid[body];
    return body == object;
  }
  // Returns whether a contact sensor chooses the contacts of two geoms: 1, or -1 if it turns them around, so that the
  // sensor's first object is on the side of the normal's origin; otherwise 0.
  int match(int s, int first, int second) const {
    const int type_a = m_.sensor_objtype[s], type_b = m_.sensor_reftype[s];
    const int a = m_.sensor_objid[s], b = m_.sensor_refid[s];
    if (belongs(first, type_a, a) && belongs(second, type_b, b)) return 1;
    return belongs(second, type_a, a) && belongs(first, type_b, b) ? -1 : 0;
  }

  // Numbers the contacts in MuJoCo's order: by bodies, explicit pairs first, then by geoms. The order is that of
  // mj_collision in MuJoCo 3.5.0.
  void order_contacts() {
    using Key = std::array<int, 5>;
    // Where a centre of mass may shift, drl/physics/mujoco.hpp disables the midphase, which sorts the contacts of
    // geoms.
    const auto shifts = [](const Parameter& parameter) {
      return parameter.kind == ModelParameter::center_of_mass || parameter.kind == ModelParameter::size;
    };
    const bool has_midphase = !is_off(mjDSBL_MIDPHASE) && std::ranges::none_of(r_.parameters, shifts);
    const auto key_of = [&](int first, int second) {
      const auto bodies = std::minmax(m_.geom_bodyid[first], m_.geom_bodyid[second]);
      const auto is_pair = [&](int p) {
        return std::minmax(m_.pair_geom1[p], m_.pair_geom2[p]) == std::minmax(first, second);
      };
      int p = 0;
      while (p < m_.npair && !is_pair(p)) ++p;
      if (p < m_.npair) return Key{bodies.first, bodies.second, 0, p, 0};
      if (!has_midphase && m_.geom_bodyid[first] > m_.geom_bodyid[second]) std::swap(first, second);
      return Key{bodies.first, bodies.second, 1, first, second};
    };
    std::vector<std::pair<Key, SensedContact*>> all;
    for (FloorContact& contact : r_.contacts) all.emplace_back(key_of(contact.plane, contact.geom), &contact.sensed);
    for (GeomPair& pair : r_.pairs) all.emplace_back(key_of(geom_of(pair.first), geom_of(pair.second)), &pair.sensed);
    std::ranges::stable_sort(all, {}, [](const auto& contact) { return contact.first; });
    for (size_t k = 0; k < all.size(); ++k) all[k].second->order = static_cast<int>(k);
  }

  static constexpr int kLeastDistance = 1, kNetForce = 3;  // of MuJoCo's reduce
  static constexpr int kMostContactSensors = 64;           // bits of SensedContact
  static constexpr int kInFrame = 1 << mjCONDATA_FORCE | 1 << mjCONDATA_TANGENT;
  static constexpr int kContactData = kInFrame | 1 << mjCONDATA_FOUND | 1 << mjCONDATA_DIST | 1 << mjCONDATA_NORMAL;
  int places_ = 0;  // of values that contact and touch sensors have used
};

}  // namespace

void read_parameters(const mjModel& model, RobotModel& robot) { Reader(model, robot).read_parameters(); }
void read_sensors(const mjModel& model, RobotModel& robot) { Reader(model, robot).read_sensors(); }

}  // namespace drl::robot_compiler
