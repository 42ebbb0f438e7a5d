#include "base/options.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

struct PpoOptions {
  double learning_rate = 1e-3;
  double gamma = 0.99;
  double clip = 0.2;
  std::string schedule = "adaptive";
  std::vector<int> actor_hidden_dims = {64, 64};
  std::optional<double> max_grad_norm = 1.0;
  bool normalise = true;

  void describe(OptionVisitor& v) {
    v("learning_rate", learning_rate, "step size of Adam at the start", at_least(1e-8));
    v("gamma", gamma, "discount of future rewards", between(0, 1));
    v("clip", clip, "clipping range of the ratio", above(0) && below(1));
    v("schedule", schedule, "how the learning rate changes", one_of({"adaptive", "fixed", "linear"}));
    v("actor_hidden_dims", actor_hidden_dims, "widths of the actor's hidden layers", between(1, 4096));
    v("max_grad_norm", max_grad_norm, "maximum norm of the gradient", above(0));
    v("normalise", normalise, "whether observations are normalised");
  }
};

struct TrainOptions {
  std::string task = "Cartpole";
  int num_envs = 512;
  int64_t seed = 1;
  std::optional<double> time_limit;
  std::string run_name;
  std::string config;
  std::string headless = "x";
  bool resume = false;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("task", task, "what to learn");
    v("num_envs", num_envs, "environments per rank", at_least(1));
    v("seed", seed, "where randomness starts", at_least(0));
    v("time_limit", time_limit, "stop after this time", above(0), unit("s"), Effect::none);
    v("run_name", run_name, "name of the run", Effect::none);
    v("config", config, "file of options", Where::command_line, Effect::none);
    v("headless", headless, "no meaning here", hidden, Effect::none);
    v("resume", resume, "go on with a run", Where::command_line, Effect::none);
    v("help", help, "this text", Where::command_line, Effect::none, letter('h'));
  }
};

struct OptionsTest : testing::Test {
  OptionsTest() : table(table_of(train, ppo)) {}
  static OptionTable table_of(TrainOptions& train, PpoOptions& ppo) {
    OptionTable result;
    result.section("ppo", "PPO", ppo);
    result.section("", "Training", train);
    return result;
  }
  template <class Action>
  static std::string error_of(Action action) {
    const std::string error = error_from<UsageError>(action);
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    return error;
  }
  std::string set_error(const std::string& name, const std::string& value) {
    return error_of([&] { table.set(name, value); });
  }
  std::string command_line_error(const std::vector<std::string>& arguments) {
    return error_of([&] { table.apply_command_line(arguments); });
  }
  std::string ini_error(const std::string& text) {
    return error_of([&] { table.apply_ini(text, "a.ini"); });
  }

  TrainOptions train;
  PpoOptions ppo;
  OptionTable table;
};

// --- values ---

TEST_F(OptionsTest, SetsEveryType) {
  table.set("ppo.learning_rate", "3e-4");
  table.set("num_envs", " 4096 ");
  table.set("seed", "9223372036854775807");
  table.set("ppo.schedule", "linear");
  table.set("ppo.actor_hidden_dims", "400, 200 100");
  table.set("ppo.max_grad_norm", "none");
  table.set("time_limit", "1.5");
  table.set("resume", "true");
  EXPECT_EQ(ppo.learning_rate, 3e-4);
  EXPECT_EQ(train.num_envs, 4096);
  EXPECT_EQ(train.seed, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ppo.schedule, "linear");
  EXPECT_EQ(ppo.actor_hidden_dims, (std::vector<int>{400, 200, 100}));
  EXPECT_FALSE(ppo.max_grad_norm.has_value());
  EXPECT_EQ(train.time_limit, 1.5);
  EXPECT_TRUE(train.resume);
}

TEST_F(OptionsTest, SwitchesAcceptSeveralWords) {
  for (const char* word : {"true", "True", "yes", "on", "1"}) {
    train.resume = false;
    table.set("resume", word);
    EXPECT_TRUE(train.resume) << word;
  }
  for (const char* word : {"false", "False", "no", "off", "0"}) {
    train.resume = true;
    table.set("resume", word);
    EXPECT_FALSE(train.resume) << word;
  }
}

