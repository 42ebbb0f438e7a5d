#include "doctor/nccl_log.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace drl {

NcclLog::NcclLog() {
  for (const char* variable : {"NCCL_DEBUG", "NCCL_DEBUG_FILE"})
    if (std::getenv(variable)) trouble_ = std::string(variable) + " is set: unset it";
  if (!trouble_.empty()) return;
  const int memory = memfd_create("nccl_log", MFD_CLOEXEC);
  if (memory < 0) {
    trouble_ = "no memory for NCCL's log";
    return;
  }
  file_ = "/proc/self/fd/" + std::to_string(memory);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", "INIT,NET", 1);
  setenv("NCCL_DEBUG_FILE", file_.c_str(), 1);
}

std::string NcclLog::text() const {
  std::ifstream file(file_);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace drl
