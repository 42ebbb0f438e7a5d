// Contacts of two boxes, with MuJoCo's points in MuJoCo's order, before version 3.12. Of the 15 directions in which
// boxes can be separated, the one with the least overlap decides. If it is the normal of a face, the other box's lower
// side is clipped by that face. If it is perpendicular to an edge of each box, the faces beside these edges are
// projected onto each other.
#pragma once

#include "drl/physics/clipped_boxes.hpp"

namespace drl::inline DRL_ISA::physics {

// The frame of a box's face: z is the face's normal. It is the box's frame with the axes swapped and some reversed.
struct FaceFrame {
  int from[3] = {0, 1, 2};
  double sign[3] = {1, 1, 1};

  // `side` is 1 or -1: the face on the positive or negative side of the axis.
  DRL_HD FaceFrame(int axis, double side) {
    from[axis] = 2, from[2] = axis;
    sign[axis == 2 ? 0 : axis] = axis == 2 ? side : -side, sign[2] = side;
  }
  DRL_HD Vec3 into(const Vec3& v) const { return {sign[0] * v[from[0]], sign[1] * v[from[1]], sign[2] * v[from[2]]}; }
  DRL_HD Vec3 out_of(const Vec3& v) const {
    Vec3 of_box;
    for (int k = 0; k < 3; ++k) of_box[from[k]] = sign[k] * v[k];
    return of_box;
  }
  DRL_HD Vec3 sizes(const double* size) const { return {size[from[0]], size[from[1]], size[from[2]]}; }
};

// A parallelogram with a corner and two edges; with fewer edges it is a line or a point.
struct Parallelogram {
  Vec3 corner, edge[2];

  // Side 0 starts at the corner along edge 0, side 1 along edge 1, and sides 2 and 3 are opposite to 1 and 0.
  DRL_HD Vec3 start(int side) const { return side < 2 ? corner : corner + edge[side - 2]; }
  DRL_HD const Vec3& along(int side) const { return edge[side == 1 || side == 2 ? 1 : 0]; }
  DRL_HD double area() const { return edge[0][0] * edge[1][1] - edge[1][0] * edge[0][1]; }  // in the plane z = 0
  // Solves (x, y) = corner + u edge[0] + v edge[1] in the plane z = 0, if `divisor` is area().
  DRL_HD void solve(double x, double y, double divisor, double& u, double& v) const {
    x -= corner[0], y -= corner[1];
    u = (x * edge[1][1] - y * edge[1][0]) * (1 / divisor), v = (y * edge[0][0] - x * edge[0][1]) * (1 / divisor);
  }
};
// Calls body(t, x, y) for the places start + t along at which a line crosses the border of the rectangle
// |x| <= half[0], |y| <= half[1], where t is from 0 to 1.
template <class Body>
DRL_HD void each_crossing(const Vec3& start, const Vec3& along, const Vec3& half, const Body& body) {
  for (int k = 0; k < 2; ++k) {
    if (!(std::abs(along[k]) > kNoLength)) continue;
    for (int side = -1; side <= 1; side += 2) {
      const double border = side * half[k], t = (border - start[k]) * (1 / along[k]);
      if (t < 0 || t > 1) continue;
      const double other = start[1 - k] + along[1 - k] * t;
      if (std::abs(other) > half[1 - k]) continue;
      body(t, k == 0 ? border : other, k == 0 ? other : border);
    }
  }
}

class TwoBoxes {
 public:
  DRL_HD TwoBoxes(const Shape& first, const Shape& second, double margin) : box_{&first, &second}, margin_(margin) {
    const Vec3 way = second.center() - first.center();
    center_[0] = first.into(way), center_[1] = second.into(-way);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) cosine_[i][j] = dot(first.axis(i), second.axis(j));
  }

  DRL_HD void collide(int most, ContactList& list) {
    if (!find_direction()) return;
    if (edge_[0] < 0)
      clip_by_face();
    else
      cross_edges();
    remove_wrong();
    for (int k = 0; k < count_ && k < most; ++k) list.add(points_[k].at, normal_, points_[k].distance);
  }

 private:
  // Crossings of four sides with four borders, four corners of each face.
  static constexpr int kMostPoints = 24;
  struct Candidate {
    Vec3 at;
    double distance;
  };

