#include "store/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

#include "store/file.hpp"

namespace drl {
namespace {

// The check value of CRC-32/ISCSI in the catalogue of parametrised CRC algorithms.
TEST(Crc32c, HasTheCheckValueOfTheCatalogue) { EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u); }

// RFC 3720, appendix B.4.
TEST(Crc32c, MatchesTheExamplesOfRfc3720) {
  std::string up, down;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i), down += static_cast<char>(31 - i);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(crc32c(bytes_of(up)), 0x46dd794eu);
  EXPECT_EQ(crc32c(bytes_of(down)), 0x113fdb5cu);
  EXPECT_EQ(crc32c({}), 0u);
}

}  // namespace
}  // namespace drl
