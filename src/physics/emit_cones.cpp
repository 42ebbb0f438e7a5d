#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/enum_table.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

using physics::ModelConstant;

std::string emit_cones(const RobotModel& model) {
  const std::vector<int> bodies = touching_bodies(model), frames = touching_frames(model);
  Table table(
      "Body, frame, radius, height of the plane, margin, weight; power, stiffness, damping, impedance,\n"
      "residuals, friction, parameters of friction.",
      "ConePoint", "cone", "kCones");
  for (const FloorContact& c : model.contacts)
    table.name(c.name).add(bodies[c.body], frames[c.frame], c.radius, c.height, c.margin, c.weight, c.softness.power,
                           softness_of(c.softness) + cone_of(c.cone));
  return table.text();
}

std::string emit_hulls(const RobotModel& model) {
  std::string text, last;
  std::vector<std::pair<int, std::string>> cases;
  for (const MeshHull& hull : model.hulls) {
    const std::string name = "hull_" + std::to_string(cases.size());
    text += emit_hull(hull, name), last = "return " + name + "()";
    cases.emplace_back(cases.size(), last);
  }
  cases.pop_back();
  return text + choice("Hull hull(int k)", "k", cases, last);
}

// Returns an empty HullFaces for hulls whose faces decide no contacts.
std::string emit_faces_of_hulls(const RobotModel& model) {
  std::string text;
  std::vector<std::pair<int, std::string>> cases;
  for (const auto& [hull, faces] : model.hull_faces) {
    const std::string name = "faces_" + std::to_string(hull);
    text += emit_faces(faces, name);
    cases.emplace_back(hull, "return " + name + "()");
  }
  return text + choice("HullFaces hull_faces(int k)", "k", cases, "return {}");
}

std::string emit_planes(const RobotModel& model) {
  Table table("Planes of the world, which rays meet: position, axes, half sizes (0: no limit).", "WorldPlane",
              "world_plane", "kWorldPlanes");
  for (const WorldPlane& plane : model.planes)
    table.add(plane.pos, "{" + flat(plane.turn) + "}", braced(plane.width, plane.length));
  return constants("int", {{"kWorldPlanes", table.size()}}) + table.text();
}

// The heights are in memory, which this key and MuJoCo's indices lead to (drl/physics/height_map.hpp).
std::string emit_height_fields(const RobotModel& model) {
  std::vector<int> indices;
  for (const HeightField& field : model.height_fields) indices.push_back(field.index);
  return constants("uint64_t", {{"kModelKey", "model_key(" + quoted(model.file) + ")"}}) +
         constants("int", {{"kHeightFields", indices.size()}}) +
         Table("MuJoCo's indices of height fields, whose heights are not part of this header.", "int", "height_field",
               "kHeightFields")
             .add_all(indices)
             .text();
}

std::string emit_parameters(const RobotModel& model) {
  using P = ModelParameter;
  constexpr auto kKinds = by_enum<P::Kind, const char*>(P::size, {{P::friction, "friction"},
                                                                  {P::center_of_mass, "center_of_mass"},
                                                                  {P::mass, "mass"},
                                                                  {P::joint, "joint"},
                                                                  {P::spring, "spring"},
                                                                  {P::actuator, "actuator"},
                                                                  {P::motor, "motor"},
                                                                  {P::gravity, "gravity"},
                                                                  {P::push, "push"},
                                                                  {P::network, "network"},
                                                                  {P::push_torque, "push_torque"},
                                                                  {P::range, "range"},
                                                                  {P::site_position, "site_position"},
                                                                  {P::site_turn, "site_turn"},
                                                                  {P::size, "size"}});
  Table table("Parameters that environments change, with three values each (drl/physics/parameter.hpp).", "Parameter",
              "parameter", "kParameters / 3");
  for (const Parameter& p : model.parameters)
    table.add(std::string("ModelParameter::") + kKinds[p.kind], p.index, p.start);
  return table.text();
}

// The actuators that a network can drive, in the order of their parameters.
std::string emit_motors(const RobotModel& model) {
  Table table("Actuators that a network can drive: their index, the places in qpos and qvel, the gear.", "Motor",
              "motor", "kMotors");
  for (const Parameter& p : model.parameters) {
    if (p.kind != ModelParameter::network) continue;
    const Actuator& actuator = model.actuators[p.index];
    const Joint& joint = model.joints[actuator.target];
    table.add(p.index, joint.qpos, joint.dof, actuator.gear);
  }
  if (table.size() == 0) return "";
  const auto first = std::ranges::find(model.parameters, ModelParameter::network, &Parameter::kind);
  return constants("int", {{"kMotors", table.size()}, {"kFirstMotor", first - model.parameters.begin()}}) +
         table.text();
}

