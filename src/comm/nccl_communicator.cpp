#include "comm/nccl_communicator.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>
#include <typeinfo>
#include <vector>

#include "base/check.hpp"
#include "base/failure.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/late_ranks.hpp"
#include "comm/nccl_clock.hpp"
#include "comm/patience.hpp"
#include "comm/rendezvous.hpp"
#include "comm/wire.hpp"
#include "device/array.hpp"
#include "device/gpu_queue.hpp"
#include "gpu/device.hpp"

namespace drl {
namespace {

constexpr double kAnswerTime = 3;     // s, within which responsive ranks answer rank 0 at the start
constexpr double kPollTime = 0.05;    // s, between two looks for messages of late ranks
constexpr double kAbortTime = 5;      // s, for the GPU to become idle after ncclCommAbort
constexpr double kFinalizeTime = 10;  // s, for all ranks to finalize the communicator
constexpr double kOwnWork = 10;       // times comm_timeout, for the GPU's own work between two all-reduces

using Done = std::function<bool()>;

// Memory and queue that a hanging GPU may still use. They are kept in that case, because freeing waits for the GPU.
struct OnDevice {
  std::unique_ptr<Queue> queue = make_gpu_queue();
  Array<NcclClock> clock{*queue, 1};
  Array<NcclTimes> times{*queue, 1, Memory::host};
  Array<float> sum{*queue, 1}, sum_on_host{*queue, 1, Memory::host};

  OnDevice* next = nullptr;  // in the list of those that are never freed
  gpucclComm_t comm{};       // of that list

  gpuStream_t stream() const { return static_cast<gpuStream_t>(queue->native()); }
};

void set_if_unset(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 0); }

// Sets variables that NCCL reads when it starts.
void prepare_environment(bool deterministic) {
  // Registered buffers may take another path in a graph than outside, with other bits, and are exchanged in a capture.
  set_if_unset("NCCL_GRAPH_REGISTER", "0");
  // A ring adds in the order of its ranks, NVLink switches (NVLS) in any order: github.com/NVIDIA/nccl/issues/1497. The
  // protocol and the number of blocks decide at which rank the sum of an element begins.
  if (deterministic) {
    set_if_unset("NCCL_ALGO", "Ring");
    set_if_unset("NCCL_PROTO", "Simple");
    set_if_unset("NCCL_NVLS_ENABLE", "0");
    set_if_unset("NCCL_MIN_CTAS", "8");
    set_if_unset("NCCL_MAX_CTAS", "8");
  }
}

void warn_of_version(int rank) {
  int version = 0;
  if (rank > 0 || gpucclGetVersion(&version) != gpucclSuccess || version / 100 != 226) return;
  log::warn(
      "NCCL {} sometimes hangs when it starts in non-blocking mode, as in drl "
      "(github.com/pytorch/pytorch/pull/154055): "
      "load NCCL 2.27 or newer",
      nccl_version_text(version));
}

// A problem that a rank has when it connects; an empty text means none.
struct ConnectProblem {
  std::string text = {};
  bool looks_for_others = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ConnectProblem, text, looks_for_others)

// A rank reports this when it arrives: its GPU, or why the GPU cannot be used.
struct Arrival {
  GpuIdentity gpu = {};
  std::string trouble = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Arrival, gpu, trouble)

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Communicator& host, const NcclOptions& options)
      : host_(host), options_(options), exceptions_before_(std::uncaught_exceptions()) {}
  ~NcclCommunicator() override;
  void connect();

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  void wait(const Done& done) override;
  void computes() override;
  bool failed() const override { return failed_; }
  void abort(int exit_code) override { host_.abort(exit_code); }

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream stream) override { all_reduce(data, gpucclFloat, stream); }
  void do_all_reduce_sum(std::span<double> data, Stream stream) override { all_reduce(data, gpucclDouble, stream); }
  void do_broadcast(std::span<std::byte> data, int root, bool spins) override {
    spins ? usable_host().broadcast(data, root) : usable_host().broadcast_without_spinning(data, root);
  }
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
  Arrival arrive();
  std::string agree_on_id(const Arrival& mine);
  std::string id_for_matching_ranks(const Notes& notes) const;
  ConnectProblem try_to_connect(const std::string& id, Patience& patience);
  ConnectProblem try_all_reduce(Patience& patience);
  std::string require_connected(const Notes& notes) const;

  // Work
  Communicator& usable_host();
  template <class T>
  void all_reduce(std::span<T> data, gpucclDataType_t type, Stream stream);
  NcclTimes times() const;
  template <class Over>
  void wait_in_time(const Over& over, bool enqueues, const Done& done);
  std::optional<LateRanks::Reason> ask(Progress mine, const Done& done);
  gpucclResult_t state() const;
  gpucclResult_t final_result(gpucclResult_t result, Patience& patience, double limit) const;

  // Failure
  std::string names_of(std::vector<int> ranks) const;
  std::string advice(bool looks_for_others = false, bool gpu_failed = false) const;
  [[noreturn]] void add_advice(const Error& error);
  std::string seen_from() const;
  std::string unfinished_work(const NcclTimes& at) const;
  std::string failure_text(gpucclResult_t result) const;
  std::string late_text(const LateRanks::Reason& reason, const NcclTimes& at, double seconds) const;
  [[noreturn]] void fail(gpucclResult_t result, const Done& done);
  [[noreturn]] void end_with(const std::string& message, const Done& done);
  void abort_nccl_or_exit(const std::string& message, const Done& done);
  bool abort_nccl(const Done& done) const;
  bool finalize();

  Communicator& host_;
  const NcclOptions options_;
  const int exceptions_before_;
  std::unique_ptr<OnDevice> device_;
  gpucclComm_t comm_{};
  GpuIdentity gpu_;
  bool connected_ = false, failed_ = false;
  std::optional<LateRanks> late_ranks_;
  Clock::time_point last_poll_{};
  NcclTimes counted_{};   // at the end of the last wait
  int64_t enqueued_ = 0;  // all-reduces since then
};

