#include "doctor/nccl_log.hpp"

#include <strings.h>
#include <sys/mman.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace drl {

NcclLog::NcclLog() {
  // Whoever asks for NCCL's log gets it; WARN and VERSION, which sites set for all, are no such wish.
  const char* level = std::getenv("NCCL_DEBUG");
  if (std::getenv("NCCL_DEBUG_FILE")) trouble_ = "NCCL_DEBUG_FILE is set: unset it";
  if (level && (!strcasecmp(level, "INFO") || !strcasecmp(level, "TRACE")))
    trouble_ = "NCCL_DEBUG is set: see NCCL's own lines, or unset it";
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
