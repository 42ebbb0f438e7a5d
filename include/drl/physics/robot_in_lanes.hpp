// The Robot of drl/task/robot.hpp in lanes, for a model that drl_robot has compiled.
#pragma once

#include <cstdint>
#include <iterator>
#include <new>

#include "drl/physics/compiled_robot.hpp"
#include "drl/physics/motor_pass.hpp"
#include "drl/physics/push.hpp"
#include "drl/physics/rays.hpp"
#include "drl/physics/support.hpp"
#include "drl/task/robot.hpp"

namespace drl::inline DRL_ISA {

// The type in which physics for F is computed. On a host, a single float environment is computed as a full register of
// identical lanes, because a robot's functions are large and are compiled for registers only.
#if DRL_ON_GPU
template <class F>
using ComputedAs = F;
#else
template <class F>
using ComputedAs = std::conditional_t<std::is_same_v<F, float>, Pack<float, kFloatLanes>, F>;
#endif

// The places in memory of the numbers that consecutive environments have drawn for their models, and of the constants
// that follow from these. Numbers whose bounds are equal are not read.
struct ModelColumns {
  const float* const* first = nullptr;
  int64_t env = 0;
  const float* bounds = nullptr;  // [kParameters, 2]
  int drawn = 0;                  // kParameters
  template <class F>
  DRL_HD F at(int k) const {
    if (k < drawn && bounds[2 * k] == bounds[2 * k + 1]) return F(bounds[2 * k]);
    return load<F>(first[k] + env);
  }
};

// The environments in the lanes of F during one step or reset. A quantity that a task reads is computed on demand,
// together with all others of its kind.
template <class Number, class Compiled, int FrameSkip>
class PhysicsRobot {
  using L = ComputedAs<Number>;
  using P = typename Compiled::template Physics<L>;
  using State = typename Compiled::template Physics<Number>::State;

 public:
  using F = Number;

