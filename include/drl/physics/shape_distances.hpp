// The signed distance of two shapes, as libmujoco's mj_geomDistance computes it: with the closed forms and the GJK and
// EPA of contacts (collide.hpp), but also for shapes that are far apart.
#pragma once

#include "drl/physics/collide.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

// The distance, negative where the shapes overlap, and the points that it is between.
struct ShapeDistance {
  double distance;
  Vec3 on_a, on_b;
};

// By GJK, and by EPA if they overlap. Of shapes that are farther apart than `most`, the distance is at least `most`.
DRL_HD_CALLED ShapeDistance convex_distance(const Shape& a, const Shape& b, double most, const ConvexOptions& options) {
  Gjk search(Supported(a, 0), Supported(b, 0), options);
  Overlap overlap;
  const bool is_round = search.a.is_round() || search.b.is_round();
  bool is_known = is_round && find_shallow_overlap(search, overlap, most);
  if (!is_known) {
    search.run(most);
    const bool touches = search.distance <= options.tolerance && search.count > 1;
    if (!touches) return {search.distance, search.on_a, search.on_b};
    Polytope polytope(search);
    is_known = polytope.run(overlap.depth, overlap.on_a, overlap.on_b);
  }
  if (!is_known) return {0, search.on_a, search.on_b};
  return {-overlap.depth, overlap.on_a, overlap.on_b};
}

// By closed forms, of shapes whose kinds are in order.
DRL_HD_CALLED ShapeDistance closed_distance(const Shape& a, const Shape& b, double most) {
  ShapeContact contacts[kMostShapeContacts];
  ShapeDistance least{most, {0, 0, 0}, {0, 0, 0}};
  if (b.kind == ShapeKind::plane) return least;
  const int count = collide(a, b, most, {}, contacts);
  for (int c = 0; c < count; ++c) {
    const ShapeContact& contact = contacts[c];
    if (!(contact.distance < least.distance)) continue;
    least.distance = contact.distance;
    for (int k = 0; k < 3; ++k) {
      least.on_a[k] = contact.point[k] - 0.5 * contact.distance * contact.normal[k];
      least.on_b[k] = contact.point[k] + 0.5 * contact.distance * contact.normal[k];
    }
  }
  return least;
}

// Neither shape is a height field. If the shapes are not closer than `most`, or are two planes, the distance is at
// least `most`, and the points mean nothing.
DRL_HD ShapeDistance shape_distance(const Shape& a, const Shape& b, double most, const ConvexOptions& options) {
  const bool is_swapped = b.kind < a.kind;
  const Shape &first = is_swapped ? b : a, &second = is_swapped ? a : b;
  if (is_convex_pair(first.kind, second.kind) || (a.kind == ShapeKind::box && b.kind == ShapeKind::box))
    return convex_distance(a, b, most, options);  // in this order, on which the steps depend
  const ShapeDistance found = closed_distance(first, second, most);
  return is_swapped ? ShapeDistance{found.distance, found.on_b, found.on_a} : found;
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl
