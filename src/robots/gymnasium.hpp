// Shared code of Gymnasium's robot tasks (version 1.4.0, the v5 tasks).
#pragma once

#include "drl/robots/common.hpp"

namespace drl::gym {

using common::square;
using common::squares;

// Hyperparameters of the preset, which trains for 1 M steps. Most defaults are those of CleanRL's
// ppo_continuous_action (docs.cleanrl.dev), but with more environments that run fewer steps each, and with a smaller
// initial standard deviation.
struct Recipe {
  const char *num_envs = "8", *num_steps_per_env = "128", *learning_rate = "3e-4", *gamma = "0.99", *lam = "0.95";
  const char *max_grad_norm = "0.5", *init_std = "0.5";
};
constexpr common::Preset preset(const Recipe& r = {}) {
  return {"\nnum_envs = ",
          r.num_envs,
          "\nnum_steps_per_env = ",
          r.num_steps_per_env,
          "\nmax_iterations = 977\n[ppo]\nlearning_rate = ",
          r.learning_rate,
          "\nschedule = linear\nschedule_iterations = 977\nnum_learning_epochs = 10\nnum_mini_batches = 16\ngamma = ",
          r.gamma,
          "\nlam = ",
          r.lam,
          "\nentropy_coef = 0.0\nvalue_loss_coef = 0.5\nmax_grad_norm = ",
          r.max_grad_norm,
          "\ngrad_clip = joint\nobs_normalization = true\nreward_normalization = true\n[policy]"
          "\nactor_hidden_dims = 64,64\ncritic_hidden_dims = 64,64\nactivation = tanh\ninit_std = ",
          r.init_std,
          "\ninit = orthogonal\n"};
}

// Stands for Gymnasium's infinite defaults, because options must be finite.
constexpr double kNone = 1e30;

// Describes the option reset_noise_scale, which most tasks have.
template <class V, class S>
void describe_reset_noise(V& v, S& scale) {
  v("reset_noise_scale", scale, "scale of the noise on initial positions and velocities", at_least(0));
}

// Describes the option that excludes the position along the ground from the observations.
template <class V>
void describe_exclusion(V& v, bool& excluded) {
  v("exclude_current_positions_from_observation", excluded, "the position along the ground is not observed");
}

// Describes the options that bound the height of a healthy robot's torso.
template <class V, class S>
void describe_healthy_height(V& v, S& least, S& most) {
  v("healthy_z_min", least, "the robot is healthy if its torso is higher than this", any_number(), unit("m"));
  v("healthy_z_max", most, "the robot is healthy if its torso is lower than this", any_number(), unit("m"));
}

// A place on the ground after the previous step. Tasks must store it, because MuJoCo's positions of bodies and centres
// of mass are those of the last stage of a step.
template <class F>
struct Place {
  F x, y;  // m
  template <class V>
  DRL_HD void describe(V& visit) {
    visit("x", x);
    visit("y", y);
  }
  DRL_HD void take(const Vec<F, 3>& at) { x = at[0], y = at[1]; }
};

// Adds uniform noise in [-scale, scale) to qpos.
template <class R, class F = typename R::F>
DRL_HD void perturb_qpos(R& robot, Draws<F>& draws, std::type_identity_t<F> scale) {
  for (int k = 0; k < robot.nq(); ++k) robot.set_qpos(k, robot.qpos(k) + draws.uniform(-scale, scale));
}

// Adds uniform noise in [-scale, scale) to the first `count` numbers of qvel.
template <class R, class F = typename R::F>
DRL_HD void perturb_qvel(R& robot, Draws<F>& draws, std::type_identity_t<F> scale, int count) {
  for (int k = 0; k < count; ++k) robot.set_qvel(k, robot.qvel(k) + draws.uniform(-scale, scale));
}

// Adds normal noise with standard deviation `scale` to qvel.
template <class R, class F = typename R::F>
DRL_HD void perturb_qvel_normal(R& robot, Draws<F>& draws, std::type_identity_t<F> scale) {
  for (int k = 0; k < robot.nv(); ++k) robot.set_qvel(k, robot.qvel(k) + scale * draws.normal());
}

// Starts an episode with uniform noise on qpos and qvel.
template <class R, class F = typename R::F>
DRL_HD void reset_uniform(R& robot, Draws<F>& draws, std::type_identity_t<F> scale) {
  perturb_qpos(robot, draws, scale);
  perturb_qvel(robot, draws, scale, robot.nv());
  robot.forward();
}

// Starts an episode with uniform noise on qpos and normal noise on qvel.
template <class R, class F = typename R::F>
DRL_HD void reset_normal(R& robot, Draws<F>& draws, std::type_identity_t<F> scale) {
  perturb_qpos(robot, draws, scale);
  perturb_qvel_normal(robot, draws, scale);
  robot.forward();
}

template <class F>
DRL_HD F distance(const Vec<F, 3>& a, const Vec<F, 3>& b) {
  return math::sqrt(square(a[0] - b[0]) + square(a[1] - b[1]) + square(a[2] - b[2]));
}

// These functions write numbers to obs and return the position after them.
template <class R, class Out>
DRL_HD Out write_qpos(const R& robot, int from, Out obs) {
  for (int k = from; k < robot.nq(); ++k) *obs++ = robot.qpos(k);
  return obs;
}
template <class R, class Out>
DRL_HD Out write_qvel(const R& robot, Out obs) {
  for (int k = 0; k < robot.nv(); ++k) *obs++ = robot.qvel(k);
  return obs;
}
template <class R, class Out>
DRL_HD Out write_clipped_qvel(const R& robot, double limit, Out obs) {
  using F = typename R::F;
  for (int k = 0; k < robot.nv(); ++k) *obs++ = math::clamp(robot.qvel(k), F(-limit), F(limit));
  return obs;
}
template <class F, int N, class Out>
DRL_HD Out write(const Vec<F, N>& numbers, Out obs) {
  for (int k = 0; k < N; ++k) *obs++ = numbers[k];
  return obs;
}

// The observation of Gymnasium's humanoids, and the options that leave out parts of it: qpos, usually without x and y;
// qvel; inertia and velocity of each body except the world; the actuators' torques at the joints; contact torque and
// force on each body except the world.
struct HumanoidObservation {
  bool excluded = true, inertia = true, velocity = true, torque = true, contacts = true;
  template <class V>
  void describe(V& v) {
    describe_exclusion(v, excluded);
    v("include_cinert_in_observation", inertia, "observe the bodies' inertia");
    v("include_cvel_in_observation", velocity, "observe the bodies' velocity");
    v("include_qfrc_actuator_in_observation", torque, "observe the actuators' torques");
    v("include_cfrc_ext_in_observation", contacts, "observe the contact torques and forces on the bodies");
  }
  static constexpr int kMaxDim = 350;
  DRL_HD constexpr int dim() const {
    return (excluded ? 22 : 24) + 23 + 13 * ((inertia ? 10 : 0) + (velocity ? 6 : 0) + (contacts ? 6 : 0)) +
           (torque ? 17 : 0);
  }

