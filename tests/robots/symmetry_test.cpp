// Checks what the velocity tasks say about mirrors (mirrored_obs, mirrored_critic_obs, mirrored_action): a robot in a
// mirrored state that takes mirrored actions sees mirrored observations, and gets the same rewards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "task_on.hpp"
// The tasks' headers must follow that of the robot.
#include "robots/anymal_c_velocity_flat.hpp"
#include "robots/berkeley_humanoid_velocity_flat.hpp"
#include "robots/g1_velocity_flat.hpp"
#include "robots/go1_velocity_flat.hpp"
#include "robots/go2_velocity_flat.hpp"
#include "robots/h1_velocity_flat.hpp"
#include "robots/spot_velocity_flat.hpp"

namespace drl {
namespace {

template <int N>
std::vector<double> mirrored(const MirrorTable<N>& table, const double* x) {
  std::vector<double> y;
  for (const auto& [source, sign] : table.numbers) y.push_back(static_cast<double>(sign) * x[source]);
  return y;
}
template <int N>
void mirror(const MirrorTable<N>& table, double* x) {
  const std::vector<double> y = mirrored(table, x);
  std::copy(y.begin(), y.end(), x);
}

// Returns the name of the part on the other side, or `name`.
template <class Config>
std::string other_side(const std::string& name) {
  for (const auto& pair : Config::sides)
    for (int k = 0; k < 2; ++k)
      if (name.starts_with(pair[k])) return pair[1 - k] + name.substr(std::string(pair[k]).size());
  return name;
}

constexpr double kPosition[3] = {1, -1, 1}, kOrientation[4] = {1, -1, 1, -1};

// Copies `size` numbers of body, degree of freedom or geom `from` to that on the other side, `to`.
void copy(double* numbers, int size, int from, int to, const double* signs = nullptr) {
  for (int k = 0; k < size; ++k) numbers[size * to + k] = (signs ? signs[k] : 1) * numbers[size * from + k];
}
// Gives the geoms of body `to` the places and sizes of those of body `from` that are less than 2 mm away in the mirror.
void copy_geoms(mjModel& m, int from, int to) {
  for (int g = 0; g < m.ngeom; ++g)
    for (int h = 0; h < m.ngeom; ++h) {
      if (m.geom_bodyid[g] != from || m.geom_bodyid[h] != to || m.geom_type[g] != m.geom_type[h]) continue;
      double distance = 0;
      for (int k = 0; k < 3; ++k)
        distance = std::max(distance, std::abs(m.geom_pos[3 * h + k] - kPosition[k] * m.geom_pos[3 * g + k]));
      if (distance > 0.002 || std::abs(m.geom_size[3 * g + 1] - m.geom_size[3 * h + 1]) > 0.002) continue;
      copy(m.geom_pos, 3, g, h, kPosition), copy(m.geom_size, 3, g, h), copy(m.geom_rbound, 1, g, h);
      copy(m.geom_quat, 4, g, h, kOrientation);
    }
}

// Makes a model exactly symmetric, which those of real robots are not: Go1's trunk has its centre of mass 2 mm to the
// left and its sensor of velocity 7 cm to the right, the joints of Go2's legs have different friction, and G1's
// shoulders are not at the same height. Also lets the solver converge, so that rounding is all that remains.
template <class Config>
void make_symmetric(mjModel& m) {
  for (int b = 1; b < m.nbody; ++b) {
    const std::string name = mj_id2name(&m, mjOBJ_BODY, b);
    const int other = mj_name2id(&m, mjOBJ_BODY, other_side<Config>(name).c_str());
    ASSERT_GE(other, 0) << name;
    if (other < b) continue;
    m.body_sameframe[b] = m.body_sameframe[other] = mjSAMEFRAME_NONE;
    if (other == b) {
      m.body_ipos[3 * b + 1] = 0;
      for (int k = 0; k < 4; ++k) m.body_iquat[4 * b + k] = k == 0;
      continue;
    }
    copy(m.body_pos, 3, b, other, kPosition), copy(m.body_ipos, 3, b, other, kPosition);
    copy(m.body_iquat, 4, b, other, kOrientation), copy(m.body_inertia, 3, b, other), copy(m.body_mass, 1, b, other);
    for (int k = 0; k < m.body_dofnum[b]; ++k) {
      const int from = m.body_dofadr[b] + k, to = m.body_dofadr[other] + k;
      copy(m.dof_armature, 1, from, to), copy(m.dof_damping, 1, from, to), copy(m.dof_frictionloss, 1, from, to);
    }
    copy_geoms(m, b, other);
  }
  for (const char* name : {"imu", "imu_in_pelvis"})
    if (const int site = mj_name2id(&m, mjOBJ_SITE, name); site >= 0) m.site_pos[3 * site + 1] = 0;
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(&m), mj_deleteData);
  mj_setConst(&m, data.get());
  m.opt.iterations = 100, m.opt.ls_iterations = 100, m.opt.tolerance = 0;
  m.opt.disableflags |= mjDSBL_WARMSTART;
}

// A robot of a task without noise, pushes and new commands.
template <class Task>
struct Walker : TaskOn<Task> {
  using Base = TaskOn<Task>;
  using Base::draws, Base::params, Base::parts, Base::robot, Base::state;

