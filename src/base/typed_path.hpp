// Paths as users type them: in options, config files, and environment variables.
#pragma once

#include <string>
#include <string_view>

namespace drl {

// Returns the path that the value `text` of the option or variable `name` means. A leading ~ is the home directory:
// shells do not expand it in --runs_dir=~/runs or within quotes, and nothing expands it in a file. Throws UsageError
// for $NAME and ${NAME}, which a shell would have replaced, for ~user, and for control characters, such as the end of a
// line of a Windows file.
std::string typed_path(const std::string& name, std::string_view text);

}  // namespace drl
