#include "physics/mesh_hulls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "two_geoms.hpp"

namespace drl {
namespace {

using robot_compiler::MeshHull;

std::set<int> neighbours_of(const physics::Hull& hull, int vertex) {
  return {hull.neighbours + hull.first_neighbour[vertex], hull.neighbours + hull.first_neighbour[vertex + 1]};
}

TEST(MeshHulls, LeaveOutPointsInside) {
  const test::TwoGeoms geoms;
  const MeshHull& box = geoms.hull(test::kBoxMesh);
  EXPECT_EQ(box.vertices.size(), 8u);  // of 38
  EXPECT_TRUE(box.climbs);
  EXPECT_NEAR(box.radius, std::sqrt(0.1 * 0.1 + 0.2 * 0.2 + 0.15 * 0.15), 1e-6);
  for (const auto& v : box.vertices) {
    EXPECT_NEAR(std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]), 0.45, 1e-6);
  }
}

// A polytope whose faces are triangles has 3 n - 6 edges (Euler).
TEST(MeshHulls, ConnectVerticesByEdges) {
  const test::TwoGeoms geoms;
  for (int mesh = 0; mesh < geoms.meshes(); ++mesh) {
    const physics::Hull hull = geoms.hull(mesh).view();
    if (mujoco::kConfusesSmallMeshes && !hull.climbs) continue;
    int edges = 0, on_hull = 0;
    for (int v = 0; v < hull.count; ++v) {
      const std::set<int> neighbours = neighbours_of(hull, v);
      edges += static_cast<int>(neighbours.size()), on_hull += neighbours.empty() ? 0 : 1;
      EXPECT_FALSE(neighbours.contains(v));
      for (const int n : neighbours) EXPECT_TRUE(neighbours_of(hull, n).contains(v)) << v << " and " << n;
    }
    EXPECT_EQ(edges / 2, 3 * on_hull - 6) << mesh;
    EXPECT_FALSE(neighbours_of(hull, hull.start).empty());
  }
}

TEST(MeshHulls, AreWrittenAsTables) {
  const MeshHull hull{.vertices = {{0.5f, -1, 0}, {0.25f, 2, 3}},
                      .first_neighbour = {0, 1, 2},
                      .neighbours = {1, 0},
                      .start = 1,
                      .climbs = true,
                      .radius = 1.5};
  EXPECT_EQ(robot_compiler::emit_hull(hull, "foot"),
            "  DRL_HD static Hull foot() {\n"
            "  static constexpr float vertices[][3] = {{0.5f, -1.0f, 0.0f}, {0.25f, 2.0f, 3.0f}};\n"
            "  static constexpr int first_neighbour[] = {0, 1, 2};\n"
            "  static constexpr int neighbours[] = {1, 0};\n"
            "  return {vertices, 2, first_neighbour, neighbours, 1, true, 1.5};\n"
            "  }\n");
  MeshHull newer = hull;  // of MuJoCo 3.12 or later
  newer.counts_start = true, newer.starts = {1, 0};
  const std::string text = robot_compiler::emit_hull(newer, "foot");
  EXPECT_NE(text.find("  static constexpr int starts[] = {1, 0};\n"), std::string::npos) << text;
  EXPECT_NE(text.find(", 1, true, 1.5, true, starts};\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace drl
