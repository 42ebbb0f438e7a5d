// Which device a rank computes on.
#pragma once

#include <string>

namespace drl {

// The device that --device names, "cpu". Throws UsageError for one that this build or machine does not have.
std::string choose_device(const std::string& device);

}  // namespace drl
