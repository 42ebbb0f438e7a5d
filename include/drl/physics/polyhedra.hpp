// Boxes and meshes as polyhedra: their faces and edges at a vertex, with MuJoCo's numbers and in MuJoCo's order.
#pragma once

#include "drl/physics/gjk.hpp"

namespace drl::inline DRL_ISA::physics {

// MuJoCo before 3.11 ignores further corners of a face, and further faces at a vertex. drl_robot refuses meshes with
// more corners for newer versions.
constexpr int kMostCorners = 150;
// Two directions are parallel if their angle is less than 1.6e-3 rad: the cosine and the sine of this angle, as MuJoCo
// rounds them.
constexpr double kCosineOfParallel = 0.99999872, kSineOfParallel = 0.00159999931;

// A vertex (count 1), an edge (2) or a face (3) of a polyhedron, by one to three of its vertices.
struct Feature {
  int count, vertex[3];
  Vec3 at[2];  // the places of the first two vertices
};
// Returns the feature of one shape on which three points of the Minkowski difference lie: `vertex` and `at` are the
// members of its points.
DRL_HD Feature feature_of(const DifferencePoint* points, int DifferencePoint::*vertex, Vec3 DifferencePoint::*at) {
  const int u = points[0].*vertex, v = points[1].*vertex, w = points[2].*vertex;
  const Vec3& start = points[0].*at;
  if (u != v) return {w == u || w == v ? 2 : 3, {u, v, w}, {start, points[1].*at}};
  return {u != w ? 2 : 1, {u, w, w}, {start, points[2].*at}};
}

// The indices of some faces: a part of a table, or up to three of them.
struct FaceList {
  int count = 0;
  const int* listed = nullptr;
  int few[3] = {};

  DRL_HD int operator[](int k) const { return listed != nullptr ? listed[k] : few[k]; }
  DRL_HD void add(int face) { few[count++] = face; }
};
// Returns up to two elements that two lists have in common, in the order of the first list.
DRL_HD FaceList find_common(const FaceList& a, const FaceList& b) {
  FaceList common;
  for (int i = 0; i < a.count; ++i)
    for (int k = 0; k < b.count; ++k) {
      if (a[i] != b[k]) continue;
      common.add(a[i]);
      if (common.count == 2) return common;
    }
  return common;
}

// A box or a mesh. Vertex v of a box is on the positive side of axis k if bit k of v is set. Face 2 k of a box is the
// positive side of axis k, and face 2 k + 1 is the negative one.
class Polyhedron {
 public:
  // The shape must outlive this object. If it is a mesh, its hull has faces. Further faces at a vertex than
  // `most_faces` are ignored.
  DRL_HD explicit Polyhedron(const Shape& shape, int most_faces = 0x7fffffff)
      : shape_(shape), most_faces_(most_faces) {}

