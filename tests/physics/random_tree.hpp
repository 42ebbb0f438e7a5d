// Robots at random, of what the compiler can do.
#pragma once

#include <cstdint>
#include <string>

#include "interpreted_robot.hpp"

namespace drl::test {

// An MJCF model of this kind, of two to six bodies in one or several trees: the same for the same number. A robot of
// three edges moves in the plane of x and z. One that shall have pairs may have none after all.
std::string random_tree(const RobotKind& kind, uint64_t number);

}  // namespace drl::test