  // Prepares a step from `state`, which must stay valid while this object is used.
  DRL_HD void take(State& state) {
    state_ = &state;
    if constexpr (P::kRandomised)
      physics::begin_fields<P>(last_);  // randomise() sets the parameters
    else
      physics::begin_parameters<P>(last_);
  }
  // Lets the lanes' environments read the numbers of their models from memory. Call it before randomise().
  DRL_HD void take_model(const ModelColumns& columns) { columns_of_model_ = columns; }
  // Sets the numbers of the model that this environment has drawn, [kParameters], the constants that follow from them
  // (find_constants), [kConstants], and the controls of its previous step [nu], which advance() replaces. `drawn` and
  // `controls` must stay valid. Call it after take() or begin().
  DRL_HD void randomise([[maybe_unused]] const F* drawn, [[maybe_unused]] const F* constants,
                        [[maybe_unused]] F* controls) {
    if constexpr (P::kRandomised) {
      drawn_ = drawn, last_controls_ = controls;
      if (is_in_columns()) {
        for (int k = 0; k < P::kParameters + P::kConstants; ++k)
          last_.parameters[k] = L(columns_of_model_.template at<F>(k));
      } else {
        for (int k = 0; k < P::kParameters; ++k) last_.parameters[k] = L(drawn[k]);
        for (int k = 0; k < P::kConstants; ++k) last_.parameters[P::kParameters + k] = L(constants[k]);
      }
      for (int p = 0; p < P::kFrictionParameters; ++p)
        for (int k = 2; k >= 0; --k)
          last_.parameters[3 * p + k] = L(P::parameter(p).start[k]) * last_.parameters[3 * p];
      for (int k = 0; k < 3 * P::kPushes; ++k)
        last_.parameters[3 * P::kFirstPush + k] = last_.parameters[3 * P::kFirstTorque + k] = L(0);
      delays_controls_ = false;
      for (int m = 0; m < P::kDelays; ++m)
        delays_controls_ = delays_controls_ || any(F(1) <= drawn_number(3 * (P::kFirstDelay + m) + 2));
    }
  }
  // Lets a network drive the motors whose own force is 0 (ModelParameter::network). `memory` is the motors' memory of
  // the first lane's environment, [motors * network->memory]; its numbers are `stride` apart. Without a network, both
  // are null. Both must stay valid.
  DRL_HD void drive([[maybe_unused]] const MotorNetwork* network, [[maybe_unused]] Scalar<F>* memory,
                    [[maybe_unused]] int64_t stride) {
    if constexpr (P::kMotors > 0) motors_ = {network, memory, stride};
  }
  // Sets the memory of the first lane's environment for arrays in columns (drl/physics/work.hpp), on a GPU. Call it
  // before the first step.
  DRL_HD void place_columns(Scalar<F>* columns) { columns_ = columns; }
  // Sets the memory of all motors to that at the start of an episode.
  DRL_HD void forget_motors() {
    if constexpr (P::kMotors > 0)
      for (int k = 0; motors_.network && k < P::kMotors * motors_.network->memory; ++k)
        store(motors_.memory + k * motors_.stride, F(0));
  }
  // Pushes the robot in this step, if a push is due. `directions` are those of the environment's last pushes,
  // [kPushes, kPushDirection].
  DRL_HD void push([[maybe_unused]] Draws<F> draws, [[maybe_unused]] F* directions) {
    if constexpr (P::kRandomised)
      for (int p = 0; p < P::kPushes; ++p, directions += kPushDirection) {
        const int force = 3 * (P::kFirstPush + p), torque = 3 * (P::kFirstTorque + p);
        const F of_push[3] = {drawn_number(force), drawn_number(force + 1), drawn_number(force + 2)};
        if (!any(F(0) < of_push[1])) {
          draws.skip(kPushDraws);
          continue;
        }
        const Push<F> push(of_push, state_->time, dt());
        push.draw_direction(draws, directions);
        const auto exert = [&](int number, F size, F along) DRL_LAMBDA {
          last_.parameters[number] = L(math::select(push.lasts, size * along, F(0)));
        };
        for (int k = 0; k < 2; ++k) exert(force + k, of_push[0], directions[k]);
        for (int k = 0; k < 3; ++k) exert(torque + k, drawn_number(torque), directions[2 + k]);
      }
  }
  // Sets the state to the model's initial position, at rest.
  DRL_HD void begin(State& state) {
    take(state);
    DRL_ROLLED
    for (int k = 0; k < P::nq; ++k) state.qpos[k] = F(P::qpos0(k));
    DRL_ROLLED
    for (int k = 0; k < P::nv; ++k) state.qvel[k] = state.warm_start[k] = F(0);
    DRL_ROLLED
    for (int k = 0; k < P::nu; ++k) last_.ctrl[k] = L(0);
    if constexpr (P::kActivations > 0)
      for (F& x : state.act) x = F(0);
    state.time = F(0);
    has_ctrl_ = true, has_stage_ = advanced_ = is_solved_ = false, derived_kinds_ = 0;
  }
  // Returns the lanes in which the physics has diverged: MuJoCo's criterion is a value larger than 1e10 or not finite.
  // NaN is not detected here, but in mark_lost() (drl/task/kernels.hpp).
  DRL_HD Mask<F> diverged() const {
    F most = F(0);
    DRL_ROLLED
    for (int k = 0; k < P::nq; ++k) most = math::max(most, math::abs(state_->qpos[k]));
    DRL_ROLLED
    for (int k = 0; k < P::nv; ++k) {
      most = math::max(most, math::abs(state_->qvel[k]));
      if (advanced_) most = math::max(most, math::abs(first(last_.qacc[k])));
    }
    return F(1e10) < most;
  }
  // Returns the number of solutions that did not converge.
  DRL_HD F unsolved() const { return first(unsolved_); }
  // Returns a feature that the task used but that is not available (in lanes, or at that time), or null. If it is not
  // null, the values that the task received are wrong.
  DRL_HD const char* lacking() const { return lacking_; }

