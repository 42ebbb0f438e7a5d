#include "base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>

#include <cstdio>
#include <memory>
#include <mutex>

#include "base/check.hpp"

namespace drl::log {
namespace {

using Writer = std::function<void(std::string_view)>;

// stderr is unbuffered, so one call makes one write.
void write_to_stderr(std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); }

std::string prefix_of(spdlog::level::level_enum level) {
  return level == spdlog::level::err ? "error: " : level == spdlog::level::warn ? "warning: " : "";
}

// The terminal's sink, without time stamps. The base class calls sink_it_ under its lock.
class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void set_writer(Writer writer) {
    std::lock_guard<std::mutex> lock(mutex_);
    writer_ = writer ? std::move(writer) : Writer(write_to_stderr);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer_(prefix_of(message.level).append(message.payload.data(), message.payload.size()) + '\n');
  }
  void flush_() override {}

 private:
  Writer writer_ = write_to_stderr;
};

struct Log {
  Log() { logger.flush_on(spdlog::level::info); }

  int rank = 0;
  std::string rank_and_host;  // "[rank 3 on node7] " if several ranks run
  std::shared_ptr<ConsoleSink> console = std::make_shared<ConsoleSink>();
  std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  spdlog::logger logger{"drl", sinks};
};

// Never destroyed, because the destructor of another static object may log.
Log& instance() {
  static Log& log = *[] {
    auto* created = new Log;
    created->sinks->add_sink(created->console);
    return created;
  }();
  return log;
}

}  // namespace

void init(int rank, int world_size, const std::string& host, bool quiet) {
  Log& log = instance();
  log.rank = rank;
  log.rank_and_host = world_size > 1 ? "[rank " + std::to_string(rank) + " on " + host + "] " : "";
  log.console->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
}

void set_writer(Writer writer) { instance().console->set_writer(std::move(writer)); }

void to_file(const std::string& path) {
  Log& log = instance();
  std::vector<spdlog::sink_ptr> sinks = {log.console};
  if (!path.empty()) {
    try {
      sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
    } catch (const spdlog::spdlog_ex& failure) {
      throw Error("cannot open the log file (" + std::string(failure.what()) + "): check the run directory");
    }
    sinks.back()->set_pattern("%Y-%m-%d %H:%M:%S [%l] %v");
  }
  log.sinks->set_sinks(std::move(sinks));
}

void write(Level level, std::string_view message) {
  Log& log = instance();
  if (level == Level::error || level == Level::common_error) {
    log.logger.log(spdlog::level::err, (level == Level::error ? log.rank_and_host : "") + std::string(message));
  } else if (log.rank == 0) {
    log.logger.log(level == Level::warning ? spdlog::level::warn : spdlog::level::info, message);
  }
}

}  // namespace drl::log
