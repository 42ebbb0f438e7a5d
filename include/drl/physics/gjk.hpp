// The algorithm of Gilbert, Johnson and Keerthi (GJK), which finds the distance of two convex shapes or a tetrahedron
// of their Minkowski difference that contains the origin (then they overlap). The nearest point of a simplex is
// computed by signed volumes (Montanari, Petrinic and Barbieri, ACM Transactions on Graphics 2017). The steps are those
// of MuJoCo, so that both end at the same points even where the surface is flat.
#pragma once

#include "drl/physics/support_points.hpp"

namespace drl::inline DRL_ISA::physics {

// mjOption's ccd_tolerance and ccd_iterations, and what depends on MuJoCo's version.
struct ConvexOptions {
  double tolerance = 1e-6;
  int iterations = 35;               // at most kMostConvexIterations
  bool capsules_overlap = false;     // parallel capsules touch at the ends of their common part
  bool boxes_clip_faces = false;     // two boxes: drl/physics/clipped_boxes.hpp
  bool by_unit_normals = false;      // faces are clipped by planes with unit normals
  bool planes_touch_faces = false;   // a plane touches a face of a mesh, not a vertex and its neighbours
  bool faces_turn_outwards = false;  // those of EPA's polytope; GJK ends if it is within the tolerance of the origin
  bool boxes_have_eight = false;     // contacts with each other, at most
  bool is_stable = false;            // GJK and EPA as in MuJoCo 4.0, which fail less often and search without margins
  bool sides_touch = false;          // contacts with the flag multiccd: drl/physics/touching_sides.hpp
};
constexpr int kMostConvexIterations = 50;

// A point of the Minkowski difference of two shapes, with the points of the shapes whose difference it is.
struct DifferencePoint {
  Vec3 at, of_a, of_b;
  int vertex_a, vertex_b;  // see Supported

  DRL_HD bool is_same_vertex(const DifferencePoint& p) const {
    return vertex_a == p.vertex_a && vertex_b == p.vertex_b;
  }
};
// Computes the point of the difference a - b that is farthest in a direction (a unit vector).
DRL_HD_CALLED void find_farthest(Supported& a, Supported& b, const Vec3& direction, DifferencePoint& point) {
  point.of_a = a.farthest(direction), point.of_b = b.farthest(-direction);
  point.at = point.of_a - point.of_b;
  point.vertex_a = a.vertex, point.vertex_b = b.vertex;
}

// Returns 1 if both are positive, -1 if both are negative, and otherwise 0.
DRL_HD int common_sign(double x, double y) { return x > 0 && y > 0 ? 1 : x < 0 && y < 0 ? -1 : 0; }

// Projects the origin onto the plane of three points. Returns false if they have no plane.
DRL_HD bool project_on_plane(const Vec3& a, const Vec3& b, const Vec3& c, Vec3& nearest) {
  const Vec3 ab = b - a, ac = c - a, bc = c - b;
  // Any two edges give the normal. This takes the first pair of edges whose normal is accurate enough.
  Vec3 normal = cross(bc, ab);
  double off = dot(normal, b), square = dot(normal, normal);
  if (square == 0) return false;
  if (off == 0 || !(square > kNoLength)) {
    normal = cross(ab, ac), off = dot(normal, a), square = dot(normal, normal);
    if (square == 0) return false;
    if (off == 0 || !(square > kNoLength)) normal = cross(ac, bc), off = dot(normal, c), square = dot(normal, normal);
    if (square == 0) return false;
  }
  nearest = off / square * normal;
  return true;
}

// Weights of the corners of a triangle at a point of its plane. They are ratios of areas, which are computed in the
// coordinate plane in which the triangle is largest. kStable: see ConvexOptions::is_stable.
template <bool kStable>
struct TriangleWeights {
  double part[3], whole, sum;