// ---- Start ----------------------------------------------------------------------------------------------------------

void NcclCommunicator::connect() {
  const Arrival mine = arrive();
  gpu_ = mine.gpu;
  const std::string id = agree_on_id(mine);
  Patience patience;  // all ranks have arrived, so their time limits start together
  const ConnectProblem problem = try_to_connect(id, patience);
  try {
    Rendezvous rendezvous("nccl: connected", host_, patience, options_.init_timeout + kAnswerTime);
    rendezvous.run(to_wire(problem), [this](const Notes& notes) { return require_connected(notes); });
    connected_ = true;
    late_ranks_.emplace("nccl " + id, host_);
  } catch (const ReportedError&) {
    abort_nccl_or_exit("", [this] { return device_->queue->done(); });
    throw;
  } catch (const Error& error) {
    abort_nccl_or_exit(error.what(), [this] { return device_->queue->done(); });
    throw;
  }
}

// Selects this rank's GPU and allocates memory there. Any failure is in the result, as the other ranks wait for it.
Arrival NcclCommunicator::arrive() {
  try {
    gpu::use(options_.device);
    device_ = std::make_unique<OnDevice>();
    return {this_gpu(options_.device)};
  } catch (const std::exception& error) {
    return {.trouble = message_of(error)};
  }
}

std::string NcclCommunicator::agree_on_id(const Arrival& mine) {
  Patience patience;
  Rendezvous rendezvous("nccl: here", host_, patience, options_.init_timeout);
  return rendezvous.run(to_wire(mine), [this](const Notes& notes) { return id_for_matching_ranks(notes); });
}

std::string NcclCommunicator::id_for_matching_ranks(const Notes& notes) const {
  std::vector<int> missing;
  std::vector<GpuIdentity> ranks;
  for (size_t k = 0; k < notes.size(); ++k) {
    const int rank = static_cast<int>(k);
    if (!notes[k]) {
      missing.push_back(rank);
      continue;
    }
    const auto [gpu, trouble] = from_wire<Arrival>(*notes[k]);
    if (!trouble.empty()) throw Error(names_of({rank}) + ": " + trouble);
    ranks.push_back(gpu);
  }
  if (!missing.empty())
    throw Error(
        "not all ranks reached the start of NCCL within " + seconds_text(options_.init_timeout) +
        " (missing: " + names_of(missing) +
        "; they ended or hang before this point, perhaps at the GPU): look for a message of the missing ranks, run "
        "drl_doctor, or raise --init_timeout");
  check_identities(ranks, options_.may_share_gpu);
  gpucclUniqueId id;
  if (const gpucclResult_t result = gpucclGetUniqueId(&id); result != gpucclSuccess) throw Error(failure_text(result));
  return std::string(reinterpret_cast<const char*>(&id), sizeof(id));
}

