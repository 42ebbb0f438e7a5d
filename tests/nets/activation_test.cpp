#include "nets/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../support/learning.hpp"
#include "../support/loops.hpp"
#include "nets/kernels.hpp"

namespace drl {
namespace {

using namespace test;

double value(Elu, double x) { return x > 0 ? x : std::expm1(x); }
double value(Tanh, double x) { return std::tanh(x); }
double value(Relu, double x) { return std::max(x, 0.0); }

template <class A>
class ActivationOf : public testing::Test {};
using All = testing::Types<Elu, Tanh, Relu>;
TYPED_TEST_SUITE(ActivationOf, All);

// 1003 numbers fill no whole number of packs; none is so near to 0 that Relu has no slope.
TYPED_TEST(ActivationOf, IsItsFormulaAndTheWayBackItsSlope) {
  Random random(1);
  std::vector<float> x = uniforms(random, 1003, -6, 6), d = uniforms(random, 1003, -1, 1);
  for (float& at : x) at += at < 0 ? -1e-4f : 1e-4f;
  const std::vector<float> y = in_every_way([&](const Loops& loops) {
    std::vector<float> y = x;
    loops(1003, Activate<TypeParam>{y.data()});
    return y;
  });
  const std::vector<float> back = in_every_way([&](const Loops& loops) {
    std::vector<float> back = d;
    loops(1003, ActivateBackward<TypeParam>{y.data(), back.data()});
    return back;
  });
  for (size_t i = 0; i < x.size(); ++i) {
    double at = static_cast<double>(x[i]);
    EXPECT_NEAR(y[i], value(TypeParam{}, at), 2e-7 * std::max(1.0, std::abs(at))) << x[i];
    EXPECT_NEAR(back[i], d[i] * slope([&] { return value(TypeParam{}, at); }, at), 1e-6) << x[i];
  }
}

TEST(Activation, IsChosenByName) {
  double at_minus_one[3];
  for (Activation activation : {Activation::elu, Activation::tanh, Activation::relu})
    with_activation(activation, [&]<class A>(A) { at_minus_one[static_cast<int>(activation)] = A::value(-1.0); });
  EXPECT_NEAR(at_minus_one[0], std::exp(-1.0) - 1, 1e-15);
  EXPECT_NEAR(at_minus_one[1], std::tanh(-1.0), 1e-15);
  EXPECT_EQ(at_minus_one[2], 0);
}

}  // namespace
}  // namespace drl
