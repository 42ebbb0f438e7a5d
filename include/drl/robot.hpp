// What a task of a robot is: one short header like examples/own_robot/balancer.hpp, written against a Robot and not
// against what computes its physics. R::F is the robot's number: double behind libmujoco (drl/mujoco.hpp), and lanes
// (drl/lanes.hpp) where drl_robot has compiled the model (drl/physics_task.hpp).
//
//   template <class R>
//   struct HalfCheetah {
//     using F = typename R::F;
//     name, preset, obs_dim, step_limit, dt (s), action and, where wanted, reward_terms, metrics, ends, truncates,
//     critic_obs_dim, as drl/task.hpp has them
//     static constexpr drl::RobotModel model{"half_cheetah.xml", 5};
//       the MJCF file, and how many of its time steps a step of the task has
//     static constexpr bool any_frame_skip = true;
//       may be left out. The task asks robot.dt() for its seconds, and not its own dt: it is right for another frame
//       skip and for a file with another time step too (--env.frame_skip, --env.xml_file)
//     struct Params { Scalar<F> reset_noise_scale = 0.1; ... };
//       may be left out. Options, as in drl/task.hpp; numbers of a Curriculum are float
//     struct Parts { BodyId torso; template <class Find> constexpr void find(Find& find) { find(torso, "torso"); } };
//       may be left out. What the task asks the robot for by number, found once, by its name in the file
//     struct State { F x; template <class V> void describe(V& visit) { visit("x", x); } };
//       may be empty or left out. What the task remembers: numbers F and Int<F>, and arrays of them
//     static void create(State&, R&, Draws<F>&, const Parts&, const Params&);
//       once in a lifetime, of a robot as before reset; may be left out
//     static void apply(const State&, R&, const Parts&, const Params&);
//       may be left out. Sets the model's numbers that differ by environment (set_friction, ...), and only these,
//       always the same ones; it is called before reset and step
//     static void reset(State&, R&, Draws<F>&, const Parts&, const Params&);
//       the robot is at the file's qpos0 and at rest: change qpos and qvel, then call robot.forward()
//     static Step<F, 2, 1> step(State&, R&, const F* action, [Draws<F>&,] const Parts&, const Params&);
//       calls robot.advance(action), once
//     template <class Out> static void observe(const State&, const R&, [Draws<F>&,] const Parts&, const Params&, Out);
//     observe_critic, with critic_obs_dim: the same arguments without draws
//     template <class Canvas> static void draw(const State&, const Params&, Canvas&);
//       may be left out. What a film shows beside the model (drl/canvas.hpp): canvas.text("command", s.command, "m/s")
//   };
//   DRL_ROBOT(drl::HalfCheetah)
//
// State, Parts and Params that are left out are left out of the arguments too. So that it runs in lanes a task is
// written as drl/task.hpp says, with math:: and select and without if, and all its functions but draw and those of
// options are DRL_HD; Parts::find is constexpr. (Of a header without DRL_HD only a host steps the robot.) Before
// advance() only qpos, qvel and time are this environment's: what else was seen after the last step and is needed again
// (where a body was) goes into State. After advance() qpos and qvel are new, and all else is of the last stage of the
// physics' last step, as MuJoCo leaves it; after forward() all belongs together. An environment whose physics diverges
// is lost, as one whose numbers are not finite (drl/task.hpp).
#pragma once

#include <concepts>
#include <type_traits>

#include "drl/task.hpp"

