// Messages with a deadline, for those who look for ranks that do not answer: a collective would wait for them forever,
// and not say for which. A call of MPI that fails is an Error with MPI's text: the rank that it concerns is not silent.
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

// Returns when MPI has handed over all that was sent, at the latest after `seconds`: it does so only while it is
// called.
void let_messages_leave(double seconds);

// The sum over all ranks; nullopt if it was not there within `seconds`. After that, nothing collective may follow.
std::optional<std::vector<float>> all_reduce_within(std::vector<float> data, double seconds);

}  // namespace drl
