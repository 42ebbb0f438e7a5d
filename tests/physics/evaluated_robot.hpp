// A robot in the form that the solver and the integrators expect (drl/physics/support.hpp), whose Program is evaluated.
// Its arrays have room for any small robot; unused entries have no effect.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>

#include "drl/physics/mujoco_version.hpp"
#include "drl/physics/support.hpp"
#include "evaluator.hpp"
#include "physics/robot_counts.hpp"
#include "physics/trace.hpp"

namespace drl::test {

// The properties that must be known when the integrators are compiled.
struct RobotKind {
  bool runge_kutta, has_pairs;
  int edges, microseconds;  // number of different edges of a friction pyramid; time step
  bool has_dry_friction = true;
  bool has_equalities = false;  // only without dry friction
  bool has_tendons = false;     // and activations
  // Has sensors, gaps, boxes, elliptic cones and contacts of all dimensions, and is in no fluid, so that its masses can
  // vary. Only compiled robots have these.
  bool has_sensors = false;
  bool operator==(const RobotKind&) const = default;
};
namespace kinds {
constexpr RobotKind kEuler{false, false, 4, 5000}, kRungeKutta{true, false, 4, 10000};
constexpr RobotKind kEulerPairs{false, true, 4, 2000}, kRungeKuttaPairs{true, true, 4, 3000};
constexpr RobotKind kEulerPlane{false, false, 3, 10000}, kRungeKuttaPlane{true, false, 3, 2000};
constexpr RobotKind without_dry_friction(RobotKind kind) {
  kind.has_dry_friction = false;
  return kind;
}
// Such robots have equality constraints.
constexpr RobotKind with_equalities(RobotKind kind) {
  kind = without_dry_friction(kind), kind.has_equalities = true;
  return kind;
}
constexpr RobotKind with_tendons(RobotKind kind) {
  kind.has_tendons = true;
  return kind;
}
}  // namespace kinds

template <RobotKind kKind>
struct Capacity : physics::DefaultSizes {
  static constexpr int nq = 32, nv = 28, nu = 24, nbody = 20, ngeom = 32, nsite = 16;
  static constexpr double timestep = kKind.microseconds / 1e6;
  static constexpr bool kTurnsStages = kKind.runge_kutta && mujoco::kRungeKuttaTurns;
  static constexpr bool kKeepsMeanAcceleration = kKind.runge_kutta && mujoco::kRungeKuttaKeepsTheMean;
  static constexpr bool kRungeKutta = kKind.runge_kutta, kImplicitDamping = !kRungeKutta;
  static constexpr int kContacts = 48, kEdges = kKind.edges, kLimits = 24, kTouchingBodies = 20, kTouchingFrames = 20;
  static constexpr int kPairGeoms = 32, kPairs = kKind.has_pairs ? 192 : 0;
  static constexpr int kPairContacts = kKind.has_pairs ? 16 : 0, kPairDimensions = 3, kPairColumns = nv, kChains = nv;
  static constexpr int kTrees = 4, kAxis = 168, kMass = 400, kForce = 28, kFreeTurn = 36;
  static constexpr int kMotions = 6, kCouplings = 27, kWrench = 6;
  static constexpr int kEqualityRows = kKind.has_equalities ? 24 : 0, kEqualityAlong = kKind.has_equalities ? 600 : 0;
  static constexpr int kTendons = kKind.has_tendons ? 8 : 0, kTendonAlong = kKind.has_tendons ? 224 : 0;
  static constexpr int kActivations = kKind.has_tendons ? 24 : 0;
  template <class F>
  struct Touch {
    F center_x, center_y, center_z, distance, along_x, along_y;
  };
  template <class F>
  struct ContactRow {
    F point_x, point_y, point_z, tangent_x, tangent_y, rest_normal, rest_first, rest_second;
  };
  // Elliptic cones, boxes and sensors are not supported.
  static constexpr int kDamping = 28, kCones = 0, kTurnedGeoms = 0, kHulls = 0, kParameters = 0, kSensed = 0,
                       kGroundPairs = 0, kGround = 0;
  static constexpr bool kElliptic = false;
  static constexpr int kSensorNumbers = 0, kFrictions = kKind.has_dry_friction ? 36 : 0;
  // Tables of the current robot.
  static inline int limited_joints[kLimits + 1] = {};
  static inline physics::DryFriction frictions[kFrictions + 1] = {};
  static inline physics::ContactPoint points[kContacts + 1] = {};
  static inline physics::PairGeom pair_geoms[kPairGeoms + 1] = {};
  static inline physics::ContactPair pairs[kPairs + 1] = {};
  static inline int first_of_chains[kChains + 1] = {}, parents_of_chains[kChains] = {}, chains_of_dofs[nv] = {};
  static const int& limited(int k) { return limited_joints[k]; }
  static const physics::DryFriction& friction(int k) { return frictions[k]; }
  static const physics::ContactPoint& point(int k) { return points[k]; }
  static const physics::PairGeom& pair_geom(int k) { return pair_geoms[k]; }
  static const physics::ContactPair& pair(int k) { return pairs[k]; }
  static const int& chain_first(int k) { return first_of_chains[k]; }
  static const int& chain_parent(int k) { return parents_of_chains[k]; }
  static const int& chain_of(int k) { return chains_of_dofs[k]; }
};

// A model and its program, with the sizes and tables that are in a robot's header (src/physics/emit_tables.cpp).
class TracedRobot {
 public:
  // Throws if drl_robot does not support the model.
  explicit TracedRobot(const std::string& file) : model(robot_compiler::read_robot_model(file)) {
    using namespace robot_compiler;
    // Evaluated robots have rows for contacts with the world too, as robots with very many of them.
    model.ground_pairs = 0, model.pair_places.ground = 0;
    if (!model.unsupported.empty()) throw std::runtime_error(unsupported_lines(model)[0]);
    trace(model, program);
    const auto count = [](const auto& list) { return static_cast<int>(list.size()); };
    sizes_ = {{"nq", model.nq},
              {"nv", model.nv},
              {"nu", count(model.actuators)},
              {"nbody", count(model.frames)},
              {"ngeom", count(model.geoms)},
              {"nsite", count(model.sites)},
              {"kContacts", count_pyramids(model)},
              {"kEdges", program.edges},
              {"kLimits", count_limits(model)},
              {"kFrictions", count_frictions(model)},
              {"kTouchingBodies", count_numbers(touching_bodies(model))},
              {"kTouchingFrames", count_numbers(touching_frames(model))},
              {"kMotions", count_numbers(program.motion_places)},
              {"kCouplings", count_numbers(program.coupling_places)},
              {"kPairGeoms", count(model.pair_geoms)},
              {"kPairs", count(model.pairs)},
              {"kTrees", model.trees},
              {"kTendons", count(tendons_with_rows(model))},
              {"kEqualityRows", count_equality_rows(model)},
              {"kActivations", model.na},
              {"kAxis", program.places("axis")},
              {"kMass", program.places("mass")},
              {"kForce", program.places("force")},
              {"kFreeTurn", program.places("free_turn")},
              {"kDamping", program.places("damping")},
              {"kTendonAlong", program.places("tendon_along")},
              {"kEqualityAlong", program.places("equality_along")}};
  }
  TracedRobot(const TracedRobot&) = delete;
  int size(const std::string& name) const { return sizes_.at(name); }

