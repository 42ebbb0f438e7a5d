// The communicator of a test with several ranks. Such a test must use EXPECT_, not ASSERT_, before a collective,
// because all ranks must reach the collective.
#pragma once

#include "comm/communicator.hpp"

namespace drl::test {

Communicator& world();

}  // namespace drl::test
