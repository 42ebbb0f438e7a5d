#include "motion/poses.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "motion/input.hpp"
#include "motion/npz.hpp"

namespace drl {
namespace {

constexpr double kMostFrames = 1e7;  // about a day at 100 frames per second

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Throws unless all numbers are finite, and within bounds that no motion exceeds. Makes quaternions unit length.
class Checker {
 public:
  Checker(const std::string& path, const MotionRobot& robot) : path_(path), robot_(robot) {}

  // `place` says where the frame is in the file: "line 3".
  void check(Poses& poses, int64_t frame, const std::string& place) const {
    const auto f = static_cast<size_t>(frame);
    const auto bad = [&](double x, const std::string& what, double most) {
      if (!std::isfinite(x) || std::abs(x) > most)
        throw UsageError(fmt::format("motion {} has {} = {} in {} (it must be finite and at most {:g}): correct it",
                                     path_, what, x, place, most));
    };
    for (size_t k = 0; k < 3; ++k) bad(poses.root_pos[3 * f + k], fmt::format("root_{}", "xyz"[k]), 1e4);
    const auto joints = static_cast<size_t>(poses.joints);
    for (size_t k = 0; k < joints; ++k) bad(poses.joint_pos[joints * f + k], robot_.joints()[k], 100);
    double length = 0;
    for (size_t k = 0; k < 4; ++k) bad(poses.root_quat[4 * f + k], "the root's orientation", 1e4);
    for (size_t k = 0; k < 4; ++k) length += poses.root_quat[4 * f + k] * poses.root_quat[4 * f + k];
    length = std::sqrt(length);
    if (std::abs(length - 1) > 0.05)
      throw UsageError(
          fmt::format("motion {} has a root orientation of length {:.3g} in {} (a quaternion has length 1): "
                      "columns may be in another order, see drl_motion --help",
                      path_, length, place));
    for (size_t k = 0; k < 4; ++k) poses.root_quat[4 * f + k] /= length;
  }
  void check_frames(const Poses& poses) const {
    if (poses.frames < 2)
      throw UsageError("motion " + path_ + " has " + counted(poses.frames, "frame") +
                       " (a motion has at least two): give another file");
    if (static_cast<double>(poses.frames) > kMostFrames)
      throw UsageError(fmt::format("motion {} has {} frames (at most {:g}): cut it into several files", path_,
                                   poses.frames, kMostFrames));
  }

 private:
  const std::string& path_;
  const MotionRobot& robot_;
};

// The columns of a CSV file: 0 to 2 the root's position, 3 to 6 its quaternion x, y, z, w, then the joints.
constexpr std::array<const char*, 7> kRoot = {"root_x", "root_y", "root_z", "root_qx", "root_qy", "root_qz", "root_qw"};

class CsvReader {
 public:
  CsvReader(const std::string& path, const MotionRobot& robot, double rate)
      : path_(path), robot_(robot), checker_(path, robot), joints_(robot.joints().size()) {
    poses_.rate = rate, poses_.joints = static_cast<int>(joints_);
  }

