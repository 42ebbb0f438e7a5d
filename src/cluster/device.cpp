#include "cluster/device.hpp"

#include "base/check.hpp"
#include "base/text.hpp"

namespace drl {

std::string choose_device(const std::string& device) {
  if (device == "auto" || device == "cpu") return "cpu";
  if (device.starts_with("cuda") || device.starts_with("gpu"))
    throw UsageError("--device " + printable(device) +
                     " is not available (this build computes on the CPU only): use --device cpu");
  throw UsageError("--device " + printable(device) + " is unknown (devices are auto and cpu): use --device cpu");
}

}  // namespace drl
