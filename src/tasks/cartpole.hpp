// Isaac Lab's Cartpole (isaaclab_tasks/manager_based/classic/cartpole): push a cart along a rail so that the pole
// hinged on it stays upright. The cart has 1 kg and viscous damping c = 10 N s/m in its joint. The pole is a uniform
// rod of m = 0.1 kg and length 1 m, hence l = 1/2 m from hinge to centre and inertia m l^2/3 about the centre. The
// hinge has no friction.
//
// With theta = 0 upright and total mass M (Florian, "Correct equations for the dynamics of the cart-pole system", 2007,
// equations 23 and 24, with the cart's friction viscous):
//   push      = (force - c x' + m l theta'^2 sin(theta)) / M
//   theta''   = (g sin(theta) - cos(theta) push) / (l (4/3 - m cos(theta)^2 / M))
//   x''       = push - m l theta'' cos(theta) / M
// Semi-implicit Euler (velocities first, then positions with the new velocities) integrates them twice per step, as in
// PhysX.
#pragma once

#include "drl/task.hpp"

namespace drl {

template <class F>
struct Cartpole {
  using S = Scalar<F>;
  struct State {
    F x, theta;          // m; rad: 0 is upright, and the angle is not wrapped
    F x_dot, theta_dot;  // m/s, rad/s
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("x", x);
      visit("theta", theta);
      visit("x_dot", x_dot);
      visit("theta_dot", theta_dot);
    }
  };
  struct Params {
    S gravity = S(9.81), cart_mass = 1, pole_mass = S(0.1), half_length = 0.5, damping = 10;
    S force_per_action = 100, force_limit = 400, x_limit = 3;
    S physics_dt = S(1.0 / 120);
    int decimation = 2;  // physics steps per step
  };

  static constexpr char name[] = "Cartpole";
  static constexpr char description[] = "balances a pole on a cart by a force, as in Isaac Lab";
  static constexpr int obs_dim = 4, step_limit = 300;
  static constexpr double dt = 1.0 / 60;
  static constexpr ContinuousAction<1> action{-4, 4};  // the force reaches its limit at these bounds
  static constexpr Quantity observations[] = {{"x", "m"}, {"theta", "rad"}, {"x_dot", "m/s"}, {"theta_dot", "rad/s"}};
  static constexpr Quantity actions[] = {{"force"}};
  static constexpr auto mirrored_obs = MirrorTable<4>().add("----");
  static constexpr auto mirrored_action = MirrorTable<1>().add("-");
  static constexpr RewardTerm reward_terms[] = {
      {"alive", 1}, {"terminating", -2}, {"pole_pos", -1}, {"cart_vel", -0.01}, {"pole_vel", -0.005}};
  static constexpr bool scale_rewards_by_dt = true;

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.x = draws.uniform(-1, 1);
    s.theta = draws.uniform(-F(kQuarterPi), F(kQuarterPi));
    s.x_dot = draws.uniform(F(-0.5), F(0.5));
    s.theta_dot = draws.uniform(-F(kQuarterPi), F(kQuarterPi));
  }

  DRL_HD static Step<F, 5> step(State& s, const F* action, const Params& p) {
    const F force = math::clamp(p.force_per_action * action[0], -p.force_limit, p.force_limit);
    for (int i = 0; i < p.decimation; ++i) integrate(s, force, p);

    const Mask<F> off_rail = math::abs(s.x) > p.x_limit;
    Step<F, 5> result{.terminated = off_rail};
    result.terms[0] = math::select(off_rail, F(0), F(1));
    result.terms[1] = math::select(off_rail, F(1), F(0));
    result.terms[2] = s.theta * s.theta;
    result.terms[3] = math::abs(s.x_dot);
    result.terms[4] = math::abs(s.theta_dot);
    return result;
  }

  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.x;
    obs[1] = s.theta;
    obs[2] = s.x_dot;
    obs[3] = s.theta_dot;
  }

  template <class Canvas>
  static void draw(const State& s, const Params& p, Canvas& canvas) {
    canvas.look({0, 0, 0.35f}, 6.8f);
    canvas.ground(-1.2f);  // the pole may hang down
    canvas.capsule({-p.x_limit, 0, 0}, {p.x_limit, 0, 0}, 0.03f, Canvas::grey);
    canvas.box({s.x, 0, 0}, {0.25f, 0.15f, 0.12f}, 0, Canvas::blue);
    const float length = 2 * p.half_length, y = -0.2f;  // in front of the cart
    canvas.capsule({s.x, y, 0}, {s.x + length * math::sin(s.theta), y, length * math::cos(s.theta)}, 0.05f,
                   Canvas::orange);
  }

  // A policy learns about the ends of the rail only from terminated episodes, and a trained policy no longer reaches
  // them: large or noisy updates would make it forget them. Therefore rollouts are long (with 16 steps, one seed in
  // forty fails), the learning rate falls to 0, mini-batches are large, and the clip range is narrow.
  static constexpr char preset[] = R"(
num_envs = 256
num_steps_per_env = 32
max_iterations = 660
[ppo]
learning_rate = 2e-3
schedule = linear
schedule_iterations = 660
num_learning_epochs = 4
num_mini_batches = 16
gamma = 0.995
lam = 0.95
clip_param = 0.1
use_clipped_value_loss = false
entropy_coef = 0.005
value_loss_coef = 1.0
max_grad_norm = 1.0
[policy]
actor_hidden_dims = 32,32
critic_hidden_dims = 32,32
activation = elu
init_std = 1.0
)";

 private:
  static constexpr double kQuarterPi = 0.7853981633974483;

  DRL_HD static void integrate(State& s, F force, const Params& p) {
    const F cosine = math::cos(s.theta), sine = math::sin(s.theta);
    const F total_mass = p.cart_mass + p.pole_mass, pole_moment = p.pole_mass * p.half_length;
    const F push = (force - p.damping * s.x_dot + pole_moment * (s.theta_dot * s.theta_dot) * sine) / total_mass;
    const F theta_acc = (p.gravity * sine - cosine * push) /
                        (p.half_length * (F(4.0 / 3.0) - p.pole_mass * (cosine * cosine) / total_mass));
    const F x_acc = push - pole_moment * theta_acc * cosine / total_mass;
    s.x_dot = s.x_dot + p.physics_dt * x_acc;
    s.theta_dot = s.theta_dot + p.physics_dt * theta_acc;
    s.x = s.x + p.physics_dt * s.x_dot;
    s.theta = s.theta + p.physics_dt * s.theta_dot;
  }
};

}  // namespace drl

DRL_TASK(drl::Cartpole)
