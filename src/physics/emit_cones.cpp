#include <algorithm>
#include <cmath>
#include <iterator>

#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

std::string count(auto n) { return std::to_string(n); }

std::string emit_cones(const RobotModel& model) {
  const std::vector<int> bodies = touching_bodies(model), frames = touching_frames(model);
  std::string text;
  for (const FloorContact& c : model.contacts)
    text += "        " + remark(c.name) + "\n" +
            wrapped("{" + std::to_string(bodies[static_cast<size_t>(c.body)]) + ", " +
                        std::to_string(frames[static_cast<size_t>(c.frame)]) + ", " +
                        listed({c.radius, c.height, c.margin, c.weight}) + ", " + std::to_string(c.softness.power) +
                        ", " + softness_of(c.softness) + cone_of(c.cone) + "},",
                    "        ");
  return emit_table(
      "  // Body, frame, radius, height of the plane, margin, weight; power, stiffness, damping, impedance,\n"
      "  // residuals, friction, parameters of friction.\n",
      "ConePoint", "cone", "kCones", text);
}

std::string emit_hulls(const RobotModel& model) {
  std::string text, choice = "  DRL_HD static Hull hull(int k) {\n    switch (k) {\n";
  for (size_t k = 0; k < model.hulls.size(); ++k) {
    const std::string name = "hull_" + std::to_string(k);
    text += emit_hull(model.hulls[k], name);
    choice += (k + 1 < model.hulls.size() ? "      case " + std::to_string(k) : "      default") +
              std::string(": return ") + name + "();\n";
  }
  return text + choice + "    }\n  }\n";
}

// Returns an empty HullFaces for hulls whose faces decide no contacts.
std::string emit_multiccd(const RobotModel& model) {
  std::string text =
      "  static constexpr bool kMultiCcd = true;  // MuJoCo's flag multiccd, and pairs that depend on it\n";
  std::string choice = "  DRL_HD static HullFaces hull_faces(int k) {\n    switch (k) {\n";
  for (const auto& [hull, faces] : model.hull_faces) {
    const std::string name = "faces_" + std::to_string(hull);
    text += emit_faces(faces, name);
    choice += "      case " + std::to_string(hull) + ": return " + name + "();\n";
  }
  return text + choice + "      default: return {};\n    }\n  }\n";
}

std::string emit_planes(const RobotModel& model) {
  std::string text;
  for (const WorldPlane& plane : model.planes) {
    std::vector<double> turn;
    for (const Numbers3& row : plane.turn) turn.insert(turn.end(), row.begin(), row.end());
    text += "        {{" + listed({plane.pos[0], plane.pos[1], plane.pos[2]}) + "}, {" + listed(turn) + "}, {" +
            listed({plane.width, plane.length}) + "}},\n";
  }
  return "  static constexpr int kWorldPlanes = " + count(model.planes.size()) + ";\n" +
         emit_table("  // Planes of the world, which rays meet: position, axes, half sizes (0: no limit).\n",
                    "WorldPlane", "world_plane", "kWorldPlanes", text);
}

// The heights are in memory, which this key and MuJoCo's indices lead to (drl/physics/height_map.hpp).
std::string emit_height_fields(const RobotModel& model) {
  std::string indices;
  for (const HeightField& field : model.height_fields) indices += count(field.index) + ", ";
  return "  static constexpr uint64_t kModelKey = model_key(" + quoted(model.file) + ");\n" +
         wrapped("static constexpr int kHeightFields = " + count(model.height_fields.size()) + ";", "  ") +
         emit_table("  // MuJoCo's indices of height fields, whose heights are not part of this header.\n", "int",
                    "height_field", "kHeightFields", "        " + indices + "\n");
}

std::string emit_parameters(const RobotModel& model) {
  constexpr const char* kKinds[] = {"friction",    "center_of_mass", "mass",          "joint",     "spring",
                                    "actuator",    "motor",          "gravity",       "push",      "network",
                                    "push_torque", "range",          "site_position", "site_turn", "size"};
  std::string text;
  for (const Parameter& p : model.parameters)
    text += std::string("        {ModelParameter::") + kKinds[p.kind] + ", " + std::to_string(p.index) + ", {" +
            listed({p.start[0], p.start[1], p.start[2]}) + "}},\n";
  return emit_table("  // Parameters that environments change, with three values each (drl/physics/parameter.hpp).\n",
                    "Parameter", "parameter", "kParameters / 3", text);
}

// The actuators that a network can drive, in the order of their parameters.
std::string emit_motors(const RobotModel& model) {
  std::string text;
  int count = 0;
  for (const Parameter& p : model.parameters) {
    if (p.kind != ModelParameter::network) continue;
    const Actuator& actuator = model.actuators[static_cast<size_t>(p.index)];
    const Joint& joint = model.joints[static_cast<size_t>(actuator.target)];
    text += "        {" + std::to_string(p.index) + ", " + std::to_string(joint.qpos) + ", " +
            std::to_string(joint.dof) + ", " + number(actuator.gear) + "},\n";
    count += 1;
  }
  if (count == 0) return "";
  const auto first = std::ranges::find(model.parameters, ModelParameter::network, &Parameter::kind);
  return "  static constexpr int kMotors = " + std::to_string(count) +
         ", kFirstMotor = " + std::to_string(first - model.parameters.begin()) + ";\n" +
         emit_table("  // Actuators that a network can drive: their index, the places in qpos and qvel, the gear.\n",
                    "Motor", "motor", "kMotors", text);
}

