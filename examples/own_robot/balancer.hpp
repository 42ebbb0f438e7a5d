// A robot on one wheel that must not fall and should drive at the commanded speed.
#pragma once

#include "drl/robot.hpp"

template <class R>
struct Balancer {
  using F = typename R::F;

  static constexpr const char* name = "Balancer";
  static constexpr int obs_dim = 5, step_limit = 500;
  static constexpr double dt = 0.02;                        // s
  static constexpr drl::ContinuousAction<1> action{-1, 1};  // fraction of the wheel's largest torque, 4 N m
  static constexpr drl::RewardTerm reward_terms[] = {{"tracking", 1}, {"effort", -0.05}};
  static constexpr bool scale_rewards_by_dt = true;
  static constexpr drl::EndCause ends[] = {{"fell"}};
  static constexpr drl::RobotModel model{"balancer.xml", 4};  // in the directory of this header

  struct Params {
    drl::Scalar<F> top_speed = 1, command_time = 2;
    template <class V>
    void describe(V& v) {
      v("top_speed", top_speed, "largest commanded speed, in both directions", drl::at_least(0), drl::unit("m/s"));
      v("command_time", command_time, "time between commands", drl::above(0), drl::unit("s"));
    }
  };
  struct Parts {
    drl::JointId x, pitch, axle;
    template <class Find>
    constexpr void find(Find& find) {
      find(x, "x"), find(pitch, "pitch"), find(axle, "axle");
    }
  };
  struct State {
    F command;       // m/s
    F next_command;  // time of the next command, in s
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("command", command), visit("next_command", next_command);
    }
  };

  DRL_HD static void reset(State& s, R& robot, drl::Draws<F>& draws, const Parts& parts, const Params& p) {
    robot.set_qpos(parts.pitch.qpos, draws.uniform(F(-0.1), F(0.1)));
    robot.forward();
    s.next_command = F(0);
    update_command(s, robot, draws, p);
  }

  DRL_HD static drl::Step<F, 2, 0, 1> step(State& s, R& robot, const F* action, drl::Draws<F>& draws,
                                           const Parts& parts, const Params& p) {
    robot.advance(action);
    const F error = robot.qvel(parts.x) - s.command;
    drl::Step<F, 2, 0, 1> result;
    result.terms[0] = drl::math::exp(F(-4) * (error * error));
    result.terms[1] = action[0] * action[0];
    result.ends[0] = drl::math::abs(robot.qpos(parts.pitch)) > F(0.7);
    update_command(s, robot, draws, p);
    return result;
  }

  template <class Out>
  DRL_HD static void observe(const State& s, const R& robot, const Parts& parts, const Params&, Out obs) {
    obs[0] = robot.qpos(parts.pitch), obs[1] = robot.qvel(parts.pitch), obs[2] = robot.qvel(parts.x);
    obs[3] = F(0.1) * robot.qvel(parts.axle), obs[4] = s.command;
  }

  template <class Canvas>
  static void draw(const State& s, const Params&, Canvas& canvas) {  // adds text to a video of the model
    canvas.text("command", s.command, "m/s");
  }

  static constexpr const char* preset = R"(
num_envs = 128
num_steps_per_env = 32
max_iterations = 200
[ppo]
schedule = fixed
learning_rate = 5e-4
obs_normalization = true
entropy_coef = 0.0
[policy]
init_std = 0.5
)";

 private:
  // Draws a new command if the old one has expired.
  DRL_HD static void update_command(State& s, const R& robot, drl::Draws<F>& draws, const Params& p) {
    const drl::Mask<F> expired = robot.time() >= s.next_command;
    const F new_command = draws.uniform(F(-p.top_speed), F(p.top_speed));
    s.command = drl::math::select(expired, new_command, s.command);
    s.next_command = drl::math::select(expired, robot.time() + F(p.command_time), s.next_command);
  }
};

DRL_ROBOT(Balancer)
