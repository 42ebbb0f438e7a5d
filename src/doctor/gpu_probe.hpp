#pragma once

#include <string>

namespace drl {

// Runs a small kernel on a device and reads its results back. Returns "" if that worked within `seconds`, else the
// reason; throws Error if the runtime reports a failure. The device stays the current one of this process.
std::string run_kernel(int device, double seconds);

}  // namespace drl
