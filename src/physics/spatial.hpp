// Vectors, rotations and spatial vectors of expressions. A spatial vector refers to a point of the world that its user
// chooses: motions are (angular velocity, linear velocity of the point), forces are (torque about the point, force).
// See R. Featherstone, "Rigid Body Dynamics Algorithms", 2008.
#pragma once

#include "physics/graph.hpp"

namespace drl::robot_compiler {

struct Vec3 {
  Expr at[3];
  Expr& operator[](int k) { return at[k]; }
  const Expr& operator[](int k) const { return at[k]; }
};
inline Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Vec3 operator-(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Vec3 operator*(const Expr& s, const Vec3& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline Expr dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline Vec3 unit_vector(int k) {
  Vec3 e;
  e[k] = 1;
  return e;
}

struct Mat3 {
  Vec3 row[3];
  Vec3& operator[](int k) { return row[k]; }
  const Vec3& operator[](int k) const { return row[k]; }
  Vec3 column(int k) const { return {row[0][k], row[1][k], row[2][k]}; }
};
inline Mat3 identity() { return {unit_vector(0), unit_vector(1), unit_vector(2)}; }
inline Mat3 transposed(const Mat3& a) { return {a.column(0), a.column(1), a.column(2)}; }
inline Vec3 operator*(const Mat3& a, const Vec3& b) { return {dot(a[0], b), dot(a[1], b), dot(a[2], b)}; }
inline Mat3 operator*(const Mat3& a, const Mat3& b) {
  const Vec3 x = a * b.column(0), y = a * b.column(1), z = a * b.column(2);
  return transposed({x, y, z});
}
// Returns the matrix of the cross product r x.
inline Mat3 cross_matrix(const Vec3& r) { return {Vec3{0, -r[2], r[1]}, Vec3{r[2], 0, -r[0]}, Vec3{-r[1], r[0], 0}}; }

// A symmetric [3, 3] matrix: xx, yy, zz, xy, xz, yz, in MuJoCo's order.
struct Symmetric {
  Expr at[6];
  Expr& operator[](int k) { return at[k]; }
  const Expr& operator[](int k) const { return at[k]; }
  Mat3 matrix() const { return {Vec3{at[0], at[3], at[4]}, Vec3{at[3], at[1], at[5]}, Vec3{at[4], at[5], at[2]}}; }
  static Symmetric of(const Mat3& a) { return {a[0][0], a[1][1], a[2][2], a[0][1], a[0][2], a[1][2]}; }
};
inline Symmetric operator+(const Symmetric& a, const Symmetric& b) {
  Symmetric sum;
  for (int k = 0; k < 6; ++k) sum[k] = a[k] + b[k];
  return sum;
}
inline Vec3 operator*(const Symmetric& a, const Vec3& b) { return a.matrix() * b; }

struct Spatial {
  Vec3 angular, linear;  // torque, force
  Expr& operator[](int k) { return k < 3 ? angular[k] : linear[k - 3]; }
  const Expr& operator[](int k) const { return k < 3 ? angular[k] : linear[k - 3]; }
};
inline Spatial operator+(const Spatial& a, const Spatial& b) { return {a.angular + b.angular, a.linear + b.linear}; }
inline Spatial operator*(const Expr& s, const Spatial& a) { return {s * a.angular, s * a.linear}; }
inline Expr dot(const Spatial& a, const Spatial& b) { return dot(a.angular, b.angular) + dot(a.linear, b.linear); }
// Return the rate of change of the motion b, or of the force f, when it is carried along by the motion a.
inline Spatial cross_motion(const Spatial& a, const Spatial& b) {
  return {cross(a.angular, b.angular), cross(a.angular, b.linear) + cross(a.linear, b.angular)};
}
inline Spatial cross_force(const Spatial& a, const Spatial& f) {
  return {cross(a.angular, f.angular) + cross(a.linear, f.linear), cross(a.angular, f.linear)};
}

// The inertia of a rigid body about a point: its mass, its mass times the position of its centre, and its rotational
// inertia.
struct Inertia {
  Expr mass;
  Vec3 moment;
  Symmetric rotational;
};
inline Inertia operator+(const Inertia& a, const Inertia& b) {
  return {a.mass + b.mass, a.moment + b.moment, a.rotational + b.rotational};
}
inline Spatial operator*(const Inertia& a, const Spatial& b) {
  return {a.rotational * b.angular + cross(a.moment, b.linear), a.mass * b.linear + cross(b.angular, a.moment)};
}
// Returns the inertia of a body with its centre at c, rotated by r, whose inertia about its centre in its own axes is
// `own`.
inline Inertia inertia_at(const Expr& mass, const Vec3& c, const Mat3& r, const Symmetric& own) {
  const Vec3 h = mass * c;
  const Symmetric turned = Symmetric::of(r * own.matrix() * transposed(r));
  const Symmetric shifted{h[1] * c[1] + h[2] * c[2],
                          h[0] * c[0] + h[2] * c[2],
                          h[0] * c[0] + h[1] * c[1],
                          -(h[0] * c[1]),
                          -(h[0] * c[2]),
                          -(h[1] * c[2])};
  return {mass, h, turned + shifted};
}

}  // namespace drl::robot_compiler