  DRL_HD TriangleWeights(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& point) {
    const auto area = [&](int x, int y)
                          DRL_LAMBDA { return kStable ? area_at(a, b, c, x, y) : twice_area(a, b, c, x, y); };
    const double yz = area(1, 2), xz = area(0, 2), xy = area(0, 1);
    const bool is_yz = std::abs(yz) >= std::abs(xz) && std::abs(yz) >= std::abs(xy);
    const bool is_xz = !is_yz && std::abs(xz) >= std::abs(xy);
    const int x = is_yz ? 1 : 0, y = is_yz || is_xz ? 2 : 1;
    sum = whole = is_yz ? yz : is_xz ? xz : xy;
    if constexpr (kStable) {
      part[0] = area_at(point, b, c, x, y), part[1] = area_at(point, c, a, x, y), part[2] = area_at(point, a, b, x, y);
      sum = part[0] + part[1] + part[2];
    } else {
      part[0] = part_of(point, b, c, x, y), part[1] = part_of(point, c, a, x, y), part[2] = part_of(point, a, b, x, y);
    }
  }
  DRL_HD double operator[](int k) const { return part[k] / sum; }
  DRL_HD Vec3 all() const { return {part[0] / sum, part[1] / sum, part[2] / sum}; }
  DRL_HD bool is_within(int k) const { return common_sign(whole, part[k]) != 0; }

 private:
  DRL_HD static double twice_area(const Vec3& a, const Vec3& b, const Vec3& c, int x, int y) {
    return b[x] * c[y] - b[y] * c[x] - a[x] * c[y] + a[y] * c[x] + a[x] * b[y] - a[y] * b[x];
  }
  // Does the same with the corners relative to the first one.
  DRL_HD static double area_at(const Vec3& a, const Vec3& b, const Vec3& c, int x, int y) {
    return (b[x] - a[x]) * (c[y] - a[y]) - (b[y] - a[y]) * (c[x] - a[x]);
  }
  DRL_HD static double part_of(const Vec3& p, const Vec3& u, const Vec3& v, int x, int y) {
    return p[x] * u[y] + p[y] * v[x] + u[x] * v[y] - p[x] * v[y] - p[y] * u[x] - v[x] * u[y];
  }
};

// Computes the weights of the corners at the point of a simplex that is nearest to the origin. Unless kStable, a
// segment's point is b if it is not between the ends.
template <bool kStable>
DRL_HD void weigh_segment(const Vec3& a, const Vec3& b, double* weights) {
  const Vec3 ab = b - a;
  weights[0] = 0, weights[1] = 1;
  if (kStable && dot(ab, ab) < kNoLength * kNoLength) return;
  const double back = -(dot(b, ab) / dot(ab, ab));
  int widest = 0;
  for (int k = 1; k < 3; ++k)
    if (std::abs(ab[k]) >= std::abs(ab[widest])) widest = k;
  const double nearest = b[widest] + back * ab[widest], whole = a[widest] - b[widest];
  const double from_b = nearest - b[widest], to_a = a[widest] - nearest;
  if (common_sign(whole, from_b) == 0) return;
  if (common_sign(whole, to_a) != 0)
    weights[0] = from_b / whole, weights[1] = to_a / whole;
  else if (kStable)
    weights[0] = 1, weights[1] = 0;
}
template <bool kStable>
DRL_HD_CALLED void weigh_triangle(const Vec3& a, const Vec3& b, const Vec3& c, double* weights) {
  const Vec3* corner[3] = {&a, &b, &c};
  Vec3 nearest;
  weights[2] = 0;
  bool is_within[3] = {false, false, false};
  if (project_on_plane(a, b, c, nearest)) {
    const TriangleWeights<kStable> inside(a, b, c, nearest);
    for (int k = 0; k < 3; ++k) weights[k] = inside[k], is_within[k] = inside.is_within(k);
    if (is_within[0] && is_within[1] && is_within[2]) return;
  } else if (!kStable) {
    return weigh_segment<kStable>(a, b, weights);
  }
  double least = 1e300;
  for (int k = 0; k < 3; ++k) {  // the side opposite to corner k
    if (is_within[k]) continue;
    const int first = k == 0 ? 1 : 0, second = k == 2 ? 1 : 2;
    double on_side[2];
    weigh_segment<kStable>(*corner[first], *corner[second], on_side);
    const Vec3 at = on_side[0] * *corner[first] + on_side[1] * *corner[second];
    const double square = dot(at, at);
    if (!(square < least)) continue;
    least = square;
    weights[k] = 0, weights[first] = on_side[0], weights[second] = on_side[1];
  }
}
template <bool kStable>
DRL_HD_CALLED void weigh_tetrahedron(const DifferencePoint* simplex, double* weights) {
  const auto volume = [&](int i, int j, int k)
                          DRL_LAMBDA { return dot(simplex[i].at, cross(simplex[j].at, simplex[k].at)); };
  const double part[4] = {-volume(1, 2, 3), volume(0, 2, 3), -volume(0, 1, 3), volume(0, 1, 2)};
  const double whole = part[0] + part[1] + part[2] + part[3];
  bool is_inside = true;
  for (int k = 0; k < 4; ++k) weights[k] = 0, is_inside = is_inside && common_sign(whole, part[k]) != 0;
  for (int k = 0; k < 4 && is_inside; ++k) weights[k] = part[k] / whole;
  if (is_inside) return;
  double least = 1e300;
  for (int k = 0; k < 4; ++k) {  // the face opposite to corner k
    if (common_sign(whole, part[k]) != 0) continue;
    const int i = k == 0 ? 1 : 0, j = k <= 1 ? 2 : 1, l = k == 3 ? 2 : 3;
    double on_face[3];
    weigh_triangle<kStable>(simplex[i].at, simplex[j].at, simplex[l].at, on_face);
    const Vec3 at = on_face[0] * simplex[i].at + on_face[1] * simplex[j].at + on_face[2] * simplex[l].at;
    const double square = dot(at, at);
    if (!(square < least)) continue;
    least = square;
    // Before 4.0, MuJoCo keeps the last weight of a farther face here. Then it may take shapes whose distance it knows
    // for touching.
    if (k < 3 || kStable) weights[k] = 0;
    weights[i] = on_face[0], weights[j] = on_face[1], weights[l] = on_face[2];
  }
}

// One search. After it, `simplex` holds the `count` points that enclose the origin or are nearest to it.
struct Gjk {
  static constexpr double kFar = 1e300;  // the distance of shapes that are known not to touch