// The places of the parameters of ranges; -1 for tendons and balls.
std::string emit_limit_parameters(const RobotModel& model) {
  std::string text;
  for (const Joint* joint : limited_joints(model)) {
    const int index = static_cast<int>(joint - model.joints.data());
    const auto is_its = [&](const Parameter& p) { return p.kind == ModelParameter::range && p.index == index; };
    const auto found = std::ranges::find_if(model.parameters, is_its);
    text += std::to_string(found == model.parameters.end() ? -1 : 3 * (found - model.parameters.begin())) + ", ";
  }
  for (size_t t = 0; t < limited_tendons(model).size(); ++t) text += "-1, ";
  return emit_table("  // Parameters that change the ranges of limits.\n", "int", "limit_parameter", "kLimits",
                    text.empty() ? "" : wrapped(text, "        "));
}

// The places of the factors of radii; -1 for geoms whose size is fixed.
std::string emit_radius_factors(const RobotModel& model) {
  std::string text;
  for (const PairGeom& geom : model.pair_geoms) {
    const auto is_its = [&](const Parameter& p) { return p.kind == ModelParameter::size && p.index == geom.geom; };
    const auto found = std::ranges::find_if(model.parameters, is_its);
    text += std::to_string(found == model.parameters.end() ? -1 : 3 * (found - model.parameters.begin())) + ", ";
  }
  return "  static constexpr bool kSizes = true;\n" +
         emit_table("  // Parameters by which the radii of geoms are multiplied.\n", "int", "radius_factor",
                    "kPairGeoms", text.empty() ? "" : wrapped(text, "        "));
}

// The places of factors of the dry friction of joints among the parameters; -1 for tendons, which have none.
std::string emit_friction_factors(const RobotModel& model) {
  std::string text;
  for (const int dof : frictional_dofs(model)) {
    const auto is_its = [&](const Parameter& p) { return p.kind == ModelParameter::joint && p.index == dof; };
    const auto found = std::ranges::find_if(model.parameters, is_its);
    text += std::to_string(found == model.parameters.end() ? -1 : 3 * (found - model.parameters.begin()) + 2) + ", ";
  }
  for (size_t t = 0; t < frictional_tendons(model).size(); ++t) text += "-1, ";
  return text.empty() ? ""
                      : emit_table("  // Parameters by which dry friction is multiplied.\n", "int", "friction_factor",
                                   "kFrictions", wrapped(text, "        "));
}

std::string emit_sensor_places(const RobotModel& model) {
  const auto text = [](int place) { return std::to_string(place); };
  return emit_table(
      "  // The place of a value of MuJoCo's sensordata: -1 if in Derived::sensor, otherwise in Stage::sensed.\n",
      "int", "sensor_place", "kSensorNumbers", wrapped(listed(sensor_places(model), text) + ",", "        "));
}

constexpr char kNumberOfSensed[] = "kContacts + kCones + (kSensesPairs ? kGroundPairs + kPairs : 0)";
// Contact sensors and, for each contact with the floor and then for each pair, the sensors that it matches.
std::string emit_contact_sensors(const RobotModel& model) {
  std::string sensors, contacts;
  const auto add = [&](const SensedContact& c, const std::string& name) {
    const bool is_short = model.pairs.size() > kMostPairsInFull;
    contacts += (is_short ? "        {" : "        " + remark(name) + "\n        {") + count(c.sensors) + "u, " +
                count(c.turned) + "u, " + count(c.order) + "},\n";
  };
  for (const ContactSensor& s : model.contact_sensors)
    sensors += "        {" + count(s.reduce) + ", " + count(s.data) + ", " + count(s.place) + "},\n";
  for (const FloorContact& c : model.contacts) add(c.sensed, c.name);
  for (const GeomPair& pair : senses_pairs(model) ? model.pairs : std::vector<GeomPair>{})
    add(pair.sensed, model.pair_geoms[static_cast<size_t>(pair.first)].name + " and " +
                         model.pair_geoms[static_cast<size_t>(pair.second)].name);
  return wrapped("static constexpr int kContactSensors = " + count(model.contact_sensors.size()) + ";", "  ") +
         emit_table("  // What contact sensors show: MuJoCo's reduce and data, and the first place.\n", "ContactSensor",
                    "contact_sensor", "kContactSensors", sensors) +
         emit_table(
             "  // Bits of the sensors that show a contact, and of those that turn it around; its place in MuJoCo's "
             "order.\n",
             "SensedContact", "sensed_contact", kNumberOfSensed, contacts);
}
// Touch sensors and, for each contact, the bodies that have some.
std::string emit_touch_sensors(const RobotModel& model) {
  constexpr const char* kKinds[] = {"sphere", "capsule", "ellipsoid", "cylinder", "box"};
  std::string sensors, contacts;
  for (const TouchSensor& s : model.touch_sensors)
    sensors += "        {" + count(s.frame) + ", " + count(model.bodies[static_cast<size_t>(s.site.body)].tree) +
               ", ShapeKind::" + kKinds[s.volume.kind] + ", {" +
               listed({s.volume.size[0], s.volume.size[1], s.volume.size[2]}) + "}, " + count(s.place) + ", " +
               number(s.cutoff) + "},\n";
  const auto add = [&](const std::pair<int, int>& frames) {
    contacts += "{" + count(frames.first) + ", " + count(frames.second) + "}, ";
  };
  for (const FloorContact& c : model.contacts) add(touched_frames(model, 0, c.frame));
  for (const GeomPair& pair : senses_pairs(model) ? model.pairs : std::vector<GeomPair>{})
    add(touched_frames(model, pair));
  return wrapped("static constexpr int kTouchSensors = " + count(model.touch_sensors.size()) + ";", "  ") +
         emit_table("  // Touch sensors: the body, its tree, the kind and size of the site, the place, the cutoff.\n",
                    "TouchSensor", "touch_sensor", "kTouchSensors", sensors) +
         emit_table("  // The bodies of contacts that have touch sensors.\n", "TouchedBodies", "touched",
                    kNumberOfSensed, wrapped(contacts, "        "));
}

}  // namespace

