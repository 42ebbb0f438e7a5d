// Converts text of any origin for a page that is valid as HTML and as XML.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace drl {

// Escapes text for elements and for attributes in double quotes. Invalid UTF-8 and characters that XML does not allow
// become U+FFFD.
std::string html_text(std::string_view text);

// Returns the path as a URL: "./" or "file://" and the path, with special bytes as %xx.
std::string link_to(const std::filesystem::path& path);

// Returns "data:video/mp4;base64,..."; the file's extension determines the media type.
std::string data_link(const std::filesystem::path& path, std::span<const std::byte> content);

}  // namespace drl
