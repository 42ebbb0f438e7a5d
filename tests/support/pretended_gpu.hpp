// Runs programs on a machine that seems to have a GPU of another vendor.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "process.hpp"

namespace drl {

// Returns the beginning of a command whose program sees one PCI device, with this vendor and class. It runs in a mount
// namespace of its own. The command is empty if this is not possible, or if the machine has an NVIDIA GPU.
inline Words with_pci_device(const std::string& vendor, const std::string& kind) {
  for (const char* file : {"/dev/nvidia0", "/dev/nvidiactl", "/proc/driver/nvidia/gpus"})
    if (std::filesystem::exists(file)) return {};
  Words words = {"unshare", "--mount"};
  if (::geteuid() != 0) words.push_back("--map-root-user");
  const std::string device = "/sys/bus/pci/devices/0000:c1:00.0";
  words = words + Words{"sh", "-c",
                        "mount -t tmpfs none /sys/bus/pci/devices && mkdir " + device + " && echo " + vendor + " >" +
                            device + "/vendor && echo " + kind + " >" + device + "/class && exec \"$@\"",
                        "sh"};
  return run_program(words + Words{"true"}).exit_code == 0 ? words : Words{};
}

// The device is an MI250X of AMD.
inline Words with_amd_gpu() { return with_pci_device("0x1002", "0x038000"); }

}  // namespace drl
