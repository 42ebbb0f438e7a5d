#include <algorithm>

#include "drl/physics/mujoco_version.hpp"
#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

class Tracer {
 public:
  Tracer(const RobotModel& model, Program& p) : model_(model), p_(p) {}

  // Writes the functions for the quantities that a task may read. The C++ compiler drops those that a task does not
  // use.
  void trace() {
    p_.begin("Computes the positions and orientations of bodies.",
             "derive_frames(const F* qpos, const F* parameters, Derived& derived)");
    k_ = trace_kinematics(model_, p_);
    trace_frames();
    p_.begin("Computes the centres of mass of subtrees.",
             "derive_centers(const F* qpos, const F* parameters, Derived& derived)");
    trace_centers();
    if (!writes_in_loop("write_centers(bodies, derived);", 20))
      for (size_t f = 0; f < model_.frames.size(); ++f) set("subtree_com", f, subtree_center(f));
    p_.begin("Computes the positions of geoms from frames.", "derive_geoms(Derived& derived)");
    trace_points("geom_xpos", 0, model_.geoms);
    p_.begin("Computes the positions of sites from frames.", "derive_sites(const F* parameters, Derived& derived)");
    p_.join_group();
    trace_points("site_xpos", model_.geoms.size(), model_.sites);
    p_.begin("Computes the inertias and velocities of bodies about the centre of mass of their tree.",
             "derive_motion(const F* qpos, const F* qvel, const F* parameters, Derived& derived)");
    trace_motion();
    p_.begin("Computes the forces of actuators.",
             "derive_actuators(const F* qpos, const F* qvel, const F* ctrl, const F* act, const F* parameters, "
             "Derived& derived)");
    trace_actuators();
    p_.begin("Computes the forces of contacts on each body.",
             "derive_forces(const F* qpos, const F* qvel, const F* qacc, const F* ctrl, const F* act, "
             "const F (*wrench)[kWrench], const F* limit, const F* parameters, Derived& derived)");
    trace_forces();
    p_.begin("Computes the forces of limits and contacts along qvel.",
             "derive_constraints(const F* qpos, const F (*wrench)[kWrench], const F* limit, Derived& derived)");
    trace_constraint_forces();
    if (!senses(model_, &Sensor::shows_load)) return;
    p_.begin("Computes sensors of the force and torque between a body and its parent.",
             "find_loads(const F* qpos, const F* qvel, const F* qacc, const F* ctrl, const F* act, "
             "const F (*wrench)[kWrench], const F* limit, const F* parameters, F (*sensed)[4])");
    trace_loads();
  }

 private:
  Vec3 origin(int body) const { return body < 0 ? Vec3{} : k_.origin[model_.bodies[body].tree]; }
  Vec3 in_world(int body, const Vec3& pos) const { return origin(body) + k_.point(body, pos); }
  void set(const std::string& array, size_t k, const Vec3& x) { p_.set(at("derived." + array, k), x); }

  // Writes the function by a loop (drl/physics/tree_frames.hpp).
  bool writes_in_loop(const std::string& call, int operations) {
    if (p_.loops_over_bodies) p_.after(call, operations * static_cast<int>(model_.frames.size()));
    return p_.loops_over_bodies;
  }
  void trace_frames() {
    if (writes_in_loop("write_frames(bodies, quats, derived);", 40)) return;
    const std::vector<Quat> quats = trace_quaternions(model_, p_);
    for (size_t f = 0; f < model_.frames.size(); ++f) {
      const Frame& frame = model_.frames[f];
      const int k = static_cast<int>(f);
      set("xpos", k, in_world(frame.body, known(frame.pos)));
      set("xipos", k, in_world(frame.body, center_of(model_, k, p_)));
      const Quat own = known(frame.quat), quat = frame.body < 0 ? own : quats[frame.body] * own;
      for (int c = 0; c < 4; ++c) p_.set(at("derived.xquat", k, c), quat[c]);
    }
  }
  // Writes the positions of points of frames. `first` is the index of the first one in the table of the loop.
  void trace_points(const std::string& array, size_t first, const std::vector<Placement>& placements) {
    if (placements.empty()) return;
    const std::string count = std::to_string(placements.size());
    if (writes_in_loop(
            "write_points<Sizes, F>(derived, " + std::to_string(first) + ", " + count + ", derived." + array + ");",
            30))
      return;
    for (size_t k = 0; k < placements.size(); ++k) set(array, k, point_of(placements[k]));
  }
  Vec3 point_of(const Placement& placement) {
    const Vec3 pos = pos_of(model_, placement, p_);
    if (placement.body < 0) return pos;
    const BodyPose body = body_pose(model_, placement.body, p_);
    return body.pos + body.turn * pos;
  }

