// Poses of two shapes, and differences between our contacts and libmujoco's in them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "two_geoms.hpp"

namespace drl::test {

constexpr const char* kNames[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
constexpr int kKinds = 7;

// The largest differences between our contacts and libmujoco's.
struct Differences {
  int poses = 0, touching = 0, contacts = 0, other_counts = 0;
  int unsteady = 0;  // further poses, in which libmujoco itself amplifies rounding errors
  double distance = 0, normal = 0, point = 0;

  void compare(const std::vector<ShapeContact>& expected, const ShapeContact* actual, int count) {
    poses += 1, touching += expected.empty() ? 0 : 1, contacts += count;
    if (count != static_cast<int>(expected.size())) {
      other_counts += 1;
      return;
    }
    for (int c = 0; c < count; ++c) {
      const ShapeContact &x = expected[static_cast<size_t>(c)], &y = actual[c];
      distance = std::max(distance, std::abs(x.distance - y.distance));
      for (int k = 0; k < 3; ++k) {
        normal = std::max(normal, std::abs(x.normal[k] - y.normal[k]));
        point = std::max(point, std::abs(x.point[k] - y.point[k]));
      }
    }
  }
  double share() const { return static_cast<double>(other_counts) / poses; }
  void print(const std::string& what) const {
    std::printf(
        "%-30s %5d of %d poses touch, %6d contacts; other counts %.3f%%, distance %.0e, normal %.0e, point %.0e\n",
        what.c_str(), touching, poses, contacts, 100 * share(), distance, normal, point);
  }
};

enum class Poses {
  random,
  upright,  // axes are parallel up to tiny angles, and centres often aligned: faces, edges and corners coincide
  rounded   // random, but our pose differs from libmujoco's by rounding errors
};

inline GeomPose draw_pose(Draws& draw, ShapeKind kind, Poses poses, int meshes) {
  constexpr double kAngles[] = {0, 0, 1e-9, 1e-5, 1e-2};
  GeomPose pose{.kind = kind, .mesh = draw.below(meshes)};
  for (double& x : pose.size) x = draw(0.05, 0.3);
  if (draw.below(5) == 0) pose.size[draw.below(3)] *= 0.02;  // thin
  if (poses == Poses::upright && draw.below(2) == 0)
    for (double& x : pose.size) x = 0.1 * (1 + draw.below(2));  // such that edges and corners coincide
  if (poses == Poses::upright)
    draw.upright_turn(kAngles[draw.below(5)], pose.quat);
  else
    draw.turn(pose.quat);
  return pose;
}
// Places the second geom between deep inside the first and a little farther than the margin.
inline void place(Draws& draw, Poses poses, double margin, double reach, GeomPose& first, GeomPose& second) {
  first.position = {0.1, -0.2, 0.3};
  Vec3 way = draw.direction();
  double apart = draw.below(50) == 0 && poses == Poses::random ? 0 : draw(0, 1.1) * reach + margin;
  if (first.kind == ShapeKind::plane) {
    double turn[9];
    mju_quat2Mat(turn, first.quat);
    way = {turn[2], turn[5], turn[8]}, apart = draw(-0.2, 0.8) * reach + margin;
  } else if (poses == Poses::upright) {  // along an axis of the world, and maybe shifted along the others
    const int axis = draw.below(3);
    const bool is_centered = draw.below(2) == 0;
    for (int k = 0; k < 3; ++k) way[k] = k == axis ? 1 : is_centered ? 0 : 0.5 * draw.below(3) - 0.5;
    apart = draw(0, 0.8) * reach;
  }
  second.position = first.position + apart * way;
}
inline void perturb(Draws& draw, Shape& shape) {
  for (int i = 0; i < 3; ++i) {
    shape.position[i] += draw(-1e-15, 1e-15);
    for (int k = 0; k < 3; ++k) shape.turn[i][k] += draw(-1e-15, 1e-15);
  }
}

// Whether GJK and EPA round as libmujoco's do. libmujoco for other processors may use instructions that round a * b + c
// only once.
#if defined(__x86_64__)
constexpr bool kSameSearch = true;
#else
constexpr bool kSameSearch = false;
#endif
// Returns whether shapes are so deep in each other that searches which differ by rounding may find other faces.
inline bool is_deep(const std::vector<ShapeContact>& contacts) {
  constexpr double kShallow = 0.02;  // m
  return std::ranges::any_of(contacts, [](const ShapeContact& c) { return c.distance < -kShallow; });
}

inline void expect_equal(const Differences& found, double tolerance) {
  EXPECT_EQ(found.other_counts, 0);
  EXPECT_LE(found.distance, tolerance);
  EXPECT_LE(found.normal, tolerance);
  EXPECT_LE(found.point, tolerance);
}

}  // namespace drl::test