  Supported a, b;
  ConvexOptions options;
  DifferencePoint simplex[4];
  int count = 0, iteration = 0;
  Vec3 on_a, on_b;      // the nearest points
  Vec3 apart{0, 0, 0};  // if the shapes are known not to touch: a direction from b to a along which they are apart
  double distance = kFar;
  bool is_apart = false;  // with is_stable: whether the shapes are known not to touch, although they may be very near

  DRL_HD Gjk(const Supported& first, const Supported& second, const ConvexOptions& o)
      : a(first), b(second), options(o), on_a(first.shape->center()), on_b(second.shape->center()) {}
  DRL_HD bool are_discrete() const {
    const bool are_axes = options.is_stable;  // a sphere's centre and a capsule's axis are discrete, too
    return (a.is_discrete() || (are_axes && a.is_axis())) && (b.is_discrete() || (are_axes && b.is_axis()));
  }
  // Returns whether EPA can tell how the shapes overlap.
  DRL_HD bool has_overlap() const { return distance <= options.tolerance && count > 1 && !is_apart; }

  // Finds whether the shapes overlap. If the cutoff is positive, also finds distances up to it.
  DRL_HD_CALLED void run(double cutoff) {
    if (options.is_stable) return run_stably(cutoff);
    const bool wants_distance = cutoff > 0;
    bool tries_tetrahedron = !wants_distance;
    const double gap = are_discrete() ? 0 : 0.5 * options.tolerance * options.tolerance;
    const bool ends_within = options.faces_turn_outwards && !are_discrete();
    const double least = ends_within ? options.tolerance * options.tolerance : kNoLength * kNoLength;
    double weights[4] = {1, 0, 0, 0}, size = 0;
    Vec3 at = on_a - on_b;  // the nearest point of the difference so far
    for (; iteration < options.iterations; ++iteration) {
      size = dot(at, at);
      if (size < least) break;  // MuJoCo takes the square for the distance, too
      size = std::sqrt(size);
      DifferencePoint& next = simplex[count];
      find_farthest(a, b, -(1 / size * at), next);
      if (dot(at, at - next.at) < gap) {  // the next point is hardly nearer (duality gap of Frank and Wolfe)
        if (iteration == 0 && !options.faces_turn_outwards) count = 1;
        break;
      }
      const double ahead = dot(at, next.at);
      if (ahead > 0 && (!wants_distance || ahead * ahead / dot(at, at) >= cutoff * cutoff)) return separate(at);
      if (count == 3 && tries_tetrahedron) {
        tries_tetrahedron = false;
        const Found found = find_tetrahedron();
        if (found == kApart) return;
        if (found == kOverlap) return set_overlap();
      }
      keep_nearest<false>(weights);
      if (count < 1) return separate({0, 0, 0});
      const Vec3 nearest = mix(weights, &DifferencePoint::at), step = nearest - at;
      if (std::abs(step[0]) < kNoLength && std::abs(step[1]) < kNoLength && std::abs(step[2]) < kNoLength) break;
      at = nearest;
      if (count == 4) {
        size = 0;
        break;
      }
    }
    if (count > 0) on_a = mix(weights, &DifferencePoint::of_a), on_b = mix(weights, &DifferencePoint::of_b);
    distance = size;
  }

