// The contacts of capsules, cylinders, boxes and meshes that touch with a face or an edge, as MuJoCo 4.0 finds them if
// the flag multiccd is set. GJK and EPA (drl/physics/overlap.hpp) find where two shapes overlap most, and points of
// both that name a vertex, an edge or a face of each. If two faces there are nearly opposite, the face of the second
// shape is clipped by the sides of the first shape's face; otherwise an edge of one shape that nearly lies along a face
// of the other is clipped by it. The face of a cylinder is a polygon with 16 corners on its rim; a capsule and the side
// of a cylinder have an edge. What is left below the clipping face, or closer to it than the margin, are the contacts:
// up to four corners, each with its own depth.
#pragma once

#include "drl/physics/clipped_polygon.hpp"
#include "drl/physics/overlap.hpp"

namespace drl::inline DRL_ISA::physics {

// Two faces are opposite, or an edge lies along a face, up to an angle of 5.1 degrees: its cosine and its sine, as
// MuJoCo rounds them. A face whose normal is within this angle of a right one to the direction of the overlap does not
// touch.
constexpr double kCosineOfSides = 0.996, kSineOfSides = 0.0888;

// The faces and edges with which one shape may touch another one.
class TouchingSide {
 public:
  // `deepest` is the point of the shape that is deepest in the other one, and `points` are those of find_overlap(), of
  // which `vertex` and `at` are the members of this shape. `outwards` leads from the shape to the other one. Both have
  // been grown by `inflation`.
  DRL_HD TouchingSide(const Shape& shape, double inflation, const DifferencePoint* points, int DifferencePoint::*vertex,
                      Vec3 DifferencePoint::*at, const Vec3& deepest, const Vec3& outwards)
      : outwards(outwards),
        shape_(shape),
        polyhedron_(shape),
        feature_(feature_at(points, vertex, at)),
        deepest_(deepest) {
    if (is_capsule()) return;
    margin = inflation;
    if (!is_cylinder())
      faces = polyhedron_.all_faces_at(feature_, outwards, kCosineOfSides);
    else if (feature_.count == 1)
      faces.add(feature_.vertex[0]);
  }

  // 1 for a vertex, 2 for an edge, 3 for a face.
  DRL_HD int dimension() const { return feature_.count; }
  DRL_HD Vec3 normal(int face) const {
    if (is_cylinder()) return face == 0 ? shape_.axis(2) : -shape_.axis(2);
    return polyhedron_.normal(face);
  }
  // The corners of a face are in clockwise order if seen from outside.
  DRL_HD int count_corners(int face) const { return is_cylinder() ? kRimCorners : polyhedron_.count_corners(face); }
  DRL_HD Vec3 corner(int face, int k) const {
    if (!is_cylinder()) return polyhedron_.corner(face, k);
    const double radius = shape_.size[0], side = face == 0 ? 1 : -1;
    return shape_.to_world({radius * rim_cosine(k), -side * radius * rim_cosine(k + 12), side * shape_.size[1]});
  }
  DRL_HD int count_edges() const { return is_cylinder() || is_capsule() ? 1 : polyhedron_.count_edges(feature_); }
  DRL_HD void find_edge(int k, Vec3& start, Vec3& end) const {
    const Vec3 axis = shape_.axis(2);
    if (is_capsule()) {
      const double along = dot(deepest_ - shape_.center(), axis);
      start = deepest_ - (along + shape_.size[1]) * axis, end = deepest_ + (shape_.size[1] - along) * axis;
    } else if (is_cylinder()) {
      const Vec3 along = feature_.vertex[0] == 0 ? -axis : axis;
      start = margin > 0 ? rim_point(feature_.at[0]) : feature_.at[0];
      end = start + 2 * shape_.size[1] * along;
    } else {
      start = polyhedron_.place_of(feature_.vertex[0]);
      end = feature_.count == 2 ? polyhedron_.place_of(feature_.vertex[1]) : polyhedron_.edge_end(feature_, k);
    }
  }

