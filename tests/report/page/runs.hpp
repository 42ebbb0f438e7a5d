// Creates run directories like those of drl_train.
#pragma once

#include <filesystem>
#include <string>

#include "../../support/temp_folder.hpp"
#include "report/page/run_record.hpp"

namespace drl::test {

// Creates the directory `folder` with metrics.csv, run.json and options.ini.
inline void write_run(
    const std::filesystem::path& folder, const std::string& options, const std::string& rows,
    const std::string& manifest = R"({"task": "Cart", "run": "r", "status": "done", "world_size": 2})") {
  std::filesystem::create_directories(folder);
  spill(folder / "options.ini", options);
  spill(folder / "metrics.csv", "iteration,env_steps,mean_reward\n" + rows);
  spill(folder / "run.json", manifest);
}

// Returns a run in memory with the iterations 1, 2, ..., these rewards and 100 steps per iteration.
inline RunRecord record_of(const std::vector<double>& rewards, std::map<std::string, std::string> options = {}) {
  RunRecord run;
  run.task = "Cart";
  run.name = "r";
  run.world_size = 1;
  run.options = std::move(options);
  run.metrics.columns = {"env_steps", "mean_reward"};
  run.metrics.values.resize(2);
  for (size_t k = 0; k < rewards.size(); ++k) {
    run.metrics.iterations.push_back(static_cast<int64_t>(k) + 1);
    run.metrics.values[0].push_back(100 * static_cast<double>(k + 1));
    run.metrics.values[1].push_back(rewards[k]);
  }
  return run;
}

}  // namespace drl::test