  // Returns the axis j of the other box in the axes of box `of`.
  DRL_HD Vec3 axis_in(int of, int j) const {
    if (of == 0) return {cosine_[0][j], cosine_[1][j], cosine_[2][j]};
    return {cosine_[j][0], cosine_[j][1], cosine_[j][2]};
  }
  // Finds the direction of least overlap. Returns false if the boxes are farther apart than the margin.
  DRL_HD_CALLED bool find_direction() {
    double least = 1e300;
    for (int axis = 0; axis < 3; ++axis)
      for (int of = 0; of < 2; ++of) {
        const double *own = box_[of]->size, *other = box_[1 - of]->size;
        double reach = 0;
        for (int j = 0; j < 3; ++j) reach += std::abs(of == 0 ? cosine_[axis][j] : cosine_[j][axis]) * other[j];
        const double overlap = own[axis] - std::abs(center_[of][axis]) + reach;
        if (overlap < -margin_) return false;
        if (overlap < least) least = overlap, face_of_ = of, face_axis_ = axis;
      }
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        if (!try_edges(i, j, least)) return false;
    if (edge_[0] >= 0) find_sides();
    return true;
  }
  // Tries the direction perpendicular to edge i of the first box and edge j of the second. It must have less overlap
  // than the best direction by more than rounding.
  DRL_HD bool try_edges(int i, int j, double& least) {
    const int k = i == 0 ? 1 : 0, l = i == 2 ? 1 : 2, m = j == 0 ? 1 : 0, n = j == 2 ? 1 : 2;
    const double x = cosine_[k][j], y = cosine_[l][j], size = std::sqrt(x * x + y * y);
    if (size < kNoLength) return true;
    const double inverse = 1 / size;
    const double a = (i == 1 ? inverse : -inverse) * y, b = (i == 1 ? -inverse : inverse) * x;  // along axes k and l
    const double off = center_[0][k] * a + center_[0][l] * b;
    const double overlap = box_[0]->size[k] * std::abs(a) + box_[0]->size[l] * std::abs(b) +
                           box_[1]->size[m] * std::abs(cosine_[i][n]) / size +
                           box_[1]->size[n] * std::abs(cosine_[i][m]) / size - std::abs(off);
    if (overlap < -margin_) return false;
    if (!(overlap < least * (1 - 1e-12))) return true;
    least = overlap, edge_[0] = i, edge_[1] = j, is_reversed_ = off < 0;
    direction_[i] = 0, direction_[k] = a, direction_[l] = b;
    return true;
  }
  // Finds on which sides of the boxes the edges are that touch.
  DRL_HD void find_sides() {
    const int i = edge_[0], j = edge_[1];
    for (int m = 0; m < 3; ++m) {
      towards_[0][m] = m != i && (direction_[m] > 0) != is_reversed_;
      // The second box's axis m, seen along the direction, is cosine_[i][3 - m - j] with a sign.
      towards_[1][m] = m != j && ((cosine_[i][3 - m - j] > 0) != is_reversed_) != ((m - j + 3) % 3 == 1);
    }
  }

  DRL_HD void put(const Vec3& at, double distance) {
    if (count_ < kMostPoints) points_[count_++] = {at, distance};
  }
  // Converts the points from the frame of a face, whose origin is on the face, to the world. The order of the sums
  // decides which points are equal, so it is MuJoCo's.
  DRL_HD void to_world(int of, const FaceFrame& frame, double height) {
    const Shape& box = *box_[of];
    const auto axis = [&](int k) DRL_LAMBDA { return frame.sign[k] * box.axis(frame.from[k]); };
    for (int k = 0; k < count_; ++k) {
      Vec3& at = points_[k].at;
      at = at[0] * axis(0) + at[1] * axis(1) + (at[2] + height) * axis(2) + box.center();
    }
  }

  // Clips the other box's lower side by the face. The candidates are the crossings of the borders, the face's corners
  // and the other side's corners.
  DRL_HD_CALLED void clip_by_face() {
    const Shape &box = *box_[face_of_], &other = *box_[1 - face_of_];
    const FaceFrame frame(face_axis_, center_[face_of_][face_axis_] < 0 ? -1 : 1);
    const Vec3 half = frame.sizes(box.size);
    Vec3 axis[3], lowest = frame.into(center_[face_of_]);
    lowest[2] -= half[2];
    Parallelogram side{};
    int edges = 0;
    for (int j = 0; j < 3; ++j) {
      axis[j] = frame.into(axis_in(face_of_, j));
      const double down = axis[j][2] < 0 ? 1 : -1;
      lowest = lowest + down * other.size[j] * axis[j];
      if (std::abs(axis[j][2]) < 0.5) side.edge[edges++] = -2 * down * other.size[j] * axis[j];
    }
    side.corner = lowest;
    const auto add = [&](const Vec3& at) DRL_LAMBDA {
      if (at[2] <= margin_) put({at[0], at[1], 0.5 * at[2]}, at[2]);
    };
    for (int k = 0; k < (edges == 2 ? 4 : edges); ++k)
      each_crossing(side.start(k), side.along(k), half,
                    [&](double t, double, double) DRL_LAMBDA { add(side.start(k) + t * side.along(k)); });
    for (int k = 0; k < 4 && edges == 2; ++k) {
      const double x = k / 2 ? half[0] : -half[0], y = k % 2 ? half[1] : -half[1];
      double u, v;
      side.solve(x, y, side.area(), u, v);
      if (0 < u && u < 1 && 0 < v && v < 1) add({x, y, side.corner[2] + u * side.edge[0][2] + v * side.edge[1][2]});
    }
    for (int k = 0; k < 1 << edges; ++k) {
      Vec3 at = side.corner;
      for (int e = 0; e < 2; ++e)
        if (k >> e & 1) at = at + side.edge[e];
      if (k == 0 || (std::abs(at[0]) < half[0] && std::abs(at[1]) < half[1])) add(at);
    }
    const Vec3 outwards = box.out_of(frame.out_of({0, 0, 1}));
    normal_ = face_of_ == 0 ? outwards : -outwards;
    to_world(face_of_, frame, half[2]);
  }

