// Messages with a deadline, for those who look for ranks that do not answer: a collective would wait for them forever,
// and not say for which.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace drl {

// Sends `text` to the ranks `to` (all ranks count as MPI_COMM_WORLD does), and returns by rank what came from the ranks
// `from` within `seconds`. Between two ranks messages keep their order. Without MPI both lists must be empty.
std::map<int, std::string> exchange(const std::string& text, const std::vector<int>& to, const std::vector<int>& from,
                                    double seconds);

// The sum over all ranks; nullopt if it was not there within `seconds`. After that, nothing collective may follow.
std::optional<std::vector<float>> all_reduce_within(std::vector<float> data, double seconds);

}  // namespace drl
