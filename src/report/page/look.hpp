// How the page looks, and what its script does: reads values under the pointer, changes the axis, hides groups.
#pragma once

namespace drl {

extern const char* const kStyle;
extern const char* const kScript;

}  // namespace drl
