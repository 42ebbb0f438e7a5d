// What NCCL says of its start, as its log has it (NCCL_DEBUG=INFO), in memory instead of on the terminal.
#pragma once

#include <string>

namespace drl {

// To be made before NCCL starts. Whoever set NCCL_DEBUG or NCCL_DEBUG_FILE keeps NCCL's log for himself.
class NcclLog {
 public:
  NcclLog();
  // So far.
  std::string text() const;
  std::string trouble() const { return trouble_; }  // why there is none; else empty

 private:
  std::string file_;  // stays open: NCCL writes to it as long as it runs
  std::string trouble_;
};

}  // namespace drl
