#include "report/tensorboard.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "store/crc32c.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

// ---- Protocol buffers: key = field number << 3 | wire type (0 varint, 1 eight bytes, 2 length-delimited, 5 four
// bytes)

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

std::string key(int field, int wire_type) { return varint(static_cast<uint64_t>(field << 3 | wire_type)); }
std::string integer(int field, int64_t value) { return key(field, 0) + varint(static_cast<uint64_t>(value)); }
std::string real64(int field, double value) { return key(field, 1) + little_endian(std::bit_cast<uint64_t>(value)); }
std::string real32(int field, float value) { return key(field, 5) + little_endian(std::bit_cast<uint32_t>(value)); }
std::string message(int field, std::string_view bytes) {
  return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}

// ---- Event { wall_time = 1; step = 2; file_version = 3; summary = 5; session_log = 7 }
//      Summary { repeated Value value = 1 }, Value { tag = 1; simple_value = 2; tensor = 8; metadata = 9 }

// Returns a scalar Value, "" if the value is NaN or the tag is empty.
std::string scalar(std::string_view tag, double value) {
  if (std::isnan(value) || tag.empty()) return {};
  return message(1, message(1, tag) + real32(2, static_cast<float>(value)));
}

std::string text_value(std::string_view tag, std::string_view text) {
  constexpr int kDtString = 7;
  const std::string shape = message(2, integer(1, 1));  // TensorShapeProto.dim[0].size = 1
  const std::string tensor = integer(1, kDtString) + message(2, shape) + message(8, text);
  const std::string metadata = message(1, message(1, "text"));  // SummaryMetadata.plugin_data.plugin_name
  return message(1, message(1, tag) + message(8, tensor) + message(9, metadata));
}

std::string scalars(const IterationMetrics& m) {
  std::string values;
  for (const Metric& metric : m.metrics) values += scalar(metric.tag, metric.value);
  return values;
}

// ---- TFRecord: length, masked CRC of the length, bytes, masked CRC of the bytes

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
  append_event(message(3, "brain.Event:2"));
  constexpr int kStart = 1;  // SessionLog.status: makes TensorBoard drop older events of this step and later steps
  if (resume_iteration) append_event(integer(2, *resume_iteration + 1) + message(7, integer(1, kStart)));
  flush();
}

void EventWriter::append(const IterationMetrics& metrics) {
  append_event(integer(2, metrics.iteration) + message(5, scalars(metrics)));
}

void EventWriter::append_text(std::string_view tag, std::string_view text, int64_t step) {
  append_event(integer(2, step) + message(5, text_value(tag, text)));
}

void EventWriter::append_event(std::string_view fields) {
  buffer_ += record(real64(1, clock_()) + std::string(fields));
}

void EventWriter::flush() {
  if (buffer_.empty()) return;
  file_.append(bytes_of(buffer_));
  buffer_.clear();
}

}  // namespace drl