  Walker(const mjModel& model, const std::string& file) : Base(file, OwnModel(mj_copyModel(nullptr, &model))) {
    params.noise = params.push = 0;
    Task::create(state, robot, draws, parts, params);
    Task::reset(state, robot, draws, parts, params);
    state.until_command = state.until_push = 1000;
    state.stands = state.keeps_heading = 0;
  }
  // Moves to a random state near the start, with a tilted base.
  template <class Random>
  void disturb(Random& random) {
    const auto number = [&](double most) { return std::uniform_real_distribution<double>(-most, most)(random); };
    const int at = parts.base.qpos;
    double norm = 0, q[4] = {1, number(0.1), number(0.1), number(0.5)};
    for (const double x : q) norm += x * x;
    for (int k = 0; k < 4; ++k) robot.set_qpos(at + 3 + k, q[k] / std::sqrt(norm));
    for (int k = 0; k < 6; ++k) robot.set_qvel(parts.base.qvel + k, number(0.5));
    for (int k = 0; k < Task::joints; ++k) {
      robot.set_qpos(parts.joint[k].qpos, robot.qpos(parts.joint[k]) + number(0.1));
      robot.set_qvel(parts.joint[k].qvel, number(1));
      state.encoder_bias[k] = number(0.02);
    }
    for (double& x : state.command) x = number(1);
    for (double& x : state.com_shift) x = number(0.02);
    begin();
  }
  // Moves to the mirrored state of another robot.
  void become_mirrored(const Walker& other) {
    state = other.state;
    constexpr double kBase[7] = {1, -1, 1, 1, -1, 1, -1}, kVelocity[6] = {1, -1, 1, -1, 1, -1};
    for (int k = 0; k < 7; ++k) robot.set_qpos(parts.base.qpos + k, kBase[k] * other.robot.qpos(parts.base.qpos + k));
    for (int k = 0; k < 6; ++k)
      robot.set_qvel(parts.base.qvel + k, kVelocity[k] * other.robot.qvel(parts.base.qvel + k));
    for (int k = 0; k < Task::joints; ++k) {
      const auto [source, sign] = Task::mirrored_action.numbers[k];
      robot.set_qpos(parts.joint[k].qpos, double{sign} * other.robot.qpos(parts.joint[source]));
      robot.set_qvel(parts.joint[k].qvel, double{sign} * other.robot.qvel(parts.joint[source]));
    }
    mirror(Task::mirrored_action, state.encoder_bias);
    mirror(MirrorTable<3>().add("+--"), state.command);
    mirror(MirrorTable<3>().add("+-+"), state.com_shift);
    begin();
  }
  auto step(const double* action) { return Task::step(state, robot, action, draws, parts, params); }
  std::vector<double> observation() {
    std::vector<double> obs(Task::obs_dim);
    Task::observe(state, robot, draws, parts, params, obs.data());
    return obs;
  }
  std::vector<double> critic_observation() {
    std::vector<double> obs(Task::critic_obs_dim);
    Task::observe_critic(state, robot, parts, params, obs.data());
    return obs;
  }