  // Computes the mass of each frame with its subtree, and its moment (mass times position) about its tree's origin.
  void trace_centers() {
    mass_.assign(model_.frames.size(), 0), moment_.assign(model_.frames.size(), {});
    for (size_t f = model_.frames.size(); f-- > 1;) {
      const Frame& frame = model_.frames[f];
      const Vec3 center = k_.point(frame.body, center_of(model_, static_cast<int>(f), p_));
      const Expr mass = mass_of(model_, static_cast<int>(f), p_);
      mass_[f] += mass, moment_[f] = moment_[f] + mass * center;
      const int parent = frame.parent;
      // The world's moment is about the world's origin, so each tree's moment is shifted.
      const bool leaves = frame.body >= 0 && model_.frames[parent].body < 0;
      mass_[parent] += mass_[f];
      moment_[parent] = moment_[parent] + moment_[f] + (leaves ? mass_[f] * origin(frame.body) : Vec3{});
    }
  }
  bool is_massless(size_t f) const { return mass_[f].is_known() && mass_[f].value() < 1e-15; }
  Vec3 subtree_center(size_t f) const {
    const Frame& frame = model_.frames[f];
    if (is_massless(f)) return in_world(frame.body, center_of(model_, static_cast<int>(f), p_));
    return origin(frame.body) + Expr(1) / mass_[f] * moment_[f];
  }
  // Returns the point to which cvel, cinert and cfrc_ext refer, relative to the origin of the frame's tree.
  Vec3 center_of_tree(const Frame& frame) const {
    const int root = frame.root;
    if (is_massless(root)) return {};
    if (model_.frames[root].body >= 0) return Expr(1) / mass_[root] * moment_[root];
    return Expr(1) / mass_[root] * moment_[root] - origin(frame.body);
  }

  void trace_motion() {
    if (writes_in_loop("write_motion(bodies, motions, derived);", 120)) return;
    for (size_t f = 1; f < model_.frames.size(); ++f) {
      const Frame& frame = model_.frames[f];
      const int place = static_cast<int>(f) - 1;
      const Vec3 center = center_of_tree(frame);
      const Mat3 turn = frame.body < 0 ? identity() : k_.turn[frame.body];
      const Inertia inertia =
          inertia_at(mass_of(model_, place + 1, p_), k_.point(frame.body, center_of(model_, place + 1, p_)) - center,
                     turn, inertia_of(model_, place + 1, p_));
      for (int c = 0; c < 6; ++c) p_.set(at("derived.cinert", place, c), inertia.rotational[c]);
      p_.set(at("derived.cinert", place), inertia.moment, 6);
      p_.set(at("derived.cinert", place, 9), inertia.mass);
      const Spatial velocity = frame.body < 0 ? Spatial{} : k_.velocity[frame.body];
      p_.set(at("derived.cvel", place), Spatial{velocity.angular, velocity.linear + cross(velocity.angular, center)});
    }
  }