  // These return the rows of the header's tables.
  std::vector<int> limited_rows() const {
    std::vector<int> rows;
    for (const robot_compiler::Joint* joint : limited_joints(model)) rows.push_back(joint->dof);
    for (const int t : limited_tendons(model)) rows.push_back(row_of_tendon(t));
    return rows;
  }
  std::vector<physics::DryFriction> frictions() const {
    std::vector<physics::DryFriction> rows;
    for (const int dof : frictional_dofs(model)) {
      const auto& friction = *model.dofs[static_cast<size_t>(dof)].friction;
      rows.push_back({dof, friction.weight, friction.most});
    }
    for (const int t : frictional_tendons(model)) {
      const auto& friction = *model.tendons[static_cast<size_t>(t)].friction;
      rows.push_back({row_of_tendon(t), friction.weight, friction.most});
    }
    return rows;
  }
  physics::ContactPoint point_of(const robot_compiler::FloorContact& c) const {
    const robot_compiler::Softness& s = c.softness;
    return {touching_bodies(model)[static_cast<size_t>(c.body)],
            touching_frames(model)[static_cast<size_t>(c.frame)],
            c.radius,
            c.height,
            c.margin,
            c.friction,
            c.weight,
            s.stiffness,
            s.damping,
            s.least,
            s.most,
            s.width,
            s.midpoint};
  }
  physics::PairGeom geom_of(const robot_compiler::PairGeom& geom) const {
    uint64_t moved_by = 0;
    for (size_t dof = 0; dof < model.dofs.size(); ++dof)
      moved_by |= moves(model, dof, geom.body) ? uint64_t{1} << dof : 0;
    return {touching_frames(model)[static_cast<size_t>(geom.frame)],
            geom.body < 0 ? 0 : model.bodies[static_cast<size_t>(geom.body)].tree, moved_by, geom.radius};
  }
  physics::ContactPair pair_of(const robot_compiler::GeomPair& pair) const {
    const auto &a = model.pair_geoms[static_cast<size_t>(pair.first)],
               &b = model.pair_geoms[static_cast<size_t>(pair.second)];
    const double nearest = a.radius + b.radius + pair.margin, reach = nearest + size_of(a) + size_of(b);
    const auto bound = [](double x) { return static_cast<float>(std::ceil(1e5 * x * x * 1.0001) / 1e5); };
    const auto is_long = [](const robot_compiler::PairGeom& geom) { return size_of(geom) > 0; };
    const robot_compiler::Softness& s = pair.softness;
    return {pair.first,  pair.second,   is_long(a) && is_long(b),
            pair.edges,  bound(reach),  bound(nearest),
            pair.margin, pair.friction, pair.weight,
            s.stiffness, s.damping,     s.least,
            s.most,      s.width,       s.midpoint};
  }

