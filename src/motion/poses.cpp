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
    const auto bad = [&](double x, const std::string& what, double most, const char* unit) {
      if (!std::isfinite(x) || std::abs(x) > most)
        throw UsageError(fmt::format("motion {} has {} = {} in {} (it must be finite and at most {:g}{}): correct it",
                                     path_, what, x, place, most, unit));
    };
    for (size_t k = 0; k < 3; ++k) bad(poses.root_pos[3 * f + k], fmt::format("root_{}", "xyz"[k]), 1e4, " m");
    const auto joints = static_cast<size_t>(poses.joints);
    for (size_t k = 0; k < joints; ++k) bad(poses.joint_pos[joints * f + k], robot_.joints()[k], 100, " rad or m");
    double length = 0;
    for (size_t k = 0; k < 4; ++k) bad(poses.root_quat[4 * f + k], "the root's orientation", 1e4, "");
    for (size_t k = 0; k < 4; ++k) length += poses.root_quat[4 * f + k] * poses.root_quat[4 * f + k];
    length = std::sqrt(length);
    if (std::abs(length - 1) > 0.05)
      throw UsageError(
          fmt::format("motion {} has a root orientation of length {:.3g} in {} (a quaternion has length 1): "
                      "columns may be in another order, see drl_motion --help",
                      path_, length, place));
    for (size_t k = 0; k < 4; ++k) poses.root_quat[4 * f + k] /= length;
  }
  void check_frames(int64_t frames) const {
    if (frames < 2)
      throw UsageError("motion " + path_ + " has " + counted(frames, "frame") +
                       " (a motion has at least two): give another file");
    if (static_cast<double>(frames) > kMostFrames)
      throw UsageError(
          fmt::format("motion {} has {} frames (at most {:g}): cut it into several files", path_, frames, kMostFrames));
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
    checker_.check_frames(poses_.frames);
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

namespace {

// Reads the arrays of an .npz file as poses.
class NpzReader {
 public:
  NpzReader(const std::string& path, const MotionRobot& robot)
      : path_(path),
        robot_(robot),
        checker_(path_, robot),
        file_(path, {kMotionWords.what, "give a file that mjlab's csv_to_npz has made"}),
        angles_(file_.array("joint_pos")),
        places_(file_.array("body_pos_w")),
        turns_(file_.array("body_quat_w")) {}

  Poses read() {
    const NpzArray rate = file_.array("fps");
    if (rate.numbers.size() != 1 || !(rate.numbers[0] >= 1) || !(rate.numbers[0] <= 1e4))
      throw UsageError("motion " + path_ + " has no fps between 1 and 10000: make it with mjlab's csv_to_npz");
    rate_ = rate.numbers[0];
    require_shapes();
    checker_.check_frames(frames_);
    if (file_.has("joint_names") || file_.has("body_names")) return checked(poses_by_names());
    const Order own{in_order(robot_.joints().size()), in_order(robot_.bodies().size())},
        isaac{robot_.breadth_first_joints(), robot_.breadth_first_bodies()};
    Poses poses = poses_in(own);
    if (!robot_.misplaced_body(poses)) return checked(std::move(poses));
    if (Poses other = poses_in(isaac); !robot_.misplaced_body(other)) {
      other.order = "breadth first, as Isaac Lab's";
      return checked(std::move(other));
    }
    if (!robot_.misplaced_body(poses_in(own, {3, 0, 1, 2})) || !robot_.misplaced_body(poses_in(isaac, {3, 0, 1, 2})))
      fail("has quaternions x, y, z, w in body_quat_w (the bodies fit in this order)",
           "write them as w, x, y, z: numpy.roll(body_quat_w, 1, axis=-1)");
    return checked(std::move(poses));
  }

 private:
  // The columns of the file that belong to the model's joints and bodies, or the reverse.
  struct Order {
    std::vector<size_t> joints, bodies;
  };
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const { file_.fail(problem, remedy); }
  static std::vector<size_t> in_order(size_t count) {
    std::vector<size_t> order(count);
    for (size_t k = 0; k < count; ++k) order[k] = k;
    return order;
  }
  // Returns the place of each name of the robot in an array of names, or 0, 1, ... if there is none.
  std::vector<size_t> columns(const std::string& array, const std::vector<std::string>& wanted, int64_t count) const {
    if (!file_.has(array)) return in_order(wanted.size());
    const std::vector<std::string> names = file_.texts(array);
    if (std::ssize(names) != count)
      fail(fmt::format("has {} in {} and {} columns of them", counted(std::ssize(names), "name"), array, count),
           "make it again");
    std::vector<size_t> order;
    for (const std::string& name : wanted) {
      const auto found = std::ranges::find(names, name);
      if (found == names.end()) {
        const std::string near = nearest(name, names);
        fail(fmt::format("has no '{}' in {} ({} has it)", name, array, robot_.file()),
             near.empty() ? "give a motion of this robot" : "did you mean '" + printable(near) + "'?");
      }
      order.push_back(static_cast<size_t>(found - names.begin()));
    }
    return order;
  }
  // With names, the file may have more bodies than the robot, and columns in any order.
  void require_shapes() {
    frames_ = angles_.shape.empty() ? 0 : angles_.shape[0];
    const auto own_joints = std::ssize(robot_.joints()), own_bodies = std::ssize(robot_.bodies());
    joints_ = angles_.shape.size() == 2 ? angles_.shape[1] : -1;
    bodies_ = places_.shape.size() == 3 ? places_.shape[1] : -1;
    const auto shape = [](const NpzArray& array) { return fmt::format("({})", fmt::join(array.shape, ", ")); };
    const std::string remedy = "give a motion of this robot, " + robot_.file();
    if (joints_ != own_joints)
      fail(fmt::format("has joint_pos of shape {} (the robot has {})", shape(angles_), counted(own_joints, "joint")),
           remedy);
    if (places_.shape != std::vector<int64_t>{frames_, bodies_, 3} ||
        turns_.shape != std::vector<int64_t>{frames_, bodies_, 4} ||
        (bodies_ != own_bodies && !(bodies_ > own_bodies && file_.has("body_names"))))
      fail(fmt::format("has body_pos_w of shape {} and body_quat_w of shape {} (the robot has bodies: {})",
                       shape(places_), shape(turns_), own_bodies),
           remedy);
  }
  Poses poses_by_names() const {
    const std::vector<size_t> joints = columns("joint_names", robot_.joints(), joints_),
                              bodies = columns("body_names", robot_.bodies(), bodies_);
    Poses poses = poses_from(joints, bodies, {0, 1, 2, 3});
    if (joints != in_order(joints.size()) || bodies != in_order(bodies.size())) poses.order = "ordered by their names";
    return poses;
  }
  // Returns the poses of a file whose column k has the model's joint or body `order[k]`.
  Poses poses_in(const Order& order, const std::array<size_t, 4>& quat = {0, 1, 2, 3}) const {
    const auto inverse = [](const std::vector<size_t>& places) {
      std::vector<size_t> at(places.size());
      for (size_t k = 0; k < places.size(); ++k) at[places[k]] = k;
      return at;
    };
    return poses_from(inverse(order.joints), inverse(order.bodies), quat);
  }
  // Returns the poses whose joints and bodies are these columns. `quat`: the places of w, x, y and z.
  Poses poses_from(const std::vector<size_t>& joints, const std::vector<size_t>& bodies,
                   const std::array<size_t, 4>& quat) const {
    Poses poses{.rate = rate_,
                .frames = frames_,
                .joints = static_cast<int>(joints.size()),
                .root_pos = {},
                .root_quat = {},
                .joint_pos = {},
                .body_pos = {},
                .bodies = static_cast<int>(bodies.size())};
    for (size_t f = 0; f < static_cast<size_t>(frames_); ++f) {
      const double *angle = &angles_.numbers[f * static_cast<size_t>(joints_)],
                   *place = &places_.numbers[3 * f * static_cast<size_t>(bodies_)],
                   *turn = &turns_.numbers[4 * f * static_cast<size_t>(bodies_)];
      for (const size_t j : joints) poses.joint_pos.push_back(angle[j]);
      for (const size_t b : bodies) poses.body_pos.insert(poses.body_pos.end(), place + 3 * b, place + 3 * b + 3);
      poses.root_pos.insert(poses.root_pos.end(), place + 3 * bodies[0], place + 3 * bodies[0] + 3);
      for (const size_t k : quat) poses.root_quat.push_back(turn[4 * bodies[0] + k]);
    }
    return poses;
  }
  Poses checked(Poses poses) const {
    for (int64_t f = 0; f < frames_; ++f) checker_.check(poses, f, fmt::format("frame {}", f));
    return poses;
  }

  std::string path_;
  const MotionRobot& robot_;
  Checker checker_;
  NpzFile file_;
  NpzArray angles_, places_, turns_;  // [frames, joints], [frames, bodies, 3], [frames, bodies, 4]
  double rate_ = 0;
  int64_t frames_ = 0, joints_ = 0, bodies_ = 0;
};

}  // namespace

Poses read_npz(const std::string& path, const MotionRobot& robot) { return NpzReader(path, robot).read(); }

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

std::vector<size_t> MotionRobot::breadth_first_bodies() const {
  std::vector<size_t> order;
  const auto add_children = [&](int parent) {
    for (int b = first_body_; b < model_->nbody; ++b)
      if (model_->body_parentid[b] == parent && b != parent) order.push_back(static_cast<size_t>(b - first_body_));
  };
  for (int b = 0; b < first_body_; ++b) add_children(b);
  for (size_t k = 0; k < order.size(); ++k) add_children(first_body_ + static_cast<int>(order[k]));
  return order;
}
std::vector<size_t> MotionRobot::breadth_first_joints() const {
  std::vector<size_t> order;
  for (const size_t body : breadth_first_bodies())
    for (int j = 1; j < model_->njnt; ++j)
      if (model_->jnt_bodyid[j] == first_body_ + static_cast<int>(body)) order.push_back(static_cast<size_t>(j - 1));
  return order;
}

// A robot of another kind has its bodies elsewhere at the same joint angles.
std::optional<MisplacedBody> MotionRobot::misplaced_body(const Poses& poses) const {
  if (poses.body_pos.empty()) return std::nullopt;
  const auto data = new_data();
  constexpr double kTolerance = 0.01;  // m
  for (const int64_t frame : {int64_t{0}, poses.frames / 2, poses.frames - 1}) {
    set(*data, poses, frame);
    mj_kinematics(model_.get(), data.get());
    for (size_t b = 0; b < bodies_.size(); ++b) {
      const double* here = data->xpos + 3 * (first_body_ + static_cast<int>(b));
      const double* there = &poses.body_pos[3 * (static_cast<size_t>(frame) * bodies_.size() + b)];
      const double off = std::hypot(here[0] - there[0], here[1] - there[1], here[2] - there[2]);
      if (!(off <= kTolerance)) return MisplacedBody{bodies_[b], frame, off};
    }
  }
  return std::nullopt;
}
void MotionRobot::check_bodies(const std::string& name, const Poses& poses) const {
  if (const std::optional<MisplacedBody> wrong = misplaced_body(poses))
    throw UsageError(
        fmt::format("motion {} has the body '{}' {:.3g} m from where {} has it at the same joint angles (frame {}; it "
                    "is of another robot, or its joints and bodies are in an order that is neither the model's nor "
                    "breadth first): give a motion of this robot, another --model, or arrays joint_names and "
                    "body_names",
                    name, wrong->body, wrong->distance, file_, wrong->frame));
}

void MotionRobot::append(Motions& motions, const std::string& name, const Poses& given, double rate) const {
  check_sense(name, given);
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
