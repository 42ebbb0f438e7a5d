#include <algorithm>

#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

template <class Numbers>
std::string braced(const Numbers& numbers) {
  return "{" + listed(std::vector<double>(numbers.begin(), numbers.end())) + "}";
}
std::string braced(const Rotation& rows) {
  return "{" + braced(rows[0]) + ", " + braced(rows[1]) + ", " + braced(rows[2]) + "}";
}
std::string count(auto n) { return std::to_string(n); }
// Writes a table whose numbers have the type T.
std::string emit_table_of_numbers(const std::string& comment, const std::string& type, const std::string& name,
                                  const std::string& size, const std::string& items) {
  return emit_table(comment + "  template <class T>\n", type + "<T>", name, size, items);
}

std::string emit_joints(const RobotModel& model) {
  constexpr const char* kKinds[] = {"free", "ball", "slide", "hinge"};
  std::string text;
  for (const Body& body : model.bodies) {
    bool moves_origin = body.parent < 0;
    for (const int j : body.joints) {
      const Joint& joint = model.joints[static_cast<size_t>(j)];
      if (joint.kind != Joint::slide) moves_origin = false;
      text += "        " + remark(joint.name) + "\n" +
              wrapped(std::string("{MovingJoint<T>::") + kKinds[joint.kind] + ", " + count(joint.qpos) + ", " +
                          count(joint.dof) + (moves_origin ? ", true, " : ", false, ") + braced(joint.axis) + ", " +
                          braced(joint.pos) + ", " + number(joint.reference) + "},",
                      "        ");
    }
  }
  return "  static constexpr int kMovingJoints = " + count(model.joints.size()) + ";\n" +
         emit_table_of_numbers("  // Joints: kind, places in qpos and qvel, axis, place, reference.\n", "MovingJoint",
                               "moving_joint", "kMovingJoints", text);
}

std::string emit_moving_bodies(const RobotModel& model) {
  std::string text;
  size_t joints = 0;
  for (const Body& body : model.bodies) {
    joints += body.joints.size();
    text += "        " + remark(body.name) + "\n" +
            wrapped("{" + count(body.parent) + ", " + count(body.tree) + ", " + count(joints) + ", " +
                        braced(body.pos) + ", " + braced(body.turn) + ", " + braced(body.quat) + ", " +
                        number(body.mass) + ", " + braced(body.center) + ", " + braced(body.inertia) + "},",
                    "        ");
  }
  return emit_table_of_numbers("  // Bodies: parent, tree, end of joints, pose in the parent; mass, centre, inertia.\n",
                               "MovingBody", "moving_body", "kTreeBodies", text);
}

std::string emit_tree_frames(const RobotModel& model) {
  constexpr double kLeastMass = 1e-15;  // MuJoCo's
  const std::vector<int> touching = touching_frames(model);
  std::vector<double> mass;
  for (const Frame& frame : model.frames) mass.push_back(&frame == model.frames.data() ? 0 : frame.mass);
  for (size_t f = mass.size(); f-- > 1;) mass[static_cast<size_t>(model.frames[f].parent)] += mass[f];
  std::string text;
  for (size_t f = 0; f < model.frames.size(); ++f) {
    const Frame& frame = model.frames[f];
    text += "        " + remark(frame.name) + "\n" +
            wrapped("{" + count(frame.body) + ", " + count(frame.parent) + ", " + count(frame.root) + ", " +
                        count(touching[f]) + ", " + braced(frame.pos) + ", " + braced(frame.quat) + ", " +
                        braced(frame.center) + ", " + braced(frame.inertia) + ", " + number(frame.mass) + ", " +
                        number(mass[f] < kLeastMass ? 0 : mass[f]) + "},",
                    "        ");
  }
  return emit_table_of_numbers(
      "  // Frames: body, parent, root, index among those with contacts; pose, centre and inertia in the body; "
      "masses.\n",
      "TreeFrame", "tree_frame", "nbody", text);
}

