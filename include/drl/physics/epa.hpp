// The expanding polytope algorithm (EPA), which finds how deep two convex shapes overlap. It grows a polytope inside
// their Minkowski difference until the face nearest to the origin is on the difference's surface. The polytope has room
// for a fixed number of points, and the steps are those of MuJoCo. Since MuJoCo 4.0 (ConvexOptions::is_stable), it
// starts in more cases, because a simplex whose polytope would be flat is replaced by another one.
#pragma once

#include "drl/physics/gjk.hpp"

namespace drl::inline DRL_ISA::physics {

// Computes the points of both shapes at a point of a face of their difference. `stable`: ConvexOptions::is_stable.
DRL_HD void weigh_corners(bool is_stable, const DifferencePoint* corners, const Vec3& at, Vec3& on_a, Vec3& on_b) {
  const DifferencePoint &u = corners[0], &v = corners[1], &w = corners[2];
  const Vec3 weights = is_stable ? TriangleWeights<true>(u.at, v.at, w.at, at).all()
                                 : TriangleWeights<false>(u.at, v.at, w.at, at).all();
  on_a = weights[0] * u.of_a + weights[1] * v.of_a + weights[2] * w.of_a;
  on_b = weights[0] * u.of_b + weights[1] * v.of_b + weights[2] * w.of_b;
}

class Polytope {
 public:
  // Starts from GJK's simplex of 2 to 4 points around the origin. `search` must outlive the polytope.
  DRL_HD explicit Polytope(Gjk& search)
      : search_(search), is_stable_(search.options.is_stable), turns_outwards_(search.options.faces_turn_outwards) {}

  // Finds the depth and the points of both shapes that are deepest in the other. Returns false if rounding prevents it.
  DRL_HD_CALLED bool run(double& depth, Vec3& on_a, Vec3& on_b) {
    Face best;
    return find_deepest(best, depth, on_a, on_b);
  }
  // Does the same, and returns the corners of the polytope's nearest face in `corners` [3].
  DRL_HD_CALLED bool run(double& depth, Vec3& on_a, Vec3& on_b, DifferencePoint* corners) {
    Face best;
    if (!find_deepest(best, depth, on_a, on_b)) return false;
    for (int k = 0; k < 3; ++k) corners[k] = point_[best.corner[k]];
    return true;
  }

 private:
  static constexpr int kMostPoints = 5 + kMostConvexIterations;
  static constexpr int kMostFaces = 2 * kMostPoints;  // a polytope of n points has 2 n - 4 faces
  static constexpr double kLeastSquare = kNoLength * kNoLength;
  static constexpr uint8_t kNotListed = 255, kDeleted = 254;

  struct Face {
    Vec3 nearest;   // projection of the origin onto the plane
    double square;  // |nearest|^2
    uint8_t corner[3];
    uint8_t beside[3];  // the faces across the edges 0-1, 1-2 and 2-0
    uint8_t place;      // in list_, or kNotListed or kDeleted
  };
  // An edge of a face, from corner[k] to the next one, is 4 face + k.
  using Edge = uint16_t;

  // Does what run() does. `best` becomes the polytope's face that is nearest to the origin.
  DRL_HD bool find_deepest(Face& best, double& depth, Vec3& on_a, Vec3& on_b) {
    const bool has_started = is_stable_           ? start_stably()
                             : search_.count == 2 ? start_from_segment()
                             : search_.count == 3 ? start_from_triangle(search_.simplex)
                                                  : start_from_tetrahedron();
    if (!has_started || !expand(best)) return false;
    const DifferencePoint corners[3] = {point_[best.corner[0]], point_[best.corner[1]], point_[best.corner[2]]};
    weigh_corners(is_stable_, corners, best.nearest, on_a, on_b);
    depth = std::sqrt(best.square);
    return true;
  }

