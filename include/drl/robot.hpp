// Defines what a robot's task is: one short header like examples/own_robot/balancer.hpp. It is written against the
// concept Robot (drl/task/robot.hpp), not against a physics engine. R::F is the robot's number type: double with
// libmujoco (drl/physics/mujoco_robot.hpp), or lanes (drl/lanes/lanes.hpp) if drl_robot compiled the model
// (drl/physics/robot_in_lanes.hpp).
//
//   template <class R>
//   struct HalfCheetah {
//     using F = typename R::F;
//     name, preset, obs_dim, step_limit, dt (s), action and, if wanted, reward_terms, metrics, ends, truncates,
//     critic_obs_dim, as in drl/task.hpp
//     static constexpr drl::RobotModel model{"half_cheetah.xml", 5};
//       the MJCF file, and the number of its time steps per step of the task
//     static constexpr bool any_frame_skip = true;
//       optional. Promises that the task reads the step length from robot.dt() instead of its own dt, so that it is
//       correct with another frame skip and with a file that has another time step (--env.frame_skip, --env.xml_file)
//     struct Params { Scalar<F> reset_noise_scale = 0.1; ... };
//       optional. Options, as in drl/task.hpp; numbers of a Curriculum are float. `void prepare(const std::string&
//       model) const`, if it exists, is called on the host before environments are made, with the path of the robot's
//       model: it reads files that options name (FileName), and throws std::invalid_argument if it cannot
//     struct Parts { BodyId torso; template <class Find> constexpr void find(Find& find) { find(torso, "torso"); } };
//       optional. Bodies, joints, sensors, ... that the task uses; they are looked up once by their names in the file
//     struct State { F x; template <class V> void describe(V& visit) { visit("x", x); } };
//       optional, may be empty. The task's memory: numbers F and Int<F>, and arrays of them
//     static void create(State&, R&, Draws<F>&, const Parts&, const Params&);
//       optional. Called once in an environment's lifetime, with the robot at the file's qpos0 and at rest
//     static void apply(const State&, R&, const Parts&, const Params&);
//       optional. Sets the model's numbers that differ between environments (set_friction, ...), and nothing else. It
//       must set the same values each time. It is called before reset and before step
//     static void reset(State&, R&, Draws<F>&, const Parts&, const Params&);
//       the robot is at the file's qpos0 and at rest: change qpos and qvel, then call robot.forward()
//     static Step<F, 2, 1> step(State&, R&, const F* action, [Draws<F>&,] const Parts&, const Params&);
//       must call robot.advance(action) exactly once
//     template <class Out> static void observe(const State&, const R&, [Draws<F>&,] const Parts&, const Params&, Out);
//     observe_critic, with critic_obs_dim: the same arguments without draws
//     template <class Canvas> static void draw(const State&, const Params&, Canvas&);
//       optional. Adds to a video of the model (drl/canvas.hpp): canvas.text("command", s.command, "m/s")
//   };
//   DRL_ROBOT(drl::HalfCheetah)
//
// If a task has no State, Parts or Params, its functions do not take that argument. To run in lanes, a task follows
// drl/task.hpp: it uses math:: and select instead of if; Parts::find is constexpr; and all functions are DRL_HD, except
// draw and those that describe options. (Without DRL_HD, the robot runs on CPUs only: list its header after CPU_ONLY in
// drl_add_task_library.)
//
// Before advance(), only qpos, qvel and time belong to this environment. Anything else that the task needs from an
// earlier step, such as the position of a body, must be kept in State. After advance(), qpos and qvel are new, and all
// other numbers are those of the last stage of the last time step, as MuJoCo leaves them. After forward(), all numbers
// belong to the same state. An environment whose physics diverges is lost, like one with numbers that are not finite
// (drl/task.hpp).
#pragma once

#include "drl/physics/define_robot.hpp"
#include "drl/task/robot.hpp"
