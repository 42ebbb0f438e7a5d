// fmt, as spdlog has it. Not together with libtorch's headers, which bring another one.
#pragma once

#include <spdlog/common.h>
#include <spdlog/fmt/fmt.h>

namespace drl {
namespace fmt = spdlog::fmt_lib;
}  // namespace drl
