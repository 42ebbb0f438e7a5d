// drl_robot: compiles the physics of a robot (an MJCF model) to a C++ header that simulates many copies side by side.

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <span>
#include <sstream>
#include <stop_token>
#include <thread>
#include <utility>

#include "apps/new_task/robot_task.hpp"
#include "apps/program.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "base/version.hpp"
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
    "features that drl_robot does not support, drl_robot lists their kinds and writes\n"
    "nothing; --explain all lists all elements. With --if_possible, it writes a\n"
    "header that contains the reason, and libmujoco simulates the robot.\n"
    "Exit codes: 0 done, 1 the header could not be written, 2 the model cannot be\n"
    "compiled, or wrong usage.\n"
    "\n";

struct RobotOptions {
  std::string output, task, kind = "model", feet, base = "fixed";
  UrdfAdditions additions;
  int places = 0;
  bool explain = false, all = false, randomised = false, if_possible = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    v("output", output, "the header to write (of URDF: the MJCF file); - = standard output", as_path, letter('o'));
    v("explain", explain, "print what is compiled and the operations of its functions, or what prevents it");
    v("all", all, "with --explain: list every element that prevents it (also --explain all)");
    v("places", places,
      "contacts between geoms that a copy has room for, beside those with a horizontal floor; 0 = half as many again "
      "as libmujoco has in random motion. Where there are more, the step counts in Metrics/unsolved",
      at_least(0));
    v("randomised", randomised,
      "let masses, gains and other numbers of the model differ between copies, for --env.dr "
      "(docs/howto/randomisation.md)");
    v("task", task,
      "instead, write a project with a task of this name for the robot to the directory --output, which must be empty "
      "(drl_new_task --robot uses it)");
    v("kind", kind,
      "with --task: velocity, track, reach or bare (docs/tutorials/own_robot.md); model = the one that suits the model",
      one_of({"model", "velocity", "track", "reach", "bare"}));
    v("feet", feet,
      "with --task: the names of the bodies that are feet, such as left,right; empty = found in the model");
    v("actuators", additions.actuators, "of a URDF file: what drives its joints",
      one_of({"motor", "position", "none"}));
    v("kp", additions.kp, "with --actuators position: torque or force for a deviation (N m/rad or N/m)", at_least(0.0));
    v("kv", additions.kv, "with --actuators position: the same for a velocity; -1 = critically damped", at_least(-1.0));
    v("base", base, "of a URDF file: whether its first link moves freely, standing on the floor",
      one_of({"fixed", "free"}));
    v("if_possible", if_possible, "if the model cannot be compiled, write a header that contains the reason");
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

constexpr size_t kLongest = 1000;  // bytes of a line that contains names of the model
constexpr size_t kMostKinds = 27;  // lines of a refusal; three more may surround them

// Discards what libraries write to standard error during its lifetime: for a degenerate mesh, Qhull writes 60 lines.
// MuJoCo's own message is in its exception.
class QuietStandardError {
 public:
  QuietStandardError() : saved_(::dup(STDERR_FILENO)) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (saved_ >= 0 && nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) ::close(nowhere);
  }
  ~QuietStandardError() {
    if (saved_ < 0) return;
    std::fflush(stderr);
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }
  QuietStandardError(const QuietStandardError&) = delete;

 private:
  int saved_;
};

// After two seconds, a line on a terminal says that the program is still working: a model with many large meshes takes
// long to read.
class ProgressLine {
 public:
  explicit ProgressLine(const std::string& file) {
    if (::isatty(STDERR_FILENO) != 1) return;
    const auto print = [file, terminal = ::dup(STDERR_FILENO)](const std::stop_token& over) {
      if (sleep_unless(over, std::chrono::seconds(2)))
        ::dprintf(terminal, "compiling %s ...\n", printable(file).c_str());
      ::close(terminal);
    };
    thread_ = starting_thread([&] { return std::jthread(print); });
  }

 private:
  std::jthread thread_;
};

constexpr const char* kUnreadable = "a file that MuJoCo cannot read: ";

RobotModel read(const std::string& file, const RobotOptions& options) {
  try {
    const QuietStandardError quiet;
    mallopt(M_MMAP_THRESHOLD, 1 << 16);  // so that libmujoco's copies of meshes go back to the system
    return read_robot_model(file, options.places, options.randomised);
  } catch (const std::invalid_argument& error) {
    if (!options.if_possible) throw UsageError(printable(error.what(), kLongest));
    RobotModel none;
    none.randomised = options.randomised;
    none.file = std::filesystem::path(file).filename().string();
    add_unsupported(none, "", kUnreadable, error.what());
    return none;
  }
}

constexpr const char* kRemedy = "change the model, or give --if_possible, so that libmujoco simulates the robot";