  // The edges touch. The first box's face that is closest to facing the direction becomes the ground, onto which the
  // second box's face is projected.
  DRL_HD_CALLED void cross_edges() {
    const int i = edge_[0], j = edge_[1];
    int own = i == 1 ? 0 : 1, face = i == 2 ? 0 : 2;  // the face's axis is less along the second box's edge
    if (std::abs(cosine_[own][j]) < std::abs(cosine_[face][j])) own = face, face = 3 - i - own;
    int wide = j == 1 ? 0 : 1, high = j == 2 ? 0 : 2;  // the second box's face is spanned by j and `wide`
    if (std::abs(cosine_[i][wide]) < std::abs(cosine_[i][high])) wide = high, high = 3 - j - wide;
    const FaceFrame frame(face, towards_[0][face] ? 1 : -1);
    const Vec3 half = frame.sizes(box_[0]->size), normal = frame.into(direction_);
    if (std::abs(normal[2]) < kNoLength) return;
    Vec3 axis[3], middle = frame.into(center_[0]);
    middle[2] -= half[2];
    for (int k = 0; k < 3; ++k) axis[k] = box_[1]->size[k] * frame.into(axis_in(0, k));
    const Vec3 up = (towards_[1][high] ? 1 : -1) * axis[high], out = (towards_[1][wide] ? 1 : -1) * axis[wide];
    for (int k = 0; k < 4; ++k) {
      corner_[k] = middle + (k < 2 ? out : -out) + up + (k % 2 == 0 ? axis[j] : -axis[j]);
      shadow_[k] = corner_[k] + -corner_[k][2] * (1 / normal[2]) * normal;
    }
    scale_ = 1 / normal[2] * (is_reversed_ ? -1 : 1);
    const Parallelogram raised{corner_[0], {corner_[1] - corner_[0], corner_[2] - corner_[0]}};
    const Parallelogram flat{shadow_[0], {shadow_[1] - shadow_[0], shadow_[2] - shadow_[0]}};
    add_crossings(raised, flat, half);
    const int crossings = count_;
    add_own_corners(flat, half, crossings > 0);
    add_other_corners(half, crossings > 0, count_ > 0);
    const Vec3 turned = box_[0]->out_of(frame.out_of(normal));
    normal_ = is_reversed_ ? -turned : turned;
    to_world(0, frame, half[2]);
  }
  DRL_HD void add_crossings(const Parallelogram& raised, const Parallelogram& flat, const Vec3& half) {
    for (int k = 0; k < 4; ++k) {
      const Vec3 start = raised.start(k), along = raised.along(k);
      each_crossing(flat.start(k), flat.along(k), half, [&](double t, double x, double y) DRL_LAMBDA {
        const Vec3 at = start + t * along;
        if (at[2] * scale_ <= margin_) put(0.5 * (at + Vec3{x, y, 0}), at[2] * scale_);
      });
    }
  }
  // Adds a point between one that is on the ground and one of the second box's face.
  DRL_HD void add_between(const Vec3& on_ground, const Vec3& raised, double square) {
    if (raised[2] > 0 && square > margin_ * margin_) return;
    put(0.5 * (on_ground + raised), raised[2] < 0 ? -std::sqrt(square) : std::sqrt(square));
  }
  // Adds the first box's corners under the projected face. MuJoCo finds the place of a corner correctly only until one
  // is under the face: from then on it divides by that corner's squared distance instead of the area. The contacts are
  // to be the same, so this does it too.
  DRL_HD void add_own_corners(const Parallelogram& flat, const Vec3& half, bool crosses) {
    double divisor = flat.area();
    for (int k = 0; k < 4; ++k) {
      const Vec3 at{k / 2 ? half[0] : -half[0], k % 2 ? half[1] : -half[1], 0};
      double u, v;
      flat.solve(at[0], at[1], divisor, u, v);
      const bool is_past_u = u < 0 || u > 1, is_past_v = v < 0 || v > 1;
      if (crosses ? is_past_u || is_past_v : is_past_u && is_past_v) continue;
      u = u < 0 ? 0 : u > 1 ? 1 : u, v = v < 0 ? 0 : v > 1 ? 1 : v;
      const Vec3 above = (1 - u - v) * corner_[0] + u * corner_[1] + v * corner_[2], way = at - above;
      divisor = dot(way, way);
      add_between(at, above, divisor);
    }
  }
  // Adds the corners of the second box's face that are above the ground.
  DRL_HD void add_other_corners(const Vec3& half, bool crosses, bool has_points) {
    for (int k = 0; k < 4; ++k) {
      const Vec3 at = shadow_[k];
      const bool is_past_x = std::abs(at[0]) > half[0], is_past_y = std::abs(at[1]) > half[1];
      if (crosses ? is_past_x || is_past_y : has_points && is_past_x && is_past_y) continue;
      const Vec3 nearest{clamp(at[0], half[0]), clamp(at[1], half[1]), 0};
      const double x = at[0] - nearest[0], y = at[1] - nearest[1], z = corner_[k][2];
      add_between(nearest, corner_[k], x * x + y * y + z * scale_ * z * scale_);
    }
  }

