#include "report/page/run_record.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/ini.hpp"
#include "base/json_value.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "store/checkpoint.hpp"
#include "store/file.hpp"

namespace fs = std::filesystem;

namespace drl {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr int kDepth = 4;  // levels below the given directory, for example runs/<sweep>/<task>/<run>

bool is_run(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "metrics.csv", error) || fs::exists(path / "run.json", error);
}

// Returns whether --fresh renamed the run: <run>.old, <run>.old.2.
bool is_renamed_by_fresh(const fs::path& path) {
  const bool numbered = number_in<int>(path.extension().string().erase(0, 1)).has_value();
  return (numbered ? path.stem() : path.filename()).extension() == ".old";
}

void add_runs(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  if (is_run(folder)) {
    found.push_back(folder);
    return;
  }
  std::error_code error;
  if (depth == 0) return;
  for (const fs::path& next : entries_of(folder))
    if (fs::symlink_status(next, error).type() == fs::file_type::directory && next.filename() != kLatest &&
        !next.filename().string().starts_with(".") && !is_renamed_by_fresh(next))
      add_runs(next, depth - 1, found);
}

std::vector<std::string> texts_of(const nlohmann::json& object, const char* name) {
  std::vector<std::string> texts;
  if (const auto found = object.find(name); found != object.end() && found->is_array())
    for (const auto& item : *found)
      if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

void take_manifest(const std::string& text, RunRecord& run) {
  const nlohmann::json manifest = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object()) throw UsageError("run.json is damaged (it is not a JSON object)");
  run.name = value_or(manifest, "run", run.name);
  run.task = value_or(manifest, "task", run.task);
  run.status = value_or(manifest, "status", std::string());
  run.updated = value_or(manifest, "updated", std::string());
  run.world_size = value_or(manifest, "world_size", int64_t{0});
  run.hosts = static_cast<int64_t>(texts_of(manifest, "hosts").size());
  run.starts = value_or(manifest, "starts", int64_t{1});
  run.devices = join(texts_of(manifest, "devices"), ", ");
  run.on_gpus = !run.devices.empty() && run.devices != "cpu";
  if (const std::string cpu = value_or(manifest, "cpu_model", std::string()); run.devices == "cpu" && !cpu.empty())
    run.devices = cpu;
  run.elapsed_seconds = value_or(manifest, "elapsed_seconds", kUnknown);
  run.node_hours = value_or(manifest, "node_hours", kUnknown);
  run.gpu_joules = value_or(manifest, "gpu_energy_joules", kUnknown);
  run.joules_per_million_steps = run.gpu_joules * 1e6 / value_or(manifest, "env_steps", 0.0);
}

void take_options(const std::string& text, RunRecord& run) {
  for (const IniEntry& entry : parse_ini(text, "options.ini"))
    if (!entry.key.empty())
      run.options[entry.section.empty() ? entry.key : entry.section + "." + entry.key] = entry.value;
}

void take_metrics(const std::string& text, RunRecord& run) {
  run.metrics = parse_metrics(text, "metrics.csv");
  if (run.metrics.damaged_rows > 0)
    run.warnings.push_back("skipped " + counted(run.metrics.damaged_rows, "row") +
                           " of metrics.csv (damaged; the first one is on line " +
                           std::to_string(run.metrics.first_damaged_line) + ")");
}

void take_best(const fs::path& file, RunRecord& run) {
  const Checkpoint best = read_checkpoint(file);
  run.best = {attribute<int64_t>(best, file, "iteration"), attribute<double>(best, file, "score"),
              attribute<std::string>(best, file, "score_kind")};
}

bool is_film(const fs::path& path) { return contains({".mp4", ".gif", ".png"}, path.extension().string()); }

std::vector<fs::path> films_in(const fs::path& run) {
  std::vector<fs::path> films;
  std::error_code error;
  fs::recursive_directory_iterator entry(run, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (entry.depth() >= 1) entry.disable_recursion_pending();
    if (is_film(entry->path()) &&
        entry->symlink_status(error).type() == fs::file_type::regular)  // ignore links to other files
      films.push_back(entry->path());
  }
  std::ranges::sort(films, std::greater<>());  // names end with the iteration
  return films;
}

// Calls `take` with the file and the run. Returns false if the file does not exist, or, with a warning, if it cannot be
// read.
template <class Take>
bool take_file(const fs::path& file, RunRecord& run, const Take& take) {
  std::error_code error;
  if (!fs::exists(file, error)) return false;
  try {
    if (!fs::is_regular_file(file, error)) throw UsageError(printable(file.string(), 200) + " is not a regular file");
    take(file, run);
    return true;
  } catch (const Error& problem) {
    run.warnings.emplace_back(problem.what());
    return false;
  }
}

}  // namespace

std::string RunRecord::option(const std::string& full_name) const {
  const auto found = options.find(full_name);
  return found == options.end() ? "" : found->second;
}