 private:
  void begin() {
    Task::apply(state, robot, parts, params);
    robot.forward();
  }
};

void expect_numbers(const std::vector<double>& ours, const std::vector<double>& expected, double tolerance,
                    const std::string& what) {
  double worst = 0;
  size_t at = 0;
  for (size_t k = 0; k < expected.size(); ++k) {
    const double d = std::abs(ours[k] - expected[k]) / (1 + std::abs(expected[k]));
    if (d > worst) worst = d, at = k;
  }
  EXPECT_LE(worst, tolerance) << what << ", number " << at << ": " << ours[at] << " " << expected[at];
}

// `tolerance` is relative to 1 + |expected|.
template <template <class> class TaskOf, class Config>
void expect_mirrored_steps(double tolerance, int steps) {
  using Task = TaskOf<MujocoRobot>;
  static constexpr char here = 0;
  const std::string file = find_model(std::string(Task::model.file), &here);
  if (!std::filesystem::exists(std::filesystem::path(file).parent_path() / Task::model.fetched))
    GTEST_SKIP() << Task::model.fetched << " was not downloaded";
  const auto model = load_model(file);
  ASSERT_NO_FATAL_FAILURE(make_symmetric<Config>(*model));
  std::mt19937_64 random(3);
  int touches = 0;
  for (int episode = 0; episode < 5; ++episode) {
    Walker<Task> one(*model, file), other(*model, file);
    one.disturb(random);
    other.become_mirrored(one);
    for (int t = 0; t < steps; ++t) {
      const std::string when = ", step " + std::to_string(t) + " of episode " + std::to_string(episode);
      double action[Task::joints];
      for (double& x : action) x = std::uniform_real_distribution<double>(-0.5, 0.5)(random);
      const auto result = one.step(action);
      auto in_mirror = other.step(mirrored(Task::mirrored_action, action).data());
      expect_numbers(other.observation(), mirrored(Task::mirrored_obs, one.observation().data()), tolerance,
                     "observation" + when);
      const std::vector<double> critic = one.critic_observation();
      expect_numbers(other.critic_observation(), mirrored(Task::mirrored_critic_obs, critic.data()), tolerance,
                     "critic's observation" + when);
      // The sum of the forces between a robot's parts is not symmetric, because it depends on which part is the first.
      constexpr int self_contact = velocity::kMjlabTerms;
      if (Task::has_self_contact) in_mirror.terms[self_contact] = result.terms[self_contact];
      expect_numbers({in_mirror.terms, in_mirror.terms + Task::terms}, {result.terms, result.terms + Task::terms},
                     tolerance, "reward term" + when);
      for (int k = 0; k < Task::feet; ++k) touches += one.state.contact_time[k] > 0;
    }
  }
  EXPECT_GT(touches, 0) << "no foot touched the ground";
}

TEST(IsSymmetric, Go1) { expect_mirrored_steps<Go1VelocityFlat, Go1>(1e-9, 10); }
TEST(IsSymmetric, Go2) { expect_mirrored_steps<Go2VelocityFlat, Go2>(1e-9, 10); }
TEST(IsSymmetric, Spot) { expect_mirrored_steps<SpotVelocityFlat, Spot>(1e-9, 10); }
TEST(IsSymmetric, AnymalC) { expect_mirrored_steps<AnymalCVelocityFlat, AnymalC>(1e-9, 10); }
TEST(IsSymmetric, G1) { expect_mirrored_steps<G1VelocityFlat, G1>(1e-9, 10); }
TEST(IsSymmetric, H1) { expect_mirrored_steps<H1VelocityFlat, H1>(1e-9, 10); }
// The frames of its links are not images in the same mirror, so make_symmetric() does not make it exactly symmetric.
TEST(IsSymmetric, BerkeleyHumanoid) { expect_mirrored_steps<BerkeleyHumanoidVelocityFlat, BerkeleyHumanoid>(0.01, 10); }

}  // namespace
}  // namespace drl
