// Finds out which ranks have arrived, without a collective, which would wait forever for ranks that never arrive.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace drl {

// Every rank sends a note to rank 0, and rank 0 replies: two messages per rank. No call blocks.
class RollCall {
 public:
  // A roll call of the ranks of `comm`. The `name` marks its messages, so that late ones are not mistaken for those of
  // another roll call.
  RollCall(const std::string& name, const Communicator& comm);

  // Reports this rank as present. Each rank calls it once.
  void answer(const std::string& note);

  // On rank 0, complete() returns whether all ranks have answered by now, and notes() returns the notes by rank,
  // nullopt for those that have not arrived. On other ranks, notes() is empty.
  bool complete();
  const std::vector<std::optional<std::string>>& notes() const { return notes_; }
  std::vector<int> missing() const;
  // On rank 0, sends `text` to all ranks that have answered.
  void reply(const std::string& text) const;

  // On other ranks, returns rank 0's reply if it has arrived.
  std::optional<std::string> received_reply() const;

 private:
  std::optional<std::string> without_name(const std::string& message) const;

  std::string name_;
  int rank_;
  std::vector<int> world_ranks_;   // world ranks of all ranks on rank 0, only that of rank 0 elsewhere
  std::map<int, size_t> awaited_;  // on rank 0: ranks that have not answered, by world rank
  std::vector<std::optional<std::string>> notes_;
};

// Ranks with the same text. groups_of orders the groups by their first rank.
struct Group {
  std::string text;
  std::vector<int> ranks;
};
std::vector<Group> groups_of(const std::vector<std::string>& texts);

// Returns one member of the facts of all ranks.
template <class Facts, class Owner>
std::vector<std::string> column(const std::vector<Facts>& ranks, std::string Owner::*fact) {
  std::vector<std::string> values;
  for (const Facts& rank : ranks) values.push_back(rank.*fact);
  return values;
}

// Returns "ranks 0-3, 6 on node1; rank 8 on node2". The host is left out for ranks beyond the end of `hosts`.
std::string ranks_text(const std::vector<int>& ranks, const std::vector<std::string>& hosts);

// Returns each text once with its ranks, "A (ranks 0-3 on node1), B (rank 4 on node2)"; empty texts are left out. Lists
// at most six texts or, of more, the first five and the number of the others.
std::string values_with_ranks(const std::vector<std::string>& texts, const std::vector<std::string>& hosts);

}  // namespace drl
