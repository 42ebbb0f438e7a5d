// Lets a robot follow commands in libmujoco with an exported policy, without drl: follow MODEL.xml. For each command,
// it prints the mean velocity between the 2nd and the 5th second, and fails if this differs from the command by more
// than 0.3 m/s or rad/s along any axis, or if the robot falls. The names are those that drl_new_task gives.
#include <mujoco/mujoco.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "policy.h"

namespace {

constexpr int kJoints = DRL_POLICY_ACTIONS;
constexpr const char* kNames[] = DRL_POLICY_ACTION_NAMES;
constexpr double kScales[] = DRL_POLICY_ACTION_SCALES, kAngles[] = DRL_POLICY_ACTION_OFFSETS;

struct Robot {
  const mjModel* m;
  mjData* d;
  int root, gyro, velocimeter;
  drl_real action[kJoints];
};

int sensor(const mjModel* m, const char* name) { return m->sensor_adr[mj_name2id(m, mjOBJ_SENSOR, name)]; }
int joint(const mjModel* m, int k) { return mj_name2id(m, mjOBJ_JOINT, kNames[k]); }

void observe(const Robot& r, const double* command, drl_real* to) {
  for (int k = 0; k < 3; ++k) *to++ = static_cast<drl_real>(r.d->sensordata[r.velocimeter + k]);
  for (int k = 0; k < 3; ++k) *to++ = static_cast<drl_real>(r.d->sensordata[r.gyro + k]);
  for (int k = 0; k < 3; ++k) *to++ = static_cast<drl_real>(-r.d->xmat[9 * r.root + 6 + k]);
  for (int k = 0; k < kJoints; ++k)
    *to++ = static_cast<drl_real>(r.d->qpos[r.m->jnt_qposadr[joint(r.m, k)]] - kAngles[k]);
  for (int k = 0; k < kJoints; ++k) *to++ = static_cast<drl_real>(r.d->qvel[r.m->jnt_dofadr[joint(r.m, k)]]);
  for (const drl_real action : r.action) *to++ = action;
  for (int k = 0; k < 3; ++k) *to++ = static_cast<drl_real>(command[k]);
}

// Returns whether the robot follows the command.
bool follows(const mjModel* m, const double* command) {
  Robot r{m, mj_makeData(m), mj_name2id(m, mjOBJ_BODY, "trunk"), sensor(m, "imu_ang_vel"), sensor(m, "imu_lin_vel"),
          {}};
  mj_resetDataKeyframe(m, r.d, 0);
  mj_forward(m, r.d);
  const int steps = static_cast<int>(std::lround(5 / DRL_POLICY_DT)), settled = steps * 2 / 5;
  double mean[3] = {}, up = 1;
  for (int step = 0; step < steps && up > 0.5; ++step) {
    drl_real observation[DRL_POLICY_OBSERVATIONS];
    observe(r, command, observation);
    drl_policy_act(observation, r.action);
    for (int k = 0; k < kJoints; ++k) r.d->ctrl[k] = kAngles[k] + kScales[k] * r.action[k];
    for (int n = 0; n < std::lround(DRL_POLICY_DT / m->opt.timestep); ++n) mj_step(m, r.d);
    mj_forward(m, r.d);
    up = r.d->xmat[9 * r.root + 8];
    if (step < settled) continue;
    mean[0] += r.d->sensordata[r.velocimeter] / (steps - settled);
    mean[1] += r.d->sensordata[r.velocimeter + 1] / (steps - settled);
    mean[2] += r.d->sensordata[r.gyro + 2] / (steps - settled);
  }
  mj_deleteData(r.d);
  bool is_close = up > 0.5;
  for (int k = 0; k < 3; ++k) is_close = is_close && std::abs(mean[k] - command[k]) < 0.3;
  std::printf("%s: command %5.2f %5.2f m/s %5.2f rad/s, velocity %5.2f %5.2f m/s %5.2f rad/s%s\n",
              is_close ? "follows" : "FAILS", command[0], command[1], command[2], mean[0], mean[1], mean[2],
              up > 0.5 ? "" : ", fallen");
  return is_close;
}

}  // namespace

int main(int, char** argv) {
  char error[1000] = "";
  mjModel* m = mj_loadXML(argv[1], nullptr, error, sizeof(error));
  if (!m) return std::printf("%s\n", error), 2;
  constexpr double commands[][3] = {{0, 0, 0}, {0.8, 0, 0}, {-0.7, 0, 0}, {0, 0.6, 0}, {0, -0.6, 0}, {0.5, 0, 0.4}};
  int failures = 0;
  for (const auto& command : commands) failures += !follows(m, command);
  mj_deleteModel(m);
  return failures > 0;
}
