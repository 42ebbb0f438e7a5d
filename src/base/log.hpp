// Messages to the user, on stderr. Only rank 0 prints information and warnings; any rank may print errors, which begin
// with its rank and host. Each message is written by one call, so that the lines of different ranks do not mix. Any
// thread may log.
#pragma once

#include <spdlog/common.h>
#include <spdlog/fmt/fmt.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace drl::log {

// A common_error concerns all ranks, so its line does not begin with a rank and host.
enum class Level { info, warning, error, common_error };

// Sets the rank and host that messages begin with. Call it before other threads start; before the call, this process
// logs as rank 0 of 1. `quiet` hides info on the terminal, but not in the file.
void init(int rank, int world_size, const std::string& host, bool quiet);

// Replaces stderr by `writer`, which receives whole lines with their line end ("warning: ...\n"), one call at a time;
// it must not log. An empty function restores stderr. The live console uses this to print messages above its block.
void set_writer(std::function<void(std::string_view)> writer);

// Also appends all messages of this rank to the file `path`, with time stamps, and flushes each of them. Throws Error
// if the file cannot be opened. Only rank 0 should call it; an empty path closes the file.
void to_file(const std::string& path);

// Logs `message` without formatting; info, warn and error call it.
void write(Level level, std::string_view message);

template <class... Args>
void info(spdlog::format_string_t<Args...> format, Args&&... args) {
  write(Level::info, spdlog::fmt_lib::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(spdlog::format_string_t<Args...> format, Args&&... args) {
  write(Level::warning, spdlog::fmt_lib::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(spdlog::format_string_t<Args...> format, Args&&... args) {
  write(Level::error, spdlog::fmt_lib::format(format, std::forward<Args>(args)...));
}

}  // namespace drl::log