  void trace_actuators() {
    const Dynamics dynamics = trace_dynamics(model_, k_, p_);
    p_.set("derived.qfrc_actuator", out_of_solver(dynamics.actuator_torque));
    p_.set("derived.actuator_force", dynamics.actuator_force);
  }
  Spatial wrench_of(size_t f, int touching) {
    Spatial wrench;
    for (int c = 0; c < 6 && touching >= 0; ++c)
      if (const int place = p_.wrench_places[c]; place >= 0)
        wrench[c] =
            p_.input(at("wrench", touching, place), identifier(model_.frames[f].name) + "_wrench_" + std::to_string(c));
    return wrench;
  }
  // The torque of contacts on static geoms is about the first tree's origin.
  Vec3 center_of_wrench(const Frame& frame) const {
    return frame.body < 0 ? subtree_center(frame.root) - k_.origin[0] : center_of_tree(frame);
  }
  // Returns the wrenches of contacts, equality constraints, tendons and pushes on all frames, about the origin of each
  // one's tree (of static frames: of the first tree).
  std::vector<Spatial> external_wrenches() {
    const std::vector<int> frames = touching_frames(model_);
    std::vector<Spatial> wrenches = constraint_wrenches();
    for (size_t f = 1; f < model_.frames.size(); ++f) {
      wrenches[f] = wrench_of(f, frames[f]) + wrenches[f];
      if (const int frame = static_cast<int>(f); is_pushed(model_, frame))
        wrenches[f] =
            wrenches[f] + push_on(model_, frame, k_.point(model_.frames[f].body, center_of(model_, frame, p_)), p_);
    }
    return wrenches;
  }
  void trace_forces_in_loops() {
    p_.before("F external[Sizes::nbody][6];"), p_.before("find_external_wrenches<Sizes>(wrench, external);");
    const std::vector<Spatial> wrenches = constraint_wrenches();
    for (size_t f = 1; f < wrenches.size(); ++f)
      for (int c = 0; c < 6; ++c) p_.add(at("external", f, c), wrenches[f][c]);
    writes_in_loop("write_forces(bodies, external, derived);", 50);
  }
  void trace_forces() {
    if (loops_over_wrenches(p_)) return trace_forces_in_loops();
    const std::vector<Spatial> wrenches = external_wrenches();
    for (size_t f = 1; f < model_.frames.size(); ++f) {
      const Spatial& wrench = wrenches[f];
      const Vec3 torque = wrench.angular - cross(center_of_wrench(model_.frames[f]), wrench.linear);
      p_.set(at("derived.cfrc_ext", f - 1), Spatial{torque, wrench.linear});
    }
  }

  // Newton and Euler's equations, as in mj_rnePostConstraint: what a frame's parent exerts on it is what moves it and
  // its subtree, less the external wrenches on these.
  std::vector<Spatial> find_loads_in_loops() {
    p_.before("F loads[Sizes::nbody][6];"), p_.before("find_external_wrenches<Sizes>(wrench, loads);");
    p_.before("find_loads_of_frames(bodies, motions, acceleration_of, loads);");
    std::vector<Spatial> loads(model_.frames.size());
    for (size_t f = 0; f < loads.size(); ++f)
      for (int c = 0; c < 6; ++c) loads[f][c] = p_.input(at("loads", f, c), "");
    return loads;
  }
  void trace_loads() {
    const bool in_loops = loops_over_wrenches(p_) && model_.equalities.empty() && !have_tendons_wrenches();
    const std::vector<Spatial> loads = in_loops ? find_loads_in_loops() : find_loads();
    for (const Sensor& sensor : model_.sensors) {
      if (!sensor.shows_load()) continue;
      const Placement& site = sensor.object.place;
      const Vec3 place = k_.point(site.body, pos_of(model_, site, p_)) - (site.body < 0 ? k_.origin[0] : Vec3{});
      const Mat3 turn = (site.body < 0 ? identity() : k_.turn[site.body]) * turn_of(model_, site, p_);
      const Spatial& load = loads[sensor.object.frame];
      const Vec3 value = sensor.kind == Sensor::load_force ? load.linear : load.angular - cross(place, load.linear);
      const Vec3 in_site = transposed(turn) * value;
      set_sensor(model_, sensor, {in_site[0], in_site[1], in_site[2]}, p_);
    }
  }
  std::vector<Spatial> find_loads() {
    const std::vector<Spatial> external = external_wrenches(), accelerations = accelerations_of(model_, k_, p_);
    std::vector<Spatial> loads(model_.frames.size());
    for (size_t f = model_.frames.size(); f-- > 1;) {
      const Frame& frame = model_.frames[f];
      const int k = static_cast<int>(f);
      const bool moves = frame.body >= 0;
      const Vec3 center = k_.point(frame.body, center_of(model_, k, p_)) - (moves ? Vec3{} : k_.origin[0]);
      const Inertia inertia = inertia_at(mass_of(model_, k, p_), center, moves ? k_.turn[frame.body] : identity(),
                                         inertia_of(model_, k, p_));
      const Spatial velocity = moves ? k_.velocity[frame.body] : Spatial{};
      const Spatial acceleration = moves ? accelerations[frame.body] : Spatial{{}, Expr(-1) * k_.gravity};
      loads[f] = loads[f] + inertia * acceleration + cross_force(velocity, inertia * velocity) + Expr(-1) * external[f];
      const Frame& parent = model_.frames[frame.parent];
      Spatial of_parent = loads[f];
      if (moves && parent.body < 0)
        of_parent.angular = of_parent.angular + cross(origin(frame.body) - k_.origin[0], of_parent.linear);
      loads[frame.parent] = loads[frame.parent] + of_parent;
    }
    return loads;
  }

