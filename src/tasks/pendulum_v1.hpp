// Pendulum-v1 of Gymnasium 1.2.0 (envs/classic_control/pendulum.py): swing a rod up, with a torque that is too weak to
// lift it directly, and hold it there. theta'' = 3 g/(2 l) sin(theta) + 3/(m l^2) torque, with semi-implicit Euler.
#pragma once

#include "drl/task.hpp"

namespace drl {

template <class F>
struct PendulumV1 {
  using S = Scalar<F>;
  struct State {
    F theta, theta_dot;  // rad (0 is upright), rad/s
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("theta", theta);
      visit("theta_dot", theta_dot);
    }
  };
  struct Params {
    S gravity = 10, mass = 1, length = 1, dt = S(0.05), max_speed = 8, max_torque = 2;
    bool observe_velocities = true;
    template <class V>
    void describe(V& v) {
      v("observe_velocities", observe_velocities, "false: observe 0 for velocities, so that a policy needs a memory");
    }
  };

  static constexpr char name[] = "Pendulum-v1";
  static constexpr char description[] = "swings a pendulum upright and holds it by a torque";
  static constexpr int obs_dim = 3, step_limit = 200;
  static constexpr double dt = 0.05;
  static constexpr ContinuousAction<1> action{-2, 2};
  static constexpr Quantity observations[] = {{"cos(theta)"}, {"sin(theta)"}, {"theta_dot", "rad/s"}};
  static constexpr Quantity actions[] = {{"torque", "N m"}};
  static constexpr auto mirrored_obs = MirrorTable<3>().add("+--");
  static constexpr auto mirrored_action = MirrorTable<1>().add("-");

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.theta = draws.uniform(F(-kPi), F(kPi));
    s.theta_dot = draws.uniform(-1, 1);
  }

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    const F torque = math::clamp(action[0], -p.max_torque, p.max_torque);
    const F angle = s.theta - F(2 * kPi) * math::floor((s.theta + F(kPi)) / F(2 * kPi));  // in [-pi, pi)
    const F cost = angle * angle + F(0.1) * (s.theta_dot * s.theta_dot) + F(0.001) * (torque * torque);

    const F acceleration =
        3 * p.gravity / (2 * p.length) * math::sin(s.theta) + 3 / (p.mass * (p.length * p.length)) * torque;
    s.theta_dot = math::clamp(s.theta_dot + acceleration * p.dt, -p.max_speed, p.max_speed);
    s.theta = s.theta + s.theta_dot * p.dt;
    return {.reward = -cost};
  }

  template <class Out>
  DRL_HD static void observe(const State& s, const Params& p, Out obs) {
    obs[0] = math::cos(s.theta);
    obs[1] = math::sin(s.theta);
    obs[2] = p.observe_velocities ? s.theta_dot : F(0);
  }

  template <class Canvas>
  static void draw(const State& s, const Params& p, Canvas& canvas) {
    canvas.look({0, 0, 0}, 3.6f);
    // As in Gymnasium's picture, positive theta is to the left.
    canvas.capsule({0, 0, 0}, {-p.length * math::sin(s.theta), 0, p.length * math::cos(s.theta)}, 0.08f,
                   Canvas::orange);
    canvas.sphere({0, 0, 0}, 0.11f, Canvas::black);
  }

  static constexpr char preset[] = R"(
num_envs = 128
num_steps_per_env = 64
max_iterations = 150
[ppo]
learning_rate = 1e-3
schedule = adaptive
num_learning_epochs = 5
num_mini_batches = 8
gamma = 0.97
lam = 0.95
entropy_coef = 0.0
max_grad_norm = 0.5
reward_scale = 0.1
use_clipped_value_loss = false
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = tanh
init_std = 1.0
init = orthogonal
)";

 private:
  static constexpr double kPi = 3.141592653589793;
};

}  // namespace drl

DRL_TASK(drl::PendulumV1)
