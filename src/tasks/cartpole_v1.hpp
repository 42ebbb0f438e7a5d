// CartPole-v1 of Gymnasium 1.2.0 (envs/classic_control/cartpole.py): push a cart left or right so that the pole on it
// does not fall. The equations are those of R. Florian, "Correct equations for the dynamics of the cart-pole system"
// (2007), without friction, with explicit Euler.
#pragma once

#include "drl/task.hpp"

namespace drl {

template <class F>
struct CartPoleV1 {
  using S = Scalar<F>;
  struct State {
    F x, x_dot;          // cart: m, m/s
    F theta, theta_dot;  // pole: rad (0 is upright), rad/s
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("x", x);
      visit("x_dot", x_dot);
      visit("theta", theta);
      visit("theta_dot", theta_dot);
    }
  };
  struct Params {
    S gravity = 9.8, total_mass = S(1.1), pole_mass = S(0.1), half_length = 0.5;
    S force = 10, dt = S(0.02), x_limit = S(2.4), theta_limit = S(12 * 2 * 3.141592653589793 / 360);
    bool observe_velocities = true;
    template <class V>
    void describe(V& v) {
      v("observe_velocities", observe_velocities, "false: observe 0 for velocities, so that a policy needs a memory");
    }
  };

  static constexpr char name[] = "CartPole-v1";
  static constexpr char description[] = "balances a pole on a cart by pushes to the left or right";
  static constexpr int obs_dim = 4, step_limit = 500;
  static constexpr double dt = 0.02;
  static constexpr DiscreteAction<2> action{};  // left, right
  static constexpr Quantity observations[] = {{"x", "m"}, {"x_dot", "m/s"}, {"theta", "rad"}, {"theta_dot", "rad/s"}};
  static constexpr Quantity actions[] = {{"push"}};
  static constexpr auto mirrored_obs = MirrorTable<4>().add("----");
  static constexpr auto mirrored_action = reversed_numbers<2>();  // left and right change places

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.x = draws.uniform(F(-0.05), F(0.05));
    s.x_dot = draws.uniform(F(-0.05), F(0.05));
    s.theta = draws.uniform(F(-0.05), F(0.05));
    s.theta_dot = draws.uniform(F(-0.05), F(0.05));
  }

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    const F force = math::select(action[0] == F(1), F(p.force), F(-p.force));
    const F cosine = math::cos(s.theta), sine = math::sin(s.theta);
    const F pole_moment = p.pole_mass * p.half_length;
    const F push = (force + pole_moment * (s.theta_dot * s.theta_dot) * sine) / p.total_mass;
    const F theta_acc = (p.gravity * sine - cosine * push) /
                        (p.half_length * (F(4.0 / 3.0) - p.pole_mass * (cosine * cosine) / p.total_mass));
    const F x_acc = push - pole_moment * theta_acc * cosine / p.total_mass;

    s.x = s.x + p.dt * s.x_dot;
    s.x_dot = s.x_dot + p.dt * x_acc;
    s.theta = s.theta + p.dt * s.theta_dot;
    s.theta_dot = s.theta_dot + p.dt * theta_acc;
    const Mask<F> off_track = (math::abs(s.x) > p.x_limit) | (math::abs(s.theta) > p.theta_limit);
    return {.reward = 1, .terminated = off_track};
  }

  template <class Out>
  DRL_HD static void observe(const State& s, const Params& p, Out obs) {
    obs[0] = s.x;
    obs[1] = p.observe_velocities ? s.x_dot : F(0);
    obs[2] = s.theta;
    obs[3] = p.observe_velocities ? s.theta_dot : F(0);
  }

  template <class Canvas>
  static void draw(const State& s, const Params& p, Canvas& canvas) {
    canvas.look({0, 0, 0.35f}, 5.4f);
    canvas.ground(-0.4f);
    canvas.capsule({-p.x_limit, 0, 0}, {p.x_limit, 0, 0}, 0.03f, Canvas::grey);
    canvas.box({s.x, 0, 0}, {0.25f, 0.15f, 0.12f}, 0, Canvas::blue);
    const float length = 2 * p.half_length, y = -0.2f;  // in front of the cart
    canvas.capsule({s.x, y, 0}, {s.x + length * math::sin(s.theta), y, length * math::cos(s.theta)}, 0.05f,
                   Canvas::orange);
  }

  // Rewards are scaled so that values stay near 5. At 50, the critic's tanh units would saturate.
  static constexpr char preset[] = R"(
num_envs = 128
num_steps_per_env = 64
max_iterations = 100
[ppo]
learning_rate = 1e-3
schedule = linear
num_learning_epochs = 5
num_mini_batches = 8
gamma = 0.98
lam = 0.95
entropy_coef = 0.0
max_grad_norm = 0.5
reward_scale = 0.1
use_clipped_value_loss = false
schedule_iterations = 100
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = tanh
init = orthogonal
)";
};

}  // namespace drl

DRL_TASK(drl::CartPoleV1)
