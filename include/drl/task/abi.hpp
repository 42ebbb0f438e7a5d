// The binary interface (ABI) between drl and a task library. It consists of plain structs, so that drl can use
// libraries built with other compilers, and can detect those built for another version of drl. A library defines the
// function drl_task_library (drl/task/table_unit.hpp).
#pragma once

#include <cstdint>

#include "drl/canvas.hpp"
#include "drl/lanes/isa_list.hpp"
#include "drl/task/motion.hpp"
#include "drl/task/motor_network.hpp"
#include "drl/task/range.hpp"
#include "drl/task/spec.hpp"
#include "drl/task/step_row.hpp"
#include "drl/task/training_stats.hpp"

namespace drl {

// The version of everything below and in the headers included above. Increment it with every change.
inline constexpr int32_t kTaskAbi = 17;
inline constexpr uint64_t kTaskMagic = 0x4c5254'5341544bull;

// All environments' arrays, in the memory of the queue that steps them.
struct EnvArrays {
  int64_t num_envs;
  uint64_t seed;
  int64_t first_global_index;
  void* const* state;     // [columns] of 4-byte numbers [num_envs]: the numbers of State in order, then the frames of
                          // the history
  int32_t* age;           // [num_envs] steps in this episode
  float* episode_reward;  // [num_envs]
  float* const* terms;    // [reward terms, then metrics], [num_envs] each, sums over this episode
  int32_t* ended_by;      // [num_envs] bit k: ended by cause k; null for a task without ends
  uint8_t* counted_episodes;  // [num_envs] Counted (drl/task/kernels.hpp)
  const float* curriculum;    // the numbers of the curriculum; null for a task without one
  int64_t envs_per_sum_row;   // how many environments share a row of sums; a power of two
  double* sums;               // [num_envs / envs_per_sum_row (rounded up), columns of EpisodeSums], of ended episodes
  void* simulator;            // from SimulatorRecord::create; null for other tasks
  const float* model_bounds;  // [TaskRecord::model_numbers, 2] the lower and the upper bound of each number of a
                              // robot's model that environments draw; null for other tasks
  int32_t model_per_episode;  // 1: they are drawn at each reset; 0: once in an environment's lifetime
  const MotorNetwork* motor_network;  // that drives a robot's motors; or null
  float* motor_memory;                // [TaskRecord::motors * motor_network->memory, num_envs]; or null
  float* robot_columns;  // on a GPU [num_envs / 32 (rounded up), TaskRecord::robot_columns, 32]; null on a host
};

// The arguments of a loop over the environments [begin, end).
struct LoopCall {
  const EnvArrays* envs;
  const void* params;           // bytes of Params
  const float* reward_weights;  // [reward terms]; null for a task without weights
  const StepRow* row;
  LifetimeStep step;
  int64_t begin, end;
  int64_t group_size;         // for a reset: Start::group_size
  int32_t random_start_ages;  // for a reset: 0 or 1
  void* stream;               // on a GPU
};

// A loop of a task. Returns 0, or another number if it failed; then it writes the reason to error [error_size], a
// string with a terminating 0.
using TaskLoop = int32_t (*)(const LoopCall* call, char* error, int64_t error_size);

struct TaskLoops {
  TaskLoop reset, step;
  TaskLoop reset_ended;  // on a host, after each step: resets the environments whose episode ended
  TaskLoop probe;        // on a GPU: loads the kernels, before any graph is recorded
};

struct TaskField {
  const char* name;
  int32_t is_int;  // 1: int32; 0: float
  int32_t count;   // how many numbers it has
};

enum class TaskParamKind : int32_t { f32, f64, i32, boolean, file, numbers, schedule };
struct TaskParam {
  const char *name, *help, *unit;
  TaskParamKind kind;
  int32_t offset;  // in Params
  double low, high;
  int32_t low_is_out, high_is_out;
  int32_t choice_count;        // of an i32 with named values, else 0
  const char* const* choices;  // [choice_count] the names of the values 0, 1, ...
  static constexpr int kMostConditions = 4;
  ParamCondition conditions[kMostConditions];
  int32_t condition_count;
  int32_t changes_env_state;
  int32_t number_count;  // of `numbers` (floats, then an int32 that is 1 if they are given) and of a row of a schedule
  int32_t is_interval;   // 1: these are the lowest and the highest value
  int32_t most_rows;     // of a schedule (rows of floats, then an int32 with the number of rows)
};

// A simulator is a task whose environments are one object of its library per rank (drl/simulator.hpp). drl's threads
// step disjoint ranges of environments at the same time.
struct RobotChoice;
struct SimulatorConfig {
  int64_t num_envs;            // in this object
  int64_t first_global_index;  // of its first environment; the others follow
  uint64_t seed;
  const RobotChoice* robot = nullptr;  // for a task with a RobotRecord; null: the task's own robot
};
enum class SimulatorType : int32_t { f32, f64, i32, i64, u8 };
// An array of the simulator's state, in memory that the simulator owns and does not move.
struct SimulatorArray {
  const char* name;
  SimulatorType type;
  int64_t columns;
  void* data;  // [num_envs, columns]
};
struct SimulatorRecord {
  // Creates the simulator. `params` are the bytes of Params. Returns 0 or an error like a TaskLoop; 2 is an error that
  // the user can correct.
  int32_t (*create)(const SimulatorConfig* config, const void* params, void** simulator, char* error,
                    int64_t error_size);
  void (*destroy)(void* simulator);
  // Calls visit(context, array) for each array of its state.
  int32_t (*state)(void* simulator, void (*visit)(void* context, const SimulatorArray* array), void* context,
                   char* error, int64_t error_size);
  // Returns the names and hashes of the files that it has read, such as "ant.xml (3fa2c1d09b7e)", or "". The text does
  // not depend on the files' directory, and lives as long as the simulator.
  const char* (*files)(void* simulator);
};

struct TaskRecord;
// The properties of a robot that options may change.
struct RobotChoice {
  const char* model;   // MJCF file: an absolute path, or the task's name for it
  int32_t frame_skip;  // physics time steps per step of the task
  // The ranges from which environments draw numbers of the model, a line each (drl/physics/randomised_model.hpp); "" or
  // null: none.
  const char* ranges = nullptr;
  int32_t model_per_episode = 0;                // as in EnvArrays
  const MotorNetwork* motor_network = nullptr;  // likewise
};
// The properties of a robot that are known before a run begins.
struct RobotFacts {
  double dt;           // s, per step of the task
  char file[4096];     // path of the model
  char id[512];        // SimulatorRecord::files
  char mujoco[32];     // the version of MuJoCo: "4.0.0", or "4.0.0 with multiccd" if this flag may change a contact
  int32_t iterations;  // after which libmujoco's constraint solver stops
  int32_t in_double;   // 1 if lanes compute its steps in double, because float cannot resolve its contacts
};
// A robot: a task whose simulator is libmujoco, and the same task on compiled physics (in lanes).
struct RobotRecord {
  RobotChoice own;               // the task's defaults
  const TaskRecord* in_lanes;    // null: the model was not compiled
  const TaskRecord* randomised;  // in_lanes with model_numbers; null: this was not compiled
  // Reads the model. Returns 0 if the compiled physics can be used and 1 if it cannot. Returns 2 if the user must
  // correct something, whichever engine is used, and 3 if the model that was found is not the one that was compiled.
  // Writes the reason to error. Sets `facts` unless it returns 2.
  int32_t (*inspect)(const RobotChoice* choice, RobotFacts* facts, char* error, int64_t error_size);
  // Writes EnvArrays::model_bounds [size] for `randomised`. Returns 0 or an error like a TaskLoop.
  int32_t (*bounds)(const RobotChoice* choice, float* bounds, int64_t size, char* error, int64_t error_size);
  // Prepares what all environments of this process on compiled physics share, such as the heights of the ground or the
  // content of a file, for these bytes of Params. Returns as SimulatorRecord::create does. Null: nothing.
  int32_t (*prepare)(const void* params, char* error, int64_t error_size);
};

struct TaskEnd {
  const char* name;
  int32_t time_out;  // 1, or 0: terminated
};

struct TaskRecord {
  const char *name, *preset;
  const char* description;          // one line for --list_tasks; or null
  int32_t obs_dim, critic_obs_dim;  // obs_dim: of one frame
  int32_t history;                  // frames that the actor observes
  int32_t discrete, action_size;    // ActionSpace
  const float *action_low, *action_high;
  const float *action_scale, *action_offset;  // null: 1 and 0
  int32_t head_count;                         // ActionSpace::heads
  const int32_t* heads;
  int32_t step_limit, truncates, finite_horizon;
  double dt;
  int32_t reward_term_count;
  const char* const* reward_terms;
  const double* reward_weights;  // null: none
  int32_t scale_rewards_by_dt;
  int32_t metric_count;
  const char* const* metrics;
  int32_t observation_count, action_count;  // entries of the two lists; 0: the task names none
  const Quantity *observations, *actions;   // of one frame
  int32_t command_count;
  const char* const* commands;
  // Mirror an observation of one frame [obs_dim], the critic's [critic_obs_dim] and an action [action_size]. Null: the
  // task has no symmetry, or the critic no observations of its own.
  const MirroredNumber *mirrored_obs, *mirrored_critic_obs, *mirrored_action;
  int32_t end_count;
  const TaskEnd* ends;
  int32_t gate_count;
  const GateBound* gate;
  const char* gate_options;  // null: none
  int32_t field_count;
  const TaskField* fields;
  int32_t param_count;
  const TaskParam* params;
  int64_t params_size;
  const void* default_params;  // [params_size]
  int32_t curriculum_count;    // how many numbers it has
  const char* const* curriculum_names;
  const float* curriculum_start;
  void (*update_curriculum)(float* numbers, const TrainingStats* stats);
  // Returns obs_dim for these params; null if obs_dim does not depend on them.
  int32_t (*obs_dim_with)(const void* params);
  // [kIsaCount]. An entry is null if the library is not compiled for the instruction set: use the next smaller set that
  // has loops. At least one set has them.
  const TaskLoops* host;
  const TaskLoops* exact;  // loops in double that load and store floats, one environment at a time; null: none
  // Points to the pointer that the library's GPU code sets before main(); *gpu is null without GPU code.
  const TaskLoops* const* gpu;
  const SimulatorRecord* simulator;  // or null
  const RobotRecord* robot;          // or null
  const char* model;                 // for compiled physics: id of the compiled model; else null
  int32_t model_numbers;             // of a robot's model that environments draw; 0: none
  int32_t motors;                    // of such a robot, that a network can drive
  int32_t robot_columns;             // numbers that steps of a robot's environment use on a GPU besides the stack
  // Draws environment call->begin, whose state is in host memory. Returns as a TaskLoop does. Null: the task does not
  // draw.
  int32_t (*draw)(const LoopCall* call, const CanvasCalls* canvas, char* error, int64_t error_size);
  const char* trouble;  // null, or why the task cannot be used
};

inline constexpr int kTaskSizeCount = 25;
struct TaskLibrary {
  uint64_t magic;
  int32_t abi;
  int32_t sizes[kTaskSizeCount];  // TaskSizes
  uint64_t flags;                 // hash of the compiler options that affect results
  const char* compiler;
  const char* drl_version;
  int32_t count;
  const TaskRecord* const* tasks;  // [count]
  MotionReader* motion_reader;     // the library's pointer, which drl sets
};

// The sizes of the structs, and the number of instruction sets. They must agree between drl and the library.
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
                                 sizeof(FieldHeights),
                                 sizeof(Shape),
                                 sizeof(RobotRecord),
                                 sizeof(RobotChoice),
                                 sizeof(RobotFacts),
                                 sizeof(MotorNetwork),
                                 sizeof(MotionRequest),
                                 sizeof(MotionFrames),
                                 sizeof(Quantity),
                                 sizeof(GateBound),
                                 kIsaCount};
};

constexpr uint64_t hash_with(uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3ull; }  // FNV-1a
constexpr uint64_t text_hash(const char* text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (; *text; ++text) hash = hash_with(hash, static_cast<unsigned char>(*text));
  return hash;
}

}  // namespace drl

// The only symbol that a library exports.
extern "C" {
using DrlTaskLibraryFunction = const drl::TaskLibrary* (*)();
}
#define DRL_TASK_LIBRARY_SYMBOL "drl_task_library"
