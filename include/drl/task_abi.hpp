// The border between drl and a library of tasks: plain structs, so that another compiler's library, or one of another
// build of drl, can be told from ours and used. A library defines drl_task_library (task_table_unit.hpp).
#pragma once

#include <cstdint>

#include "drl/canvas.hpp"
#include "drl/isa_list.hpp"
#include "drl/step_row.hpp"
#include "drl/training_stats.hpp"

namespace drl {

// Of everything below, and of what is included above: a change of either is another number.
inline constexpr int32_t kTaskAbi = 5;
inline constexpr uint64_t kTaskMagic = 0x4c5254'5341544bull;

// All environments' arrays, in the memory of the queue that steps them.
struct EnvArrays {
  int64_t num_envs;
  uint64_t seed;
  int64_t first_global_index;
  void* const* state;       // [columns], of 4-byte numbers [num_envs] each: those of State in their order, then of the
                            // frames that a history keeps
  int32_t* age;             // [num_envs] steps in this episode
  float* episode_reward;    // [num_envs]
  float* const* terms;      // [reward terms, then metrics], [num_envs] each, sums over this episode
  int32_t* ended_by;        // [num_envs] bit k: by cause k; null for a task that names none
  uint8_t* stale;           // [num_envs] Counted (task_kernels.hpp)
  const float* curriculum;  // its numbers; null for a task without
  int64_t sharers;          // environments that share a row of sums, a power of two
  double* sums;             // [num_envs / sharers, columns of EpisodeSums], of ended episodes
  void* simulator;          // SimulatorRecord::create's; null of other tasks
};

// What a loop does its work for: environments [begin, end).
struct LoopCall {
  const EnvArrays* envs;
  const void* params;           // bytes of Params
  const float* reward_weights;  // [reward terms]; null for a task without weights
  const StepRow* row;
  LifetimeStep step;
  int64_t begin, end;
  int64_t group_size;         // of a reset: Start
  int32_t random_start_ages;  // of a reset: 0 or 1
  void* stream;               // a GPU's
};

// A loop of a task. Gives 0, or anything else if it failed, and why in error [error_size], which ends with a 0.
using TaskLoop = int32_t (*)(const LoopCall* call, char* error, int64_t error_size);

struct TaskLoops {
  TaskLoop reset, step;
  TaskLoop begin_others;  // on a host, behind each step: another episode for those whose last one ended
  TaskLoop probe;         // on a GPU: loads the kernels, before anything is recorded
};

struct TaskField {
  const char* name;
  int32_t is_int;  // 1: int32; 0: float
  int32_t count;   // of its numbers
};

enum class TaskParamKind : int32_t { f32, f64, i32, boolean };
struct TaskParam {
  const char *name, *help, *unit;
  TaskParamKind kind;
  int32_t offset;  // in Params
  double low, high;
  int32_t low_is_out, high_is_out;
};

// A task whose environments are an object of its library's own (drl/simulator.hpp), one on each rank. Its loops step
// the ranges of a step at the same time, on threads of drl.
struct RobotChoice;
struct SimulatorConfig {
  int64_t num_envs;            // of this object
  int64_t first_global_index;  // of its first environment; the others follow
  uint64_t seed;
  const RobotChoice* robot = nullptr;  // of a task with RobotRecord; null: its own
};
enum class SimulatorType : int32_t { f32, f64, i32, i64, u8 };
// What it must not lose, in its own memory, where it stays.
struct SimulatorArray {
  const char* name;
  SimulatorType type;
  int64_t columns;
  void* data;  // [num_envs, columns]
};
struct SimulatorRecord {
  // As TaskLoop: 0, or why not; 2 if the user can correct it. `params`: bytes of Params.
  int32_t (*create)(const SimulatorConfig* config, const void* params, void** simulator, char* error,
                    int64_t error_size);
  void (*destroy)(void* simulator);
  // Calls visit(context, array) for each array of its state.
  int32_t (*state)(void* simulator, void (*visit)(void* context, const SimulatorArray* array), void* context,
                   char* error, int64_t error_size);
  // What it has read, the same wherever that lies: "ant.xml (3fa2c1d09b7e)", or "". It lives as long as the simulator.
  const char* (*files)(void* simulator);
};

struct TaskRecord;
// What options may say of a robot in its task's stead.
struct RobotChoice {
  const char* model;   // MJCF file: absolute, or as the task names it
  int32_t frame_skip;  // its time steps in a step of the task
};
// What is known of such a robot before a run begins.
struct RobotFacts {
  double dt;        // s, of a step of the task
  char file[4096];  // where the model is
  char id[512];     // SimulatorRecord::files
};
// A task whose physics libmujoco computes (its simulator), and the same task on physics in lanes.
struct RobotRecord {
  RobotChoice own;
  const TaskRecord* in_lanes;  // null: its model was not compiled
  // 0 if lanes can be used; 1, or 2 if the user must correct something whatever computes it, and why. `facts` are known
  // unless it is 2.
  int32_t (*look)(const RobotChoice* choice, RobotFacts* facts, char* error, int64_t error_size);
};

struct TaskEnd {
  const char* name;
  int32_t time_out;  // 1, or 0: terminated
};

struct TaskRecord {
  const char *name, *preset;
  int32_t obs_dim, critic_obs_dim;  // obs_dim: of one frame
  int32_t history;                  // frames that the actor sees
  int32_t discrete, action_size;    // ActionSpace
  const float *action_low, *action_high;
  const float *action_scale, *action_offset;  // null: 1 and 0
  int32_t head_count;                         // of several choices at once, else 0
  const int32_t* heads;
  int32_t step_limit, truncates, finite_horizon;
  double dt;
  int32_t reward_term_count;
  const char* const* reward_terms;
  const double* reward_weights;  // null: without
  int32_t scale_rewards_by_dt;
  int32_t metric_count;
  const char* const* metrics;
  int32_t end_count;
  const TaskEnd* ends;
  int32_t field_count;
  const TaskField* fields;
  int32_t param_count;
  const TaskParam* params;
  int64_t params_size;
  const void* default_params;  // [params_size]
  int32_t curriculum_count;    // of its numbers
  const char* const* curriculum_names;
  const float* curriculum_start;
  void (*update_curriculum)(float* numbers, const TrainingStats* stats);
  // Of a task whose options decide it, obs_dim with such params; else null.
  int32_t (*obs_dim_with)(const void* params);
  const TaskLoops* host;   // [kIsaCount]
  const TaskLoops* exact;  // the same in double, from and to floats, one environment after the other; null: none
  // Where GPU code says that it is there (*gpu is null without), since it is linked beside this.
  const TaskLoops* const* gpu;
  const SimulatorRecord* simulator;  // or null
  const RobotRecord* robot;          // or null
  const char* model;                 // of physics in lanes: the id of what was compiled; else null
  // As TaskLoop: shows environment call->begin, in the memory of the host. Null: the task does not draw.
  int32_t (*draw)(const LoopCall* call, const CanvasCalls* canvas, char* error, int64_t error_size);
  const char* trouble;  // null, or why the task cannot be used
};

inline constexpr int kTaskSizeCount = 19;
struct TaskLibrary {
  uint64_t magic;
  int32_t abi;
  int32_t sizes[kTaskSizeCount];  // TaskSizes
  uint64_t flags;                 // hash of the compiler's options on which equal bits rest
  const char* compiler;
  const char* drl_version;
  int32_t count;
  const TaskRecord* const* tasks;  // [count]
};

// Sizes of the structs, and the number of instruction sets.
struct TaskSizes {
  int32_t all[kTaskSizeCount] = {sizeof(TaskLibrary),
                                 sizeof(TaskRecord),
                                 sizeof(TaskLoops),
                                 sizeof(TaskField),
                                 sizeof(TaskParam),
                                 sizeof(EnvArrays),
                                 sizeof(LoopCall),
                                 sizeof(StepRow),
                                 sizeof(SimulatorConfig),
                                 sizeof(SimulatorArray),
                                 sizeof(SimulatorRecord),
                                 sizeof(TaskEnd),
                                 sizeof(TrainingStats),
                                 sizeof(CanvasCalls),
                                 sizeof(Shape),
                                 sizeof(RobotRecord),
                                 sizeof(RobotChoice),
                                 sizeof(RobotFacts),
                                 kIsaCount};
};

constexpr uint64_t hash_with(uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3ull; }  // FNV-1a
constexpr uint64_t text_hash(const char* text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (; *text; ++text) hash = hash_with(hash, static_cast<unsigned char>(*text));
  return hash;
}

}  // namespace drl

// The library's one symbol.
extern "C" {
using DrlTaskLibraryFunction = const drl::TaskLibrary* (*)();
}
#define DRL_TASK_LIBRARY_SYMBOL "drl_task_library"
