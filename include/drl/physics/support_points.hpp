// Support points: the point of a convex shape that is farthest in a direction. They are all that GJK
// (drl/physics/gjk.hpp) and EPA (drl/physics/epa.hpp) know about shapes.
#pragma once

#include "drl/physics/shapes.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns size if x >= 0, otherwise -size, without a branch (-0.0 counts as 0).
DRL_HD double signed_like(double size, double x) { return std::copysign(size, x + 0.0); }

// Directions and points are in the shape's axes.
DRL_HD Vec3 support_of_ellipsoid(const double* size, const Vec3& direction) {
  const Vec3 scaled{direction[0] * size[0], direction[1] * size[1], direction[2] * size[2]};
  const double square = dot(scaled, scaled);
  if (square < kNoLength * kNoLength) return {size[0], 0, 0};
  const double inverse = 1 / std::sqrt(square);
  return {scaled[0] * (inverse * size[0]), scaled[1] * (inverse * size[1]), scaled[2] * (inverse * size[2])};
}
DRL_HD Vec3 support_of_cylinder(const double* size, const Vec3& direction) {
  const double square = direction[0] * direction[0] + direction[1] * direction[1];
  const double scale = square >= kNoLength * kNoLength ? size[0] / std::sqrt(square) : 0;
  return {scale * direction[0], scale * direction[1], signed_like(size[1], direction[2])};
}

// Returns the vertex that is farthest in a direction. A later vertex replaces `start` or an earlier one only if it is
// farther.
DRL_HD int best_vertex(const Shape& mesh, const Vec3& direction, int start) {
  int best = start;
  double most = dot(direction, mesh.vertex(start));
  for (int i = 0; i < mesh.hull->count; ++i)
    if (const double reach = dot(direction, mesh.vertex(i)); reach > most) most = reach, best = i;
  return best;
}
// Returns where MuJoCo starts to climb a hull: `latest`, if it is not -1 and no other start is farther.
DRL_HD int start_of_climb(const Shape& mesh, const Vec3& direction, int latest) {
  const Hull& hull = *mesh.hull;
  if (hull.starts == nullptr) return latest >= 0 ? latest : hull.start;
  int at = 0;
  for (int k = 0; k < 3; ++k) at = 3 * at + (direction[k] > 0.4 ? 2 : direction[k] < -0.4 ? 0 : 1);
  const int start = hull.starts[at];
  if (latest < 0) return start;
  return dot(direction, mesh.vertex(start)) > dot(direction, mesh.vertex(latest)) ? start : latest;
}
// Goes from vertex to vertex along the edges of the hull until no neighbour is farther. If `skips_start`, the distance
// of the start does not count at first: in collisions of convex shapes, MuJoCo before 3.11 prefers its neighbours to it
// if they are as far.
DRL_HD int climb_hull(const Shape& mesh, const Vec3& direction, int start, bool skips_start) {
  const Hull& hull = *mesh.hull;
  double most = skips_start ? -1e300 : dot(direction, mesh.vertex(start));
  for (int best = start, from = -1;;) {
    if (best == from) return best;
    from = best;
    for (int i = hull.first_neighbour[from]; i < hull.first_neighbour[from + 1]; ++i)
      if (const double reach = dot(direction, mesh.vertex(hull.neighbours[i])); reach > most)
        most = reach, best = hull.neighbours[i];
  }
}

// A shape with its surface moved outwards.
struct Supported {
  const Shape* shape;
  double inflation;         // distance by which the surface is moved outwards
  double radius;            // of a sphere or capsule. 0 leaves the centre or the axis
  int vertex;               // of a box or mesh: the latest support point, or -1
  bool skips_start = true;  // see climb_hull

  DRL_HD Supported(const Shape& s, double by) : shape(&s), inflation(by), radius(s.size[0]), vertex(-1) {}
  DRL_HD bool is_round() const { return shape->kind == ShapeKind::sphere || shape->kind == ShapeKind::capsule; }
  // Returns whether the shape has finitely many support points.
  DRL_HD bool is_discrete() const { return inflation == 0 && shape->kind >= ShapeKind::box; }
  // Returns whether this is a sphere or capsule of which the centre or the axis is left.
  DRL_HD bool is_axis() const { return is_round() && radius == 0 && inflation == 0; }

  // Returns the point that is farthest in a direction (a unit vector), in world coordinates.
  DRL_HD Vec3 farthest(const Vec3& direction) {
    const Vec3 point = surface_point(direction);
    return inflation > 0 ? point + inflation * direction : point;
  }

 private:
  DRL_HD Vec3 surface_point(const Vec3& direction) {
    if (shape->kind == ShapeKind::sphere) return radius * direction + shape->center();
    if (shape->kind == ShapeKind::prism) return best_corner(direction);
    const Vec3 local = shape->into(direction);
    const double* size = shape->size;
    switch (shape->kind) {
      case ShapeKind::capsule: {
        Vec3 point = radius * local;
        point[2] += signed_like(size[1], local[2]);
        return shape->to_world(point);
      }
      case ShapeKind::ellipsoid:
        return shape->to_world(support_of_ellipsoid(size, local));
      case ShapeKind::cylinder:
        return shape->to_world(support_of_cylinder(size, local));
      case ShapeKind::box:
        return shape->to_world(corner(local));
      default:
        return shape->to_world(mesh_vertex(local));
    }
  }
  DRL_HD const Vec3& best_corner(const Vec3& direction) const {
    const Vec3* triangle = shape->prism + (direction[2] < 0 ? 0 : 3);
    int best = 0;
    double most = dot(triangle[0], direction);
    for (int k = 1; k < 3; ++k)
      if (const double reach = dot(triangle[k], direction); reach > most) most = reach, best = k;
    return triangle[best];
  }
  DRL_HD Vec3 corner(const Vec3& local) {
    Vec3 point;
    vertex = 0;
    for (int k = 0; k < 3; ++k) {
      point[k] = signed_like(shape->size[k], local[k]);
      vertex |= int(local[k] >= 0) << k;
    }
    return point;
  }
  DRL_HD Vec3 mesh_vertex(const Vec3& local) {
    const Hull& hull = *shape->hull;
    if (hull.climbs)
      vertex = climb_hull(*shape, local, start_of_climb(*shape, local, vertex), skips_start && !hull.counts_start);
    else
      vertex = best_vertex(*shape, local, vertex >= 0 ? vertex : 0);
    return shape->vertex(vertex);
  }
};

}  // namespace drl::inline DRL_ISA::physics
