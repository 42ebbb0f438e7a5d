#include "learn/adam.hpp"

#include <gtest/gtest.h>

#include "helpers.hpp"

namespace drl {
namespace {

using namespace test;

// Gradient 2, then -1, learning rate 0.1, beta 0.9 and 0.999.
//   step 1: m_hat = 2, v_hat = 4: params -= 0.1 * 2/2
//   step 2: m = 0.9*0.2 - 0.1 = 0.08, m_hat = 0.08/0.19; v = 0.999*0.004 + 0.001 = 0.004996, v_hat = v/0.001999
TEST(Adam, TwoStepsByHand) {
  Adam adam(1);
  std::vector<float> params = {1};
  adam.step(params, std::vector<float>{2}, 0.1);
  EXPECT_NEAR(params[0], 0.9, 1e-7);
  adam.step(params, std::vector<float>{-1}, 0.1);
  EXPECT_NEAR(params[0], 0.9 - 0.1 * (0.08 / 0.19) / std::sqrt(0.004996 / 0.001999), 1e-7);
}

// epsilon is added to sqrt(v_hat), not to sqrt(v): with a gradient equal to it the first step is half the learning
// rate.
TEST(Adam, EpsilonStandsBesideTheCorrectedRoot) {
  Adam adam(1, 1e-3);
  std::vector<float> params = {0};
  adam.step(params, std::vector<float>{1e-3f}, 0.1);
  EXPECT_NEAR(params[0], -0.05, 1e-7);
}

TEST(Adam, FollowsTheAlgorithmInDouble) {
  const size_t n = 1003;
  Random random(3);
  Adam adam(n);
  std::vector<float> params(n), gradient(n);
  fill_uniform(params, random, -1, 1);
  std::vector<double> expected(params.begin(), params.end()), m(n), v(n);
  for (int t = 1; t <= 50; ++t) {
    fill_uniform(gradient, random, -1, 1);
    const double rate = 0.01 / t;
    for (size_t i = 0; i < n; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * gradient[i];
      v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
      expected[i] -= rate * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    adam.step(params, gradient, rate);
  }
  for (size_t i = 0; i < n; ++i) EXPECT_NEAR(params[i], expected[i], 1e-6);
}

TEST(ClipGradient, ScalesToTheNormOnlyWhatIsLonger) {
  std::vector<float> gradient = {3, 0, 4};
  EXPECT_EQ(clip_gradient(gradient, 10), 5);
  EXPECT_EQ(gradient, (std::vector<float>{3, 0, 4}));
  EXPECT_EQ(clip_gradient(gradient, 1), 5);
  EXPECT_NEAR(gradient[0], 0.6, 1e-6);
  EXPECT_EQ(gradient[1], 0);
  EXPECT_NEAR(gradient[2], 0.8, 1e-6);
}

TEST(ClipGradient, NormOfManyNumbers) {
  Random random(4);
  for (size_t n : {1, 7, 8, 9, 1000}) {
    std::vector<float> gradient(n);
    fill_uniform(gradient, random, -1, 1);
    double squares = 0;
    for (float g : gradient) squares += double{g} * g;
    EXPECT_NEAR(clip_gradient(gradient, 100), std::sqrt(squares), 1e-12 * n);
  }
}

TEST(ClipGradient, TellsThatTheGradientIsNotFinite) {
  for (float bad : {NAN, INFINITY}) {
    std::vector<float> gradient = {1, bad};
    EXPECT_FALSE(std::isfinite(clip_gradient(gradient, 1)));
  }
}

}  // namespace
}  // namespace drl
