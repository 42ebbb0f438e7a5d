// drl_checkpoint: shows what a checkpoint holds, and verifies that it is intact.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/program.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "report/format.hpp"
#include "run/run_directory.hpp"
#include "store/checkpoint.hpp"

namespace drl {
namespace {

constexpr char kHelp[] =
    "usage: drl_checkpoint show FILE     shows task, iteration, options, ranks, and\n"
    "                                    every array in it\n"
    "       drl_checkpoint verify FILE   reads the whole file and checks its\n"
    "                                    checksum (CRC-32C)\n"
    "\n"
    "FILE is a checkpoint or a run directory, whose newest checkpoint is taken.\n"
    "verify also checks drl's other files, such as replay buffers and motions.\n"
    "Exit codes: 0 intact; 2 wrong usage, or the file is missing, damaged or not one\n"
    "of drl's.\n";

// Attributes shown first, in this order; all others follow, sorted by name.
constexpr std::string_view kKnown[] = {
    "task",         "return_mean",     "return_std", "episodes",       "trained_by", "run",    "iteration", "env_steps",
    "created",      "elapsed_seconds", "world_size", "num_envs_total", "hosts",      "device", "cpu_model", "versions",
    "task_library", "git_hash",        "format",     "format_version", "options"};

std::string text_of(std::string_view name, const Attribute& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    const bool large = std::abs(*integer) >= 10000 && name == "env_steps";
    return std::to_string(*integer) + (large ? fmt::format(" ({})", human_count(static_cast<double>(*integer))) : "");
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return human_number(*number) + (name == "elapsed_seconds" ? " (" + human_duration(*number) + ")" : "");
  }
  const auto& text = std::get<std::string>(value);
  return name.starts_with("policy/") ? join(split(text, '\n'), ", ") : text;  // a list of names
}

std::string shape_of(const Tensor& tensor) {
  std::string text;
  for (int64_t extent : tensor.shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

// Prints a text of several lines (the options) indented below its name.
void print_attribute(const std::string& name, const std::string& value, size_t width) {
  if (value.find('\n') == std::string::npos) {
    std::cout << fmt::format("  {:<{}}  {}\n", name, width, value);
    return;
  }
  std::cout << "  " << name << "\n";
  std::istringstream lines(value);
  for (std::string line; std::getline(lines, line);) std::cout << "    " << line << "\n";
}

std::vector<std::string> names_in_order(const std::map<std::string, Attribute>& attributes) {
  std::vector<std::string> names;
  for (std::string_view known : kKnown) {
    if (attributes.contains(std::string(known))) names.emplace_back(known);
  }
  for (const auto& [name, value] : attributes) {
    if (std::ranges::find(kKnown, name) == std::end(kKnown)) names.push_back(name);
  }
  return names;
}

void print_attributes(const std::map<std::string, Attribute>& attributes) {
  const std::vector<std::string> names = names_in_order(attributes);
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  for (const std::string& name : names) print_attribute(name, text_of(name, attributes.at(name)), width);
}

void print_tensors(const std::vector<Tensor>& tensors) {
  TextRows rows;
  size_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    bytes += tensor.data.size();
    rows.push_back({tensor.name, std::string(name_of(tensor.type)), shape_of(tensor),
                    human_bytes(static_cast<double>(tensor.data.size()))});
  }
  std::cout << "\n"
            << tensors.size() << " arrays, " << human_bytes(static_cast<double>(bytes)) << "\n"
            << table_text(rows);
}

void show(const std::string& file) {
  const Checkpoint checkpoint = read_checkpoint(file);
  std::cout << file << "\n";
  print_attributes(checkpoint.attributes);
  print_tensors(checkpoint.tensors);
}

void verify(const std::string& file) {
  const CheckpointSize size = verify_arrays(file);
  std::cout << "ok: " << size.format << ", " << size.tensors << " arrays, "
            << human_bytes(static_cast<double>(size.bytes)) << ", the checksum (CRC-32C) matches: " << file << "\n";
}

int run(const std::vector<std::string>& words) {
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  if (std::ranges::any_of(arguments, [](const std::string& a) { return a == "--help" || a == "-h"; })) {
    std::cout << kHelp;
    return kDone;
  }
  if (arguments.empty()) {
    std::cerr << kHelp;
    return kUsage;
  }
  if (arguments[0] != "show" && arguments[0] != "verify") {
    throw UsageError("unknown command '" + arguments[0] +
                     "' (the commands are show and verify): see drl_checkpoint --help");
  }
  if (arguments.size() != 2) {
    throw UsageError(fmt::format("{} takes one file ({} were given): see drl_checkpoint --help", arguments[0],
                                 arguments.size() - 1));
  }
  const std::string file = find_checkpoint(typed_path("argument", arguments[1])).string();
  arguments[0] == "show" ? show(file) : verify(file);
  return kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
