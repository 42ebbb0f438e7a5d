// Contacts of two shapes as MuJoCo's flag multiccd makes them: convex shapes that lie on each other get several
// contacts instead of one. In MuJoCo 4.0, they are those of faces and edges (drl/physics/touching_sides.hpp). Before, a
// mesh and a box, or two meshes, without a margin have the contacts of their faces (drl/physics/face_contacts.hpp). For
// other shapes, except spheres and ellipsoids, MuJoCo rocks both shapes about their first contact, by 1e-3 rad to four
// sides, and adds the contacts that it then finds elsewhere, with the first one's distance.
#pragma once

#include "drl/physics/collide.hpp"
#include "drl/physics/face_contacts.hpp"
#include "drl/physics/touching_sides.hpp"

namespace drl::inline DRL_ISA::physics {

// The most contacts of convex shapes: one, and one for each side.
constexpr int kMostConvexContacts = 5;

// Returns whether the flag changes the contacts of shapes of these kinds; a <= b.
DRL_HD constexpr bool has_many_contacts(ShapeKind a, ShapeKind b) {
  using enum ShapeKind;
  if (a == capsule) return b == cylinder || b == mesh;
  return (a == cylinder && b <= mesh) || (a == box && b == mesh) || (a == mesh && b == mesh);
}
// Returns whether it finds them by faces before MuJoCo 4.0.
DRL_HD constexpr bool has_face_contacts(ShapeKind a, ShapeKind b, double margin) {
  using enum ShapeKind;
  return !(margin > 0) && (a == box || a == mesh) && b == mesh;
}

// The radius of a sphere around a shape (MuJoCo's geom_rbound).
DRL_HD double bounding_radius(const Shape& shape) {
  const double* size = shape.size;
  if (shape.kind == ShapeKind::capsule) return size[0] + size[1];
  if (shape.kind == ShapeKind::cylinder) return std::sqrt(size[0] * size[0] + size[1] * size[1]);
  if (shape.kind == ShapeKind::box) return std::sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
  return shape.hull->radius;
}

// A rotation by 1e-3 rad, or back.
struct Rocking {
  double turn[3][3];

  DRL_HD Rocking(const Vec3& axis, bool is_back) {
    constexpr double kSine = 0.0004999999791666669, kCosine = 0.9999998750000026;  // of half the angle
    const double sine = is_back ? -kSine : kSine;
    const double x = axis[0] * sine, y = axis[1] * sine, z = axis[2] * sine, w = kCosine;
    turn[0][0] = w * w + x * x - y * y - z * z, turn[1][1] = w * w - x * x + y * y - z * z;
    turn[2][2] = w * w - x * x - y * y + z * z;
    turn[0][1] = 2 * (x * y - w * z), turn[0][2] = 2 * (x * z + w * y), turn[1][0] = 2 * (x * y + w * z);
    turn[1][2] = 2 * (y * z - w * x), turn[2][0] = 2 * (x * z - w * y), turn[2][1] = 2 * (y * z + w * x);
  }
  // Returns a shape that is turned about a point, or turned the other way.
  DRL_HD Shape of(const Shape& shape, const Vec3& about, bool is_inverse) const {
    const auto at = [&](int i, int k) DRL_LAMBDA { return is_inverse ? turn[k][i] : turn[i][k]; };
    Shape rocked = shape;
    const Vec3 arm = about - shape.center();
    for (int i = 0; i < 3; ++i) {
      const double moved = at(i, 0) * arm[0] + at(i, 1) * arm[1] + at(i, 2) * arm[2];
      rocked.position[i] = shape.position[i] - (moved - arm[i]);
      for (int k = 0; k < 3; ++k)
        rocked.turn[i][k] = at(i, 0) * shape.turn[0][k] + at(i, 1) * shape.turn[1][k] + at(i, 2) * shape.turn[2][k];
    }
    return rocked;
  }
};

// The search for further contacts of two shapes, of which one is known.
class RockedShapes {
 public:
  // `a` and `b` have found the first contact: their vertices are where the next search starts.
  DRL_HD RockedShapes(const Supported& a, const Supported& b, const ConvexOptions& options)
      : a_(*a.shape), b_(*b.shape), vertex_a_(a.vertex), vertex_b_(b.vertex), options_(options) {
    const double of_a = bounding_radius(a_), of_b = bounding_radius(b_);
    least_apart_ = 1e-3 * (of_a < of_b ? of_a : of_b);
  }