  // Returns the faces that contain a feature. If a box has no such face, because the feature is a diagonal, returns the
  // face that faces a direction, if there is one.
  DRL_HD FaceList faces_at(const Feature& feature, const Vec3& outwards) const {
    if (!is_box()) return mesh_faces_at(feature);
    const FaceList found = box_faces_at(feature);
    return found.count == 4 - feature.count ? found : box_face_towards(outwards, kCosineOfParallel);
  }
  // Does the same, but with more faces (MuJoCo 4.0): a diagonal of a box's side has this side, and the face that faces
  // a direction may be less parallel.
  DRL_HD FaceList all_faces_at(const Feature& feature, const Vec3& outwards, double cosine) const {
    if (!is_box()) return mesh_faces_at(feature);
    const FaceList found = box_faces_at(feature);
    return found.count > 0 ? found : box_face_towards(outwards, cosine);
  }
  DRL_HD Vec3 normal(int face) const {
    if (is_box()) return face % 2 == 0 ? shape_.axis(face / 2) : -shape_.axis(face / 2);
    const double* n = faces().normals[face];
    return shape_.out_of({n[0], n[1], n[2]});
  }
  // The corners of a face are in clockwise order if seen from outside.
  DRL_HD int count_corners(int face) const {
    if (is_box()) return 4;
    const int count = faces().first_corner[face + 1] - faces().first_corner[face];
    return count < kMostCorners ? count : kMostCorners;
  }
  DRL_HD Vec3 corner(int face, int k) const {
    constexpr int kOfBox[6][4] = {{7, 3, 1, 5}, {2, 6, 4, 0}, {2, 3, 7, 6}, {4, 5, 1, 0}, {6, 7, 5, 4}, {3, 2, 0, 1}};
    if (is_box()) return place_of(kOfBox[face][k]);
    return place_of(faces().corners[faces().first_corner[face] + count_corners(face) - 1 - k]);
  }
  // The edges that begin at a vertex, or the edge that the feature is.
  DRL_HD int count_edges(const Feature& feature) const {
    return feature.count == 2 ? 1 : is_box() ? 3 : faces_at_vertex(feature.vertex[0]).count;
  }
  // Returns where edge k ends.
  DRL_HD Vec3 edge_end(const Feature& feature, int k) const {
    if (feature.count == 2) return feature.at[1];
    const int vertex = feature.vertex[0];
    return place_of(is_box() ? vertex ^ 1 << k : corner_before(faces_at_vertex(vertex)[k], vertex));
  }
  DRL_HD Vec3 place_of(int vertex) const {
    if (!is_box()) return shape_.to_world(shape_.vertex(vertex));
    Vec3 local;
    for (int k = 0; k < 3; ++k) local[k] = (vertex >> k & 1) != 0 ? shape_.size[k] : -shape_.size[k];
    return shape_.to_world(local);
  }

 private:
  DRL_HD const HullFaces& faces() const { return shape_.hull->faces; }
  DRL_HD bool is_box() const { return shape_.kind == ShapeKind::box; }
  DRL_HD FaceList all_faces_at_vertex(int vertex) const {
    const int first = faces().first_face[vertex];
    return {faces().first_face[vertex + 1] - first, faces().faces + first};
  }
  DRL_HD FaceList faces_at_vertex(int vertex) const {
    FaceList found = all_faces_at_vertex(vertex);
    if (found.count > most_faces_) found.count = most_faces_;
    return found;
  }
  DRL_HD FaceList mesh_faces_at(const Feature& feature) const {
    const int* vertex = feature.vertex;
    if (feature.count == 1) return faces_at_vertex(vertex[0]);
    const FaceList at_edge = find_common(all_faces_at_vertex(vertex[0]), all_faces_at_vertex(vertex[1]));
    if (feature.count == 2) return at_edge;
    FaceList found = find_common(at_edge, all_faces_at_vertex(vertex[2]));
    if (found.count > 1) found.count = 1;
    return found;
  }
  DRL_HD static FaceList box_faces_at(const Feature& feature) {
    FaceList found;
    for (int k = 0; k < 3; ++k) {
      int above = 0;
      for (int i = 0; i < feature.count; ++i) above += feature.vertex[i] >> k & 1;
      if (above == feature.count) found.add(2 * k);
      if (above == 0) found.add(2 * k + 1);
    }
    return found;
  }
  DRL_HD FaceList box_face_towards(const Vec3& outwards, double cosine) const {
    const Vec3 local = shape_.into(outwards);
    const double inverse = 1 / std::sqrt(dot(local, local));
    FaceList found;
    for (int k = 0; k < 3 && found.count == 0; ++k)
      if (std::abs(local[k] * inverse) > cosine) found.add(2 * k + (local[k] < 0 ? 1 : 0));
    return found;
  }
  // Returns the corner of a mesh's face from which an edge leads to a vertex.
  DRL_HD int corner_before(int face, int vertex) const {
    const int first = faces().first_corner[face], end = faces().first_corner[face + 1];
    for (int k = first; k < end; ++k)
      if (faces().corners[k] == vertex) return faces().corners[k == first ? end - 1 : k - 1];
    return vertex;
  }

  const Shape& shape_;
  int most_faces_;
};

}  // namespace drl::inline DRL_ISA::physics