  DRL_HD static int after(int k) { return k < 2 ? k + 1 : 0; }
  // Sets face `at`. Returns the squared distance of its plane from the origin, or 0 if it has none.
  DRL_HD double add_face(int a, int b, int c, int beside_ab, int beside_bc, int beside_ca, int at) {
    Face& face = face_[at];
    face.corner[0] = uint8_t(a), face.corner[1] = uint8_t(b), face.corner[2] = uint8_t(c);
    face.beside[0] = uint8_t(beside_ab), face.beside[1] = uint8_t(beside_bc), face.beside[2] = uint8_t(beside_ca);
    face.place = kNotListed;
    if (!project_on_plane(point_[c].at, point_[b].at, point_[a].at, face.nearest)) return 0;
    if (turns_outwards_ && dot(face.nearest, point_[a].at - center_) < 0) face.nearest = -face.nearest;
    return face.square = dot(face.nearest, face.nearest);
  }
  DRL_HD void list_face(int at) {
    face_[at].place = uint8_t(listed_), square_[listed_] = face_[at].square, list_[listed_++] = uint8_t(at);
  }
  DRL_HD void delete_face(int at) {
    Face& face = face_[at];
    if (face.place < kDeleted) {
      const uint8_t last = list_[--listed_];
      list_[face.place] = last, square_[face.place] = square_[listed_], face_[last].place = face.place;
    }
    face.place = kDeleted, free_[freed_++] = uint8_t(at);
  }
  // Adds the farthest point in a direction and returns its index.
  DRL_HD int add_farthest(const Vec3& direction, double size) {
    const Vec3 way =
        size > kNoLength ? Vec3{direction[0] / size, direction[1] / size, direction[2] / size} : Vec3{1, 0, 0};
    find_farthest(search_.a, search_.b, way, point_[points_]);
    return points_++;
  }
  DRL_HD int add_point(const DifferencePoint& p) {
    point_[points_] = p;
    return points_++;
  }
  DRL_HD void list_all(int faces) {
    for (int k = 0; k < faces; ++k) list_face(k);
    faces_ = faces;
  }

  DRL_HD void find_center(const int* corners, int count) {
    if (!turns_outwards_) return;
    center_ = point_[corners[0]].at;
    for (int k = 1; k < count; ++k) center_ = center_ + point_[corners[k]].at;
    center_ = 1.0 / count * center_;
  }