  DRL_HD static constexpr int nq() { return P::nq; }
  DRL_HD static constexpr int nv() { return P::nv; }
  DRL_HD static constexpr int nu() { return P::nu; }
  DRL_HD static constexpr int nbody() { return P::nbody; }

  DRL_HD void advance(const F* controls) {
    set_controls(controls);
    with_state([&](auto& state) DRL_LAMBDA {
      DRL_ROLLED
      for (int k = 0; k < FrameSkip; ++k) {
        delay_controls(controls, k), drive_motors(state);
        step(state, k + 1 == FrameSkip);
      }
    });
    keep_controls(controls);
  }
  template <class Watch>
  DRL_HD void advance(const F* controls, const Watch& after_each) {
    set_controls(controls);
    DRL_ROLLED
    for (int k = 0; k < FrameSkip; ++k) {
      delay_controls(controls, k);
      with_state([&](auto& state) DRL_LAMBDA { drive_motors(state), step(state, true); });
      after_each();
    }
    keep_controls(controls);
  }
  DRL_HD void forward() {
    if (!has_ctrl_) lacking_ = "forward() before advance()";
    with_state([&](const auto& state) DRL_LAMBDA { physics::begin_stage<P>(state, last_.ctrl, last_); });
    has_stage_ = true, is_solved_ = false, derived_kinds_ = 0;
  }

  DRL_HD static constexpr double timestep() { return P::timestep; }
  DRL_HD static constexpr double dt() { return P::timestep * FrameSkip; }
  DRL_HD F time() const { return state_->time; }
  DRL_HD F qpos(int k) const { return state_->qpos[k]; }
  DRL_HD F qvel(int k) const { return state_->qvel[k]; }
  DRL_HD F qpos(JointId joint) const { return state_->qpos[joint.qpos]; }
  DRL_HD F qvel(JointId joint) const { return state_->qvel[joint.qvel]; }
  DRL_HD Vec<F, 2> range(JointId joint) const {
    for (int l = 0; l < P::kLimits; ++l)
      if (P::limited(l) == joint.qvel) return range_of(l);
    return {{F(0), F(0)}};
  }
  DRL_HD F qacc(int k) const { return first(solved().qacc[k]); }
  DRL_HD F ctrl(int k) const {
    if (!has_ctrl_) lacking_ = "controls before advance()";
    return first(last_.ctrl[k]);
  }
  DRL_HD void set_qpos(int k, F x) { state_->qpos[k] = x; }
  DRL_HD void set_qvel(int k, F x) { state_->qvel[k] = x; }
  DRL_HD void keyframe([[maybe_unused]] const char* name) {
    if constexpr (P::kKeyframes > 0) {
      const uint64_t hash = text_hash(name);
      for (int key = 0; key < P::kKeyframes; ++key)
        if (const auto& values = P::keyframe(key); values.name == hash) {
          for (int k = 0; k < P::nq; ++k) state_->qpos[k] = F(values.qpos[k]);
          for (int k = 0; k < P::nv; ++k) state_->qvel[k] = F(values.qvel[k]);
          for (int k = 0; k < P::nu; ++k) last_.ctrl[k] = L(values.ctrl[k]);
          if constexpr (P::kActivations > 0)
            for (int k = 0; k < P::kActivations; ++k) state_->act[k] = F(values.act[k]);
          return;
        }
    }
    lacking_ = "a keyframe of this name";
  }

