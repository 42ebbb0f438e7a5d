// A two-link arm in the vertical plane whose motors move its tip to a target. The simulator integrates the equations of
// motion with the Runge-Kutta method, using only the standard library, one environment at a time.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "drl/simulator.hpp"

class Arm {
 public:
  static constexpr const char* name = "Arm";
  static constexpr int obs_dim = 10, step_limit = 100;
  static constexpr double dt = 0.04;                        // s
  static constexpr drl::ContinuousAction<2> action{-1, 1};  // fractions of the largest torques of shoulder and elbow
  static constexpr const char* reward_terms[] = {"reach", "effort"};
  static constexpr const char* preset = R"(
num_envs = 256
num_steps_per_env = 32
max_iterations = 150
[ppo]
learning_rate = 1e-3
obs_normalization = true
entropy_coef = 0.0
[policy]
init_std = 0.5
)";

  struct Params {
    double gravity = 9.81, friction = 0.5, torque = 20;
    template <class V>
    void describe(V& v) {
      v("gravity", gravity, "pulls the links down", drl::at_least(0), drl::unit("m/s^2"));
      v("friction", friction, "viscous friction of each joint", drl::at_least(0), drl::unit("N m s"));
      v("torque", torque, "largest torque of the shoulder; the elbow has half of it", drl::at_least(0),
        drl::unit("N m"));
    }
  };

  // Angles of the two links, 0 when hanging down, and their angular velocities.
  using Motion = std::array<double, 4>;  // rad, rad, rad/s, rad/s

  Arm(const drl::SimulatorConfig& config, const Params& params)
      : params_(params),
        motion_(4 * static_cast<size_t>(config.num_envs)),
        target_(2 * static_cast<size_t>(config.num_envs)) {}

  void reset(int64_t env, drl::Draws<float>& draws) {
    set_motion(env, {number(draws, -1, 1), number(draws, -1, 1), 0, 0});
    const double angle = number(draws, -2, 2), radius = number(draws, 0.3, 0.9);
    target(env)[0] = radius * std::sin(angle), target(env)[1] = -radius * std::cos(angle);
  }

  drl::Step<float, 2> step(int64_t env, const float* action, drl::Draws<float>&) {
    const double shoulder = params_.torque * action[0], elbow = params_.torque / 2 * action[1];
    Motion motion = motion_of(env);
    for (int k = 0; k < kSubsteps; ++k) motion = advance(motion, shoulder, elbow, dt / kSubsteps);
    set_motion(env, motion);

    const auto [x, y] = tip(motion);
    const double dx = x - target(env)[0], dy = y - target(env)[1];
    drl::Step<float, 2> result;
    result.terms[0] = static_cast<float>(dt * std::exp(-5 * (dx * dx + dy * dy)));
    result.terms[1] = static_cast<float>(-0.05 * dt) * (action[0] * action[0] + action[1] * action[1]);
    result.reward = result.terms[0] + result.terms[1];
    result.terminated = std::abs(motion[2]) > kTooFast || std::abs(motion[3]) > kTooFast;
    return result;
  }

  void observe(int64_t env, float* obs) const {
    const Motion motion = motion_of(env);
    const auto [x, y] = tip(motion);
    const double* goal = &target_[2 * static_cast<size_t>(env)];
    const auto put = [&](double number) { *obs++ = static_cast<float>(number); };
    for (int link : {0, 1}) put(std::sin(motion[link])), put(std::cos(motion[link])), put(motion[link + 2] / 10);
    for (int axis : {0, 1}) put(goal[axis]);
    put(goal[0] - x), put(goal[1] - y);
  }

  void draw(int64_t env, drl::Canvas& canvas) const {
    const auto point = [](double x, double y) { return drl::Point{static_cast<float>(x), 0, static_cast<float>(y)}; };
    const Motion motion = motion_of(env);
    const auto [x, y] = tip(motion);
    const drl::Point elbow = point(kLength * std::sin(motion[0]), -kLength * std::cos(motion[0]));
    canvas.look({0, 0, 0}, 3);
    canvas.capsule({0, 0, 0}, elbow, 0.05f, drl::Canvas::blue);
    canvas.capsule(elbow, point(x, y), 0.04f, drl::Canvas::orange);
    canvas.sphere(point(target_[2 * static_cast<size_t>(env)], target_[2 * static_cast<size_t>(env) + 1]), 0.06f,
                  drl::Canvas::red);
  }

  template <class V>
  void visit_state(V& visit) {
    visit("motion", motion_.data(), 4);
    visit("target", target_.data(), 2);
  }

  // Takes one fourth-order Runge-Kutta step of h seconds under constant torques in N m.
  Motion advance(const Motion& now, double shoulder, double elbow, double h) const {
    const auto rate = [&](const Motion& m) { return change(m, shoulder, elbow); };
    const Motion a = rate(now), b = rate(along(now, a, h / 2)), c = rate(along(now, b, h / 2)),
                 d = rate(along(now, c, h));
    Motion next;
    for (size_t k = 0; k < 4; ++k) next[k] = now[k] + h / 6 * (a[k] + 2 * b[k] + 2 * c[k] + d[k]);
    return next;
  }

  // Returns the kinetic and potential energy in J.
  double energy(const Motion& m) const {
    const double coupling = kMass * kLength * kLength * std::cos(m[0] - m[1]);
    return kMass * kLength * kLength * (m[2] * m[2] + m[3] * m[3] / 2) + coupling * m[2] * m[3] -
           params_.gravity * kMass * kLength * (2 * std::cos(m[0]) + std::cos(m[1]));
  }

  static std::array<double, 2> tip(const Motion& m) {
    return {kLength * (std::sin(m[0]) + std::sin(m[1])), -kLength * (std::cos(m[0]) + std::cos(m[1]))};
  }

 private:
  static constexpr double kMass = 1, kLength = 0.5, kTooFast = 50;  // kg at each link's end, m, rad/s
  static constexpr int kSubsteps = 4;                               // integration steps per environment step

  static double number(drl::Draws<float>& draws, double low, double high) {
    return static_cast<double>(draws.uniform(static_cast<float>(low), static_cast<float>(high)));
  }
  static Motion along(const Motion& from, const Motion& rate, double h) {
    Motion to;
    for (size_t k = 0; k < 4; ++k) to[k] = from[k] + h * rate[k];
    return to;
  }

  // Lagrange's equations of the double pendulum in absolute angles p, q, divided by m l^2:
  //   2 p'' + cos(p - q) q'' = (shoulder - elbow)/(m l^2) - sin(p - q) q'^2 - 2 g/l sin p
  //   cos(p - q) p'' + q''   = elbow/(m l^2)              + sin(p - q) p'^2 -   g/l sin q
  Motion change(const Motion& m, double shoulder, double elbow) const {
    const double inertia = kMass * kLength * kLength, pull = params_.gravity / kLength;
    const double at_shoulder = shoulder - params_.friction * m[2], at_elbow = elbow - params_.friction * (m[3] - m[2]);
    const double c = std::cos(m[0] - m[1]), s = std::sin(m[0] - m[1]);
    const double f = (at_shoulder - at_elbow) / inertia - s * m[3] * m[3] - 2 * pull * std::sin(m[0]);
    const double g = at_elbow / inertia + s * m[2] * m[2] - pull * std::sin(m[1]);
    const double det = 2 - c * c;
    return {m[2], m[3], (f - c * g) / det, (2 * g - c * f) / det};
  }

  Motion motion_of(int64_t env) const {
    const double* m = &motion_[4 * static_cast<size_t>(env)];
    return {m[0], m[1], m[2], m[3]};
  }
  void set_motion(int64_t env, const Motion& motion) {
    for (size_t k = 0; k < 4; ++k) motion_[4 * static_cast<size_t>(env) + k] = motion[k];
  }
  double* target(int64_t env) { return &target_[2 * static_cast<size_t>(env)]; }

  Params params_;
  std::vector<double> motion_;  // [num_envs, 4]
  std::vector<double> target_;  // [num_envs, 2], m
};

DRL_SIMULATOR(Arm)