  Vec3 outwards;
  FaceList faces;
  double margin = 0;  // by which its faces and edges are moved outwards; that of a capsule is in its deepest point

 private:
  static constexpr int kRimCorners = 16;

  DRL_HD bool is_capsule() const { return shape_.kind == ShapeKind::capsule; }
  DRL_HD bool is_cylinder() const { return shape_.kind == ShapeKind::cylinder; }
  // Returns the point of a rim that is nearest to a point outside of a cylinder.
  DRL_HD Vec3 rim_point(const Vec3& outside) const {
    const Vec3 local = shape_.into(outside - shape_.center());
    const double square = local[0] * local[0] + local[1] * local[1];
    const double scale = square >= kNoLength * kNoLength ? shape_.size[0] / std::sqrt(square) : 0;
    const double height = feature_.vertex[0] == 0 ? shape_.size[1] : -shape_.size[1];
    return shape_.to_world({scale * local[0], scale * local[1], height});
  }
  // The vertices of a cylinder are its ends: 0 in the direction of its axis, and 1.
  DRL_HD Feature feature_at(const DifferencePoint* points, int DifferencePoint::*vertex,
                            Vec3 DifferencePoint::*at) const {
    if (!is_cylinder()) return feature_of(points, vertex, at);
    DifferencePoint on_ends[3] = {points[0], points[1], points[2]};
    for (DifferencePoint& point : on_ends)
      point.*vertex = dot(point.*at - shape_.center(), shape_.axis(2)) >= 0 ? 0 : 1;
    return feature_of(on_ends, vertex, at);
  }
  // The cosine of k / 16 of a turn. Areas of quadrilaterals between 16 corners are equal but for rounding, so that
  // MuJoCo's digits matter.
  DRL_HD static double rim_cosine(int k) {
    constexpr double kHalf[] = {1, 0.923879532511287, 0.707106781186548,  0.38268343236509,
                                0, -0.38268343236509, -0.707106781186547, -0.923879532511287};
    return (k & 8) == 0 ? kHalf[k & 7] : -kHalf[k & 7];
  }

  const Shape& shape_;
  Polyhedron polyhedron_;
  Feature feature_;
  Vec3 deepest_;
};

// Finds those two faces that are most opposite. Returns false if no faces are.
DRL_HD bool find_opposite(const TouchingSide& a, const TouchingSide& b, int& face_a, int& face_b) {
  const double least = kSineOfSides * length(a.outwards);
  double best = -kCosineOfSides;
  bool has_found = false;
  for (int i = 0; i < a.faces.count; ++i) {
    const Vec3 normal = a.normal(a.faces[i]);
    if (!(dot(normal, a.outwards) > least)) continue;
    for (int k = 0; k < b.faces.count; ++k) {
      const Vec3 other = b.normal(b.faces[k]);
      if (!(dot(other, b.outwards) > least)) continue;
      if (const double cosine = dot(normal, other); cosine < best)
        best = cosine, face_a = a.faces[i], face_b = b.faces[k], has_found = true;
    }
  }
  return has_found;
}
// Finds the first face of one shape along which an edge of the other lies. Returns false if there is none.
DRL_HD bool find_edge_along(const TouchingSide& edged, const TouchingSide& faced, Vec3& start, Vec3& end, int& face) {
  for (int i = 0; i < faced.faces.count; ++i) {
    face = faced.faces[i];
    const Vec3 normal = faced.normal(face);
    if (!(dot(normal, faced.outwards) > kNoLength)) continue;
    for (int k = 0; k < edged.count_edges(); ++k) {
      edged.find_edge(k, start, end);
      if (std::abs(dot(unit(end - start), normal)) < kSineOfSides) return true;
    }
  }
  return false;
}

// The contacts of two shapes with touching sides.
class SideContacts {
 public:
  DRL_HD SideContacts(const TouchingSide& a, const TouchingSide& b) : side_{&a, &b} {}

