// The contacts of boxes and meshes that touch with a face: up to four points, as MuJoCo before 4.0 finds them in one
// pass of its convex collision detector if the flag multiccd is set. GJK and EPA (drl/physics/epa.hpp) find the depth,
// and a face of the Minkowski difference whose corners name a vertex, an edge or a face of each shape. If these have
// faces that are parallel, the face of the second shape is clipped by the sides of the first shape's face (I.
// Sutherland and G. Hodgman, Communications of the ACM 1974); an edge that lies on a face is clipped by the sides of
// that face. Of a polygon with more than four corners, four remain whose area is largest, or nearly so. All contacts
// have EPA's depth. The steps are those of MuJoCo.
#pragma once

#include "drl/physics/clipped_polygon.hpp"
#include "drl/physics/overlap.hpp"

namespace drl::inline DRL_ISA::physics {

// The contacts of a polygon that lies on the surface of the second shape.
class FaceContacts {
 public:
  // `origin` is that of the shapes, and `distance` that of all contacts.
  DRL_HD FaceContacts(const double* origin, double distance) : origin_(origin), distance_(distance) {}

  // Adds the corners of a polygon; `way` leads from the surface of the first shape to that of the second. Corners at
  // one place count once, or, if may_repeat (MuJoCo 3.11), only if the polygon is an edge, which is then on the surface
  // of its own shape.
  DRL_HD void add(const ClippedPolygon& polygon, const Vec3& way, bool is_edge, bool is_of_first, bool may_repeat,
                  ContactList& list) const {
    int chosen[4] = {0, 1, 2, 3}, count = polygon.count();
    const bool has_many = count > 4, has_two = may_repeat && is_edge && !has_many && count > 2;
    const bool is_on_first = may_repeat && is_of_first;
    if (has_many) polygon.choose_four(chosen), count = 4;
    if (has_two) polygon.choose_two(chosen), count = 2;
    for (int k = 0; k < count; ++k) {
      if (!has_many && !may_repeat && comes_before(polygon, k)) continue;
      const Vec3& corner = polygon[chosen[k]];
      const Vec3 on_a = is_on_first ? corner : corner - way, on_b = is_on_first ? corner + way : corner;
      list.add(0.5 * (on_a + on_b), unit(on_a - on_b), distance_);
    }
  }

 private:
  // Returns whether an earlier corner is at the same place in the world.
  DRL_HD bool comes_before(const ClippedPolygon& polygon, int k) const {
    for (int i = 0; i < k; ++i) {
      bool is_same = true;
      for (int x = 0; x < 3; ++x)
        is_same = is_same && std::abs((polygon[i][x] + origin_[x]) - (polygon[k][x] + origin_[x])) < kNoLength;
      if (is_same) return true;
    }
    return false;
  }

  const double* origin_;
  double distance_;
};

// Finds the first two faces whose normals are opposite. Returns false if there are none.
DRL_HD bool find_opposite(const Polyhedron& a, const FaceList& of_a, const Polyhedron& b, const FaceList& of_b,
                          int& face_a, int& face_b) {
  for (int i = 0; i < of_a.count; ++i) {
    const Vec3 normal = a.normal(of_a[i]);
    for (int k = 0; k < of_b.count; ++k)
      if (dot(normal, b.normal(of_b[k])) < -kCosineOfParallel) return face_a = of_a[i], face_b = of_b[k], true;
  }
  return false;
}
// Finds the first face of one shape that an edge of the other, at a feature, lies along. Returns false if there is
// none.
DRL_HD bool find_edge_along(const Polyhedron& edged, const Feature& feature, const Polyhedron& faced,
                            const FaceList& faces, Vec3& end, int& face) {
  for (int i = 0; i < faces.count; ++i) {
    const Vec3 normal = faced.normal(faces[i]);
    for (int k = 0; k < edged.count_edges(feature); ++k) {
      end = edged.edge_end(feature, k), face = faces[i];
      if (std::abs(dot(unit(end - feature.at[0]), normal)) < kSineOfParallel) return true;
    }
  }
  return false;
}
// Clips a polygon by the sides of a face.
DRL_HD_CALLED void clip_by_face(const Polyhedron& shape, int face, const Vec3& normal, bool by_unit_normals,
                                ClippedPolygon& polygon) {
  polygon.clip_by_face(
      shape.count_corners(face), [&](int k) DRL_LAMBDA { return shape.corner(face, k); }, normal, by_unit_normals);
}

// The surfaces with which two polyhedra touch.
class TouchingFaces {
 public:
  // `points` are the corners of EPA's face, and `way` leads from the deepest point of the first shape to that of the
  // second.
  DRL_HD TouchingFaces(const Polyhedron& a, const Polyhedron& b, const DifferencePoint* points, const Vec3& way,
                       bool by_unit_normals)
      : a_(a),
        b_(b),
        of_a_(feature_of(points, &DifferencePoint::vertex_a, &DifferencePoint::of_a)),
        of_b_(feature_of(points, &DifferencePoint::vertex_b, &DifferencePoint::of_b)),
        way_(way),
        by_unit_normals_(by_unit_normals) {}