  robot_compiler::RobotModel model;
  robot_compiler::Program program;

 private:
  // The index of a tendon with rows among the accelerations along qvel and of such tendons.
  int row_of_tendon(int tendon) const {
    const std::vector<int> tendons = tendons_with_rows(model);
    return model.nv + static_cast<int>(std::ranges::find(tendons, tendon) - tendons.begin());
  }

  std::map<std::string, int> sizes_;
};

template <RobotKind kKind>
struct EvaluatedRobot : Capacity<kKind> {
  using Number = double;
  using F = double;
  using Sizes = Capacity<kKind>;
  using State = physics::State<F, Sizes>;
  using Stage = physics::Stage<F, Sizes>;
  using Forces = physics::Forces<F, Sizes>;
  using Derived = physics::Derived<F, Sizes>;
  using Work = physics::Work<F, Sizes>;
  using Place = physics::Contact<F, Sizes>;
  using Touched = typename Sizes::template Touch<F>;
  using Row = typename Sizes::template ContactRow<F>;
  using Sizes::nv;

  // Makes this the current robot.
  static void take(const TracedRobot& robot) {
    robot_ = &robot;
    check_kind();
    evaluator_.emplace(robot.program, places());
    take_tables();
  }

  static void smooth(const F* qpos, const F* qvel, const F* ctrl, const F* act, const F* parameters, Work& w) {
    clear_rows(w);
    evaluator_->call("smooth", {qpos, qvel, ctrl, act, parameters, &w});
  }
  static void tendons(const Work& w, const F* qacc, F* acceleration) {
    std::fill_n(acceleration, Sizes::kTendons, 0.0);
    if (robot_->size("kTendons") > 0) evaluator_->call("tendons", {&w, qacc, acceleration});
  }
  static void rates(const F* ctrl, const F* act, F* rate) {
    std::fill_n(rate, Sizes::kActivations, 0.0);
    if (has_activations()) evaluator_->call("rates", {ctrl, act, rate});
  }
  static void activate(const F* act, const F* rate, F* to) {
    if (has_activations()) evaluator_->call("activate", {act, rate, to});
  }
  static void equality_forces(Work& w, const F* qacc) { evaluator_->call("equality_forces", {&w, qacc}); }
  static void newton(const Work& w, F* qacc) { evaluator_->call("newton", {&w, cleared(qacc)}); }
  static void assemble(const Work& w, F* matrix, F* force) {
    evaluator_->call("assemble", {&w, matrix, cleared(force)});
  }
  static void curvature(const Work& w, const F* from, const F* to, F& result) {
    evaluator_->call("curvature", {&w, from, to, &result});
  }
  static void pair_softness(const physics::ContactPair& pair, const F& distance, F& weight, F& rest) {
    evaluator_->call("pair_softness", {&pair, &distance, &weight, &rest});
  }
  static void accelerations(Work& w, const F* qacc) {
    if (robot_->size("kContacts") > 0) evaluator_->call("accelerations", {&w, qacc});
  }
  static void contact_row(const physics::ContactPoint& point, const Touched& touch, const F* velocity, Row& row,
                          F& weight) {
    evaluator_->call("contact_row", {&point, &touch, velocity, &row, &weight});
  }
  static void contact_edges(const physics::ContactPoint& point, const Row& row, const F* acceleration, F* y) {
    evaluator_->call("contact_edges", {&point, &row, acceleration, y});
  }
  static void add_coupling(const physics::ContactPoint& point, const Row& row, const F* change, F* coupling) {
    evaluator_->call("add_coupling", {&point, &row, change, coupling});
  }
  static void add_wrench(const physics::ContactPoint& point, const Row& row, const F* push, F* wrench) {
    evaluator_->call("add_wrench", {&point, &row, push, wrench});
  }
  static void into_solver(const Work& w, const F* from, F* to) {
    evaluator_->call("into_solver", {&w, from, cleared(to)});
  }
  static void out_of_solver(const Work& w, const F* from, F* to) {
    evaluator_->call("out_of_solver", {&w, from, from == to ? to : cleared(to)});
  }
  static void damp(const Work& w, const F* qacc, F* damped) {
    if (robot_->model.implicit_damping)
      evaluator_->call("damp", {&w, qacc, cleared(damped)});
    else
      std::copy_n(qacc, nv, damped);
  }
  static void move_stage(const F* velocity, const F* before, F h, F* along) {
    F start[nv];
    std::copy_n(before, nv, start), std::copy_n(velocity, nv, along);
    if (robot_->model.turns_stages) evaluator_->call("move_stage", {velocity, start, &h, along});
  }
  static void integrate(const F* from, const F* velocity, F h, F* to) {
    evaluator_->call("integrate", {from, velocity, &h, to});
  }
  static void derive_frames(const F* qpos, const F* parameters, Derived& derived) {
    evaluator_->call("derive_frames", {qpos, parameters, &derived});
  }
  static void derive_centers(const F* qpos, const F* parameters, Derived& derived) {
    evaluator_->call("derive_centers", {qpos, parameters, &derived});
  }
  static void derive_geoms(Derived& derived) { evaluator_->call("derive_geoms", {&derived}); }
  static void derive_sites(const F* parameters, Derived& derived) {
    evaluator_->call("derive_sites", {parameters, &derived});
  }
  static void derive_motion(const F* qpos, const F* qvel, const F* parameters, Derived& derived) {
    evaluator_->call("derive_motion", {qpos, qvel, parameters, &derived});
  }
  static void derive_actuators(const F* qpos, const F* qvel, const F* ctrl, const F* act, const F* parameters,
                               Derived& derived) {
    evaluator_->call("derive_actuators", {qpos, qvel, ctrl, act, parameters, &derived});
  }
  static void derive_forces(const F* qpos, const F* qvel, const F* qacc, const F* ctrl, const F* act,
                            const F (*wrench)[6], const F* limit, const F* parameters, Derived& derived) {
    evaluator_->call("derive_forces", {qpos, qvel, qacc, ctrl, act, wrench, limit, parameters, &derived});
  }
  static void derive_constraints(const F* qpos, const F (*wrench)[6], const F* limit, Derived& derived) {
    evaluator_->call("derive_constraints", {qpos, wrench, limit, &derived});
  }

