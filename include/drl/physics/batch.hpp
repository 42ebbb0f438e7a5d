// Steps many simulations of one compiled robot, for Python's drl.Batch. DRL_BATCH(Compiled) defines the functions of
// the shared library; Compiled is the CompiledRobot or RandomisedRobot of a header that drl_robot writes. The numbers
// are float, or double if DRL_BATCH_DOUBLE is defined. Only whole packs are stepped, which halves the time to compile.
#pragma once

#include <iterator>
#include <type_traits>

#include "drl/physics/batch_library.hpp"
#include "drl/physics/model_constants.hpp"
#include "drl/physics/support.hpp"

namespace drl {

template <class P>
void set_heights(int field, int rows, int columns, const double* size, const float* heights);  // shared_heights.hpp

inline namespace DRL_ISA {

static_assert(kFloatLanes == DRL_LANES, "the compiler's instruction set does not match the namespace DRL_ISA");

#if defined(DRL_BATCH_DOUBLE)
using BatchNumber = double;
using BatchLanes = Pack<double, kFloatLanes / 2>;
#else
using BatchNumber = float;
using BatchLanes = Pack<float, kFloatLanes>;
#endif

template <class Compiled>
struct BatchSteps {
  using T = BatchNumber;
  using F = BatchLanes;
  using P = typename Compiled::template Physics<F>;
  static constexpr int kNumbers = P::kParameters > 0 ? P::kParameters + P::kConstants : 0;

  enum Field {
    time,
    qpos,
    qvel,
    act,
    qacc_warmstart,
    ctrl,
    parameters,
    qacc,
    sensordata,
    xpos,
    xquat,
    xmat,
    xipos,
    geom_xpos,
    site_xpos,
    subtree_com,
    cvel,
    cinert,
    actuator_force,
    qfrc_actuator,
    qfrc_constraint,
    cfrc_ext,
    unsolved,
    diverged
  };
  static constexpr BatchField kFields[] = {
      {"time", 1, BatchField::state},
      {"qpos", P::nq, BatchField::state},
      {"qvel", P::nv, BatchField::state},
      {"act", P::kActivations, BatchField::state},
      {"qacc_warmstart", P::nv, BatchField::state},
      {"ctrl", P::nu, BatchField::input},
      {"parameters", kNumbers, BatchField::input},
      {"qacc", P::nv, BatchField::output},
      {"sensordata", P::kSensorNumbers, BatchField::output},
      {"xpos", 3 * P::nbody, BatchField::output},
      {"xquat", 4 * P::nbody, BatchField::output},
      {"xmat", 9 * P::nbody, BatchField::output},
      {"xipos", 3 * P::nbody, BatchField::output},
      {"geom_xpos", 3 * P::ngeom, BatchField::output},
      {"site_xpos", 3 * P::nsite, BatchField::output},
      {"subtree_com", 3 * P::nbody, BatchField::output},
      {"cvel", 6 * P::nbody, BatchField::output},
      {"cinert", 10 * P::nbody, BatchField::output},
      {"actuator_force", P::nu, BatchField::output},
      {"qfrc_actuator", P::nv, BatchField::output},
      {"qfrc_constraint", P::nv, BatchField::output},
      {"cfrc_ext", 6 * P::nbody, BatchField::output},
      {"unsolved", 1, BatchField::output},
      {"diverged", 1, BatchField::output},
  };

  static_assert(std::size(kFields) == diverged + 1);

  static void run(const BatchCall& call) { BatchSteps(call).run(); }

 private:
  explicit BatchSteps(const BatchCall& call) : call_(call) {}

  void run() {
    typename P::State state;
    typename P::Stage stage;
    typename P::Work work;
    F controls[physics::at_least_one(P::nu)], not_solved(0);
    load_state(state);
    const F begin = trouble(state);
    read(ctrl, P::nu, [&](int k, F x) DRL_LAMBDA { controls[k] = x; });
    physics::begin_fields<P>(stage);
    if constexpr (kNumbers > 0) read(parameters, kNumbers, [&](int k, F x) DRL_LAMBDA { stage.parameters[k] = x; });
    if (call_.steps == 0) {
      physics::begin_stage<P>(state, controls, stage);
      physics::solve_stage<P>(state, stage, work);
      not_solved = stage.unsolved;
    }
    const bool wants_forces = wants(sensordata) || wants(cfrc_ext) || wants(qfrc_constraint);
    for (int k = 1; k <= call_.steps; ++k) {
      physics::step<P>(state, controls, stage, work, wants_forces && k == call_.steps);
      not_solved = not_solved + stage.unsolved;
    }
    if (call_.steps > 0) store_state(state);
    write(unsolved, 1, [&](int) DRL_LAMBDA { return not_solved; });
    write(diverged, 1, [&](int) DRL_LAMBDA {
      return math::select(begin > F(0), begin, math::select(trouble(state) > F(0), F(3), F(0)));
    });
    write(qacc, P::nv, [&](int k) DRL_LAMBDA { return stage.qacc[k]; });
    derive(stage, work);
  }

  // --- Arrays ---

  bool wants(Field field) const { return call_.columns[field] != nullptr; }
  bool wants_any(auto... fields) const { return (wants(fields) || ...); }
  T* number(Field field, int k) const { return static_cast<T*>(call_.columns[field]) + k * call_.stride; }
  template <class Body>
  void read(Field field, int count, const Body& body) const {
    for (int k = 0; k < count; ++k) body(k, load<F>(number(field, k)));
  }
  // Stores value(k) for each k in [0, count), if the field is wanted.
  template <class Value>
  void write(Field field, int count, const Value& value) const {
    if (!wants(field)) return;
    for (int k = 0; k < count; ++k) store(number(field, k), value(k));
  }
  // Stores rows [count] of n numbers each; the world, which is not among them, comes first if `first` is 1.
  template <class Rows>
  void write_rows(Field field, const Rows& rows, int count, int first = 0) const {
    if (!wants(field)) return;
    constexpr int n = static_cast<int>(std::size(std::remove_cvref_t<decltype(rows[0])>{}));
    for (int k = 0; k < n * first; ++k) store(number(field, k), F(0));
    for (int r = first; r < count; ++r)
      for (int k = 0; k < n; ++k) store(number(field, n * r + k), rows[r - first][k]);
  }

  void load_state(typename P::State& s) const {
    read(qpos, P::nq, [&](int k, F x) DRL_LAMBDA { s.qpos[k] = x; });
    read(qvel, P::nv, [&](int k, F x) DRL_LAMBDA { s.qvel[k] = x; });
    read(qacc_warmstart, P::nv, [&](int k, F x) DRL_LAMBDA { s.warm_start[k] = x; });
    if constexpr (P::kActivations > 0) read(act, P::kActivations, [&](int k, F x) DRL_LAMBDA { s.act[k] = x; });
    s.time = load<F>(number(time, 0));
  }
  void store_state(const typename P::State& s) const {
    write(qpos, P::nq, [&](int k) DRL_LAMBDA { return s.qpos[k]; });
    write(qvel, P::nv, [&](int k) DRL_LAMBDA { return s.qvel[k]; });
    write(qacc_warmstart, P::nv, [&](int k) DRL_LAMBDA { return s.warm_start[k]; });
    if constexpr (P::kActivations > 0) write(act, P::kActivations, [&](int k) DRL_LAMBDA { return s.act[k]; });
    store(number(time, 0), s.time);
  }
  // Returns 1 in lanes with a bad position, 2 in lanes with a bad velocity, and otherwise 0 (mj_checkPos, mj_checkVel).
  static F trouble(const typename P::State& s) {
    const F most(1e10);  // mjMAXVAL
    F position(0), velocity(0);
    for (int k = 0; k < P::nq; ++k) position = math::select(math::abs(s.qpos[k]) <= most, position, F(1));
    for (int k = 0; k < P::nv; ++k) velocity = math::select(math::abs(s.qvel[k]) <= most, velocity, F(2));
    return math::select(position > F(0), position, velocity);
  }

  // --- Quantities of the last stage ---

  // Derives what is wanted, and what that is computed from.
  void derive(const typename P::Stage& stage, const typename P::Work& work) const {
    const bool has_sensors = wants(sensordata) && P::kSensorNumbers > 0;
    const bool has_forces = wants(cfrc_ext), has_actuators = wants_any(actuator_force, qfrc_actuator);
    const bool has_motion = wants_any(cvel, cinert) || has_sensors, has_constraints = wants(qfrc_constraint);
    const bool has_centers = wants_any(xipos, subtree_com) || has_sensors;
    const bool has_frames = wants_any(xpos, xquat, xmat, geom_xpos, site_xpos) || has_sensors;
    if (!(has_frames || has_centers || has_motion || has_actuators || has_forces || has_constraints)) return;
    typename P::Derived derived;
    if (has_frames) physics::derive_frames<P>(stage, derived);
    if (wants(geom_xpos)) P::derive_geoms(derived);
    if (wants(site_xpos)) P::derive_sites(stage.parameters, derived);
    if (has_centers) physics::derive_centers<P>(stage, derived);
    if (has_motion) physics::derive_motion<P>(stage, derived);
    if (has_actuators) physics::derive_actuators<P>(stage, derived);
    write_rows(xpos, derived.xpos, P::nbody), write_rows(xquat, derived.xquat, P::nbody);
    if (wants(xmat)) write_matrices(derived.xquat);
    write_rows(xipos, derived.xipos, P::nbody), write_rows(subtree_com, derived.subtree_com, P::nbody);
    write_rows(geom_xpos, derived.geom_xpos, P::ngeom);
    if constexpr (P::nsite > 0) write_rows(site_xpos, derived.site_xpos, P::nsite);
    write_rows(cvel, derived.cvel, P::nbody, 1), write_rows(cinert, derived.cinert, P::nbody, 1);
    write(actuator_force, P::nu, [&](int k) DRL_LAMBDA { return derived.actuator_force[k]; });
    write(qfrc_actuator, P::nv, [&](int k) DRL_LAMBDA { return derived.qfrc_actuator[k]; });
    if constexpr (P::kSensorNumbers > 0)
      if (has_sensors) write_sensors(stage, derived);
    if (has_constraints) {
      P::derive_constraints(stage.qpos, work.forces.wrench, work.forces.limit, derived);
      write(qfrc_constraint, P::nv, [&](int k) DRL_LAMBDA { return derived.qfrc_constraint[k]; });
    }
    if (has_forces) physics::derive_forces<P>(stage, work.forces, derived);
    write_rows(cfrc_ext, derived.cfrc_ext, P::nbody, 1);
  }
  // Numbers of sensors that lanes do not compute are NaN.
  void write_sensors(const typename P::Stage& stage, typename P::Derived& derived) const {
    for (F& x : derived.sensor) x = F(__builtin_nanf(""));
    physics::derive_sensors<P>(stage, derived);
    write(sensordata, P::kSensorNumbers, [&](int k) DRL_LAMBDA {
      const int place = P::sensor_place(k);
      return place < 0 ? derived.sensor[k] : stage.sensed[place / 4][place % 4];
    });
  }
  // Stores the rotation matrix of each body.
  void write_matrices(const F (&quat)[P::nbody][4]) const {
    for (int b = 0; b < P::nbody; ++b) {
      const F w = quat[b][0], x = quat[b][1], y = quat[b][2], z = quat[b][3];
      const F rows[9] = {w * w + x * x - y * y - z * z, F(2) * (x * y - w * z),        F(2) * (x * z + w * y),
                         F(2) * (x * y + w * z),        w * w - x * x + y * y - z * z, F(2) * (y * z - w * x),
                         F(2) * (x * z - w * y),        F(2) * (y * z + w * x),        w * w - x * x - y * y + z * z};
      for (int k = 0; k < 9; ++k) store(number(xmat, 9 * b + k), rows[k]);
    }
  }

  const BatchCall& call_;
};

template <class Compiled>
struct BatchParts {
  using Steps = BatchSteps<Compiled>;
  using P = typename Steps::P;
  using T = typename Steps::T;

  static ModelParameter parameter([[maybe_unused]] int k) {
    if constexpr (P::kParameters > 0) return {P::parameter(k).kind, P::parameter(k).index};
    return {};
  }
  static double start([[maybe_unused]] int k, [[maybe_unused]] int number) {
    if constexpr (P::kParameters > 0) return P::parameter(k).start[number];
    return 0;
  }
  static constexpr int growth() {
    if constexpr (P::kSizes) return P::kGrowth;
    return -1;
  }
  static constexpr int lacking_sensors() {
    if constexpr (requires { Compiled::lacking_sensors; })
      return static_cast<int>(std::size(Compiled::lacking_sensors));
    return 0;
  }
  static void lacking_sensor([[maybe_unused]] int k, [[maybe_unused]] const char** name,
                             [[maybe_unused]] const char** why) {
    if constexpr (requires { Compiled::lacking_sensors; })
      *name = Compiled::lacking_sensors[k].name, *why = Compiled::lacking_sensors[k].why;
  }
  static void set_constants([[maybe_unused]] void* column, [[maybe_unused]] int64_t stride) {
    if constexpr (P::kConstants > 0) {
      using One = typename Compiled::template Physics<T>;  // one lane
      T* numbers = static_cast<T*>(column);
      T drawn[P::kParameters], constants[P::kConstants];
      for (int k = 0; k < P::kParameters; ++k) drawn[k] = numbers[k * stride];
      physics::find_constants<One>(drawn, constants);
      for (int k = 0; k < P::kConstants; ++k) numbers[(P::kParameters + k) * stride] = constants[k];
    }
  }
  static int height_field([[maybe_unused]] int k) {
    if constexpr (P::kHeightFields > 0) return P::height_field(k);
    return 0;
  }
  static void set_field_heights([[maybe_unused]] int k, [[maybe_unused]] int rows, [[maybe_unused]] int columns,
                                [[maybe_unused]] const double* size, [[maybe_unused]] const float* heights) {
    if constexpr (P::kHeightFields > 0) set_heights<P>(k, rows, columns, size, heights);
  }

  static constexpr BatchLibrary kLibrary{.version = BatchLibrary::kVersion,
                                         .model_id = Compiled::id,
                                         .lanes = kLanesOf<typename Steps::F>,
                                         .bytes = sizeof(T),
                                         .fields = static_cast<int>(std::size(Steps::kFields)),
                                         .parameters = P::kParameters / 3,
                                         .constants = P::kConstants,
                                         .lacking_sensors = lacking_sensors(),
                                         .height_fields = P::kHeightFields,
                                         .growth = growth(),
                                         .field = Steps::kFields,
                                         .parameter = parameter,
                                         .start = start,
                                         .lacking_sensor = lacking_sensor,
                                         .set_constants = set_constants,
                                         .height_field = height_field,
                                         .set_heights = set_field_heights,
                                         .run = Steps::run};
};

}  // namespace DRL_ISA
}  // namespace drl

#define DRL_BATCH(...)                                                                             \
  extern "C" __attribute__((visibility("default"))) const drl::BatchLibrary* drl_batch_library() { \
    return &drl::BatchParts<__VA_ARGS__>::kLibrary;                                                \
  }