std::vector<fs::path> find_runs(const fs::path& given) {
  const fs::path place = run_of(in_runs_folder(given));
  std::error_code error;
  std::vector<fs::path> named;  // a run's name means the runs of all tasks that have it
  if (!fs::is_directory(place, error) && !given.has_parent_path())
    for (const fs::path& task : entries_of(runs_folder()))
      if (is_run(task / given)) named.push_back(task / given);
  if (!named.empty()) return named;
  if (!fs::is_directory(place, error))
    throw UsageError(printable(place.string(), 200) +
                     (fs::exists(place, error) ? " is not a directory" : " does not exist"));
  std::vector<fs::path> found;
  add_runs(place, kDepth, found);
  return found;
}

RunRecord read_run(const fs::path& directory) {
  std::error_code error;
  fs::path folder = fs::canonical(directory, error);
  if (error) folder = directory;
  RunRecord run;
  run.path = directory;
  run.name = folder.filename().string();
  run.task = folder.parent_path().filename().string();
  run.elapsed_seconds = run.node_hours = kUnknown;
  const auto with_text = [](auto take) {
    return [take](const fs::path& file, RunRecord& record) { take(read_text(file), record); };
  };
  const bool has_manifest = take_file(directory / "run.json", run, with_text(take_manifest));
  const bool has_metrics = take_file(directory / "metrics.csv", run, with_text(take_metrics));
  if (!has_manifest && !has_metrics)
    throw UsageError(printable(directory.string(), 200) + " is left out (" +
                     (run.warnings.empty() ? "it has neither run.json nor metrics.csv" : join(run.warnings, "; ")) +
                     ")");
  take_file(directory / "options.ini", run, with_text(take_options));
  if (!fs::exists(directory / "options.ini", error))
    run.warnings.emplace_back("options.ini is missing: the run's options are unknown");
  if (!fs::exists(directory / "metrics.csv", error))
    run.warnings.emplace_back("metrics.csv is missing: the run has no curves");
  if (has_metrics && run.metrics.iterations.empty()) run.warnings.emplace_back("no iteration has finished yet");
  take_file(directory / "checkpoints" / "best.h5", run, take_best);
  run.films = films_in(directory);
  return run;
}

namespace {

constexpr int64_t kLastIteration = int64_t{1} << 52;  // larger iterations count as damage

std::vector<std::string> header_of(std::string_view text, const std::string& file) {
  const size_t end = text.find('\n');
  std::vector<std::string> columns = split(trim(text.substr(0, end)), ',');
  if (end == std::string_view::npos || columns.front() != "iteration")
    throw UsageError(file + " is not a table of metrics (its first line does not begin with \"iteration,\")");
  columns.erase(columns.begin());
  return columns;
}

// Parses a line into `iteration` and `row`. Returns false if the line does not have exactly these numbers.
bool parse_row(std::string_view line, int64_t& iteration, std::vector<double>& row) {
  size_t cell = 0;
  for (bool more = true; more; ++cell) {
    const size_t comma = line.find(',');
    const std::string_view text = line.substr(0, comma);
    if (cell == 0) {
      const std::optional<int64_t> number = number_in<int64_t>(text);
      if (!number || *number < 0 || *number > kLastIteration) return false;
      iteration = *number;
    } else {
      const std::optional<double> number = number_in<double>(text);
      if (!number || cell > row.size()) return false;
      row[cell - 1] = *number;
    }
    more = comma != std::string_view::npos;
    if (more) line.remove_prefix(comma + 1);
  }
  return cell == row.size() + 1;
}

}  // namespace

const std::vector<double>* MetricsTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  return found == columns.end() ? nullptr : &values[found - columns.begin()];
}

double MetricsTable::last(std::string_view column) const {
  const std::vector<double>* all = find(column);
  return all == nullptr || all->empty() ? std::numeric_limits<double>::quiet_NaN() : all->back();
}

MetricsTable parse_metrics(std::string_view any_text, const std::string& file) {
  const std::string plain = plain_text(std::string(any_text), file);
  std::string_view text = plain;
  MetricsTable table;
  table.columns = header_of(text, file);
  table.values.resize(table.columns.size());
  text.remove_prefix(text.find('\n') + 1);
  std::vector<double> row(table.columns.size());
  int64_t line = 2, iteration = 0;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1), ++line) {
    const bool rises = parse_row(text.substr(0, end), iteration, row) &&
                       (table.iterations.empty() || iteration > table.iterations.back());
    if (!rises) {
      if (table.damaged_rows++ == 0) table.first_damaged_line = line;
      continue;
    }
    table.iterations.push_back(iteration);
    for (size_t k = 0; k < row.size(); ++k) table.values[k].push_back(row[k]);
  }
  return table;
}

}  // namespace drl