  // Adds the six faces of two pyramids on both sides of the triangle of points r, s and t. Returns false if the origin
  // is on a face, whose corners are then in `flat`.
  DRL_HD bool add_pyramids(int top, int bottom, int r, int s, int t, int* flat) {
    const int ring[6][2] = {{r, s}, {t, r}, {s, t}, {s, r}, {r, t}, {t, s}};
    constexpr int kBeside[6][3] = {{1, 3, 2}, {2, 4, 0}, {0, 5, 1}, {5, 0, 4}, {3, 1, 5}, {4, 2, 3}};
    for (int k = 0; k < 6; ++k) {
      flat[0] = k < 3 ? top : bottom, flat[1] = ring[k][0], flat[2] = ring[k][1];
      if (add_face(flat[0], flat[1], flat[2], kBeside[k][0], kBeside[k][1], kBeside[k][2], k) < kLeastSquare)
        return false;
    }
    return true;
  }
  // Starts again from a face that contains the origin.
  DRL_HD bool start_from_face(const int* corners) {
    const DifferencePoint triangle[3] = {point_[corners[0]], point_[corners[1]], point_[corners[2]]};
    points_ = 0;
    return start_from_triangle(triangle);
  }
  // Adds a segment's ends and the farthest points in three directions perpendicular to it, 120 degrees apart.
  DRL_HD void add_around_segment() {
    const Vec3 along = search_.simplex[1].at - search_.simplex[0].at;
    int least = 0;
    for (int k = 1; k < 3; ++k)
      if (std::abs(along[k]) < std::abs(along[least])) least = k;
    Vec3 start{0, 0, 0}, turn[3];
    start[least] = 1;
    find_third_of_turn(along, turn);
    add_point(search_.simplex[0]), add_point(search_.simplex[1]);
    Vec3 direction = cross(start, along);
    for (int k = 0; k < 3; ++k) {
      add_farthest(direction, length(direction));
      direction = {dot(turn[0], direction), dot(turn[1], direction), dot(turn[2], direction)};
    }
  }
  DRL_HD bool passes_segment() const {
    return passes(point_[0].at, point_[1].at, point_[2].at, point_[3].at, point_[4].at);
  }
  DRL_HD_CALLED bool start_from_segment() {
    constexpr int kEnds[2] = {0, 1};
    add_around_segment();
    find_center(kEnds, 2);
    int flat[3];
    if (!add_pyramids(0, 1, 2, 3, 4, flat)) return start_from_face(flat);
    if (!passes_segment()) return false;
    list_all(6);
    return true;
  }
  // The other two corners are the farthest points on both sides.
  DRL_HD_CALLED bool start_from_triangle(const DifferencePoint* triangle) {
    const Vec3 normal = cross(triangle[1].at - triangle[0].at, triangle[2].at - triangle[0].at);
    const double size = length(normal);
    if (size < kNoLength) return false;
    constexpr int kCorners[3] = {0, 1, 2};
    const int r = add_point(triangle[0]), s = add_point(triangle[1]), t = add_point(triangle[2]);
    find_center(kCorners, 3);
    const int bottom = add_farthest(-normal, size), top = add_farthest(normal, size);
    for (int apex = bottom; apex <= top; ++apex)
      if (is_in_triangle(point_[r].at, point_[s].at, point_[t].at, point_[apex].at)) return false;
    if (turns_outwards_ && search_.distance > 10 * kNoLength && !has_origin(r, s, t, top) &&
        !has_origin(r, s, t, bottom))
      return false;
    int flat[3];
    if (!add_pyramids(top, bottom, r, s, t, flat)) return false;
    list_all(6);
    return true;
  }
  // Adds the four faces of a tetrahedron. Returns false as add_pyramids() does.
  DRL_HD bool add_tetrahedron(const int* corners, int* flat) {
    constexpr int kCorners[4][3] = {{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {3, 2, 1}};
    constexpr int kBeside[4][3] = {{1, 3, 2}, {2, 3, 0}, {0, 3, 1}, {2, 0, 1}};
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < 3; ++i) flat[i] = corners[kCorners[k][i]];
      if (add_face(flat[0], flat[1], flat[2], kBeside[k][0], kBeside[k][1], kBeside[k][2], k) < kLeastSquare)
        return false;
    }
    return true;
  }
  // Returns whether the origin is in a tetrahedron of points.
  DRL_HD bool has_origin(int a, int b, int c, int d) const {
    const int corner[4] = {a, b, c, d};
    const auto at = [&](int k) DRL_LAMBDA -> const Vec3& { return point_[corner[k % 4]].at; };
    for (int k = 0; k < 4; ++k)
      if (!is_same_side(at(k), at(k + 1), at(k + 2), at(k + 3))) return false;
    return true;
  }
  DRL_HD_CALLED bool start_from_tetrahedron() {
    constexpr int kAll[4] = {0, 1, 2, 3};
    for (int k = 0; k < 4; ++k) add_point(search_.simplex[k]);
    find_center(kAll, 4);
    int flat[3];
    if (!add_tetrahedron(kAll, flat)) return start_from_face(flat);
    if (!has_origin(0, 1, 2, 3)) return false;
    list_all(4);
    return true;
  }

  enum Start { kStarted, kFailed, kReplaced };  // the last one: by another simplex, from which to start