 private:
  static bool has_activations() { return robot_->size("kActivations") > 0; }
  static void clear_rows(Work& w) {
    std::fill_n(w.weight + Sizes::kContacts, Sizes::kLimits, 0.0);
    std::ranges::fill(w.limit_sign, 0.0), std::ranges::fill(w.limit_rest, 0.0);
    for (Place& place : w.contact) place.touch.distance = 1;
    physics::each_friction<EvaluatedRobot>(w, [](const auto&, auto& row) { row.rest = 0; });
  }
  // The index of a tendon's acceleration is behind those of the degrees of freedom, of which there are fewer than nv.
  static int place_of_row(int row) {
    const int dofs = robot_->size("nv");
    return row < dofs ? row : nv + row - dofs;
  }
  // Clears an array with an entry for each degree of freedom. The current robot may have fewer than nv.
  static F* cleared(F* of_dofs) { return std::fill_n(of_dofs, nv, 0.0), of_dofs; }

  // Throws if the current robot is of another kind or too large.
  static void check_kind() {
    if (robot_->model.timestep != Sizes::timestep || robot_->model.runge_kutta != Sizes::kRungeKutta ||
        (robot_->size("kPairs") > 0) != kKind.has_pairs ||
        (robot_->size("kEqualityRows") > 0) != kKind.has_equalities || robot_->size("kEdges") != kKind.edges)
      throw std::runtime_error("a robot of another kind");
    const std::pair<const char*, int> room[] = {{"nq", Sizes::nq},
                                                {"nv", nv},
                                                {"nu", Sizes::nu},
                                                {"nbody", Sizes::nbody},
                                                {"ngeom", Sizes::ngeom},
                                                {"nsite", Sizes::nsite},
                                                {"kTouchingBodies", Sizes::kTouchingBodies},
                                                {"kTouchingFrames", Sizes::kTouchingFrames},
                                                {"kTrees", Sizes::kTrees},
                                                {"kAxis", Sizes::kAxis},
                                                {"kMass", Sizes::kMass},
                                                {"kForce", Sizes::kForce},
                                                {"kFreeTurn", Sizes::kFreeTurn},
                                                {"kDamping", Sizes::kDamping},
                                                {"kContacts", Sizes::kContacts},
                                                {"kLimits", Sizes::kLimits},
                                                {"kPairGeoms", Sizes::kPairGeoms},
                                                {"kPairs", Sizes::kPairs},
                                                {"kFrictions", Sizes::kFrictions},
                                                {"kTendons", Sizes::kTendons},
                                                {"kTendonAlong", Sizes::kTendonAlong},
                                                {"kActivations", Sizes::kActivations},
                                                {"kEqualityRows", Sizes::kEqualityRows}};
    if (kKind.has_equalities && robot_->size("kEqualityAlong") > Sizes::kEqualityAlong)
      throw std::runtime_error("no room for equality constraints");
    for (const auto& [name, most] : room)
      if (robot_->size(name) > most) throw std::runtime_error(std::string("no room for ") + name);
  }
  static void take_tables() {
    const robot_compiler::RobotModel& m = robot_->model;
    std::ranges::transform(robot_->limited_rows(), Sizes::limited_joints, place_of_row);
    std::ranges::fill(Sizes::frictions, physics::DryFriction{});
    std::ranges::transform(robot_->frictions(), Sizes::frictions, [](physics::DryFriction friction) {
      friction.dof = place_of_row(friction.dof);
      return friction;
    });
    std::ranges::transform(m.contacts, Sizes::points, [&](const auto& c) { return robot_->point_of(c); });
    std::ranges::transform(m.pair_geoms, Sizes::pair_geoms, [&](const auto& g) { return robot_->geom_of(g); });
    const std::vector<int> chain = chains(m);
    std::ranges::fill(Sizes::first_of_chains, m.nv), std::ranges::fill(Sizes::parents_of_chains, -1);
    std::ranges::copy(chain, Sizes::chains_of_dofs);
    for (size_t i = chain.size(); i-- > 0;) {
      const auto& ancestors = m.dofs[i].ancestors;
      Sizes::first_of_chains[chain[i]] = static_cast<int>(i);
      Sizes::parents_of_chains[chain[i]] = ancestors.empty() ? -1 : chain[static_cast<size_t>(ancestors[0])];
    }
    physics::ContactPair never{};
    never.reach = 0;
    std::ranges::fill(Sizes::pairs, never);
    std::ranges::transform(m.pairs, Sizes::pairs, [&](const auto& pair) { return robot_->pair_of(pair); });
  }

