// Computes CRC-32C (Castagnoli), RFC 3720 appendix B.4: reflected polynomial 0x82f63b78, initial value and final xor
// ~0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drl {

uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace drl
