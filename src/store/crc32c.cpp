#include "store/crc32c.hpp"

#include <boost/crc.hpp>

namespace drl {

uint32_t crc32c(std::span<const std::byte> bytes) {
  boost::crc_optimal<32, 0x1edc6f41, ~0u, ~0u, true, true> crc;  // 0x82f63b78 with its bits reversed
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace drl
