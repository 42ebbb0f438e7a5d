#include "physics/graph.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace drl::robot_compiler {
namespace {

class Traced : public testing::Test {
 protected:
  Graph graph;
  Expr a = graph.input("a", "a"), b = graph.input("b", "b");
};

TEST_F(Traced, KnownValuesAreFolded) {
  EXPECT_TRUE((Expr(2) * 3 + 4 / Expr(8)).is(6.5));
  EXPECT_TRUE(sqrt(Expr(9)).is(3));
  EXPECT_TRUE((cos(Expr(0)) + sin(Expr(0))).is(1));
  EXPECT_TRUE(clamp(Expr(7), -1, 2).is(2));
  EXPECT_TRUE(select_less(1, 2, 3, 4).is(3));
  EXPECT_EQ(graph.size(), 2);  // the inputs
}

TEST_F(Traced, ZerosAndOnesVanish) {
  EXPECT_TRUE((a * 0).is(0));
  EXPECT_TRUE((Expr(0) / a).is(0));
  EXPECT_TRUE((a - a).is(0));
  EXPECT_EQ(a + 0, a);
  EXPECT_EQ(a * 1, a);
  EXPECT_EQ(a - 0, a);
  EXPECT_EQ(-(-a), a);
  EXPECT_EQ(select_less(a, b, a, a), a);
}

TEST_F(Traced, EqualExpressionsAreOneNode) {
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ(sin(a * b), sin(b * a));
  EXPECT_NE(a - b, b - a);
  EXPECT_EQ(graph.input("a", "another name"), a);
}

TEST_F(Traced, SignsAndFactorsAreGathered) {
  EXPECT_EQ(-(a - b), b - a);
  EXPECT_EQ(a + -b, a - b);
  EXPECT_EQ(-a * -b, a * b);
  EXPECT_EQ(-a * b, -(a * b));
  EXPECT_EQ(Expr(2) * (Expr(3) * a), Expr(6) * a);
  EXPECT_EQ(a / 4, Expr(0.25) * a);
}

}  // namespace
}  // namespace drl::robot_compiler
