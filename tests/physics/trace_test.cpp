// Tests the tracer's functions with known numbers, for which their results are known numbers.
#include "physics/trace.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace drl::robot_compiler {
namespace {

// A tree with the root 0 and its children 1 and 2.
RobotModel branches() {
  RobotModel model;
  model.dofs.resize(3);
  model.dofs[1].ancestors = model.dofs[2].ancestors = {0};
  return model;
}

// M = [4 1 2; 1 3 0; 2 0 5]: M (1, 2, 3) = (12, 7, 17).
TEST(Trace, TreeMatricesMultiplyAndSolve) {
  const RobotModel model = branches();
  const TreeMatrix m{{4, 3, 5}, {{}, {1}, {2}}};
  const std::vector<Expr> y = multiply_tree(model, m, {1, 2, 3});
  EXPECT_TRUE(y[0].is(12) && y[1].is(7) && y[2].is(17));
  const std::vector<Expr> x = solve_tree(model, m, {12, 7, 17});
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(x[static_cast<size_t>(k)].value(), k + 1, 1e-15);
}

// From MuJoCo's documentation: the impedance rises from dmin at 0 to dmax at the width, through the mean at the
// midpoint 0.5.
TEST(Trace, ImpedanceRisesFromLeastToMost) {
  const Impedance curve{0.2, 0.8, 0.01, 0.5, 2};
  EXPECT_NEAR(impedance(curve, 0).value(), 0.2, 1e-15);
  EXPECT_NEAR(impedance(curve, -0.005).value(), 0.5, 1e-15);
  EXPECT_NEAR(impedance(curve, 0.005).value(), 0.5, 1e-15);
  EXPECT_NEAR(impedance(curve, -0.0025).value(), 0.2 + 0.6 * 0.125, 1e-15);
  EXPECT_NEAR(impedance(curve, -0.02).value(), 0.8, 1e-15);
  EXPECT_NEAR(impedance({0.2, 0.8, 0.01, 0.5, 1}, -0.0025).value(), 0.35, 1e-15);
}

// A rod along x of 2 kg and 0.3 m, about a point 0.5 m from its centre along y, has 2 0.3^2 / 12 + 2 0.5^2 about z.
TEST(Trace, InertiaIsShiftedAndTurned) {
  const double own = 2 * 0.09 / 12;
  const Symmetric rod{0, own, own, 0, 0, 0};
  const Inertia inertia = inertia_at(2, {0, 0.5, 0}, identity(), rod);
  EXPECT_NEAR(inertia.rotational[2].value(), own + 0.5, 1e-15);
  EXPECT_NEAR(inertia.rotational[1].value(), own, 1e-15);
  const Mat3 quarter{Vec3{0, -1, 0}, Vec3{1, 0, 0}, Vec3{0, 0, 1}};  // about z; the rod is then along y
  EXPECT_NEAR(inertia_at(2, {}, quarter, rod).rotational[0].value(), own, 1e-15);
  EXPECT_NEAR(inertia_at(2, {}, quarter, rod).rotational[1].value(), 0, 1e-15);
}

}  // namespace
}  // namespace drl::robot_compiler
