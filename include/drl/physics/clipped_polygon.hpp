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

  // Keeps what is inside of the plane through an edge of a face and along the face's normal.
  // `by_unit_normals`: see ConvexOptions. `by_heights`: the heights of a side's ends above the plane tell where it
  // crosses the plane (MuJoCo 4.0).
  DRL_HD void clip(const Vec3& start, const Vec3& end, const Vec3& normal, bool by_unit_normals,
                   bool by_heights = false) {
    Vec3 inwards = cross(end - start, (start + normal) - start);
    if (by_unit_normals) inwards = unit(inwards);
    const double height = dot(inwards, start);
    int kept = 0;
    for (int k = 0; k < count_; ++k) {
      const Vec3 &p = (*this)[k], &q = (*this)[after(k)];
      const double above_p = dot(p - start, inwards), above_q = dot(q - start, inwards);
      const bool starts_inside = above_p > -kNoLength, ends_inside = above_q > -kNoLength;
      if (starts_inside != ends_inside) {
        const Vec3 along = q - p;
        const double slope = by_heights ? above_q - above_p : dot(inwards, along);
        const double t = (by_heights ? -above_p : height - dot(inwards, p)) / slope;
        if (slope != 0 && t >= 0 && t <= 1) put(p + t * along, kept, 1 - from_);
      }
      if (ends_inside) put(q, kept, 1 - from_);
    }
    from_ = 1 - from_, count_ = kept;
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
