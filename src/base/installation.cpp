#include "base/installation.hpp"

namespace drl {

std::filesystem::path installation() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
}

}  // namespace drl