  // Returns false if there are none.
  DRL_HD_CALLED bool add_all(ContactList& list) const {
    const TouchingSide &a = *side_[0], &b = *side_[1];
    int face_a = 0, face_b = 0;
    ClippedPolygon polygon;
    if (find_opposite(a, b, face_a, face_b)) {
      for (int k = 0; k < b.count_corners(face_b); ++k) polygon.add(b.corner(face_b, k));
      return add(polygon, 0, face_a, b.normal(face_b), -b.normal(face_b), list);
    }
    // The shape of which less touches is tried first.
    const bool is_b_first =
        a.faces.count > 0 && b.dimension() < 3 && (b.dimension() < a.dimension() || b.faces.count == 0);
    for (int k = 0; k < 2; ++k) {
      const int edged = is_b_first == (k == 0) ? 1 : 0;
      Vec3 start, end;
      int face = 0;
      if (side_[edged]->dimension() == 3 || !find_edge_along(*side_[edged], *side_[1 - edged], start, end, face))
        continue;
      polygon.add(start), polygon.add(end);
      const Vec3 normal = side_[1 - edged]->normal(face);
      return add(polygon, 1 - edged, face, -normal, edged == 0 ? -normal : normal, list);
    }
    return false;
  }

 private:
  // Clips a polygon by a face of shape `by`. `way` leads from the face downwards, and `normal` is that of the contacts.
  DRL_HD bool add(ClippedPolygon& polygon, int by, int face, const Vec3& way, const Vec3& normal,
                  ContactList& list) const {
    const TouchingSide& faced = *side_[by];
    const Vec3 upwards = faced.normal(face), origin = faced.corner(face, 0);
    const double margin = side_[0]->margin + side_[1]->margin;
    const bool is_edge = polygon.count() == 2;
    polygon.clip_by_face(
        faced.count_corners(face), [&](int k) DRL_LAMBDA { return faced.corner(face, k); }, upwards, true, true);
    polygon.keep_below(origin, upwards, margin);
    int chosen[4];
    const int count = polygon.choose(is_edge, chosen);
    for (int k = 0; k < count; ++k) {
      const Vec3& corner = polygon[chosen[k]];
      const double height = dot(corner - origin, upwards);
      const Vec3 on_face = corner - height * upwards;
      const double distance = dot(on_face - corner, way);
      const Vec3 opposite = on_face - distance * way;
      const Vec3 moved = 0.5 * (side_[0]->margin - side_[1]->margin) * normal;
      list.add(0.5 * (on_face + opposite) + moved, normal, list.margin() + (distance - margin));
    }
    return count > 0;
  }

  const TouchingSide* side_[2];
};

// Adds the contacts of two shapes; `search` has not begun. `kept`: see find_overlap().
DRL_HD_CALLED void collide_sides(Gjk& search, KeptFace* kept, ContactList& list) {
  Overlap overlap;
  DifferencePoint points[3];
  if (!find_overlap(search, overlap, points, kept)) return;
  // Which sides touch depends on the order in which EPA finds the ends of crossing edges.
  if (kept != nullptr && are_crossing_edges(points)) kept->forget();
  const Vec3 outwards = overlap.on_a - overlap.on_b;
  const double inflation = 0.5 * list.margin();
  const TouchingSide a(*search.a.shape, inflation, points, &DifferencePoint::vertex_a, &DifferencePoint::of_a,
                       overlap.on_a, outwards);
  const TouchingSide b(*search.b.shape, inflation, points, &DifferencePoint::vertex_b, &DifferencePoint::of_b,
                       overlap.on_b, -outwards);
  if (!SideContacts(a, b).add_all(list)) list.add(overlap.middle(), overlap.normal(), list.margin() - overlap.depth);
}

}  // namespace drl::inline DRL_ISA::physics
