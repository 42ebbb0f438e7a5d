// What drl_train looks at before it trains: cheap, and about what would otherwise cost hours.
#pragma once

#include <filesystem>

#include "cluster/communicator.hpp"

namespace drl {

// Collective. Throws ReportedError on all ranks, after one message, if they are not all the same build of the program.
void require_same_build(Communicator& comm);

// Collective. Rank 0 warns if another node does not have the folder `run`, which rank 0 has made.
void warn_if_not_shared(Communicator& comm, const std::filesystem::path& run);

}  // namespace drl
