// The face of the Minkowski difference of two meshes that decided how they overlap, kept for the next search. If it
// still is the nearest one to the origin, which takes a few neighbours of its vertices and some inequalities to prove,
// neither GJK nor EPA runs.
//
// The result has the bits of a new search that ends at this face, because settle() computes both from the same corners
// in the same order. Where other faces are equally near, a new search decides. But in 3 of 100,000 contacts, a new
// search ends below the surface, as libmujoco's does, and the kept face is the right one: if rounding makes the nearest
// face seem farther than the upper bound of the depth, MuJoCo's EPA returns the face of the step before. This cannot
// change what a run depends on, because the memory does not outlive the time steps of one step of an environment
// (PhysicsRobot::work).
#pragma once

#include "drl/physics/epa.hpp"

namespace drl::inline DRL_ISA::physics {

// Corner k of the face is vertex[0][k] of the first mesh minus vertex[1][k] of the second. `opposite` are the vertices
// that are farthest in the other direction. The face may lack; then all are 0.
struct KeptFace {
  uint16_t vertex[2][3], opposite[2];

  DRL_HD bool exists() const { return vertex[0][0] != vertex[0][1] || vertex[1][0] != vertex[1][1]; }
  DRL_HD void forget() { *this = {}; }
};
// Vertices of a mesh count as equally far if their distances differ by less than this, in radii of the hull: more than
// the rounding of vertices to float.
constexpr double kEquallyFar = 1e-6;

// A difference point of two vertices.
DRL_HD DifferencePoint difference_of(const Shape& a, const Shape& b, int vertex_a, int vertex_b) {
  DifferencePoint point;
  point.of_a = a.to_world(a.vertex(vertex_a)), point.of_b = b.to_world(b.vertex(vertex_b));
  point.at = point.of_a - point.of_b;
  point.vertex_a = vertex_a, point.vertex_b = vertex_b;
  return point;
}

// Returns whether three vertices of a mesh, of which some may repeat, are the farthest in a direction, equally far, and
// clearly farther than all others. The hull is convex, so that neighbours decide.
DRL_HD_CALLED bool are_farthest(const Shape& mesh, const uint16_t* vertex, const Vec3& direction) {
  const Hull& hull = *mesh.hull;
  const Vec3 local = mesh.into(direction);
  double reach[3], most = -1e300;
  for (int k = 0; k < 3; ++k) {
    reach[k] = dot(local, mesh.vertex(vertex[k]));
    most = reach[k] > most ? reach[k] : most;
  }
  constexpr double kRounding = 1e-12;
  const double bound = most - kEquallyFar * hull.radius;
  for (int k = 0; k < 3; ++k) {
    if (reach[k] < most - kRounding * hull.radius) return false;
    if ((k > 0 && vertex[k] == vertex[0]) || (k > 1 && vertex[k] == vertex[1])) continue;
    for (int i = hull.first_neighbour[vertex[k]]; i < hull.first_neighbour[vertex[k] + 1]; ++i) {
      const int other = hull.neighbours[i];
      const bool is_of_face = other == vertex[0] || other == vertex[1] || other == vertex[2];
      if (!is_of_face && dot(local, mesh.vertex(other)) > bound) return false;
    }
  }
  return true;
}

// Returns whether no face of the difference is nearer to the origin than one whose plane supports the difference. The
// face contains a disc of some radius about its point `nearest`, so that the difference reaches at least as far in all
// directions up to the angle 2 atan(radius / depth) from the face's normal. In the other directions, `opposite` must be
// farther away.
DRL_HD bool is_least(const DifferencePoint* corners, const Vec3& nearest, const Vec3& opposite) {
  constexpr double kTie = 1e-9;
  const Vec3 normal = cross(corners[1].at - corners[0].at, corners[2].at - corners[0].at);
  const double square_of_depth = dot(nearest, nearest), square = dot(normal, normal);
  double disc = 1e300;  // square of the radius
  for (int k = 0; k < 3; ++k) {
    const Vec3 &from = corners[k].at, edge = corners[k < 2 ? k + 1 : 0].at - from;
    const double inside = dot(normal, cross(edge, nearest - from));
    const double radius = inside * inside / (square * dot(edge, edge));
    if (!(inside > 0)) return false;
    disc = radius < disc ? radius : disc;
  }
  const double exact = std::sqrt(square_of_depth), depth = exact + kTie;
  const double back = -dot(nearest, opposite) / exact, aside = dot(opposite, opposite) - back * back;
  const double radius = std::sqrt(disc), sum = disc + depth * depth, rest = disc - depth * depth;
  return rest > 0 && back * rest - 2 * radius * depth * std::sqrt(aside > 0 ? aside : 0) > depth * sum;
}

// Returns whether the corners of a face of the difference are those of an edge of each mesh.
DRL_HD bool are_crossing_edges(const DifferencePoint* corners) {
  const auto is_edge = [&](int DifferencePoint::*vertex) DRL_LAMBDA {
    const int u = corners[0].*vertex, v = corners[1].*vertex, w = corners[2].*vertex;
    return (u == v) + (v == w) + (w == u) == 1;
  };
  return is_edge(&DifferencePoint::vertex_a) && is_edge(&DifferencePoint::vertex_b);
}
// Computes how two meshes overlap from the corners of the nearest face of their difference, in an order that does not
// depend on the search: by vertices. If an edge meets an edge, the face is a parallelogram, and any three of its
// corners may be given; then the corners are those of the edges' ends with the smallest indices. Returns false if the
// corners have no plane.
DRL_HD_CALLED bool settle(const Gjk& search, const DifferencePoint* corners, double& depth, Vec3& on_a, Vec3& on_b) {
  int low[2] = {0, 0}, high[2] = {0, 0};  // the corners with the smallest and the largest vertex of each mesh
  const auto vertex = [&](int side, int k) DRL_LAMBDA { return side == 0 ? corners[k].vertex_a : corners[k].vertex_b; };
  for (int side = 0; side < 2; ++side) {
    for (int k = 1; k < 3; ++k) {
      if (vertex(side, k) < vertex(side, low[side])) low[side] = k;
      if (vertex(side, k) > vertex(side, high[side])) high[side] = k;
    }
  }
  DifferencePoint sorted[3] = {corners[0], corners[1], corners[2]};
  if (are_crossing_edges(corners)) {
    const int ends[3][2] = {{low[0], low[1]}, {high[0], low[1]}, {low[0], high[1]}};
    for (int k = 0; k < 3; ++k) {
      sorted[k].of_a = corners[ends[k][0]].of_a, sorted[k].of_b = corners[ends[k][1]].of_b;
      sorted[k].at = sorted[k].of_a - sorted[k].of_b;
    }
  } else {
    const auto order = [&](int i, int k) DRL_LAMBDA {
      const DifferencePoint &u = sorted[i], &v = sorted[k];
      if (u.vertex_a < v.vertex_a || (u.vertex_a == v.vertex_a && u.vertex_b <= v.vertex_b)) return;
      const DifferencePoint before = u;
      sorted[i] = v, sorted[k] = before;
    };
    order(0, 1), order(1, 2), order(0, 1);
  }
  Vec3 nearest;
  if (!project_on_plane(sorted[0].at, sorted[1].at, sorted[2].at, nearest)) return false;
  weigh_corners(search.options.is_stable, sorted, nearest, on_a, on_b);
  depth = length(nearest);
  return true;
}

DRL_HD bool can_keep_face(const Supported& a, const Supported& b) {
  const auto can = [](const Supported& s) DRL_LAMBDA {
    return s.shape->kind == ShapeKind::mesh && s.inflation == 0 && s.shape->hull->climbs &&
           s.shape->hull->count <= 0xffff;
  };
  return can(a) && can(b);
}
// Computes by a kept face how two meshes overlap. Returns false if it is not the nearest one for certain. `corners` [3]
// are set.
DRL_HD_CALLED bool overlap_by(const KeptFace& kept, const Gjk& search, double& depth, Vec3& on_a, Vec3& on_b,
                              DifferencePoint* corners) {
  const Shape &a = *search.a.shape, &b = *search.b.shape;
  for (int k = 0; k < 3; ++k) corners[k] = difference_of(a, b, kept.vertex[0][k], kept.vertex[1][k]);
  Vec3 nearest;
  if (!project_on_plane(corners[2].at, corners[1].at, corners[0].at, nearest)) return false;
  const double square = dot(nearest, nearest);
  if (!(square > search.options.tolerance * search.options.tolerance)) return false;
  const Vec3 opposite = difference_of(a, b, kept.opposite[0], kept.opposite[1]).at;
  if (!is_least(corners, nearest, opposite)) return false;
  const Vec3 normal = 1 / std::sqrt(square) * nearest;
  if (!are_farthest(a, kept.vertex[0], normal) || !are_farthest(b, kept.vertex[1], -normal)) return false;
  return settle(search, corners, depth, on_a, on_b);
}
// Keeps the face at which a search ended.
DRL_HD void keep_face(Gjk& search, const DifferencePoint* corners, const Vec3& normal, KeptFace& kept) {
  for (int k = 0; k < 3; ++k)
    kept.vertex[0][k] = uint16_t(corners[k].vertex_a), kept.vertex[1][k] = uint16_t(corners[k].vertex_b);
  DifferencePoint opposite;
  find_farthest(search.a, search.b, -normal, opposite);
  kept.opposite[0] = uint16_t(opposite.vertex_a), kept.opposite[1] = uint16_t(opposite.vertex_b);
}

}  // namespace drl::inline DRL_ISA::physics
