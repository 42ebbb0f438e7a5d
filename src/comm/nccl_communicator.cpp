#include "comm/nccl_communicator.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/nccl_clock.hpp"
#include "comm/patience.hpp"
#include "comm/roll_call.hpp"
#include "comm/wire.hpp"
#include "device/array.hpp"
#include "device/gpu_queue.hpp"
#include "gpu/device.hpp"

namespace drl {
namespace {

constexpr double kAnswerTime = 3;  // s, in which ranks that are alive answer rank 0
constexpr double kGrace = 10;      // s, by which the others let rank 0 speak first: it knows more
constexpr double kAbortTime = 5;   // s, for the GPU to come to rest after ncclCommAbort
constexpr double kFarewell = 10;   // s, for all ranks to end the communicator

using Done = std::function<bool()>;
using Notes = std::vector<std::optional<std::string>>;

// What a GPU that hangs may still use, and is then left alone: to free it would wait for the GPU.
struct OnDevice {
  std::unique_ptr<Queue> queue = make_gpu_queue();
  Array<NcclClock> clock{*queue, 1};
  Array<NcclTimes> times{*queue, 1, Memory::host};
  Array<float> sum{*queue, 1}, sum_on_host{*queue, 1, Memory::host};

  gpuStream_t stream() const { return static_cast<gpuStream_t>(queue->native()); }
};

std::string seconds_text(double seconds) { return fmt::format("{:g} s", seconds); }

void set_if_unset(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 0); }

// NCCL reads its variables when it starts.
void prepare_environment(bool deterministic) {
  // A ring adds in the order of its ranks, switches (NVLS) in any order: github.com/NVIDIA/nccl/issues/1497.
  if (deterministic) {
    set_if_unset("NCCL_ALGO", "Ring");
    set_if_unset("NCCL_NVLS_ENABLE", "0");
  }
}

void warn_of_version(int rank) {
  int version = 0;
  if (rank > 0 || gpucclGetVersion(&version) != gpucclSuccess || version / 100 != 226) return;
  log::warn(
      "NCCL {} hangs at times when it is started as drl does it (github.com/pytorch/pytorch/pull/154055): load 2.27 or "
      "newer",
      nccl_version_text(version));
}

// Replies of rank 0: go on with this text, end because of this wrong use, or end because rank 0 says why.
constexpr char kGoOn = '+', kRefused = '-', kFailed = '!';

// All ranks come together with a note each. When all have, or `limit` seconds are over, rank 0 makes the reply of the
// notes (nullopt: has not come), which all ranks return. What it throws there ends all: a UsageError as SharedError.
class Meeting {
 public:
  using Decide = std::function<std::string(const Notes&)>;
  Meeting(const std::string& name, Communicator& host, Patience& patience, double limit)
      : call_(name, host), is_first_(host.rank() == 0), patience_(patience), limit_(limit) {}

  std::string hold(const std::string& note, const Decide& decide) {
    call_.answer(note);
    return is_first_ ? lead(decide) : follow();
  }

 private:
  std::string lead(const Decide& decide) {
    wait_until([this] { return call_.complete(); }, patience_, limit_);
    try {
      const std::string reply = decide(call_.notes());
      call_.reply(kGoOn + reply);
      return reply;
    } catch (const UsageError& error) {
      call_.reply(kRefused + std::string(error.what()));
      throw SharedError(error.what(), kUsage);
    } catch (const Error&) {
      call_.reply({kFailed});
      throw;
    }
  }

  std::string follow() {
    std::optional<std::string> reply;
    if (!wait_until([&] { return (reply = call_.heard()).has_value(); }, patience_, limit_ + kGrace))
      throw Error("no answer from rank 0 at the start of NCCL within " + seconds_text(limit_ + kGrace) +
                  " (died, hangs, or waits for another rank): see what it says, and what drl_doctor says");
    if (reply->front() == kFailed) throw ReportedError(kFailure);
    if (reply->front() == kRefused) throw SharedError(reply->substr(1), kUsage);
    return reply->substr(1);
  }