  DRL_HD_CALLED bool start_stably() {
    bool may_replace = true;  // a triangle by a segment
    for (;;) {
      points_ = 0;
      const bool is_segment = search_.count == 2;
      const Start start = is_segment           ? begin_from_segment()
                          : search_.count == 3 ? begin_from_triangle(may_replace)
                                               : begin_from_tetrahedron();
      if (start != kReplaced) return start == kStarted;
      if (is_segment) may_replace = false;
    }
  }
  DRL_HD Start replace_simplex(int a, int b, int c = -1) {
    search_.simplex[0] = point_[a], search_.simplex[1] = point_[b];
    search_.count = 2;
    if (c >= 0) search_.simplex[search_.count++] = point_[c];
    return kReplaced;
  }
  DRL_HD_CALLED Start begin_from_tetrahedron() {
    constexpr int kAll[4] = {0, 1, 2, 3};
    for (int k = 0; k < 4; ++k) add_point(search_.simplex[k]);
    find_center(kAll, 4);
    int flat[3];
    if (!add_tetrahedron(kAll, flat)) return replace_simplex(flat[0], flat[1], flat[2]);
    if (!has_origin(0, 1, 2, 3)) return kFailed;
    list_all(4);
    return kStarted;
  }
  DRL_HD_CALLED Start begin_from_segment() {
    constexpr int kAll[5] = {0, 1, 2, 3, 4};
    add_around_segment();
    if (!surround(2, 3, 4)) move_one_around();
    find_center(kAll, 5);
    int flat[3];
    if (!add_pyramids(0, 1, 2, 3, 4, flat))
      return flat[0] == 0 ? replace_by_triangle(flat[1], flat[2]) : replace_by_triangle(flat[2], flat[1]);
    if (!passes_segment()) return kFailed;
    list_all(6);
    return kStarted;
  }
  // Replaces the segment by a triangle of one of its ends and two other points.
  DRL_HD Start replace_by_triangle(int a, int b) {
    const Vec3 &u = point_[0].at, &v = point_[1].at, &r = point_[a].at, &s = point_[b].at;
    const Vec3 of_u = cross(r - u, s - u), of_v = cross(s - v, r - v);
    const bool is_thin_u = dot(of_u, of_u) < kNoLength, is_thin_v = dot(of_v, of_v) < kNoLength;
    bool takes_v = is_thin_u;
    if (is_thin_u == is_thin_v) {
      double at_u[3], at_v[3];
      weigh_triangle<true>(u, r, s, at_u), weigh_triangle<true>(v, s, r, at_v);
      const Vec3 near_u = at_u[0] * u + at_u[1] * r + at_u[2] * s, near_v = at_v[0] * v + at_v[1] * s + at_v[2] * r;
      takes_v = dot(near_u, near_u) > dot(near_v, near_v);
    }
    return takes_v ? replace_simplex(1, b, a) : replace_simplex(0, a, b);
  }
  // Returns whether the segment passes well through a triangle of points.
  DRL_HD bool surround(int r, int s, int t) const {
    double volume[3];
    passes(point_[0].at, point_[1].at, point_[r].at, point_[s].at, point_[t].at, volume);
    const Vec3 along = point_[1].at - point_[0].at;
    const double square = dot(along, along), least = square * kNoLength * std::sqrt(square);
    return (volume[0] >= least && volume[1] >= least && volume[2] >= least) ||
           (volume[0] <= -least && volume[1] <= -least && volume[2] <= -least);
  }
  // Replaces one of the three points around the segment by the farthest point beyond the side on which they surround it
  // least, if this helps.
  DRL_HD void move_one_around() {
    double volume[3];
    passes(point_[0].at, point_[1].at, point_[2].at, point_[3].at, point_[4].at, volume);
    const int side = volume[1] >= volume[0] && volume[2] >= volume[0] ? 0
                     : volume[1] > volume[0] || volume[1] > volume[2] ? 2
                                                                      : 1;
    const int p = 2 + side, q = 2 + (side + 1) % 3, r = 2 + (side + 2) % 3;
    const Vec3 along = point_[1].at - point_[0].at, beside = point_[q].at - point_[p].at;
    const bool is_near_end = 0.5 * dot(along, along) <= dot(along, point_[r].at - point_[0].at);
    const Vec3 way = cross(beside, along) + length(beside) * (is_near_end ? 0.001 : -0.001) * along;
    const int next = add_farthest(way, length(way));
    points_ -= 1;
    const int replaced = surround(next, q, r) ? p : surround(p, next, r) ? q : surround(p, q, next) ? r : next;
    point_[replaced] = point_[next];
  }
  DRL_HD_CALLED Start begin_from_triangle(bool may_replace) {
    for (int k = 0; k < 3; ++k) add_point(search_.simplex[k]);
    const Vec3 &r = point_[0].at, &s = point_[1].at, &t = point_[2].at;
    const Vec3 normal = cross(s - r, t - r);
    const double size = length(normal);
    if (size < kNoLength) return kFailed;
    const int bottom = add_farthest(-normal, size), top = add_farthest(normal, size);
    for (const int apex : {top, bottom}) {
      const Vec3& at = point_[apex].at;
      const double above = dot(apex == top ? normal : -normal, at - r);
      if (is_in_triangle(r, s, t, at) || above < size * kNoLength) return kFailed;
    }
    int corner[5] = {0, 1, 2, top, bottom}, flat[3];
    double volume[3];
    const bool are_pyramids =
        passes(point_[top].at, point_[bottom].at, r, s, t, volume) || reorder_pyramids(corner, volume);
    if (!are_pyramids) corner[2] = corner[3], corner[3] = corner[4];  // a tetrahedron is left
    find_center(corner, are_pyramids ? 5 : 4);
    const bool is_flat = are_pyramids ? !add_pyramids(corner[3], corner[4], corner[0], corner[1], corner[2], flat)
                                      : !add_tetrahedron(corner, flat);
    for (int k = 0; k < 3 && is_flat && may_replace; ++k)
      if (is_origin_between(point_[k].at, point_[(k + 1) % 3].at)) return replace_simplex(k, (k + 1) % 3);
    if (is_flat) return kFailed;
    const double tolerance = search_.options.tolerance;
    for (int k = 0; k < (are_pyramids ? 6 : 4); ++k) {
      const Face& face = face_[k];
      const int opposite = are_pyramids ? corner[2 - k % 3] : corner[3 - k];
      if (face.square >= tolerance * tolerance && !is_same_side(point_[face.corner[0]].at, point_[face.corner[1]].at,
                                                                point_[face.corner[2]].at, point_[opposite].at))
        return kFailed;
    }
    list_all(are_pyramids ? 6 : 4);
    return kStarted;
  }
  // Orders five points anew, so that the line of the last two passes through the triangle of the others. `volume` are
  // those of passes(). Returns false if this cannot be; then the first two and the last two are a tetrahedron.
  DRL_HD static bool reorder_pyramids(int* corner, const double* volume) {
    const int r = corner[0], s = corner[1], t = corner[2], top = corner[3], bottom = corner[4];
    const bool is_low[3] = {volume[0] < -kNoLength, volume[1] < -kNoLength, volume[2] < -kNoLength};
    const auto set = [&](int a, int b, int c, int d, int e)
                         DRL_LAMBDA { corner[0] = a, corner[1] = b, corner[2] = c, corner[3] = d, corner[4] = e; };
    if (volume[0] > 0 && is_low[1] && is_low[2]) return set(t, bottom, top, r, s), true;
    if (volume[1] > 0 && is_low[0] && is_low[2]) return set(r, bottom, top, s, t), true;
    if (volume[2] > 0 && is_low[0] && is_low[1]) return set(s, bottom, top, t, r), true;
    if (volume[1] >= volume[0] && volume[2] >= volume[0]) return false;
    if (volume[0] >= volume[1] && volume[2] >= volume[1])
      corner[0] = s, corner[1] = t;
    else
      corner[0] = t, corner[1] = r;
    return false;
  }
  // Returns whether the origin is on a segment.
  DRL_HD static bool is_origin_between(const Vec3& u, const Vec3& v) {
    const Vec3 along = v - u;
    const double square = dot(along, along);
    if (!(dot(u, v) < 0) || square < kLeastSquare) return false;
    const Vec3 nearest = -dot(v, along) / square * along + v;
    return dot(nearest, nearest) < kLeastSquare;
  }

