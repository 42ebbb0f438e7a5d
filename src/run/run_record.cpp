#include "run/run_record.hpp"

#include <nlohmann/json.hpp>

#include "cluster/machine.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

using Json = nlohmann::ordered_json;

std::string read_if_there(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return "";
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Json job_ids(const Json& earlier, const std::string& job_id) {
  Json ids = earlier.value("job_ids", Json::array());
  if (!job_id.empty() && std::find(ids.begin(), ids.end(), job_id) == ids.end()) ids.push_back(job_id);
  return ids;
}

}  // namespace

std::string versions_text(const RunFacts& facts) {
  std::string text;
  for (const auto& [name, version] : facts.versions) text += (text.empty() ? "" : ", ") + name + " " + version;
  return text;
}

RunRecord::RunRecord(std::filesystem::path path, RunFacts facts, std::string start_time)
    : path_(std::move(path)),
      facts_(std::move(facts)),
      start_time_(std::move(start_time)),
      earlier_(read_if_there(path_)) {}

void RunRecord::write(int64_t iteration, int64_t env_steps, const std::string& status, const CommStats& comm) const {
  Json earlier = Json::parse(earlier_, nullptr, /*allow_exceptions=*/false);
  if (!earlier.is_object()) earlier = Json::object();
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  Json record;
  record["task"] = facts_.task;
  record["run"] = facts_.run;
  record["status"] = status;
  record["iteration"] = iteration;
  record["env_steps"] = env_steps;
  record["world_size"] = facts_.world_size;
  record["hosts"] = facts_.hosts;
  record["rank_hosts"] = facts_.rank_hosts;
  record["devices"] = Json::array({facts_.device});
  record["cpu_model"] = facts_.cpu_model;
  record["versions"] = facts_.versions;
  record["git_hash"] = facts_.git_hash;
  record["lock"] = facts_.lock;
  record["launcher"] = facts_.launcher.empty() ? "none" : facts_.launcher;
  record["job_ids"] = job_ids(earlier, facts_.job_id);
  if (facts_.job)
    record["slurm"] = {{"job", facts_.job->job},
                       {"partition", facts_.job->partition},
                       {"nodes", facts_.job->nodes},
                       {"restart_count", facts_.job->restart_count}};
  record["origin"] = earlier.value("origin", facts_.origin);
  record["starts"] = earlier.value("starts", 0) + 1;
  record["first_started"] = earlier.value("first_started", start_time_);
  record["last_started"] = start_time_;
  record["updated"] = utc_time();
  record["elapsed_seconds"] = earlier.value("elapsed_seconds", 0.0) + elapsed;
  record["node_hours"] = earlier.value("node_hours", 0.0) + elapsed / 3600 * static_cast<double>(facts_.hosts.size());
  record["communication"] = {{"all_reduces_float64", comm.all_reduces_f64},
                             {"bytes_float64", comm.bytes_f64},
                             {"all_reduces_float32", comm.all_reduces_f32},
                             {"bytes_float32", comm.bytes_f32},
                             {"wait_seconds", comm.wait_seconds}};
  write_file_atomically(path_, bytes_of(record.dump(2) + "\n"));
}

}  // namespace drl