TEST_F(OptionsTest, RefusesValuesWithTheReasonAndAnExample) {
  const struct {
    std::string name, value;
    std::vector<std::string_view> mentioned;
  } cases[] = {
      {"ppo.gamma", "1.5", {"range", "0 to 1", "such as 0.99"}},
      {"num_envs", "0", {"range", "at least 1", "such as 512"}},
      {"ppo.clip", "1", {"range", "above 0, below 1", "such as 0.2"}},
      {"ppo.clip", "0", {"range"}},
      {"ppo.max_grad_norm", "0", {"range", "above 0)", "such as 1"}},
      {"time_limit", "0", {"range", "above 0)", "or none"}},
      {"ppo.gamma", "abc", {"not a number", "0 to 1", "such as 0.99"}},
      {"ppo.gamma", "0.5x", {"not a number"}},
      {"ppo.gamma", "", {"not a number"}},
      {"ppo.gamma", "0.5\nx", {"not a number"}},
      {"num_envs", "1.5", {"not a whole number", "at least 1", "such as 512"}},
      {"num_envs", "none", {"not a whole number"}},
      {"ppo.learning_rate", "nan", {"not a finite number", "at least 1e-08", "such as 0.001"}},
      {"ppo.learning_rate", "inf", {"not a finite number"}},
      {"ppo.learning_rate", "-inf", {"not a finite number"}},
      {"ppo.learning_rate", "NaN", {"not a finite number"}},
      {"ppo.learning_rate", "1e400", {"64-bit", "such as 0.001"}},
      {"num_envs", "2147483648", {"32-bit", "such as 512"}},
      {"seed", "9223372036854775808", {"64-bit", "such as 1"}},
      {"ppo.actor_hidden_dims", "64,0", {": 0 ", "range", "1 to 4096", "such as 64,64"}},
      {"ppo.actor_hidden_dims", "64,,64", {": \"\" ", "not a whole number"}},
      {"ppo.actor_hidden_dims", "64 x", {": x ", "not a whole number"}},
      {"ppo.actor_hidden_dims", "64,", {}},
      {"ppo.actor_hidden_dims", "", {}},
      {"ppo.schedule", "adptive", {"adaptive, fixed, linear", "adaptive?"}},
      {"ppo.schedule", "cosine", {"adaptive, fixed, linear"}},
      {"resume", "maybe", {"true", "false"}},
      {"resume", "", {"true", "false"}},
  };
  const std::string before = table.to_ini();
  for (const auto& [name, value, mentioned] : cases) {
    const std::string error = set_error(name, value);
    expect_mentions(error, {name + " = " + (value.empty() ? "\"\"" : printable(value))});
    for (const std::string_view part : mentioned) expect_mentions(error, {part});
  }
  EXPECT_EQ(table.to_ini(), before);
  EXPECT_EQ(set_error("ppo.schedule", "cosine").find("did you mean"), std::string::npos) << "nothing is similar";
}

TEST_F(OptionsTest, RangesIncludeTheirEndsUnlessOpen) {
  table.set("ppo.gamma", "0");
  table.set("ppo.gamma", "1");
  table.set("num_envs", "1");
  EXPECT_EQ(train.num_envs, 1);
  table.set("ppo.actor_hidden_dims", "none");
  EXPECT_TRUE(ppo.actor_hidden_dims.empty());
}

// --- names ---

TEST_F(OptionsTest, CommandLinesThatCannotBeParsedAreErrors) {
  const struct {
    std::vector<std::string> arguments;
    std::vector<std::string_view> mentioned;
  } cases[] = {
      // The nearest name is suggested, also with its section, and for a prefix of a name.
      {{"--ppo.gama", "1"}, {"--ppo.gama ", "not an option", "--ppo.gamma?"}},
      {{"--learning_rate", "1"}, {"--learning_rate ", "not an option", "--ppo.learning_rate?"}},
      {{"--lerning-rate=1"}, {"--lerning_rate ", "not an option", "--ppo.learning_rate?"}},
      {{"--algo.gamma", "1"}, {"--algo.gamma ", "not an option", "--ppo.gamma?"}},
      {{"--num_env", "1"}, {"--num_env ", "not an option", "--num_envs?"}},
      {{"--see", "3"}, {"--see ", "not an option", "--seed?"}},
      // Long names need two dashes.
      {{"-task", "Cartpole"}, {"-task ", "not an option", "--task?"}},
      {{"-x"}, {"-x ", "not an option", "--help"}},
      // A value is missing.
      {{"--seed"}, {"--seed ", "no value", "(where randomness starts)", "--seed=VALUE", "such as 1"}},
      {{"--seed="}, {"--seed ", "no value"}},
      {{"--seed", "--resume"}, {"--seed ", "no value"}},
      {{"--seed", "--num_envs", "3"}, {"--seed ", "no value"}},
      {{"--seed", "3", "Cartpole"}, {"Cartpole ", "stray argument", "--name value"}},
      {{"--ppo.actor_hidden_dims", "64", "32"}, {"32 ", "stray argument", "1,2,3"}},
      // A negative number is a value.
      {{"--seed", "-5"}, {"seed = -5", "range", "at least 0"}},
  };
  for (const auto& [arguments, mentioned] : cases) {
    const std::string error = command_line_error(arguments);
    for (const std::string_view part : mentioned) expect_mentions(error, {part});
  }
  for (const std::string name : {"--xylophone", "--headles"}) {  // headless is hidden
    const std::string error = command_line_error({name});
    expect_mentions(error, {name + " ", "not an option", "--help"});
    EXPECT_EQ(error.find("did you mean"), std::string::npos) << error;
  }
}

TEST_F(OptionsTest, MistakesInDeclarationsThrow) {
  struct Wrong {
    int value = 0;
    void describe(OptionVisitor& v) { v("value", value, "", at_least(1)); }
  } wrong;
  EXPECT_THROW(OptionTable().section("", "", wrong), Error);
  EXPECT_THROW(table.section("ppo", "PPO", ppo), Error);  // the names are taken
}

// --- command line ---

