// drl_robot: compiles a robot's physics, an MJCF model, to a C++ header that computes many of it side by side.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

#include "apps/program.hpp"
#include "base/options.hpp"
#include "base/version.hpp"
#include "physics/cost.hpp"
#include "physics/emit.hpp"
#include "physics/trace.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

using namespace robot_compiler;

constexpr const char* kUsage =
    "drl_robot: compiles a robot's physics, an MJCF model, to a C++ header that computes many of it side by side.\n\n"
    "  drl_robot half_cheetah.xml --output half_cheetah.hpp\n"
    "  drl_robot half_cheetah.xml --explain\n\n"
    "The header's numbers are MuJoCo's: what a model uses and the compiler cannot do is named, and nothing is "
    "written;\n"
    "or, with --if_possible, a header that says so: libmujoco computes the robot then.\n"
    "Exit codes: 0 done, 1 the header could not be written, 2 the model cannot be compiled, or wrong usage.\n\n";

struct RobotOptions {
  std::string output;
  bool explain = false, if_possible = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    v("output", output, "the header that is written", letter('o'));
    v("explain", explain, "what is compiled, and what a step of it takes");
    v("if_possible", if_possible, "write a header that says why where the model cannot be compiled");
    v("help", help, "this text", letter('h'));
    v("version", version, "version and git hash");
  }
};

RobotModel read(const std::string& file, bool if_possible) {
  try {
    return read_robot_model(file);
  } catch (const std::invalid_argument& error) {
    if (!if_possible) throw UsageError(error.what());
    RobotModel none;
    none.file = std::filesystem::path(file).filename().string();
    none.unsupported = {std::string("what it cannot read: ") + error.what()};
    return none;
  }
}

void refuse_unsupported(const RobotModel& model) {
  if (model.unsupported.empty()) return;
  std::string list;
  for (const std::string& what : model.unsupported) list += "\n  " + what;
  throw UsageError(model.file + " uses what cannot be compiled (libmujoco computes it):" + list);
}

void check_output(const std::string& output, const std::string& model) {
  require_output("output", output);
  std::error_code error;
  if (std::filesystem::equivalent(output, model, error))
    throw UsageError("--output " + output + " is the model (it would be lost): name another file");
}

// A file that says so already stays as it is: what was compiled with it is not compiled anew.
void write(const std::string& output, const std::string& text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  if (std::filesystem::exists(output) && std::ranges::equal(read_file(output), bytes)) return;
  write_file_atomically(output, bytes);
}

void explain(const RobotModel& model, const Program& program) {
  std::printf("%s: %zu bodies move, %d numbers of qpos, %d of qvel; %s, steps of %g s\n", model.file.c_str(),
              model.bodies.size(), model.nq, model.nv,
              model.runge_kutta          ? "Runge-Kutta of order 4"
              : model.implicit_actuators ? "implicitfast"
                                         : "Euler",
              model.timestep);
  std::printf("%zu actuators, %zu limits, %zu places where it may touch the floor%s", model.actuators.size(),
              limited_joints(model).size(), model.contacts.size(), program.edges == 3 ? ", all in a plane" : "");
  std::printf("; %zu pairs of its parts that may touch%s\n", model.pairs.size(),
              model.elliptic ? "; elliptic cones" : "");
  if (const size_t frictions = frictional_dofs(model).size(); frictions > 0)
    std::printf("%zu numbers of qvel with dry friction\n", frictions);
  if (!model.parameters.empty() || !model.sensors.empty())
    std::printf("%zu sensors; %zu frictions or centres of mass that differ by environment\n", model.sensors.size(),
                model.parameters.size());
  std::printf("\n");
  std::printf("%-16s %10s %10s   (a multiply-add is one; then sines and cosines)\n", "function", "operations",
              "of angles");
  for (const Function& function : program.functions()) {
    const FunctionText text = emit_function(program, function);
    const std::string name = function.signature.substr(0, function.signature.find('('));
    std::printf("%-16s %10d %10d%s\n", name.c_str(), text.operations, text.trigonometric,
                function.is_inlined ? "   a contact" : "");
  }
  const Cost cost = cost_of(model, program);
  std::printf("\n%d bytes of state and %d of scratch a lane, in float\n", cost.state_bytes, cost.work_bytes);
  std::printf("%d operations a step if nothing touches, %d if all places touch the floor\n", cost.least, cost.most);
  std::printf("%.2g to %.2g M steps a second of a core: an estimate, of 16 lanes and an operation a cycle at 3 GHz\n",
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
        "no model is named (which one shall be compiled?): drl_robot half_cheetah.xml --output half_cheetah.hpp");
  if (options.output.empty() && !options.explain)
    throw UsageError("--output is missing (where shall the header go?): a file, or --explain");

  const std::string& file = models[0];
  if (models.size() > 1)
    throw UsageError("two models, " + file + " and " + models[1] + " (a header is of one): give one");
  if (!options.output.empty()) check_output(options.output, file);
  const RobotModel model = read(file, options.if_possible);
  if (options.if_possible && !options.output.empty() && !model.unsupported.empty()) {
    std::printf("%s is left to libmujoco (%s)\n", model.file.c_str(), why_not(model).c_str());
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