// The places of the parameters of ranges; -1 for tendons and balls.
std::string emit_limit_parameters(const RobotModel& model) {
  std::vector<int> places;
  for (const Joint* joint : limited_joints(model))
    places.push_back(place_of_parameter(model, ModelParameter::range, static_cast<int>(joint - model.joints.data())));
  places.resize(places.size() + limited_tendons(model).size(), -1);
  return Table("Parameters that change the ranges of limits.", "int", "limit_parameter", "kLimits")
      .add_all(places)
      .text();
}

// The places of the factors of radii, which those of all sizes follow; -1 for geoms whose size is fixed.
std::string emit_radius_factors(const RobotModel& model) {
  std::vector<int> places;
  for (const PairGeom& geom : model.pair_geoms)
    places.push_back(place_of_parameter(model, ModelParameter::size, geom.geom));
  return constants("bool", {{"kSizes", true}}) +
         Table("Parameters by which the radii of geoms are multiplied; all their sizes by the next one.", "int",
               "radius_factor", "kPairGeoms")
             .add_all(places)
             .text();
}

// The places of factors of the dry friction of joints among the parameters; -1 for tendons, which have none.
std::string emit_friction_factors(const RobotModel& model) {
  std::vector<int> places;
  for (const int dof : frictional_dofs(model)) {
    const int place = place_of_parameter(model, ModelParameter::joint, dof);
    places.push_back(place < 0 ? -1 : place + 2);
  }
  places.resize(places.size() + frictional_tendons(model).size(), -1);
  return Table("Parameters by which dry friction is multiplied.", "int", "friction_factor", "kFrictions")
      .add_all(places)
      .text_unless_empty();
}

// Writes how the numbers that MuJoCo derives follow from the parameters, and which rows they weight.
std::string emit_derived_constants(const RobotModel& model) {
  const DerivedConstants& all = model.constants;
  constexpr auto kKinds =
      by_enum<ModelConstant::Kind, const char*>(ModelConstant::growth, {{ModelConstant::translation, "translation"},
                                                                        {ModelConstant::rotation, "rotation"},
                                                                        {ModelConstant::mass, "mass"},
                                                                        {ModelConstant::joint, "joint"},
                                                                        {ModelConstant::along, "along"},
                                                                        {ModelConstant::acceleration, "acceleration"},
                                                                        {ModelConstant::inertia, "inertia"},
                                                                        {ModelConstant::growth, "growth"}});
  Table constant("Constants that MuJoCo derives (drl/physics/model_constants.hpp): what, of which part, in the file.",
                 "ModelConstant", "constant", "kConstants");
  for (const ModelConstant& c : all.how)
    constant.add(std::string("ModelConstant::") + kKinds[c.kind], c.index, c.count, c.in_file);
  Table body("Bodies in the reference pose: last degree of freedom, parameters, mass, centre, axes, inertia.",
             "ReferenceBody", "reference_body", "nbody");
  for (const physics::ReferenceBody& b : all.bodies)
    body.add(b.last, b.mass, b.center, b.in_file, std::to_array(b.at), std::to_array(b.turn), std::to_array(b.inertia));
  Table dof("Degrees of freedom: parent, row of M, parameter, motion, armature.", "ReferenceDof", "reference_dof",
            "nv");
  for (const physics::ReferenceDof& d : all.dofs)
    dof.add(d.parent, d.row, d.armature, std::to_array(d.motion), d.in_file, d.more);
  Table tendon("Tendons with armature: their row, the armature.", "ReferenceTendon", "reference_tendon",
               "kReferenceTendons");
  for (const physics::ReferenceTendon& t : all.tendons) tendon.add(t.row, t.armature);
  std::vector<int> of_frames(static_cast<size_t>(count_numbers(touching_frames(model))), -1), of_frictions;
  const std::vector<int> frames = touching_frames(model);
  for (size_t f = 0; f < frames.size(); ++f)
    if (frames[f] >= 0)
      of_frames[static_cast<size_t>(frames[f])] =
          place_of_constant(model, DerivedConstants::body_translation, static_cast<int>(f));
  for (const int d : frictional_dofs(model)) of_frictions.push_back(place_of_constant(model, DerivedConstants::dof, d));
  for (const int t : frictional_tendons(model))
    of_frictions.push_back(place_of_constant(model, DerivedConstants::tendon, t));
  std::vector<double> of_geoms;
  for (const PairGeom& geom : model.pair_geoms) of_geoms.push_back(geom.inverse_weight);
  const int inertia = place_of_constant(model, DerivedConstants::inertia, 0);
  return constants("int", {{"kConstants", all.how.size()},
                           {"kReferenceEntries", all.entries},
                           {"kReferenceTendons", all.tendons.size()},
                           {"kInertiaConstant", inertia},
                           {"kGrowth", place_of_constant(model, DerivedConstants::growth, 0)}}) +
         constant.text() + body.text() + dof.text() + tendon.text() +
         Table("Derivatives of the lengths of tendons and actuators along qvel.", "double", "reference_row",
               in_cpp(all.rows.size()))
             .add_all(all.rows)
             .text() +
         Table("The places of the ratios of frames with contacts; of dry friction.", "int", "frame_constant",
               "kTouchingFrames")
             .add_all(of_frames)
             .text() +
         Table("", "int", "friction_constant", "kFrictions").add_all(of_frictions).text() +
         Table("Inverse inertias of the bodies of geoms in the file.", "double", "geom_weight", "kPairGeoms")
             .add_all(of_geoms)
             .text();
}

