// Compares the contacts of two shapes with those of libmujoco if the flag multiccd is set.
#include "drl/physics/multiccd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "shape_poses.hpp"

namespace drl {
namespace {

using physics::collide_multiccd, physics::HullFaces, physics::kMostShapeContacts;
using physics::Shape, physics::ShapeKind;
using namespace test;

struct Multiccd : testing::Test {
  Multiccd() { geoms.enable_multiccd(); }

  void compare(const GeomPose& a, const GeomPose& b, double margin, bool is_rounded, Draws& draw, Differences& found) {
    const std::vector<ShapeContact> expected = geoms.contacts(a, b, margin);
    Shape first = geoms.shape(0), second = geoms.shape(1);
    if (is_rounded) test::perturb(draw, first), test::perturb(draw, second);
    ShapeContact contacts[kMostShapeContacts];
    const int count = collide_multiccd(first, second, margin, kOptions, contacts);
    several += count > 1 ? 1 : 0;
    found.compare(expected, contacts, count);
  }

  TwoGeoms geoms;
  int several = 0;  // poses with several contacts
};

// Compares all pairs of kinds except planes in poses that are drawn as those of shapes_test.cpp are.
void compare_all(Multiccd& test, Poses poses) {
  for (int a = 1; a < kKinds; ++a)
    for (int b = a; b < kKinds; ++b) {
      const auto first = static_cast<ShapeKind>(a), second = static_cast<ShapeKind>(b);
      SCOPED_TRACE(std::string(kNames[a]) + "-" + kNames[b]);
      Draws draw(static_cast<uint32_t>(1000 + 10 * a + b));
      Differences found;
      test.several = 0;
      for (int n = 0; n < 3000; ++n) {
        const double margin = n % 2 == 0 ? 0 : 0.02;
        GeomPose of_a = draw_pose(draw, first, poses, test.geoms.meshes());
        GeomPose of_b = draw_pose(draw, second, poses, test.geoms.meshes());
        place(draw, poses, margin, test.geoms.radius(of_a) + test.geoms.radius(of_b), of_a, of_b);
        test.compare(of_a, of_b, margin, false, draw, found);
      }
      found.print(std::string(kNames[a]) + "-" + kNames[b] + ", several " + std::to_string(test.several));
      EXPECT_GT(found.touching, 200);
      EXPECT_GT(test.several, !physics::has_many_contacts(first, second) ? -1 : poses == Poses::upright ? 200 : 0);
      expect_equal(found, 1e-9);
    }
}
TEST_F(Multiccd, TouchesWhereLibmujocoDoes) {
  if (!kSameSearch) GTEST_SKIP() << "libmujoco rounds differently on this processor, or has other contacts";
  compare_all(*this, Poses::random);
}
TEST_F(Multiccd, TouchesWhereLibmujocoDoesIfFacesAreParallel) {
  if (!kSameSearch) GTEST_SKIP() << "libmujoco rounds differently on this processor, or has other contacts";
  compare_all(*this, Poses::upright);
}

// A side of a box or a mesh, or an edge with the mean of its two sides' normals, in the geom's axes.
struct Side {
  Vec3 normal, place;
};
// Returns the corners of all faces of a box or a mesh, anticlockwise from outside.
std::vector<std::vector<Vec3>> corners_of(const TwoGeoms& geoms, const GeomPose& pose) {
  std::vector<std::vector<Vec3>> all;
  if (pose.kind == ShapeKind::mesh) {
    const auto& faces = geoms.faces(pose.mesh);
    for (size_t f = 0; f < faces.normals.size(); ++f) {
      all.emplace_back();
      for (int k = faces.first_corner[f]; k < faces.first_corner[f + 1]; ++k) {
        const auto& v = geoms.hull(pose.mesh).vertices[static_cast<size_t>(faces.corners[static_cast<size_t>(k)])];
        all.back().push_back({v[0], v[1], v[2]});
      }
    }
    return all;
  }
  for (int axis = 0; axis < 3; ++axis)
    for (const int sign : {1, -1}) {
      all.emplace_back();
      for (int k = 0; k < 4; ++k) {
        const int u = (axis + 1) % 3, v = (axis + 2) % 3;
        Vec3 corner;
        corner[axis] = sign * pose.size[axis];
        corner[u] = (k == 1 || k == 2 ? -1 : 1) * pose.size[u], corner[v] = (k >= 2 ? -sign : sign) * pose.size[v];
        all.back().push_back(corner);
      }
    }
  return all;
}
Vec3 normal_of(const std::vector<Vec3>& corners) {
  return unit(cross(corners[1] - corners[0], corners[2] - corners[0]));
}
std::vector<Side> sides_of(const TwoGeoms& geoms, const GeomPose& pose, bool wants_edges) {
  std::vector<Side> all;
  const auto faces = corners_of(geoms, pose);
  for (const auto& face : faces)
    for (size_t k = 0; k < face.size(); ++k) {
      const Vec3 &start = face[k], &end = face[(k + 1) % face.size()];
      if (!wants_edges) {
        Vec3 middle{0, 0, 0};
        for (const Vec3& corner : face) middle = middle + 1.0 / static_cast<double>(face.size()) * corner;
        all.push_back({normal_of(face), middle});
        break;
      }
      for (const auto& other : faces)
        for (size_t i = 0; i < other.size() && &other != &face; ++i)
          if (length(other[i] - end) < 1e-6 && length(other[(i + 1) % other.size()] - start) < 1e-6)
            all.push_back({unit(normal_of(face) + normal_of(other)), 0.5 * (start + end)});
    }
  return all;
}
Vec3 turned(const double* quat, const Vec3& v) {
  double to[3];
  mju_rotVecQuat(to, v.at, quat);
  return {to[0], to[1], to[2]};
}
void turn_further(const Vec3& axis, double angle, double* quat) {
  double by[4], before[4];
  mju_copy4(before, quat), mju_axisAngle2Quat(by, axis.at, angle), mju_mulQuat(quat, by, before);
}
// Lays a side of the second geom onto a side of the first, shifted sideways, deeper by `depth`, and tilted.
void lay(Draws& draw, const Side& on, const Side& side, double tilt, double depth, const GeomPose& first,
         GeomPose& second) {
  const Vec3 normal = turned(first.quat, on.normal);
  draw.turn(second.quat);
  const Vec3 from = turned(second.quat, side.normal), axis = cross(from, -normal);
  turn_further(unit(axis), std::atan2(length(axis), dot(from, -normal)), second.quat);
  turn_further(normal, draw(0, 6), second.quat);
  const Vec3 across = unit(cross(normal, draw.direction()));
  turn_further(across, tilt, second.quat);
  const Vec3 shift = draw(0, 0.1) * unit(cross(normal, draw.direction()));
  second.position =
      first.position + turned(first.quat, on.place) + shift - depth * normal - turned(second.quat, side.place);
}

// Compares boxes and meshes of which a side or an edge of one lies on a side of the other.
Differences compare_lying(Multiccd& test, ShapeKind first, bool has_edges, bool is_rounded, double margin) {
  // Faces are opposite, and edges lie along them, up to 0.0016, or up to 0.0889 since MuJoCo 4.0.
  constexpr double kTilts[2][8] = {{0, 1e-7, 1e-4, 1e-3, 1.5e-3, 1.7e-3, 3e-3, 1e-2},
                                   {0, 1e-7, 1e-4, 1e-2, 0.07, 0.088, 0.09, 0.15}};
  Draws draw(static_cast<uint32_t>(2000 + 10 * static_cast<int>(first) + has_edges));
  Differences found;
  test.several = 0;
  for (int n = 0; n < 3000; ++n) {
    GeomPose poses[2] = {draw_pose(draw, first, Poses::random, test.geoms.meshes()),
                         draw_pose(draw, ShapeKind::mesh, Poses::random, test.geoms.meshes())};
    const int below = draw.below(2);
    GeomPose &lower = poses[below], &upper = poses[1 - below];
    lower.position = {0.1, -0.2, 0.3};
    const auto sides = sides_of(test.geoms, lower, false), others = sides_of(test.geoms, upper, has_edges);
    lay(draw, sides[static_cast<size_t>(draw.below(static_cast<int>(sides.size())))],
        others[static_cast<size_t>(draw.below(static_cast<int>(others.size())))],
        kTilts[mujoco::kSidesTouch ? 1 : 0][draw.below(8)], draw.below(2) == 0 ? draw(0, 1e-4) : draw(0, 0.01), lower,
        upper);
    test.compare(poses[0], poses[1], margin, is_rounded, draw, found);
  }
  found.print(std::string(has_edges ? "edge " : "side ") + kNames[static_cast<int>(first)] + "-mesh, margin " +
              std::to_string(margin) + ", several " + std::to_string(test.several));
  EXPECT_GT(found.touching, 1500);
  EXPECT_GT(test.several, 1000);
  return found;
}
TEST_F(Multiccd, TouchesWhereLibmujocoDoesIfASideOrAnEdgeLiesOnASide) {
  if (!kSameSearch) GTEST_SKIP() << "libmujoco rounds differently on this processor, or has other contacts";
  for (const ShapeKind first : {ShapeKind::box, ShapeKind::mesh})
    for (const bool has_edges : {false, true})
      for (const double margin : {0.0, 0.02}) expect_equal(compare_lying(*this, first, has_edges, false, margin), 1e-9);
}
TEST_F(Multiccd, RarelyAmplifiesRounding) {
  for (const ShapeKind first : {ShapeKind::box, ShapeKind::mesh})
    for (const bool has_edges : {false, true}) {
      const Differences found = compare_lying(*this, first, has_edges, true, 0);
      EXPECT_LE(found.share(), 0.01);
    }
}

// Moves meshes that overlap a little in small steps.
TEST_F(Multiccd, TouchesAsWellIfAMemoryIsKept) {
  Draws draw(3);
  int steps_with_several = 0;
  for (int n = 0; n < 1500; ++n) {
    const Poses poses = n % 2 == 0 ? Poses::upright : Poses::random;
    GeomPose a = draw_pose(draw, ShapeKind::mesh, poses, geoms.meshes());
    GeomPose b = draw_pose(draw, ShapeKind::mesh, poses, geoms.meshes());
    const Vec3 along = draw.direction();
    geoms.overlap(a, b, draw.direction(), 0.002);
    physics::PairMemory memory{};
    for (int step = 0; step < 20; ++step) {
      b.position = b.position + 1e-4 * along, b.quat[1] += 2e-3, mju_normalize4(b.quat);
      geoms.contacts(a, b, 0);
      const Shape first = geoms.shape(0), second = geoms.shape(1);
      ShapeContact with[kMostShapeContacts], without[kMostShapeContacts];
      const int count = collide_multiccd(first, second, 0, kOptions, without);
      ASSERT_EQ(collide_multiccd(first, second, 0, kOptions, with, &memory), count);
      steps_with_several += count > 1 ? 1 : 0;
      for (int c = 0; c < count; ++c) {
        EXPECT_EQ(with[c].distance, without[c].distance);
        for (int k = 0; k < 3; ++k) EXPECT_EQ(with[c].point[k], without[c].point[k]);
      }
    }
  }
  EXPECT_GT(steps_with_several, 1000);
}

// The faces of a mesh cover its hull: each corner lies in the face's plane and no vertex above it, and an edge of one
// face is an edge of exactly one other face, in the opposite direction.
TEST_F(Multiccd, FacesCoverTheHull) {
  EXPECT_EQ(geoms.faces(test::kBoxMesh).normals.size(), 6u);
  for (int mesh = 0; mesh < geoms.meshes(); ++mesh) {
    const HullFaces faces = geoms.faces(mesh).view();
    const auto& vertices = geoms.hull(mesh).vertices;
    const auto count = static_cast<int>(geoms.faces(mesh).normals.size());
    std::multiset<std::pair<int, int>> edges;
    for (int f = 0; f < count; ++f) {
      const double* normal = faces.normals[f];
      const auto height = [&](int v) {
        const auto& at = vertices[static_cast<size_t>(v)];
        return normal[0] * at[0] + normal[1] * at[1] + normal[2] * at[2];
      };
      const double top = height(faces.corners[faces.first_corner[f]]);
      for (int v = 0; v < static_cast<int>(vertices.size()); ++v) EXPECT_LE(height(v), top + 1e-6);
      for (int k = faces.first_corner[f]; k < faces.first_corner[f + 1]; ++k) {
        const int corner = faces.corners[k], next = k + 1 < faces.first_corner[f + 1] ? k + 1 : faces.first_corner[f];
        EXPECT_NEAR(height(corner), top, 1e-6);
        edges.emplace(corner, faces.corners[next]);
        const int* first = faces.faces + faces.first_face[corner];
        const int* last = faces.faces + faces.first_face[corner + 1];
        EXPECT_EQ(std::count(first, last, f), 1);
      }
    }
    for (const auto& [start, end] : edges) {
      EXPECT_EQ(edges.count({start, end}), 1u);
      EXPECT_EQ(edges.count({end, start}), 1u);
    }
  }
}

}  // namespace
}  // namespace drl
