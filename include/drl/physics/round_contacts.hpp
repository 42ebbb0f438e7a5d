// Contacts between spheres, capsules and cylinders, and of spheres and capsules with boxes, as far as they have a
// closed form.
#pragma once

#include "drl/physics/boxes.hpp"
#include "drl/physics/shapes.hpp"

namespace drl::inline DRL_ISA::physics {

// Adds the contact of two balls around points of shapes a and b. If the points coincide, the normal is perpendicular
// to the z axes of both shapes.
DRL_HD void collide_balls(const Shape& a, const Vec3& a_at, double a_radius, const Shape& b, const Vec3& b_at,
                          double b_radius, ContactList& list) {
  const Vec3 way = b_at - a_at;
  const double apart = length(way), distance = apart - a_radius - b_radius;
  if (!(distance < list.margin())) return;
  const Vec3 normal = apart < kNoLength ? unit(cross(a.axis(2), b.axis(2))) : 1 / apart * way;
  list.add(a_at + (a_radius + 0.5 * distance) * normal, normal, distance);
}

// The square of the sine of an angle below which the axes of capsules that overlap are parallel.
constexpr double kSquareOfParallel = 1e-8;

DRL_HD void collide_sphere_capsule(const Shape& sphere, const Shape& capsule, ContactList& list) {
  const Vec3 axis = capsule.axis(2), at = sphere.center();
  const double place = clamp(dot(axis, at - capsule.center()), capsule.size[1]);
  collide_balls(sphere, at, sphere.size[0], capsule, place * axis + capsule.center(), capsule.size[0], list);
}

DRL_HD void collide_sphere_cylinder(const Shape& sphere, const Shape& cylinder, ContactList& list) {
  const double radius = cylinder.size[0], half = cylinder.size[1];
  const Vec3 axis = cylinder.axis(2), at = sphere.center(), apart = at - cylinder.center();
  const double along = dot(axis, apart), side = along > 0 ? 1 : -1;
  const Vec3 across = apart - along * axis;
  const double square = dot(across, across);
  bool beside = std::abs(along) < half, over_end = square < radius * radius;
  if (beside && over_end) {  // the centre is inside: the nearer surface counts
    beside = !(half - std::abs(along) < radius - std::sqrt(square));
    over_end = !beside;
  }
  if (beside)
    return collide_balls(sphere, at, sphere.size[0], cylinder, along * axis + cylinder.center(), radius, list);
  if (over_end) {
    const Vec3 up = side * axis;
    const double distance = dot(at - (cylinder.center() + half * up), up) - sphere.size[0];
    return list.add(at - (0.5 * distance + sphere.size[0]) * up, -up, distance);
  }
  const Vec3 rim = side * half * axis + radius / std::sqrt(square) * across + cylinder.center();
  collide_balls(sphere, at, sphere.size[0], cylinder, rim, 0, list);
}

// Adds one contact, or two if the axes are parallel: at the ends of their common part. The steps are those of MuJoCo
// since 3.16.
DRL_HD void collide_overlapping_capsules(const Shape& a, const Shape& b, ContactList& list) {
  const Vec3 half_a = a.size[1] * a.axis(2), half_b = b.size[1] * b.axis(2);
  const Vec3 start_a = a.center() - half_a, start_b = b.center() - half_b, apart = start_a - start_b;
  const Vec3 along_a = a.center() + half_a - start_a, along_b = b.center() + half_b - start_b;
  const double aa = dot(along_a, along_a), bb = dot(along_b, along_b), ab = dot(along_a, along_b);
  const double off_a = dot(along_a, apart), off_b = dot(along_b, apart);
  const auto share = [](double x) DRL_LAMBDA { return x < 0 ? 0 : x > 1 ? 1 : x; };
  // Adds the contact at a place of a, from 0 to 1, or where the nearest end of b is nearest to a.
  const auto add = [&](double x, double y) DRL_LAMBDA {
    if (y < 0) x = share(-off_a / aa), y = 0;
    if (y > 1) x = share((ab - off_a) / aa), y = 1;
    collide_balls(a, x * along_a + start_a, a.size[0], b, y * along_b + start_b, b.size[0], list);
  };
  const Vec3 across = cross(along_a, along_b);
  const double square = dot(across, across);
  if (square > kSquareOfParallel * aa * bb) {
    const double x = share(dot(across, cross(along_b, apart)) / square);
    return add(x, (ab * x + off_b) / bb);
  }
  add(0, off_b / bb), add(1, (off_b + ab) / bb);
}
// Adds one contact, or up to two if the axes are parallel: the first two of the four ends that touch, each at the
// nearest place of the other axis. `overlap` is that of ConvexOptions.
DRL_HD void collide_capsules(const Shape& a, const Shape& b, bool overlap, ContactList& list) {
  if (overlap) return collide_overlapping_capsules(a, b, list);
  const Vec3 half_a = a.size[1] * a.axis(2), half_b = b.size[1] * b.axis(2), apart = a.center() - b.center();
  const double aa = dot(half_a, half_a), ab = dot(half_a, half_b), bb = dot(half_b, half_b);
  const double off_a = -dot(half_a, apart), off_b = dot(half_b, apart), determinant = aa * bb - ab * ab;
  const auto on_a = [&](double y) DRL_LAMBDA { return (off_a + ab * y) / aa; };  // nearest to place y of b
  const auto on_b = [&](double x) DRL_LAMBDA { return (off_b + ab * x) / bb; };
  const auto add = [&](double x, double y) DRL_LAMBDA {
    collide_balls(a, x * half_a + a.center(), a.size[0], b, y * half_b + b.center(), b.size[0], list);
  };
  if (std::abs(determinant) >= kNoLength) {
    double x = (bb * off_a + ab * off_b) / determinant, y = (aa * off_b + ab * off_a) / determinant;
    if (std::abs(x) > 1) x = x > 0 ? 1 : -1, y = on_b(x);
    if (std::abs(y) > 1) y = y > 0 ? 1 : -1, x = clamp(on_a(y), 1);
    return add(x, y);
  }
  for (int x = 1; x >= -1; x -= 2) add(x, clamp(on_b(x), 1));
  for (int y = 1; y >= -1 && list.count() < 2; y -= 2) add(clamp(on_a(y), 1), y);
}

// Adds the contact of a ball with a box. `at` is the ball's centre, relative to the box and in its axes. If it is
// inside the box, the normal is that of the nearest face. (nearest_of_box() in boxes.hpp does the same in lanes.)
DRL_HD void collide_ball_box(const Vec3& at, double radius, const Shape& box, ContactList& list) {
  Vec3 way, inwards{0, 0, 0};
  for (int k = 0; k < 3; ++k) way[k] = clamp(at[k], box.size[k]) - at[k];
  double distance = length(way);
  if (!(distance - radius < list.margin())) return;
  if (distance > kNoLength) {
    way = 1 / distance * way;
  } else {
    double depth = 1e300;
    for (int face = 0; face < 6; ++face) {
      const int axis = face / 2, side = face % 2 == 0 ? -1 : 1;
      if (const double to_face = std::abs(side * box.size[axis] - at[axis]); to_face < depth)
        depth = to_face, inwards = {0, 0, 0}, inwards[axis] = -side;
    }
    way = inwards, distance = -depth;
  }
  distance -= radius;
  list.add(box.to_world(at + (radius + 0.5 * distance) * way), box.out_of(way), distance);
}
DRL_HD void collide_sphere_box(const Shape& sphere, const Shape& box, ContactList& list) {
  collide_ball_box(box.into(sphere.center() - box.center()), sphere.size[0], box, list);
}
DRL_HD_CALLED void collide_capsule_box(const Shape& capsule, const Shape& box, ContactList& list) {
  const Vec3 center = box.into(capsule.center() - box.center());
  const Vec3 half = capsule.size[1] * box.into(capsule.axis(2));
  for (int k = 0; k < 3; ++k)
    if (std::abs(center[k]) - std::abs(half[k]) > box.size[k] + capsule.size[0] + list.margin()) return;
  const AxisAndBox<double> places(center.at, half.at, box.size);
  // Adds the contact of the ball around a place of the axis. It goes to the world and back as in MuJoCo: inside a box,
  // its rounding may decide between opposite faces.
  const auto add = [&](double place) DRL_LAMBDA {
    const Vec3 at = box.to_world(center + place * half);
    collide_ball_box(box.into(at - box.center()), capsule.size[0], box, list);
  };
  add(places.first());
  if (const double second = places.second(); second < 2) add(second);
}

}  // namespace drl::inline DRL_ISA::physics
