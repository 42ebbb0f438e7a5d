// What the program says to its user, on stderr. Rank 0 speaks for all; errors may come from any rank, which then names
// itself. Messages are written by one call each, so that lines of different ranks do not mix. Messages may come from
// any thread.
#pragma once

#include <spdlog/common.h>
#include <spdlog/fmt/fmt.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace drl::log {

// common_error: one that all ranks share; the rank that says it does not name itself.
enum class Level { info, warning, error, common_error };

// Says who is speaking; before other threads start. Until then: rank 0 of 1. `quiet` leaves out info on the terminal
// (but not in the file).
void init(int rank, int world_size, const std::string& host, bool quiet);

// Replaces stderr by `writer`, which gets whole lines with their line end ("warning: ...\n"), one call at a time; it
// must not log. An empty function brings stderr back. So the live console prints a message above its block.
void set_writer(std::function<void(std::string_view)> writer);

// Appends all messages of this rank to the file `path` as well, with time stamps, each written at once. Throws Error
// when it cannot be opened. Only rank 0 should call it; an empty path ends it.
void to_file(const std::string& path);

// The text of `message` without formatting; info, warn and error call it.
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
