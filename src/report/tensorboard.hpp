// TensorBoard event files, written by hand: TFRecord framing around Event messages (tensorflow/core/lib/io/
// record_writer.h; tensorboard/compat/proto/{event,summary,tensor}.proto).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/host.hpp"
#include "report/metrics.hpp"
#include "store/file.hpp"

namespace drl {

class EventWriter {
 public:
  // Creates `folder`/events.out.tfevents.<time>.<host>, named so that TensorBoard reads it after all files that are
  // there. With `resume_iteration`, tells TensorBoard to drop what the older files say of later iterations. Throws
  // Error if the file cannot be written.
  explicit EventWriter(const std::filesystem::path& folder, std::optional<int64_t> resume_iteration = std::nullopt,
                       std::function<double()> clock = seconds_since_1970);

  // Scalars at step `iteration`; NaN values are left out. Kept in memory until flush().
  void append(const IterationMetrics& metrics);
  // A text (Markdown) under `tag`, such as the run's options.
  void append_text(std::string_view tag, std::string_view text, int64_t step = 0);
  // Writes the events kept in memory. Throws Error (full disk): the file then holds whole events still, and the events
  // stay in memory for the next call.
  void flush();

 private:
  void append_event(std::string_view fields);

  std::function<double()> clock_;
  std::string buffer_;
  AppendFile file_;
};

}  // namespace drl