 private:
  enum Found { kApart, kOverlap, kUnknown };

  DRL_HD void separate(const Vec3& direction) { count = 0, distance = kFar, apart = direction; }
  DRL_HD void set_overlap() { count = 4, distance = 0; }
  DRL_HD Vec3 mix(const double* weights, Vec3 DifferencePoint::*member) const {
    Vec3 sum = weights[0] * (simplex[0].*member);
    for (int k = 1; k < count; ++k) sum = sum + weights[k] * (simplex[k].*member);
    return sum;
  }
  // Keeps the points of the simplex, including the new one, on which the point nearest to the origin depends.
  template <bool kStable>
  DRL_HD void keep_nearest(double* weights) {
    double all[4] = {1, 0, 0, 0};
    const int points = count + 1;
    if (points == 2) weigh_segment<kStable>(simplex[0].at, simplex[1].at, all);
    if (points == 3) weigh_triangle<kStable>(simplex[0].at, simplex[1].at, simplex[2].at, all);
    if (points == 4) weigh_tetrahedron<kStable>(simplex, all);
    count = 0;
    for (int k = 0; k < points; ++k)
      if (all[k] != 0) {
        if (count != k) simplex[count] = simplex[k];
        weights[count++] = all[k];
      }
  }

  // Does what run() does, as MuJoCo does since 4.0: to where numbers end instead of to the tolerance, if the distance
  // or a vertex is asked for, and without find_tetrahedron().
  DRL_HD_CALLED void run_stably(double cutoff) {
    const bool wants_distance = cutoff > 0, is_exact = are_discrete();
    const double gap = is_exact ? 0 : 0.5 * options.tolerance * options.tolerance;
    const double least = is_exact || wants_distance ? kNoLength : options.tolerance;
    double weights[4] = {1, 0, 0, 0};
    Vec3 at = on_a - on_b;
    double size = length(at);
    if (size < kNoLength) at = {1, 0, 0}, size = 1;
    for (; iteration < options.iterations; ++iteration) {
      DifferencePoint& next = simplex[count];
      find_farthest(a, b, -(1 / size * at), next);
      const double ahead = dot(at, next.at);
      if (ahead > 0) {
        if (!wants_distance || ahead >= cutoff * size) return separate(at);
        is_apart = true;
      }
      if (iteration > 0 && dot(at, at - next.at) < gap) break;
      keep_nearest<true>(weights);
      if (count < 1) return separate({0, 0, 0});
      if (count == 4) {
        size = is_apart ? size : 0;
        break;
      }
      at = nearest_of_simplex(weights);
      const double before = size;
      size = length(at);
      if (size < (count == 1 ? kNoLength : least) || (iteration > 0 && std::abs(size - before) < kNoLength)) break;
    }
    if (count > 0) on_a = mix(weights, &DifferencePoint::of_a), on_b = mix(weights, &DifferencePoint::of_b);
    distance = size;
    if (count == 4 || is_apart || size < kNoLength) return;
    DifferencePoint last;
    find_farthest(a, b, -(1 / size * at), last);
    is_apart = dot(at, last.at) > 0;
  }
  // Returns the point of the simplex that is nearest to the origin: its projection on the simplex.
  DRL_HD Vec3 nearest_of_simplex(const double* weights) const {
    Vec3 nearest;
    if (count == 3 && project_on_plane(simplex[0].at, simplex[1].at, simplex[2].at, nearest)) return nearest;
    if (count == 2) {
      const Vec3 &u = simplex[0].at, &v = simplex[1].at, along = v - u;
      const double square = dot(along, along);
      if (!(square < kNoLength * kNoLength)) return -dot(v, along) / square * along + v;
    }
    return mix(weights, &DifferencePoint::at);
  }