  RollCall call_;
  bool is_first_;
  Patience& patience_;
  double limit_;
};

// What is in a rank's way when it connects; nothing where the text is empty.
struct Trouble {
  std::string text = {};
  bool looks_for_others = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Trouble, text, looks_for_others)

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Communicator& host, const NcclOptions& options)
      : host_(host), options_(options), exceptions_before_(std::uncaught_exceptions()), device_(new OnDevice) {}
  ~NcclCommunicator() override;
  void connect();

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  void wait(const Done& done) override;
  void abort(int exit_code) override { host_.abort(exit_code); }

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream stream) override { all_reduce(data, gpucclFloat, stream); }
  void do_all_reduce_sum(std::span<double> data, Stream stream) override { all_reduce(data, gpucclDouble, stream); }
  void do_broadcast(std::span<std::byte> data, int root) override { usable_host().broadcast(data, root); }
  void do_broadcast_asleep(std::span<std::byte> data, int root) override { usable_host().broadcast_asleep(data, root); }
  std::vector<std::byte> do_gather(std::span<const std::byte> data, int root) override {
    return usable_host().gather(data, root);
  }
  void do_scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) override {
    usable_host().scatter(all, mine, root);
  }
  void do_replayed(int64_t all_reduces, Stream stream) override {
    if (stream.handle) enqueued_ += all_reduces;
  }

 private:
  // Start
  std::string agree_on_id();
  std::string id_if_all_fit(const Notes& notes) const;
  Trouble try_to_connect(const std::string& id, Patience& patience);
  Trouble try_all_reduce(Patience& patience);
  std::string require_connected(const Notes& notes) const;

  // Work
  Communicator& usable_host();
  template <class T>
  void all_reduce(std::span<T> data, gpucclDataType_t type, Stream stream);
  NcclTimes times() const;
  gpucclResult_t state() const;
  gpucclResult_t settled(gpucclResult_t result, Patience& patience, double limit) const;

  // Failure
  std::string names_of(std::vector<int> ranks) const;
  std::string advice(bool looks_for_others = false) const;
  std::string seen_by() const;
  int64_t ended() const;  // all-reduces since the last wait
  std::string work_in_question() const;
  std::string failure_text(gpucclResult_t result) const;
  std::string late_text(const std::vector<int>& silent) const;
  [[noreturn]] void fail(gpucclResult_t result, const Done& done);
  [[noreturn]] void fail_late(const Done& done);
  std::string why_late() const;
  void rest_or_end(const std::string& message, const Done& done);
  bool comes_to_rest(const Done& done) const;
  bool say_farewell();

  Communicator& host_;
  const NcclOptions options_;
  const int exceptions_before_;
  std::unique_ptr<OnDevice> device_;
  gpucclComm_t comm_{};
  GpuIdentity gpu_;
  bool connected_ = false, failed_ = false;
  NcclTimes counted_{};   // at the last wait
  int64_t enqueued_ = 0;  // all-reduces since then
};

// ---- Start ----------------------------------------------------------------------------------------------------------

void NcclCommunicator::connect() {
  gpu_ = this_gpu(options_.device);
  const std::string id = agree_on_id();
  Patience patience;  // all ranks are here: they begin alike
  const Trouble trouble = try_to_connect(id, patience);
  try {
    Meeting meeting("nccl: connected", host_, patience, options_.init_timeout + kAnswerTime);
    meeting.hold(to_wire(trouble), [this](const Notes& notes) { return require_connected(notes); });
    connected_ = true;
  } catch (const ReportedError&) {
    rest_or_end("", [this] { return device_->queue->done(); });
    throw;
  } catch (const Error& error) {
    rest_or_end(error.what(), [this] { return device_->queue->done(); });
    throw;
  }
}

std::string NcclCommunicator::agree_on_id() {
  Patience patience;
  Meeting meeting("nccl: here", host_, patience, options_.init_timeout);
  return meeting.hold(to_wire(gpu_), [this](const Notes& notes) { return id_if_all_fit(notes); });
}

