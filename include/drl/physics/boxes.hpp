// Finds where a capsule's axis is nearest to a box, as MuJoCo does: at one place, or at two if the axis lies along a
// face or an edge. The decisions differ between lanes and the case is rare, so it is computed lane by lane.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl::inline DRL_ISA::physics {

// The axes of a geom as columns, in world coordinates.
template <class F>
struct Axes {
  F turn[3][3];
  DRL_HD void into(const F* world, F* local) const {
    for (int k = 0; k < 3; ++k)
      local[k] = math::fma(turn[2][k], world[2], math::fma(turn[1][k], world[1], turn[0][k] * world[0]));
  }
  DRL_HD void out_of(const F* local, F* world) const {
    for (int k = 0; k < 3; ++k)
      world[k] = math::fma(turn[k][2], local[2], math::fma(turn[k][1], local[1], turn[k][0] * local[0]));
  }
};

// Computes the unit vector from a point (in the box's axes) towards the box, and the distance, which is negative
// inside.
template <class F>
DRL_HD void nearest_of_box(const F* point, const double* size, F* way, F& distance) {
  F inside = F(1e30), square = F(0), in_way[3] = {F(0), F(0), F(0)};
  for (int k = 0; k < 3; ++k) {
    way[k] = math::clamp(point[k], F(-size[k]), F(size[k])) - point[k];
    square = math::fma(way[k], way[k], square);
    for (int side = -1; side <= 1; side += 2) {
      const F depth = math::abs(F(side * size[k]) - point[k]);
      const Mask<F> is_nearer = depth < inside;
      inside = math::select(is_nearer, depth, inside);
      for (int l = 0; l < 3; ++l) in_way[l] = math::select(is_nearer, F(l == k ? -side : 0), in_way[l]);
    }
  }
  const F outside = math::sqrt(square), inverse = F(1) / math::max(outside, F(1e-30));
  const Mask<F> is_inside = !(F(1e-15) < outside);
  for (int k = 0; k < 3; ++k) way[k] = math::select(is_inside, in_way[k], way[k] * inverse);
  distance = math::select(is_inside, -inside, outside);
}

// A capsule and a box in one lane. The capsule is given by its centre and the vector to the end of its axis, both in
// the box's axes; size holds the box's three half sizes.
template <class S>
class AxisAndBox {
 public:
  static constexpr S kNone = 1e9;  // means "no such place"

  DRL_HD AxisAndBox(const S* center, const S* half, const double* size) {
    for (int k = 0; k < 3; ++k) {
      center_[k] = center[k], half_[k] = half[k], size_[k] = static_cast<S>(size[k]);
      square_ += half[k] * half[k];
      rises_ |= half[k] > 0 ? 1 << k : 0;
    }
    try_ends();
    for (int edge = 0; edge < 3; ++edge)
      for (int corner = 0; corner < 8; ++corner)
        if ((corner >> edge & 1) == 0) try_edge(edge, corner);
  }
  // The nearest place on the axis, from -1 to 1, and the second one (kNone if there is only one).
  DRL_HD S first() const { return at_; }
  DRL_HD S second() const {
    return nearest_ == kFace ? along_face() : nearest_ == kCorner ? from_corner() : across_edge();
  }

 private:
  enum Nearest { kFace, kEdge, kCorner };

  // Tries the ends of the axis that are above a face or inside the box.
  DRL_HD void try_ends() {
    for (int end = -1; end <= 1; end += 2) {
      int outside = 0, face = -1;
      S square = 0;
      for (int k = 0; k < 3; ++k) {
        const S x = center_[k] + static_cast<S>(end) * half_[k];
        const S beyond = x < -size_[k] ? x + size_[k] : x > size_[k] ? x - size_[k] : 0;
        if (beyond != 0) outside += 1, face = k;
        square += beyond * beyond;
      }
      if (outside > 1 || !(square < best_)) continue;
      best_ = square, at_ = static_cast<S>(end), nearest_ = kFace, face_ = face;
    }
  }
  // Tries the edge that leaves a corner along the box's axis k. Bit l of `corner` is set if the corner is on the
  // positive side of the box's axis l.
  DRL_HD void try_edge(int k, int corner) {
    S off[3], u = 0, v = 0;
    for (int l = 0; l < 3; ++l) {
      off[l] = (l == k ? 0 : corner >> l & 1 ? size_[l] : -size_[l]) - center_[l];
      v += half_[l] * off[l];
    }
    u = -size_[k] * off[k];
    const S a = size_[k] * size_[k], b = -size_[k] * half_[k], c = square_;
    const S determinant = a * c - b * b;
    if (abs(determinant) < S(1e-15)) return;
    // The nearest places of the two lines, then limited to the edge and to the axis.
    S x = (c * u - b * v) / determinant, y = (a * v - b * u) / determinant;
    int end = 0;  // the edge's end that was reached, or 0
    if (abs(x) > 1) end = x > 0 ? 1 : -1, x = static_cast<S>(end), y = (v - b * x) / c;
    if (abs(y) > 1) {
      y = y > 0 ? 1 : -1, x = (u - b * y) / a;
      if (abs(x) > 1) end = x > 0 ? 1 : -1, x = static_cast<S>(end);
    }
    S square = 0;
    for (int l = 0; l < 3; ++l) {
      const S apart = off[l] - y * half_[l] + (l == k ? x * size_[l] : 0);
      square += apart * apart;
    }
    if (!(square < best_ - S(1e-15))) return;
    best_ = square, at_ = y, on_edge_ = x, edge_ = k;
    nearest_ = end != 0 ? kCorner : kEdge, corner_ = corner | (end > 0 ? 1 << k : 0);
  }

