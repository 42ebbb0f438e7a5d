// Options: command lines and config files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../support/paths.hpp"
#include "apps/settings.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "fuzz.hpp"

namespace drl::faults {
namespace {

// An input is a command line, one word per record, and a config file as the last record.
constexpr char kEndOfRecord = '\x1e';

class Configs : public Kind {
 public:
  Configs() {
    for (const auto& entry : std::filesystem::directory_iterator(test_data("faults/configs"))) {
      std::ifstream file(entry.path(), std::ios::binary);
      corpus_.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    std::ranges::sort(corpus_);
    for (const std::string& task : task_names()) {
      corpus_.push_back(resolve(Settings({"drl_train", "--task", task}), {})->table.to_ini());
    }
    const Settings settings({"drl_train"});
    for (const Option& option : settings.table.items()) {
      // A library that the command line names is loaded, and programs that a file names would be started.
      if (option.name != "task_library") options_.push_back(option.name);
      defaults_.push_back(option.default_text);
      for (const std::string& choice : option.choices) defaults_.push_back(choice);
    }
    log::set_writer([](std::string_view) {});
  }

  std::string make(Random& random) override {
    std::string input;
    for (size_t words = random.below(4); words > 0; --words) input += word(random) + kEndOfRecord;
    if (random.one_in(3)) return input;
    std::string text = random.one_in(4) ? some_lines(random) : random.one_of(corpus_);
    if (!random.one_in(8)) mutate(text, random.one_of(corpus_), random);
    return input + text;
  }

  void read(const std::string& input) override {
    std::vector<std::string> words = split(input, kEndOfRecord);
    const std::string config = words.back();
    words.back() = "drl_train";
    std::rotate(words.begin(), words.end() - 1, words.end());
    if (std::ranges::any_of(words, [](const auto& text) { return text.find("library") != std::string::npos; })) return;
    const auto plan = resolve(Settings(words), {.config = config});
    option_help(*plan);
    if (plan->options.train.task.empty()) return;
    const std::string ini = plan->table.to_ini();
    if (resolve(Settings({"drl_train"}), {.config = ini})->table.to_ini() != ini)
      throw Finding("options.ini does not restore its own values: " + ini);
    // Editors of Windows write a mark at the beginning, and another end of lines.
    if (config.find_first_of("\r\xef\xfe\xff") != std::string::npos) return;
    const std::string marked = "\xef\xbb\xbf" + join(split(config, '\n'), "\r\n");
    if (resolve(Settings(words), {.config = marked})->table.to_ini() != ini)
      throw Finding("a mark or carriage returns change the values: " + ini);
  }

 private:
  std::string value(Random& random) { return random.one_of(random.one_in(2) ? defaults_ : odd_values()); }
  std::string word(Random& random) {
    const std::string name = random.one_of(options_);
    std::string text = random.one_in(8) ? value(random) : "--" + name + (random.one_in(2) ? "=" + value(random) : "");
    if (random.one_in(6)) mutate(text, "--" + random.one_of(options_), random);
    if (random.one_in(3)) text += kEndOfRecord + value(random);
    return text;
  }
  std::string some_lines(Random& random) {
    std::string text = "task = " + random.one_of(task_names()) + "\n";
    for (size_t lines = 1 + random.below(5); lines > 0; --lines)
      text += random.one_of(options_) + " = " + value(random) + "\n";
    return text;
  }

  std::vector<std::string> corpus_, options_, defaults_;
};

}  // namespace

std::unique_ptr<Kind> make_configs() { return std::make_unique<Configs>(); }

}  // namespace drl::faults