  // Moves a tetrahedron towards the origin: as long as the origin is outside of a face, the opposite corner is replaced
  // by the farthest point outside of that face.
  DRL_HD_CALLED Found find_tetrahedron() {
    DifferencePoint point[4] = {simplex[0], simplex[1], simplex[2], simplex[3]};
    int order[4] = {0, 1, 2, 3};  // keeps the orientation
    for (; iteration < options.iterations; ++iteration) {
      constexpr int kFaces[4][3] = {{2, 1, 3}, {0, 2, 3}, {1, 0, 3}, {0, 1, 2}};  // without corner k
      Vec3 normal[4];
      double inside[4];
      bool is_on_plane = false;
      for (int k = 0; k < 4; ++k) {
        const Vec3& corner = point[order[kFaces[k][0]]].at;
        inside[k] = plane_distance(corner, point[order[kFaces[k][1]]].at, point[order[kFaces[k][2]]].at, normal[k]);
        is_on_plane = is_on_plane || inside[k] == 0;
      }
      if (is_on_plane) return kUnknown;
      const int low = inside[0] < inside[1] ? 0 : 1, high = inside[2] < inside[3] ? 2 : 3;
      const int worst = inside[low] < inside[high] ? low : high;
      if (inside[worst] > 0) {
        for (int k = 0; k < 4; ++k) simplex[k] = point[order[k]];
        return kOverlap;
      }
      DifferencePoint& replaced = point[order[worst]];
      find_farthest(a, b, normal[worst], replaced);
      if (dot(normal[worst], replaced.at) < 0) {
        separate(-normal[worst]);
        return kApart;
      }
      const int i = (worst + 1) % 4, j = (worst + 2) % 4, kept = order[i];
      order[i] = order[j], order[j] = kept;
    }
    return kUnknown;
  }
  // Computes a face's normal and the distance of the origin below the face.
  DRL_HD static double plane_distance(const Vec3& u, const Vec3& v, const Vec3& w, Vec3& normal) {
    normal = cross(w - u, v - u);
    const double square = dot(normal, normal);
    if (!(square > kNoLength * kNoLength && square < 1e20)) return kFar;
    normal = 1 / std::sqrt(square) * normal;
    return dot(normal, u);
  }
};

}  // namespace drl::inline DRL_ISA::physics