  template <class R, class Out>
  DRL_HD void write(const R& robot, Out obs) const {
    const auto each_body = [&](const auto& of) DRL_LAMBDA {
      DRL_ROLLED
      for (int b = 1; b < robot.nbody(); ++b) obs = gym::write(of(BodyId{b}), obs);
    };
    obs = write_qvel(robot, write_qpos(robot, excluded ? 2 : 0, obs));
    if (inertia) each_body([&](BodyId body) DRL_LAMBDA { return robot.inertia(body); });
    if (velocity) each_body([&](BodyId body) DRL_LAMBDA { return robot.velocity(body); });
    if (torque)
      for (int k = 6; k < robot.nv(); ++k) *obs++ = robot.actuator_force_along(k);
    if (contacts) each_body([&](BodyId body) DRL_LAMBDA { return robot.external_force(body); });
  }
};

// clang-format off
// The names of HumanoidObservation with the default options, and of the humanoids' actions. Joints and bodies are in the
// order of the model, and actions in the order of its motors.
#define DRL_JOINTS(of, unit) \
  {of "abdomen_z", unit}, {of "abdomen_y", unit}, {of "abdomen_x", unit}, \
  {of "right_hip_x", unit}, {of "right_hip_z", unit}, {of "right_hip_y", unit}, {of "right_knee", unit}, \
  {of "left_hip_x", unit}, {of "left_hip_z", unit}, {of "left_hip_y", unit}, {of "left_knee", unit}, \
  {of "right_shoulder1", unit}, {of "right_shoulder2", unit}, {of "right_elbow", unit}, \
  {of "left_shoulder1", unit}, {of "left_shoulder2", unit}, {of "left_elbow", unit}
#define DRL_BODIES(numbers) \
  numbers("torso"), numbers("lower_waist"), numbers("pelvis"), \
  numbers("right_thigh"), numbers("right_shin"), numbers("right_foot"), \
  numbers("left_thigh"), numbers("left_shin"), numbers("left_foot"), \
  numbers("right_upper_arm"), numbers("right_lower_arm"), numbers("left_upper_arm"), numbers("left_lower_arm")
#define DRL_INERTIA(body) \
  {"cinert." body ".inertia", "kg m^2", 6}, {"cinert." body ".mass_offset", "kg m", 3}, {"cinert." body ".mass", "kg"}
#define DRL_VELOCITY(body) {"cvel." body ".angular", "rad/s", 3}, {"cvel." body ".linear", "m/s", 3}
#define DRL_CONTACT(body) {"cfrc_ext." body ".torque", "N m", 3}, {"cfrc_ext." body ".force", "N", 3}
// clang-format on
inline constexpr Quantity kHumanoidObservations[] = {
    {"qpos.height", "m"},
    {"qpos.orientation", "", 4},  // a quaternion: w, x, y, z
    DRL_JOINTS("qpos.", "rad"),
    {"qvel.linear", "m/s", 3},
    {"qvel.angular", "rad/s", 3},
    DRL_JOINTS("qvel.", "rad/s"),
    DRL_BODIES(DRL_INERTIA),
    DRL_BODIES(DRL_VELOCITY),
    DRL_JOINTS("qfrc_actuator.", "N m"),
    DRL_BODIES(DRL_CONTACT),
};
#undef DRL_JOINTS
#undef DRL_BODIES
#undef DRL_INERTIA
#undef DRL_VELOCITY
#undef DRL_CONTACT
inline constexpr Quantity kHumanoidActions[] = {
    {"abdomen_y", "N m", 1, 100},      {"abdomen_z", "N m", 1, 100},   {"abdomen_x", "N m", 1, 100},
    {"right_hip_x", "N m", 1, 100},    {"right_hip_z", "N m", 1, 100}, {"right_hip_y", "N m", 1, 300},
    {"right_knee", "N m", 1, 200},     {"left_hip_x", "N m", 1, 100},  {"left_hip_z", "N m", 1, 100},
    {"left_hip_y", "N m", 1, 300},     {"left_knee", "N m", 1, 200},   {"right_shoulder1", "N m", 1, 25},
    {"right_shoulder2", "N m", 1, 25}, {"right_elbow", "N m", 1, 25},  {"left_shoulder1", "N m", 1, 25},
    {"left_shoulder2", "N m", 1, 25},  {"left_elbow", "N m", 1, 25},
};

// Returns the sum of the squared contact torques and forces on all bodies.
template <class R>
DRL_HD typename R::F squared_contacts(const R& robot) {
  typename R::F sum = 0;
  DRL_ROLLED
  for (int b = 0; b < robot.nbody(); ++b) sum = sum + squares(robot.external_force(BodyId{b}).at, 6);
  return sum;
}

// Returns whether low < x < high.
template <class F>
DRL_HD Mask<F> inside(F x, std::type_identity_t<F> low, std::type_identity_t<F> high) {
  return (low < x) & (x < high);
}

// Returns whether the episode ends because the robot is not healthy.
template <class F>
DRL_HD Mask<F> ended(Mask<F> healthy, bool terminate_when_unhealthy) {
  const Mask<F> never = F(0) != F(0);
  return terminate_when_unhealthy ? Mask<F>(!healthy) : never;
}

}  // namespace drl::gym
