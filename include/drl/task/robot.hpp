// The robot as a task sees it: the concept Robot, the parts of a model, and how a task's functions are called. What a
// task consists of is explained in drl/robot.hpp.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include "drl/task.hpp"

namespace drl {

struct RobotModel {
  const char* file;  // MJCF file: absolute, or in a directory that find_model searches (drl/physics/mujoco_model.hpp)
  int frame_skip;    // time steps per step of the task: Task::dt is frame_skip times the file's timestep
  const char* fetched = nullptr;     // a downloaded file that `file` includes, by its path relative to `file`, or null
  const char* fetched_by = nullptr;  // the command that downloads it
};

// Parts of a model. Parts::find sets them by name.
struct BodyId {
  int index = -1;
};
struct GeomId {
  int index = -1;
};
struct SiteId {
  int index = -1;
};
struct ActuatorId {
  int index = -1;
};
// The indices of a joint's first numbers in qpos and in qvel.
struct JointId {
  int qpos = -1, qvel = -1;
};
// The index of a sensor's first number, and their count.
struct SensorId {
  int index = -1, size = 0;
};

template <class F, int N>
struct Vec {
  F at[N];
  DRL_HD F& operator[](int k) { return at[k]; }
  DRL_HD const F& operator[](int k) const { return at[k]; }
};

// The interface through which a task uses a robot. Lengths are in m, angles in rad, forces in N and torques in N m.
// Vectors are in world coordinates.
template <class R>
concept Robot = requires(R& robot, const R& view, int k, typename R::F x, const typename R::F* numbers, BodyId body,
                         GeomId geom, SiteId site, ActuatorId actuator, JointId joint, SensorId sensor) {
  // Sizes of qpos and of qvel; numbers of actuators and of bodies (body 0 is the world).
  { view.nq() } -> std::same_as<int>;
  { view.nv() } -> std::same_as<int>;
  { view.nu() } -> std::same_as<int>;
  { view.nbody() } -> std::same_as<int>;
  robot.advance(numbers);                          // simulates frame_skip time steps with these controls [nu]
  robot.advance(numbers, [] {});                   // also calls the function after each time step, e.g. to read sensors
  robot.forward();                                 // computes everything that depends on qpos and qvel
  { view.timestep() } -> std::same_as<double>;     // s, of the physics
  { view.dt() } -> std::same_as<double>;           // s, of a step of the task: frame_skip * timestep()
  { view.time() } -> std::same_as<typename R::F>;  // s, since the reset
  { view.qpos(k) } -> std::same_as<typename R::F>;
  { view.qvel(k) } -> std::same_as<typename R::F>;
  { view.qpos(joint) } -> std::same_as<typename R::F>;  // the joint's first number; number k is qpos(joint.qpos + k)
  { view.qvel(joint) } -> std::same_as<typename R::F>;
  { view.range(joint) } -> std::same_as<Vec<typename R::F, 2>>;  // lower and upper limit; (0, 0): none
  { view.qacc(k) } -> std::same_as<typename R::F>;               // m/s^2 or rad/s^2
  { view.ctrl(k) } -> std::same_as<typename R::F>;
  robot.set_qpos(k, x);
  robot.set_qvel(k, x);
  robot.keyframe("home");  // in reset: sets qpos, qvel and controls to those of the file's keyframe
  // A body's frame: position (x, y, z) and orientation (w, x, y, z); its centre of mass; the centre of mass of the body
  // and all its descendants; its mass in kg.
  { view.position(body) } -> std::same_as<Vec<typename R::F, 3>>;
  { view.orientation(body) } -> std::same_as<Vec<typename R::F, 4>>;
  { view.center_of_mass(body) } -> std::same_as<Vec<typename R::F, 3>>;
  { view.subtree_center_of_mass(body) } -> std::same_as<Vec<typename R::F, 3>>;
  { view.mass(body) } -> std::same_as<typename R::F>;
  // MuJoCo's cinert, cvel and cfrc_ext, about the centre of mass of the body's kinematic tree. cinert: inertia (6
  // numbers, kg m^2), mass times offset (3, kg m) and mass. cvel: angular and linear velocity (3 each, rad/s, m/s).
  // cfrc_ext: torque and force by contacts and pushes (3 each), 0 before the first advance().
  { view.inertia(body) } -> std::same_as<Vec<typename R::F, 10>>;
  { view.velocity(body) } -> std::same_as<Vec<typename R::F, 6>>;
  { view.external_force(body) } -> std::same_as<Vec<typename R::F, 6>>;
  { view.position(geom) } -> std::same_as<Vec<typename R::F, 3>>;
  { view.position(site) } -> std::same_as<Vec<typename R::F, 3>>;
  // The height (z) of the model's height field at (x, y), or at the nearest point of its edge. The model must have one
  // height field, whose geom is at the world's origin (drl/terrain.hpp).
  { view.ground_height(x, x) } -> std::same_as<typename R::F>;
  // The least x >= 0 at which the ray from + x along meets a plane (from above) or the height field of the world, or
  // -1: the distance, if the length of `along` is 1. Both vectors are in world coordinates; see ray_from() below. A
  // height field must be the only one, and at the world's origin. libmujoco's mj_ray gives the same for these geoms.
  { view.ray(Vec<typename R::F, 3>{}, Vec<typename R::F, 3>{}) } -> std::same_as<typename R::F>;
  // By how many times options have made a geom larger (--env.dr.geom_size); 1 without them.
  { view.size_factor(geom) } -> std::same_as<typename R::F>;
  { view.touches(geom, geom) } -> std::same_as<Mask<typename R::F>>;
  // MuJoCo's qfrc_actuator and qfrc_constraint: the generalised forces on degree of freedom k by actuators, and by
  // limits and contacts, in N (N m for a hinge).
  { view.actuator_force_along(k) } -> std::same_as<typename R::F>;
  { view.constraint_force_along(k) } -> std::same_as<typename R::F>;
  { view.force(actuator) } -> std::same_as<typename R::F>;
  { view.sensor(sensor, k) } -> std::same_as<typename R::F>;
  // Applies a force and a torque at the body's centre of mass, until the next push on it or the reset.
  robot.push(body, Vec<typename R::F, 3>{}, Vec<typename R::F, 3>{});
  // Only in apply(): set_friction sets sliding, torsional and rolling friction; shift_center_of_mass sets the offset of
  // the body's centre of mass from the file's. In lanes, only geoms and bodies that the file's <text name="varies">
  // lists may be set. Numbers that MuJoCo derives from them (invweight0) stay as they are.
  robot.set_friction(geom, Vec<typename R::F, 3>{});
  robot.shift_center_of_mass(body, Vec<typename R::F, 3>{});
};

// Returns robot.ray() for a ray whose origin (m) and direction are in a body's frame.
template <class R>
DRL_HD typename R::F ray_from(const R& robot, BodyId body, const Vec<typename R::F, 3>& from,
                              const Vec<typename R::F, 3>& along) {
  using F = typename R::F;
  const Vec<F, 4> q = robot.orientation(body);
  Vec<F, 3> origin = robot.position(body), direction;
  // v + 2 w (u x v) + 2 u x (u x v), with the quaternion (w, u)
  const auto add_turned = [&](const Vec<F, 3>& v, Vec<F, 3>& to) DRL_LAMBDA {
    const F u[3] = {q[1], q[2], q[3]};
    F c[3];
    for (int k = 0; k < 3; ++k) c[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    for (int k = 0; k < 3; ++k)
      to[k] = to[k] + v[k] + F(2) * (q[0] * c[k] + u[(k + 1) % 3] * c[(k + 2) % 3] - u[(k + 2) % 3] * c[(k + 1) % 3]);
  };
  for (int k = 0; k < 3; ++k) direction[k] = F(0);
  add_turned(from, origin), add_turned(along, direction);
  return robot.ray(origin, direction);
}

// True if a robot's task reads files before environments are made.
template <class Params>
inline constexpr bool kPrepares = requires(const Params& params, const std::string& model) {
  params.prepare(model);
};

// Calls a task's functions with the arguments that the task declares. T is Task<R>.
namespace robot {

// Stands for State, Parts or Params of a task that has none.
struct Empty {
  template <class V>
  DRL_HD void describe(V&) {}
  template <class Find>
  constexpr void find(Find&) {}
};
template <class T>
inline constexpr bool kHasState = requires {
  typename T::State;
};
template <class T>
inline constexpr bool kHasParts = requires {
  typename T::Parts;
};
template <class T>
inline constexpr bool kHasParams = requires {
  typename T::Params;
};
template <class T>
auto state_of() {
  if constexpr (kHasState<T>) return typename T::State{};
  if constexpr (!kHasState<T>) return Empty{};
}
template <class T>
auto parts_of() {
  if constexpr (kHasParts<T>) return typename T::Parts{};
  if constexpr (!kHasParts<T>) return Empty{};
}
template <class T>
auto params_of() {
  if constexpr (kHasParams<T>) return typename T::Params{};
  if constexpr (!kHasParams<T>) return Empty{};
}
template <class T>
using State = decltype(state_of<T>());
template <class T>
using Parts = decltype(parts_of<T>());
template <class T>
using Params = decltype(params_of<T>());

// Calls call(args..., parts, params) without the arguments that T does not have.
template <class T, class Call, class... Args>
DRL_HD auto with(const Call& call, const Parts<T>& parts, const Params<T>& params, Args&... args) {
  if constexpr (kHasParts<T> && kHasParams<T>) {
    return call(args..., parts, params);
  } else if constexpr (kHasParts<T>) {
    return call(args..., parts);
  } else if constexpr (kHasParams<T>) {
    return call(args..., params);
  } else {
    return call(args...);
  }
}
// Calls call(state, args..., parts, params) without the arguments that T does not have.
template <class T, class Call, class S, class... Args>
DRL_HD auto with_state(const Call& call, S& state, const Parts<T>& parts, const Params<T>& params, Args&... args) {
  if constexpr (kHasState<T>) {
    return with<T>(call, parts, params, state, args...);
  } else {
    return with<T>(call, parts, params, args...);
  }
}

template <class T, class R, class F>
DRL_HD void create(State<T>& state, R& robot, Draws<F>& draws, const Parts<T>& parts, const Params<T>& params) {
  if constexpr (requires { &T::create; }) {
    const auto call = [](auto&... all) DRL_LAMBDA { T::create(all...); };
    with_state<T>(call, state, parts, params, robot, draws);
  }
}
template <class T, class R>
DRL_HD void apply(const State<T>& state, R& robot, const Parts<T>& parts, const Params<T>& params) {
  if constexpr (requires { &T::apply; }) {
    const auto call = [](auto&... all) DRL_LAMBDA { T::apply(all...); };
    with_state<T>(call, state, parts, params, robot);
  }
}
template <class T, class R, class F>
DRL_HD void reset(State<T>& state, R& robot, Draws<F>& draws, const Parts<T>& parts, const Params<T>& params) {
  const auto call = [](auto&... all) DRL_LAMBDA { T::reset(all...); };
  with_state<T>(call, state, parts, params, robot, draws);
}

// The result type of a call with draws to a function that does not take draws.
struct TakesNoDraws {};
template <class T, class... All>
concept StepTakes = requires(All&... all) {
  T::step(all...);
};
template <class T, class... All>
concept ObserveTakes = requires(All&... all) {
  T::observe(all...);
};
template <class T, class R, class F>
DRL_HD auto step(State<T>& state, R& robot, const F* action, Draws<F>& draws, const Parts<T>& parts,
                 const Params<T>& params) {
  const auto call = []<class... All>(All&... all) DRL_LAMBDA {
    if constexpr (StepTakes<T, All...>) {
      return T::step(all...);
    } else {
      return TakesNoDraws{};
    }
  };
  using WithDraws = decltype(with_state<T>(call, state, parts, params, robot, action, draws));
  if constexpr (std::is_same_v<WithDraws, TakesNoDraws>) {
    return with_state<T>(call, state, parts, params, robot, action);
  } else {
    return with_state<T>(call, state, parts, params, robot, action, draws);
  }
}
// Out is F*, or a type that is used like it.
template <class T, class R, class F, class Out>
DRL_HD void observe(const State<T>& state, const R& robot, Draws<F>& draws, const Parts<T>& parts,
                    const Params<T>& params, Out obs) {
  const auto call = [&]<class... All>(All&... all) DRL_LAMBDA {
    if constexpr (ObserveTakes<T, All..., Out>) {
      T::observe(all..., obs);
      return true;
    } else {
      return TakesNoDraws{};
    }
  };
  using WithDraws = decltype(with_state<T>(call, state, parts, params, robot, draws));
  if constexpr (std::is_same_v<WithDraws, TakesNoDraws>) {
    with_state<T>(call, state, parts, params, robot);
  } else {
    with_state<T>(call, state, parts, params, robot, draws);
  }
}
template <class T, class R, class Out>
DRL_HD void observe_critic(const State<T>& state, const R& robot, const Parts<T>& parts, const Params<T>& params,
                           Out obs) {
  const auto call = [&](auto&... all) DRL_LAMBDA { T::observe_critic(all..., obs); };
  with_state<T>(call, state, parts, params, robot);
}
template <class T, class Canvas>
void draw(const State<T>& state, const Params<T>& params, Canvas& canvas) {
  if constexpr (requires { &T::template draw<Canvas>; }) {
    if constexpr (kHasState<T> && kHasParams<T>) {
      T::draw(state, params, canvas);
    } else if constexpr (kHasState<T>) {
      T::draw(state, canvas);
    } else if constexpr (kHasParams<T>) {
      T::draw(params, canvas);
    } else {
      T::draw(canvas);
    }
  }
}

}  // namespace robot
}  // namespace drl
