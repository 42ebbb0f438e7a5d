#include "base/instruction_set.hpp"

namespace drl {
namespace {

// Versions that the compiler chooses from as it chooses from DRL_CLONES.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::target("arch=x86-64-v4")]] const char* chosen() { return "x86-64-v4"; }
[[gnu::target("arch=x86-64-v3")]] const char* chosen() { return "x86-64-v3"; }
[[gnu::target("default")]] const char* chosen() { return "x86-64-v2"; }
#elif defined(__x86_64__)
const char* chosen() { return "x86-64-v2"; }
#elif defined(__aarch64__)
const char* chosen() { return "armv8-a"; }
#else
const char* chosen() { return "the compiler's baseline"; }
#endif

}  // namespace

const char* instruction_set() { return chosen(); }

}  // namespace drl
