// Compares the contacts of two shapes with those of libmujoco, for every pair of kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "drl/physics/collide.hpp"
#include "shape_poses.hpp"

namespace drl {
namespace {

using physics::kMostShapeContacts, physics::Shape, physics::ShapeKind;
using namespace test;

constexpr const char* kPoseNames[] = {"", "upright ", "rounded "};

bool is_closed_form(ShapeKind a, ShapeKind b) {
  using enum ShapeKind;
  return a == plane || (a == sphere && b != ellipsoid && b != mesh) || (a == capsule && (b == capsule || b == box)) ||
         (a == box && b == box);
}

// GJK and EPA end within their tolerance (1e-6 m) of the depth. On a curved surface, the normal is then accurate to
// about its square root.
void expect_close(const Differences& found) {
  EXPECT_LE(found.share(), 0.001);
  EXPECT_LE(found.distance, 1e-6);
  EXPECT_LE(found.normal, 0.02);
  EXPECT_LE(found.point, 0.002);
}
bool are_close(const std::vector<ShapeContact>& expected, const ShapeContact* actual, size_t count) {
  Differences found;
  found.compare(expected, actual, static_cast<int>(count));
  return found.other_counts == 0 && found.distance <= 1e-6 && found.normal <= 0.02 && found.point <= 0.002;
}
// Returns whether libmujoco finds other contacts if the poses change by rounding errors. EPA ends after 35 steps, which
// are not enough for some meshes that are deep in each other.
bool is_unsteady(TwoGeoms& geoms, const GeomPose& a, const GeomPose& b, double margin,
                 const std::vector<ShapeContact>& expected) {
  Draws draw(3);
  for (int n = 0; n < 20; ++n) {
    GeomPose other = b;
    for (double& x : other.position.at) x += draw(-1e-15, 1e-15);
    for (double& x : other.quat) x += draw(-1e-15, 1e-15);
    const std::vector<ShapeContact> contacts = geoms.contacts(a, other, margin);
    if (!are_close(expected, contacts.data(), contacts.size())) return true;
  }
  return false;
}

Differences compare_kinds(TwoGeoms& geoms, ShapeKind first, ShapeKind second, Poses poses, int count) {
  Draws draw(
      static_cast<uint32_t>(100 * static_cast<int>(poses) + 10 * static_cast<int>(first) + static_cast<int>(second)));
  Differences found;
  ShapeContact contacts[kMostShapeContacts];
  for (int n = 0; n < count; ++n) {
    const double margin = n % 3 == 0 ? 0 : n % 3 == 1 ? 0.02 : draw(0, 0.1);
    GeomPose a = draw_pose(draw, first, poses, geoms.meshes()), b = draw_pose(draw, second, poses, geoms.meshes());
    place(draw, poses, margin, geoms.radius(a) + geoms.radius(b), a, b);
    const std::vector<ShapeContact> expected = geoms.contacts(a, b, margin);
    if (!kSameSearch && !is_closed_form(first, second) && is_deep(expected)) continue;
    Shape shape_a = geoms.shape(0), shape_b = geoms.shape(1);
    if (poses == Poses::rounded) perturb(draw, shape_a), perturb(draw, shape_b);
    const int count = collide(shape_a, shape_b, margin, kOptions, contacts);
    if (poses == Poses::rounded && !are_close(expected, contacts, static_cast<size_t>(count)) &&
        is_unsteady(geoms, a, b, margin, expected))
      found.unsteady += 1;
    else
      found.compare(expected, contacts, count);
  }
  EXPECT_LE(found.unsteady, found.poses / 2000);
  return found;
}
// Compares all pairs of kinds. judge(differences, is_closed_form) checks the result.
template <class Judge>
void compare_all(Poses poses, const Judge& judge) {
  TwoGeoms geoms;
  for (int a = 0; a < kKinds; ++a)
    for (int b = std::max(a, 1); b < kKinds; ++b) {
      const auto first = static_cast<ShapeKind>(a), second = static_cast<ShapeKind>(b);
      const std::string what = std::string(kPoseNames[static_cast<int>(poses)]) + kNames[a] + "-" + kNames[b];
      SCOPED_TRACE(what);
      const Differences found = compare_kinds(geoms, first, second, poses, kSameSearch ? 4000 : 16000);
      found.print(what);
      EXPECT_GT(found.touching, 300);
      judge(found, is_closed_form(first, second));
    }
}

TEST(Shapes, TouchWhereLibmujocosDo) {
  compare_all(Poses::random, [](const Differences& found, bool is_closed) {
    if (kSameSearch || is_closed)
      expect_equal(found, 1e-11);
    else
      expect_close(found);
  });
}

// Where faces, edges or corners coincide, MuJoCo's choice of points depends on the order of its operations.
TEST(Shapes, TouchWhereLibmujocosDoIfFacesAreParallel) {
  if (!kSameSearch) GTEST_SKIP() << "libmujoco rounds differently on this processor";
  compare_all(Poses::upright, [](const Differences& found, bool) { expect_equal(found, 1e-11); });
}

TEST(Shapes, DoNotAmplifyRounding) {
  compare_all(Poses::rounded, [](const Differences& found, bool is_closed) {
    if (is_closed)
      expect_equal(found, 1e-9);
    else
      expect_close(found);
  });
}

Differences compare_with_height_field(TwoGeoms& geoms, ShapeKind kind, Poses poses, int count) {
  Draws draw(static_cast<uint32_t>(kind));
  Differences found;
  for (int n = 0; n < count; ++n) {
    const double margin = n % 2 == 0 ? 0 : 0.02;
    GeomPose field{.kind = ShapeKind::prism}, shape = draw_pose(draw, kind, poses, geoms.meshes());
    draw.turn(field.quat);
    double turn[9];
    mju_quat2Mat(turn, field.quat);
    for (int k = 0; k < 3; ++k) {
      shape.size[k] *= 0.5, field.position[k] = draw(-1, 1), shape.position[k] = field.position[k];
      for (int i = 0; i < 3; ++i) shape.position[k] += turn[3 * k + i] * (i < 2 ? draw(-0.7, 0.7) : draw(0, 0.5));
    }
    const std::vector<ShapeContact> expected = geoms.contacts(field, shape, margin);
    if (!kSameSearch && is_deep(expected)) continue;
    std::vector<ShapeContact> contacts;
    const physics::HeightField hills = geoms.height_field();
    physics::OverField(hills, geoms.shape(1), margin, kOptions).each_contact([&](const ShapeContact& c) {
      contacts.push_back(c);
    });
    found.compare(expected, contacts.data(), static_cast<int>(contacts.size()));
  }
  return found;
}
TEST(HeightFields, TouchWhereLibmujocosDo) {
  TwoGeoms geoms;
  for (int k = 1; k < kKinds; ++k) {
    const Differences found =
        compare_with_height_field(geoms, static_cast<ShapeKind>(k), Poses::random, kSameSearch ? 2000 : 8000);
    found.print(std::string("height field-") + kNames[k]);
    EXPECT_GT(found.touching, 150);
    if (kSameSearch)
      expect_equal(found, 1e-11);
    else
      expect_close(found);
  }
}

// Two fingers that turn about parallel axes: a corner of one lies on the border of the other, so that several
// computations give the same point. libmujoco compares their world coordinates, and so do shapes with an origin.
TEST(Shapes, CountCornersOfParallelBoxesAsLibmujocoDoes) {
  TwoGeoms geoms;
  Draws draw(2);
  int touching = 0, other_counts = 0;
  for (int n = 0; n < 2000; ++n) {
    GeomPose a{.kind = ShapeKind::box, .size = {0.011, 0.0011, 0.0045}}, b = a;
    double finger_turn[4], of_hand[4], about_axis[2][4];
    draw.turn(of_hand);
    const double axis[3] = {1, 0, 0};
    const Vec3 hand = 0.8 * draw.direction(), apart{0, draw(-0.005, 0.005), draw(-0.008, 0.008)};
    for (double* turn : {about_axis[0], about_axis[1]}) mju_axisAngle2Quat(turn, axis, draw(-3, 3));
    mju_mulQuat(a.quat, of_hand, about_axis[0]);
    mju_mulQuat(finger_turn, of_hand, about_axis[1]), std::copy_n(finger_turn, 4, b.quat);
    double way[3];
    mju_rotVecQuat(way, apart.at, of_hand);
    a.position = hand, b.position = hand + Vec3{way[0], way[1], way[2]};
    const std::vector<ShapeContact> expected = geoms.contacts(a, b, 0);
    Shape shapes[] = {geoms.shape(0), geoms.shape(1)};
    for (int k = 0; k < 3; ++k) {
      const double origin = shapes[0].position[k];
      for (Shape& shape : shapes) shape.position[k] -= origin, shape.origin[k] = origin;
    }
    ShapeContact found[kMostShapeContacts];
    touching += expected.empty() ? 0 : 1;
    other_counts += collide(shapes[0], shapes[1], 0, kOptions, found) != static_cast<int>(expected.size());
  }
  std::printf("%d of 2000 poses touch; other counts %d\n", touching, other_counts);
  EXPECT_GT(touching, 300);
  EXPECT_LE(other_counts, touching / 100);
}

// Moves convex shapes past each other in small steps. What is remembered is a lower bound of their distance.
TEST(Shapes, TouchAsWellIfAMemoryIsKept) {
  TwoGeoms geoms;
  Draws draw(1);
  int touching = 0, apart = 0;
  for (int n = 0; n < 1000; ++n) {
    const ShapeKind kinds[] = {ShapeKind::capsule, ShapeKind::ellipsoid, ShapeKind::cylinder, ShapeKind::mesh};
    const ShapeKind first = kinds[draw.below(4)];
    GeomPose a = draw_pose(draw, first, Poses::random, geoms.meshes());
    GeomPose b = draw_pose(draw, ShapeKind::mesh, Poses::random, geoms.meshes());
    const Vec3 along = draw.direction(), aside = 0.3 * draw.direction();
    physics::PairMemory memory{};
    for (int step = -10; step <= 10; ++step) {
      b.position = aside + 0.05 * step * along, b.quat[1] += 0.03, mju_normalize4(b.quat);
      geoms.contacts(a, b, 0.01);
      ShapeContact with[kMostShapeContacts], without[kMostShapeContacts];
      const Shape shape_a = geoms.shape(0), shape_b = geoms.shape(1);
      const int count = collide(shape_a, shape_b, 0.01, kOptions, without);
      ASSERT_EQ(collide(shape_a, shape_b, 0.01, kOptions, with, &memory), count);
      for (int c = 0; c < count; ++c) EXPECT_EQ(with[c].distance, without[c].distance);
      touching += count;
      if (!(memory.gap > 0)) continue;
      apart += 1;
      double points[6];
      EXPECT_LE(memory.gap, geoms.distance(a, b, 10, points) + 1e-6);
    }
  }
  EXPECT_GT(apart, 1000);
  EXPECT_GT(touching, 1000);
  EXPECT_LT(touching, 20000);
}

// Moves meshes that overlap in small steps.
TEST(Shapes, KeptFacesGiveTheResultsOfNewSearches) {
  TwoGeoms geoms;
  Draws draw(2);
  int held = 0, tried = 0;
  for (int n = 0; n < 600; ++n) {
    GeomPose a = draw_pose(draw, ShapeKind::mesh, Poses::random, geoms.meshes());
    GeomPose b = draw_pose(draw, ShapeKind::mesh, Poses::random, geoms.meshes());
    const Vec3 along = draw.direction();
    geoms.overlap(a, b, draw.direction(), 0.002);
    physics::KeptFace kept{};
    for (int step = 0; step < 30; ++step) {
      b.position = b.position + 1e-4 * along, b.quat[1] += 2e-3, mju_normalize4(b.quat);
      geoms.contacts(a, b, 0);
      const Shape shape_a = geoms.shape(0), shape_b = geoms.shape(1);
      const auto begin = [&] { return physics::Gjk({shape_a, 0}, {shape_b, 0}, kOptions); };
      physics::Gjk by_face = begin(), anew = begin(), next = begin();
      physics::Overlap actual, expected, last;
      physics::DifferencePoint corners[3];
      const bool overlaps = find_overlap(anew, expected);
      tried += kept.exists() ? 1 : 0;
      if (kept.exists() && overlap_by(kept, by_face, actual.depth, actual.on_a, actual.on_b, corners)) {
        held += 1;
        ASSERT_TRUE(overlaps);
        EXPECT_EQ(actual.depth, expected.depth);
        for (int k = 0; k < 3; ++k) {
          EXPECT_EQ(actual.on_a[k], expected.on_a[k]);
          EXPECT_EQ(actual.on_b[k], expected.on_b[k]);
        }
      }
      EXPECT_EQ(find_overlap(next, last, nullptr, &kept), overlaps);
    }
  }
  EXPECT_GT(held, 1000);
  EXPECT_GT(tried, held + 1000);
}

}  // namespace
}  // namespace drl