  DRL_HD Vec<F, 3> position(BodyId body) const { return row(derived<kFrames>().xpos, body.index); }
  DRL_HD Vec<F, 4> orientation(BodyId body) const { return row(derived<kFrames>().xquat, body.index); }
  DRL_HD Vec<F, 3> center_of_mass(BodyId body) const { return row(derived<kFrames>().xipos, body.index); }
  DRL_HD Vec<F, 3> subtree_center_of_mass(BodyId body) const {
    return row(derived<kCenters>().subtree_com, body.index);
  }
  DRL_HD F mass(BodyId body) const { return inertia(body)[9]; }
  DRL_HD Vec<F, 10> inertia(BodyId body) const { return row_of_body(derived<kMotion>().cinert, body); }
  DRL_HD Vec<F, 6> velocity(BodyId body) const { return row_of_body(derived<kMotion>().cvel, body); }
  DRL_HD Vec<F, 6> external_force(BodyId body) const {
    if (advanced_) return row_of_body(derived<kForces>().cfrc_ext, body);
    return none<6>();
  }
  DRL_HD Vec<F, 3> position(GeomId geom) const { return row(derived<kGeoms>().geom_xpos, geom.index); }
  DRL_HD Vec<F, 3> position(SiteId site) const {
    if constexpr (P::nsite > 0)
      return row(derived<kSites>().site_xpos, site.index);
    else
      return lacks<3>("sites");
  }
  DRL_HD F ground_height([[maybe_unused]] F x, [[maybe_unused]] F y) const {
    if constexpr (P::kHeightFields == 1) {
      if (last_.height_maps[0].heights != nullptr) return physics::height_at(last_.height_maps[0], x, y);
    }
    return lacks<1>("the height of the ground")[0];
  }
  DRL_HD F ray([[maybe_unused]] const Vec<F, 3>& from, [[maybe_unused]] const Vec<F, 3>& along) const {
    F nearest = F(-1);
    if constexpr (P::kWorldPlanes > 0)
      for (int k = 0; k < P::kWorldPlanes; ++k)
        nearest = physics::nearer(nearest, physics::ray_to_plane(P::world_plane(k), from.at, along.at));
    if constexpr (P::kHeightFields == 1) {
      if (last_.height_maps[0].heights == nullptr) return lacks<1>("rays against the ground")[0];
      nearest = physics::nearer(nearest, physics::ray_to_field(last_.height_maps[0], from.at, along.at));
    } else if constexpr (P::kHeightFields > 1) {
      return lacks<1>("rays against several height fields")[0];
    }
    return nearest;
  }
  DRL_HD F size_factor([[maybe_unused]] GeomId geom) const {
    if constexpr (P::kRandomised)
      for (int p = 0; 3 * p < P::kParameters; ++p)
        if (P::parameter(p).kind == ModelParameter::size && P::parameter(p).index == geom.index)
          return first(last_.parameters[3 * p + 1]);
    return F(1);
  }
  DRL_HD Mask<F> touches(GeomId, GeomId) const { return lacks<1>("which geoms touch")[0] != F(0); }
  DRL_HD F actuator_force_along(int k) const { return first(derived<kActuators>().qfrc_actuator[k]); }
  DRL_HD F constraint_force_along(int k) const { return first(derived<kConstraints>().qfrc_constraint[k]); }
  DRL_HD F force(ActuatorId actuator) const { return first(derived<kActuators>().actuator_force[actuator.index]); }
  DRL_HD F sensor(SensorId sensor, int k = 0) const {
    if constexpr (P::kSensorNumbers > 0) {
      if (sensor.index < 0) return lacks<1>("a sensor that drl_robot does not compile")[0];
      const int place = P::sensor_place(sensor.index + k);
      return first(place < 0 ? derived<kSensors>().sensor[sensor.index + k] : solved().sensed[place / 4][place % 4]);
    } else {
      return lacks<1>("sensors")[0];
    }
  }

  DRL_HD void push(BodyId, Vec<F, 3>, Vec<F, 3>) { lacking_ = "pushes on bodies"; }
  DRL_HD void set_friction(GeomId geom, Vec<F, 3> friction) {
    if (!set_parameter(ModelParameter::friction, geom.index, friction))
      lacking_ = "set_friction() of a geom that the model's text 'varies' does not list";
  }
  DRL_HD void shift_center_of_mass(BodyId body, Vec<F, 3> by) {
    if (!set_parameter(ModelParameter::center_of_mass, body.index, by))
      lacking_ = "shift_center_of_mass() of a body that the model's text 'varies' does not list";
  }