  // Adds the first contact, and those that are not close to others.
  DRL_HD_CALLED void add_all(const Overlap& first, ContactList& list) {
    const double distance = list.margin() - first.depth;
    const Vec3 normal = first.normal();
    list.add(first.middle(), normal, distance);
    place_[places_++] = first.middle();
    Vec3 tangent = normal[1] < 0.5 && normal[1] > -0.5 ? Vec3{0, 1, 0} : Vec3{0, 0, 1};
    const Vec3 x = unit(normal);  // MuJoCo normalises it again
    tangent = unit(tangent - dot(x, tangent) * x);
    const Vec3 axes[2] = {tangent, cross(x, tangent)};
    for (const Vec3& axis : axes)
      for (const bool is_back : {true, false}) {
        Overlap next;
        if (!rock(Rocking(axis, is_back), list.margin(), next) || !is_new(next.middle())) continue;
        list.add(next.middle(), next.normal(), distance);
        place_[places_++] = next.middle();
      }
  }

 private:
  // Rocks the first shape about the first contact, and the second shape back, and returns whether they overlap.
  DRL_HD_CALLED bool rock(const Rocking& by, double margin, Overlap& overlap) {
    const Shape a = by.of(a_, place_[0], false), b = by.of(b_, place_[0], true);
    Gjk search(Supported(a, 0.5 * margin), Supported(b, 0.5 * margin), options_);
    search.a.vertex = vertex_a_, search.b.vertex = vertex_b_;
    const bool overlaps = find_overlap(search, overlap);
    vertex_a_ = search.a.vertex, vertex_b_ = search.b.vertex;
    return overlaps;
  }
  DRL_HD bool is_new(const Vec3& place) const {
    for (int k = 0; k < places_; ++k)
      if (length(place_[k] - place) <= least_apart_) return false;
    return true;
  }

  const Shape &a_, &b_;
  int vertex_a_, vertex_b_;
  ConvexOptions options_;
  double least_apart_;
  Vec3 place_[kMostConvexContacts];
  int places_ = 0;
};

// As collide_convex() in drl/physics/collide.hpp.
DRL_HD_CALLED void collide_convex_multiccd(const Shape& a, const Shape& b, const ConvexOptions& options,
                                           PairMemory* memory, ContactList& list) {
  const double margin = list.margin();
  if (memory != nullptr && are_apart(a, b, margin + options.tolerance, *memory)) return;
  Gjk search(Supported(a, 0.5 * margin), Supported(b, 0.5 * margin), options);
  Overlap overlap;
  if (options.sides_touch)
    collide_sides(search, memory != nullptr ? &memory->face : nullptr, list);
  else if (has_face_contacts(a.kind, b.kind, margin))
    collide_polyhedra(search, list);
  else if (find_overlap(search, overlap))
    RockedShapes(search.a, search.b, options).add_all(overlap, list);
  if (memory != nullptr && search.distance == Gjk::kFar) remember(search, *memory);
}

// Finds the contacts of two shapes as collide() in drl/physics/collide.hpp does, but with the flag multiccd. The
// hulls of meshes have faces.
DRL_HD_CALLED int collide_multiccd(const Shape& a, const Shape& b, double margin, const ConvexOptions& options,
                                   ShapeContact* contacts, PairMemory* memory = nullptr) {
  if (!has_many_contacts(a.kind, b.kind)) return collide(a, b, margin, options, contacts, memory);
  ContactList list(margin, contacts);
  collide_convex_multiccd(a, b, options, memory, list);
  return list.count();
}

}  // namespace drl::inline DRL_ISA::physics
