// Version of this program, as shown in banners, run.json and every checkpoint.
#pragma once

namespace drl {

extern const char* const kVersion;  // "0.1.0"
extern const char* const kGitHash;  // of the source that it was built from; "unknown" outside a git checkout

}  // namespace drl
