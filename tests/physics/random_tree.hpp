// Generates random robots from the features that the compiler supports.
#pragma once

#include <cstdint>
#include <string>

#include "evaluated_robot.hpp"

namespace drl::test {

// Returns an MJCF model of this kind, with two to six bodies in one or several trees. Equal numbers give equal models.
// Robots with three different edges move in the xz plane. A robot of a kind with pairs may turn out to have none.
// Robots with equality constraints have no dry friction.
std::string random_tree(const RobotKind& kind, uint64_t number);

}  // namespace drl::test