std::string NcclCommunicator::id_if_all_fit(const Notes& notes) const {
  std::vector<int> missing;
  std::vector<GpuIdentity> ranks;
  for (size_t rank = 0; rank < notes.size(); ++rank) {
    if (notes[rank])
      ranks.push_back(from_wire<GpuIdentity>(*notes[rank]));
    else
      missing.push_back(static_cast<int>(rank));
  }
  if (!missing.empty())
    throw Error("not all ranks came to the start of NCCL within " + seconds_text(options_.init_timeout) + " (not " +
                names_of(missing) +
                ": died, or hangs before it, perhaps at its GPU): see what it says, and what drl_doctor says; "
                "--init_timeout allows more");
  check_identities(ranks, options_.may_share_gpu);
  gpucclUniqueId id;
  if (const gpucclResult_t result = gpucclGetUniqueId(&id); result != gpucclSuccess) throw Error(failure_text(result));
  return std::string(reinterpret_cast<const char*>(&id), sizeof(id));
}

// After init_timeout seconds at the latest. Throws Error when NCCL gives up before that.
Trouble NcclCommunicator::try_to_connect(const std::string& id_text, Patience& patience) {
  gpucclUniqueId id;
  DRL_CHECK(id_text.size() == sizeof(id), "NCCL's id has another size");
  std::memcpy(&id, id_text.data(), sizeof(id));
  gpucclConfig_t config = GPUCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const gpucclResult_t begun = gpucclCommInitRankConfig(&comm_, size(), id, rank(), &config);
  const gpucclResult_t result = settled(begun, patience, options_.init_timeout);
  if (result == gpucclInProgress) return {"is still looking for the others", true};
  if (result != gpucclSuccess) fail(result, [] { return true; });
  return try_all_reduce(patience);
}

// NCCL leaves some connections to the first all-reduce: better here than in a capture.
Trouble NcclCommunicator::try_all_reduce(Patience& patience) {
  OnDevice& device = *device_;
  const Done idle = [&device] { return device.queue->done(); };
  device.sum_on_host[0] = 1;
  device.queue->copy(device.sum.data(), device.sum_on_host.data(), 1);
  const gpucclResult_t begun =
      gpucclAllReduce(device.sum.data(), device.sum.data(), 1, gpucclFloat, gpucclSum, comm_, device.stream());
  gpucclResult_t result = settled(begun, patience, options_.init_timeout);
  if (result == gpucclInProgress) return {"is still preparing a first all-reduce"};
  device.queue->copy(device.sum_on_host.data(), device.sum.data(), 1);
  const auto over = [&] { return idle() || (result = state()) != gpucclSuccess; };
  if (result == gpucclSuccess && !wait_until(over, patience, options_.init_timeout))
    return {"waits in a first all-reduce"};
  if (result != gpucclSuccess) fail(result, idle);
  const float sum = device.sum_on_host[0];
  return {sum == static_cast<float>(size()) ? "" : fmt::format("got a wrong sum, {}", sum)};
}

std::string NcclCommunicator::require_connected(const Notes& notes) const {
  bool looking = false;
  std::vector<std::string> troubles;
  std::vector<int> silent;
  for (int rank = 0; rank < size(); ++rank) {
    const auto& note = notes[static_cast<size_t>(rank)];
    const Trouble trouble = note ? from_wire<Trouble>(*note) : Trouble{};
    if (!note) silent.push_back(rank);
    if (!trouble.text.empty()) troubles.push_back(names_of({rank}) + " " + trouble.text);
    looking |= trouble.looks_for_others;
  }
  if (!silent.empty()) troubles.insert(troubles.begin(), "no answer from " + names_of(silent));
  if (troubles.empty()) return "";
  const size_t all = troubles.size(), most = 4;
  if (all > most) troubles.resize(most), troubles.push_back(fmt::format("{} more", all - most));
  throw Error("NCCL did not connect all ranks within " + seconds_text(options_.init_timeout) + " (" +
              join(troubles, "; ") + seen_by() + "): " + advice(looking) + "; --init_timeout allows more");
}

// ---- Work -----------------------------------------------------------------------------------------------------------

