// Writes a project with a task for a robot, to edit: what drl_new_task --robot needs to know about a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace drl {

// velocity: a legged robot follows commanded velocities. track: it follows a motion. reach: the last body of an arm
// reaches points. bare: the robot moves, and the rewards are a start to write others. by_model: velocity for a robot
// with a free joint and feet, reach for one without a free joint, else bare.
enum class TaskKind { by_model, velocity, track, reach, bare };

// What a URDF file does not say: what drives its hinges and slides, and whether its base moves freely.
struct UrdfAdditions {
  std::string actuators = "motor";  // or position, none
  double kp = 0, kv = -1;           // of position servos, N m/rad and N m s/rad; kv below 0: critically damped
  bool has_free_base = false;
};
// Returns whether a file is named as URDF.
bool is_urdf(const std::string& file);
// Writes a URDF file as MJCF, and the meshes that it names to the directory assets beside it. Throws UsageError as
// read_urdf() does (urdf.hpp).
void write_mjcf(const std::string& urdf, const UrdfAdditions& additions, const std::filesystem::path& output);

struct RobotTask {
  std::string file;  // MJCF or URDF
  std::string name;  // of the task
  TaskKind kind = TaskKind::by_model;
  std::vector<std::string> feet = {};  // names of bodies; empty: found in the model
  UrdfAdditions additions = {};        // to a URDF file
};

// Writes the header of the task, CMakeLists.txt, README.md, and a copy of the model and its files to a directory, which
// must be empty. Returns what a user should know, a sentence each. Throws UsageError if the file is no model, nothing
// in it can be controlled, or a task of this kind cannot be written for it.
std::vector<std::string> write_robot_task(const RobotTask& task, const std::filesystem::path& folder);

}  // namespace drl