// Returns after at most init_timeout seconds. Throws Error if NCCL fails before that.
ConnectProblem NcclCommunicator::try_to_connect(const std::string& id_text, Patience& patience) {
  gpucclUniqueId id;
  DRL_CHECK(id_text.size() == sizeof(id), "NCCL's id has an unexpected size");
  std::memcpy(&id, id_text.data(), sizeof(id));
  gpucclConfig_t config = GPUCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const gpucclResult_t begun = gpucclCommInitRankConfig(&comm_, size(), id, rank(), &config);
  const gpucclResult_t result = final_result(begun, patience, options_.init_timeout);
  if (result == gpucclInProgress) return {"is still looking for other ranks", true};
  if (result != gpucclSuccess) fail(result, [] { return true; });
  return try_all_reduce(patience);
}

// Does a first all-reduce, in which NCCL makes some of its connections. Otherwise it might make them during a graph
// capture.
ConnectProblem NcclCommunicator::try_all_reduce(Patience& patience) {
  OnDevice& device = *device_;
  const Done idle = [&device] { return device.queue->done(); };
  device.sum_on_host[0] = 1;
  device.queue->copy(device.sum.data(), device.sum_on_host.data(), 1);
  const gpucclResult_t begun =
      gpucclAllReduce(device.sum.data(), device.sum.data(), 1, gpucclFloat, gpucclSum, comm_, device.stream());
  gpucclResult_t result = final_result(begun, patience, options_.init_timeout);
  if (result == gpucclInProgress) return {"is still preparing a first all-reduce"};
  device.queue->copy(device.sum_on_host.data(), device.sum.data(), 1);
  const auto over = [&] { return idle() || (result = state()) != gpucclSuccess; };
  try {
    if (result == gpucclSuccess && !wait_until(over, patience, options_.init_timeout))
      return {"waits in a first all-reduce"};
  } catch (const Error& error) {
    add_advice(error);
  }
  if (result != gpucclSuccess) fail(result, idle);
  const float sum = device.sum_on_host[0];
  return {sum == static_cast<float>(size()) ? "" : fmt::format("got a wrong sum, {}", sum)};
}

std::string NcclCommunicator::require_connected(const Notes& notes) const {
  bool looking = false;
  std::vector<std::string> problems;
  std::vector<int> silent;
  for (int rank = 0; rank < size(); ++rank) {
    const auto& note = notes[rank];
    const ConnectProblem problem = note ? from_wire<ConnectProblem>(*note) : ConnectProblem{};
    if (!note) silent.push_back(rank);
    if (!problem.text.empty()) problems.push_back(names_of({rank}) + " " + problem.text);
    looking |= problem.looks_for_others;
  }
  if (!silent.empty()) problems.insert(problems.begin(), "no answer from " + names_of(silent));
  if (problems.empty()) return "";
  const size_t all = problems.size(), most = 4;
  if (all > most) problems.resize(most), problems.push_back(fmt::format("and {} more", all - most));
  throw Error("NCCL did not connect all ranks within " + seconds_text(options_.init_timeout) + " (" +
              join(problems, "; ") + seen_from() + "): " + advice(looking) + "; --init_timeout allows more time");
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
  enqueue_clock_start(on, device_->clock.data(), device_->times.data());
  gpucclResult_t result = gpucclAllReduce(data.data(), data.data(), data.size(), type, gpucclSum, comm_, on);
  // NCCL must have enqueued the all-reduce before other work is enqueued, and before a capture ends.
  wait_in_time([&] { return result != gpucclInProgress || (result = state()) != gpucclInProgress; }, true, {});
  if (result != gpucclSuccess) fail(result, {});
  enqueue_clock_stop(on, device_->clock.data(), device_->times.data());
  if (!capturing()) ++enqueued_;
}

// Reads the times atomically, because the GPU may be writing them.
NcclTimes NcclCommunicator::times() const {
  NcclTimes& times = device_->times[0];
  const auto read = [](uint64_t& number) { return std::atomic_ref(number).load(std::memory_order_relaxed); };
  return {read(times.nanoseconds), read(times.all_reduces), read(times.started)};
}

gpucclResult_t NcclCommunicator::state() const {
  gpucclResult_t result = gpucclInProgress;
  const gpucclResult_t asked = gpucclCommGetAsyncError(comm_, &result);
  return asked == gpucclSuccess ? result : asked;
}

