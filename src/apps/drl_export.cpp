// drl_export: writes a trained policy in formats that other programs use.

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/program.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "export/exporters.hpp"
#include "export/onnx_program.hpp"
#include "export/verify.hpp"
#include "nets/torch/torch_library.hpp"
#include "run/pretrained.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "run/state.hpp"
#include "store/file.hpp"
#include "store/recording.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

// Largest differences that --verify accepts, for runs in fp32 and in bf16, whose numbers have 8 bits.
constexpr double kTolerance = 1e-5, kTolerance16 = 3e-2;

constexpr const char* kUsage =
    "drl_export: writes a trained policy in formats that other programs use.\n"
    "\n"
    "  drl_export --run R                       policy.onnx, policy.h and policy.json\n"
    "                                           beside its newest checkpoint\n"
    "  drl_export --checkpoint F --c policy.h   only a C header\n"
    "  drl_export --run R --verify episodes.h5  replays what drl_eval --record wrote\n"
    "                                           through the C and the ONNX export, or\n"
    "                                           through existing files (--c, --onnx)\n"
    "\n"
    "The files contain the normaliser, the network, the most probable action and its\n"
    "bounds. policy.json lists the observations and actions in order.\n"
    "Exit codes: 0 done; 1 failure, or --verify found a difference above 1e-5 (3e-2\n"
    "for runs with --precision bf16); 2 wrong usage.\n"
    "\n";

struct ExportOptions {
  std::string run, checkpoint, onnx, c, json, torchscript, verify, real = "float";
  std::vector<std::string> task_library;
  bool force = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    v("run", run, "run directory; its newest checkpoint is exported", as_path);
    v("checkpoint", checkpoint, "checkpoint file to export", as_path);
    v("task_library", task_library,
      "load tasks from this library, for checkpoints of earlier versions; may be repeated", as_path);
    v("onnx", onnx, "write an ONNX model (opset 17) to this file", as_path);
    v("c", c, "write a header of C99 to this file; it needs only libm", as_path);
    v("json", json, "write the order, names and units of observations and actions to this file", as_path);
    v("torchscript", torchscript, "write a TorchScript module to this file (needs libtorch)", as_path);
    v("real", real, "type of the numbers in the C header", one_of({"float", "double"}));
    v("verify", verify,
      "recording of drl_eval --record; compare its actions with those of the exports (of the files --c and --onnx, if "
      "they exist)",
      as_path);
    v("force", force, "overwrite files that exist");
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

// A file to write, and its content.
struct Output {
  std::string option;
  fs::path path;
  std::string content;
  bool is_written = true;  // else the file exists, and --verify reads it
};

std::vector<Output> outputs_of(const ExportOptions& options, const ExportedPolicy& policy, const fs::path& folder) {
  const bool all = options.onnx.empty() && options.c.empty() && options.json.empty() && options.torchscript.empty() &&
                   options.verify.empty();
  std::vector<Output> outputs;
  const auto add = [&](const std::string& option, const std::string& given, const std::string& name, auto&& content) {
    if (!given.empty() || all) outputs.push_back({option, given.empty() ? folder / name : fs::path(given), content()});
  };
  add("onnx", options.onnx, "policy.onnx", [&] { return onnx_model(policy); });
  add("c", options.c, "policy.h",
      [&] { return c_header(policy, options.real, options.c.empty() ? "policy.h" : fs::path(options.c).filename()); });
  add("json", options.json, "policy.json", [&] { return policy_json(policy); });
  return outputs;
}

// Describes the policy of a checkpoint that a version of drl without policy descriptions saved, from its task and
// options. Throws UsageError if the task is unknown, or if the arrays do not fit the options.
void describe_old(Checkpoint& checkpoint, const std::string& file) {
  const auto& name = attribute<std::string>(checkpoint, file, "task");
  load_task_of(checkpoint, file);
  Options options;
  options.take_recorded(name, attribute<std::string>(checkpoint, file, "options"), file);
  const PolicySpec policy = options.policy_spec();
  const std::unique_ptr<Queue> queue = make_host_queue(isa_of("auto"));
  PolicyMemory memory(*queue, policy);
  require_state(list_state([&](StateVisitor& visitor) { memory.visit_state(visitor); }), checkpoint, file);
  describe_policy(checkpoint, policy);
}

// Throws UsageError, before anything is written, unless the file may be written.
void require_new(const std::string& option, const fs::path& path, bool force) {
  require_output(option, path);
  if (std::error_code ignored; !force && fs::exists(path, ignored))
    throw UsageError("--" + option + ": " + path.string() +
                     " exists (it would be overwritten): give another file, or --force");
}

// Takes the content of outputs that --verify checks, and that need not be written, from their files.
void read_existing(const ExportOptions& options, std::vector<Output>& outputs) {
  if (options.verify.empty() || options.force) return;
  for (Output& output : outputs) {
    std::error_code ignored;
    if (output.option == "json" || !fs::exists(output.path, ignored)) continue;
    const auto refuse = [&](const char* why) {
      throw UsageError("--" + output.option + ": " + output.path.string() + " is not a file of drl_export (" + why +
                       "): give another file, or --force to write it");
    };
    if (!fs::is_regular_file(output.path, ignored)) refuse("it is a directory, a device, a pipe or a socket");
    output.content = read_text(output.path);
    if (output.option == "c" && output.content.find("define DRL_POLICY_ACTIONS ") == std::string::npos)
      refuse("it does not define DRL_POLICY_ACTIONS");
    output.is_written = false;
  }
}

// Compares the C and the ONNX export with the recording: the files given by --c and --onnx, or what drl_export would
// write.
void verify(const ExportOptions& options, const ExportedPolicy& policy, const std::vector<Output>& outputs,
            double tolerance) {
  const Checkpoint recording = read_recording(options.verify);
  const auto given = [&](const char* option) {
    const auto found = std::ranges::find(outputs, option, &Output::option);
    return found == outputs.end() ? nullptr : &*found;
  };
  const Output *c = given("c"), *model = given("onnx");
  const OnnxProgram onnx(model ? model->content : onnx_model(policy));
  const std::pair<std::string, PolicyFunction> exports[] = {
      {c ? c->path.string() : "C", compile_header(c ? c->content : c_header(policy, options.real))},
      {model ? model->path.string() : "ONNX",
       [&](std::span<const double> observation, std::span<double> state) { return onnx.run(observation, state); }}};
  for (const auto& [name, function] : exports) {
    const ReplayResult result = replay(policy, function, recording, options.verify);
    std::printf("%s: %s of %s, actions differ by at most %.2g%s\n", name.c_str(), counted(result.steps, "step").c_str(),
                counted(result.episodes, "episode").c_str(), result.worst,
                result.worst > 0 ? (" (" + result.where + ")").c_str() : "");
    if (result.worst > tolerance)
      throw Error(
          fmt::format("{} does not act as the policy did (actions differ by {:.2g}, {}): was the "
                      "recording made from this checkpoint, without --stochastic?",
                      name, result.worst, result.where));
  }
}

void write_script(const ExportedPolicy& policy, const TorchLibrary& torch, const fs::path& file) {
  std::deque<std::string> names;  // keeps its elements in place
  std::vector<TorchArray> arrays;
  policy.for_each_tensor(
      [&](const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& data) {
        names.push_back(name);
        arrays.push_back({names.back().c_str(), data.data(), shape[0], shape.size() > 1 ? shape[1] : 0});
      });
  const fs::path unfinished = file.string() + ".tmp";
  try {
    torch.save_script(unfinished, torch_script(policy), arrays);
    fs::rename(unfinished, file);
  } catch (...) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    throw;
  }
  std::printf("wrote %s (%s)\n", file.c_str(), human_bytes(static_cast<double>(fs::file_size(file))).c_str());
}

