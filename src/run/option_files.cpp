#include "run/option_files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "drl/task/abi.hpp"
#include "run/preflight.hpp"

namespace drl {
namespace {

constexpr const char* kAttribute = "files";

// Returns 12 hexadecimal digits, as model_id() of a robot's model (drl/physics/mujoco_model.hpp).
std::string hash_of(const OptionFile& file) {
  std::ifstream stream(file.path, std::ios::binary);
  uint64_t hash = text_hash("");
  std::vector<char> part(size_t{1} << 20);
  while (stream) {
    stream.read(part.data(), static_cast<std::streamsize>(part.size()));
    for (std::streamsize k = 0; k < stream.gcount(); ++k) hash = hash_with(hash, static_cast<unsigned char>(part[k]));
  }
  if (!stream.eof())
    throw UsageError(fmt::format("--{} {} cannot be read ({}): check the path and its permissions", file.option,
                                 printable(file.path), std::strerror(errno)));
  return fmt::format("{:012x}", hash & 0xffffffffffffull);
}

struct Line {
  std::string option, hash, path;
};
std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  for (Line line; stream >> line.option >> line.hash && stream.get() && std::getline(stream, line.path);)
    lines.push_back(line);
  return lines;
}

// Returns whether both lists have the option with the same content.
bool have_same_content(const std::string& then, const std::string& now, const std::string& option) {
  for (const Line& before : lines_of(then))
    for (const Line& after : lines_of(now))
      if (before.option == option && after.option == option) return before.hash == after.hash;
  return false;
}

}  // namespace

std::string recorded_files(const Checkpoint& checkpoint, const std::string& file) {
  return checkpoint.attributes.contains(kAttribute) ? attribute<std::string>(checkpoint, file, kAttribute) : "";
}

std::string contents_of(const std::vector<OptionFile>& files) {
  std::string text;
  for (const OptionFile& file : files) text += fmt::format("{} {} {}\n", file.option, hash_of(file), file.path);
  return text;
}

std::vector<ChangedFile> changed_files(const std::string& then, const std::string& now) {
  std::vector<ChangedFile> changed;
  for (const Line& before : lines_of(then))
    for (const Line& after : lines_of(now))
      if (before.option == after.option && before.path == after.path && before.hash != after.hash)
        changed.push_back({after.option, after.path, before.hash, after.hash});
  return changed;
}

std::vector<std::string> changes_of_env_state(const OptionTable& table, const std::string& files,
                                              const RecordedOptions& then) {
  std::vector<std::string> changes;
  for (const OptionDifference& difference : differences(table, then.options, then.file))
    if (difference.changes_env_state && !have_same_content(then.files, files, difference.name))
      changes.push_back(
          fmt::format("--{} is {}, not {}", difference.name, printable(difference.value), printable(difference.other)));
  return changes;
}

void require_same_contents(Communicator& comm, const std::string& mine) {
  std::vector<std::string> texts;
  for (const Line& line : lines_of(mine))
    texts.push_back(fmt::format("--{} {} ({})", line.option, line.path, line.hash));
  require_same_texts(comm, "ranks read different files: ", join(texts, ", "));
}

void require_contents_of(const Checkpoint& checkpoint, const std::string& file, const std::string& now) {
  for (const ChangedFile& changed : changed_files(recorded_files(checkpoint, file), now))
    throw UsageError(fmt::format(
        "--{} {} has changed since checkpoint {} was made (the hash of its content was {}, and is {} now): restore the "
        "file, or start a new run from this one with --init_from",
        changed.option, printable(changed.path), file, changed.then, changed.now));
}

void warn_if_contents_changed(const Checkpoint& checkpoint, const std::string& file, const TaskParams& task) {
  const std::string then = recorded_files(checkpoint, file);
  if (then.empty()) return;
  for (const ChangedFile& changed : changed_files(then, contents_of(task.files())))
    log::warn("--{} {} has changed since the training (the hash of its content was {}, and is {} now)", changed.option,
              printable(changed.path), changed.then, changed.now);
}

}  // namespace drl