// Waits for the final result of a non-blocking call that returned `result`; gpucclInProgress if it exceeds the limit.
gpucclResult_t NcclCommunicator::final_result(gpucclResult_t result, Patience& patience, double limit) const {
  wait_until([&] { return result != gpucclInProgress || (result = state()) != gpucclInProgress; }, patience, limit);
  return result;
}

void NcclCommunicator::wait(const Done& done) {
  DRL_CHECK(!failed_, "a collective after a failure");
  try {
    const auto done_or_failed = [&] {
      if (done()) return true;
      if (const gpucclResult_t now = state(); now != gpucclSuccess && now != gpucclInProgress) fail(now, done);
      return false;
    };
    wait_in_time(done_or_failed, false, done);
  } catch (const Error& error) {  // done() also throws if the GPU has failed
    add_advice(error);
  }
  const NcclTimes now = times();
  count_wait(static_cast<double>(now.nanoseconds - counted_.nanoseconds) * 1e-9);
  counted_ = now;
  enqueued_ = 0;
}

// Waits until over() is true. Throws if that takes too long: comm_timeout for NCCL to enqueue an all-reduce, and for
// each all-reduce if no other rank still computes; kOwnWork times that for this GPU's work between two of them.
template <class Over>
void NcclCommunicator::wait_in_time(const Over& over, bool enqueues, const Done& done) {
  Patience patience;
  NcclTimes seen = times();
  for (int64_t round = 0; !over(); ++round) {
    const NcclTimes now = times();
    if (now.started + now.all_reduces != seen.started + seen.all_reduces) patience = Patience();
    seen = now;
    const bool own_work = !enqueues && now.started == now.all_reduces;
    const double limit = (own_work ? kOwnWork : 1) * options_.comm_timeout;
    const bool is_late = patience.seconds() >= limit;
    const auto reason = ask(!is_late ? Progress::in_time : own_work ? Progress::own_work : Progress::waits, done);
    if (reason) end_with(reason->is_reported ? "" : late_text(*reason, now, limit), done);
    nap(round);
  }
}

// Asks the other ranks if this one is late, and answers them. MPI's errors end the run.
std::optional<LateRanks::Reason> NcclCommunicator::ask(Progress mine, const Done& done) {
  const Clock::time_point now = Clock::now();
  if (now - last_poll_ < std::chrono::duration<double>(kPollTime)) return {};
  last_poll_ = now;
  try {
    return late_ranks_->poll(mine);
  } catch (const std::exception& error) {  // from MPI, or std::bad_alloc
    end_with(message_of(error), done);
  }
}

void NcclCommunicator::computes() {
  DRL_CHECK(!failed_, "a collective after a failure");
  if (ask(Progress::in_time, {})) end_with("", {});
}

// ---- Failure --------------------------------------------------------------------------------------------------------

// Returns a text that names these ranks by their world ranks.
std::string NcclCommunicator::names_of(std::vector<int> ranks) const {
  for (int& rank : ranks) rank = host_.world_rank(rank);
  return ranks_text(ranks, options_.hosts);
}

std::string NcclCommunicator::advice(bool looks_for_others, bool gpu_failed) const {
  int visible = 0;
  (void)gpuGetDeviceCount(&visible);
  const std::vector<std::string>& hosts = options_.hosts;
  const bool neighbours = std::ranges::count(hosts, gpu_.host) > 1;
  const bool several_hosts = std::ranges::adjacent_find(hosts, std::not_equal_to()) != hosts.end();
  return nccl_advice(process_environment(),
                     {neighbours && visible == 1, several_hosts && looks_for_others, gpu_failed});
}

// Rethrows an error that ended a wait. If it is the GPU's own, it may come from one of NCCL's kernels, so NCCL's advice
// is added.
void NcclCommunicator::add_advice(const Error& error) {
  if (failed_ || size() == 1 || typeid(error) != typeid(Error)) {
    failed_ = true;
    throw;
  }
  failed_ = true;
  throw Error(fmt::format("{}; if this happens soon after each start, {}", error.what(), advice(false, true)));
}

std::string NcclCommunicator::seen_from() const {
  const char* last = gpucclGetLastError(comm_);
  return "; seen from " + gpu_.gpu + " " + gpu_.pci + " of " + gpu_.host +
         (last && *last ? std::string("; NCCL's last error: ") + last : "");
}

