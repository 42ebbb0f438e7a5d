#include "motion/motion.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "drl/task/border.hpp"
#include "store/mapped_arrays.hpp"

namespace drl {
namespace {

constexpr char kFormat[] = "drl-motion";
constexpr int64_t kMostFrames = 1 << 24;  // a task counts frames in floats
constexpr char kSeparator = '\n';         // between names, in attributes

template <class T>
Tensor tensor_of(const std::string& name, DType type, std::vector<int64_t> shape, const std::vector<T>& numbers) {
  Tensor tensor{name, type, std::move(shape), {}};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
  tensor.data.assign(bytes.begin(), bytes.end());
  return tensor;
}

// A file in memory, with the numbers that follow from it.
struct Loaded {
  MappedArrays arrays;
  std::vector<std::string> joints, bodies;
  double rate = 0;
  std::vector<float> left;
  int64_t frames = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), loaded_{MappedArrays(path, kFormat), {}, {}, 0, {}, 0} {}

  std::unique_ptr<Loaded> read() {
    loaded_.joints = names("joint_names"), loaded_.bodies = names("body_names");
    loaded_.rate = number("fps");
    const MappedArray& first = array("joint_pos", DType::f32);
    loaded_.frames = first.shape.empty() ? 0 : first.shape[0];
    const auto joints = static_cast<int64_t>(loaded_.joints.size()),
               bodies = static_cast<int64_t>(loaded_.bodies.size());
    if (loaded_.frames < 2) fail("has no two frames");
    if (loaded_.frames > kMostFrames)
      throw UsageError(fmt::format("motion {} has {} frames (at most {}, about 93 hours): split it", path_,
                                   loaded_.frames, kMostFrames));
    for (const char* name : {"joint_pos", "joint_vel"}) check(name, {loaded_.frames, joints});
    for (const char* name : {"body_pos_w", "body_lin_vel_w", "body_ang_vel_w"})
      check(name, {loaded_.frames, bodies, 3});
    check("body_quat_w", {loaded_.frames, bodies, 4});
    count_left();
    return std::make_unique<Loaded>(std::move(loaded_));
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw UsageError("motion " + path_ + " " + problem + " (it was not made by drl_motion): make it again");
  }
  const MappedArray& array(const std::string& name, DType type) const {
    const MappedArray* found = loaded_.arrays.find(name);
    if (!found || found->type != type) fail("lacks the array " + name);
    return *found;
  }
  // Throws unless the array has this shape and all its numbers are finite.
  void check(const std::string& name, const std::vector<int64_t>& shape) const {
    const MappedArray& found = array(name, DType::f32);
    if (found.shape != shape) fail("has an array " + name + " of another shape than its joints, bodies and frames");
    const std::span<const float> numbers(static_cast<const float*>(found.data), found.bytes / sizeof(float));
    if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }))
      fail("has numbers in " + name + " that are not finite");
  }
  template <class T>
  const T& attribute(const std::string& name) const {
    const auto found = loaded_.arrays.attributes().find(name);
    const T* value = found == loaded_.arrays.attributes().end() ? nullptr : std::get_if<T>(&found->second);
    if (!value) fail("lacks the attribute " + name);
    return *value;
  }
  std::vector<std::string> names(const std::string& attribute_name) const {
    return split(attribute<std::string>(attribute_name), kSeparator);
  }
  double number(const std::string& name) const {
    const double value = attribute<double>(name);
    if (!(value > 0) || !std::isfinite(value)) fail("has the attribute " + name + " = " + fmt::format("{:g}", value));
    return value;
  }
  void count_left() {
    const MappedArray& starts = array("motion_starts", DType::i64);
    std::vector<int64_t> begin(starts.bytes / sizeof(int64_t));
    if (begin.empty()) fail("has no motion");
    std::memcpy(begin.data(), starts.data, starts.bytes);
    // All are checked before memory is reserved for what follows from them.
    for (size_t k = 0; k < begin.size(); ++k) {
      const int64_t least = k == 0 ? 0 : begin[k - 1] + 2, most = k == 0 ? 0 : loaded_.frames - 2;
      if (begin[k] < least || begin[k] > most)
        fail(
            fmt::format("has motion_starts[{}] = {}, which must be from {} to {}, since it has {} and each motion at "
                        "least two",
                        k, begin[k], least, most, counted(loaded_.frames, "frame")));
    }
    begin.push_back(loaded_.frames);
    loaded_.left.reserve(static_cast<size_t>(loaded_.frames));
    for (size_t k = 0; k + 1 < begin.size(); ++k) {
      for (int64_t frame = begin[k]; frame < begin[k + 1]; ++frame)
        loaded_.left.push_back(static_cast<float>(begin[k + 1] - 1 - frame));
    }
  }

  std::string path_;
  Loaded loaded_;
};

