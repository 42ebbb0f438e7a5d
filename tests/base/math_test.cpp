#include "drl/math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/simd.hpp"

namespace drl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The largest error of `ours` against the standard library in double, over a fine grid of [low, high]: relative to the
// result, or absolute.
enum class ErrorKind { relative, absolute };
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

TEST(Math, ScaledCosIsTheRoundedDouble) {
  for (int i = -200000; i <= 200000; ++i) {
    const float x = static_cast<float>(i) * 0.0005f;
    EXPECT_EQ(math::scaled_cos(0.0025, x), static_cast<float>(0.0025 * std::cos(static_cast<double>(x)))) << x;
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

TEST(Math, NaNIsNotLost) {
  for (auto function : {our_sin, our_cos, our_exp, our_log, our_tanh}) EXPECT_TRUE(std::isnan(function(kNaN)));
  EXPECT_TRUE(std::isnan(math::clamp(kNaN, -1.0f, 1.0f)));
}

TEST(Math, ClampMinMax) {
  EXPECT_EQ(math::clamp(2.0f, -1.0f, 1.0f), 1.0f);
  EXPECT_EQ(math::clamp(-2.0f, -1.0f, 1.0f), -1.0f);
  EXPECT_EQ(math::clamp(0.5f, -1.0f, 1.0f), 0.5f);
  EXPECT_EQ(math::min(1.0, 2.0), 1.0);
  EXPECT_EQ(math::max(1.0, 2.0), 2.0);
  EXPECT_EQ(math::floor(-1.5f), -2.0f);
  EXPECT_EQ(math::abs(-1.5f), 1.5f);
  EXPECT_EQ(math::sqrt(2.25f), 1.5f);
}

// The loops as an engine or an executor writes them: vectorised, for the best instruction set of this machine.
DRL_CLONES void all_of(const float* x, float* out, int n) {
  DRL_INDEPENDENT
  for (int i = 0; i < n; ++i) out[i] = math::sin(x[i]) + math::cos(x[i]) * math::exp(x[i]);
}
DRL_CLONES void more_of(const float* x, float* out, int n) {
  DRL_INDEPENDENT
  for (int i = 0; i < n; ++i) out[i] = math::log(x[i]) + math::tanh(x[i]) * math::scaled_cos(0.0025, x[i]);
}

// Only ever called with one argument, so that the compiler cannot vectorise it.
[[gnu::noinline]] float all_of_one(float x) { return math::sin(x) + math::cos(x) * math::exp(x); }
[[gnu::noinline]] float more_of_one(float x) { return math::log(x) + math::tanh(x) * math::scaled_cos(0.0025, x); }

TEST(Math, VectorisedLoopsGiveTheBitsOfScalarCode) {
  for (int n : {1, 7, 16, 1000, 4097}) {
    std::vector<float> x(n), all(n), more(n);
    for (int i = 0; i < n; ++i) x[i] = 0.001f + 20.0f * static_cast<float>(i) / static_cast<float>(n);
    all_of(x.data(), all.data(), n);
    more_of(x.data(), more.data(), n);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(all[i], all_of_one(x[i])) << "n " << n << " x " << x[i];
      EXPECT_EQ(more[i], more_of_one(x[i])) << "n " << n << " x " << x[i];
    }
  }
}

}  // namespace
}  // namespace drl