Communicator& NcclCommunicator::usable_host() {
  DRL_CHECK(!failed_, "a collective after a failure");
  return host_;
}

template <class T>
void NcclCommunicator::all_reduce(std::span<T> data, gpucclDataType_t type, Stream stream) {
  if (!stream.handle) return usable_host().all_reduce_sum(data);
  DRL_CHECK(!failed_, "a collective after a failure");
  const auto on = static_cast<gpuStream_t>(stream.handle);
  enqueue_begin(on, device_->clock.data());
  Patience patience;
  const gpucclResult_t begun = gpucclAllReduce(data.data(), data.data(), data.size(), type, gpucclSum, comm_, on);
  // Nothing may be enqueued behind it, nor a capture end, before NCCL has enqueued it.
  const gpucclResult_t result = settled(begun, patience, options_.comm_timeout);
  if (result == gpucclInProgress) fail_late({});
  if (result != gpucclSuccess) fail(result, {});
  enqueue_end(on, device_->clock.data(), device_->times.data());
  if (!capturing()) ++enqueued_;
}

// The GPU may be writing them.
NcclTimes NcclCommunicator::times() const {
  NcclTimes& times = device_->times[0];
  const auto read = [](uint64_t& number) { return std::atomic_ref(number).load(std::memory_order_relaxed); };
  return {read(times.nanoseconds), read(times.all_reduces)};
}

gpucclResult_t NcclCommunicator::state() const {
  gpucclResult_t result = gpucclInProgress;
  const gpucclResult_t asked = gpucclCommGetAsyncError(comm_, &result);
  return asked == gpucclSuccess ? result : asked;
}

// What a call that returned `result` comes to; gpucclInProgress if it takes longer than the limit.
gpucclResult_t NcclCommunicator::settled(gpucclResult_t result, Patience& patience, double limit) const {
  wait_until([&] { return result != gpucclInProgress || (result = state()) != gpucclInProgress; }, patience, limit);
  return result;
}

void NcclCommunicator::wait(const Done& done) {
  DRL_CHECK(!failed_, "a collective after a failure");
  Patience patience;
  try {
    const auto done_or_failed = [&] {
      if (done()) return true;
      if (const gpucclResult_t now = state(); now != gpucclSuccess && now != gpucclInProgress) fail(now, done);
      return false;
    };
    if (!wait_until(done_or_failed, patience, options_.comm_timeout)) fail_late(done);
  } catch (...) {  // also what done() throws: the GPU's own failure
    failed_ = true;
    throw;
  }
  const NcclTimes now = times();
  count_wait(static_cast<double>(now.nanoseconds - counted_.nanoseconds) * 1e-9);
  counted_ = now;
  enqueued_ = 0;
}

// ---- Failure --------------------------------------------------------------------------------------------------------

// Called as all ranks call them.
std::string NcclCommunicator::names_of(std::vector<int> ranks) const {
  for (int& rank : ranks) rank = host_.world_rank(rank);
  return ranks_text(ranks, options_.hosts);
}

std::string NcclCommunicator::advice(bool looks_for_others) const {
  int visible = 0;
  (void)gpuGetDeviceCount(&visible);
  const std::vector<std::string>& hosts = options_.hosts;
  const bool neighbours = std::ranges::count(hosts, gpu_.host) > 1;
  const bool several_hosts = std::ranges::adjacent_find(hosts, std::not_equal_to()) != hosts.end();
  return nccl_advice(process_environment(), {neighbours && visible == 1, several_hosts && looks_for_others});
}

std::string NcclCommunicator::seen_by() const {
  const char* last = gpucclGetLastError(comm_);
  return "; seen from " + gpu_.gpu + " " + gpu_.pci + " of " + gpu_.host +
         (last && *last ? std::string("; NCCL's last error: ") + last : "");
}

int64_t NcclCommunicator::ended() const { return static_cast<int64_t>(times().all_reduces - counted_.all_reduces); }

std::string NcclCommunicator::work_in_question() const {
  if (ended() >= enqueued_) return "the GPU's work";
  return fmt::format("all-reduce {} of the {} since the last wait", ended() + 1, enqueued_);
}