 private:
  // Returns number k that the environment has drawn for its model.
  DRL_HD F drawn_number(int k) const { return is_in_columns() ? columns_of_model_.template at<F>(k) : drawn_[k]; }
  DRL_HD bool is_in_columns() const { return columns_of_model_.first != nullptr; }
  // Returns the range of limit `l`, with the environment's own width and middle.
  DRL_HD Vec<F, 2> range_of(int l) const {
    const F low(P::range(l)[0]), high(P::range(l)[1]);
    if constexpr (P::kRandomised)
      if (const int p = P::limit_parameter(l); p >= 0) {
        const F middle = F(0.5) * (low + high) + first(last_.parameters[p + 1]);
        const F half = F(0.5) * (high - low) * first(last_.parameters[p]);
        return {{middle - half, middle + half}};
      }
    return {{low, high}};
  }
  // Returns whether the model has this parameter.
  DRL_HD bool set_parameter([[maybe_unused]] ModelParameter::Kind kind, [[maybe_unused]] int index,
                            [[maybe_unused]] const Vec<F, 3>& value) {
    if constexpr (P::kParameters > 0)
      for (int p = 0; 3 * p < P::kParameters; ++p)
        if (P::parameter(p).kind == kind && P::parameter(p).index == index) {
          for (int k = 0; k < 3; ++k) last_.parameters[3 * p + k] = L(with_drawn(kind, p, k, value[k]));
          return true;
        }
    return false;
  }
  // Returns a number that the task has set, changed by what the environment has drawn.
  DRL_HD F with_drawn(ModelParameter::Kind kind, int p, int k, F value) const {
    if constexpr (P::kRandomised)
      if (drawn_)
        return kind == ModelParameter::friction ? value * drawn_number(3 * p) : value + drawn_number(3 * p + k);
    return value;
  }
  DRL_HD void set_controls(const F* controls) {
    DRL_ROLLED
    for (int a = 0; a < P::nu; ++a) last_.ctrl[a] = L(controls[a]);
    has_ctrl_ = true, has_work_ = false;
    if constexpr (P::kRandomised)
      for (int a = 0; a < P::nu && last_controls_; ++a)
        last_controls_[a] = math::select(state_->time == F(0), controls[a], last_controls_[a]);
  }
  // Lets motors with a delay receive the previous step's control in time step k of a step (ModelParameter::motor).
  DRL_HD void delay_controls([[maybe_unused]] const F* controls, [[maybe_unused]] int k) {
    if constexpr (P::kRandomised)
      for (int m = 0; m < P::kDelays && delays_controls_; ++m) {
        const int p = P::kFirstDelay + m, a = P::parameter(p).index;
        last_.ctrl[a] = L(math::select(F(k + 1) <= drawn_number(3 * p + 2), last_controls_[a], controls[a]));
      }
  }
  // Sets the torques of the motors that a network drives, for the next time step. GPUs have no networks of motors.
  DRL_HD void drive_motors([[maybe_unused]] const typename P::State& state) {
#if !defined(DRL_GPU_COMPILER)
    if constexpr (P::kMotors > 0)
      for (int m = 0; motors_.network && m < P::kMotors; ++m) {
        const physics::Motor motor = P::motor(m);
        const int p = 3 * (P::kFirstMotor + m);
        const MotorMemory memory{motors_.memory + m * motors_.network->memory * motors_.stride, motors_.stride};
        const L gear(motor.gear);
        const L torque = motor_torque(*motors_.network, last_.ctrl[motor.actuator] - gear * state.qpos[motor.qpos],
                                      gear * state.qvel[motor.qvel], memory);
        last_.parameters[p + 1] = math::select(last_.parameters[p] == L(0), torque, last_.parameters[p + 1]);
      }
#endif
  }
  DRL_HD void keep_controls([[maybe_unused]] const F* controls) {
    if constexpr (P::kRandomised)
      for (int a = 0; a < P::nu && last_controls_; ++a) last_controls_[a] = controls[a];
  }
  DRL_HD void step(typename P::State& state, bool wants_forces) {
    physics::step<P>(state, last_.ctrl, last_, has_work_ ? memory_.work : work(), wants_forces);
    unsolved_ = unsolved_ + last_.unsolved;
    has_stage_ = advanced_ = is_solved_ = has_work_ = true, derived_kinds_ = 0;
  }

