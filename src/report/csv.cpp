#include "report/csv.hpp"

#include <charconv>
#include <string_view>

#include "base/check.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

struct Column {
  const char* name;
  double IterationMetrics::*value;
};

// After iteration and env_steps. max_iterations is no column: it must not change the file.
constexpr Column kColumns[] = {
    {"steps_per_second", &IterationMetrics::steps_per_second},
    {"mean_reward", &IterationMetrics::mean_reward},
    {"mean_episode_length", &IterationMetrics::mean_episode_length},
    {"episodes", &IterationMetrics::episodes},
    {"value_loss", &IterationMetrics::value_loss},
    {"surrogate_loss", &IterationMetrics::surrogate_loss},
    {"entropy", &IterationMetrics::entropy},
    {"kl", &IterationMetrics::kl},
    {"clip_fraction", &IterationMetrics::clip_fraction},
    {"gradient_norm", &IterationMetrics::gradient_norm},
    {"explained_variance", &IterationMetrics::explained_variance},
    {"learning_rate", &IterationMetrics::learning_rate},
    {"action_std", &IterationMetrics::action_std},
    {"collection_time", &IterationMetrics::collection_time},
    {"learning_time", &IterationMetrics::learning_time},
    {"waiting_time", &IterationMetrics::waiting_time},
    {"iteration_time", &IterationMetrics::iteration_time},
    {"elapsed_time", &IterationMetrics::elapsed_time},
};

template <class T>
std::string shortest(T number) {
  if (number != number) return "nan";  // to_chars writes "-nan" too
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return std::string(text, end);
}

std::string header_of(const std::vector<std::string>& reward_terms) {
  std::string header = "iteration,env_steps";
  for (const Column& column : kColumns) header += std::string(",") + column.name;
  for (const std::string& term : reward_terms) {
    DRL_CHECK(term.find_first_of(",\"\r\n") == std::string::npos,
              "the reward term '" + term + "' cannot name a column");
    header += ",episode/" + term;
  }
  return header + "\n";
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw UsageError("cannot continue '" + path.string() + "' (" + why + "): move it away or start a new run");
}

int64_t iteration_of(const fs::path& path, std::string_view row) {
  int64_t iteration = 0;
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), iteration);
  if (error != std::errc() || *end != ',') refuse(path, "'" + std::string(row.substr(0, 40)) + "' is no row of it");
  return iteration;
}

// The header and the rows up to `last_iteration`, each with its newline; what follows the last newline is dropped.
std::string kept_rows(const fs::path& path, std::string_view text, const std::string& header, int64_t last_iteration) {
  if (!text.starts_with(header)) refuse(path, "its columns differ from this program's or this task's");
  std::string kept = header;
  text.remove_prefix(header.size());
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    const std::string_view row = text.substr(0, end + 1);
    if (iteration_of(path, row) <= last_iteration) kept += row;
  }
  return kept;
}

// What the file must hold before rows are appended.
std::string starting_text(const fs::path& path, const std::string& header, std::optional<int64_t> resume_iteration) {
  if (!resume_iteration || !fs::exists(path)) return header;
  const std::vector<std::byte> bytes = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return kept_rows(path, text, header, *resume_iteration);
}

fs::path started(const fs::path& path, const std::string& header, std::optional<int64_t> resume_iteration) {
  write_file_atomically(path, bytes_of(starting_text(path, header, resume_iteration)));
  return path;
}

}  // namespace

CsvWriter::CsvWriter(fs::path path, const std::vector<std::string>& reward_terms,
                     std::optional<int64_t> resume_iteration)
    : reward_terms_(reward_terms),
      file_(started(path, header_of(reward_terms), resume_iteration), AppendFile::Start::append) {}

void CsvWriter::append(const IterationMetrics& metrics) {
  DRL_CHECK(metrics.reward_terms.size() == reward_terms_.size(), "the number of reward terms changed");
  buffer_ += shortest(metrics.iteration) + "," + shortest(metrics.env_steps);
  for (const Column& column : kColumns) buffer_ += "," + shortest(metrics.*column.value);
  for (size_t i = 0; i < reward_terms_.size(); ++i) {
    DRL_CHECK(metrics.reward_terms[i].first == reward_terms_[i], "the order of reward terms changed");
    buffer_ += "," + shortest(metrics.reward_terms[i].second);
  }
  buffer_ += "\n";
}

void CsvWriter::flush() {
  if (buffer_.empty()) return;
  file_.append(bytes_of(buffer_));
  buffer_.clear();
}

void CsvWriter::sync() {
  flush();
  file_.sync();
}

}  // namespace drl
