// drl_robot: compiles the physics of a robot (an MJCF model) to a C++ header that simulates many copies side by side.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

#include "apps/program.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "physics/cost.hpp"
#include "physics/emit.hpp"
#include "physics/trace.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

using namespace robot_compiler;

constexpr const char* kUsage =
    "drl_robot: compiles the physics of a robot (an MJCF model) to a C++ header that\n"
    "simulates many copies side by side.\n"
    "\n"
    "  drl_robot half_cheetah.xml --output half_cheetah.hpp\n"
    "  drl_robot half_cheetah.xml --explain\n"
    "\n"
    "The header computes what MuJoCo computes, up to rounding. If the model uses\n"
    "features that drl_robot does not support, drl_robot lists them and writes\n"
    "nothing. With --if_possible, it writes a header that contains the reason, and\n"
    "libmujoco simulates the robot.\n"
    "Exit codes: 0 done, 1 the header could not be written, 2 the model cannot be\n"
    "compiled, or wrong usage.\n"
    "\n";

struct RobotOptions {
  std::string output;
  bool explain = false, if_possible = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    v("output", output, "the header to write; - = standard output", as_path, letter('o'));
    v("explain", explain, "print what is compiled, and the cost of a step");
    v("if_possible", if_possible, "if the model cannot be compiled, write a header that contains the reason");
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

constexpr size_t kLongest = 1000;  // bytes of a line that contains names of the model

RobotModel read(const std::string& file, bool if_possible) {
  try {
    return read_robot_model(file);
  } catch (const std::invalid_argument& error) {
    if (!if_possible) throw UsageError(printable(error.what(), kLongest));
    RobotModel none;
    none.file = std::filesystem::path(file).filename().string();
    none.unsupported = {std::string("a file that MuJoCo cannot read: ") + error.what()};
    return none;
  }
}

void refuse_unsupported(const RobotModel& model) {
  if (model.unsupported.empty()) return;
  std::string list;
  for (const std::string& what : model.unsupported) list += "\n  " + printable(what, kLongest);
  throw UsageError(model.file +
                   " cannot be compiled (libmujoco can simulate it; these features are not supported):" + list);
}

void check_output(const std::string& output, const std::string& model) {
  if (output == kStandardOutput) return;
  require_output("output", output);
  std::error_code error;
  if (std::filesystem::equivalent(output, model, error))
    throw UsageError("--output " + output + " is the model (which would be overwritten): name another file");
}

// Leaves a file with the same content untouched, so that builds do not recompile the code that includes it.
void write(const std::string& output, const std::string& text) {
  if (output == kStandardOutput) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      throw Error("standard output cannot be written (the disk may be full): give --output FILE");
    return;
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  if (std::filesystem::exists(output) && std::ranges::equal(read_file(output), bytes)) return;
  write_file_atomically(output, bytes);
}

void explain(const RobotModel& model, const Program& program) {
  std::printf("%s: %zu moving bodies, %d values of qpos, %d of qvel; %s, time step %g s\n", model.file.c_str(),
              model.bodies.size(), model.nq, model.nv,
              model.runge_kutta          ? "Runge-Kutta of order 4"
              : model.implicit_actuators ? "implicitfast"
                                         : "Euler",
              model.timestep);
  std::printf("%zu actuators, %zu limits, %zu points that may touch the floor%s", model.actuators.size(),
              limited_joints(model).size(), model.contacts.size(), program.edges == 3 ? ", all in a plane" : "");
  std::printf("; %zu pairs of geoms that may touch%s\n", model.pairs.size(), model.elliptic ? "; elliptic cones" : "");
  if (const size_t frictions = frictional_dofs(model).size(); frictions > 0)
    std::printf("%zu degrees of freedom with dry friction\n", frictions);
  if (!model.parameters.empty() || !model.sensors.empty())
    std::printf("%zu sensors; %zu friction coefficients or centres of mass that environments may change\n",
                model.sensors.size(), model.parameters.size());
  std::printf("\n");
  std::printf("%-16s %10s %10s   (a multiply-add counts as one operation)\n", "function", "operations", "sin, cos");
  for (const Function& function : program.functions()) {
    const FunctionText text = emit_function(program, function);
    const std::string name = function.signature.substr(0, function.signature.find('('));
    std::printf("%-16s %10d %10d%s\n", name.c_str(), text.operations, text.trigonometric,
                function.is_inlined ? "   per contact" : "");
  }
  const Cost cost = cost_of(model, program);
  std::printf("\n%d bytes of state and %d bytes of scratch per lane, in float\n", cost.state_bytes, cost.work_bytes);
  std::printf("%d operations per step if nothing touches, %d if all points touch the floor\n", cost.least, cost.most);
  std::printf(
      "estimate: %.3g to %.3g million steps per second and core, with 16 lanes and one operation per cycle at 3 GHz\n",
      1e-6 * cost.slowest, 1e-6 * cost.fastest);
}

int run(const std::vector<std::string>& words) {
  RobotOptions options;
  OptionTable table;
  table.section("", "Robot", options);
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  const std::vector<std::string> models = table.take_arguments(arguments);
  table.apply_command_line(arguments);
  if (options.version) return std::printf("drl %s (%s)\n", kVersion, kGitHash), kDone;
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  if (models.empty())
    throw UsageError(
        "no model is given (drl_robot compiles an MJCF file): drl_robot half_cheetah.xml --output half_cheetah.hpp");
  if (options.output.empty() && !options.explain)
    throw UsageError("--output is missing (the header needs a file name): add --output half_cheetah.hpp, or --explain");

  if (options.explain && options.output == kStandardOutput)
    throw UsageError("--explain and --output - both write to standard output: give one of them, or --output FILE");
  const std::string& file = models[0];
  if (models.size() > 1)
    throw UsageError("two models are given, " + file + " and " + models[1] + " (a header holds one): give one");
  if (!options.output.empty()) check_output(options.output, file);
  const RobotModel model = read(file, options.if_possible);
  if (options.if_possible && !options.output.empty() && !model.unsupported.empty()) {
    std::fprintf(options.output == kStandardOutput ? stderr : stdout, "%s will be simulated by libmujoco (%s)\n",
                 model.file.c_str(), why_not(model).c_str());
    return write(options.output, emit_why_not(model)), kDone;
  }
  refuse_unsupported(model);
  Program program;
  trace(model, program);
  if (options.explain) explain(model, program);
  if (options.output.empty()) return kDone;
  return write(options.output, emit_header(model, program)), kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