// Throws a UsageError with one line for each kind of feature that cannot be compiled, or for each element if `all`.
void refuse_unsupported(const RobotModel& model, bool all) {
  if (model.unsupported.empty()) return;
  if (const std::vector<std::string> lines = unsupported_lines(model); lines.size() == 1)
    throw UsageError(printable(model.file) + " cannot be compiled (" + printable(lines[0], kLongest) + "): " + kRemedy);
  if (model.unsupported.size() == 1 && !all)
    throw UsageError(printable(model.file) + " cannot be compiled (" +
                     printable(model.unsupported[0].lines[0], kLongest) + ", and " +
                     std::to_string(model.unsupported[0].lines.size() - 1) +
                     " more; --explain all lists them): " + kRemedy);
  std::string list;
  size_t lines = 0, left = 0, hidden = 0;
  for (const Unsupported& kind : model.unsupported) {
    const size_t others = kind.lines.size() - 1;
    if (!all && ++lines > kMostKinds) {
      left += 1;
      continue;
    }
    for (size_t k = 0; k < (all ? kind.lines.size() : 1); ++k) list += "\n  " + printable(kind.lines[k], kLongest);
    if (!all && others > 0) list += " (and " + std::to_string(others) + " more)", hidden += others;
  }
  if (left > 0) list += "\n  and " + counted(static_cast<int64_t>(left), "more kind");
  if (left + hidden > 0) list += "\n--explain all lists every element";
  throw UsageError(printable(model.file) + " cannot be compiled (the features below are not supported): " + kRemedy +
                   list);
}

// Writes a project to the directory --output, and prints what a user should know about it.
void write_task(const std::string& file, const RobotOptions& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.output, error) || !std::filesystem::is_empty(options.output, error))
    throw UsageError("--output " + options.output + " is no empty directory (--task writes several files): make one");
  RobotTask task{.file = file, .name = options.task, .additions = options.additions};
  if (options.kind == "velocity") task.kind = TaskKind::velocity;
  if (options.kind == "track") task.kind = TaskKind::track;
  if (options.kind == "reach") task.kind = TaskKind::reach;
  if (options.kind == "bare") task.kind = TaskKind::bare;
  std::istringstream feet(options.feet);
  for (std::string foot; std::getline(feet, foot, ',');) task.feet.push_back(foot);
  std::vector<std::string> notes;
  {
    const QuietStandardError quiet;
    notes = write_robot_task(task, options.output);
  }
  for (const std::string& note : notes) std::printf("%s\n", note.c_str());
}

// Refuses options without effect: those of URDF for another file, those of a header for URDF, and gains of motors.
void require_urdf_options(const std::string& file, const RobotOptions& options) {
  const UrdfAdditions &given = options.additions, none;
  const bool has_gains = given.kp != none.kp || given.kv != none.kv;
  if (!is_urdf(file) && (has_gains || given.actuators != none.actuators || options.base != "fixed"))
    throw UsageError("--actuators, --kp, --kv and --base have no effect on " + printable(file) +
                     " (they are about URDF files): leave them out");
  if (given.actuators != "position" && has_gains)
    throw UsageError("--kp and --kv have no effect (--actuators is " + given.actuators +
                     "): give --actuators position, or leave them out");
  if (given.actuators == "position" && given.kp == 0)
    throw UsageError("--actuators position has no stiffness (--kp is 0): give --kp, such as --kp 30");
  if (is_urdf(file) && options.task.empty() && !options.output.empty() &&
      (options.explain || options.randomised || options.if_possible || options.places > 0))
    throw UsageError("--explain, --randomised, --if_possible and --places have no effect on " + printable(file) +
                     " (URDF is only written as MJCF): give them with the MJCF file");
}