std::vector<std::string> strings(std::span<const char* const> names) { return {names.begin(), names.end()}; }

// Sets `columns` to the places of `wanted` in a file's `names`.
void find_columns(const std::string& path, const std::string& kind, const std::vector<std::string>& names,
                  std::span<const char* const> wanted, int* columns) {
  for (const char* name : wanted) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      const std::string near = nearest(name, names);
      throw UsageError("motion " + path + " has no " + kind + " '" + name + "' (it is of another robot" +
                       (near.empty() ? "" : ", whose nearest name is '" + printable(near) + "'") +
                       "): make it with drl_motion for this robot");
    }
    *columns++ = static_cast<int>(found - names.begin());
  }
}

// Returns the file's content, which is read once in a process and never freed: environments that step now must not
// change when an evaluation makes others.
const Loaded& loaded(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Loaded>> files;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Loaded>& content = files[path];
  if (!content) content = Reader(path).read();
  return *content;
}

MotionFrames frames_for(const std::string& path, std::span<const char* const> joints,
                        std::span<const char* const> bodies, double rate) {
  DRL_CHECK(joints.size() <= MotionFrames::kMost && bodies.size() <= MotionFrames::kMost, "too many joints or bodies");
  const Loaded& file = loaded(path);
  if (std::abs(file.rate - rate) > 1e-6 * rate)
    throw UsageError(
        fmt::format("motion {} has {:g} frames per second (the task takes {:g} steps per second): make it "
                    "with drl_motion --rate {:g}",
                    path, file.rate, rate, rate));
  for (const std::string& joint : file.joints)
    if (std::ranges::find(joints, joint, [](const char* name) { return std::string(name); }) == joints.end()) {
      const std::string near = nearest(joint, strings(joints));
      throw UsageError("motion " + path + " moves the joint '" + printable(joint) +
                       "', which the robot lacks (it is of another robot" +
                       (near.empty() ? "" : "; the nearest joint is '" + near + "'") +
                       "): make it with drl_motion for this robot");
    }
  MotionFrames frames;
  find_columns(path, "joint", file.joints, joints, frames.joint);
  find_columns(path, "body", file.bodies, bodies, frames.body);
  const auto numbers = [&](const char* name) { return static_cast<const float*>(file.arrays.find(name)->data); };
  frames.joint_pos = numbers("joint_pos"), frames.joint_vel = numbers("joint_vel");
  frames.body_pos = numbers("body_pos_w"), frames.body_quat = numbers("body_quat_w");
  frames.body_lin_vel = numbers("body_lin_vel_w"), frames.body_ang_vel = numbers("body_ang_vel_w");
  frames.left = file.left.data(), frames.count = file.frames;
  frames.joints = static_cast<int>(file.joints.size()), frames.bodies = static_cast<int>(file.bodies.size());
  return frames;
}

}  // namespace

void write_motions(const std::filesystem::path& path, const Motions& m) {
  const auto joints = static_cast<int64_t>(m.joints.size()), bodies = static_cast<int64_t>(m.bodies.size());
  const std::string separator(1, kSeparator);
  Checkpoint content;
  content.attributes = {{"model", m.model},
                        {"joint_names", join(m.joints, separator)},
                        {"body_names", join(m.bodies, separator)},
                        {"motion_names", join(m.names, separator)},
                        {"fps", m.rate}};
  content.tensors = {tensor_of("joint_pos", DType::f32, {m.frames, joints}, m.joint_pos),
                     tensor_of("joint_vel", DType::f32, {m.frames, joints}, m.joint_vel),
                     tensor_of("body_pos_w", DType::f32, {m.frames, bodies, 3}, m.body_pos),
                     tensor_of("body_quat_w", DType::f32, {m.frames, bodies, 4}, m.body_quat),
                     tensor_of("body_lin_vel_w", DType::f32, {m.frames, bodies, 3}, m.body_lin_vel),
                     tensor_of("body_ang_vel_w", DType::f32, {m.frames, bodies, 3}, m.body_ang_vel),
                     tensor_of("motion_starts", DType::i64, {static_cast<int64_t>(m.starts.size())}, m.starts)};
  write_arrays(path, kFormat, content);
}

int32_t read_motion_file(const MotionRequest* request, MotionFrames* frames, char* error, int64_t error_size) {
  const MotionRequest& r = *request;
  return with_error_code(error, error_size, [&] {
    try {
      *frames = frames_for(r.path, {r.joints, static_cast<size_t>(r.joint_count)},
                           {r.bodies, static_cast<size_t>(r.body_count)}, r.rate);
    } catch (const Error& thrown) {
      throw std::invalid_argument(thrown.what());
    }
  });
}

}  // namespace drl
