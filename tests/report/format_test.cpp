#include "report/format.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace drl {
namespace {

TEST(Format, FormatsNumbersAndTimes) {
  EXPECT_EQ(human_number(0.0123456), "0.01235");
  EXPECT_EQ(human_number(-200), "-200");
  EXPECT_EQ(human_number(-std::nan("")), "-");
  EXPECT_EQ(human_time(0.0042), "4.2 ms");
  EXPECT_EQ(human_time(240), "240.00 s");
  EXPECT_EQ(human_time(std::nan("")), "-");
  EXPECT_EQ(human_energy(85), "85 J");
  EXPECT_EQ(human_energy(999.9), "1.00 kJ");
  EXPECT_EQ(human_energy(1234567), "1.23 MJ");
  EXPECT_EQ(human_energy(std::nan("")), "-");
}

}  // namespace
}  // namespace drl
