#include "report/page/html.hpp"

#include <cstdint>

#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Returns whether `text` begins with U+FFFE or U+FFFF, which XML does not allow.
bool is_no_character(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
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
    const size_t length = character_size(text);
    if (length == 0 || is_control(text[0]) || is_no_character(text))
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
