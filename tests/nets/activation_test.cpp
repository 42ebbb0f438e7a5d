#include "nets/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "nets/fused/fused_kernels.hpp"
#include "nets/net_kernels.hpp"

namespace drl {
namespace {

using namespace test;

double value(Elu, double x) { return x > 0 ? x : std::expm1(x); }
double value(Tanh, double x) { return std::tanh(x); }
double value(Relu, double x) { return std::max(x, 0.0); }
double value(Silu, double x) { return x / (1 + std::exp(-x)); }
double value(Gelu, double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2)); }

template <class A>
class ActivationOf : public testing::Test {};
using All = testing::Types<Elu, Tanh, Relu, Silu, Gelu>;
TYPED_TEST_SUITE(ActivationOf, All);

// 1003 is not a multiple of any pack's size. No input is close to 0, where Relu has no derivative.
TYPED_TEST(ActivationOf, EqualsItsFormulaAndTheBackwardPassItsDerivative) {
  Random random(1);
  std::vector<float> x = uniforms(random, 1003, -6, 6), d = uniforms(random, 1003, -1, 1);
  for (float& at : x) at += at < 0 ? -1e-4f : 1e-4f;
  const std::vector<float> y = in_every_way([&](const Loops& loops) {
    std::vector<float> y = x;
    loops(1003, Activate<TypeParam>{y.data(), y.data()});
    return y;
  });
  const std::vector<float> back = in_every_way([&](const Loops& loops) {
    std::vector<float> back = d;
    loops(1003, ActivateBackward<TypeParam>{(TypeParam::kFromOutput ? y : x).data(), back.data()});
    return back;
  });
  for (size_t i = 0; i < x.size(); ++i) {
    double at = static_cast<double>(x[i]);
    EXPECT_NEAR(y[i], value(TypeParam{}, at), 2e-7 * std::max(1.0, std::abs(at))) << x[i];
    EXPECT_NEAR(back[i], d[i] * slope([&] { return value(TypeParam{}, at); }, at), 1e-6) << x[i];
  }
}

// Compares with the formula close to 0 and far from it.
TEST(Activation, InFusedNetworksEqualsItsFormula) {
  const auto check = []<class A>(A) {
    for (const float range : {1e-3f, 1.0f, 20.0f, 100.0f})
      for (int i = -20000; i <= 20000; ++i) {
        const float x = range * static_cast<float>(i) / 20000;
        const double expected = value(A{}, double{x});
        ASSERT_NEAR(Fused<A>::value(x), expected, 4e-7 * std::abs(expected)) << x;
      }
    EXPECT_EQ(Fused<A>::value(0.0f), 0.0f);
    EXPECT_TRUE(std::isnan(Fused<A>::value(std::nanf(""))));
  };
  check(Elu{}), check(Tanh{});
  EXPECT_EQ(Fused<Elu>::value(1e30f), 1e30f);
  EXPECT_EQ(Fused<Elu>::value(-1e30f), -1.0f);
  EXPECT_NEAR(Fused<Tanh>::value(1e30f), 1.0f, 1.2e-7f);
}

// Far from 0 the values are 0 and x, with derivatives 0 and 1.
TEST(Activation, SiluAndGeluAreAccurateFarFromZero) {
  for (float x : {30.0f, 88.0f, 1e4f, 1e30f}) {
    EXPECT_EQ(Silu::value(x), x);
    EXPECT_EQ(Gelu::value(x), x);
    EXPECT_NEAR(Silu::backward(2.0f, x), 2, 1e-6);
    EXPECT_EQ(Gelu::backward(2.0f, x), 2);
    EXPECT_NEAR(Silu::value(-x), 0, 1e-11);
    EXPECT_EQ(Gelu::value(-x), 0);
    EXPECT_NEAR(Silu::backward(2.0f, -x), 0, 1e-11);
    EXPECT_EQ(Gelu::backward(2.0f, -x), 0);
  }
}