std::string emit_sensor_places(const RobotModel& model) {
  return Table("The place of a value of MuJoCo's sensordata: -1 if in Derived::sensor, otherwise in Stage::sensed.",
               "int", "sensor_place", "kSensorNumbers")
      .add_all(sensor_places(model))
      .text();
}

constexpr char kNumberOfSensed[] = "kContacts + kCones + (kSensesPairs ? kGroundPairs + kPairs : 0)";
// Contact sensors and, for each contact with the floor and then for each pair, the sensors that it matches.
std::string emit_contact_sensors(const RobotModel& model) {
  Table sensors("What contact sensors show: MuJoCo's reduce and data, and the first place.", "ContactSensor",
                "contact_sensor", "kContactSensors");
  Table contacts(
      "Bits of the sensors that show a contact, and of those that turn it around; its place in MuJoCo's order.",
      "SensedContact", "sensed_contact", kNumberOfSensed);
  const auto add = [&](const SensedContact& c, const std::string& name) {
    if (model.pairs.size() <= kMostPairsInFull) contacts.name(name);
    contacts.add(in_cpp(c.sensors) + "u", in_cpp(c.turned) + "u", c.order);
  };
  for (const ContactSensor& s : model.contact_sensors) sensors.add(s.reduce, s.data, s.place);
  for (const FloorContact& c : model.contacts) add(c.sensed, c.name);
  for (const GeomPair& pair : senses_pairs(model) ? model.pairs : std::vector<GeomPair>{})
    add(pair.sensed, model.pair_geoms[pair.first].name + " and " + model.pair_geoms[pair.second].name);
  return constants("int", {{"kContactSensors", sensors.size()}}) + sensors.text() + contacts.text();
}
// Touch sensors and, for each contact, the bodies that have some.
std::string emit_touch_sensors(const RobotModel& model) {
  Table sensors("Touch sensors: the body, its tree, the kind and size of the site, the place, the cutoff.",
                "TouchSensor", "touch_sensor", "kTouchSensors");
  for (const TouchSensor& s : model.touch_sensors)
    sensors.add(s.frame, model.bodies[s.site.body].tree, name_of(s.volume.kind), s.volume.size, s.place, s.cutoff);
  std::vector<std::string> contacts;
  const auto add = [&](const std::pair<int, int>& frames) { contacts.push_back(braced(frames.first, frames.second)); };
  for (const FloorContact& c : model.contacts) add(touched_frames(model, 0, c.frame));
  for (const GeomPair& pair : senses_pairs(model) ? model.pairs : std::vector<GeomPair>{})
    add(touched_frames(model, pair));
  return constants("int", {{"kTouchSensors", sensors.size()}}) + sensors.text() +
         Table("The bodies of contacts that have touch sensors.", "TouchedBodies", "touched", kNumberOfSensed)
             .add_all(contacts)
             .text();
}

}  // namespace

const char* name_of(physics::ShapeKind kind) {
  using K = physics::ShapeKind;
  constexpr auto kNames = by_enum<K, const char*>(K::height_field, {{K::plane, "ShapeKind::plane"},
                                                                    {K::sphere, "ShapeKind::sphere"},
                                                                    {K::capsule, "ShapeKind::capsule"},
                                                                    {K::ellipsoid, "ShapeKind::ellipsoid"},
                                                                    {K::cylinder, "ShapeKind::cylinder"},
                                                                    {K::box, "ShapeKind::box"},
                                                                    {K::mesh, "ShapeKind::mesh"},
                                                                    {K::prism, "ShapeKind::prism"},
                                                                    {K::height_field, "ShapeKind::height_field"}});
  return kNames[static_cast<size_t>(kind)];
}

std::string flat(const Rotation& rows) {
  return listed(rows, [](const Numbers3& row) { return joined(row[0], row[1], row[2]); });
}

