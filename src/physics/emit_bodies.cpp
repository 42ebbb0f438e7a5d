#include <algorithm>

#include "base/enum_table.hpp"
#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

std::string emit_joints(const RobotModel& model) {
  constexpr auto kKinds = by_enum<Joint::Kind, const char*>(
      Joint::hinge, {{Joint::free, "free"}, {Joint::ball, "ball"}, {Joint::slide, "slide"}, {Joint::hinge, "hinge"}});
  Table table("Joints: kind, places in qpos and qvel, axis, place, reference.", "MovingJoint<T>", "moving_joint",
              "kMovingJoints");
  for (const Body& body : model.bodies) {
    bool moves_origin = body.parent < 0;
    for (const int j : body.joints) {
      const Joint& joint = model.joints[j];
      if (joint.kind != Joint::slide) moves_origin = false;
      table.name(joint.name)
          .add(std::string("MovingJoint<T>::") + kKinds[joint.kind], joint.qpos, joint.dof, moves_origin, joint.axis,
               joint.pos, joint.reference);
    }
  }
  return constants("int", {{"kMovingJoints", table.size()}}) + table.text();
}

std::string emit_moving_bodies(const RobotModel& model) {
  Table table("Bodies: parent, tree, end of joints, pose in the parent; mass, centre, inertia.", "MovingBody<T>",
              "moving_body", "kTreeBodies");
  size_t joints = 0;
  for (const Body& body : model.bodies) {
    joints += body.joints.size();
    table.name(body.name).add(body.parent, body.tree, joints, body.pos, body.turn, body.quat, body.mass, body.center,
                              body.inertia);
  }
  return table.text();
}

std::string emit_tree_frames(const RobotModel& model) {
  constexpr double kLeastMass = 1e-15;  // MuJoCo's
  const std::vector<int> touching = touching_frames(model);
  std::vector<double> mass;
  for (const Frame& frame : model.frames) mass.push_back(&frame == model.frames.data() ? 0 : frame.mass);
  for (size_t f = mass.size(); f-- > 1;) mass[model.frames[f].parent] += mass[f];
  Table table(
      "Frames: body, parent, root, index among those with contacts; pose, centre and inertia in the body; masses.",
      "TreeFrame<T>", "tree_frame", "nbody");
  for (size_t f = 0; f < model.frames.size(); ++f) {
    const Frame& frame = model.frames[f];
    table.name(frame.name)
        .add(frame.body, frame.parent, frame.root, touching[f], frame.pos, frame.quat, frame.center, frame.inertia,
             frame.mass, mass[f] < kLeastMass ? 0 : mass[f]);
  }
  return table.text();
}

std::string emit_tree_fluids(const RobotModel& model) {
  if (model.fluid_boxes.empty()) return "";
  Table table("Boxes in the fluid: body, pose in the body, drag.", "TreeFluid<T>", "tree_fluid", "kTreeFluids");
  for (const FluidBox& box : model.fluid_boxes) {
    const Frame& frame = model.frames[box.frame];
    const FluidDrag drag = drag_of(model, box);
    table.name(box.name).add(frame.body, frame.center, box.turn, drag.linear, drag.quadratic);
  }
  return constants("int", {{"kTreeFluids", table.size()}}) +
         Table("Velocity of the fluid, m/s.", "double", "tree_wind", "3").add_all(model.wind).text() + table.text();
}

// Writes the geoms that the loop places: if pairs are in groups, not those of the world (drl/physics/near_pairs.hpp).
std::string emit_tree_geoms(const RobotModel& model) {
  if (model.pair_geoms.empty()) return "";
  Table table("Geoms of pairs: body, places in the work; centre, half axis and axes in the body.", "TreeGeom<T>",
              "tree_geom", "kTreeGeoms");
  int turned = 0;
  for (size_t g = 0; g < model.pair_geoms.size(); ++g) {
    const PairGeom& geom = model.pair_geoms[g];
    const int turn = geom.is_turned() ? turned++ : -1;
    if (geom.body >= 0 || model.pair_groups.empty())
      table.name(geom.name).add(geom.body, g, turn, geom.center, geom.half, geom.turn);
  }
  return constants("int", {{"kTreeGeoms", table.size()}}) + table.text();
}

std::string emit_tree_points(const RobotModel& model) {
  Table table("Geoms and sites: frame, place.", "TreePoint<T>", "tree_point", "ngeom + nsite");
  for (const auto* placements : {&model.geoms, &model.sites})
    for (const Placement& place : *placements) {
      const auto frame = std::ranges::find(model.frames, place.body, &Frame::body) - model.frames.begin();
      table.add(place.body < 0 ? -1 : frame, place.pos);
    }
  return table.text();
}

}  // namespace

std::string emit_trees(const RobotModel& model) {
  if (!uses_loops(model)) return "";
  std::vector<int> parents, bodies, parent_bodies;
  for (const Dof& dof : model.dofs)
    parents.push_back(dof.ancestors.empty() ? -1 : dof.ancestors[0]), bodies.push_back(dof.body);
  for (const Body& body : model.bodies) parent_bodies.push_back(body.parent);
  const auto table = [&](const std::string& comment, const std::string& name, const std::vector<int>& list) {
    return Table(comment, "int", name, std::to_string(list.size())).add_all(list).text();
  };
  return table(
             "Where the rows of M begin; for each degree of freedom, the next one in its row, and the next that\n"
             "moves its body.",
             "tree_row", tree_rows(model)) +
         table("", "tree_parent", parents) + table("", "tree_mover", tree_movers(model)) +
         constants("int", {{"kTreeBodies", model.bodies.size()}}) +
         table("The body of each degree of freedom; for each body, its parent and its index among those with contacts.",
               "tree_body", bodies) +
         table("", "tree_parent_body", parent_bodies) + table("", "tree_touching", touching_bodies(model));
}

std::string emit_bodies(const RobotModel& model) {
  return Table("Gravity, m/s^2.", "double", "tree_gravity", "3").add_all(model.gravity).text() + emit_joints(model) +
         emit_moving_bodies(model) + emit_tree_frames(model) + emit_tree_fluids(model) + emit_tree_geoms(model) +
         emit_tree_points(model);
}

}  // namespace drl::robot_compiler
