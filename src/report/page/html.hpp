// Text of any origin as part of a page, which is HTML and XML alike.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace drl {

// For text and for attributes in double quotes. Bytes that are no UTF-8, and characters that XML does not allow, become
// U+FFFD.
std::string html_text(std::string_view text);

// As the path of a link: bytes other than plain ones become %xx.
std::string link_to(const std::filesystem::path& path);

// "data:video/mp4;base64,..." by the file's extension.
std::string data_link(const std::filesystem::path& path, std::span<const std::byte> content);

}  // namespace drl
