// Robots' tasks on physics in lanes: the Robot of drl/robot.hpp on a model that drl_robot has compiled, and a task of
// one as drl/task.hpp wants it.
#pragma once

#include <array>

#include "drl/compiled_robot.hpp"
#include "drl/physics_support.hpp"
#include "drl/robot.hpp"

namespace drl {
inline namespace DRL_ISA {

// Environments of F's lanes during one step or reset. What a task reads is computed when it asks for it, all of a kind
// at once; nothing else is.
template <class Number, class Compiled, int FrameSkip>
class PhysicsRobot {
  using P = typename Compiled::template Physics<Number>;

 public:
  using F = Number;

  // For a step from `state`, which stays where it is.
  DRL_HD void take(typename P::State& state) {
    state_ = &state;
    physics::begin_parameters<P>(last_);
  }
  // As the file says, at rest.
  DRL_HD void begin(typename P::State& state) {
    take(state);
    for (int k = 0; k < P::nq; ++k) state.qpos[k] = F(Compiled::qpos0[k]);
    for (int k = 0; k < P::nv; ++k) state.qvel[k] = state.warm_start[k] = F(0);
    for (int k = 0; k < P::nu; ++k) ctrl_[k] = F(0);
    state.time = F(0);
    has_ctrl_ = true, has_stage_ = advanced_ = false;
  }
  // Where the physics has gone wrong, as MuJoCo sees it: numbers that are not finite, which the executor finds too, or
  // larger than 1e10.
  DRL_HD Mask<F> diverged() const {
    F most = F(0);
    for (int k = 0; k < P::nq; ++k) most = math::max(most, math::abs(state_->qpos[k]));
    for (int k = 0; k < P::nv; ++k) {
      most = math::max(most, math::abs(state_->qvel[k]));
      if (advanced_) most = math::max(most, math::abs(last_.qacc[k]));
    }
    return F(1e10) < most;
  }
  // How many of its solutions had not converged.
  DRL_HD F unsolved() const { return unsolved_; }
  // What the task has asked for that is not to be had in lanes, or at that time; else null. The numbers that it got
  // are not right then.
  DRL_HD const char* lacking() const { return lacking_; }

  DRL_HD static constexpr int nq() { return P::nq; }
  DRL_HD static constexpr int nv() { return P::nv; }
  DRL_HD static constexpr int nu() { return P::nu; }
  DRL_HD static constexpr int nbody() { return P::nbody; }

  DRL_HD void advance(const F* controls) {
    for (int k = 0; k + 1 < FrameSkip; ++k) step(controls, false);
    step(controls, true);
  }
  template <class Watch>
  DRL_HD void advance(const F* controls, const Watch& after_each) {
    for (int k = 0; k < FrameSkip; ++k) {
      step(controls, true);
      after_each();
    }
  }
  DRL_HD void forward() {
    if (!has_ctrl_) lacking_ = "forward() before advance()";
    physics::begin_stage<P>(*state_, ctrl_, last_);
    has_stage_ = true, is_solved_ = false, forget_seen();
  }

  DRL_HD F time() const { return state_->time; }
  DRL_HD F qpos(int k) const { return state_->qpos[k]; }
  DRL_HD F qvel(int k) const { return state_->qvel[k]; }
  DRL_HD F qpos(JointId joint) const { return state_->qpos[joint.qpos]; }
  DRL_HD F qvel(JointId joint) const { return state_->qvel[joint.qvel]; }
  DRL_HD Vec<F, 2> range(JointId joint) const {
    Vec<F, 2> range = none<2>();
    for (const auto& named : Compiled::joints)
      if (named.qvel == joint.qvel) range = {{F(named.low), F(named.high)}};
    return range;
  }
  DRL_HD F qacc(int k) const { return solved().qacc[k]; }
  DRL_HD F ctrl(int k) const {
    if (!has_ctrl_) lacking_ = "controls before advance()";
    return ctrl_[k];
  }
  DRL_HD void set_qpos(int k, F x) { state_->qpos[k] = x; }
  DRL_HD void set_qvel(int k, F x) { state_->qvel[k] = x; }

  DRL_HD Vec<F, 3> position(BodyId body) const { return row(places().xpos, body.index); }
  DRL_HD Vec<F, 4> orientation(BodyId body) const { return row(places().xquat, body.index); }
  DRL_HD Vec<F, 3> center_of_mass(BodyId body) const { return row(places().xipos, body.index); }
  DRL_HD Vec<F, 3> subtree_center_of_mass(BodyId body) const { return row(places().subtree_com, body.index); }
  DRL_HD F mass(BodyId body) const { return motion().cinert[body.index][9]; }
  DRL_HD Vec<F, 10> inertia(BodyId body) const { return row(motion().cinert, body.index); }
  DRL_HD Vec<F, 6> velocity(BodyId body) const { return row(motion().cvel, body.index); }
  DRL_HD Vec<F, 6> external_force(BodyId body) const {
    if (advanced_) return row(forces().cfrc_ext, body.index);
    return none<6>();
  }
  DRL_HD Vec<F, 3> position(GeomId geom) const { return row(places().geom_xpos, geom.index); }
  DRL_HD Vec<F, 3> position(SiteId site) const { return row(places().site_xpos, site.index); }
  DRL_HD Mask<F> touches(GeomId, GeomId) const { return lacks<1>("which geoms touch")[0] != F(0); }
  DRL_HD F actuator_force_along(int k) const { return forces().qfrc_actuator[k]; }
  DRL_HD F constraint_force_along(int k) const { return forces().qfrc_constraint[k]; }
  DRL_HD F force(ActuatorId actuator) const { return forces().actuator_force[actuator.index]; }
  DRL_HD F sensor(SensorId sensor, int k = 0) const {
    if constexpr (P::kSensorNumbers > 0) {
      const int place = P::sensor_place[sensor.index + k];
      return place < 0 ? sensors().sensor[sensor.index + k] : solved().sensed[place / 4][place % 4];
    } else {
      return lacks<1>("sensors")[0];
    }
  }

  DRL_HD void push(BodyId, Vec<F, 3>, Vec<F, 3>) { lacking_ = "pushes on bodies"; }
  DRL_HD void set_friction(GeomId geom, Vec<F, 3> friction) {
    if (!set_own(physics::Parameter::friction, geom.index, friction))
      lacking_ = "a friction of its own that the model's text 'varies' does not name";
  }
  DRL_HD void shift_center_of_mass(BodyId body, Vec<F, 3> by) {
    if (!set_own(physics::Parameter::center_of_mass, body.index, by))
      lacking_ = "a centre of mass of its own that the model's text 'varies' does not name";
  }

 private:
  // Whether the model has this parameter.
  DRL_HD bool set_own([[maybe_unused]] physics::Parameter::Kind kind, [[maybe_unused]] int index,
                      [[maybe_unused]] const Vec<F, 3>& own) {
    if constexpr (P::kParameters > 0)
      for (int p = 0; 3 * p < P::kParameters; ++p)
        if (P::parameters[p].kind == kind && P::parameters[p].index == index) {
          for (int k = 0; k < 3; ++k) last_.own[3 * p + k] = own[k];
          return true;
        }
    return false;
  }
  DRL_HD void step(const F* controls, bool wants_forces) {
    for (int a = 0; a < P::nu; ++a) ctrl_[a] = controls[a];
    physics::step<P>(*state_, ctrl_, last_, wants_forces);
    unsolved_ = unsolved_ + last_.unsolved;
    has_ctrl_ = has_stage_ = advanced_ = is_solved_ = true, forget_seen();
  }
  DRL_HD void forget_seen() { has_places_ = has_motion_ = has_forces_ = has_sensors_ = false; }

  // The stage that is seen; solved, what a forward() has put off.
  DRL_HD const typename P::Stage& stage() const {
    if (!has_stage_) lacking_ = "what it saw before advance()";
    return last_;
  }
  DRL_HD const typename P::Stage& solved() const {
    if (stage(); !is_solved_) solve();
    return last_;
  }
  DRL_HD void solve() const {
    typename P::Work w;
    F damped[P::nv];
    physics::forward<P>(last_, state_->warm_start, w, damped);
    physics::find_forces<P>(w, last_);
    unsolved_ = unsolved_ + last_.unsolved;
    is_solved_ = true;
  }

  DRL_HD const typename P::Seen& places() const {
    const auto& s = stage();
    if (!has_places_) physics::see_places<P>(s, seen_);
    has_places_ = true;
    return seen_;
  }
  DRL_HD const typename P::Seen& motion() const {
    const auto& s = stage();
    if (!has_motion_) physics::see_motion<P>(s, seen_);
    for (F& x : seen_.cinert[0]) x = F(0);  // the world's
    for (F& x : seen_.cvel[0]) x = F(0);
    has_motion_ = true;
    return seen_;
  }
  DRL_HD const typename P::Seen& forces() const {
    const auto& s = solved();
    if (!has_forces_) physics::see_forces<P>(s, seen_);
    for (F& x : seen_.cfrc_ext[0]) x = F(0);
    has_forces_ = true;
    return seen_;
  }
  DRL_HD const typename P::Seen& sensors() const {
    const auto& s = stage();
    if (!has_sensors_) physics::see_sensors<P>(s, seen_);
    has_sensors_ = true;
    return seen_;
  }
  template <int N>
  DRL_HD static Vec<F, N> row(const F (*rows)[N], int k) {
    Vec<F, N> numbers;
    for (int c = 0; c < N; ++c) numbers[c] = rows[k][c];
    return numbers;
  }
  template <int N>
  DRL_HD static Vec<F, N> none() {
    Vec<F, N> numbers;
    for (int c = 0; c < N; ++c) numbers[c] = F(0);
    return numbers;
  }
  template <int N>
  DRL_HD Vec<F, N> lacks(const char* what) const {
    lacking_ = what;
    return none<N>();
  }

  typename P::State* state_;
  F ctrl_[physics::some(P::nu)];
  mutable typename P::Stage last_;
  mutable typename P::Seen seen_;
  mutable F unsolved_ = F(0);
  mutable const char* lacking_ = nullptr;
  bool has_ctrl_ = false, has_stage_ = false, advanced_ = false;
  mutable bool is_solved_ = false, has_places_ = false, has_motion_ = false, has_forces_ = false, has_sensors_ = false;
};

// What Parts::find calls: numbers of parts are MuJoCo's.
template <class Compiled>
class CompiledParts {
 public:
  void operator()(BodyId& id, const char* name) const { id.index = find(Compiled::body_names, name); }
  void operator()(GeomId& id, const char* name) const { id.index = find(Compiled::geom_names, name); }
  void operator()(SiteId& id, const char* name) const { id.index = find(Compiled::site_names, name); }
  void operator()(ActuatorId& id, const char* name) const { id.index = find(Compiled::actuator_names, name); }
  void operator()(JointId& id, const char* name) const {
    for (const auto& joint : Compiled::joints)
      if (is_same(joint.name, name)) id = {joint.qpos, joint.qvel};
  }
  void operator()([[maybe_unused]] SensorId& id, [[maybe_unused]] const char* name) const {
    if constexpr (requires { Compiled::sensors; })
      for (const auto& sensor : Compiled::sensors)
        if (is_same(sensor.name, name)) id = {sensor.first, sensor.size};
  }

 private:
  template <int N>
  static int find(const char* const (&names)[N], const char* name) {
    for (int k = 0; k < N; ++k)
      if (is_same(names[k], name)) return k;
    return 0;  // not there: libmujoco has said so before
  }
  static bool is_same(const char* a, const char* b) {
    for (; *a && *a == *b; ++a) ++b;
    return *a == *b;
  }
};
template <class Definition, class Compiled>
const robot::Parts<Definition>& compiled_parts() {
  static const robot::Parts<Definition> found = [] {
    robot::Parts<Definition> parts{};
    CompiledParts<Compiled> find;
    parts.find(find);
    return parts;
  }();
  return found;
}

}  // namespace DRL_ISA

// With which a task can be asked what it says of itself.
struct NoRobot {
  using F = float;
};
template <template <class> class Task>
using CompiledModel = CompiledRobot<model_key(Task<NoRobot>::model.file)>;

// Defined with libmujoco: where the model is that a film shows.
template <template <class> class Task>
const char* filmed_model();

template <template <class> class Task, bool = CompiledModel<Task>::is_compiled>
struct PhysicsTask {
  template <class F>
  struct Of {
    using NotCompiled = void;
  };
};

// The task of a robot that was compiled. Beside what it keeps itself, an environment is its position, velocity and
// time, and where its solver starts.
template <template <class> class Task>
struct PhysicsTask<Task, true> {
  using Compiled = CompiledModel<Task>;
  template <class F>
  using RobotOf = PhysicsRobot<F, Compiled, Task<NoRobot>::model.frame_skip>;