// Compares rows with the formula in double, and the backward pass with central differences. Most widths are not
// multiples of a pack's size.
TEST(LayerNorm, EqualsItsFormulaAndTheBackwardPassItsDerivative) {
  for (int width : {1, 7, 16, 37, 64}) {
    constexpr int64_t rows = 5;
    const int64_t size = rows * width;
    Random random(static_cast<uint64_t>(width));
    const std::vector<float> x = uniforms(random, size, 2, 4), bias = uniforms(random, width, -1, 1),
                             weight = uniforms(random, width, -1, 1), d = uniforms(random, size, -1, 1);
    const std::vector<float> all = in_every_way([&](const Loops& loops) {
      std::vector<float> out(3 * static_cast<size_t>(size));
      float *z = out.data(), *back = z + size, *inv_std = back + size;
      std::copy(x.begin(), x.end(), z), std::copy(d.begin(), d.end(), back);
      loops(rows, NormalizeRows{z, inv_std, width, bias.data()});
      loops(rows, NormalizeRowsBackward{z, inv_std, weight.data(), back, width});
      return out;
    });
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<double> sums(static_cast<size_t>(width));
      const auto z = [&](int k) {
        double mean = 0, variance = 0;
        for (double s : sums) mean += s / width;
        for (double s : sums) variance += (s - mean) * (s - mean) / width;
        return (sums[static_cast<size_t>(k)] - mean) / std::sqrt(variance + 1e-5);
      };
      const auto loss = [&] {
        double sum = 0;
        for (int k = 0; k < width; ++k) sum += double{d[row * width + k]} * weight[k] * z(k);
        return sum;
      };
      for (int k = 0; k < width; ++k) sums[k] = double{x[row * width + k]} + bias[k];
      for (int k = 0; k < width; ++k) {
        EXPECT_NEAR(all[row * width + k], z(k), 3e-6) << width;
        EXPECT_NEAR(all[size + row * width + k], slope(loss, sums[k]), 2e-5) << width;
      }
    }
  }
}

// Packs may contain elements of two rows.
TEST(LayerNorm, ScalesUnitsAndActivatesThem) {
  for (int width : {1, 5, 16, 19}) {
    constexpr int64_t rows = 37;
    const int64_t size = rows * width;
    Random random(2);
    const std::vector<float> z = uniforms(random, size, -2, 2), weight = uniforms(random, width, 0.5, 2),
                             bias = uniforms(random, width, -1, 1), d = uniforms(random, size, -1, 1);
    const ScaledUnits units{z.data(), weight.data(), bias.data(), static_cast<uint32_t>(width)};
    const auto check = [&]<class A>(A) {
      const std::vector<float> all = in_every_way([&](const Loops& loops) {
        std::vector<float> out(2 * static_cast<size_t>(size));
        std::copy(d.begin(), d.end(), out.begin() + size);
        loops(size, ScaleAndActivate<A>{units, out.data()});
        loops(size, ScaleAndActivateBackward<A>{units, out.data(), out.data() + size});
        return out;
      });
      for (int64_t i = 0; i < size; ++i) {
        double u = double{weight[i % width]} * z[i] + bias[i % width];
        EXPECT_NEAR(all[i], value(A{}, u), 2e-6);
        EXPECT_NEAR(all[size + i], d[i] * slope([&] { return value(A{}, u); }, u), 2e-6);
      }
    };
    check(Tanh{}), check(Silu{}), check(Gelu{});
  }
}

TEST(Activation, IsChosenAtRunTime) {
  double at_minus_one[5];
  for (Activation activation :
       {Activation::elu, Activation::tanh, Activation::relu, Activation::silu, Activation::gelu})
    with_activation(activation, [&]<class A>(A) { at_minus_one[static_cast<int>(activation)] = A::value(-1.0); });
  EXPECT_NEAR(at_minus_one[0], std::exp(-1.0) - 1, 1e-15);
  EXPECT_NEAR(at_minus_one[1], std::tanh(-1.0), 1e-15);
  EXPECT_EQ(at_minus_one[2], 0);
  EXPECT_NEAR(at_minus_one[3], -1 / (1 + std::exp(1.0)), 1e-15);
  EXPECT_NEAR(at_minus_one[4], -0.158655254, 1e-7);  // -1 times the normal distribution's probability below -1
}

}  // namespace
}  // namespace drl
