// Finds out why a collective takes longer than it may. Ranks that still compute answer, so that the others go on
// waiting. The run ends if a rank does not answer, or if no rank computes any more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/patience.hpp"

namespace drl {

enum class Progress : char {
  in_time = 't',   // the rank computes, or has not waited for longer than it may
  waits = 'w',     // it has waited in a collective for longer than it may
  own_work = 'o',  // its own work, without the other ranks, takes longer than it may
};

// Each rank calls poll() while it waits, and from time to time while it computes. No call blocks. Ranks send messages
// only when they are late: then rank 0 asks all ranks, and the others ask rank 0, once in kAskAgain seconds.
class LateRanks {
 public:
  // `name` marks the messages, so it must differ between communicators.
  LateRanks(std::string name, const Communicator& comm);

  // Why a rank must give up.
  struct Reason {
    bool is_reported = false;   // rank 0 has ended the run, and prints why
    std::vector<int> silent;    // ranks that do not answer
    std::vector<int> own_work;  // ranks with this progress
  };
  // Receives and answers messages, and asks if this rank is late. Returns nothing if the rank may go on.
  std::optional<Reason> poll(Progress mine);

 private:
  std::optional<Reason> judge(Progress mine) const;
  void send(const std::string& text, const std::vector<int>& world_ranks) const;

  std::string name_;
  int rank_;
  std::vector<int> others_;  // world ranks that this rank asks
  std::vector<std::optional<Progress>> answers_;
  int question_ = 0;             // the number of the latest question
  bool is_open_ = false;         // whether it waits for answers
  std::optional<Patience> age_;  // of the latest question, unless this rank has been in time since
};

}  // namespace drl
