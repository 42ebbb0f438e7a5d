// drl_export: writes a trained policy in formats that other programs use.

#include <cstdio>
#include <filesystem>
#include <optional>
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
#include "export/exporters.hpp"
#include "export/onnx_program.hpp"
#include "export/verify.hpp"
#include "nets/torch/torch_library.hpp"
#include "run/run_directory.hpp"
#include "store/file.hpp"
#include "store/recording.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-5;  // of --verify

constexpr const char* kUsage =
    "drl_export: writes a trained policy in formats that other programs use.\n"
    "\n"
    "  drl_export --run R                       policy.onnx, policy.h and policy.json\n"
    "                                           beside its newest checkpoint\n"
    "  drl_export --checkpoint F --c policy.h   only a C header\n"
    "  drl_export --run R --verify episodes.h5  replays what drl_eval --record wrote\n"
    "                                           through the C and the ONNX export\n"
    "\n"
    "The files contain the normaliser, the network, the most probable action and its\n"
    "bounds. policy.json lists the observations and actions in order.\n"
    "Exit codes: 0 done; 1 failure, or --verify found a difference above 1e-5;\n"
    "2 wrong usage.\n"
    "\n";

struct ExportOptions {
  std::string run, checkpoint, onnx, c, json, torchscript, verify, real = "float";
  bool force = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    v("run", run, "run directory; its newest checkpoint is exported", as_path);
    v("checkpoint", checkpoint, "checkpoint file to export", as_path);
    v("onnx", onnx, "write an ONNX model (opset 17) to this file", as_path);
    v("c", c, "write a header of C99 to this file; it needs only libm", as_path);
    v("json", json, "write the order, names and units of observations and actions to this file", as_path);
    v("torchscript", torchscript, "write a TorchScript module to this file (needs libtorch)", as_path);
    v("real", real, "type of the numbers in the C header", one_of({"float", "double"}));
    v("verify", verify, "recording of drl_eval --record; compare its actions with those of the exports", as_path);
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
};

std::vector<Output> outputs_of(const ExportOptions& options, const ExportedPolicy& policy, const fs::path& folder) {
  const bool all = options.onnx.empty() && options.c.empty() && options.json.empty() && options.torchscript.empty() &&
                   options.verify.empty();
  std::vector<Output> outputs;
  const auto add = [&](const std::string& option, const std::string& given, const std::string& name, auto&& content) {
    if (!given.empty() || all) outputs.push_back({option, given.empty() ? folder / name : fs::path(given), content()});
  };
  add("onnx", options.onnx, "policy.onnx", [&] { return onnx_model(policy); });
  add("c", options.c, "policy.h", [&] { return c_header(policy, options.real); });
  add("json", options.json, "policy.json", [&] { return policy_json(policy); });
  return outputs;
}

// Throws UsageError, before anything is written, unless the file may be written.
void require_new(const std::string& option, const fs::path& path, bool force) {
  require_output(option, path);
  if (std::error_code ignored; !force && fs::exists(path, ignored))
    throw UsageError("--" + option + ": " + path.string() +
                     " exists (it would be overwritten): give another file, or --force");
}

void verify(const ExportOptions& options, const ExportedPolicy& policy) {
  const Checkpoint recording = read_recording(options.verify);
  const OnnxProgram onnx(onnx_model(policy));
  const std::pair<const char*, PolicyFunction> exports[] = {
      {"C", compile_header(c_header(policy, options.real))},
      {"ONNX", [&](std::span<const double> observation) { return onnx.run(observation); }}};
  for (const auto& [name, function] : exports) {
    const ReplayResult result = replay(policy, function, recording, options.verify);
    std::printf("%s: %s of %s, actions differ by at most %.2g%s\n", name, counted(result.steps, "step").c_str(),
                counted(result.episodes, "episode").c_str(), result.worst,
                result.worst > 0 ? (" (" + result.where + ")").c_str() : "");
    if (result.worst > kTolerance)
      throw Error(
          fmt::format("the {} export does not act as the policy did (actions differ by {:.2g}, {}): was the "
                      "recording made from this checkpoint, without --stochastic?",
                      name, result.worst, result.where));
  }
}

int export_policy(const ExportOptions& options) {
  if (options.run.empty() == options.checkpoint.empty())
    throw UsageError(
        "exactly one of --run and --checkpoint is needed (it names the policy): give for instance --run "
        "runs/Cartpole/latest");
  const fs::path file = find_checkpoint(options.run.empty() ? options.checkpoint : options.run);
  const ExportedPolicy policy = exported_policy(read_checkpoint(file), file.string());
  const std::vector<Output> outputs = outputs_of(options, policy, file.parent_path());
  for (const Output& output : outputs) require_new(output.option, output.path, options.force);
  if (!options.torchscript.empty()) require_new("torchscript", options.torchscript, options.force);
  for (const Output& output : outputs) {
    write_file_atomically(output.path, std::as_bytes(std::span(output.content)));
    std::printf("wrote %s (%s)\n", output.path.c_str(),
                human_bytes(static_cast<double>(output.content.size())).c_str());
  }
  if (!options.torchscript.empty()) {
    std::vector<TorchArray> arrays;
    std::vector<std::string> names;
    names.reserve(64);
    for_each_tensor(policy,
                    [&](const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& data) {
                      names.push_back(name);
                      arrays.push_back({names.back().c_str(), data.data(), shape[0], shape.size() > 1 ? shape[1] : 0});
                    });
    const fs::path unfinished = options.torchscript + ".tmp";
    torch_library(1).save_script(unfinished, torch_script(policy), arrays);
    fs::rename(unfinished, options.torchscript);
    std::printf("wrote %s\n", options.torchscript.c_str());
  }
  if (!options.verify.empty()) verify(options, policy);
  return kDone;
}

int run(const std::vector<std::string>& arguments) {
  ExportOptions options;
  OptionTable table;
  table.section("", "Export", options);
  table.apply(table.parse_command_line({arguments.begin() + 1, arguments.end()}));
  if (options.version) return std::printf("drl %s (%s)\n", kVersion, kGitHash), kDone;
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  return export_policy(options);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