  // stage() is the stage that quantities are derived from. solved() also solves it, if forward() has postponed that.
  DRL_HD const typename P::Stage& stage() const {
    if (!has_stage_) lacking_ = "positions, velocities or forces before advance()";
    return last_;
  }
  DRL_HD const typename P::Stage& solved() const {
    if (!is_solved_) solve();
    return last_;
  }
  DRL_HD_CALLED void solve() const {
    stage();
    with_state([&](const auto& state) DRL_LAMBDA { physics::solve_stage<P>(state, last_, work()); });
    unsolved_ = unsolved_ + last_.unsolved;
    is_solved_ = true, has_work_ = false, derived_kinds_ = 0;
  }
  // Constructs the work of a stage in the memory that held derived quantities. The work remembers the last solution
  // from one time step of advance() to the next, but not beyond, so that the next state depends only on the current
  // one.
  DRL_HD typename P::Work& work() const {
    typename P::Work& work = *new (&memory_.work) typename P::Work;
    if constexpr (requires { work.place_columns(columns_); }) work.place_columns(columns_);
    return work;
  }

  // The memory of one motor, as motor_torque() reads and writes it.
  struct MotorMemory {
    Scalar<F>* numbers;
    int64_t stride;
    DRL_HD L operator()(int k) const { return L(load<F>(numbers + k * stride)); }
    DRL_HD void operator()(int k, const L& x) const { store(numbers + k * stride, first(x)); }
  };

  static constexpr bool kIsItself = std::is_same_v<L, F>;
  DRL_HD static F first(const L& x) {
    if constexpr (kIsItself) return x;
    if constexpr (!kIsItself) return lane(x, 0);
  }
  // Calls body(state) with the state converted to the type in which physics is computed.
  template <class Body>
  DRL_HD void with_state(const Body& body) const {
    if constexpr (kIsItself) {
      body(*state_);
    } else {
      typename P::State all;
      each_number(all, [](F& x, L& of_all) DRL_LAMBDA { of_all = L(x); });
      body(all);
      each_number(all, [](F& x, L& of_all) DRL_LAMBDA { x = lane(of_all, 0); });
    }
  }
  template <class Body>
  DRL_HD void each_number(typename P::State& all, const Body& body) const {
    for (int k = 0; k < P::nq; ++k) body(state_->qpos[k], all.qpos[k]);
    for (int k = 0; k < P::nv; ++k) body(state_->qvel[k], all.qvel[k]), body(state_->warm_start[k], all.warm_start[k]);
    body(state_->time, all.time);
    if constexpr (P::kActivations > 0)
      for (int k = 0; k < P::kActivations; ++k) body(state_->act[k], all.act[k]);
  }

