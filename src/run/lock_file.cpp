#include "run/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/host.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "launch/allocation.hpp"
#include "launch/child.hpp"

namespace fs = std::filesystem;

namespace drl {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LockOwner, host, boot, processes, pid, start_time, cluster, job, restart, released)

namespace {

constexpr std::string_view kPrefix = ".lock.owner.";
constexpr double kSqueuePatience = 5;          // s
constexpr std::chrono::seconds kAskAgain(60);  // how long an answer of squeue is used

std::string name_of(int64_t number) { return std::string(kPrefix) + std::to_string(number); }

std::optional<int64_t> start_time_of(int64_t pid) {
  const std::optional<ProcessStat> process = process_stat(std::to_string(pid));
  return process && !process->has_ended() ? process->start : std::nullopt;
}

LockOwner this_process() {
  std::error_code error;
  LockOwner me;
  me.host = host_name();
  me.boot = trim(file_text("/proc/sys/kernel/random/boot_id"));
  me.processes = fs::read_symlink("/proc/self/ns/pid", error).string();
  me.pid = getpid();
  me.start_time = start_time_of(me.pid).value_or(0);
  if (const auto job = allocation(process_environment())) {
    me.cluster = job->cluster;
    me.job = job->job;
    me.restart = job->restart_count;
  }
  return me;
}

bool is_same_job(const LockOwner& a, const LockOwner& b) {
  return !a.job.empty() && a.job == b.job && a.cluster == b.cluster;
}

// Returns true if equal pids of the two mean the same process.
bool same_processes(const LockOwner& a, const LockOwner& b) {
  return !a.boot.empty() && a.host == b.host && a.boot == b.boot && a.processes == b.processes;
}

// Asks squeue for the state of the job. Returns nullopt if squeue does not answer.
std::optional<std::string> state_of_job(const std::string& job) {
  BackgroundCommand squeue(job_state_command(job));
  const std::optional<int> code = squeue.wait(kSqueuePatience);
  return code ? parse_job_state(*code, squeue.output()) : std::nullopt;
}

// Returns the state of the job, from an earlier answer of squeue if that is recent: slurmctld may be busy.
std::optional<std::string> known_state_of_job(const std::string& job) {
  struct Answer {
    std::optional<std::string> state;
    Clock::time_point time;
  };
  static std::mutex mutex;
  static std::map<std::string, Answer> answers;
  const std::lock_guard lock(mutex);
  auto answer = answers.find(job);
  if (answer == answers.end() || Clock::now() - answer->second.time > kAskAgain)
    answer = answers.insert_or_assign(job, Answer{state_of_job(job), Clock::now()}).first;
  return answer->second.state;
}

int open_folder(const fs::path& folder) { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

// Returns the sorted numbers of the lock files in a directory.
std::vector<int64_t> numbers_in(int folder) {
  std::vector<int64_t> numbers;
  for (const std::string& name : names_in(folder))
    if (name.starts_with(kPrefix))
      if (const auto number = number_in<int64_t>(name.substr(kPrefix.size()))) numbers.push_back(*number);
  std::ranges::sort(numbers);
  return numbers;
}

int64_t highest_in(int folder) {
  const std::vector<int64_t> numbers = numbers_in(folder);
  return numbers.empty() ? 0 : numbers.back();
}

// Creates the file exclusively and writes the text. On failure returns false, leaves no file and sets errno.
bool create(int folder, const std::string& name, const std::string& text) {
  const Descriptor file(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file < 0 || write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return file >= 0;
  const int why = errno;
  unlinkat(folder, name.c_str(), 0);
  errno = why;
  return false;
}

std::string text_of(const LockOwner& owner) {
  nlohmann::ordered_json record = nlohmann::json(owner);
  record["heartbeat"] = utc_time();  // for human readers; only the modification time counts
  return record.dump() + "\n";
}

// Replaces the lock file atomically. If that fails (full disk), updates at least its modification time.
void replace(int folder, int64_t number, const LockOwner& owner) {
  const std::string name = name_of(number), temporary = name + ".new";
  unlinkat(folder, temporary.c_str(), 0);
  if (create(folder, temporary, text_of(owner)) && renameat(folder, temporary.c_str(), folder, name.c_str()) == 0)
    return;
  unlinkat(folder, temporary.c_str(), 0);
  utimensat(folder, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

struct LockRecord {
  LockOwner owner;      // empty if the file is just being written, or its node died while writing it
  double modified = 0;  // modification time, in seconds
};

double seconds_of(const timespec& time) { return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec; }

// Returns nullopt if the file no longer exists.
std::optional<LockRecord> read_owner(int folder, int64_t number) {
  const Descriptor file(openat(folder, name_of(number).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return std::nullopt;
  char text[4096];
  const ssize_t size = read(file, text, sizeof(text));
  LockRecord found{{}, seconds_of(status.st_mtim)};
  try {
    if (size > 0) found.owner = nlohmann::json::parse(text, text + size).get<LockOwner>();
  } catch (const nlohmann::json::exception&) {
  }
  return found;
}

// Returns the current time by the clock of the file system, or nullopt if nothing can be written.
std::optional<double> clock_of(int folder) {
  static std::atomic<int> count = 0;
  const std::string name =
      ".lock.clock." + host_name() + "." + std::to_string(getpid()) + "." + std::to_string(++count);
  struct stat status;
  const bool made = create(folder, name, ".") && fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  unlinkat(folder, name.c_str(), 0);
  return made ? std::optional(seconds_of(status.st_mtim)) : std::nullopt;
}

bool is_held(int folder, int64_t number) {
  const auto found = read_owner(folder, number);
  if (!found) return highest_in(folder) != 0;  // another process has just taken over the lock
  if (found->owner.released) return false;
  OwnerFacts facts{this_process()};
  facts.start_time = start_time_of(found->owner.pid);
  if (squeue_decides(found->owner, facts.me)) facts.job_state = known_state_of_job(found->owner.job);
  if (const auto now = clock_of(folder)) facts.heartbeat_age = *now - found->modified;
  return !owner_is_gone(found->owner, facts);
}

}  // namespace

bool squeue_decides(const LockOwner& owner, const LockOwner& me) {
  return !owner.released && !owner.job.empty() && !owner.cluster.empty() && owner.cluster == me.cluster &&
         !is_same_job(owner, me) && !same_processes(owner, me);
}

bool owner_is_gone(const LockOwner& owner, const OwnerFacts& facts) {
  if (owner.released) return true;
  if (same_processes(owner, facts.me)) return facts.start_time != owner.start_time;
  if (is_same_job(owner, facts.me) && facts.me.restart > owner.restart) return true;
  // With Slurm's PrivateData, squeue hides other users' jobs, so a recent update of the file counts more.
  if (facts.job_state == "" && facts.heartbeat_age > 3 * kHeartbeat) return true;
  if (facts.job_state == "SUSPENDED" || facts.job_state == "STOPPED")
    return false;  // a suspended job cannot update the file
  return facts.heartbeat_age > kHeartbeatLimit;
}

bool has_lock_file(const fs::path& folder) {
  const Descriptor descriptor(open_folder(folder));
  const int64_t number = descriptor < 0 ? 0 : highest_in(descriptor);
  return number > 0 && is_held(descriptor, number);
}

std::unique_ptr<LockFile> LockFile::take(const fs::path& folder) {
  Descriptor descriptor(open_folder(folder));
  if (descriptor < 0) throw std::system_error(errno, std::generic_category());
  const int64_t before = highest_in(descriptor), number = before + 1;
  if (before > 0 && is_held(descriptor, before)) return nullptr;
  if (!create(descriptor, name_of(number), text_of(this_process()))) {
    if (errno == EEXIST) return nullptr;
    throw std::system_error(errno, std::generic_category());
  }
  if (highest_in(descriptor) != number) {  // other processes have taken over the lock meanwhile
    unlinkat(descriptor, name_of(number).c_str(), 0);
    return nullptr;
  }
  for (const int64_t old : numbers_in(descriptor))
    if (old < number) unlinkat(descriptor, name_of(old).c_str(), 0);
  return std::unique_ptr<LockFile>(new LockFile(std::move(descriptor), number));
}

LockFile::LockFile(Descriptor folder, int64_t number) : folder_(std::move(folder)), number_(number) {
  const BlockedSignals blocked;  // the new thread must not receive signals
  try {
    thread_ =
        starting_thread([&] { return std::jthread([this](const std::stop_token& over) { run_heartbeat(over); }); });
  } catch (...) {
    unlinkat(folder_, name_of(number_).c_str(), 0);
    throw;
  }
}

LockFile::~LockFile() {
  thread_ = {};  // ends the heartbeat
  if (remove_) {
    unlinkat(folder_, name_of(number_).c_str(), 0);
  } else if (is_mine()) {
    LockOwner owner = this_process();
    owner.released = true;
    replace(folder_, number_, owner);
  }
}

bool LockFile::is_mine() const { return highest_in(folder_) <= number_; }

void LockFile::run_heartbeat(const std::stop_token& over) const {
  const LockOwner owner = this_process();
  while (sleep_unless(over, std::chrono::duration<double>(kHeartbeat)))
    if (is_mine()) replace(folder_, number_, owner);
}

}  // namespace drl
