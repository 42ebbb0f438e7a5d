// Poses of a robot over time, as other programs record them, and the Motions that follow from them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drl/physics/mujoco_model.hpp"
#include "motion/motion.hpp"

namespace drl {

// Frames at equal intervals.
struct Poses {
  double rate = 0;  // frames per second
  int64_t frames = 0;
  int joints = 0;
  std::vector<double> root_pos;   // [frames, 3], m
  std::vector<double> root_quat;  // [frames, 4], (w, x, y, z), of length 1
  std::vector<double> joint_pos;  // [frames, joints], rad, in the model's order
  // Positions of all bodies in m, [frames, bodies, 3], if the file has them. They show whether it is this robot's.
  std::vector<double> body_pos;
  int bodies = 0;
  std::string order = {};  // of joints and bodies in the file, for users; "" if it is the model's
};

// A body that is not where the robot has it at the same joint angles.
struct MisplacedBody {
  std::string body;
  int64_t frame;
  double distance;  // m
};

// The robot of an MJCF file: a free joint, then joints of one number each.
class MotionRobot {
 public:
  // Throws UsageError if the file has no such robot.
  explicit MotionRobot(const std::string& file);
  const std::string& file() const { return file_; }
  const std::vector<std::string>& joints() const { return joints_; }
  const std::vector<std::string>& bodies() const { return bodies_; }

  // Return the joints and the bodies (indices into joints() and bodies()) in the order of Isaac Lab: breadth first.
  std::vector<size_t> breadth_first_joints() const;
  std::vector<size_t> breadth_first_bodies() const;

  // Returns the first body of `poses` that is not this robot's, or nullopt.
  std::optional<MisplacedBody> misplaced_body(const Poses& poses) const;
  // Throws UsageError if the numbers cannot be a motion of this robot in rad, m and the right order, and warns of those
  // that are unlikely: angles outside of the joints' ranges, a robot that does not stand on the floor, and jumps.
  void check_sense(const std::string& name, const Poses& poses) const;

  // Appends a motion with this name: its frames at `rate` per second, with velocities from differences of neighbouring
  // frames, and the bodies' poses and velocities. Throws UsageError if check_sense() does, or if a body is misplaced.
  void append(Motions& motions, const std::string& name, const Poses& poses, double rate) const;

 private:
  struct DeleteData {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  std::unique_ptr<mjData, DeleteData> new_data() const;
  void check_ranges(const std::string& name, const Poses& poses) const;
  void check_heights(const std::string& name, const Poses& poses) const;
  void warn_of_jumps(const std::string& name, const Poses& poses) const;
  // Returns the height of the robot's lowest point above the floor in some of the frames, or nothing without a floor.
  std::vector<double> lowest_points(const Poses& poses) const;
  double lowest_point(const mjData& data) const;
  void check_bodies(const std::string& name, const Poses& poses) const;
  void set(mjData& data, const Poses& poses, int64_t frame) const;

  std::string file_;
  std::unique_ptr<mjModel, DeleteModel> model_;
  std::vector<std::string> joints_, bodies_;
  int qpos_ = 0, qvel_ = 0, first_body_ = 1;  // of the free joint; the first body of the robot
};

// Reads frames of numbers, separated by commas, semicolons or blanks: the root's position (x, y, z in m) and
// orientation (quaternion x, y, z, w), then one angle (rad) for each joint. A first line may hold names of the columns:
// root_x, root_y, root_z, root_qx, root_qy, root_qz, root_qw and names of joints, in any order; joints that it lacks
// are 0. Throws UsageError, with the line, if the file cannot be used.
Poses read_csv(const std::string& path, const MotionRobot& robot, double rate);

// Reads joint_pos, body_pos_w, body_quat_w and fps of a file that mjlab's csv_to_npz has made. Its other arrays follow
// from these. Joints and bodies may be in the order of arrays joint_names and body_names, or breadth first if the
// bodies then are where the robot has them. Throws UsageError if the file cannot be used.
Poses read_npz(const std::string& path, const MotionRobot& robot);

// Returns the poses at another rate, by linear interpolation (spherical for orientations) as mjlab's csv_to_npz does.
Poses resampled(const Poses& poses, double rate);

}  // namespace drl
