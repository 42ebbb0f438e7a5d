#include "base/check.hpp"

namespace drl {

void check_failed(const char* expression, const char* file, int line, const std::string& message) {
  throw Error("internal check failed: " + message + " (" + expression + " at " + file + ":" + std::to_string(line) +
              "): please report this line");
}

}  // namespace drl
