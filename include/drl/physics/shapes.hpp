// Shapes of geoms and the contacts between them, in double and one pair at a time. drl/physics/collide.hpp finds the
// contacts. Kinds, sizes and signs are MuJoCo's.
#pragma once

#include <cmath>
#include <cstdint>

#include "drl/lanes/lanes.hpp"

namespace drl::inline DRL_ISA::physics {

// A vector with three components.
struct Vec3 {
  double at[3];
  DRL_HD double& operator[](int k) { return at[k]; }
  DRL_HD const double& operator[](int k) const { return at[k]; }
};
DRL_HD Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
DRL_HD Vec3 operator-(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
DRL_HD Vec3 operator-(const Vec3& a) { return {-a[0], -a[1], -a[2]}; }
DRL_HD Vec3 operator*(double x, const Vec3& a) { return {x * a[0], x * a[1], x * a[2]}; }
DRL_HD double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
DRL_HD double length(const Vec3& a) { return std::sqrt(dot(a, a)); }
DRL_HD Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
DRL_HD double clamp(double x, double most) { return x < -most ? -most : x > most ? most : x; }

// Below this length a vector has no direction (MuJoCo's mjMINVAL).
constexpr double kNoLength = 1e-15;
// Returns the unit vector along a vector, or x if it has no direction.
DRL_HD Vec3 unit(const Vec3& a) {
  const double size = length(a);
  return size < kNoLength ? Vec3{1, 0, 0} : 1 / size * a;
}

// In MuJoCo's order, except for the last: a height field, and a prism, which is a part of it
// (drl/physics/height_fields.hpp).
enum class ShapeKind : uint8_t { plane, sphere, capsule, ellipsoid, cylinder, box, mesh, prism, height_field };

// The faces of a hull, which MuJoCo joins from coplanar triangles. Contacts with the flag multiccd need them, and,
// since MuJoCo 3.13, those with planes. Their owner keeps the tables. The corners of face i are the vertices
// corners[first_corner[i]] to corners[first_corner[i + 1] - 1] of the hull, anticlockwise if seen from outside. The
// faces at vertex v are faces[first_face[v]] to faces[first_face[v + 1] - 1].
struct HullFaces {
  const double (*normals)[3];  // unit vectors that point outwards, in the geom's axes
  const int *first_corner, *corners, *first_face, *faces;
};

// The convex hull of a mesh. Its owner keeps the tables; they are usually constexpr.
struct Hull {
  const float (*vertices)[3];  // [count], in the geom's axes
  int count;
  // The vertices that share an edge with vertex i are neighbours[first_neighbour[i]] to
  // neighbours[first_neighbour[i + 1] - 1]. Both are null if MuJoCo has computed no hull, because
  // no geom that collides uses the mesh.
  const int *first_neighbour, *neighbours;
  int start;      // the vertex at which MuJoCo starts to climb along the edges
  bool climbs;    // whether MuJoCo climbs in collisions of convex shapes. Otherwise it tries all vertices
  double radius;  // of the bounding sphere, as geom_rbound
  // Since MuJoCo 3.11, the start counts in climb_hull(). Since 3.12, MuJoCo starts at one of 27 vertices, if it is
  // farther than the latest one: starts[9 x + 3 y + z] for directions whose x is below -0.4 (0), in between (1) or
  // above 0.4 (2), and so on.
  bool counts_start = false;
  const int* starts = nullptr;
  HullFaces faces = {};  // null where no contacts depend on them
};

// A geom. `turn` has the geom's axes as columns (xmat). The centre is at `position` + `origin` in the world, and
// contacts are relative to `origin`.
struct Shape {
  ShapeKind kind;
  double size[3];               // geom_size
  const Hull* hull;             // of a mesh; not owned
  const Vec3* prism = nullptr;  // six corners: the triangle below, the triangle above; not owned
  double position[3], turn[3][3], origin[3] = {0, 0, 0};

  DRL_HD Vec3 center() const { return {position[0], position[1], position[2]}; }
  DRL_HD Vec3 axis(int k) const { return {turn[0][k], turn[1][k], turn[2][k]}; }
  // Turns a vector from the geom's axes into the world's, and back.
  DRL_HD Vec3 out_of(const Vec3& local) const {
    Vec3 world;
    for (int i = 0; i < 3; ++i) world[i] = turn[i][0] * local[0] + turn[i][1] * local[1] + turn[i][2] * local[2];
    return world;
  }
  DRL_HD Vec3 into(const Vec3& world) const {
    Vec3 local;
    for (int k = 0; k < 3; ++k) local[k] = turn[0][k] * world[0] + turn[1][k] * world[1] + turn[2][k] * world[2];
    return local;
  }
  DRL_HD Vec3 to_world(const Vec3& local) const { return out_of(local) + center(); }
  DRL_HD Vec3 vertex(int i) const {
    return {double(hull->vertices[i][0]), double(hull->vertices[i][1]), double(hull->vertices[i][2])};
  }
};

// Moves three corners of a quadrilateral on along a polygon with `count` corners while area(b, c, d) grows beyond
// `most`, in MuJoCo's order. Returns whether it has grown.
template <class Area>
DRL_HD bool widen(const Area& area, int count, int& b, int& c, int& d, double& most) {
  bool has_grown = false;
  const auto move_on = [&](int& corner) DRL_LAMBDA {
    const int before = corner;
    corner = before + 1 < count ? before + 1 : 0;
    const double now = area(b, c, d);
    if (!(now > most)) return corner = before, false;
    return most = now, has_grown = true;
  };
  while (move_on(d)) {
    while (move_on(c)) {
    }
    while (move_on(b)) {
    }
  }
  return has_grown;
}

// A contact, with mjContact's conventions: the normal points from the first shape to the second, and the point is half
// way between the surfaces.
struct ShapeContact {
  double point[3], normal[3], distance;
};
// Two boxes have up to 8 contacts, and more where rounding makes two of one point.
constexpr int kMostShapeContacts = 12;

// The contacts of one pair that are closer than the margin.
class ContactList {
 public:
  // `contacts` has room for kMostShapeContacts.
  DRL_HD ContactList(double margin, ShapeContact* contacts) : margin_(margin), contacts_(contacts) {}

  DRL_HD void add(const Vec3& point, const Vec3& normal, double distance) {
    if (!(distance < margin_) || count_ == kMostShapeContacts) return;
    ShapeContact& to = contacts_[count_++];
    for (int k = 0; k < 3; ++k) to.point[k] = point[k], to.normal[k] = normal[k];
    to.distance = distance;
  }
  DRL_HD double margin() const { return margin_; }
  DRL_HD int count() const { return count_; }

 private:
  double margin_;
  ShapeContact* contacts_;
  int count_ = 0;
};

}  // namespace drl::inline DRL_ISA::physics
