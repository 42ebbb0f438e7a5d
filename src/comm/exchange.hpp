// Messages with a deadline, to find ranks that do not respond: a collective would wait forever without naming them. A
// failed MPI call throws Error with MPI's text and the rank that it concerns.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace drl {

// Sends `text` to the ranks `to` and returns the texts that arrive from the ranks `from` within `seconds`, by rank.
// Ranks are those of MPI_COMM_WORLD. Messages between two ranks keep their order. Without MPI, both lists must be
// empty.
std::map<int, std::string> exchange(const std::string& text, const std::vector<int>& to, const std::vector<int>& from,
                                    double seconds);

// Waits until MPI has delivered all sent messages, but at most `seconds`. MPI only makes progress while it is called.
void flush_messages(double seconds);

// Returns the sum over all ranks, or nullopt if it is not complete within `seconds`; then no collective may follow.
std::optional<std::vector<float>> all_reduce_within(std::vector<float> data, double seconds);

}  // namespace drl
