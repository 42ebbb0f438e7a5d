// How two convex shapes overlap: by GJK alone where only a sphere's or a capsule's surface is inside the other shape,
// and otherwise by GJK and EPA.
#pragma once

#include "drl/physics/kept_faces.hpp"

namespace drl::inline DRL_ISA::physics {

// The points of both shapes that are deepest in the other.
struct Overlap {
  Vec3 on_a, on_b;
  double depth;

  DRL_HD Vec3 middle() const { return 0.5 * (on_a + on_b); }
  DRL_HD Vec3 normal() const { return unit(on_a - on_b); }
};

// Returns whether a shape is another one that was grown: a sphere, a capsule, or with ConvexOptions::is_stable a shape
// with a margin.
DRL_HD bool is_grown(const Supported& shape, const ConvexOptions& options) {
  return shape.is_round() || (options.is_stable && shape.inflation > 0);
}
// Tries whether the shapes that were grown, as the centre of a sphere or the axis of a capsule, are outside of each
// other. Then their distance decides, and the shapes overlap if the depth is positive. Returns false if they are not;
// then the search starts anew. Distances of the surfaces up to `most` are computed, too.
DRL_HD bool find_shallow_overlap(Gjk& search, Overlap& overlap, double most = 0) {
  const Supported a = search.a, b = search.b;
  double grown[2] = {0, 0};
  Supported* shapes[2] = {&search.a, &search.b};
  for (int k = 0; k < 2; ++k) {
    if (!is_grown(*shapes[k], search.options)) continue;
    grown[k] = shapes[k]->inflation;
    shapes[k]->inflation = 0;
    if (shapes[k]->is_round()) grown[k] = shapes[k]->radius + grown[k], shapes[k]->radius = 0;
  }
  search.run(most + grown[0] + grown[1]);
  if (search.distance > search.options.tolerance) {
    const Vec3 way = unit(search.on_b - search.on_a);
    overlap = {search.on_a + grown[0] * way, search.on_b - grown[1] * way, grown[0] + grown[1] - search.distance};
    return true;
  }
  const int vertex_a = search.a.vertex, vertex_b = search.b.vertex;
  search = Gjk(a, b, search.options);
  search.a.vertex = vertex_a, search.b.vertex = vertex_b;
  return false;
}

// Returns whether the shapes of a search that has not begun overlap, and how. If they do not and `distance` is kFar
// afterwards, `apart` of the search says how they are apart. If they do, `deepest` [3] becomes the points of their
// difference that decide it, of which some may repeat; it may be null. So may `kept`, which is kept for these shapes
// from call to call.
DRL_HD_CALLED bool find_overlap(Gjk& search, Overlap& overlap, DifferencePoint* deepest = nullptr,
                                KeptFace* kept = nullptr) {
  const bool are_meshes = can_keep_face(search.a, search.b);
  DifferencePoint own[3];
  if (are_meshes && deepest == nullptr) deepest = own;
  if (are_meshes && kept != nullptr && kept->exists()) {
    if (overlap_by(*kept, search, overlap.depth, overlap.on_a, overlap.on_b, deepest)) return search.distance = 0, true;
    kept->forget();
  }
  if ((is_grown(search.a, search.options) || is_grown(search.b, search.options)) &&
      find_shallow_overlap(search, overlap)) {
    for (int k = 0; k < 3 && deepest != nullptr; ++k) deepest[k] = search.simplex[k < search.count ? k : 0];
    return overlap.depth > 0;
  }
  search.run(0);
  if (!search.has_overlap()) return false;
  Polytope polytope(search);
  const bool overlaps = (deepest != nullptr ? polytope.run(overlap.depth, overlap.on_a, overlap.on_b, deepest)
                                            : polytope.run(overlap.depth, overlap.on_a, overlap.on_b)) &&
                        overlap.depth > 0;
  if (overlaps && are_meshes) settle(search, deepest, overlap.depth, overlap.on_a, overlap.on_b);
  if (overlaps && are_meshes && kept != nullptr) keep_face(search, deepest, overlap.normal(), *kept);
  return overlaps;
}

}  // namespace drl::inline DRL_ISA::physics