  // Returns all variables that functions may name. Indices are checked against the sizes in the header, which may be
  // smaller than the arrays.
  static Places places() {
    constexpr size_t kNumber = sizeof(F), kSix = 6 * sizeof(F);
    const auto size = [](const char* name) { return robot_->size(name); };
    Places p;
    for (const char* name : {"distance", "weight", "rest", "h", "result"}) p[name] = {};
    const int dofs = size("nv"), coordinates = size("nq");
    p["matrix[]"] = {0, {kNumber}, {dofs * (dofs + 1) / 2}};
    for (const char* name : {"qvel[]", "velocity[]", "qacc[]", "damped[]", "force[]", "before[]", "along[]"})
      p[name] = {0, {kNumber}, {dofs}};
    // These hold qpos, or a number for each degree of freedom; velocity[] may also be a body's velocity.
    for (const char* name : {"qpos[]", "from[]", "to[]"}) p[name] = {0, {kNumber}, {coordinates}};
    p["velocity[]"].extents = {std::max(dofs, 6)};
    const int tendons = robot_->size("kTendons"), activations = robot_->size("kActivations");
    p["acceleration[]"] = {0, {kNumber}, {std::max(6, tendons)}}, p["wrench[]"] = {0, {kNumber}, {6}};
    for (const char* name : {"act[]", "rate[]"}) p[name] = {0, {kNumber}, {activations}};
    p["to[]"].extents = {std::max(coordinates, activations)};
    if constexpr (kKind.has_tendons)
      p["w.tendon_along[]"] = {offsetof(Work, tendon_along), {kNumber}, {robot_->size("kTendonAlong")}};
    for (const char* name : {"y[]", "change[]", "push[]"}) p[name] = {0, {kNumber}, {size("kEdges")}};
    p["coupling[]"] = {0, {kNumber}, {size("kCouplings")}};
    p["ctrl[]"] = {0, {kNumber}, {size("nu")}};
    const int limits = size("kLimits"), frictions = robot_->size("kFrictions");
    const int equalities = robot_->size("kEqualityRows");
    p["limit[]"] = {0, {kNumber}, {limits + frictions + equalities}, limits, Sizes::kLimits - limits};
    if constexpr (kKind.has_equalities) {
      using Equality = physics::EqualityRow<F>;
      const auto equality = [&](const char* field, size_t offset) {
        p[std::string("w.equality[].") + field] = {offsetof(Work, equality) + offset, {sizeof(Equality)}, {equalities}};
      };
      equality("weight", offsetof(Equality, weight)), equality("rest", offsetof(Equality, rest));
      equality("push", offsetof(Equality, push));
      p["w.equality_along[]"] = {offsetof(Work, equality_along), {kNumber}, {robot_->size("kEqualityAlong")}};
    }
    using Friction = physics::FrictionRow<F>;
    const auto friction = [&](const char* field, size_t offset) {
      p[std::string("w.friction[].") + field] = {offsetof(Work, friction) + offset, {sizeof(Friction)}, {frictions}};
    };
    friction("rest", offsetof(Friction, rest)), friction("active", offsetof(Friction, active));
    friction("slip", offsetof(Friction, slip));
    p["wrench[][]"] = {0, {kSix, kNumber}, {std::max(size("kTrees"), size("kTouchingFrames")), 6}};

#define DRL_PLACE(type, variable, field) p[variable "." #field].offset = offsetof(type, field)
    DRL_PLACE(Touched, "touch", center_x), DRL_PLACE(Touched, "touch", center_y);
    DRL_PLACE(Touched, "touch", center_z), DRL_PLACE(Touched, "touch", distance);
    DRL_PLACE(Touched, "touch", along_x), DRL_PLACE(Touched, "touch", along_y);
    DRL_PLACE(Row, "row", point_x), DRL_PLACE(Row, "row", point_y), DRL_PLACE(Row, "row", point_z);
    DRL_PLACE(Row, "row", tangent_x), DRL_PLACE(Row, "row", tangent_y), DRL_PLACE(Row, "row", rest_normal);
    DRL_PLACE(Row, "row", rest_first), DRL_PLACE(Row, "row", rest_second);
    using Point = physics::ContactPoint;
    DRL_PLACE(Point, "point", radius), DRL_PLACE(Point, "point", height);
#define DRL_SOFTNESS(type, variable)                                                                          \
  DRL_PLACE(type, variable, margin), DRL_PLACE(type, variable, friction), DRL_PLACE(type, variable, weight);  \
  DRL_PLACE(type, variable, stiffness), DRL_PLACE(type, variable, damping), DRL_PLACE(type, variable, least); \
  DRL_PLACE(type, variable, most), DRL_PLACE(type, variable, width), DRL_PLACE(type, variable, midpoint)
    using Pair = physics::ContactPair;
    DRL_SOFTNESS(Point, "point");
    DRL_SOFTNESS(Pair, "pair");
#undef DRL_SOFTNESS
#undef DRL_PLACE
    for (const char* field : {"center_x", "center_y", "center_z", "distance", "along_x", "along_y"})
      p[std::string("w.contact[].touch.") + field] = {
          offsetof(Work, contact) + p[std::string("touch.") + field].offset, {sizeof(Place)}, {size("kContacts")}};

#define DRL_LIST(field, count) p["w." #field "[]"] = { offsetof(Work, field), {kNumber}, {count} }
    DRL_LIST(axis, size("kAxis")), DRL_LIST(mass, size("kMass")), DRL_LIST(force, size("kForce"));
    DRL_LIST(free_turn, size("kFreeTurn")), DRL_LIST(damping, size("kDamping"));
    DRL_LIST(limit_sign, size("kLimits")), DRL_LIST(limit_rest, size("kLimits"));
    const int contacts = size("kContacts"), residuals = contacts * Work::kResidualsPerContact;
    DRL_LIST(weight, contacts + size("kLimits")), DRL_LIST(y, residuals + size("kLimits"));
#undef DRL_LIST
    p["w.weight[]"].gap_from = contacts, p["w.weight[]"].gap = Sizes::kContacts - contacts;
    p["w.y[]"].gap_from = residuals, p["w.y[]"].gap = Work::kContactResiduals - residuals;
#define DRL_ROWS(type, variable, field, columns, count) \
  p[variable "." #field "[][]"] = { offsetof(type, field), {columns * kNumber, kNumber}, {count, columns} }
    DRL_ROWS(Work, "w", tree_offset, 3, size("kTrees"));
    const int bodies = size("nbody");
    DRL_ROWS(Derived, "derived", xpos, 3, bodies), DRL_ROWS(Derived, "derived", xquat, 4, bodies),
        DRL_ROWS(Derived, "derived", xipos, 3, bodies);
    DRL_ROWS(Derived, "derived", subtree_com, 3, bodies), DRL_ROWS(Derived, "derived", cinert, 10, bodies - 1);
    DRL_ROWS(Derived, "derived", cvel, 6, bodies - 1), DRL_ROWS(Derived, "derived", cfrc_ext, 6, bodies - 1);
    DRL_ROWS(Derived, "derived", geom_xpos, 3, size("ngeom")),
        DRL_ROWS(Derived, "derived", site_xpos, 3, size("nsite"));
#undef DRL_ROWS
    p["derived.qfrc_actuator[]"] = {offsetof(Derived, qfrc_actuator), {kNumber}, {dofs}};
    p["derived.qfrc_constraint[]"] = {offsetof(Derived, qfrc_constraint), {kNumber}, {dofs}};
    p["derived.actuator_force[]"] = {offsetof(Derived, actuator_force), {kNumber}, {size("nu")}};
    using Body = physics::TouchingBody<F, Sizes>;
    const auto of_bodies = [&](const char* field, size_t offset, const char* extent) {
      p[std::string("w.body[].") + field + "[]"] = {
          offsetof(Work, body) + offset, {sizeof(Body), kNumber}, {size("kTouchingBodies"), size(extent)}};
    };
    of_bodies("motion", offsetof(Body, motion), "kMotions");
    of_bodies("coupling", offsetof(Body, coupling), "kCouplings");
    using GeomAxis = physics::GeomAxis<F>;
    p["w.geom_axis[].center[]"] = {
        offsetof(Work, geom_axis) + offsetof(GeomAxis, center), {sizeof(GeomAxis), kNumber}, {size("kPairGeoms"), 3}};
    p["w.geom_axis[].half[]"] = {
        offsetof(Work, geom_axis) + offsetof(GeomAxis, half), {sizeof(GeomAxis), kNumber}, {size("kPairGeoms"), 3}};
    return p;
  }

  static inline const TracedRobot* robot_ = nullptr;
  static inline std::optional<Evaluator> evaluator_;
};

}  // namespace drl::test
