#include "envs/schedule.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr std::streamsize kLargestFile = 1 << 20;  // bytes

// Returns the words of a line without its comment.
std::vector<std::string> words_of(std::string line) {
  line.resize(std::min(line.find('#'), line.size()));
  for (char& c : line)
    if (c == ',' || c == '\t') c = ' ';
  std::vector<std::string> words = split(line, ' ');
  std::erase(words, "");
  return words;
}

}  // namespace

std::vector<std::vector<float>> read_schedule(const std::string& option, const std::string& file,
                                              const ScheduleShape& shape) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(kLargestFile + 1, '\0');
  int line = 0;
  const auto refuse = [&](const std::string& problem, const std::string& why, const std::string& what) {
    const std::string place = line > 0 ? fmt::format(":{}", line) : "";
    throw UsageError(fmt::format("--{} {}{}: {} ({}): {}", option, printable(file), place, problem, why, what));
  };
  const std::string form = fmt::format("each line is the seconds and {} numbers", shape.numbers);
  stream.read(text.data(), kLargestFile + 1);
  if (stream.bad() || !stream.is_open())
    refuse("the file cannot be read", std::strerror(errno), "check the path and its permissions");
  if (stream.gcount() > kLargestFile) refuse("the file has more than 1 MiB", form, "give a text file with such lines");
  text.resize(static_cast<size_t>(stream.gcount()));
  std::vector<std::vector<float>> rows;
  for (const std::string& each : split(plain_text(text, "--" + option + " " + file), '\n')) {
    ++line;
    const std::vector<std::string> words = words_of(each);
    if (words.empty()) continue;
    std::vector<float> row;
    for (const std::string& word : words) {
      float x = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), x);
      if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(x))
        refuse(shown(word) + " is not a number", form, "correct the line");
      const bool is_seconds = row.empty();
      if (is_seconds ? x < 0 : !shape.range.contains(static_cast<double>(x)))
        refuse(shown(word) + " is out of range",
               is_seconds ? "seconds are at least 0"
                          : fmt::format("the numbers are from {} to {}", shape.range.low, shape.range.high),
               "correct the line");
      row.push_back(x);
    }
    if (static_cast<int>(row.size()) != 1 + shape.numbers)
      refuse("the line has " + counted(static_cast<int64_t>(row.size()), "number"), form, "correct the line");
    if (!rows.empty() && row[0] <= rows.back()[0])
      refuse(fmt::format("{} s follow {} s", row[0], rows.back()[0]), "the seconds must increase", "sort the lines");
    if (static_cast<int>(rows.size()) == shape.most_rows)
      refuse(fmt::format("the file has more than {} lines of numbers", shape.most_rows), "that is the most",
             "give fewer lines");
    rows.push_back(std::move(row));
  }
  line = 0;
  if (rows.empty()) refuse("the file has no numbers", form, "give such a file, or none");
  return rows;
}

}  // namespace drl
