// Acrobot-v1 of Gymnasium 1.2.0 (envs/classic_control/acrobot.py): swing the tip of a two-link pendulum above a line
// one link length over the fixed joint, with a torque on the joint between the links. Equations of Sutton and Barto,
// "Reinforcement Learning: An Introduction", example 11.3 (Gymnasium's "book"), with fourth-order Runge-Kutta.
#pragma once

#include "drl/task.hpp"

namespace drl {

template <class F>
struct AcrobotV1 {
  using S = Scalar<F>;
  struct State {
    F theta1, theta2;          // rad: angle of link 1 from hanging down, and of link 2 from link 1
    F theta1_dot, theta2_dot;  // rad/s
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("theta1", theta1);
      visit("theta2", theta2);
      visit("theta1_dot", theta1_dot);
      visit("theta2_dot", theta2_dot);
    }
  };
  struct Params {  // the links are identical
    S gravity = S(9.8), mass = 1, length = 1, to_centre = 0.5, inertia = 1, dt = S(0.2);
    S max_speed1 = S(4 * kPi), max_speed2 = S(9 * kPi);
  };

  static constexpr char name[] = "Acrobot-v1";
  static constexpr char description[] = "swings the free end of a two-link pendulum above a line";
  static constexpr int obs_dim = 6, step_limit = 500;
  static constexpr double dt = 0.2;
  static constexpr DiscreteAction<3> action{};  // torque -1, 0, 1
  static constexpr Quantity observations[] = {{"cos(theta1)"}, {"sin(theta1)"},         {"cos(theta2)"},
                                              {"sin(theta2)"}, {"theta1_dot", "rad/s"}, {"theta2_dot", "rad/s"}};
  static constexpr Quantity actions[] = {{"torque"}};
  static constexpr auto mirrored_obs = MirrorTable<6>().add("+-+---");
  static constexpr auto mirrored_action = reversed_numbers<3>();

  DRL_HD static void reset(State& s, Draws<F>& draws, const Params&) {
    s.theta1 = draws.uniform(F(-0.1), F(0.1));
    s.theta2 = draws.uniform(F(-0.1), F(0.1));
    s.theta1_dot = draws.uniform(F(-0.1), F(0.1));
    s.theta2_dot = draws.uniform(F(-0.1), F(0.1));
  }

  DRL_HD static Step<F> step(State& s, const F* action, const Params& p) {
    const F torque = action[0] - 1;
    const State k1 = derivative(s, torque, p);
    const State k2 = derivative(moved(s, p.dt / 2, k1), torque, p);
    const State k3 = derivative(moved(s, p.dt / 2, k2), torque, p);
    const State k4 = derivative(moved(s, p.dt, k3), torque, p);
    s = moved(s, p.dt / 6, moved(moved(moved(k1, 2, k2), 2, k3), 1, k4));  // k1 + 2 k2 + 2 k3 + k4

    s.theta1 = wrapped(s.theta1);
    s.theta2 = wrapped(s.theta2);
    s.theta1_dot = math::clamp(s.theta1_dot, -p.max_speed1, p.max_speed1);
    s.theta2_dot = math::clamp(s.theta2_dot, -p.max_speed2, p.max_speed2);
    const Mask<F> above_line = -math::cos(s.theta1) - math::cos(s.theta2 + s.theta1) > F(1);
    return {.reward = math::select(above_line, F(0), F(-1)), .terminated = above_line};
  }

  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = math::cos(s.theta1);
    obs[1] = math::sin(s.theta1);
    obs[2] = math::cos(s.theta2);
    obs[3] = math::sin(s.theta2);
    obs[4] = s.theta1_dot;
    obs[5] = s.theta2_dot;
  }

  template <class Canvas>
  static void draw(const State& s, const Params& p, Canvas& canvas) {
    const float angle = s.theta1 + s.theta2;
    const auto along = [&](auto from, float a) {
      return decltype(from){from.x + p.length * math::sin(a), from.y, from.z - p.length * math::cos(a)};
    };
    const typename Canvas::Point joint{0, 0, 0};
    const auto elbow = along(joint, s.theta1), tip = along(elbow, angle);
    canvas.look({0, 0, 0}, 6);
    canvas.capsule({-2.5f, 0.3f, p.length}, {2.5f, 0.3f, p.length}, 0.02f, Canvas::red);  // the goal
    canvas.capsule(joint, elbow, 0.1f, Canvas::blue);
    canvas.capsule(elbow, tip, 0.08f, Canvas::orange);
    canvas.sphere(joint, 0.14f, Canvas::black);
    canvas.sphere(elbow, 0.13f, Canvas::black);
  }

  static constexpr char preset[] = R"(
num_envs = 128
num_steps_per_env = 32
max_iterations = 150
[ppo]
learning_rate = 3e-3
schedule = linear
num_learning_epochs = 1
num_mini_batches = 4
gamma = 0.99
lam = 0.9
entropy_coef = 0.01
max_grad_norm = 0.5
reward_scale = 0.1
use_clipped_value_loss = false
schedule_iterations = 150
[policy]
actor_hidden_dims = 64,64
critic_hidden_dims = 64,64
activation = tanh
init = orthogonal
)";

 private:
  static constexpr double kPi = 3.141592653589793;

  DRL_HD static State moved(const State& s, F h, const State& rate) {
    return {s.theta1 + h * rate.theta1, s.theta2 + h * rate.theta2, s.theta1_dot + h * rate.theta1_dot,
            s.theta2_dot + h * rate.theta2_dot};
  }

  // Returns the angle in [-pi, pi).
  DRL_HD static F wrapped(F angle) { return angle - F(2 * kPi) * math::floor((angle + F(kPi)) / F(2 * kPi)); }

  DRL_HD static State derivative(const State& s, F torque, const Params& p) {
    const F m = p.mass, l = p.length, lc = p.to_centre, g = p.gravity;
    const F cos2 = math::cos(s.theta2), sin2 = math::sin(s.theta2);
    const F d1 = m * (lc * lc) + m * (l * l + lc * lc + 2 * l * lc * cos2) + 2 * p.inertia;
    const F d2 = m * (lc * lc + l * lc * cos2) + p.inertia;
    const F phi2 = m * lc * g * math::sin(s.theta1 + s.theta2);  // the book's cos(angle - pi/2)
    const F phi1 = -m * l * lc * (s.theta2_dot * s.theta2_dot) * sin2 -
                   2 * m * l * lc * s.theta2_dot * s.theta1_dot * sin2 + (m * lc + m * l) * g * math::sin(s.theta1) +
                   phi2;
    const F theta2_acc = (torque + d2 / d1 * phi1 - m * l * lc * (s.theta1_dot * s.theta1_dot) * sin2 - phi2) /
                         (m * (lc * lc) + p.inertia - d2 * d2 / d1);
    const F theta1_acc = -(d2 * theta2_acc + phi1) / d1;
    return {s.theta1_dot, s.theta2_dot, theta1_acc, theta2_acc};
  }
};

}  // namespace drl

DRL_TASK(drl::AcrobotV1)
