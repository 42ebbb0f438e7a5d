// Reads a network that gives the torques of a robot's motors (--env.dr.motor_network, docs/howto/randomisation.md).
#pragma once

#include <string>

#include "drl/task/motor_network.hpp"

namespace drl {

// Returns the network of an .npz file, which is read once in a process. Throws UsageError if the file cannot be used:
// layers that do not fit together, numbers that are not finite, or an array or a setting that is not known.
const MotorNetwork& motor_network(const std::string& path);

}  // namespace drl
