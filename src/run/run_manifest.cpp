#include "run/run_manifest.hpp"

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/host.hpp"
#include "base/json_value.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "drl/physics/model_id.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "run/pretrained.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGpuEnergy = "gpu_energy_joules";

// Returns the list `name` of earlier starts, and `value` after them unless it is empty or listed already.
Json with_earlier(const Json& earlier, const char* name, const std::string& value) {
  Json list = value_or(earlier, name, Json::array());
  if (!list.is_array()) list = Json::array();
  if (!value.empty() && std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  return list;
}

}  // namespace

std::string versions_text(const RunFacts& facts) {
  std::string text;
  for (const auto& [name, version] : facts.versions) text += (text.empty() ? "" : ", ") + name + " " + version;
  return text;
}

void warn_if_physics_changed(const Checkpoint& checkpoint, const std::string& file, const TaskParams& task) {
  const RobotFacts* now = task.robot_facts();
  if (!now || !checkpoint.attributes.contains("versions")) return;
  const std::string versions = attribute<std::string>(checkpoint, file, "versions");
  // The text between two names of versions_text(), or "".
  const auto recorded = [&](const std::string& begin, const std::string& end) -> std::string {
    const size_t from = versions.find(begin), to = versions.find(end, from);
    return to == std::string::npos ? "" : versions.substr(from + begin.size(), to - from - begin.size());
  };
  const std::string id = now->id, then = recorded(", model ", ", mpi ");
  // The policies that come with drl are tested with the models that come with it.
  const bool is_tested = policy_source(file) != file &&
                         std::filesystem::path(now->file).parent_path() == installation() / "share" / "drl" / "models";
  if (then.empty() || is_tested) return;
  if (!is_same_model(then, id))
    log::warn(
        "the robot's model {} differs from the one used in training ({} then, {} now): if this is not intended, check "
        "DRL_MODELS or xml_file",
        now->file, then, id);
  // Versions of drl that did not record MuJoCo's needed 3.5.0.
  std::string mujoco = recorded(", mujoco ", ", physics "), version = now->mujoco;
  if (mujoco.empty()) mujoco = version.starts_with("3.5.0") ? version : "3.5.0";
  const auto has_flag = [](const std::string& text) { return text.ends_with("multiccd"); };
  if (has_flag(mujoco) != has_flag(version))
    log::warn(
        "the policy was trained with MuJoCo {}, and this is MuJoCo {} (the flag multiccd gives meshes and cylinders "
        "several contacts): compare its returns with those of the training before you rely on it",
        mujoco, version);
}

void require_known_task(const Checkpoint& checkpoint, const std::string& file) {
  const auto& task = attribute<std::string>(checkpoint, file, "task");
  if (contains(task_names(), task)) return;
  const auto& versions = attribute<std::string>(checkpoint, file, "versions");
  constexpr std::string_view kName = "task_library ";
  const size_t at = versions.find(kName);
  const std::string library = at == versions.npos ? "" : versions.substr(at + kName.size());
  const bool is_robot = library.starts_with("drl_robots.so");
  throw UsageError(fmt::format(
      "unknown task {} of {} ({}): {}", printable(task), file,
      is_robot          ? "it has a robot, and drl was installed without robots"
      : library.empty() ? "no loaded library has it"
                        : "it is in the task library " + printable(library),
      is_robot ? "build drl with MuJoCo (docs/howto/install.md, Robots and videos)" : "give --task_library FILE"));
}

void load_task_of(const Checkpoint& checkpoint, const std::string& file) {
  if (checkpoint.attributes.contains("task_library"))
    load_recorded_library(attribute<std::string>(checkpoint, file, "task"),
                          attribute<std::string>(checkpoint, file, "task_library"));
  require_known_task(checkpoint, file);
}

RunManifest::RunManifest(std::filesystem::path path, RunFacts facts, std::string start_time)
    : path_(std::move(path)),
      facts_(std::move(facts)),
      start_time_(std::move(start_time)),
      earlier_(std::filesystem::exists(path_) ? read_text(path_) : "") {
  const Json earlier = Json::parse(earlier_, nullptr, /*allow_exceptions=*/false);
  facts_.origin = value_or(earlier, "origin", facts_.origin);
  facts_.origin_option = value_or(earlier, "origin_option", facts_.origin_option);
}

