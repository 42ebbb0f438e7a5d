// The ranks that a test runs on. In such a test use EXPECT_, not ASSERT_, before a collective: all ranks must reach it.
#pragma once

#include "comm/communicator.hpp"

namespace drl::test {

Communicator& world();

}  // namespace drl::test