std::string cone_of(const ConeFriction& cone) { return ", " + joined(cone.dimensions, cone.fixed) + varies_of(cone); }

std::string varies_of(const ConeFriction& cone) {
  std::vector<int> places = cone.varies;
  if (places.empty()) return "";
  if (places.size() == 1) places.push_back(-1);
  return ", " + in_cpp(places);
}

std::string emit_cone_tables(const RobotModel& model) {
  const int cones = count_cones(model), turned = count_turned_geoms(model);
  const size_t parameters = 3 * model.parameters.size(), sensor_numbers = sensor_places(model).size();
  std::string text = constants("int", {{"kCones", cones},
                                       {"kGroundPairs", model.ground_pairs},
                                       {"kGround", model.pair_places.ground},
                                       {"kResidualNumbers", residual_numbers(model)},
                                       {"kTurnedGeoms", turned},
                                       {"kHulls", model.hulls.size()},
                                       {"kParameters", parameters},
                                       {"kSensed", count_sensed(model)},
                                       {"kSensorNumbers", sensor_numbers}});
  text += constants("bool", {{"kElliptic", model.elliptic}});
  if (model.elliptic)
    text += "  static constexpr double regularised = " + number(1 / std::sqrt(model.impratio)) +
            ";  // mu of a cone with sliding friction 1\n";
  if (turned > 0 || !model.distance_queries.empty())
    text += "  DRL_HD static ConvexOptions convex() { return " +
            (mujoco::kClipsByUnitNormals
                 ? braced(model.convex_tolerance, model.convex_iterations, mujoco::kCapsulesOverlap,
                          mujoco::kBoxesClipFaces, mujoco::kClipsByUnitNormals, mujoco::kPlanesTouchFaces,
                          mujoco::kFacesTurnOutwards, mujoco::kBoxesHaveEight, mujoco::kConvexSearchIsStable,
                          mujoco::kSidesTouch)
                 : braced(model.convex_tolerance, model.convex_iterations)) +
            "; }\n";
  if (cones > 0) text += emit_cones(model);
  if (!model.hulls.empty()) text += emit_hulls(model);
  if (model.multiccd)
    text += "  static constexpr bool kMultiCcd = true;  // MuJoCo's flag multiccd, and pairs that depend on it\n";
  if (model.planes_touch_faces) text += constants("bool", {{"kPlanesTouchFaces", true}});
  if (!model.hull_faces.empty() || model.multiccd) text += emit_faces_of_hulls(model);
  if (mujoco::kCapsulesOverlap) text += constants("bool", {{"kCapsulesOverlap", true}});
  if (!model.height_fields.empty()) text += emit_height_fields(model);
  if (!model.planes.empty()) text += emit_planes(model);
  if (parameters > 0) text += emit_parameters(model);
  // The parameters of a kind follow each other; those of friction are the first.
  const auto count = [&](ModelParameter::Kind kind) {
    return std::ranges::count(model.parameters, kind, &Parameter::kind);
  };
  const auto first = [&](ModelParameter::Kind kind) {
    return std::ranges::find(model.parameters, kind, &Parameter::kind) - model.parameters.begin();
  };
  const auto is_no_friction = [](const Parameter& p) { return p.kind != ModelParameter::friction; };
  const auto frictions = std::ranges::find_if(model.parameters, is_no_friction) - model.parameters.begin();
  if (model.randomised)
    text += constants("bool", {{"kRandomised", true}}) +
            constants("int", {{"kFrictionParameters", frictions},
                              {"kPushes", count(ModelParameter::push)},
                              {"kFirstPush", first(ModelParameter::push)},
                              {"kFirstTorque", first(ModelParameter::push_torque)},
                              {"kDelays", count(ModelParameter::motor)},
                              {"kFirstDelay", first(ModelParameter::motor)}}) +
            (moves_sites(model) ? constants("bool", {{"kMovesSites", true}}) : "") + emit_motors(model) +
            emit_limit_parameters(model) + emit_radius_factors(model) + emit_friction_factors(model) +
            emit_derived_constants(model);
  if (sensor_numbers > 0) text += emit_sensor_places(model);
  if (!model.contact_sensors.empty() || !model.touch_sensors.empty())
    text += constants("bool", {{"kSensesPairs", senses_pairs(model)}});
  if (!model.contact_sensors.empty()) text += emit_contact_sensors(model);
  if (!model.touch_sensors.empty()) text += emit_touch_sensors(model);
  if (!model.range_finders.empty()) text += emit_range_finders(model);
  if (!model.distance_queries.empty()) text += emit_distance_sensors(model);
  return text;
}

}  // namespace drl::robot_compiler