  // The kinds of derived quantities. All quantities of a kind are computed as soon as one of them is read.
  enum Kind {
    kFrames = 1,
    kCenters = 2,
    kGeoms = 4,
    kMotion = 8,
    kActuators = 16,
    kForces = 32,
    kConstraints = 64,
    kSensors = 128,
    kSites = 256
  };
  // Returns whether the quantities of a kind depend on the stage's solution.
  static constexpr bool needs_solution(Kind kind) {
    if (kind == kActuators) return P::kAdhesions > 0;
    if (kind == kSensors) return physics::senses_solution<P>();
    return kind == kForces || kind == kConstraints;
  }
  // Returns the quantities of a kind, which are derived when they are read first. Tasks read quantities in many places,
  // so what is long is in a called function.
  template <Kind kind>
  DRL_HD const typename P::Derived& derived() const {
    if (!(derived_kinds_ & kind)) derive<kind>();
    return memory_.after.derived;
  }
  // Moves the forces of the solution to where derived quantities do not replace them.
  DRL_HD_CALLED void keep_forces() const {
    const auto copy = [](const typename P::Forces& from, typename P::Forces& to) DRL_LAMBDA {
      DRL_ROLLED
      for (int f = 0; f < physics::at_least_one(P::kTouchingFrames); ++f)
        for (int k = 0; k < P::kWrench; ++k) to.wrench[f][k] = from.wrench[f][k];
      DRL_ROLLED
      for (int k = 0; k < static_cast<int>(std::size(from.limit)); ++k) to.limit[k] = from.limit[k];
    };
    typename P::Forces forces;  // because the two places overlap
    copy(memory_.work.forces, forces);
    copy(forces, (new (&memory_.after) AfterWork)->forces);
  }
  // Derives the quantities of a kind from the stage, after those that they are computed from.
  template <Kind kind>
  DRL_HD_CALLED void derive() const {
    [[maybe_unused]] const typename P::Stage& s =
        needs_solution(kind) ? solved() : stage();  // solving discards what was derived
    if constexpr (kind == kGeoms || kind == kSites || kind == kSensors) derived<kFrames>();
    if constexpr (kind == kSensors) derived<kCenters>(), derived<kMotion>();
    has_work_ = false;
    if (derived_kinds_ == 0 && is_solved_) keep_forces();
    [[maybe_unused]] const typename P::Forces& forces = memory_.after.forces;
    typename P::Derived& to = memory_.after.derived;
    if constexpr (kind == kFrames) physics::derive_frames<P>(s, to);
    if constexpr (kind == kCenters) physics::derive_centers<P>(s, to);
    if constexpr (kind == kGeoms) P::derive_geoms(to);
    if constexpr (kind == kSites) P::derive_sites(s.parameters, to);
    if constexpr (kind == kMotion) physics::derive_motion<P>(s, to);
    if constexpr (kind == kActuators) physics::derive_actuators<P>(s, to);
    if constexpr (kind == kForces) physics::derive_forces<P>(s, forces, to);
    if constexpr (kind == kConstraints) P::derive_constraints(s.qpos, forces.wrench, forces.limit, to);
    if constexpr (kind == kSensors) physics::derive_sensors<P>(s, to);
    derived_kinds_ = static_cast<uint16_t>(derived_kinds_ | kind);
  }
  template <int N>
  DRL_HD static Vec<F, N> row(const L (*rows)[N], int k) {
    Vec<F, N> numbers;
    for (int c = 0; c < N; ++c) numbers[c] = first(rows[k][c]);
    return numbers;
  }
  // Returns a body's row of an array that has no row for the world, whose numbers are 0.
  template <int N>
  DRL_HD static Vec<F, N> row_of_body(const L (*rows)[N], BodyId body) {
    return body.index > 0 ? row(rows, body.index - 1) : none<N>();
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

  // The memory of a step, and of the quantities that are derived after it.
  struct AfterWork {
    typename P::Forces forces;
    typename P::Derived derived;
  };
  union Memory {
    DRL_HD Memory() {}
    typename P::Work work;
    AfterWork after;
  };
  State* state_;
  ModelColumns columns_of_model_;
  bool delays_controls_ = false;  // some motor has a delay
  const F* drawn_ = nullptr;      // [kParameters], or null; not read if the numbers are in columns
  F* last_controls_ = nullptr;    // [nu] of the previous step; likewise
  struct Motors {
    const MotorNetwork* network = nullptr;
    Scalar<F>* memory = nullptr;
    int64_t stride = 0;
  };
  struct NoMotors {};
  Scalar<F>* columns_ = nullptr;
  [[no_unique_address]] std::conditional_t<(P::kMotors > 0), Motors, NoMotors> motors_;
  mutable typename P::Stage last_;
  mutable Memory memory_;
  mutable L unsolved_ = L(0);
  mutable const char* lacking_ = nullptr;
  bool has_ctrl_ = false, has_stage_ = false, advanced_ = false;
  mutable bool is_solved_ = false;
  mutable bool has_work_ = false;       // of the last time step
  mutable uint16_t derived_kinds_ = 0;  // the kinds that have been computed
};

}  // namespace drl::inline DRL_ISA