  Poses read() {
    const std::string text = plain_text(text_of(read_input(path_)), "motion " + path_);
    if (text.find('\0') != std::string::npos)
      throw UsageError("motion " + path_ +
                       " is not text (it has zero bytes): give a .csv file, or an .npz file under "
                       "a name that ends in .npz");
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      ++line_;
      take_line(trim(std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
    }
    checker_.check_frames(poses_);
    return std::move(poses_);
  }

 private:
  void take_line(std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    std::vector<std::string_view> cells;
    for (size_t at = 0; at < line.size();) {
      const size_t end = std::min(line.find_first_of(",; \t", at), line.size());
      if (end > at) cells.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    if (columns_.empty()) {
      const bool has_names = !cells.empty() && !number_in<double>(cells[0]);
      set_columns(has_names ? cells : std::vector<std::string_view>{}, cells.size());
      if (has_names) return;
    }
    if (cells.size() != columns_.size())
      throw UsageError(fmt::format("motion {} has {} numbers in line {} (the lines before have {}): correct it", path_,
                                   cells.size(), line_, columns_.size()));
    take_frame(cells);
  }

  // Sets the column of the pose that each column of the file is.
  void set_columns(const std::vector<std::string_view>& names, size_t count) {
    const size_t wanted = kRoot.size() + joints_;
    if (names.empty()) {
      if (count != wanted)
        throw UsageError(fmt::format(
            "motion {} has {} columns ({} needs {}: 7 of the root and {}): give a motion of this robot, or a "
            "first line with the columns' names (drl_motion --help)",
            path_, count, robot_.file(), wanted, counted(static_cast<int64_t>(joints_), "joint")));
      for (size_t k = 0; k < wanted; ++k) columns_.push_back(k);
      return;
    }
    std::vector<std::string> known(kRoot.begin(), kRoot.end());
    known.insert(known.end(), robot_.joints().begin(), robot_.joints().end());
    for (const std::string_view name : names) {
      const auto found = std::ranges::find(known, name);
      if (found == known.end()) {
        const std::string near = nearest(name, known);
        throw UsageError("motion " + path_ + " has a column '" + printable(name) + "' that " + robot_.file() +
                         " lacks (it has no such joint): " +
                         (near.empty() ? "give a motion of this robot" : "did you mean '" + near + "'?"));
      }
      const auto column = static_cast<size_t>(found - known.begin());
      if (std::ranges::find(columns_, column) != columns_.end())
        throw UsageError("motion " + path_ + " has two columns '" + *found + "': remove one");
      columns_.push_back(column);
    }
    for (size_t k = 0; k < kRoot.size(); ++k)
      if (std::ranges::find(columns_, k) == columns_.end())
        throw UsageError("motion " + path_ + " has no column '" + kRoot[k] +
                         "' (the root's pose needs all seven): add it");
  }

  void take_frame(const std::vector<std::string_view>& cells) {
    std::vector<double> pose(kRoot.size() + joints_);
    for (size_t k = 0; k < cells.size(); ++k) {
      const auto number = number_in<double>(cells[k]);
      if (!number)
        throw UsageError(fmt::format("motion {} has '{}' in line {}, column {} (not a number): correct it", path_,
                                     printable(cells[k]), line_, k + 1));
      pose[columns_[k]] = *number;
    }
    poses_.root_pos.insert(poses_.root_pos.end(), pose.begin(), pose.begin() + 3);
    for (const size_t k : {6, 3, 4, 5}) poses_.root_quat.push_back(pose[k]);
    poses_.joint_pos.insert(poses_.joint_pos.end(), pose.begin() + kRoot.size(), pose.end());
    checker_.check(poses_, poses_.frames, fmt::format("line {}", line_));
    poses_.frames += 1;
  }

  std::string path_;
  const MotionRobot& robot_;
  Checker checker_;
  size_t joints_;
  std::vector<size_t> columns_;
  int64_t line_ = 0;
  Poses poses_;
};

// Returns rotation `b` relative to `a` as a rotation vector in world coordinates, in rad.
std::array<double, 3> rotation_between(const double* a, const double* b) {
  double inverse[4], relative[4];
  std::array<double, 3> turn;
  mju_negQuat(inverse, a);
  mju_mulQuat(relative, b, inverse);
  mju_quat2Vel(turn.data(), relative, 1);
  return turn;
}

// Writes the quaternion between a and b by the shorter way; share 0 is a.
void slerp(const double* a, const double* b, double share, double* out) {
  const double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  const double angle = std::acos(std::min(1.0, std::abs(dot))), sign = dot < 0 ? -1 : 1;
  const double of_a = angle < 1e-9 ? 1 - share : std::sin((1 - share) * angle) / std::sin(angle);
  const double of_b = angle < 1e-9 ? share : std::sin(share * angle) / std::sin(angle);
  for (int k = 0; k < 4; ++k) out[k] = of_a * a[k] + sign * of_b * b[k];
  mju_normalize4(out);
}

}  // namespace

MotionRobot::MotionRobot(const std::string& file) : file_(std::filesystem::path(file).filename().string()) {
  try {
    model_ = load_model(file);
  } catch (const std::invalid_argument& error) {
    throw UsageError(printable(error.what(), 1000));
  }
  const auto fail = [&](const std::string& why) {
    throw UsageError(file_ + " is no robot whose motions drl_motion converts (" + why + "): give another --model");
  };
  if (model_->njnt == 0 || model_->jnt_type[0] != mjJNT_FREE) fail("its first joint is not a free joint");
  qpos_ = model_->jnt_qposadr[0], qvel_ = model_->jnt_dofadr[0], first_body_ = model_->jnt_bodyid[0];
  for (int j = 1; j < model_->njnt; ++j) {
    if (model_->jnt_type[j] != mjJNT_HINGE && model_->jnt_type[j] != mjJNT_SLIDE)
      fail("a joint is neither a hinge nor a slide joint");
    joints_.emplace_back(mj_id2name(model_.get(), mjOBJ_JOINT, j) ? mj_id2name(model_.get(), mjOBJ_JOINT, j) : "");
  }
  for (int b = first_body_; b < model_->nbody; ++b)
    bodies_.emplace_back(mj_id2name(model_.get(), mjOBJ_BODY, b) ? mj_id2name(model_.get(), mjOBJ_BODY, b) : "");
}

Poses read_csv(const std::string& path, const MotionRobot& robot, double rate) {
  return CsvReader(path, robot, rate).read();
}

Poses read_npz(const std::string& path, const MotionRobot& robot) {
  const std::vector<NpzArray> arrays = read_npz_arrays(path, {"fps", "joint_pos", "body_pos_w", "body_quat_w"});
  const auto joints = static_cast<int64_t>(robot.joints().size()), bodies = static_cast<int64_t>(robot.bodies().size());
  const auto fail = [&](const std::string& problem) {
    throw UsageError("motion " + path + " " + problem + ": give a motion of this robot, " + robot.file());
  };
  const NpzArray &rate = arrays[0], &angles = arrays[1], &places = arrays[2], &turns = arrays[3];
  if (rate.numbers.size() != 1 || !(rate.numbers[0] >= 1) || !(rate.numbers[0] <= 1e4))
    throw UsageError("motion " + path + " has no fps between 1 and 10000: make it with mjlab's csv_to_npz");
  const int64_t frames = angles.shape.empty() ? 0 : angles.shape[0];
  if (angles.shape != std::vector<int64_t>{frames, joints})
    fail(fmt::format("has joint_pos of shape ({}) (the robot has {})", fmt::join(angles.shape, ", "),
                     counted(joints, "joint")));
  if (places.shape != std::vector<int64_t>{frames, bodies, 3} || turns.shape != std::vector<int64_t>{frames, bodies, 4})
    fail(fmt::format("has body_pos_w of shape ({}) and body_quat_w of shape ({}) (the robot has bodies: {})",
                     fmt::join(places.shape, ", "), fmt::join(turns.shape, ", "), bodies));
  Poses poses{.rate = rate.numbers[0],
              .frames = frames,
              .joints = static_cast<int>(joints),
              .root_pos = {},
              .root_quat = {},
              .joint_pos = angles.numbers,
              .body_pos = places.numbers,
              .bodies = static_cast<int>(bodies)};
  const auto root = [&](const NpzArray& from, int64_t frame, int64_t size, std::vector<double>& to) {
    const auto at = from.numbers.begin() + frame * bodies * size;
    to.insert(to.end(), at, at + size);
  };
  const Checker checker(path, robot);
  checker.check_frames(poses);
  for (int64_t f = 0; f < frames; ++f) {
    root(places, f, 3, poses.root_pos), root(turns, f, 4, poses.root_quat);
    checker.check(poses, f, fmt::format("frame {}", f));
  }
  return poses;
}

Poses resampled(const Poses& poses, double rate) {
  if (std::abs(poses.rate - rate) < 1e-9 * rate) return poses;
  Poses result{.rate = rate, .joints = poses.joints, .root_pos = {}, .root_quat = {}, .joint_pos = {}, .body_pos = {}};
  const double last = static_cast<double>(poses.frames - 1);
  // The number of times k / rate before the last frame's, as mjlab counts them.
  result.frames = static_cast<int64_t>(std::ceil(last / poses.rate * rate - 1e-6));
  for (int64_t f = 0; f < result.frames; ++f) {
    const double at = std::min(static_cast<double>(f) / rate * poses.rate, last);
    const auto before = std::min(static_cast<int64_t>(at), poses.frames - 2);
    const double share = at - static_cast<double>(before);
    const auto lerp = [&](const std::vector<double>& from, std::vector<double>& to, int64_t width) {
      for (int64_t k = 0; k < width; ++k) {
        const double a = from[before * width + k];
        const double b = from[(before + 1) * width + k];
        to.push_back(a * (1 - share) + b * share);
      }
    };
    lerp(poses.root_pos, result.root_pos, 3);
    lerp(poses.joint_pos, result.joint_pos, poses.joints);
    const double* quat = &poses.root_quat[4 * before];
    double between[4];
    slerp(quat, quat + 4, share, between);
    result.root_quat.insert(result.root_quat.end(), between, between + 4);
  }
  return result;
}

std::unique_ptr<mjData, MotionRobot::DeleteData> MotionRobot::new_data() const {
  std::unique_ptr<mjData, DeleteData> data(mj_makeData(model_.get()));
  if (!data) throw Error("MuJoCo has no memory for " + file_ + ": free some");
  return data;
}

void MotionRobot::set(mjData& data, const Poses& poses, int64_t frame) const {
  const auto f = static_cast<size_t>(frame), joints = static_cast<size_t>(poses.joints);
  std::copy_n(&poses.root_pos[3 * f], 3, data.qpos + qpos_);
  std::copy_n(&poses.root_quat[4 * f], 4, data.qpos + qpos_ + 3);
  for (size_t j = 0; j < joints; ++j) data.qpos[model_->jnt_qposadr[j + 1]] = poses.joint_pos[joints * f + j];
}

// A robot of another kind has its bodies elsewhere at the same joint angles.
void MotionRobot::check_bodies(const std::string& name, const Poses& poses) const {
  if (poses.body_pos.empty()) return;
  const auto data = new_data();
  constexpr double kTolerance = 0.01;  // m
  for (const int64_t frame : {int64_t{0}, poses.frames / 2, poses.frames - 1}) {
    set(*data, poses, frame);
    mj_kinematics(model_.get(), data.get());
    for (size_t b = 0; b < bodies_.size(); ++b) {
      const double* here = data->xpos + 3 * (first_body_ + static_cast<int>(b));
      const double* there = &poses.body_pos[3 * (static_cast<size_t>(frame) * bodies_.size() + b)];
      const double off = std::hypot(here[0] - there[0], here[1] - there[1], here[2] - there[2]);
      if (!(off <= kTolerance))
        throw UsageError(
            fmt::format("motion {} has the body '{}' {:.3g} m from where {} has it at the same joint angles "
                        "(frame {}; it is of another robot): give a motion of this robot, or another --model",
                        name, bodies_[b], off, file_, frame));
    }
  }
}

void MotionRobot::append(Motions& motions, const std::string& name, const Poses& given, double rate) const {
  check_bodies(name, given);
  const Poses poses = resampled(given, rate);
  if (poses.frames < 2)
    throw UsageError(
        fmt::format("motion {} is shorter than two frames at {:g} per second: give a longer one", name, rate));
  const auto data = new_data();
  const auto joints = static_cast<size_t>(poses.joints);
  for (int64_t f = 0; f < poses.frames; ++f) {
    // Differences of both neighbours, or of the only one; angular velocities as of the next frame that has both.
    const int64_t low = std::max<int64_t>(f - 1, 0), high = std::min(f + 1, poses.frames - 1);
    const double per_second = rate / static_cast<double>(high - low);
    const auto velocity = [&](const std::vector<double>& from, size_t width, size_t k) {
      return per_second * (from[static_cast<size_t>(high) * width + k] - from[static_cast<size_t>(low) * width + k]);
    };
    set(*data, poses, f);
    for (size_t k = 0; k < 3; ++k) data->qvel[static_cast<size_t>(qvel_) + k] = velocity(poses.root_pos, 3, k);
    const int64_t middle = poses.frames < 3 ? f : std::clamp<int64_t>(f, 1, poses.frames - 2);
    const int64_t first = std::max<int64_t>(middle - 1, 0), second = std::min(middle + 1, poses.frames - 1);
    const double* quat = poses.root_quat.data();
    std::array<double, 3> turn = rotation_between(quat + 4 * first, quat + 4 * second);
    for (double& x : turn) x *= rate / static_cast<double>(second - first);
    double inverse[4];
    mju_negQuat(inverse, quat + 4 * f);
    mju_rotVecQuat(data->qvel + qvel_ + 3, turn.data(), inverse);  // MuJoCo's is in the body's frame
    for (size_t j = 0; j < joints; ++j) {
      const double speed = velocity(poses.joint_pos, joints, j);
      data->qvel[model_->jnt_dofadr[j + 1]] = speed;
      motions.joint_pos.push_back(static_cast<float>(poses.joint_pos[joints * static_cast<size_t>(f) + j]));
      motions.joint_vel.push_back(static_cast<float>(speed));
    }
    mj_kinematics(model_.get(), data.get());
    mj_comPos(model_.get(), data.get());
    mj_comVel(model_.get(), data.get());
    const auto push = [](std::vector<float>& to, const double* from, int count) {
      for (int k = 0; k < count; ++k) to.push_back(static_cast<float>(from[k]));
    };
    for (int b = first_body_; b < model_->nbody; ++b) {
      double both[6];
      mj_objectVelocity(model_.get(), data.get(), mjOBJ_XBODY, b, both, 0);
      push(motions.body_pos, data->xpos + 3 * b, 3), push(motions.body_quat, data->xquat + 4 * b, 4);
      push(motions.body_ang_vel, both, 3), push(motions.body_lin_vel, both + 3, 3);
    }
  }
  motions.names.push_back(name);
  motions.starts.push_back(motions.frames);
  motions.frames += poses.frames;
}

}  // namespace drl