int export_policy(const ExportOptions& options) {
  if (options.run.empty() == options.checkpoint.empty())
    throw UsageError(
        "exactly one of --run and --checkpoint is needed (it names the policy): give for instance --run "
        "runs/Cartpole/latest");
  const fs::path file = find_checkpoint(options.run.empty() ? options.checkpoint : options.run);
  Checkpoint checkpoint = read_checkpoint(file);
  if (!checkpoint.attributes.contains("policy/task")) describe_old(checkpoint, file.string());
  const ExportedPolicy policy = exported_policy(checkpoint, policy_source(file));
  // The directory of a policy without the state of its training, such as one that comes with drl, may not be the
  // user's.
  const fs::path folder = is_policy_alone(checkpoint) ? fs::path() : file.parent_path();
  std::vector<Output> outputs = outputs_of(options, policy, folder);
  read_existing(options, outputs);
  std::vector<std::pair<std::string, fs::path>> files = {{"checkpoint", file}};
  for (const Output& output : outputs) files.emplace_back(output.option, output.path);
  if (!options.torchscript.empty()) files.emplace_back("torchscript", options.torchscript);
  for (const auto& [option, path] : std::span(files).subspan(1)) {
    const auto output = std::ranges::find(outputs, path, &Output::path);
    if (output == outputs.end() || output->is_written) require_new(option, path, options.force);
  }
  if (!options.verify.empty()) files.emplace_back("verify", options.verify);
  require_different(files);
  const TorchLibrary* torch = options.torchscript.empty() ? nullptr : &torch_library(1);
  if (!options.verify.empty()) {  // before anything is written
    const auto& recorded = attribute<std::string>(checkpoint, file.string(), "options");
    const bool is_coarse = recorded.find("precision = bf16") != std::string::npos ||
                           recorded.find("precision = auto") != std::string::npos;
    verify(options, policy, outputs, is_coarse ? kTolerance16 : kTolerance);
  }
  for (const Output& output : outputs) {
    if (!output.is_written) continue;
    write_file_atomically(output.path, std::as_bytes(std::span(output.content)));
    std::printf("wrote %s (%s)\n", output.path.c_str(),
                human_bytes(static_cast<double>(output.content.size())).c_str());
  }
  if (torch) write_script(policy, *torch, options.torchscript);
  return kDone;
}

int run(const std::vector<std::string>& arguments) {
  ExportOptions options;
  OptionTable table;
  table.section("", "Export", options);
  table.apply(table.parse_command_line({arguments.begin() + 1, arguments.end()}));
  if (options.version) return std::printf("drl %s (%s)\n", kVersion, kGitHash), kDone;
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  load_task_libraries(options.task_library);
  return export_policy(options);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
