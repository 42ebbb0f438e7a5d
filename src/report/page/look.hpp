// The page's style sheet and script. The script shows values under the pointer, switches the axis and hides groups.
#pragma once

namespace drl {

extern const char* const kStyle;
extern const char* const kScript;

}  // namespace drl