TEST_F(OptionsTest, TheCommandLineAcceptsAllForms) {
  table.apply_command_line({"--num-envs", "8", "--ppo.learning-rate=1e-2", "--seed", "5", "--resume", "--task", "a-b_c",
                            "--ppo.actor-hidden-dims", "1 2 3", "--ppo.normalise=false", "--headless", "y"});
  EXPECT_EQ(train.num_envs, 8);
  EXPECT_EQ(ppo.learning_rate, 1e-2);
  EXPECT_EQ(train.seed, 5);
  EXPECT_TRUE(train.resume);
  EXPECT_EQ(train.task, "a-b_c");  // values keep their -
  EXPECT_EQ(ppo.actor_hidden_dims, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(ppo.normalise);
  EXPECT_EQ(train.headless, "y");
}

TEST_F(OptionsTest, SwitchesTakeAValueOrNone) {
  table.apply_command_line({"--resume", "--seed", "3"});
  EXPECT_TRUE(train.resume);
  table.apply_command_line({"--resume", "false", "--seed", "4"});
  EXPECT_FALSE(train.resume);
  table.apply_command_line({"-h"});
  EXPECT_TRUE(train.help);
  table.apply_command_line({"--help=false"});
  EXPECT_FALSE(train.help);
}

TEST_F(OptionsTest, ValuesMayBeEmptyOrContainEqualSigns) {
  table.apply_command_line({"--run_name", "", "--task=a=b"});
  EXPECT_EQ(train.run_name, "");
  EXPECT_EQ(train.task, "a=b");
  table.apply_command_line({"--task=--x"});
  EXPECT_EQ(train.task, "--x");
}

TEST_F(OptionsTest, ParsingChangesNothing) {
  const std::vector<NamedValue> values =
      table.parse_command_line({"--config", "a.ini", "--seed", "wrong", "--task=A", "--task", "B"});
  EXPECT_EQ(values.size(), 4U);
  EXPECT_EQ(train.task, "Cartpole");
  expect_mentions(error_of([&] { table.apply(values); }), {"seed = wrong", "not a whole number"});
}

TEST_F(OptionsTest, LaterSettingsWin) {
  table.apply_ini("num_envs = 2\nseed = 2\n[ppo]\ngamma = 0.5\n", "preset of Cartpole");
  table.apply_ini("seed = 3\n[ppo]\ngamma = 0.6\n", "my.ini");
  table.apply_command_line({"--ppo.gamma", "0.7"});
  EXPECT_EQ(train.num_envs, 2);
  EXPECT_EQ(train.seed, 3);
  EXPECT_EQ(ppo.gamma, 0.7);
}

// --- config file ---

TEST_F(OptionsTest, IniFilesMayHaveCommentsAndSections) {
  table.apply_ini(
      "# comment\n; comment\n\n  task =  Pendulum-v1  \r\nnum-envs=7 # seven\nppo.gamma = 0.5\n"
      "run_name = a#b;c ; no comment before\n[ppo] # section\n\tschedule = fixed\nlearning_rate = 1 ;x\n[ ppo ]\nclip "
      "= 0.3",
      "a.ini");
  EXPECT_EQ(train.task, "Pendulum-v1");
  EXPECT_EQ(train.num_envs, 7);
  EXPECT_EQ(ppo.gamma, 0.5);
  EXPECT_EQ(train.run_name, "a#b;c");
  EXPECT_EQ(ppo.schedule, "fixed");
  EXPECT_EQ(ppo.learning_rate, 1);
  EXPECT_EQ(ppo.clip, 0.3);
}

TEST_F(OptionsTest, QuotesKeepSpacesAndEscapesInIniFiles) {
  table.apply_ini(R"(task = " a # \"b\" \\ \n" # comment)", "a.ini");
  EXPECT_EQ(train.task, " a # \"b\" \\ \n");
  table.apply_ini("task = \"\"\n", "a.ini");
  EXPECT_EQ(train.task, "");
  table.apply_ini("task = C:\\new \"x\"\n", "a.ini");  // a quotation mark is special only at the start
  EXPECT_EQ(train.task, "C:\\new \"x\"");
}

TEST_F(OptionsTest, IniFilesMayBeSavedOnWindows) {
  table.apply_ini("\xef\xbb\xbf[ppo]\r\ngamma = 0.5 # half\r\n", "a.ini");
  expect_mentions(table.to_ini(), {"gamma = 0.5 "});
  expect_mentions(ini_error(std::string("\xff\xfes\0", 4)), {"a.ini", "UTF-16", "UTF-8"});
}

TEST_F(OptionsTest, IniErrorsShowTheFileAndTheLineAndItsText) {
  const struct {
    std::string text;
    std::vector<std::string_view> mentioned;
  } cases[] = {
      {"seed = 1\n[ppo]\ngama = 1\n", {"a.ini:3: ppo.gama ", "not an option", "ppo.gamma?"}},
      {"learning_rate = 1\n", {"a.ini:1: learning_rate ", "not an option", "ppo.learning_rate?"}},
      {"\n[pp]\n", {"a.ini:2: [pp] ", "section", "[ppo]?"}},
      {"[network]\n", {"a.ini:1: [network] ", "section", "--print_config"}},
      {"\n\n[ppo]\ngamma = 2\n", {"a.ini:4: ppo.gamma = 2", "range", "0 to 1"}},
      {"seed = 1\n\nseed = 1\n", {"a.ini:3: seed ", "twice", "line 1"}},
      {"ppo.gamma = 1\n[ppo]\ngamma = 1\n", {"a.ini:3: ppo.gamma ", "twice", "line 1"}},
      {"resume = true\n", {"a.ini:1: resume ", "config file", "--resume", "command line"}},
      {"seed 1\n", {"a.ini:1: ", "'seed 1'", "write key = value"}},
      {"= 1\n", {"a.ini:1: ", "'= 1'", "key", "write key = value"}},
      {"[ppo\n", {"a.ini:1: ", "'[ppo'", " ] ", "write [section]"}},
      {"[]\n", {"a.ini:1: ", "'[]'", "no name", "write [section]"}},
      {"task = \"a\n", {"a.ini:1: ", "'task = \"a'", "escape", "\\\" \\\\ \\n \\r \\t"}},
      {"task = \"a\" b\n", {"a.ini:1: ", "'task = \"a\" b'", "follows", "write \\\""}},
      {"\177ELF\001\002\n", {"a.ini:1: ", "'\\x7fELF\\x01\\x02'", "write key = value"}},
  };
  for (const auto& [text, mentioned] : cases) {
    const std::string error = ini_error(text);
    for (const std::string_view part : mentioned) expect_mentions(error, {part});
  }
}

TEST_F(OptionsTest, ToIniRoundTripsExactly) {
  const std::string odd_texts[] = {"",    " ",   "a # b",   "a;b", "\"q\"", "back\\slash", "line\nend\ttab\r",
                                   "[x]", "a=b", "\xc3\xa9"};
  for (const std::string& text : odd_texts) {
    train.run_name = text;
    ppo.learning_rate = std::nextafter(0.1, 1.0);
    ppo.gamma = 1.0 / 3.0;
    ppo.max_grad_norm = std::numeric_limits<double>::denorm_min();
    ppo.actor_hidden_dims = {};
    ppo.normalise = false;
    train.seed = std::numeric_limits<int64_t>::max();
    TrainOptions read_train;
    PpoOptions read_ppo;
    OptionTable read = table_of(read_train, read_ppo);
    read.set("ppo.max_grad_norm", "3");
    read.apply_ini(table.to_ini(), "written");
    EXPECT_EQ(read_train.run_name, text);
    EXPECT_EQ(read_ppo.learning_rate, ppo.learning_rate);
    EXPECT_EQ(read_ppo.gamma, ppo.gamma);
    EXPECT_EQ(read_ppo.max_grad_norm, ppo.max_grad_norm);
    EXPECT_TRUE(read_ppo.actor_hidden_dims.empty());
    EXPECT_FALSE(read_ppo.normalise);
    EXPECT_EQ(read_train.seed, train.seed);
    EXPECT_FALSE(read_train.time_limit.has_value());
    EXPECT_EQ(read.to_ini(), table.to_ini());
  }
}

TEST_F(OptionsTest, ToIniOmitsHiddenAndCommandLineOptions) {
  const std::string text = table.to_ini();
  EXPECT_EQ(text.find("resume"), std::string::npos);    // command line only
  EXPECT_EQ(text.find("headless"), std::string::npos);  // hidden
  EXPECT_EQ(text.find("config"), std::string::npos);
  EXPECT_LT(text.find("# Training\ntask = Cartpole "), text.find("\n[ppo]\n# PPO\nlearning_rate = 0.001 "));
}

TEST(Options, ToIniWritesHelpAndLimitsAsComments) {
  struct Two {
    double gamma = 0.99;
    void describe(OptionVisitor& v) { v("gamma", gamma, "discount", between(0, 1)); }
  } two;
  OptionTable table;
  table.section("ppo", "PPO", two);
  EXPECT_EQ(table.to_ini(), "[ppo]\n# PPO\ngamma = 0.99                          # discount [0 to 1]\n");
}

// --- help ---

TEST(Options, HelpIsGroupedAndAligned) {
  struct Ppo {
    double gamma = 0.99;
    std::string schedule = "fixed";
    std::optional<double> time;
    bool resume = false, normalise = true, help = false;
    std::string secret, name;
    void describe(OptionVisitor& v) {
      v("gamma", gamma, "discount of future rewards", between(0, 1));
      v("schedule", schedule, "how the learning rate changes from iteration to iteration", one_of({"fixed", "linear"}));
      v("time", time, "limit", above(0), unit("s"));
      v("resume", resume, "go on");
      v("normalise", normalise, "scale");
      v("help", help, "this text", letter('h'));
      v("secret", secret, "not shown", hidden);
      v("name", name, "of the run");
    }
  } ppo;
  struct Training {
    int seed = 1;
    void describe(OptionVisitor& v) { v("seed", seed, "where randomness starts", any_number()); }
  } training;
  OptionTable table;
  table.section("ppo", "PPO", ppo);
  table.section("", "Training", training);
  table.set("ppo.gamma", "0.5");
  EXPECT_EQ(table.help(60),
            "PPO:\n"
            "  --ppo.gamma 0.5        discount of future rewards [0 to \n"
            "                         1]\n"
            "  --ppo.schedule fixed   how the learning rate changes from\n"
            "                         iteration to iteration [fixed, \n"
            "                         linear]\n"
            "  --ppo.time none        limit [s, above 0]\n"
            "  --ppo.resume           go on\n"
            "  --ppo.normalise true   scale\n"
            "  -h [ --ppo.help ]      this text\n"
            "  --ppo.name \"\"          of the run\n"
            "\n"
            "Training:\n"
            "  --seed 1               where randomness starts\n");
}

TEST_F(OptionsTest, HelpKeepsToTheWidth) {
  train.task = std::string(40, 'x');  // its help begins on the next line
  const std::string help = table.help();
  for (const std::string& line : split(help, '\n')) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_NE(help.find("  --task " + train.task + "\n" + std::string(36, ' ') + "what to learn\n"), std::string::npos)
      << help;
  EXPECT_EQ(help.find("headless"), std::string::npos);
}

// --- lists and differences ---

TEST_F(OptionsTest, ItemsHaveAllAttributes) {
  table.set("time_limit", "60");
  const std::vector<Option>& items = table.items();
  ASSERT_EQ(items.size(), 16U);
  EXPECT_EQ(items[0].name, "ppo.learning_rate");
  EXPECT_EQ(items[0].value(), "0.001");
  EXPECT_EQ(items[0].effect, Effect::numbers);
  const Option& limit = table.find("time_limit");
  EXPECT_EQ(limit.value(), "60");
  EXPECT_EQ(limit.default_text, "none");
  EXPECT_EQ(limit.effect, Effect::none);
  EXPECT_EQ(limit.limits(), "s, above 0");
  EXPECT_EQ(limit.heading, "Training");
  EXPECT_EQ(table.find("resume").where, Where::command_line);
  EXPECT_TRUE(table.find("headless").hidden);
}

struct HookOptions {
  std::string hook, other;
  void describe(OptionVisitor& v) {
    v("hook", hook, "a command", Effect::none, Where::never_in_files);
    v("other", other, "another text");
  }
};

// A config file with such an option is accepted, but the option is neither read from a file nor written to one.
TEST(NeverInFiles, OnlyTheCommandLineSetsTheOption) {
  HookOptions options;
  OptionTable table;
  table.section("", "Hooks", options);
  const std::string text = "hook = rm\nother = x\n";
  table.apply_ini(text, "my.ini");
  EXPECT_EQ(options.hook, "");
  EXPECT_EQ(options.other, "x");
  EXPECT_EQ(table.ignored_options(text, "my.ini"), std::vector<std::string>{"my.ini:1: hook"});
  EXPECT_EQ(table.ignored_options("hook = \"\"\nother = x\n", "my.ini"), std::vector<std::string>{});
  table.apply_command_line({"--hook", "ls"});
  EXPECT_EQ(options.hook, "ls");
  EXPECT_EQ(table.to_ini().find("hook"), std::string::npos);
  EXPECT_TRUE(differences(table, text, "my.ini").empty());
}

struct NameOptions {
  std::vector<std::string> files;
  void describe(OptionVisitor& v) { v("file", files, "one more"); }
};

TEST(ListsOfNames, EachOccurrenceOfTheOptionAppends) {
  NameOptions options;
  OptionTable table;
  table.section("", "Files", options);
  EXPECT_EQ(table.find("file").value(), "none");
  for (int k = 0; k < 2; ++k) {  // a command line may be applied again
    table.apply_command_line({"--file", "a.so", "--file=/b/c.so:d"});
    EXPECT_EQ(options.files, (std::vector<std::string>{"a.so", "/b/c.so", "d"}));
  }
  EXPECT_EQ(table.find("file").value(), "a.so:/b/c.so:d");
  table.set("file", "none");
  EXPECT_TRUE(options.files.empty());
  table.apply_command_line({"--file", "a.so", "--file", "none"});
  EXPECT_TRUE(options.files.empty());
  table.apply_command_line({"--file", "none", "--file", "b.so"});
  EXPECT_EQ(options.files, std::vector<std::string>{"b.so"});
}

struct EnvOptions {
  double mass = 1;
  bool fast = false;
  void describe(OptionVisitor& v) {
    v("mass", mass, "of the cart", above(0), unit("kg"));
    v("fast", fast, "or not");
  }
};

// The options of a section may be known only after other options are set. Until then its names are accepted unchecked.
TEST_F(OptionsTest, NamesOfADeferredSectionAreAcceptedUntilItIsAdded) {
  const std::vector<std::string> line = {"--env.mass", "2", "--seed", "3", "--env.fast"};
  EXPECT_THROW(table.parse_command_line(line), UsageError);
  table.defer_section("env");
  table.apply_ini("seed = 5\n[env]\nmass = 4\n", "my.ini");
  const std::vector<NamedValue> values = table.parse_command_line(line);
  table.apply(values);
  EXPECT_EQ(train.seed, 3);
  EnvOptions env;
  table.section("env", "Task", env);
  table.apply_ini("[env]\nmass = 4\n", "my.ini");
  EXPECT_EQ(env.mass, 4);
  table.apply(values);
  EXPECT_EQ(env.mass, 2);
  EXPECT_TRUE(env.fast);
  expect_mentions(set_error("env.mas", "1"), {"env.mas ", "not an option", "env.mass?"});
  table.defer_section("env");  // another task
  expect_mentions(command_line_error({"--friction", "2"}), {"--friction ", "not an option", "--help", "--env."});
  const std::vector<NamedValue> without_value = table.parse_command_line({"--env.mass", "--seed", "3"});
  EnvOptions another;
  table.section("env", "Task", another);
  expect_mentions(error_of([&] { table.apply(without_value); }),
                  {"--env.mass ", "no value", "(of the cart)", "--env.mass=VALUE", "such as 1"});
  table.defer_section("env");
  EXPECT_THROW(table.find("env.mass"), UsageError);
  EXPECT_EQ(table.to_ini().find("[env]"), std::string::npos);
}

using Rows = std::vector<std::string>;
Rows rows_of(const std::vector<OptionDifference>& differences) {
  Rows rows;
  for (const OptionDifference& d : differences) {
    rows.push_back(d.name + " " + d.value + " " + d.other + (d.effect == Effect::numbers ? " numbers" : " none"));
  }
  return rows;
}

TEST(TakeArguments, LeavesOptionsAndTheirValues) {
  struct {
    std::string output;
    double film_size = 1;
    bool explain = false;
    void describe(OptionVisitor& v) {
      v("output", output, "where", letter('o'));
      v("film_size", film_size, "size", at_least(0));
      v("explain", explain, "more");
    }
  } options;
  OptionTable table;
  table.section("", "Options", options);
  std::vector<std::string> words{"-o", "x",          "a", "--explain", "b", "--film-size",
                                 "2",  "--output=y", "c", "--what",    "d"};
  EXPECT_EQ(table.take_arguments(words), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(words, (std::vector<std::string>{"-o", "x", "--explain", "--film-size", "2", "--output=y", "--what"}));
  // It is not known which options of a deferred section are switches.
  table.defer_section("env");
  words = {"--env.command", "-1,0", "e", "--env.flag", "--output", "y", "--env.noise=0", "f"};
  EXPECT_EQ(table.take_arguments(words), (std::vector<std::string>{"e", "f"}));
  EXPECT_EQ(words, (std::vector<std::string>{"--env.command", "-1,0", "--env.flag", "--output", "y", "--env.noise=0"}));
}

TEST_F(OptionsTest, ATableDoesNotDifferFromItself) {
  EXPECT_EQ(rows_of(differences(table, table.to_ini(), "options.ini")), Rows{});
  EXPECT_EQ(rows_of(differences(table, "", "options.ini")), Rows{});  // missing options have their defaults
  EXPECT_EQ(rows_of(differences(table, "[ppo]\nlearning_rate = 1.0e-3\nactor_hidden_dims = 64 64\n", "options.ini")),
            Rows{});  // other spellings of the same values
}

TEST_F(OptionsTest, DifferencesHaveBothValues) {
  const std::string before = table.to_ini() + "[old]\nkey = 5\n";
  table.apply_command_line({"--ppo.gamma=0.5", "--time_limit", "9", "--resume", "--headless=z"});
  EXPECT_EQ(rows_of(differences(table, before, "options.ini")),
            (Rows{"old.key (none) 5 numbers", "ppo.gamma 0.5 0.99 numbers", "time_limit 9 none none"}));
  EXPECT_EQ(rows_of(differences(table, "", "options.ini")),
            (Rows{"ppo.gamma 0.5 0.99 numbers", "time_limit 9 none none"}));
}

// Runs from before `eps` was an option used 1e-4; its default is 0.01 now. It only has an effect with `normalise`.
struct LaterOptions {
  bool normalise = false;
  double eps = 0.01;
  void describe(OptionVisitor& v) {
    v("normalise", normalise, "scale");
    v("eps", eps, "added", above(0), added_later("1e-4"), only_with("normalise"));
  }
};

struct LaterOption : testing::Test {
  LaterOption() { table.section("ppo", "PPO", options); }
  LaterOptions options;
  OptionTable table;
};

TEST_F(LaterOption, HasItsOldValueInARunThatDoesNotRecordIt) {
  table.apply_run("", "none");
  EXPECT_EQ(options.eps, 0.01) << "no run is resumed";
  table.apply_ini("ppo.normalise = true\n", "my.ini");
  EXPECT_EQ(options.eps, 0.01) << "a user's config file means the default";
  table.apply_run("ppo.normalise = true\n", "options.ini");
  EXPECT_EQ(options.eps, 1e-4);
  table.apply_run("[ppo]\neps = 0.5\n", "options.ini");
  EXPECT_EQ(options.eps, 0.5);
}

TEST_F(LaterOption, IsComparedWithItsOldValueIfItHasAnEffect) {
  EXPECT_EQ(rows_of(differences(table, "", "options.ini")), Rows{}) << "normalise is off in both";
  EXPECT_EQ(rows_of(differences(table, "ppo.eps = 7\n", "options.ini")), Rows{});
  EXPECT_EQ(rows_of(differences(table, "ppo.normalise = true\n", "options.ini")),
            (Rows{"ppo.normalise false true numbers", "ppo.eps 0.01 1e-04 numbers"}));
  options.normalise = true;
  EXPECT_EQ(rows_of(differences(table, "ppo.normalise = true\n", "options.ini")), Rows{"ppo.eps 0.01 1e-04 numbers"});
  options.eps = 1e-4;
  EXPECT_EQ(rows_of(differences(table, "ppo.normalise = true\n", "options.ini")), Rows{});
}

TEST_F(LaterOption, IsNotComparedIfItHasNoEffectOnEitherSide) {
  options.eps = 0.5;
  EXPECT_EQ(rows_of(differences(table, "ppo.eps = 7\n", "options.ini")), Rows{});
}

TEST_F(OptionsTest, DifferencesReportABrokenFile) {
  expect_mentions(error_of([&] { differences(table, "seed = x\n", "options.ini"); }),
                  {"options.ini:1: seed = x", "not a whole number"});
}

// --- options that were given ---

struct DeviceOptions {
  std::string device = "auto";
  int threads = 0;
  std::vector<std::string> library;
  void describe(OptionVisitor& v) {
    v("device", device, "where to compute", per_rank([](const std::string& text) { return text.substr(0, 4); }));
    v("threads", threads, "threads of the rank", at_least(0), per_rank());
    v("library", library, "libraries");
  }
};

struct GivenOptions : OptionsTest {
  GivenOptions() { table.section("", "Device", device), table.defer_section("env"); }
  Rows given(const std::vector<std::string>& arguments) {
    const std::vector<NamedValue> command_line = table.parse_command_line(arguments);
    table.apply(command_line);
    Rows rows;
    for (const NamedValue& option : table.given_options(command_line)) rows.push_back(option.name + " " + option.value);
    return rows;
  }
  DeviceOptions device;
};

TEST_F(GivenOptions, AreEqualForEveryOrderAndSpelling) {
  const Rows expected = {"env.noise 1", "library a:b", "ppo.gamma 0.5", "resume true", "seed 7"};
  EXPECT_EQ(
      given({"--seed", "7", "--ppo.gamma", "0.5", "--resume", "--library", "a", "--library", "b", "--env.noise=1"}),
      expected);
  EXPECT_EQ(
      given({"--env.noise", "1", "--library=a:b", "--resume=yes", "--ppo.gamma=5e-1", "--seed=3", "--seed", "07"}),
      expected);
  EXPECT_EQ(given({}), Rows{}) << "values that were set before are not given";
}

TEST_F(GivenOptions, HaveOnlyTheCommonPartOfWhatEachRankMaySet) {
  EXPECT_EQ(given({"--device", "cuda:1", "--threads", "3"}), given({"--device", "cuda:0"}));
  EXPECT_NE(given({"--device", "cuda:1"}), given({"--device", "cpu"}));
}

// --- options without an effect ---

struct ConditionalOptions {
  bool normalise = false;
  double eps = 0.01;
  std::string schedule = "fixed", video, later = "p";
  double target = 1, weight = 0;
  int length = 5, interval = 10, fps = 30, memory = 1, low = 0, high = 3;
  void describe(OptionVisitor& v) {
    v("normalise", normalise, "scale");
    v("eps", eps, "added", above(0), only_with("normalise"));
    v("schedule", schedule, "how it changes", one_of({"fixed", "linear", "adaptive"}));
    v("target", target, "of adaptive", above(0), only_with("schedule", "adaptive"));
    v("length", length, "of linear", above(0), only_with("schedule", "linear"));
    v("weight", weight, "of a term", at_least(0));
    v("interval", interval, "of that term", at_least(0), not_with("weight", "0"));
    v("video", video, "file", only_with("model", "A"), only_with("later", "p|q"));
    v("later", later, "declared after the option that names it", one_of({"p", "q", "r"}), always);
    v("low", low, "below", at_least(0), below_option("length"), at_most_option("high"));
    v("high", high, "largest", at_least(0), always);
    v("fps", fps, "pictures", above(0), not_with("video", ""));
    v("memory", memory, "of the GPU", above(0), only_with("hardware", "gpu"));
  }
};

struct ModelOptions {
  std::string model = "A";
  void describe(OptionVisitor& v) { v("model", model, "what to learn"); }
};

struct Conditions : testing::Test {
  Conditions() {
    table.section("", "Model", model);
    table.section("a", "A", options, {only_with("model", "A")});
  }
  std::vector<std::string> warnings(const std::vector<std::string>& arguments, const std::string& hardware = "cpu") {
    const std::vector<NamedValue> command_line = table.parse_command_line(arguments);
    table.apply(command_line);
    return table.without_effect(command_line, {{"hardware", hardware, "there is no GPU"}});
  }
  ModelOptions model;
  ConditionalOptions options;
  OptionTable table;
};

TEST_F(Conditions, NobodyIsWarnedOfOptionsThatWereNotGiven) { EXPECT_EQ(warnings({"--a.weight", "0"}).size(), 0u); }

TEST_F(Conditions, WarningsShowTheOptionTheReasonAndTheValueToGive) {
  const struct {
    std::vector<std::string> given, with;  // the option has no effect without `with`
    std::vector<std::string_view> mentioned;
  } cases[] = {
      {{"--a.eps", "1"}, {"--a.normalise"}, {"--a.eps ", "--a.normalise is false", "--a.normalise true"}},
      {{"--a.target", "1"}, {"--a.schedule", "adaptive"}, {"--a.target ", "--a.schedule is fixed", "adaptive"}},
      {{"--a.length", "1"}, {"--a.schedule", "linear"}, {"--a.length ", "--a.schedule is fixed", "linear"}},
      {{"--a.interval", "1"}, {"--a.weight", "0.5"}, {"--a.interval ", "--a.weight is 0"}},
      {{"--a.fps", "1"}, {"--a.video", "x"}, {"--a.fps ", "--a.video "}},
      {{"--a.video", "x", "--a.later", "r"}, {"--a.later", "q"}, {"--a.video ", "--a.later is r", "p or q"}}};
  for (const auto& [given, with, mentioned] : cases) {
    const std::vector<std::string> alone = warnings(given);
    ASSERT_EQ(alone.size(), 1u) << given[0];
    for (const std::string_view part : mentioned) expect_mentions(alone[0], {part});
    std::vector<std::string> both = given;
    both.insert(both.end(), with.begin(), with.end());
    EXPECT_EQ(warnings(both).size(), 0u) << given[0];
    options = {};
  }
}

TEST_F(Conditions, OptionsWithTheSameReasonShareAWarning) {
  const std::vector<std::string> all = warnings({"--model", "B", "--a.eps", "1", "--a.weight", "2", "--a.memory", "3"});
  ASSERT_EQ(all.size(), 1u);
  expect_mentions(all[0], {"--a.eps", "--a.weight", "--a.memory", "--model is B", "--model A"});
}

TEST_F(Conditions, MayBeCircumstances) {
  EXPECT_EQ(warnings({"--a.memory", "1"}, "gpu").size(), 0u);
  const std::vector<std::string> on_cpu = warnings({"--a.memory", "1"});
  ASSERT_EQ(on_cpu.size(), 1u);
  expect_mentions(on_cpu[0], {"--a.memory", "there is no GPU"});
}

TEST_F(Conditions, ANumberBeyondTheLimitOfAnotherOptionIsAnError) {
  const auto error = [&](const std::vector<std::string>& arguments, int low = 0) -> std::string {
    const std::vector<NamedValue> given = table.parse_command_line(arguments);
    options = {}, options.low = low;
    table.apply(given);
    EXPECT_EQ(table.without_effect({{"a.low", "1"}}, {}).size(), 0u);
    try {
      return table.require_limits(given), "";
    } catch (const UsageError& wrong) {
      return wrong.what();
    }
  };
  EXPECT_EQ(error({"--a.low", "3"}), "");
  expect_mentions(error({"--a.low", "4"}), {"--a.low 4", "at most", "--a.high 3"});
  expect_mentions(error({"--a.low", "3", "--a.length", "3"}), {"--a.low 3", "below", "--a.length 3"});
  EXPECT_EQ(error({"--a.high", "1"}, 2), "") << "--a.low is not given";
}

TEST_F(Conditions, WithoutWhichAnOptionHasNoEffectOnEitherSideAreNotDifferences) {
  const std::string before = table.to_ini();
  options.target = 5;
  EXPECT_EQ(rows_of(differences(table, before, "options.ini")), Rows{});
  options.schedule = "adaptive";
  EXPECT_EQ(rows_of(differences(table, before, "options.ini")),
            (Rows{"a.schedule adaptive fixed numbers", "a.target 5 1 numbers"}));
}

// --- Paths ---

struct PathOptions {
  std::string file, text;
  std::vector<std::string> libraries;
  void describe(OptionVisitor& v) {
    v("file", file, "a file", as_path);
    v("text", text, "a text");
    v("libraries", libraries, "some files", as_path);
  }
};

class Paths : public testing::Test {
 protected:
  Paths() {
    table.section("", "Paths", options);
    setenv("HOME", "/home/me", 1);
    setenv("DRL_TEST_SCRATCH", "/scratch/me", 1);
  }
  ~Paths() override {
    setenv("HOME", home_.c_str(), 1);
    unsetenv("DRL_TEST_SCRATCH");
  }
  void expect_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
    try {
      table.apply_command_line({"--file=" + text});
      ADD_FAILURE() << text << " is accepted";
    } catch (const UsageError& error) {
      expect_mentions(error.what(), {"file"});
      expect_mentions(error.what(), parts);
    }
  }
  PathOptions options;
  OptionTable table;

 private:
  std::string home_ = getenv("HOME") ? getenv("HOME") : "/";
};

TEST_F(Paths, BeginInTheHomeDirectoryAsInAShell) {
  for (const auto& [typed, path] : std::map<std::string, std::string>{{"~", "/home/me"},
                                                                      {"~/x", "/home/me/x"},
                                                                      {"a/~/x", "a/~/x"},
                                                                      {"./~x", "./~x"},
                                                                      {"/a b/c$", "/a b/c$"},
                                                                      {"-", "-"}}) {
    table.apply_command_line({"--file=" + typed});
    EXPECT_EQ(options.file, path);
    table.apply_ini("file = " + typed, "my.ini");
    EXPECT_EQ(options.file, path);
  }
  table.apply_command_line({"--libraries", "~/a.so:b.so", "--text=~/$HOME"});
  EXPECT_EQ(options.libraries, (std::vector<std::string>{"/home/me/a.so", "b.so"}));
  EXPECT_EQ(options.text, "~/$HOME") << "not a path";
  std::vector<std::string> words = {"~/report", "--text", "~/x"};
  EXPECT_EQ(table.take_arguments(words), (std::vector<std::string>{"/home/me/report"}));
}

// A shell would have replaced them: the message gives what it would have written.
TEST_F(Paths, WithVariablesOrControlCharactersAreRefused) {
  expect_refused("$DRL_TEST_SCRATCH/x", {"$DRL_TEST_SCRATCH/x", "/scratch/me/x"});
  expect_refused("/a/${DRL_TEST_SCRATCH}/$HOME", {"/a//scratch/me//home/me"});
  expect_refused("$DRL_TEST_UNSET/x", {"$DRL_TEST_UNSET/x"});
  expect_refused("~root/x", {"~root/x"});
  expect_refused("/scratch/me\r", {"control character"});
  setenv("HOME", "", 1);
  expect_refused("~/x", {"~/x", "HOME"});
  EXPECT_THROW(table.apply_ini("file = $HOME/x", "my.ini"), UsageError);
}

}  // namespace
}  // namespace drl
