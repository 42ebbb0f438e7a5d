// Tests the output of drl_train in a terminal and in a file, on one and two ranks.
#include <pty.h>
#include <termios.h>

#include <csignal>

#include "programs.hpp"

namespace drl::test {
namespace {

DRL_ON_RANKS(Console);
using CommunicationOnTwoRanks = OnTwoRanks;

// A program in a terminal of 100 x 40.
class TerminalProcess {
 public:
  explicit TerminalProcess(const Words& words) {
    winsize size{40, 100, 0, 0};
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ < 0) throw std::runtime_error("forkpty");
    if (pid_ > 0) {
      keep_output_on_ctrl_c();
      return;
    }
    ::setenv("TERM", "xterm", 1);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~TerminalProcess() {
    ::close(terminal_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // Reads until `part` has appeared `times` times. Returns false at the end of the program.
  bool read_until(const std::string& part, int times) {
    while (count_of(text, part) < times) {
      char buffer[4096];
      const ssize_t n = ::read(terminal_, buffer, sizeof buffer);
      if (n <= 0) return false;
      text.append(buffer, static_cast<size_t>(n));
    }
    return true;
  }
  void type(char key) const { EXPECT_EQ(::write(terminal_, &key, 1), 1); }

  std::string text;  // all output so far

 private:
  // Otherwise Ctrl-C discards what the program has written and this test has not yet read (NOFLSH in termios(3)).
  void keep_output_on_ctrl_c() const {
    termios settings{};
    EXPECT_EQ(::tcgetattr(terminal_, &settings), 0);
    settings.c_lflag |= NOFLSH;
    EXPECT_EQ(::tcsetattr(terminal_, TCSANOW, &settings), 0);
  }

  int terminal_ = -1;
  pid_t pid_ = -1;
};

// Returns the final lines of an infinitely long terminal. Interprets the escape sequences that the console uses.
Words screen(const std::string& text) {
  Words lines(1);
  size_t row = 0, column = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\n') {
      if (++row == lines.size()) lines.emplace_back();
    } else if (text[i] == '\x1b') {
      const size_t end = text.find_first_of("AKJ", i);
      if (text[end] == 'A') row -= std::min(row, static_cast<size_t>(std::stoi(text.substr(i + 2))));
      if (text[end] != 'A') lines[row].resize(std::min(lines[row].size(), column));
      if (text[end] == 'J') lines.resize(row + 1);
      i = end;
    } else {
      lines[row].resize(std::max(lines[row].size(), column + 1), ' ');
      lines[row][column++] = text[i];
    }
  }
  return lines;
}

constexpr const char* kUp = "\x1b[14A";  // the live block has 14 lines, of which three show reward terms

// Types Ctrl-C while the live block is shown.
TEST_P(Console, RedrawsABlockInPlaceInATerminal) {
  const Runs runs;
  TerminalProcess process(runs.command(kEndless));
  ASSERT_TRUE(process.read_until(kUp, 3)) << process.text;
  process.type('\x03');
  process.read_until("never", 1);  // reads until the program ends
  const Words lines = screen(process.text);
  const std::string all = join(lines, "\n");
  EXPECT_EQ(count_of(all, "learning Cartpole "), 1) << all;
  EXPECT_EQ(count_of(all, "Learning iteration"), 1) << "the last whole block replaces the live block:\n" << all;
  EXPECT_EQ(count_of(all, "Mean surrogate loss:"), 1) << all;
  EXPECT_EQ(count_of(all, "stopped by SIGINT"), 1) << all;
  EXPECT_LT(lines.size(), 60u) << "no line should scroll:\n" << all;
}

// At least a second passes between two lines, so n lines need n - 1 seconds.
TEST_P(Console, WritesFewLinesAndTheWholeBlockToAFile) {
  const Runs runs;
  const Result result = expect_exit(runs.train("--run_name r --max_iterations 300"_words), 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(count_of(result.out, "learning Cartpole "), 1) << result.out;
  EXPECT_EQ(count_of(result.out, "Mean surrogate loss:"), 1);
  const int plain_lines = count_of(result.out, "\niteration ");
  EXPECT_GE(plain_lines, 1);
  EXPECT_LE(plain_lines - 1, run_json(runs.run("r")).at("elapsed_seconds").get<double>());
}

TEST_P(Console, QuietPrintsOnlyErrors) {
  const Runs runs;
  const Result result = expect_exit(runs.train("--quiet --run_name r --max_iterations 2"_words), 0);
  EXPECT_EQ(result.out + result.err, "");
  EXPECT_EQ(runs.train("--quiet --num_envs 0"_words).err.substr(0, 7), "error: ");
}

TEST_P(Console, ShowsNumbersPerRankAndInTotal) {
  const Runs runs;
  expect_mentions(runs.train("--num_envs 2048 --ppo.num_mini_batches 4 --max_iterations 1"_words).out,
                  {"2,048 per rank", rank_count == 1 ? "2,048 in total" : "4,096 in total",
                   rank_count == 1 ? "8,192 in total" : "16,384 in total", "fused networks", "parameters",
                   rank_count == 1 ? "1 rank on" : "2 ranks on"});
}

// Cartpole has two networks of 4 inputs, 8 hidden units and 1 output, and one standard deviation. The gradient is
// followed by 6 sums: n, KL, surrogate and value loss, entropy, clipped count. The float64 all-reduce has 30 numbers:
// - 12: five kinds of stops, save; for each of two ranks the fingerprint, collection and waiting time;
// - 5: n, sums and sums of squares of advantages and returns;
// - 9: episodes, reward, length, 5 reward terms, lost episodes;
// - 4: for each rank the fingerprint of its parameters and a flag.
TEST_F(CommunicationOnTwoRanks, IsCountedInRunJson) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --max_iterations 3 --ppo.num_learning_epochs 2 --ppo.num_mini_batches 4 "
                         "--policy.actor_hidden_dims 8 --policy.critic_hidden_dims 8"_words),
              0);
  const nlohmann::json record = run_json(runs.run("r")), communication = record.at("communication");
  EXPECT_EQ(record.at("world_size"), 2);
  EXPECT_EQ(communication.at("all_reduces_float64"), 3);
  EXPECT_EQ(communication.at("bytes_float64"), 3 * 30 * 8);
  EXPECT_EQ(communication.at("all_reduces_float32"), 3 * 2 * 4);
  // Weights and biases of two networks 4-8-1 and a standard deviation, each padded to blocks of four, and the 6 sums.
  EXPECT_EQ(communication.at("bytes_float32"), 3 * 2 * 4 * (2 * (32 + 8 + 8 + 4) + 4 + 6) * 4);
}