  // Returns the force of row r of all equality constraints.
  Expr equality_force(size_t r) {
    const int before = count_limits(model_) + count_frictions(model_);
    return p_.input(at("limit", before + r), "equality_force_" + std::to_string(r));
  }
  // Returns whether tendons act on frames.
  bool have_tendons_wrenches() const {
    return mujoco::kLoadsHaveWeldsAndTendons &&
           std::ranges::any_of(model_.tendons, [](const Tendon& tendon) { return !tendon.path.empty(); });
  }
  // Returns the force of each tendon's spring, damper, actuators, armature and constraints; it makes the tendon longer.
  std::vector<Expr> tendon_forces() {
    std::vector<Expr> force = trace_dynamics(model_, k_, p_).tendon_force;
    for (size_t t = 0; t < force.size(); ++t) {
      const int tendon = static_cast<int>(t);
      if (model_.tendons[t].armature == 0) continue;
      const std::vector<Expr> along = trace_tendon(model_, tendon, k_, p_).along, qacc = qacc_of(model_, k_, p_);
      Expr acceleration = trace_bend(model_, tendon, k_);
      for (size_t i = 0; i < along.size(); ++i) acceleration += along[i] * qacc[i];
      force[t] -= Expr(model_.tendons[t].armature) * acceleration;
    }
    for_tendon_rows(model_, "limit", p_, [&](int tendon, const Expr& pull) { force[tendon] += pull; });
    size_t row = 0;
    for (const Equality& equality : model_.equalities) {
      if (const auto [first, second] = equality.joints; equality.kind == Equality::tendon) {
        const Expr pull = equality_force(row);
        force[first] += pull;
        if (second >= 0)
          force[second] -= pull * slope_of_second(equality, trace_tendon(model_, second, k_, p_).length -
                                                                Expr(model_.tendons[second].reference));
      }
      row += equality.rows();
    }
    return force;
  }
  // Returns what equality constraints of bodies and spatial tendons add to the wrenches on frames, as
  // mj_rnePostConstraint. Before MuJoCo 3.14, the torque of a weld is its rows' force, without the derivative of their
  // violation, and tendons add nothing.
  std::vector<Spatial> constraint_wrenches() {
    std::vector<Spatial> wrenches(model_.frames.size());
    const std::vector<Quat> quats = turns_welds() ? trace_quaternions(model_, p_) : std::vector<Quat>{};
    size_t row = 0;
    for (const Equality& equality : model_.equalities) {
      Spatial push;
      for (int k = 0; k < equality.rows() && !equality.couples_lengths(); ++k)
        (k < 3 ? push.linear[k] : push.angular[k - 3]) = equality_force(row + k);
      row += equality.rows();
      if (mujoco::kLoadsHaveWeldsAndTendons && equality.kind == Equality::weld)
        push.angular = turns_along(equality, quats).torque(push.angular);
      for (size_t s = 0; s < 2; ++s) {
        const Equality::Side& side = equality.sides[s];
        const Vec3 arm = k_.point(side.body, known(side.pos)) - (side.body < 0 ? k_.origin[0] : Vec3{});
        const Spatial wrench{push.angular + cross(arm, push.linear), push.linear};
        wrenches[side.frame] = wrenches[side.frame] + Expr(s == 0 ? 1 : -1) * wrench;
      }
    }
    if (!have_tendons_wrenches()) return wrenches;
    const std::vector<Expr> force = tendon_forces();
    for (size_t t = 0; t < force.size(); ++t)
      for (auto [frame, wrench] : trace_tendon(model_, static_cast<int>(t), k_, p_).wrenches) {
        if (model_.frames[frame].body < 0) wrench.angular = wrench.angular - cross(k_.origin[0], wrench.linear);
        wrenches[frame] = wrenches[frame] + force[t] * wrench;
      }
    return wrenches;
  }

  bool turns_welds() const {
    return mujoco::kLoadsHaveWeldsAndTendons &&
           std::ranges::any_of(model_.equalities, [](const Equality& e) { return e.kind == Equality::weld; });
  }