// Returns what the GPU had not finished at this time.
std::string NcclCommunicator::unfinished_work(const NcclTimes& at) const {
  const auto completed = static_cast<int64_t>(at.all_reduces - counted_.all_reduces);
  if (completed >= enqueued_) return "the GPU's work";
  return fmt::format("{}all-reduce {} of the {} since the last wait",
                     at.started > at.all_reduces ? "" : "the GPU's work before ", completed + 1, enqueued_);
}

std::string NcclCommunicator::failure_text(gpucclResult_t result) const {
  return "NCCL failed at " + (connected_ ? unfinished_work(times()) : "its start") + " (" +
         gpucclGetErrorString(result) + seen_from() +
         "): " + (result == gpucclRemoteError ? "another rank died or failed first; look for its message" : advice());
}

std::string NcclCommunicator::late_text(const LateRanks::Reason& reason, const NcclTimes& at, double seconds) const {
  const auto& [is_reported, silent, own_work] = reason;
  const std::string who = !silent.empty()     ? "no answer from " + names_of(silent)
                          : !own_work.empty() ? "the GPU is still at work before an all-reduce on " + names_of(own_work)
                                              : "all ranks wait";
  const std::string remedy = !silent.empty()     ? "find out what blocks " + names_of(silent)
                             : !own_work.empty() ? "run drl_doctor to check the GPUs"
                                                 : advice();
  return unfinished_work(at) + " did not end within " + seconds_text(seconds) + " (" + who + seen_from() +
         "): " + remedy + "; --comm_timeout allows more time";
}

void NcclCommunicator::fail(gpucclResult_t result, const Done& done) {
  const Error error(failure_text(result));
  abort_nccl_or_exit(error.what(), done);
  throw error;
}

// Ends the run with this message, or, if it is empty, with that of rank 0.
void NcclCommunicator::end_with(const std::string& message, const Done& done) {
  abort_nccl_or_exit(message, done);
  if (message.empty()) throw ReportedError(kFailure);
  throw Error(message);
}

// Aborts NCCL. Unwinding then frees GPU memory, which waits for the device; if the device hangs, this prints the
// message and ends all ranks instead. With an empty message, another rank prints one.
void NcclCommunicator::abort_nccl_or_exit(const std::string& message, const Done& done) {
  failed_ = true;
  if (abort_nccl(done)) return;
  try {
    if (!message.empty()) log::error("{}", message);
  } catch (...) {  // no memory for the message
  }
  host_.abort(kFailure);
}

// Returns whether the GPU becomes idle; false also if the system refuses memory or a thread. ncclCommAbort lets the
// kernels end, but returns only after the graphs that contain its all-reduces are destroyed, so it runs in a separate
// thread, which may never end.
bool NcclCommunicator::abort_nccl(const Done& done) const {
  if (!comm_) return true;
  std::shared_ptr<std::atomic<bool>> aborted;
  try {
    aborted = std::make_shared<std::atomic<bool>>(false);
    std::thread([comm = comm_, aborted] {
      (void)gpucclCommAbort(comm);
      *aborted = true;
    }).detach();
  } catch (const std::exception&) {
    return false;
  }
  Patience patience;
  try {
    return wait_until([&] { return done ? done() : aborted->load(); }, patience, kAbortTime);
  } catch (const Error&) {
    return true;  // nothing waits for a GPU that has failed
  }
}

// After a failure of any kind nothing is freed, because freeing would wait for the GPU, and the GPU for a dead rank.
// The list allocates nothing, and lets leak checkers see that this memory is kept on purpose.
NcclCommunicator::~NcclCommunicator() {
  const bool unwinding = std::uncaught_exceptions() > exceptions_before_;
  static OnDevice* kept = nullptr;
  if (!device_ || !(failed_ || unwinding || !finalize())) return;
  device_->next = kept, device_->comm = comm_;
  kept = device_.release();
}

bool NcclCommunicator::finalize() {
  if (!comm_) return true;
  Patience patience;
  if (final_result(gpucclCommFinalize(comm_), patience, kFinalizeTime) != gpucclSuccess) return false;
  (void)gpucclCommDestroy(comm_);
  return true;
}

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, const NcclOptions& options) {
  prepare_environment(options.deterministic);
  warn_of_version(host.rank());
  auto comm = std::make_unique<NcclCommunicator>(host, options);
  comm->connect();
  return comm;
}

}  // namespace drl