std::string NcclCommunicator::failure_text(gpucclResult_t result) const {
  return "NCCL failed at " + (connected_ ? work_in_question() : "its start") + " (" + gpucclGetErrorString(result) +
         seen_by() +
         "): " + (result == gpucclRemoteError ? "another rank died or failed first: see what it says" : advice());
}

std::string NcclCommunicator::late_text(const std::vector<int>& silent) const {
  const bool work_only = ended() >= enqueued_;
  const std::string who = silent.empty() ? work_only ? "all all-reduces before it have ended" : "all ranks wait"
                                         : "no answer from " + names_of(silent);
  const std::string remedy = !silent.empty() ? "see what holds it up"
                             : work_only     ? "drl_doctor examines the GPUs"
                                             : advice();
  return work_in_question() + " did not end within " + seconds_text(options_.comm_timeout) + " (" + who + seen_by() +
         "): " + remedy + "; --comm_timeout allows more";
}

void NcclCommunicator::fail(gpucclResult_t result, const Done& done) {
  const Error error(failure_text(result));
  rest_or_end(error.what(), done);
  throw error;
}

// All ranks are late at about the same time: rank 0 finds out who is not, and speaks for them.
void NcclCommunicator::fail_late(const Done& done) {
  std::string message;
  try {
    message = why_late();
  } catch (const Error& error) {  // of MPI
    message = error.what();
  }
  rest_or_end(message, done);
  if (message.empty()) throw ReportedError(kFailure);
  throw Error(message);
}

// "" where rank 0 says it.
std::string NcclCommunicator::why_late() const {
  RollCall call("nccl: late", host_);
  call.answer("");
  Patience patience;
  std::optional<std::string> heard;
  const auto over = [&] { return rank() == 0 ? call.complete() : (heard = call.heard()).has_value(); };
  const double limit = rank() == 0 ? kAnswerTime : kGrace;
  wait_until(over, patience, limit);
  if (rank() > 0) return heard ? "" : late_text({0});
  call.reply({kFailed});
  return late_text(call.missing());
}

// Whoever unwinds now frees GPU memory, and that waits for the GPU: if that hangs, all end here. An empty message is
// said by another rank.
void NcclCommunicator::rest_or_end(const std::string& message, const Done& done) {
  failed_ = true;
  if (comes_to_rest(done)) return;
  if (!message.empty()) log::error("{}", message);
  host_.abort(kFailure);
}

// ncclCommAbort lets the kernels end, but returns only when the graphs that hold its all-reduces are gone: so it has a
// thread of its own, which may never end.
bool NcclCommunicator::comes_to_rest(const Done& done) const {
  if (!comm_) return true;
  const auto aborted = std::make_shared<std::atomic<bool>>(false);
  std::thread([comm = comm_, aborted] {
    (void)gpucclCommAbort(comm);
    *aborted = true;
  }).detach();
  Patience patience;
  try {
    return wait_until([&] { return done ? done() : aborted->load(); }, patience, kAbortTime);
  } catch (const Error&) {
    return true;  // a GPU that has failed does not let anyone wait
  }
}

// After a failure of any kind nothing is freed: it would wait for the GPU, and the GPU for a rank that is no more.
NcclCommunicator::~NcclCommunicator() {
  const bool unwinding = std::uncaught_exceptions() > exceptions_before_;
  if (failed_ || unwinding || !say_farewell()) (void)device_.release();
}

bool NcclCommunicator::say_farewell() {
  if (!comm_) return true;
  Patience patience;
  if (settled(gpucclCommFinalize(comm_), patience, kFarewell) != gpucclSuccess) return false;
  (void)gpucclCommDestroy(comm_);
  return true;
}

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const NcclOptions& options) {
  prepare_environment(options.deterministic);
  DRL_GPU(gpuSetDevice(options.device));
  warn_of_version(host.rank());
  auto comm = std::make_unique<NcclCommunicator>(host, options);
  comm->connect();
  return comm;
}

}  // namespace drl