  void trace_constraint_forces() {
    std::vector<Expr> force = forces_of_contacts();
    const auto joints = limited_joints(model_);
    for (size_t l = 0; l < joints.size(); ++l)
      force[joints[l]->dof] += p_.input(at("limit", l), identifier(joints[l]->name) + "_limit");
    size_t row = 0;
    for (const Equality& equality : model_.equalities)
      for (const std::vector<Expr>& along : trace_equality(model_, equality, k_, p_).along) {
        const Expr push = equality_force(row++);
        for (size_t i = 0; i < force.size(); ++i) force[i] += push * along[i];
      }
    const auto along_of = [&](int tendon) { return trace_tendon(model_, tendon, k_, p_).along; };
    add_tendon_forces(model_, "limit", along_of, p_, force);
    force = out_of_solver(force);
    int number = count_limits(model_);
    for (const int dof : frictional_dofs(model_))
      force[dof] += p_.input(at("limit", number++), identifier(model_.dofs[dof].name) + "_friction");
    p_.set("derived.qfrc_constraint", force);
  }
  // Returns the forces of contacts along qvel in the solver's axes.
  std::vector<Expr> forces_of_contacts() {
    if (loops_over_wrenches(p_)) return forces_of_contacts_in_loops(model_, "&bodies.axis[0][0]", "wrench", p_);
    const std::vector<int> frames = touching_frames(model_);
    std::vector<Spatial> carried(model_.bodies.size());
    for (size_t f = 1; f < model_.frames.size(); ++f)
      if (const int body = model_.frames[f].body; body >= 0) carried[body] = carried[body] + wrench_of(f, frames[f]);
    gather_from_children(model_, carried);
    std::vector<Expr> force;
    for (size_t i = 0; i < model_.dofs.size(); ++i) force.push_back(dot(k_.axis[i], carried[model_.dofs[i].body]));
    return force;
  }

  // Converts a force along qvel from the solver's axes.
  std::vector<Expr> out_of_solver(std::vector<Expr> force) const {
    for (const Joint& joint : model_.joints)
      if (joint.kind == Joint::free) {
        const int d = joint.dof + 3;
        const Mat3 turn = k_.turn[model_.dofs[d].body];
        const Vec3 turned = transposed(turn) * Vec3{force[d], force[d + 1], force[d + 2]};
        for (int k = 0; k < 3; ++k) force[d + k] = turned[k];
      }
    return force;
  }

  const RobotModel& model_;
  Program& p_;
  Kinematics k_;
  std::vector<Expr> mass_;  // of each frame with its subtree
  std::vector<Vec3> moment_;
};

}  // namespace

void trace_derived(const RobotModel& model, Program& p) { Tracer(model, p).trace(); }

Expr derived_number(Program& p, const std::string& array, size_t k, int c) {
  return p.input(at("derived." + array, k, c), array + "_" + std::to_string(k) + "_" + std::to_string(c));
}
Vec3 derived_vector(Program& p, const std::string& array, size_t k, int first) {
  return {derived_number(p, array, k, first), derived_number(p, array, k, first + 1),
          derived_number(p, array, k, first + 2)};
}

Spatial derived_velocity(Program& p, size_t frame) {
  return {derived_vector(p, "cvel", frame - 1), derived_vector(p, "cvel", frame - 1, 3)};
}
Inertia derived_inertia(const RobotModel& model, size_t frame, Program& p) {
  Inertia inertia{model.frames[frame].mass, derived_vector(p, "cinert", frame - 1, 6), {}};
  if (model.randomised) inertia.mass = derived_number(p, "cinert", frame - 1, 9);
  for (int c = 0; c < 6; ++c) inertia.rotational[c] = derived_number(p, "cinert", frame - 1, c);
  return inertia;
}

BodyPose body_pose(const RobotModel& model, int body, Program& p) {
  const auto f = static_cast<size_t>(std::ranges::find(model.frames, body, &Frame::body) - model.frames.begin());
  const auto q = [&](int c) { return derived_number(p, "xquat", f, c); };
  return {static_cast<int>(f), derived_vector(p, "xpos", f), rotation_of({q(0), q(1), q(2), q(3)})};
}
BodyPose pose_of(const RobotModel& model, const Placement& place, Program& p) {
  const BodyPose body = body_pose(model, place.body, p);
  return {body.frame, body.pos + body.turn * pos_of(model, place, p), body.turn * turn_of(model, place, p)};
}

}  // namespace drl::robot_compiler