std::string cone_of(const ConeFriction& cone) {
  std::string text =
      ", " + std::to_string(cone.dimensions) + ", {" + listed({cone.fixed[0], cone.fixed[1], cone.fixed[2]}) + "}";
  return text + varies_of(cone);
}

std::string varies_of(const ConeFriction& cone) {
  std::string text;
  if (cone.varies.empty()) return text;
  for (size_t k = 0; k < cone.varies.size(); ++k) text += (k == 0 ? ", {" : ", ") + std::to_string(cone.varies[k]);
  return text + (cone.varies.size() == 1 ? ", -1}" : "}");
}

std::string emit_cone_tables(const RobotModel& model) {
  const size_t sensor_numbers = sensor_places(model).size();
  const int cones = count_cones(model), pair_cones = model.pair_places.cones, turned = count_turned_geoms(model);
  const size_t parameters = 3 * model.parameters.size();
  std::string text =
      wrapped("static constexpr int kCones = " + count(cones) + ", kPairCones = " + count(pair_cones) +
                  ", kGroundPairs = " + count(model.ground_pairs) + ", kGround = " + count(model.pair_places.ground) +
                  ", kTurnedGeoms = " + count(turned) + ", kHulls = " + count(model.hulls.size()) +
                  ", kParameters = " + count(parameters) + ", kSensed = " + count(count_sensed(model)) +
                  ", kSensorNumbers = " + count(sensor_numbers) + ";",
              "  ");
  const auto yes = [](bool is) { return std::string(is ? "true" : "false"); };
  text += "  static constexpr bool kElliptic = " + yes(model.elliptic) + ", kDense = " + yes(model.pair_places.dense) +
          ";\n";
  if (cones + pair_cones > 0 || (model.elliptic && model.ground_pairs > 0))
    text += "  static constexpr double regularised = " + number(1 / std::sqrt(model.impratio)) +
            ";  // mu of a cone with sliding friction 1\n";
  if (turned > 0 || !model.distance_queries.empty())
    text += "  DRL_HD static ConvexOptions convex() { return {" + number(model.convex_tolerance) + ", " +
            count(model.convex_iterations) + "}; }\n";
  if (cones > 0) text += emit_cones(model);
  if (!model.hulls.empty()) text += emit_hulls(model);
  if (model.multiccd) text += emit_multiccd(model);
  if (!model.height_fields.empty()) text += emit_height_fields(model);
  if (!model.planes.empty()) text += emit_planes(model);
  if (parameters > 0) text += emit_parameters(model);
  if (model.randomised)
    text += "  static constexpr bool kRandomised = true;\n  static constexpr int kPushes = " +
            count(std::ranges::count(model.parameters, ModelParameter::push, &Parameter::kind)) + ";\n" +
            (moves_sites(model) ? "  static constexpr bool kMovesSites = true;\n" : "") + emit_motors(model) +
            emit_limit_parameters(model) + emit_radius_factors(model) + emit_friction_factors(model);
  if (sensor_numbers > 0) text += emit_sensor_places(model);
  if (!model.contact_sensors.empty() || !model.touch_sensors.empty())
    text += "  static constexpr bool kSensesPairs = " + yes(senses_pairs(model)) + ";\n";
  if (!model.contact_sensors.empty()) text += emit_contact_sensors(model);
  if (!model.touch_sensors.empty()) text += emit_touch_sensors(model);
  if (!model.range_finders.empty()) text += emit_range_finders(model);
  if (!model.distance_queries.empty()) text += emit_distance_sensors(model);
  return text;
}

}  // namespace drl::robot_compiler
