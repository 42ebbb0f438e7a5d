#include "comm/program_build.hpp"

#include "base/build_id.hpp"
#include "base/version.hpp"

namespace drl {

std::string program_build() {
  const std::string id = build_id_of(reinterpret_cast<const void*>(&program_build));
  return std::string(kVersion) + " (" + kGitHash + ")" + (id.empty() ? "" : ", build " + id);
}

}  // namespace drl