std::optional<double> RunManifest::gpu_joules(const RunProgress& progress) const {
  const Json earlier = Json::parse(earlier_, nullptr, /*allow_exceptions=*/false);
  std::optional<double> before;
  if (earlier.is_object() && earlier.contains(kGpuEnergy) && earlier[kGpuEnergy].is_number())
    before = earlier[kGpuEnergy].get<double>();
  if (facts_.device == "cpu") return before;
  if (earlier_.empty()) before = 0;
  if (!before || !progress.gpu_energy) return std::nullopt;
  return *before + progress.gpu_energy->joules;
}

void RunManifest::write(const RunProgress& progress, const std::string& status, const std::string& cause) const {
  const CommStats& comm = progress.comm;
  Json earlier = Json::parse(earlier_, nullptr, /*allow_exceptions=*/false);
  if (!earlier.is_object()) earlier = Json::object();
  const double elapsed = steady_seconds() - start_;
  Json manifest;
  manifest["task"] = facts_.task;
  manifest["run"] = facts_.run;
  manifest["status"] = status;
  if (!cause.empty()) manifest["cause"] = cause;
  manifest["iteration"] = progress.iteration;
  manifest["env_steps"] = progress.env_steps;
  manifest["world_size"] = facts_.world_size;
  manifest["hosts"] = facts_.hosts;
  manifest["rank_hosts"] = facts_.rank_hosts;
  manifest["devices"] = Json::array({facts_.device});
  manifest["cpu_model"] = facts_.cpu_model;
  manifest["versions"] = facts_.versions;
  if (!facts_.task_library.empty()) manifest["task_library"] = facts_.task_library;
  manifest["git_hash"] = facts_.git_hash;
  manifest["lock"] = facts_.lock;
  manifest["launcher"] = facts_.launcher.empty() ? "none" : facts_.launcher;
  if (Json causes = with_earlier(earlier, "restarted_after", facts_.restarted_after); !causes.empty())
    manifest["restarted_after"] = std::move(causes);
  for (const std::string& rank : facts_.slow_ranks) earlier["slow_ranks"] = with_earlier(earlier, "slow_ranks", rank);
  if (earlier.contains("slow_ranks")) manifest["slow_ranks"] = earlier["slow_ranks"];
  manifest["commands"] = with_earlier(earlier, "commands", facts_.command);
  manifest["job_ids"] = with_earlier(earlier, "job_ids", facts_.job_id);
  if (facts_.job)
    manifest["slurm"] = {{"job", facts_.job->job},
                         {"partition", facts_.job->partition},
                         {"nodes", facts_.job->nodes},
                         {"restart_count", facts_.job->restart_count}};
  manifest["origin"] = facts_.origin;
  manifest["origin_option"] = facts_.origin_option;
  if (!facts_.teacher.empty()) manifest["teacher"] = facts_.teacher;
  manifest["starts"] = value_or(earlier, "starts", 0) + 1;
  manifest["first_started"] = value_or(earlier, "first_started", start_time_);
  manifest["last_started"] = start_time_;
  manifest["updated"] = utc_time();
  manifest["elapsed_seconds"] = value_or(earlier, "elapsed_seconds", 0.0) + elapsed;
  manifest["node_hours"] =
      value_or(earlier, "node_hours", 0.0) + elapsed / 3600 * static_cast<double>(facts_.hosts.size());
  if (const auto joules = gpu_joules(progress)) manifest[kGpuEnergy] = *joules;
  manifest["communication"] = {{"all_reduces_float64", comm.all_reduces_f64},
                               {"bytes_float64", comm.bytes_f64},
                               {"all_reduces_float32", comm.all_reduces_f32},
                               {"bytes_float32", comm.bytes_f32},
                               {"wait_seconds", comm.wait_seconds}};
  write_file_atomically(path_, bytes_of(manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
}

}  // namespace drl
