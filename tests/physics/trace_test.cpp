// Tests the tracer's functions with known numbers, for which their results are known numbers.
#include "physics/trace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

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

// Returns the length of a tendon between two points around a geom of radius 1 at the origin, on the side of a third
// point.
double length_around(bool is_sphere, const Numbers3& from, const Numbers3& to, const Numbers3& side, double share = 1) {
  RobotModel model;
  const Rotation straight{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (const Numbers3& pos : {from, to, side}) model.sites.push_back({"", -1, pos, straight});
  model.geoms.push_back({"", -1, {}, straight});
  model.tendons.push_back(
      {.name = "t",
       .path = {
           {.from = 0, .to = 1, .share = share, .geom = 0, .side = 2, .is_around_sphere = is_sphere, .radius = 1}}});
  Program p;
  return trace_tendon(model, 0, {}, p).length.value();
}
// From (-2, 0) to (2, 0), two tangents of length sqrt(3) leave 60 degrees of the circle. Around a cylinder, the way is
// a straight line on the unrolled surface.
TEST(Trace, TendonsGoAroundSpheresAndCylinders) {
  const double flat = 2 * std::sqrt(3) + std::numbers::pi / 3;
  for (const double side : {1.5, -1.5}) {
    EXPECT_NEAR(length_around(true, {-2, 0, 0}, {2, 0, 0}, {0.1, side, 0}), flat, 1e-14);
    EXPECT_NEAR(length_around(false, {-2, 0, 0}, {2, 0, 0}, {0.1, side, 0}), flat, 1e-14);
  }
  EXPECT_NEAR(length_around(false, {-2, 0, 0.5}, {2, 0, 2}, {0, 2, 0}), std::hypot(flat, 1.5), 1e-14);
  EXPECT_NEAR(length_around(false, {-2, 0, 0}, {2, 0, 0}, {0, 2, 0}, 0.25), flat / 4, 1e-14);
  EXPECT_NEAR(length_around(true, {-2, 0, 0}, {-2, 1, 0}, {-2, 0.5, 0}), 1, 1e-14);  // does not touch
}
// From (-2, 0) to (0, 2), a tendon inside the circle touches it at 135 degrees.
TEST(Trace, TendonsGoThroughGeoms) {
  const double half = std::sqrt(0.5), expected = 2 * std::hypot(2 - half, half);
  EXPECT_NEAR(length_around(true, {-2, 0, 0}, {0, 2, 0}, {0.1, 0, 0}), expected, 1e-12);
  EXPECT_NEAR(length_around(false, {-2, 0, 0}, {0, 2, 0}, {0, 0, 0.1}), expected, 1e-12);
}

}  // namespace
}  // namespace drl::robot_compiler
