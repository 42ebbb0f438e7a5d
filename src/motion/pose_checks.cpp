// Finds motions whose numbers are finite but cannot be meant: other units, another order of numbers, glitches.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "motion/poses.hpp"

namespace drl {
namespace {

// A recording exceeds ranges a little, and in few frames.
constexpr double kBeyondRange = 0.5;  // rad or m
constexpr int64_t kFewFrames = 10;    // at most one frame in so many

// The median height of the robot's lowest point: a robot may jump, but not float or sink.
constexpr double kFloats = 1, kSinks = -0.5;        // m: refused
constexpr double kMayFloat = 0.3, kMaySink = -0.1;  // m: a warning
constexpr double kOnFloor = 0.1;                    // m: mean distance from the floor of a robot that stands on it
constexpr double kFastest = 20, kFastestTurn = 60;  // m/s; rad/s, more than robots' motors reach
constexpr int64_t kHeights = 500;                   // frames whose heights are computed

double mean_distance(const std::vector<double>& heights) {
  double sum = 0;
  for (const double height : heights) sum += std::abs(height);
  return sum / static_cast<double>(heights.size());
}

Poses with_root(Poses poses, double scale, bool w_first) {
  for (double& x : poses.root_pos) x *= scale;
  // The file's x, y, z and w become w, x, y and z.
  if (w_first)
    for (size_t f = 0; f < poses.root_quat.size(); f += 4)
      std::rotate(poses.root_quat.begin() + static_cast<ptrdiff_t>(f),
                  poses.root_quat.begin() + static_cast<ptrdiff_t>(f) + 1,
                  poses.root_quat.begin() + static_cast<ptrdiff_t>(f) + 4);
  return poses;
}

}  // namespace

void MotionRobot::check_sense(const std::string& name, const Poses& poses) const {
  check_ranges(name, poses);
  check_heights(name, poses);
  warn_of_jumps(name, poses);
}

void MotionRobot::check_ranges(const std::string& name, const Poses& poses) const {
  const auto joints = static_cast<size_t>(poses.joints);
  const auto beyond = [&](size_t j, double angle) {
    const mjtNum* range = model_->jnt_range + 2 * (j + 1);
    return model_->jnt_limited[j + 1] ? std::max({range[0] - angle, angle - range[1], 0.0}) : 0.0;
  };
  for (size_t j = 0; j < joints; ++j) {
    int64_t count = 0, worst = 0;
    double most = 0;
    bool fits_as_degrees = model_->jnt_type[j + 1] == mjJNT_HINGE;
    for (int64_t f = 0; f < poses.frames; ++f) {
      const double angle = poses.joint_pos[joints * static_cast<size_t>(f) + j], off = beyond(j, angle);
      count += off > kBeyondRange;
      if (off > most) most = off, worst = f;
      fits_as_degrees = fits_as_degrees && beyond(j, angle * std::numbers::pi / 180) <= 0.1;
    }
    if (count * kFewFrames <= poses.frames) continue;
    const double angle = poses.joint_pos[joints * static_cast<size_t>(worst) + j];
    fits_as_degrees = fits_as_degrees && std::abs(angle) > 2 * std::numbers::pi;
    throw UsageError(fmt::format(
        "motion {} has {} = {:.4g} in frame {} (its range is {:.4g} to {:.4g}, and it is far outside in {} of {}{}): "
        "{}",
        name, joints_[j], angle, worst, model_->jnt_range[2 * (j + 1)], model_->jnt_range[2 * (j + 1) + 1], count,
        counted(poses.frames, "frame"), fits_as_degrees ? "; all would be inside as degrees" : "",
        fits_as_degrees ? "give angles in rad: multiply them by pi / 180"
                        : "give angles in rad, with the joints in the model's order or a first line with their names"));
  }
}

double MotionRobot::lowest_point(const mjData& data) const {
  double lowest = INFINITY;
  for (int g = 0; g < model_->ngeom; ++g) {
    if (model_->geom_bodyid[g] < first_body_ || (model_->geom_contype[g] == 0 && model_->geom_conaffinity[g] == 0))
      continue;
    const mjtNum *size = model_->geom_size + 3 * g, *box = model_->geom_aabb + 6 * g,
                 *up = data.geom_xmat + 9 * g + 6;  // the world's z axis in the geom's frame
    double below = 0;                               // how far the geom reaches below its centre
    switch (model_->geom_type[g]) {
      case mjGEOM_SPHERE:
        below = size[0];
        break;
      case mjGEOM_CAPSULE:
        below = size[0] + size[1] * std::abs(up[2]);
        break;
      default:  // its bounding box
        for (int k = 0; k < 3; ++k) below += box[3 + k] * std::abs(up[k]) - box[k] * up[k];
    }
    lowest = std::min(lowest, data.geom_xpos[3 * g + 2] - below);
  }
  return lowest;
}

std::vector<double> MotionRobot::lowest_points(const Poses& poses) const {
  const auto data = new_data();
  const auto is_floor = [&](int geom) {
    return model_->geom_bodyid[geom] == 0 &&
           (model_->geom_type[geom] == mjGEOM_PLANE || model_->geom_type[geom] == mjGEOM_HFIELD);
  };
  int floor = 0;
  while (floor < model_->ngeom && !is_floor(floor)) ++floor;
  std::vector<double> heights;
  if (floor == model_->ngeom) return heights;
  const int64_t step = std::max<int64_t>(1, poses.frames / kHeights);
  for (int64_t f = 0; f < poses.frames; f += step) {
    set(*data, poses, f);
    mj_kinematics(model_.get(), data.get());
    heights.push_back(lowest_point(*data) - data->geom_xpos[3 * floor + 2]);
  }
  return std::isfinite(heights[0]) ? heights : std::vector<double>{};
}

void MotionRobot::check_heights(const std::string& name, const Poses& poses) const {
  const std::vector<double> heights = lowest_points(poses);
  if (heights.empty()) return;
  // The frame of the median.
  std::vector<size_t> order(heights.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  const auto middle = order.begin() + static_cast<ptrdiff_t>(order.size() / 2);
  std::ranges::nth_element(order, middle, {}, [&](size_t k) { return heights[k]; });
  const double median = heights[*middle];
  const auto frame = static_cast<int64_t>(*middle) * std::max<int64_t>(1, poses.frames / kHeights);
  const std::string where = fmt::format(
      "has the robot's lowest point {:.3g} m {} the floor in frame {}, and half of the frames have it "
      "there or {}",
      std::abs(median), median < 0 ? "below" : "above", frame, median < 0 ? "lower" : "higher");
  const double distance = mean_distance(heights);
  const auto stands = [&](double scale, bool w_first) {
    const double other = mean_distance(lowest_points(with_root(poses, scale, w_first)));
    return other < kOnFloor && other < distance / 3;
  };
  if (distance > kOnFloor && stands(1, true))
    throw UsageError(fmt::format(
        "motion {} {} (with the quaternion's four numbers as w, x, y, z, the robot stands on the floor): give them as "
        "x, y, z, w in a .csv file, or name the columns root_qw root_qx root_qy root_qz in a first line",
        name, where));
  if (median > kFloats || median < kSinks) {
    for (const auto& [unit, scale] : {std::pair{"cm", 0.01}, {"mm", 0.001}})
      if (stands(scale, false))
        throw UsageError(
            fmt::format("motion {} {} (its positions seem to be in {}): give them in m", name, where, unit));
    throw UsageError(
        fmt::format("motion {} {} (the floor is at z = 0): shift root_z by {:.3g} m", name, where, -median));
  }
  if (median > kMayFloat || median < kMaySink)
    log::warn("motion {} {}: shift root_z by {:.3g} m if this is not intended", name, where, -median);
}

void MotionRobot::warn_of_jumps(const std::string& name, const Poses& poses) const {
  const auto joints = static_cast<size_t>(poses.joints);
  std::string first;
  int64_t count = 0;
  for (int64_t frame = 0; frame + 1 < poses.frames; ++frame) {
    const auto f = static_cast<size_t>(frame);
    const double *p = &poses.root_pos[3 * f], *q = &poses.root_quat[4 * f], *a = &poses.joint_pos[joints * f];
    std::string what;
    const double speed = poses.rate * std::hypot(p[3] - p[0], p[4] - p[1], p[5] - p[2]);
    const double cosine = std::abs(q[0] * q[4] + q[1] * q[5] + q[2] * q[6] + q[3] * q[7]);
    const double turn = poses.rate * 2 * std::acos(std::min(1.0, cosine));
    if (speed > kFastest) what = fmt::format("the root moves at {:.3g} m/s", speed);
    if (turn > kFastestTurn) what = fmt::format("the root turns at {:.3g} rad/s", turn);
    for (size_t j = 0; j < joints && what.empty(); ++j)
      if (const double rate = poses.rate * std::abs(a[joints + j] - a[j]); rate > kFastestTurn)
        what = fmt::format("{} moves at {:.3g} rad/s", joints_[j], rate);
    count += !what.empty();
    if (first.empty() && !what.empty()) first = fmt::format("{} after frame {}", what, frame);
  }
  if (count > 0)
    log::warn("motion {} jumps ({}; so fast in {}): check --fps and the recording", name, first,
              counted(count, "frame"));
}

}  // namespace drl
