#include "report/page/html.hpp"

#include <cstdint>

#include "base/format.hpp"

namespace drl {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Returns the length of the UTF-8 character at the start of `text`, 0 if it is invalid or not allowed in XML.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t k) { return static_cast<uint8_t>(text[k]); };
  const uint8_t head = byte(0);
  const size_t length = head < 0x80                   ? 1
                        : head >= 0xC2 && head < 0xE0 ? 2
                        : head >= 0xE0 && head < 0xF0 ? 3
                        : head >= 0xF0 && head < 0xF5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k)
    if ((byte(k) & 0xC0) != 0x80) return 0;
  if (length < 3) return length;
  const bool overlong = (head == 0xE0 && byte(1) < 0xA0) || (head == 0xF0 && byte(1) < 0x90);
  const bool beyond = (head == 0xED && byte(1) >= 0xA0) || (head == 0xF4 && byte(1) >= 0x90);
  const bool not_xml = head == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE;  // U+FFFE, U+FFFF
  return overlong || beyond || not_xml ? 0 : length;
}

bool is_control(char c) { return (static_cast<uint8_t>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F; }

std::string media_type(const std::string& extension) {
  return extension == ".mp4" ? "video/mp4" : extension == ".gif" ? "image/gif" : "image/png";
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t k = 0; k < bytes.size(); k += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - k);
    uint32_t word = 0;
    for (size_t b = 0; b < 3; ++b) word = word << 8 | (b < n ? std::to_integer<uint32_t>(bytes[k + b]) : 0);
    for (size_t d = 0; d < 4; ++d) text += d <= n ? kDigits[word >> (18 - 6 * d) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0 || is_control(text[0]))
      result += kReplacement;
    else if (text[0] == '&')
      result += "&amp;";
    else if (text[0] == '<')
      result += "&lt;";
    else if (text[0] == '>')
      result += "&gt;";
    else if (text[0] == '"')
      result += "&quot;";
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

std::string link_to(const std::filesystem::path& path) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  const std::string text = path.generic_string();
  std::string link = text.starts_with('/') ? "file://" : "./";  // prevents other schemes such as javascript:
  for (char c : text)
    link += kPlain.find(c) != kPlain.npos ? std::string(1, c) : fmt::format("%{:02X}", static_cast<uint8_t>(c));
  return link;
}

std::string data_link(const std::filesystem::path& path, std::span<const std::byte> content) {
  return "data:" + media_type(path.extension().string()) + ";base64," + base64(content);
}

}  // namespace drl