namespace drl {

// The MJCF file, absolute or in one of the folders that find_model (drl/mujoco.hpp) looks through, and how many of its
// time steps a step of the task has: Task::dt is frame_skip times its timestep. What the file includes may have to be
// fetched: its path beside the file, and what brings it.
struct RobotModel {
  const char* file;
  int frame_skip;
  const char *fetched = nullptr, *fetched_by = nullptr;
};

// Parts of a model. Find sets them by name.
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
// Where a joint's numbers begin in qpos and in qvel.
struct JointId {
  int qpos = -1, qvel = -1;
};
// Where a sensor's numbers begin, and how many there are.
struct SensorId {
  int index = -1, size = 0;
};

template <class F, int N>
struct Vec {
  F at[N];
  DRL_HD F& operator[](int k) { return at[k]; }
  DRL_HD const F& operator[](int k) const { return at[k]; }
};

// What a task sees of a robot. Lengths in m, angles in rad, forces in N, torques in N m, the world's axes.
template <class R>
concept Robot = requires(R& robot, const R& seen, int k, typename R::F x, const typename R::F* numbers, BodyId body,
                         GeomId geom, SiteId site, ActuatorId actuator, JointId joint, SensorId sensor) {
  // Sizes of the model: numbers of qpos, of qvel, actuators, bodies (number 0 is the world).
  { seen.nq() } -> std::same_as<int>;
  { seen.nv() } -> std::same_as<int>;
  { seen.nu() } -> std::same_as<int>;
  { seen.nbody() } -> std::same_as<int>;
  robot.advance(numbers);         // the controls [nu], for frame_skip steps
  robot.advance(numbers, [] {});  // and what is called after each of them: to watch sensors, always the same
  robot.forward();                // computes all that follows from qpos and qvel
  { seen.timestep() } -> std::same_as<double>;  // s, of the physics; and of a step of the task, frame_skip of these
  { seen.dt() } -> std::same_as<double>;
  { seen.time() } -> std::same_as<typename R::F>;  // s, since the reset
  { seen.qpos(k) } -> std::same_as<typename R::F>;
  { seen.qvel(k) } -> std::same_as<typename R::F>;
  { seen.qpos(joint) } -> std::same_as<typename R::F>;  // its first number; the k-th is qpos(joint.qpos + k)
  { seen.qvel(joint) } -> std::same_as<typename R::F>;
  { seen.range(joint) } -> std::same_as<Vec<typename R::F, 2>>;  // its limits
  { seen.qacc(k) } -> std::same_as<typename R::F>;               // m/s^2 or rad/s^2
  { seen.ctrl(k) } -> std::same_as<typename R::F>;
  robot.set_qpos(k, x);
  robot.set_qvel(k, x);
  // Of a body: where its frame is (x, y, z) and how it is turned (w, x, y, z); its centre of mass, and that of it and
  // all that it carries; mass, kg.
  { seen.position(body) } -> std::same_as<Vec<typename R::F, 3>>;
  { seen.orientation(body) } -> std::same_as<Vec<typename R::F, 4>>;
  { seen.center_of_mass(body) } -> std::same_as<Vec<typename R::F, 3>>;
  { seen.subtree_center_of_mass(body) } -> std::same_as<Vec<typename R::F, 3>>;
  { seen.mass(body) } -> std::same_as<typename R::F>;
  // MuJoCo's cinert, cvel and cfrc_ext, about the centre of mass of the body's tree: inertia (6 numbers, kg m^2), mass
  // times offset (3, kg m) and mass; angular and linear velocity (3 each, rad/s, m/s); torque and force of contacts and
  // pushes from outside (3 each), 0 before the first advance().
  { seen.inertia(body) } -> std::same_as<Vec<typename R::F, 10>>;
  { seen.velocity(body) } -> std::same_as<Vec<typename R::F, 6>>;
  { seen.external_force(body) } -> std::same_as<Vec<typename R::F, 6>>;
  { seen.position(geom) } -> std::same_as<Vec<typename R::F, 3>>;
  { seen.position(site) } -> std::same_as<Vec<typename R::F, 3>>;
  { seen.touches(geom, geom) } -> std::same_as<Mask<typename R::F>>;
  // Along the number k of qvel, in N, or N m of a hinge: what actuators give, and what limits and contacts give.
  { seen.actuator_force_along(k) } -> std::same_as<typename R::F>;
  { seen.constraint_force_along(k) } -> std::same_as<typename R::F>;
  { seen.force(actuator) } -> std::same_as<typename R::F>;
  { seen.sensor(sensor, k) } -> std::same_as<typename R::F>;
  // A push on a body's centre of mass until it is set anew, or the reset: force and torque.
  robot.push(body, Vec<typename R::F, 3>{}, Vec<typename R::F, 3>{});
  // In apply(): sliding, torsional and rolling friction; where the body's centre of mass lies beside the file's; in
  // lanes those that the file's text 'varies' names. What MuJoCo has computed for its solver (invweight0) stays.
  robot.set_friction(geom, Vec<typename R::F, 3>{});
  robot.shift_center_of_mass(body, Vec<typename R::F, 3>{});
};

// A task's functions with all arguments, of which it may leave some out. T is Task<R>.
namespace robot {

struct Nothing {
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
  if constexpr (!kHasState<T>) return Nothing{};
}
template <class T>
auto parts_of() {
  if constexpr (kHasParts<T>) return typename T::Parts{};
  if constexpr (!kHasParts<T>) return Nothing{};
}
template <class T>
auto params_of() {
  if constexpr (kHasParams<T>) return typename T::Params{};
  if constexpr (!kHasParams<T>) return Nothing{};
}
template <class T>
using State = decltype(state_of<T>());
template <class T>
using Parts = decltype(parts_of<T>());
template <class T>
using Params = decltype(params_of<T>());

// Calls call(own..., parts, params), and with_state() call(state, own..., parts, params): of these what T has.
template <class T, class Call, class... Own>
DRL_HD auto with(const Call& call, const Parts<T>& parts, const Params<T>& params, Own&... own) {
  if constexpr (kHasParts<T> && kHasParams<T>) {
    return call(own..., parts, params);
  } else if constexpr (kHasParts<T>) {
    return call(own..., parts);
  } else if constexpr (kHasParams<T>) {
    return call(own..., params);
  } else {
    return call(own...);
  }
}
template <class T, class Call, class S, class... Own>
DRL_HD auto with_state(const Call& call, S& state, const Parts<T>& parts, const Params<T>& params, Own&... own) {
  if constexpr (kHasState<T>) {
    return with<T>(call, parts, params, state, own...);
  } else {
    return with<T>(call, parts, params, own...);
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

// Functions that may take draws: where they do not, these give a TakesNoDraws.
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
  using Drawing = decltype(with_state<T>(call, state, parts, params, robot, action, draws));
  if constexpr (std::is_same_v<Drawing, TakesNoDraws>) {
    return with_state<T>(call, state, parts, params, robot, action);
  } else {
    return with_state<T>(call, state, parts, params, robot, action, draws);
  }
}
// Out: F*, or what is used like it.
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
  using Drawing = decltype(with_state<T>(call, state, parts, params, robot, draws));
  if constexpr (std::is_same_v<Drawing, TakesNoDraws>) {
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

// Ends a robot's header, behind its namespace. What it means is said by the units that drl_add_task_library(my_robots
// my_robot.hpp MUJOCO) makes: that of the table, with libmujoco, and those of the loops over lanes.
#if defined(DRL_ROBOT_LOOPS)
#include "drl/physics_task.hpp"
#define DRL_ROBOT(...) DRL_TASK(::drl::PhysicsTask<__VA_ARGS__>::template Of)
#elif defined(DRL_MUJOCO)
#include "drl/mujoco.hpp"
#define DRL_ROBOT(...)                                                                    \
  extern template struct ::drl::ExactLoops<::drl::PhysicsTask<__VA_ARGS__>::template Of>; \
  DRL_SIMULATOR(::drl::MujocoTask<__VA_ARGS__>)
#else
#define DRL_ROBOT(...)
#endif
