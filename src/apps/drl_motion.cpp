// drl_motion: makes a file of motions, which a robot's task tracks, from recordings of other programs.

#include <cstdio>
#include <filesystem>
#include <utility>

#include "apps/program.hpp"
#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "drl/physics/mujoco_model.hpp"
#include "motion/poses.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

constexpr const char* kUsage =
    "drl_motion: makes a file of motions, which G1-Tracking follows, from recordings of\n"
    "a robot's poses.\n"
    "\n"
    "  drl_motion dance1.csv --output dance.h5\n"
    "  drl_motion walk.npz run.npz --output both.h5\n"
    "  drl_train --task G1-Tracking --env.motion dance.h5\n"
    "\n"
    "A .csv file has one frame in each line, as Unitree's retargeted LAFAN1 data set:\n"
    "  root position x, y, z (m); root orientation, a quaternion x, y, z, w; then the\n"
    "  angles of all joints (rad) in the model's order: for G1, 7 + 29 numbers.\n"
    "  A first line may name the columns: root_x root_y root_z root_qx root_qy root_qz\n"
    "  root_qw and names of joints. Joints that it lacks are 0. Lines that begin with #\n"
    "  are ignored. --fps gives the frames per second.\n"
    "A .npz file is one that mjlab's csv_to_npz has made. drl_motion reads its fps, joint_pos,\n"
    "  body_pos_w and body_quat_w. Arrays joint_names and body_names may give their order;\n"
    "  without them, it is the model's, or breadth first as in files of Isaac Lab.\n"
    "\n"
    "drl_motion interpolates the frames to --rate per second, computes velocities from\n"
    "neighbouring frames, and the poses and velocities of all bodies by MuJoCo. It does not\n"
    "adapt motions to another robot: a motion must have this robot's joints.\n"
    "Exit codes: 0 done, 1 the file could not be written, 2 a motion cannot be used, or\n"
    "wrong usage.\n"
    "\n";

struct MotionOptions {
  std::string output, model = "g1.xml";
  double fps = 30, rate = 50;
  bool help = false, version = false;

  void describe(OptionVisitor& v) {
    v("output", output, "the file to write", as_path, letter('o'));
    v("model", model, "the robot: an MJCF file, or the name of one that comes with drl", as_path);
    v("fps", fps, "frames per second of .csv files", between(1, 10000));
    v("rate", rate, "frames per second to write: the steps per second of the task", between(1, 10000));
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

std::string model_file(const std::string& name) {
  try {
    std::error_code ignored;
    return std::filesystem::exists(name, ignored) ? name : find_model(name, ModelOrigin{});
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

Poses read_poses(const std::string& file, const MotionRobot& robot, double fps) {
  const std::string kind = std::filesystem::path(file).extension().string();
  if (kind == ".npz") return read_npz(file, robot);
  if (kind == ".csv" || kind == ".txt") return read_csv(file, robot, fps);
  throw UsageError("motion " + printable(file) + " is neither .csv nor .npz (by its name): see drl_motion --help");
}

int run(const std::vector<std::string>& words) {
  MotionOptions options;
  OptionTable table;
  table.section("", "Motion", options);
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  const std::vector<std::string> files = table.take_arguments(arguments);
  table.apply_command_line(arguments);
  if (options.version) return std::printf("drl %s (%s)\n", kVersion, kGitHash), kDone;
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  if (files.empty())
    throw UsageError(
        "no motion is given (drl_motion converts .csv and .npz files): drl_motion walk.csv --output walk.h5");
  if (options.output.empty()) throw UsageError("--output is missing (the file needs a name): add --output walk.h5");
  require_output("output", options.output);
  for (const std::string& file : files) require_different({{"output", options.output}, {"motion", file}});

  const MotionRobot robot(model_file(options.model));
  Motions motions{.model = robot.file(), .joints = robot.joints(), .bodies = robot.bodies(), .rate = options.rate};
  for (const std::string& file : files) {
    const int64_t before = motions.frames;
    const Poses poses = read_poses(file, robot, options.fps);
    robot.append(motions, std::filesystem::path(file).stem().string(), poses, options.rate);
    std::printf("%s: %s at %g per second%s -> %s, %.2f s\n", printable(file, 1000).c_str(),
                counted(poses.frames, "frame").c_str(), poses.rate,
                poses.order.empty() ? "" : (", joints and bodies " + poses.order).c_str(),
                counted(motions.frames - before, "frame").c_str(),
                static_cast<double>(motions.frames - before) / options.rate);
  }
  write_motions(options.output, motions);
  std::printf("wrote %s: %s, %s, for %s\n", printable(options.output, 1000).c_str(),
              counted(static_cast<int64_t>(motions.names.size()), "motion").c_str(),
              counted(motions.frames, "frame").c_str(), motions.model.c_str());
  return kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
