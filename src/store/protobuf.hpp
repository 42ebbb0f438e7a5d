// Protocol Buffers' wire format (protobuf.dev/programming-guides/encoding), as far as ONNX and TensorBoard need it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace drl {

// The bytes of a message. A field is added by its number in the message's definition (such as onnx.proto3).
class ProtobufMessage {
 public:
  ProtobufMessage& add(int field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  ProtobufMessage& add(int field, float value) { return add_real(field, 5, value); }
  ProtobufMessage& add(int field, double value) { return add_real(field, 1, value); }
  ProtobufMessage& add(int field, std::string_view text) {
    key(field, 2);
    varint(text.size());
    text_ += text;
    return *this;
  }
  ProtobufMessage& add(int field, const ProtobufMessage& message) {
    return add(field, std::string_view(message.text_));
  }
  const std::string& bytes() const { return text_; }

 private:
  template <class Real>
  ProtobufMessage& add_real(int field, unsigned wire_type, Real value) {
    key(field, wire_type);
    char bytes[sizeof(Real)];
    std::memcpy(bytes, &value, sizeof(Real));
    text_.append(bytes, sizeof(Real));
    return *this;
  }
  void key(int field, unsigned wire_type) { varint(static_cast<uint64_t>(field) << 3 | wire_type); }
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

// Reads the fields of a message one after another.
class ProtobufReader {
 public:
  struct Field {
    int number = 0;
    int64_t integer = 0;     // of varints
    float real = 0;          // of 32-bit fields
    std::string_view bytes;  // of strings, messages and packed arrays
  };

  explicit ProtobufReader(std::string_view bytes) : rest_(bytes) {}

  // Returns no field at the end, and sets is_damaged() if the bytes are not a message.
  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const uint64_t key = varint();
    Field field{.number = static_cast<int>(key >> 3), .bytes = {}};
    switch (key & 7) {
      case 0:
        field.integer = static_cast<int64_t>(varint());
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        if (const std::string_view four = take(4); four.size() == 4) std::memcpy(&field.real, four.data(), 4);
        break;
      default:
        is_damaged_ = true;
    }
    if (is_damaged_) return std::nullopt;
    return field;
  }
  int64_t integer() { return static_cast<int64_t>(varint()); }  // of a packed array
  bool at_end() const { return rest_.empty() || is_damaged_; }
  bool is_damaged() const { return is_damaged_; }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (byte.empty()) return 0;
      value |= static_cast<uint64_t>(byte[0] & 127) << shift;
      if (!(byte[0] & 128)) return value;
    }
    is_damaged_ = true;
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) {
      is_damaged_ = true;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest_;
  bool is_damaged_ = false;
};

}  // namespace drl
