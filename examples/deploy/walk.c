/* Walks Unitree's Go1 in MuJoCo with an exported policy, in the order of a robot's computer: observe, act, hold.
 * It contains nothing of drl but the header policy.h. */
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy.h"

#define JOINTS DRL_POLICY_ACTIONS

static const char *const joint_names[JOINTS] = DRL_POLICY_ACTION_NAMES;
static const double scales[JOINTS] = DRL_POLICY_ACTION_SCALES; /* rad per unit of an action */
static const double angles[JOINTS] = DRL_POLICY_ACTION_OFFSETS; /* rad, for action 0 */

typedef struct {
  mjModel *model;
  mjData *data;
  int trunk, velocimeter, gyro, position[JOINTS], velocity[JOINTS], actuator[JOINTS];
  drl_real action[JOINTS], command[3]; /* m/s ahead, m/s to the left, rad/s to the left */
} Robot;

static int find(const mjModel *model, int type, const char *name) {
  const int id = mj_name2id(model, type, name);
  if (id < 0) {
    fprintf(stderr, "error: the model has no %s\n", name);
    exit(2);
  }
  return id;
}

static void load(Robot *robot, const char *file) {
  char error[1000];
  int k, a;
  mjModel *m = robot->model = mj_loadXML(file, NULL, error, sizeof(error));
  if (!m) {
    fprintf(stderr, "error: %s\n", error);
    exit(2);
  }
  robot->data = mj_makeData(m);
  robot->trunk = find(m, mjOBJ_BODY, "trunk");
  robot->velocimeter = m->sensor_adr[find(m, mjOBJ_SENSOR, "imu_lin_vel")];
  robot->gyro = m->sensor_adr[find(m, mjOBJ_SENSOR, "imu_ang_vel")];
  for (k = 0; k < JOINTS; ++k) {
    const int joint = find(m, mjOBJ_JOINT, joint_names[k]);
    robot->position[k] = m->jnt_qposadr[joint];
    robot->velocity[k] = m->jnt_dofadr[joint];
    for (a = 0; a < m->nu; ++a)
      if (m->actuator_trnid[2 * a] == joint) robot->actuator[k] = a;
    robot->data->qpos[robot->position[k]] = angles[k];
  }
  robot->data->qpos[2] = 0.278; /* m, the height of the trunk when the robot stands */
  mj_forward(m, robot->data);
}

/* Fills in the observation in the order of policy.json. */
static void observe(const Robot *robot, drl_real *observation) {
  const mjData *d = robot->data;
  const mjtNum *frame = d->xmat + 9 * robot->trunk; /* row-major: world = frame * body */
  int k;
  for (k = 0; k < 3; ++k) *observation++ = (drl_real)d->sensordata[robot->velocimeter + k];
  for (k = 0; k < 3; ++k) *observation++ = (drl_real)d->sensordata[robot->gyro + k];
  for (k = 0; k < 3; ++k) *observation++ = (drl_real)-frame[6 + k]; /* the direction of gravity, as the body sees it */
  for (k = 0; k < JOINTS; ++k) *observation++ = (drl_real)(d->qpos[robot->position[k]] - angles[k]);
  for (k = 0; k < JOINTS; ++k) *observation++ = (drl_real)d->qvel[robot->velocity[k]];
  for (k = 0; k < JOINTS; ++k) *observation++ = robot->action[k];
  for (k = 0; k < 3; ++k) *observation++ = robot->command[k];
}

/* Holds the joints' targets for one step of the policy. */
static void hold(Robot *robot) {
  const int steps = (int)(DRL_POLICY_DT / robot->model->opt.timestep + 0.5);
  int k;
  for (k = 0; k < JOINTS; ++k) robot->data->ctrl[robot->actuator[k]] = angles[k] + scales[k] * robot->action[k];
  for (k = 0; k < steps; ++k) mj_step(robot->model, robot->data);
  mj_forward(robot->model, robot->data); /* sensors of the state after the steps */
}

static double uniform(double low, double high) { return low + (high - low) * rand() / RAND_MAX; }

int main(int argc, char **argv) {
  const int seconds = argc > 2 ? atoi(argv[2]) : 300, per_command = 5; /* s */
  const int steps = (int)(seconds / DRL_POLICY_DT), between = (int)(per_command / DRL_POLICY_DT);
  const int settled = (int)(1 / DRL_POLICY_DT);
  drl_real observation[DRL_POLICY_OBSERVATIONS];
  double error = 0, settled_error = 0;
  int step, counted = 0;
  Robot robot = {0};
  if (argc < 2) {
    fprintf(stderr, "usage: walk go1.xml [SECONDS]\n");
    return 2;
  }
  load(&robot, argv[1]);
  for (step = 0; step < steps; ++step) {
    double ahead, left;
    if (step % between == 0) {
      robot.command[0] = (drl_real)uniform(-1, 1);
      robot.command[1] = (drl_real)uniform(-1, 1);
      robot.command[2] = (drl_real)uniform(-0.5, 0.5);
    }
    observe(&robot, observation);
    ahead = observation[0] - robot.command[0];
    left = observation[1] - robot.command[1];
    error += sqrt(ahead * ahead + left * left);
    if (step % between >= settled) {
      settled_error += sqrt(ahead * ahead + left * left);
      ++counted;
    }
    if (observation[8] > -0.34) { /* tilted by more than 70 degrees */
      printf("the robot fell after %.1f s\n", step * DRL_POLICY_DT);
      return 1;
    }
    drl_policy_act(observation, robot.action);
    hold(&robot);
  }
  printf("%d s, %d commands: mean |command - velocity| %.3f m/s, and %.3f m/s without the first second after each\n", seconds,
         steps / between, error / steps, settled_error / counted);
  mj_deleteData(robot.data);
  mj_deleteModel(robot.model);
  return 0;
}