  // Returns the distance along the capsule's axis, in half lengths, over which it crosses the box in direction k.
  DRL_HD S passes(int k) const { return 2 * size_[k] / abs(half_[k]); }
  DRL_HD static S least(S a, S b) { return b < a ? b : a; }
  DRL_HD static S abs(S x) { return x < 0 ? -x : x; }
  // Returns the index of the only bit that is set, or -1.
  DRL_HD static int only_bit(int bits) { return bits == 1 ? 0 : bits == 2 ? 1 : bits == 4 ? 2 : -1; }

  // An end of the axis is above a face: returns the place towards the other end, as far as the axis stays above the
  // face.
  DRL_HD S along_face() const {
    if (face_ < 0) return kNone;
    S step = 2;
    for (int k = 0; k < 3; ++k)
      for (int side = -1; side <= 1; side += 2) {
        if (k == face_) continue;
        const S reach = -at_ * (static_cast<S>(side) * size_[k] - (center_[k] + at_ * half_[k])) / half_[k];
        if (reach > 0 && reach < step) step = reach;
      }
    return at_ - at_ * step;
  }
  // The axis is nearest to a corner: returns the place along an edge or a face, unless the axis points at the corner.
  DRL_HD S from_corner() const {
    const int differs = rises_ ^ corner_;
    if (differs == 0 || differs == 7) return kNone;
    const S turn = only_bit(differs) >= 0 ? 1 : -1;
    const int k = only_bit(turn > 0 ? differs : 7 - differs), l = (k + 1) % 3, m = (k + 2) % 3;
    if (half_[k] * half_[k] > S(0.5) * square_) return at_ + turn * least(1 - turn * at_, passes(k));
    return at_ - turn * least(least(1 + turn * at_, passes(l)), passes(m));
  }
  // The axis is nearest to the middle of an edge: returns the place over the face that is closer to the axis, unless
  // the axis is upright on the edge.
  DRL_HD S across_edge() const {
    const int differs = (rises_ ^ corner_) & ~(1 << edge_);
    if (only_bit(differs) < 0) return kNone;
    int upright = (edge_ + 1) % 3;
    if (abs(half_[upright]) > abs(half_[(edge_ + 2) % 3])) upright = (edge_ + 2) % 3;
    const int flat = 3 - edge_ - upright;
    const bool is_on = (differs >> flat & 1) != 0;
    const S turn = is_on ? 1 : -1, left = 1 - (((rises_ >> edge_ & 1) != 0) == is_on ? on_edge_ : -on_edge_);
    return at_ + turn * least(least(1 - turn * at_, passes(flat)), size_[edge_] * left / abs(half_[edge_]));
  }

  S center_[3], half_[3], size_[3], square_ = 0;  // square_: |half_|^2
  int rises_ = 0;                                 // bit k: the axis points along the box's positive axis k
  S best_ = S(1e30), at_ = 0, on_edge_ = 0;
  Nearest nearest_ = kFace;
  int face_ = -1, edge_ = 0, corner_ = 0;
};

// Finds both places in each of these lanes.
template <class F>
DRL_HD_CALLED void find_places(const F* center, const F* half, const double* size, Mask<F> lanes, F& first, F& second) {
  using S = Scalar<F>;
  S at[kLanesOf<F>] = {}, other[kLanesOf<F>] = {};
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left);
    const S c[3] = {lane(center[0], l), lane(center[1], l), lane(center[2], l)};
    const S h[3] = {lane(half[0], l), lane(half[1], l), lane(half[2], l)};
    const AxisAndBox<S> places(c, h, size);
    at[l] = places.first(), other[l] = places.second();
  }
  first = load<F>(at), second = load<F>(other);
}

}  // namespace drl::inline DRL_ISA::physics
