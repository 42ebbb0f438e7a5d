// The fmt that spdlog bundles. Do not include this together with libtorch's headers, which bring another fmt.
#pragma once

#include <spdlog/common.h>
#include <spdlog/fmt/fmt.h>

namespace drl {
namespace fmt = spdlog::fmt_lib;
}  // namespace drl