// A file that is opened while 0, 1 and 2 are free gets their numbers.
TEST_P(Console, ThatIsClosedPutsNoTextIntoFiles) {
  const Runs runs;
  expect_exit(run_program(runs.command("--run_name r --max_iterations 5"_words), {},
                          [] {
                            for (const int stream : {0, 1, 2}) ::close(stream);
                          }),
              0);
  EXPECT_EQ(iterations(runs.run("r")), count_to(5));
  for (const auto& entry : fs::recursive_directory_iterator(runs.run("r")))
    if (entry.is_regular_file()) {
      EXPECT_EQ(slurp(entry.path()).find("learning Cartpole"), std::string::npos) << entry.path();
    }
}

// As in `drl_train | head -1`.
TEST_P(Console, WithoutAReaderDoesNotEndARun) {
  const Runs runs;
  expect_exit(run_program(runs.command("--run_name r --max_iterations 20"_words), {},
                          [] {
                            int ends[2];
                            if (::pipe(ends) != 0) ::_exit(1);
                            ::dup2(ends[1], 1);
                            ::close(ends[0]), ::close(ends[1]);
                            std::signal(SIGPIPE, SIG_DFL);
                          }),
              0);
  EXPECT_EQ(iterations(runs.run("r")), count_to(20));
}

}  // namespace
}  // namespace drl::test