std::string emit_tree_fluids(const RobotModel& model) {
  if (model.fluid_boxes.empty()) return "";
  std::string text;
  for (const FluidBox& box : model.fluid_boxes) {
    const Frame& frame = model.frames[static_cast<size_t>(box.frame)];
    const FluidDrag drag = drag_of(model, box);
    text += "        " + remark(box.name) + "\n" +
            wrapped("{" + count(frame.body) + ", " + braced(frame.center) + ", " + braced(box.turn) + ", " +
                        braced(drag.linear) + ", " + braced(drag.quadratic) + "},",
                    "        ");
  }
  return "  static constexpr int kTreeFluids = " + count(model.fluid_boxes.size()) + ";\n" +
         emit_table("  // Velocity of the fluid, m/s.\n", "double", "tree_wind", "3",
                    wrapped(listed({model.wind[0], model.wind[1], model.wind[2]}) + ",", "        ")) +
         emit_table_of_numbers("  // Boxes in the fluid: body, pose in the body, drag.\n", "TreeFluid", "tree_fluid",
                               "kTreeFluids", text);
}

// Writes the geoms that the loop places: if pairs are in groups, not those of the world (drl/physics/near_pairs.hpp).
std::string emit_tree_geoms(const RobotModel& model) {
  if (model.pair_geoms.empty()) return "";
  std::string text;
  int placed = 0, turned = 0;
  for (size_t g = 0; g < model.pair_geoms.size(); ++g) {
    const PairGeom& geom = model.pair_geoms[g];
    const int turn = geom.is_turned() ? turned++ : -1;
    if (geom.body < 0 && !model.pair_groups.empty()) continue;
    text += "        " + remark(geom.name) + "\n" +
            wrapped("{" + count(geom.body) + ", " + count(g) + ", " + count(turn) + ", " + braced(geom.center) + ", " +
                        braced(geom.half) + ", " + braced(geom.turn) + "},",
                    "        ");
    placed += 1;
  }
  return "  static constexpr int kTreeGeoms = " + count(placed) + ";\n" +
         emit_table_of_numbers(
             "  // Geoms of pairs: body, places in the work; centre, half axis and axes in the body.\n", "TreeGeom",
             "tree_geom", "kTreeGeoms", text);
}

std::string emit_tree_points(const RobotModel& model) {
  std::string text;
  for (const auto* placements : {&model.geoms, &model.sites})
    for (const Placement& place : *placements) {
      const auto frame = std::ranges::find(model.frames, place.body, &Frame::body) - model.frames.begin();
      text += wrapped("{" + count(place.body < 0 ? -1 : frame) + ", " + braced(place.pos) + "},", "        ");
    }
  return emit_table_of_numbers("  // Geoms and sites: frame, place.\n", "TreePoint", "tree_point", "ngeom + nsite",
                               text);
}

}  // namespace

std::string emit_trees(const RobotModel& model) {
  if (!uses_loops(model)) return "";
  const auto text = [](int k) { return std::to_string(k); };
  std::vector<int> parents, bodies, parent_bodies;
  for (const Dof& dof : model.dofs)
    parents.push_back(dof.ancestors.empty() ? -1 : dof.ancestors[0]), bodies.push_back(dof.body);
  for (const Body& body : model.bodies) parent_bodies.push_back(body.parent);
  const auto table = [&](const std::string& comment, const std::string& name, const std::vector<int>& list) {
    return emit_table(comment, "int", name, std::to_string(list.size()), wrapped(listed(list, text) + ",", "        "));
  };
  return table(
             "  // Where the rows of M begin; for each degree of freedom, the next one in its row, and the next that\n"
             "  // moves its body.\n",
             "tree_row", tree_rows(model)) +
         table("", "tree_parent", parents) + table("", "tree_mover", tree_movers(model)) +
         "  static constexpr int kTreeBodies = " + std::to_string(model.bodies.size()) + ";\n" +
         table(
             "  // The body of each degree of freedom; for each body, its parent and its index among those with "
             "contacts.\n",
             "tree_body", bodies) +
         table("", "tree_parent_body", parent_bodies) + table("", "tree_touching", touching_bodies(model));
}

std::string emit_bodies(const RobotModel& model) {
  return emit_table("  // Gravity, m/s^2.\n", "double", "tree_gravity", "3",
                    wrapped(listed({model.gravity[0], model.gravity[1], model.gravity[2]}) + ",", "        ")) +
         emit_joints(model) + emit_moving_bodies(model) + emit_tree_frames(model) + emit_tree_fluids(model) +
         emit_tree_geoms(model) + emit_tree_points(model);
}

}  // namespace drl::robot_compiler
