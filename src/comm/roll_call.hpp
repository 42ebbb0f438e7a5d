// Which ranks have come so far: a collective would wait for those that never do.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace drl {

// Every rank answers with a note, rank 0 hears them and replies: two messages a rank. No call waits.
class RollCall {
 public:
  // Of the ranks of `comm`. `name` tells this roll call from others: what comes late is not mistaken for another's.
  RollCall(const std::string& name, const Communicator& comm);

  // "Here": once on each rank.
  void answer(const std::string& note);

  // Rank 0: have all answered by now? Notes by rank, empty where none has come; none of them elsewhere.
  bool complete();
  const std::vector<std::optional<std::string>>& notes() const { return notes_; }
  std::vector<int> missing() const;
  // Rank 0: to all that have answered.
  void reply(const std::string& text) const;

  // The other ranks: what rank 0 replied, once it has come.
  std::optional<std::string> heard() const;

 private:
  std::optional<std::string> without_name(const std::string& message) const;

  std::string name_;
  int rank_;
  std::vector<int> world_ranks_;   // that messages go to: rank 0's, and on rank 0 all
  std::map<int, size_t> awaited_;  // rank 0: those that have not answered, from their world ranks
  std::vector<std::optional<std::string>> notes_;
};

// Ranks of the same text, in the order of their first ranks.
struct Group {
  std::string text;
  std::vector<int> ranks;
};
std::vector<Group> groups_of(const std::vector<std::string>& texts);

// One fact of all ranks.
template <class Facts>
std::vector<std::string> column(const std::vector<Facts>& ranks, std::string Facts::*fact) {
  std::vector<std::string> values;
  for (const Facts& rank : ranks) values.push_back(rank.*fact);
  return values;
}

// "ranks 0-3, 6 on node1; rank 8 on node2"; without the hosts of ranks that `hosts` does not hold.
std::string ranks_text(const std::vector<int>& ranks, const std::vector<std::string>& hosts);

// "A (ranks 0-3 on node1), B (rank 4 on node2)": each text once, empty ones left out.
std::string by_text(const std::vector<std::string>& texts, const std::vector<std::string>& hosts);

}  // namespace drl