// Writes a URDF file as MJCF to --output, and the meshes that it names to the directory assets beside it.
void convert(const std::string& file, const RobotOptions& options) {
  const std::filesystem::path output = options.output;
  if (output.extension() != ".xml")
    throw UsageError(printable(file) + " is URDF (which has no actuators and no floor): write it as MJCF first, with " +
                     "--output robot.xml and, if needed, --actuators, --kp, --kv and --base free");
  const QuietStandardError quiet;
  write_mjcf(file, options.additions, output);
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
  std::printf("%s: %zu moving %s, %d values of qpos, %d of qvel; %s, time step %g s\n", model.file.c_str(),
              model.bodies.size(), model.bodies.size() == 1 ? "body" : "bodies", model.nq, model.nv,
              model.runge_kutta          ? "Runge-Kutta of order 4"
              : model.implicit_turning   ? "implicit"
              : model.implicit_actuators ? "implicitfast"
                                         : "Euler",
              model.timestep);
  std::printf("%zu actuators, %d limits, %zu points that may touch a horizontal floor%s", model.actuators.size(),
              count_limits(model), model.contacts.size(), program.edges == 3 ? ", all in a plane" : "");
  std::printf("; %zu pairs of geoms that may touch%s\n", model.pairs.size(), model.elliptic ? "; elliptic cones" : "");
  const auto is_of_world = [&](int g) { return model.pair_geoms[g].body < 0; };
  const auto is_with_world = [&](const GeomPair& p) { return is_of_world(p.first) || is_of_world(p.second); };
  if (!model.pairs.empty())
    std::printf(
        "%td of the pairs are with the world; for %s there are places for %d contacts (--places changes this)\n",
        std::ranges::count_if(model.pairs, is_with_world),
        model.noslip ? "all contacts, also with the world," : "contacts between bodies", model.pair_places.contacts);
  if (model.noslip)
    std::printf("the noslip solver follows each solution, with at most %s, in double\n",
                counted(model.noslip->iterations, "sweep").c_str());
  if (const StiffestConstraint stiffest = stiffest_constraint(model); stiffest.stiffness > kMostStiffInFloat) {
    std::printf("%s (%s: %.2g, at most %g",
                is_stiff(model) ? "steps are computed in double, because constraints are too stiff for float"
                                : "steps are computed in float, though contacts may be stiff",
                printable(stiffest.name).c_str(), stiffest.stiffness, kMostStiffInFloat);
    if (model.float_trial)
      std::printf(
          "; in random motion %.2g, and float's error is below %.1e in 99%% of the steps with contacts, at most %g",
          model.float_trial->stiffest, model.float_trial->error, kMostFloatError);
    std::printf(")%s\n", deepest_contacts(model).empty() ? "" : "; steps with stiffer ones count in Metrics/unsolved");
  }
  if (!model.equalities.empty())
    std::printf("%s with %d rows\n",
                counted(static_cast<int64_t>(model.equalities.size()), "equality constraint").c_str(),
                count_equality_rows(model));
  if (const size_t frictions = frictional_dofs(model).size(); frictions > 0)
    std::printf("%zu degrees of freedom with dry friction\n", frictions);
  if (!model.tendons.empty())
    std::printf("%s\n", counted(static_cast<int64_t>(model.tendons.size()), "tendon").c_str());
  if (!model.parameters.empty() || !model.sensors.empty())
    std::printf(
        "%zu sensors; %zu numbers (such as friction coefficients and centres of mass) that environments may change\n",
        model.sensors.size(), model.parameters.size());
  if (!model.lacking_sensors.empty()) {
    const LackingSensor& lacking = model.lacking_sensors[0];
    std::printf("%s that lanes do not compute, such as '%s' (%s); tasks that use them need libmujoco\n",
                counted(static_cast<int64_t>(model.lacking_sensors.size()), "sensor").c_str(),
                printable(lacking.name).c_str(), lacking.why.c_str());
  }
  std::printf("\n");
  std::printf("%-16s %10s %10s   (a multiply-add counts as one operation)\n", "function", "operations", "sin, cos");
  for (const Function& function : program.functions()) {
    const FunctionText text = emit_function(program, function);
    const std::string name = function.signature.substr(0, function.signature.find('('));
    std::printf("%-16s %10d %10d%s\n", name.c_str(), text.operations, text.trigonometric,
                function.is_inlined ? "   per contact" : "");
  }
  if (!model.pairs.empty())
    std::printf(
        "\nThis is not the cost of a step: most of that may be contacts between geoms, and the solver's work for "
        "them.\ntools/compare_robots %s measures a step.\n",
        printable(model.file).c_str());
}

int run(const std::vector<std::string>& words) {
  RobotOptions options;
  OptionTable table;
  table.section("", "Robot", options);
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  for (size_t k = 1; k < arguments.size(); ++k)
    if (arguments[k - 1] == "--explain" && arguments[k] == "all") arguments[k] = "--all";
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
  require_urdf_options(file, options);
  options.additions.has_free_base = options.base == "free";
  if (std::filesystem::path(file).extension().string().starts_with(".usd"))
    throw UsageError(printable(file) +
                     " is USD, which drl does not read: write it as MJCF or URDF first, for example "
                     "with the exporter of the program that it comes from");
  if (models.size() > 1)
    throw UsageError("two models are given, " + file + " and " + models[1] + " (a header holds one): give one");
  if (!options.output.empty() && options.task.empty()) check_output(options.output, file);
  if (!options.task.empty()) {
    if (options.output.empty())
      throw UsageError("--task writes a project (which needs an empty directory): add --output");
    if (options.explain || options.if_possible || options.places > 0)
      throw UsageError(
          "--task only writes a task (it compiles nothing): leave out --explain, --if_possible and --places");
    if (!std::regex_match(options.task, std::regex("[A-Za-z][A-Za-z0-9_]*")))
      throw UsageError("--task " + shown(options.task) +
                       " is no name of a task (which has letters, digits and _): give another");
    return write_task(file, options), kDone;
  }
  if (is_urdf(file)) return convert(file, options), kDone;
  const ProgressLine progress(file);
  const RobotModel model = read(file, options);
  for (const std::string& warning : model.warnings)
    log::warn("{}: {}", printable(model.file), printable(warning, kLongest));
  if (options.if_possible && !options.output.empty() && !model.unsupported.empty()) {
    const bool is_unreadable = model.unsupported[0].what == kUnreadable;
    std::fprintf(options.output == kStandardOutput ? stderr : stdout, "%s %s (%s)\n", model.file.c_str(),
                 is_unreadable ? "cannot be simulated" : "will be simulated by libmujoco", why_not(model).c_str());
    return write(options.output, emit_why_not(model)), kDone;
  }
  refuse_unsupported(model, options.all);
  Program program;
  trace(model, program);
  if (options.explain) explain(model, program);
  if (options.output.empty()) return kDone;
  return write(options.output, emit_header(model, program)), kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
