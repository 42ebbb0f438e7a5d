// Writes TensorBoard event files without TensorFlow: TFRecord framing around Event messages (tensorflow/core/lib/io/
// record_writer.h; tensorboard/compat/proto/{event,summary,tensor}.proto).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host.hpp"
#include "report/metrics.hpp"
#include "store/file.hpp"
#include "store/protobuf.hpp"

namespace drl {

class EventWriter {
 public:
  // Creates `folder`/events.out.tfevents.<time>.<host>; TensorBoard reads it after all existing files. With
  // `resume_iteration`, TensorBoard drops later iterations that the older files contain. Throws Error if the file
  // cannot be written.
  explicit EventWriter(const std::filesystem::path& folder, std::optional<int64_t> resume_iteration = std::nullopt,
                       std::function<double()> clock = seconds_since_1970);

  // Appends one scalar per metric at step `iteration`, without NaNs. Keeps them in memory until flush().
  void append(const IterationMetrics& metrics);
  // Appends a text (Markdown) under `tag`, such as the run's options.
  void append_text(std::string_view tag, std::string_view text, int64_t step = 0);
  // Appends the values of the run's options, by name, for TensorBoard's page HPARAMS.
  void append_hparams(const std::vector<std::pair<std::string, std::string>>& options);
  // Appends a film: the bytes of a GIF, which TensorBoard's page IMAGES plays.
  void append_film(std::string_view tag, std::string_view gif, int64_t step);
  // Writes the events kept in memory (AppendFile::flush).
  void flush() { file_.flush(); }

 private:
  void append_event(const ProtobufMessage& fields);

  std::function<double()> clock_;
  AppendFile file_;
};

}  // namespace drl
