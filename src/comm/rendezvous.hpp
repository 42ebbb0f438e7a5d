// How ranks agree at NCCL's start, with a time limit: NCCL itself would wait for ever for a rank that does not come.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/format.hpp"
#include "comm/patience.hpp"
#include "comm/roll_call.hpp"

namespace drl {

inline constexpr double kGrace = 10;  // s, for which other ranks let rank 0 report first, because it knows more

using Notes = std::vector<std::optional<std::string>>;

inline std::string seconds_text(double seconds) { return fmt::format("{:g} s", seconds); }

// The first character of rank 0's reply: continue with the text that follows, end with the usage error that follows, or
// end because rank 0 failed and prints the reason.
inline constexpr char kContinueReply = '+', kUsageReply = '-', kFailedReply = '!';

// Collects a note from each rank and distributes a reply. When all notes have arrived, or after `limit` seconds, rank 0
// computes the reply from the notes (nullopt if missing), and all ranks return it. If that throws, all ranks end; a
// UsageError becomes a SharedError.
class Rendezvous {
 public:
  using Decide = std::function<std::string(const Notes&)>;
  Rendezvous(const std::string& name, Communicator& host, Patience& patience, double limit)
      : call_(name, host), is_first_(host.rank() == 0), patience_(patience), limit_(limit) {}

  std::string run(const std::string& note, const Decide& decide) {
    call_.answer(note);
    return is_first_ ? lead(decide) : follow();
  }

 private:
  std::string lead(const Decide& decide) {
    wait_until([this] { return call_.complete(); }, patience_, limit_);
    try {
      const std::string reply = decide(call_.notes());
      call_.reply(kContinueReply + reply);
      return reply;
    } catch (const UsageError& error) {
      call_.reply(kUsageReply + std::string(error.what()));
      throw SharedError(error.what(), kUsage);
    } catch (const Error&) {
      call_.reply({kFailedReply});
      throw;
    }
  }

  std::string follow() {
    std::optional<std::string> reply;
    if (!wait_until([&] { return (reply = call_.received_reply()).has_value(); }, patience_, limit_ + kGrace))
      throw Error("no answer from rank 0 at the start of NCCL within " + seconds_text(limit_ + kGrace) +
                  " (it died, hangs, or waits for another rank): look for a message of rank 0, and run drl_doctor");
    if (reply->front() == kFailedReply) throw ReportedError(kFailure);
    if (reply->front() == kUsageReply) throw SharedError(reply->substr(1), kUsage);
    return reply->substr(1);
  }

  RollCall call_;
  bool is_first_;
  Patience& patience_;
  double limit_;
};

}  // namespace drl