  // Computes the polygon or the segment that both shapes share, on the surface of the second shape, and the way to it
  // from the first shape's surface. The polygon is empty if they share less.
  DRL_HD_CALLED void find(ClippedPolygon& polygon, Vec3& way, bool& is_edge, bool& is_of_first) const {
    const FaceList faces_a = a_.faces_at(of_a_, -way_), faces_b = b_.faces_at(of_b_, way_);
    int face_a = 0, face_b = 0;
    Vec3 end;
    if (find_opposite(a_, faces_a, b_, faces_b, face_a, face_b)) {
      for (int k = 0; k < b_.count_corners(face_b); ++k) polygon.add(b_.corner(face_b, k));
      way = length(way_) * b_.normal(face_b);
      clip_by_face(a_, face_a, a_.normal(face_a), by_unit_normals_, polygon);
    } else if (of_a_.count < 3 && of_a_.count <= of_b_.count) {
      if (!find_edge_along(a_, of_a_, b_, faces_b, end, face_b)) return;
      polygon.add(of_a_.at[0]), polygon.add(end);
      way = length(way_) * b_.normal(face_b);
      is_edge = is_of_first = true;
      clip_by_face(b_, face_b, b_.normal(face_b), by_unit_normals_, polygon);
    } else if (of_b_.count < 3) {
      if (!find_edge_along(b_, of_b_, a_, faces_a, end, face_a)) return;
      polygon.add(of_b_.at[0]), polygon.add(end);
      way = -length(way_) * a_.normal(face_a);
      is_edge = true;
      clip_by_face(a_, face_a, a_.normal(face_a), by_unit_normals_, polygon);
    }
  }

 private:
  const Polyhedron &a_, &b_;
  Feature of_a_, of_b_;
  Vec3 way_;
  bool by_unit_normals_;
};

// Adds the contacts of two boxes or meshes without a margin. `search` has not begun.
DRL_HD_CALLED void collide_polyhedra(Gjk& search, ContactList& list) {
  search.run(0);
  if (!(search.distance <= search.options.tolerance) || search.count < 2) return;
  Polytope polytope(search);
  Overlap overlap;
  DifferencePoint points[3];
  if (!polytope.run(overlap.depth, overlap.on_a, overlap.on_b, points) || !(overlap.depth > 0)) return;
  ClippedPolygon polygon;
  Vec3 way;
  bool is_edge = false, is_of_first = false;
  const ConvexOptions& options = search.options;
  const int most_faces = options.by_unit_normals ? 0x7fffffff : kMostCorners;
  const Polyhedron a(*search.a.shape, most_faces), b(*search.b.shape, most_faces);
  TouchingFaces(a, b, points, overlap.on_b - overlap.on_a, options.by_unit_normals)
      .find(polygon, way, is_edge, is_of_first);
  const double distance = list.margin() - overlap.depth;
  if (polygon.count() == 0)
    list.add(overlap.middle(), overlap.normal(), distance);
  else
    FaceContacts(search.a.shape->origin, distance)
        .add(polygon, way, is_edge, is_of_first, options.by_unit_normals, list);
}

}  // namespace drl::inline DRL_ISA::physics
