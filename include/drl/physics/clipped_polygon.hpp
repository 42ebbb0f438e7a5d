// A polygon that is clipped by planes (I. Sutherland and G. Hodgman, "Reentrant polygon clipping", Communications of
// the ACM 1974), and the choice of few of its corners. The steps are those of MuJoCo.
#pragma once

#include "drl/physics/polyhedra.hpp"

namespace drl::inline DRL_ISA::physics {

// A convex polygon, or a segment, that is clipped by planes.
class ClippedPolygon {
 public:
  DRL_HD void add(const Vec3& corner) { put(corner, count_, from_); }
  DRL_HD int count() const { return count_; }
  DRL_HD const Vec3& operator[](int k) const { return corners_[from_][k]; }

  // Keeps what is inside of the planes through the edges of a face with these corners and along its normal.
  // `by_unit_normals`: see ConvexOptions. `by_heights`: see clip(). The planes of many edges are computed before they
  // clip, because their roots and divisions then overlap in time.
  template <class Corner>
  DRL_HD void clip_by_face(int corners, const Corner& corner, const Vec3& normal, bool by_unit_normals,
                           bool by_heights = false) {
    constexpr int kAtOnce = 16;
    Vec3 start[kAtOnce + 1], inwards[kAtOnce];
    for (int first = 0; first < corners; first += kAtOnce) {
      const int edges = corners - first < kAtOnce ? corners - first : kAtOnce;
      for (int k = 0; k <= edges; ++k) start[k] = corner(first + k < corners ? first + k : 0);
      for (int k = 0; k < edges; ++k) {
        inwards[k] = cross(start[k + 1] - start[k], (start[k] + normal) - start[k]);
        if (by_unit_normals) inwards[k] = unit(inwards[k]);
      }
      for (int k = 0; k < edges; ++k) clip(start[k], inwards[k], by_heights);
    }
  }

  // Keeps the corners that are at most `most` above a plane through a point.
  DRL_HD void keep_below(const Vec3& point, const Vec3& normal, double most = 0) {
    int kept = 0;
    for (int k = 0; k < count_; ++k)
      if (dot((*this)[k] - point, normal) <= most) put((*this)[k], kept, from_);
    count_ = kept;
  }
  // Chooses up to four corners, or two of an edge that has been clipped, and returns their number.
  DRL_HD int choose(bool is_edge, int* chosen) const {
    for (int k = 0; k < 4; ++k) chosen[k] = k;
    if (count_ > 4) return choose_four(chosen, true), 4;
    if (is_edge && count_ > 2) return choose_two(chosen), 2;
    return count_;
  }
  // Chooses the two corners that are farthest apart.
  DRL_HD void choose_two(int* chosen) const {
    double most = 0;
    chosen[0] = 0, chosen[1] = 1;
    for (int i = 0; i < count_; ++i)
      for (int k = i + 1; k < count_; ++k) {
        const Vec3 apart = (*this)[k] - (*this)[i];
        if (const double square = dot(apart, apart); square > most) most = square, chosen[0] = i, chosen[1] = k;
      }
  }
  // Chooses four corners, at first those with the indices 0 to 3. The search goes around the polygon and moves each
  // corner on while the area grows.
  DRL_HD void choose_four(int* chosen, bool is_true_area = false) const {
    int a = 0, b = 1, c = 2, d = 3;
    const auto area = [&](int i, int j, int k, int l) DRL_LAMBDA {
      const ClippedPolygon& at = *this;
      return is_true_area ? length(cross(at[k] - at[i], at[l] - at[j])) : this->area(i, j, k, l);
    };
    double most = area(a, b, c, d);
    const auto keep = [&]() DRL_LAMBDA { chosen[0] = a, chosen[1] = b, chosen[2] = c, chosen[3] = d; };
    keep();
    for (; a < count_; ++a) {
      const auto with_a = [&](int i, int j, int k) DRL_LAMBDA { return area(a, i, j, k); };
      if (widen(with_a, count_, b, c, d, most)) keep();
      if (b != a) continue;
      b = after(b);
      if (c != b) continue;
      c = after(c);
      if (d == c) d = after(d);
    }
  }

 private:
  static constexpr int kMost = 2 * kMostCorners;

  // Keeps what is inside of a plane. `by_heights`: the heights of a side's ends above the plane tell where it crosses
  // the plane (MuJoCo 4.0).
  DRL_HD void clip(const Vec3& start, const Vec3& inwards, bool by_heights) {
    if (count_ == 0) return;
    int kept = 0;
    const double height = dot(inwards, start), above_first = dot((*this)[0] - start, inwards);
    double above_p = above_first;
    for (int k = 0; k < count_; ++k) {
      const Vec3 &p = (*this)[k], &q = (*this)[after(k)];
      const double above_q = k + 1 < count_ ? dot(q - start, inwards) : above_first;
      const bool starts_inside = above_p > -kNoLength, ends_inside = above_q > -kNoLength;
      if (starts_inside != ends_inside) {
        const Vec3 along = q - p;
        const double slope = by_heights ? above_q - above_p : dot(inwards, along);
        const double t = (by_heights ? -above_p : height - dot(inwards, p)) / slope;
        if (slope != 0 && t >= 0 && t <= 1) put(p + t * along, kept, 1 - from_);
      }
      if (ends_inside) put(q, kept, 1 - from_);
      above_p = above_q;
    }
    from_ = 1 - from_, count_ = kept;
  }
  DRL_HD int after(int k) const { return k + 1 < count_ ? k + 1 : 0; }
  DRL_HD void put(const Vec3& corner, int& count, int list) {
    if (count < kMost) corners_[list][count++] = corner;
  }
  // MuJoCo's area before version 3.13, which is not that of the quadrilateral.
  DRL_HD double area(int a, int b, int c, int d) const {
    const ClippedPolygon& at = *this;
    return 0.5 * length(cross(at[d] - at[a], at[b] - at[d]) + cross(at[c] - at[b], at[a] - at[c]));
  }

  Vec3 corners_[2][kMost];
  int from_ = 0, count_ = 0;
};

}  // namespace drl::inline DRL_ISA::physics
