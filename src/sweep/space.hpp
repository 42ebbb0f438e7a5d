// The options that a sweep varies, and their values.
//
//   [ppo]                              # sections and names as in option files of drl_train
//   learning_rate = log 1e-4 1e-2      # uniform on a logarithmic scale
//   entropy_coef = uniform 0 0.01
//   num_learning_epochs = int 2 8      # a whole number, both ends included
//   num_mini_batches = choose 2 4 8    # one of these
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drl {

enum class Scale { uniform, log, integer, choice };

struct Dimension {
  std::string name;  // the option's full name, "ppo.learning_rate"
  Scale scale = Scale::uniform;
  double low = 0, high = 0;               // of all scales but choice
  std::vector<std::string> choices = {};  // of the scale choice
  int line = 0;                           // in the file
};
using Space = std::vector<Dimension>;
using Values = std::vector<std::string>;  // a value for each dimension, as drl_train reads it

// Throws UsageError, which begins with "<file>:<line>: ", if the text is wrong, and if it is empty.
Space parse_space(std::string_view text, const std::string& file);

// Returns the values with which the dimension's option must be valid: its ends, or all choices.
std::vector<std::string> extremes(const Dimension& dimension);

// Returns a random point. It depends only on the arguments. Pure.
Values sample(const Space& space, uint64_t seed, int trial);

// Returns all combinations of values: all choices, and of the other dimensions `points` values, or all whole numbers if
// there are not more, at equal distances on the scale. The last dimension changes first. Pure.
std::vector<Values> grid(const Space& space, int points);

// Returns the point with each number multiplied or divided by `factor`, and each choice replaced by one beside it, at
// random and within the dimension's ends. With a factor of 1, the point stays as it is. It depends only on the
// arguments. Pure.
Values perturbed(const Space& space, const Values& point, double factor, uint64_t seed, int trial, int generation);

}  // namespace drl
