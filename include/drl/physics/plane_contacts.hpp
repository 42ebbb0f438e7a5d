// Contacts of a plane, whose normal is its z axis, with the other shapes. The choice of contacts and their order are
// MuJoCo's.
#pragma once

#include "drl/physics/support_points.hpp"

namespace drl::inline DRL_ISA::physics {

// A plane as a point and a normal.
struct Floor {
  Vec3 at, normal;
  DRL_HD explicit Floor(const Shape& plane) : at(plane.center()), normal(plane.axis(2)) {}

  DRL_HD double height(const Vec3& point) const { return dot(normal, point - at); }
  // Adds the contact of a point at this height.
  DRL_HD void add(const Vec3& point, double height, ContactList& list) const {
    list.add(point - 0.5 * height * normal, normal, height);
  }
  DRL_HD void add_ball(const Vec3& center, double radius, ContactList& list) const {
    const double distance = height(center) - radius;
    list.add(center - (0.5 * distance + radius) * normal, normal, distance);
  }
};

DRL_HD void collide_plane_capsule(const Floor& floor, const Shape& capsule, ContactList& list) {
  const Vec3 half = capsule.size[1] * capsule.axis(2);
  floor.add_ball(capsule.center() + half, capsule.size[0], list);
  floor.add_ball(capsule.center() - half, capsule.size[0], list);
}
// Adds the lowest point of the nearer end, the lowest of the other end, and two more points of the nearer end's rim,
// which form an equilateral triangle with the first.
DRL_HD void collide_plane_cylinder(const Floor& floor, const Shape& cylinder, ContactList& list) {
  const double radius = cylinder.size[0];
  Vec3 axis = cylinder.axis(2);
  double falls = dot(floor.normal, axis);
  if (falls > 0) axis = -axis, falls = -falls;
  const Vec3 down = falls * axis - floor.normal;  // perpendicular to the axis
  const double square = dot(down, down);
  const bool is_upright = square < kNoLength * kNoLength;
  const Vec3 out = is_upright ? radius * cylinder.axis(0) : radius / std::sqrt(square) * down;
  const Vec3 half = cylinder.size[1] * axis, near_end = cylinder.center() + half;
  const double middle = floor.height(cylinder.center());
  const double end = falls * cylinder.size[1], drop = dot(out, floor.normal);
  if (!(middle + end + drop <= list.margin())) return;
  floor.add(near_end + out, middle + end + drop, list);
  floor.add(cylinder.center() + out - half, middle - end + drop, list);
  const double height = middle + end - 0.5 * drop;
  if (!(height < list.margin())) return;
  const Vec3 aside = std::sqrt(3.0) / 2 * radius * unit(cross(out, half)), back = near_end - 0.5 * out;
  floor.add(back + aside, height, list);
  floor.add(back - aside, height, list);
}
// Adds the corners that are not above the box's centre, up to four.
DRL_HD void collide_plane_box(const Floor& floor, const Shape& box, ContactList& list) {
  const double middle = floor.height(box.center());
  for (int corner = 0; corner < 8 && list.count() < 4; ++corner) {
    Vec3 local;
    for (int k = 0; k < 3; ++k) local[k] = corner >> k & 1 ? box.size[k] : -box.size[k];
    const Vec3 arm = box.out_of(local);
    const double rise = dot(floor.normal, arm);
    if (rise <= 0) floor.add(arm + box.center(), middle + rise, list);
  }
}
DRL_HD void collide_plane_ellipsoid(const Floor& floor, const Shape& ellipsoid, ContactList& list) {
  const Vec3 lowest = ellipsoid.to_world(support_of_ellipsoid(ellipsoid.size, ellipsoid.into(-floor.normal)));
  floor.add(lowest, floor.height(lowest), list);
}
// Adds the lowest vertex and up to three more corners of the face at this vertex that faces the plane most, as MuJoCo
// 3.13. The corners are those of a large quadrilateral, and are left out above the mesh's centre.
DRL_HD_CALLED void collide_plane_face(const Floor& floor, const Shape& mesh, int lowest, ContactList& list) {
  const HullFaces& faces = mesh.hull->faces;
  const Vec3 down = mesh.into(-floor.normal);
  int face = -1;
  double most = -2;
  for (int k = faces.first_face[lowest]; k < faces.first_face[lowest + 1]; ++k) {
    const double* n = faces.normals[faces.faces[k]];
    if (const double falls = dot(down, {n[0], n[1], n[2]}); falls > most) most = falls, face = faces.faces[k];
  }
  if (face < 0) return;
  const int first = faces.first_corner[face], count = faces.first_corner[face + 1] - first;
  int start = 0;
  while (start + 1 < count && faces.corners[first + start] != lowest) ++start;
  const auto at = [&](int k) DRL_LAMBDA { return mesh.vertex(faces.corners[first + (start + k) % count]); };
  int b = 1, c = 2, d = 3;
  if (count > 4) {
    const auto area = [&](int i, int j, int k) DRL_LAMBDA { return length(cross(at(j) - at(0), at(k) - at(i))); };
    double most_area = area(b, c, d);
    widen(area, count, b, c, d, most_area);
  }
  const double middle = floor.height(mesh.center());
  const int chosen[4] = {0, b, c, d};
  for (int k = 0; k < 4 && k < count; ++k) {
    const Vec3 point = mesh.to_world(at(chosen[k]));
    if (const double height = floor.height(point); height < middle || k == 0) floor.add(point, height, list);
  }
}
// Adds the lowest vertex and up to two of its neighbours. Vertices that are too close to the first contact are left
// out.
DRL_HD_CALLED void collide_plane_mesh(const Floor& floor, const Shape& mesh, bool touches_faces, ContactList& list) {
  constexpr int kMostContacts = 3;
  constexpr double kClose = 0.3;  // in radii of the bounding sphere
  const Hull& hull = *mesh.hull;
  const Vec3 down = mesh.into(-floor.normal);
  const bool has_edges = hull.first_neighbour != nullptr;
  const bool climbs = hull.counts_start ? hull.climbs : has_edges;
  const int start = touches_faces ? start_of_climb(mesh, down, -1) : hull.start;
  const int lowest = climbs ? climb_hull(mesh, down, start, false) : best_vertex(mesh, down, 0);
  const Vec3 point = mesh.to_world(mesh.vertex(lowest));
  const double height = floor.height(point);
  if (!(height < list.margin())) return;
  if (touches_faces) return collide_plane_face(floor, mesh, lowest, list);
  floor.add(point, height, list);
  const Vec3 first = point - 0.5 * height * floor.normal;
  const int begin = has_edges ? hull.first_neighbour[lowest] : 0;
  const int end = has_edges ? hull.first_neighbour[lowest + 1] : hull.count;
  for (int i = begin; i < end && list.count() < kMostContacts; ++i) {
    const int vertex = has_edges ? hull.neighbours[i] : i;
    const Vec3 other = mesh.to_world(mesh.vertex(vertex));
    if ((has_edges || vertex != lowest) && length(other - first) >= kClose * hull.radius)
      floor.add(other, floor.height(other), list);
  }
}

// `touches_faces`: see ConvexOptions::planes_touch_faces.
DRL_HD void collide_plane(const Shape& plane, const Shape& shape, bool touches_faces, ContactList& list) {
  const Floor floor(plane);
  switch (shape.kind) {
    case ShapeKind::plane:
    case ShapeKind::prism:
    case ShapeKind::height_field:
      return;
    case ShapeKind::sphere:
      return floor.add_ball(shape.center(), shape.size[0], list);
    case ShapeKind::capsule:
      return collide_plane_capsule(floor, shape, list);
    case ShapeKind::ellipsoid:
      return collide_plane_ellipsoid(floor, shape, list);
    case ShapeKind::cylinder:
      return collide_plane_cylinder(floor, shape, list);
    case ShapeKind::box:
      return collide_plane_box(floor, shape, list);
    case ShapeKind::mesh:
      return collide_plane_mesh(floor, shape, touches_faces, list);
  }
}

}  // namespace drl::inline DRL_ISA::physics
