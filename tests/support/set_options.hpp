// Sets options by their names, as a command line does.
#pragma once

#include <sstream>
#include <string>

#include "base/options.hpp"

namespace drl::test {

// Sets values such as "policy.rnn_type=gru ppo.symmetry=both".
inline void set_options(OptionTable& table, const std::string& values) {
  std::istringstream words(values);
  for (std::string word; words >> word;) table.set(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
}

}  // namespace drl::test