  template <class F>
  struct Of : Task<RobotOf<F>> {
    using Definition = Task<RobotOf<F>>;
    using Params = robot::Params<Definition>;
    using Physics = typename Compiled::template Physics<F>;
    static constexpr int kMetrics = metric_count<Definition>();

    struct State {
      typename Physics::State physics;
      [[no_unique_address]] robot::State<Definition> task;
      template <class V>
      DRL_HD void describe(V& visit) {
        visit("physics/qpos", physics.qpos), visit("physics/qvel", physics.qvel);
        visit("physics/warm_start", physics.warm_start), visit("physics/time", physics.time);
        task.describe(visit);
      }
    };
    struct Scratch {
      RobotOf<F> robot;
    };

    static constexpr const char* model_id = Compiled::id;
    // The task's own, and how many of a step's solutions had not converged.
    static constexpr auto metrics = [] {
      std::array<const char*, kMetrics + 1> names{};
      if constexpr (kMetrics > 0)
        for (int m = 0; m < kMetrics; ++m) names[m] = Definition::metrics[m];
      names[kMetrics] = "unsolved";
      return names;
    }();

    DRL_HD static void create(State& s, Scratch& scratch, Draws<F>& draws, const Params& p) {
      scratch.robot.begin(s.physics);
      robot::create<Definition>(s.task, scratch.robot, draws, parts(), p);
    }
    DRL_HD static void reset(State& s, Scratch& scratch, Draws<F>& draws, const Params& p) {
      scratch.robot.begin(s.physics);
      robot::apply<Definition>(s.task, scratch.robot, parts(), p);
      robot::reset<Definition>(s.task, scratch.robot, draws, parts(), p);
    }
    DRL_HD static auto step(State& s, Scratch& scratch, const F* action, Draws<F>& draws, const Params& p) {
      scratch.robot.take(s.physics);
      robot::apply<Definition>(s.task, scratch.robot, parts(), p);
      const auto own = robot::step<Definition>(s.task, scratch.robot, action, draws, parts(), p);
      Step<F, reward_term_count<Definition>(), kMetrics + 1, end_count<Definition>()> result;
      result.reward = own.reward, result.terminated = own.terminated, result.truncated = own.truncated;
      for (int t = 0; t < reward_term_count<Definition>(); ++t) result.terms[t] = own.terms[t];
      for (int m = 0; m < kMetrics; ++m) result.metrics[m] = own.metrics[m];
      for (int k = 0; k < end_count<Definition>(); ++k) result.ends[k] = own.ends[k];
      result.metrics[kMetrics] = scratch.robot.unsolved();
      const F nan = F(__builtin_nanf(""));
      s.physics.time = math::select(scratch.robot.diverged(), nan, s.physics.time);  // the environment is lost
      return result;
    }
    DRL_HD static void observe(const State& s, const Scratch& scratch, Draws<F>& draws, const Params& p, F* obs) {
      robot::observe<Definition>(s.task, scratch.robot, draws, parts(), p, obs);
    }
    DRL_HD static void observe_critic(const State& s, const Scratch& scratch, const Params& p, F* obs) {
      robot::observe_critic<Definition>(s.task, scratch.robot, parts(), p, obs);
    }
    template <class Canvas>
    static void draw(const State& s, const Params& p, Canvas& canvas) {
      double qpos[Physics::nq];
      for (int k = 0; k < Physics::nq; ++k) qpos[k] = static_cast<double>(s.physics.qpos[k]);
      canvas.model(filmed_model<Task>(), qpos, Physics::nq);
      robot::draw<Definition>(s.task, p, canvas);
    }

   private:
    DRL_HD static const robot::Parts<Definition>& parts() { return compiled_parts<Definition, Compiled>(); }
  };
};

}  // namespace drl
