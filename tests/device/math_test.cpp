#include "drl/math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "../support/host_loops.hpp"
#include "math_loops.hpp"

namespace drl {
namespace {

using namespace test;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

enum class ErrorKind { relative, absolute };
// Returns the largest absolute or relative error of `ours`, compared with the standard library in double on a fine grid
// of [low, high].
double worst_error(float (*ours)(float), double (*reference)(double), float low, float high, ErrorKind kind) {
  const int points = 400000;
  double worst = 0;
  for (int i = 0; i <= points; ++i) {
    const float x = low + (high - low) * (static_cast<float>(i) / points);
    const double expected = reference(x);
    const double scale = kind == ErrorKind::absolute || expected == 0 ? 1 : std::abs(expected);
    worst = std::max(worst, std::abs(ours(x) - expected) / scale);
  }
  return worst;
}

float our_sin(float x) { return math::sin(x); }
float our_cos(float x) { return math::cos(x); }
float our_exp(float x) { return math::exp(x); }
float our_log(float x) { return math::log(x); }
float our_tanh(float x) { return math::tanh(x); }

TEST(Math, SinAndCosAreAccurate) {
  for (float range : {3.2f, 100.0f, 6000.0f}) {
    EXPECT_LT(worst_error(our_sin, std::sin, -range, range, ErrorKind::absolute), 1.2e-7) << range;
    EXPECT_LT(worst_error(our_cos, std::cos, -range, range, ErrorKind::absolute), 1.2e-7) << range;
  }
  EXPECT_LT(worst_error(our_sin, std::sin, -1.5f, 1.5f, ErrorKind::relative), 2e-7);
}

TEST(Math, ExpIsAccurate) {
  EXPECT_LT(worst_error(our_exp, std::exp, -87.3f, 88.7f, ErrorKind::relative), 2e-7);
  EXPECT_LT(worst_error(our_exp, std::exp, -1.0f, 1.0f, ErrorKind::relative), 2e-7);
  EXPECT_LT(worst_error(our_exp, std::exp, -110.0f, -87.3f, ErrorKind::absolute), 1.5e-45);  // a subnormal's last bit
}

TEST(Math, LogIsAccurate) {
  EXPECT_LT(worst_error(our_log, std::log, 0.5f, 2.0f, ErrorKind::relative), 2e-7);
  EXPECT_LT(worst_error(our_log, std::log, 1e-3f, 1e3f, ErrorKind::relative), 2e-7);
  EXPECT_LT(worst_error(our_log, std::log, 1e-38f, 3e38f, ErrorKind::relative), 2e-7);
  EXPECT_LT(worst_error(our_log, std::log, 1e-45f, 1e-38f, ErrorKind::relative), 2e-7);  // subnormal
}

TEST(Math, TanhIsAccurate) {
  EXPECT_LT(worst_error(our_tanh, std::tanh, -1e-3f, 1e-3f, ErrorKind::relative), 4e-7);
  EXPECT_LT(worst_error(our_tanh, std::tanh, -12.0f, 12.0f, ErrorKind::relative), 4e-7);
}

TEST(Math, Atan2IsAccurate) {
  for (const float radius : {1e-30f, 1.0f, 1e30f})
    for (int i = -100000; i <= 100000; ++i) {
      const float angle = static_cast<float>(i) * 3.14159e-5f;
      const float x = radius * std::cos(angle), y = radius * std::sin(angle);
      ASSERT_NEAR(math::atan2(y, x), std::atan2(static_cast<double>(y), static_cast<double>(x)), 4e-7) << x << " " << y;
    }
  EXPECT_EQ(math::atan2(0.0f, 0.0f), 0.0f);
  EXPECT_EQ(math::atan2(0.0f, 2.0f), 0.0f);
  EXPECT_NEAR(math::atan2(0.0f, -2.0f), 3.14159265f, 4e-7);
  EXPECT_NEAR(math::atan2(-3.0f, 0.0f), -1.57079633f, 4e-7);
}

TEST(Math, ScaledCosIsTheRoundedDouble) {
  for (int i = -200000; i <= 200000; ++i) {
    const float x = static_cast<float>(i) * 0.0005f;
    EXPECT_EQ(math::scaled_cos(0.0025, x), static_cast<float>(0.0025 * std::cos(static_cast<double>(x)))) << x;
  }
}

TEST(Math, WideSinAndCosHaveDoublePrecision) {
  for (const double range : {0.9, 10.0, 1e5})
    for (int i = -200000; i <= 200000; ++i) {
      const double x = range * i / 200000;
      ASSERT_NEAR(math::wide::sin(x), std::sin(x), 2e-16) << x;
      ASSERT_NEAR(math::wide::cos(x), std::cos(x), 2e-16) << x;
    }
}

TEST(Math, LimitsAreTheMathematicalOnes) {
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(89.0f), kInfinity);
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(-kInfinity), 0.0f);
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_EQ(math::log(0.0f), -kInfinity);
  EXPECT_EQ(math::log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_EQ(math::tanh(0.0f), 0.0f);
  EXPECT_NEAR(math::tanh(kInfinity), 1.0f, 1.2e-7f);
  EXPECT_NEAR(math::tanh(-kInfinity), -1.0f, 1.2e-7f);
  EXPECT_EQ(math::sin(0.0f), 0.0f);
  EXPECT_EQ(math::cos(0.0f), 1.0f);
}

TEST(Math, NaNStaysNaN) {
  for (auto function : {our_sin, our_cos, our_exp, our_log, our_tanh}) EXPECT_TRUE(std::isnan(function(kNaN)));
  EXPECT_TRUE(std::isnan(math::clamp(kNaN, -1.0f, 1.0f)));
}

TEST(Math, ClampMinMaxFloorAbsAndSqrtHaveTheirUsualValues) {
  EXPECT_EQ(math::clamp(2.0f, -1.0f, 1.0f), 1.0f);
  EXPECT_EQ(math::clamp(-2.0f, -1.0f, 1.0f), -1.0f);
  EXPECT_EQ(math::clamp(0.5f, -1.0f, 1.0f), 0.5f);
  EXPECT_EQ(math::min(1.0, 2.0), 1.0);
  EXPECT_EQ(math::max(1.0, 2.0), 2.0);
  EXPECT_EQ(math::floor(-1.5f), -2.0f);
  EXPECT_EQ(math::abs(-1.5f), 1.5f);
  EXPECT_EQ(math::sqrt(2.25f), 1.5f);
}

// Returns small and large numbers, on a grid and in between, with infinity and NaN.
std::vector<float> numbers() {
  std::vector<float> x = {0.0f, -0.0f, kInfinity, -kInfinity, kNaN, 1e-45f, 1e-39f, 3e38f, -3e38f};
  for (int i = 0; i < 4096; ++i) x.push_back(-30.0f + 0.0147f * static_cast<float>(i));
  for (float y = 1e-38f; y < 6000; y *= 1.07f) x.insert(x.end(), {y, -y});
  return x;
}

TEST(Math, IsBitIdenticalOnEveryInstructionSetInPacksAndLaneByLane) {
  const std::vector<float> x = numbers();
  const auto n = static_cast<int64_t>(x.size());
  const std::vector<float> y = in_every_way([&](const Loops& loops) {
    std::vector<float> y(kMathFunctions * x.size());
    loops(n, MathOf{x.data(), y.data(), n});
    return y;
  });
  // The same functions, compiled in this unit, must give the same results.
  float (*const here[])(float) = {our_sin,
                                  our_cos,
                                  our_exp,
                                  our_log,
                                  our_tanh,
                                  [](float a) { return math::scaled_cos(0.0025, a); },
                                  [](float a) { return std::floor(a); },
                                  [](float a) { return std::fabs(a); },
                                  [](float a) { return std::sqrt(a); },
                                  [](float a) { return a > 0 ? 0 : a; },
                                  [](float a) { return a < 0 ? 0 : a; },
                                  [](float a) { return a < -2.5f  ? -2.5f
                                                       : a > 0.5f ? 0.5f
                                                                  : a; }};
  for (int f = 0; f < kMathFunctions; ++f)
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = here[f](x[i]), actual = y[static_cast<size_t>(f) * x.size() + i];
      if (std::isnan(actual) && std::isnan(expected)) continue;
      EXPECT_EQ(actual, expected) << "function " << f << " of " << x[i];
    }
}

// Computes a^2 - round(a^2) for a near 1. Rounding twice loses this difference, and rounding once keeps it.
TEST(Math, FmaRoundsOnceWhereTheInstructionSetCan) {
  std::vector<float> a, c;
  for (int i = 0; i < 100; ++i) a.push_back(1 + static_cast<float>(i) * 0x1p-20f), c.push_back(-a.back() * a.back());
  for (Isa isa : available_isas())
    for (bool packs : {false, true}) {
      std::vector<float> out(a.size());
      Loops(isa, packs)(100, MultiplyAdd{a.data(), a.data(), c.data(), out.data()});
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(out[i], name_of(isa) == "x86-64-v2" || name_of(isa) == "generic" ? 0 : std::fma(a[i], a[i], c[i]));
    }
}

}  // namespace
}  // namespace drl
