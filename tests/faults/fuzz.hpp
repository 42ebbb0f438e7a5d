// Feeds generated inputs to code that reads what users and launchers provide. Each input must be accepted, or refused
// with one line and exit code 2, within bounded time and memory.
//
// The inputs are fed in a child process: a crash, a hang or a sanitizer's report is one finding, and the next child
// goes on with the next input. Input k of a seed is always the same. libFuzzer, which would also follow the coverage,
// is not used: it needs clang, and its inputs cannot be repeated from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "random.hpp"

namespace drl::faults {

// One kind of input.
class Kind {
 public:
  virtual ~Kind() = default;
  // Returns an input.
  virtual std::string make(Random& random) = 0;
  // Reads the input as drl does. Throws UsageError if drl refuses it, and Finding if the result is wrong. Any other
  // exception is a finding, too.
  virtual void read(const std::string& input) = 0;
};

struct Finding : std::logic_error {
  using std::logic_error::logic_error;
};

struct FuzzRequest {
  int64_t first = 0, count = 0;
  uint64_t seed = 0;
  double seconds_per_input = 60;
  std::string keep;  // directory for inputs with findings; "" keeps none
};

// Runs a program that reads an input, in a directory. It must succeed, refuse the input with one error and exit code 2,
// or fail with exit code 1 because the training computes numbers that are not finite. Returns the exit code. Throws
// Finding otherwise.
int run_on_input(const std::vector<std::string>& words, const std::string& directory = ".");

// Reads the inputs, and prints each finding and one line of figures. Returns the number of findings.
int fuzz(const std::string& name, Kind& kind, const FuzzRequest& request);
// Reads one input in this process, for a debugger.
void read_one(Kind& kind, const std::string& input);

std::unique_ptr<Kind> make_commands();
std::unique_ptr<Kind> make_configs();
std::unique_ptr<Kind> make_launchers();
std::unique_ptr<Kind> make_checkpoints();
std::unique_ptr<Kind> make_pairs();
std::unique_ptr<Kind> make_models();  // null without MuJoCo

}  // namespace drl::faults