  // Computes the rows of the matrix that turns by 120 degrees about an axis.
  DRL_HD static void find_third_of_turn(const Vec3& axis, Vec3* rows) {
    constexpr double kSine = 0.86602540378, kCosine = -0.5;
    const double size = length(axis);
    const Vec3 u{axis[0] / size, axis[1] / size, axis[2] / size};
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const double sine = j == (i + 1) % 3 ? -kSine : kSine;
        rows[i][j] = i == j ? kCosine + u[i] * u[i] * (1 - kCosine) : u[i] * u[j] * (1 - kCosine) + u[3 - i - j] * sine;
      }
  }
  // Returns whether the line through u and v passes through a triangle. Stores the volumes of the tetrahedra of the
  // line with each side if `volumes` is not null.
  DRL_HD static bool passes(const Vec3& u, const Vec3& v, const Vec3& r, const Vec3& s, const Vec3& t,
                            double* volumes = nullptr) {
    const Vec3 along = v - u, a = r - u, b = s - u, c = t - u;
    const auto volume = [&](const Vec3& x, const Vec3& y) DRL_LAMBDA { return dot(x, cross(y, along)); };
    const double x = volume(a, b), y = volume(b, c), z = volume(c, a);
    if (volumes != nullptr) volumes[0] = x, volumes[1] = y, volumes[2] = z;
    return (x >= 0 && y >= 0 && z >= 0) || (x <= 0 && y <= 0 && z <= 0);
  }
  DRL_HD Vec3 weigh(const Vec3& r, const Vec3& s, const Vec3& t, const Vec3& p) const {
    return is_stable_ ? TriangleWeights<true>(r, s, t, p).all() : TriangleWeights<false>(r, s, t, p).all();
  }
  DRL_HD bool is_in_triangle(const Vec3& r, const Vec3& s, const Vec3& t, const Vec3& p) const {
    const Vec3 weights = weigh(r, s, t, p);
    if (weights[0] < 0 || weights[1] < 0 || weights[2] < 0) return false;
    return length(weights[0] * r + weights[1] * s + weights[2] * t - p) < kNoLength;
  }
  // Returns whether the origin and p are on the same side of a plane.
  DRL_HD static bool is_same_side(const Vec3& r, const Vec3& s, const Vec3& t, const Vec3& p) {
    const Vec3 normal = cross(s - r, t - r);
    return common_sign(dot(normal, p - r), dot(normal, -r)) != 0;
  }

  // Grows the polytope until its nearest face is within the tolerance of the surface. Returns false if it breaks.
  DRL_HD_CALLED bool expand(Face& best) {
    const bool are_discrete = search_.are_discrete();
    const double tolerance = are_discrete ? kNoLength : search_.options.tolerance;
    double upper = 1e150;  // bounds the depth; the nearest face is the lower bound
    bool has_best = false;
    for (int k = 0; k < search_.options.iterations && k < kMostConvexIterations; ++k) {
      int nearest = -1;
      double least = 1e300;
      for (int i = 0; i < listed_; ++i)
        if (square_[i] < least) nearest = i, least = square_[i];
      if (nearest >= 0) nearest = list_[nearest];
      if (nearest < 0 || least > upper * upper) return has_best;
      best = face_[nearest], has_best = true;
      if (least <= 0) return true;
      const double lower = std::sqrt(least);
      const int next = add_farthest(best.nearest, lower);
      const double reach = dot(best.nearest, point_[next].at) / lower;
      if (reach < upper) upper = reach;
      if (is_stable_ && reach - lower < tolerance) return k > 0 || !(upper < lower - tolerance);
      if (!is_stable_ && upper - lower < tolerance) return !turns_outwards_ || k > 0 || !(upper < lower - 1e-10);
      if (are_discrete && has_vertex(next)) return true;
      const int edges = find_horizon(nearest, point_[next].at);
      if (edges < 3) return false;
      if (edges > freed_ + kMostFaces - faces_) return true;
      if (!attach(next, edges, least, upper * upper)) return is_stable_;
      if (listed_ == 0) return true;
    }
    return has_best;
  }
  DRL_HD bool has_vertex(int next) const {
    for (int k = 0; k < next; ++k)
      if (point_[k].is_same_vertex(point_[next])) return true;
    return false;
  }

  // Deletes the faces that a point sees, starting from one of them, and collects the edges around them in order, each
  // as an edge of the face that stays. Returns their number, or 0 if there is no room.
  DRL_HD int find_horizon(int first, const Vec3& point) {
    int edges = 0, left = 0;
    const auto look_across = [&](int face, int edge) DRL_LAMBDA { stack_[left++] = Edge(4 * face + edge); };
    delete_face(first);
    for (int edge = 2; edge >= 0; --edge) look_across(first, edge);
    while (left > 0) {
      const int crossed = stack_[--left];
      const Face& from = face_[crossed / 4];
      const int across = from.beside[crossed % 4];
      const Face& face = face_[across];
      if (face.place == kDeleted) continue;
      const int end = from.corner[after(crossed % 4)];  // where the shared edge starts on the other face
      const int edge = face.corner[0] == end ? 0 : face.corner[1] == end ? 1 : 2;
      const bool is_far = is_stable_ && face.square > 1;
      if (dot(face.nearest, point) - face.square > (is_far ? kNoLength * std::sqrt(face.square) : kNoLength)) {
        delete_face(across);
        look_across(across, after(after(edge))), look_across(across, after(edge));
      } else {
        if (edges == (is_stable_ ? most_edges() : kMostFaces)) return 0;
        horizon_[edges++] = Edge(4 * across + edge);
      }
    }
    return edges;
  }
  // Returns MuJoCo's bound of the horizon's edges.
  DRL_HD int most_edges() const { return (search_.options.iterations > 35 ? search_.options.iterations : 35) - 11; }
  // Connects a point with the edges of the horizon. Faces that cannot be nearest to the origin are not listed.
  DRL_HD bool attach(int point, int edges, double least, double most) {
    uint8_t at[kMostFaces];
    for (int k = 0; k < edges; ++k) at[k] = freed_ > 0 ? free_[--freed_] : uint8_t(faces_++);
    for (int k = 0; k < edges; ++k) {
      const int across = horizon_[k] / 4, edge = horizon_[k] % 4;
      Face& outside = face_[across];
      const int start = outside.corner[edge], end = outside.corner[after(edge)];
      outside.beside[edge] = at[k];
      const double square =
          add_face(point, end, start, at[k > 0 ? k - 1 : edges - 1], across, at[k + 1 < edges ? k + 1 : 0], at[k]);
      if (square == 0) return false;
      if (square >= least && square <= most) list_face(at[k]);
    }
    return true;
  }

  Gjk& search_;
  bool is_stable_, turns_outwards_;
  Vec3 center_{0, 0, 0};  // of the first polytope or its simplex, from which faces turn away
  DifferencePoint point_[kMostPoints];
  Face face_[kMostFaces];
  uint8_t list_[kMostFaces], free_[kMostFaces];  // faces that may be nearest to the origin; faces that were deleted
  double square_[kMostFaces];                    // of the listed faces, side by side
  Edge horizon_[kMostFaces], stack_[2 * kMostFaces];
  int points_ = 0, faces_ = 0, listed_ = 0, freed_ = 0;
};

}  // namespace drl::inline DRL_ISA::physics
