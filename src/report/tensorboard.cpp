#include "report/tensorboard.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "store/crc32c.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

using Message = ProtobufMessage;

// ---- Event { wall_time = 1; step = 2; file_version = 3; summary = 5; session_log = 7 }
//      Summary { repeated Value value = 1 }, Value { tag = 1; simple_value = 2; image = 4; tensor = 8; metadata = 9 }

Message scalars(const IterationMetrics& m) {
  Message summary;
  for (const Metric& metric : m.metrics)
    if (!std::isnan(metric.value) && !metric.tag.empty())
      summary.add(1, Message().add(1, metric.tag).add(2, static_cast<float>(metric.value)));
  return summary;
}

Message text_summary(std::string_view tag, std::string_view text) {
  constexpr int64_t kDtString = 7;
  const Message shape = Message().add(2, Message().add(1, int64_t{1}));  // TensorShapeProto.dim[0].size = 1
  const Message tensor = Message().add(1, kDtString).add(2, shape).add(8, text);
  const Message metadata = Message().add(1, Message().add(1, "text"));  // SummaryMetadata.plugin_data.plugin_name
  return Message().add(1, Message().add(1, tag).add(8, tensor).add(9, metadata));
}

// Image { height = 1; width = 2; colorspace = 3; encoded_image_string = 4 }. A GIF's size follows its six-byte name.
Message film_summary(std::string_view tag, std::string_view gif) {
  constexpr int64_t kRgb = 3;
  const auto size_at = [&](size_t at) {
    return int64_t{static_cast<unsigned char>(gif.at(at))} + 256 * static_cast<unsigned char>(gif.at(at + 1));
  };
  const Message image = Message().add(1, size_at(8)).add(2, size_at(6)).add(3, kRgb).add(4, gif);
  return Message().add(1, Message().add(1, tag).add(4, image));
}

// Returns a google.protobuf.Value { number_value = 2; string_value = 3; bool_value = 4 }.
Message value_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return Message().add(2, number);
  if (text == "true" || text == "false") return Message().add(4, int64_t{text == "true"});
  return Message().add(3, text);
}

// HParamsPluginData { version = 1; session_start_info = 3 }, SessionStartInfo { map hparams = 1; start_time_secs = 5 }
// (tensorboard/plugins/hparams/plugin_data.proto)
Message hparams_summary(const std::vector<std::pair<std::string, std::string>>& options, double now) {
  Message start;
  for (const auto& [name, value] : options) start.add(1, Message().add(1, name).add(2, value_of(value)));
  const Message data = Message().add(3, start.add(5, now));
  const Message metadata = Message().add(1, Message().add(1, "hparams").add(2, data));
  return Message().add(1, Message().add(1, "_hparams_/session_start_info").add(9, metadata));
}

// ---- TFRecord: length, masked CRC of the length, bytes, masked CRC of the bytes

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes_of(bytes));
  return little_endian((crc >> 15 | crc << 17) + 0xa282ead8u);
}

std::string record(std::string_view bytes) {
  const std::string length = little_endian(static_cast<uint64_t>(bytes.size()));
  return length + masked_crc(length) + std::string(bytes) + masked_crc(bytes);
}

// ---- The file

// Returns the time in an event file's name, -1 for other files.
int64_t time_in_name(std::string_view name) {
  if (!name.starts_with(kFilePrefix)) return -1;
  name.remove_prefix(kFilePrefix.size());
  int64_t time = -1;
  std::from_chars(name.data(), name.data() + name.size(), time);
  return time;
}

// TensorBoard reads the files of a directory in the order of their names, so the file of a resumed run must sort last,
// even if it is created within the same second or after the clock was set back.
fs::path new_file_name(const fs::path& folder, double now) {
  auto time = static_cast<int64_t>(now);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    time = std::max(time, time_in_name(entry.path().filename().string()) + 1);
  }
  return folder / fmt::format("{}{:010}.{}", kFilePrefix, time, host_name());
}

}  // namespace

EventWriter::EventWriter(const fs::path& folder, std::optional<int64_t> resume_iteration, std::function<double()> clock)
    : clock_(std::move(clock)), file_(new_file_name(folder, clock_()), AppendFile::Start::create) {
  append_event(Message().add(3, "brain.Event:2"));
  constexpr int64_t kStart = 1;  // SessionLog.status: makes TensorBoard drop older events of this step and later steps
  if (resume_iteration) append_event(Message().add(2, *resume_iteration + 1).add(7, Message().add(1, kStart)));
  flush();
}

void EventWriter::append(const IterationMetrics& metrics) {
  append_event(Message().add(2, metrics.iteration).add(5, scalars(metrics)));
}

void EventWriter::append_text(std::string_view tag, std::string_view text, int64_t step) {
  append_event(Message().add(2, step).add(5, text_summary(tag, text)));
}

void EventWriter::append_hparams(const std::vector<std::pair<std::string, std::string>>& options) {
  append_event(Message().add(5, hparams_summary(options, clock_())));
}

void EventWriter::append_film(std::string_view tag, std::string_view gif, int64_t step) {
  append_event(Message().add(2, step).add(5, film_summary(tag, gif)));
}

void EventWriter::append_event(const ProtobufMessage& fields) {
  file_.append(record(Message().add(1, clock_()).bytes() + fields.bytes()));
}

}  // namespace drl