  // Returns 1 if a point is outside of the box by more than one percent of its size, -1 if it is inside by more than
  // that, and otherwise 0.
  DRL_HD int is_outside(const Shape& box, const Vec3& point) const {
    constexpr double kRatio = 1.01;
    const Vec3 local = box.into(point - box.center());
    bool is_inside = true;
    for (int k = 0; k < 3; ++k) {
      const double size = box.size[k] + margin_, x = std::abs(local[k]);
      if (x > size * kRatio) return 1;
      is_inside = is_inside && x < size / kRatio;
    }
    return is_inside ? -1 : 0;
  }
  // Returns whether two points have the same coordinates in the world, which MuJoCo compares. Relative to the origin
  // they may differ: the digits are finer there.
  DRL_HD bool are_equal(const Vec3& a, const Vec3& b) const {
    const double* origin = box_[0]->origin;
    return a[0] + origin[0] == b[0] + origin[0] && a[1] + origin[1] == b[1] + origin[1] &&
           a[2] + origin[2] == b[2] + origin[2];
  }
  // Removes points that are outside of one box and not inside the other, and the earlier ones of equal points.
  DRL_HD void remove_wrong() {
    int kept = 0;
    for (int k = 0; k < count_; ++k) {
      const int first = is_outside(*box_[0], points_[k].at), second = is_outside(*box_[1], points_[k].at);
      if ((first == 1 && second != -1) || (second == 1 && first != -1)) continue;
      points_[kept++] = points_[k];
    }
    count_ = 0;
    for (int k = 0; k < kept; ++k) {
      bool comes_again = false;
      for (int later = k + 1; later < kept && !comes_again; ++later)
        comes_again = are_equal(points_[k].at, points_[later].at);
      if (!comes_again) points_[count_++] = points_[k];
    }
  }

  const Shape* box_[2];
  double margin_;
  Vec3 center_[2];                   // of the other box, in the axes of each
  double cosine_[3][3];              // [first's axis][second's axis]
  int face_of_ = 0, face_axis_ = 0;  // the face with the least overlap
  int edge_[2] = {-1, -1};           // the edges, if they have less overlap
  Vec3 direction_{};                 // perpendicular to the edges, in the first box's axes
  bool is_reversed_ = false;         // the direction points from the second box to the first
  bool towards_[2][3] = {};          // whether the edge is on the positive side of each axis
  Vec3 corner_[4], shadow_[4];       // the second box's face, and its projection onto the ground
  double scale_ = 0;                 // distance along the direction by height
  Candidate points_[kMostPoints];
  int count_ = 0;
  Vec3 normal_{};
};

// `clips`, `have_eight`: see boxes_clip_faces and boxes_have_eight of ConvexOptions.
DRL_HD_CALLED void collide_boxes(const Shape& first, const Shape& second, bool clips, bool have_eight,
                                 ContactList& list) {
  if (clips) return ClippedBoxes(first, second, list.margin()).collide(list);
  TwoBoxes(first, second, list.margin()).collide(have_eight ? 8 : kMostShapeContacts, list);
}

}  // namespace drl::inline DRL_ISA::physics
