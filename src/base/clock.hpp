// The monotonic clock, used for everything except dates.
#pragma once

#include <chrono>

namespace drl {

using Clock = std::chrono::steady_clock;

inline double steady_seconds() {  // since an arbitrary time
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace drl
