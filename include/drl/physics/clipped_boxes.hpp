// Contacts of two boxes as MuJoCo 3.12 and later find them. The separating axis test chooses one of 15 directions: the
// one along which the boxes overlap least. If it is the normal of a face, the face of the other box that opposes it
// most is clipped by the sides of this face (I. Sutherland and G. Hodgman, "Reentrant polygon clipping", 1974), and
// each corner that is left is a contact. If it is perpendicular to an edge of each box, the contact is between the
// nearest points of these edges.
#pragma once

#include <algorithm>

#include "drl/physics/shapes.hpp"

namespace drl::inline DRL_ISA::physics {

class ClippedBoxes {
 public:
  DRL_HD ClippedBoxes(const Shape& first, const Shape& second, double margin) : box_{&first, &second}, margin_(margin) {
    const Vec3 way = second.center() - first.center();
    center_[0] = first.into(way), center_[1] = second.into(-way);
    double sizes = 0;
    for (int i = 0; i < 3; ++i) {
      sizes += first.size[i] + second.size[i];
      second_size_[i] = second_size_[i + 3] = second.size[i];
      for (int j = 0; j < 3; ++j) cosine_[i][j] = cosine_[i][j + 3] = dot(first.axis(i), second.axis(j));
    }
    most_apart_ = margin + 1e-13 * sizes;
  }

  DRL_HD void collide(ContactList& list) {
    if (!find_face() || !find_edges()) return;
    if (edge_[0] >= 0 && !repeats_face())
      touch_edges(list);
    else
      clip_face(list);
  }

 private:
  // Two edges are parallel if the square of the sine of their angle is less than this.
  static constexpr double kParallel = 1e-16;
  static constexpr int kMostCorners = 12;
  // A corner of a face in the frame of the other box's face: along its sides, and the height above it.
  struct Corner {
    double x[3];
  };

  struct EdgesApart {
    double apart[4], square[4];
  };

  // Returns component `row` of axis `column` of the other box in the frame of box `of`.
  DRL_HD double turn(int of, int row, int column) const {
    return of == 0 ? cosine_[row][column] : cosine_[column][row];
  }

  // Finds the face along whose normal the boxes are farthest apart. Returns false if they are apart.
  DRL_HD bool find_face() {
    for (int of = 0; of < 2; ++of)
      for (int axis = 0; axis < 3; ++axis) {
        double apart = std::abs(center_[of][axis]) - box_[of]->size[axis];
        double reach = 0;
        for (int j = 0; j < 3; ++j) reach += std::abs(turn(of, axis, j)) * box_[1 - of]->size[j];
        apart -= reach;
        if (apart > most_apart_) return false;
        if (apart > face_apart_) face_apart_ = apart, face_of_ = of, face_axis_ = axis;
      }
    return true;
  }
  // Returns the unit vector perpendicular to edge i of the first box and edge j of the second, in the first box's axes,
  // or 0 if they are parallel.
  DRL_HD Vec3 across(int i, int j) const {
    const int k = (i + 1) % 3, l = (i + 2) % 3;
    const double square = cosine_[l][j] * cosine_[l][j] + cosine_[k][j] * cosine_[k][j];
    Vec3 direction{0, 0, 0};
    if (square < kParallel) return direction;
    direction[k] = -cosine_[l][j] / std::sqrt(square), direction[l] = cosine_[k][j] / std::sqrt(square);
    return direction;
  }
  DRL_HD Vec3 in_second(const Vec3& v) const {
    Vec3 turned;
    for (int j = 0; j < 3; ++j) turned[j] = v[0] * cosine_[0][j] + v[1] * cosine_[1][j] + v[2] * cosine_[2][j];
    return turned;
  }
  // Finds the edges between which the boxes are farther apart than along the normal of the face. Returns false if they
  // are apart.
  DRL_HD bool find_edges() {
    constexpr double kBias = 1e-6;  // what an edge must be better than a face
    double best = face_apart_;
    for (int i = 0; i < 3; ++i) {
      const EdgesApart edges = find_apart(i);
      for (int j = 0; j < 3; ++j) {
        const double apart = edges.apart[j];
        if (edges.square[j] < kParallel) continue;
        if (apart > most_apart_) return false;
        if (apart - kBias * std::abs(apart) > best && apart > face_apart_)
          best = edge_apart_ = apart, edge_[0] = i, edge_[1] = j;
      }
    }
    return true;
  }
  // Computes how far the boxes are apart along across(i, j) for each j, and the square of the sine of the edges' angle,
  // unless they are parallel. The fourth numbers are the first ones again, which fills a vector register.
  DRL_HD EdgesApart find_apart(int i) const {
    EdgesApart edges;
    const int k = (i + 1) % 3, l = (i + 2) % 3;
    const double *along_k = cosine_[k], *along_l = cosine_[l], *size = box_[0]->size;
    DRL_VECTOR
    for (int j = 0; j < 4; ++j) {
      edges.square[j] = along_l[j] * along_l[j] + along_k[j] * along_k[j];
      const double sine = std::sqrt(edges.square[j]), u = -along_l[j] / sine, v = along_k[j] / sine;
      const double next = u * along_k[j + 1] + v * along_l[j + 1], last = u * along_k[j + 2] + v * along_l[j + 2];
      edges.apart[j] = std::abs(u * center_[0][k] + v * center_[0][l]);
      edges.apart[j] -= size[k] * std::abs(u) + second_size_[j + 1] * std::abs(next);
      edges.apart[j] -= size[l] * std::abs(v) + second_size_[j + 2] * std::abs(last);
    }
    return edges;
  }
  // Returns whether the direction of the edges is nearly that of the face, and hardly better.
  DRL_HD bool repeats_face() const {
    constexpr double kCosine = 0.99, kBetter = 0.05;
    const Vec3 way = across(edge_[0], edge_[1]);
    const double along = std::abs(face_of_ == 0 ? way[face_axis_] : in_second(way)[face_axis_]);
    return along > kCosine && edge_apart_ < face_apart_ + kBetter * std::abs(face_apart_) + kNoLength;
  }

  DRL_HD void touch_edges(ContactList& list) const {
    const int i = edge_[0], j = edge_[1];
    Vec3 way = across(i, j);
    if (dot(way, center_[0]) < 0) way = -way;
    const Vec3 other = in_second(way);
    const Vec3 along{cosine_[0][j], cosine_[1][j], cosine_[2][j]};
    const double cosine = along[i], square = 1 - cosine * cosine;
    Vec3 near_first{}, near_second{};
    double least = 1e300;
    // A component of the direction that is nearly 0 does not tell on which side of its box the edge is.
    const int unsure[2] = {unsure_axis(way, i), unsure_axis(other, j)};
    for (int flips = 0; flips < 4; ++flips) {
      if (((flips & 2) != 0 && unsure[0] < 0) || ((flips & 1) != 0 && unsure[1] < 0)) continue;
      Vec3 first{0, 0, 0}, corner{0, 0, 0};
      for (int k = 1; k < 3; ++k) {
        const int a = (i + k) % 3, b = (j + k) % 3;
        first[a] = ((way[a] >= 0) != ((flips & 2) != 0 && a == unsure[0]) ? 1 : -1) * box_[0]->size[a];
        corner[b] = ((other[b] >= 0) != ((flips & 1) != 0 && b == unsure[1]) ? -1 : 1) * box_[1]->size[b];
      }
      Vec3 second = center_[0];
      for (int k = 0; k < 3; ++k)
        second[k] += cosine_[k][0] * corner[0] + cosine_[k][1] * corner[1] + cosine_[k][2] * corner[2];
      // The nearest points of two lines, each brought to its edge.
      const Vec3 between = second - first;
      const double on_first = between[i], on_second = dot(along, between);
      double s = square < kNoLength ? 0 : (on_first - cosine * on_second) / square;
      s = clamp(s, box_[0]->size[i]);
      const double t = clamp(cosine * s - on_second, box_[1]->size[j]);
      s = clamp(on_first + cosine * t, box_[0]->size[i]);
      first[i] += s, second = second + t * along;
      const Vec3 gap = second - first;
      if (const double length = dot(gap, gap); length < least) least = length, near_first = first, near_second = second;
    }
    const double distance = dot(near_second - near_first, way);
    list.add(box_[0]->to_world(0.5 * (near_first + near_second)), box_[0]->out_of(way), distance);
  }
  DRL_HD static int unsure_axis(const Vec3& way, int edge) {
    constexpr double kSmall = 1e-9;
    for (int k = 1; k < 3; ++k)
      if (std::abs(way[(edge + k) % 3]) < kSmall) return (edge + k) % 3;
    return -1;
  }

  DRL_HD void clip_face(ContactList& list) const {
    const int of = face_of_, axis = face_axis_, axes[3] = {(axis + 1) % 3, (axis + 2) % 3, axis};
    const Shape &box = *box_[of], &other = *box_[1 - of];
    const double side = center_[of][axis] >= 0 ? 1 : -1;  // on which the other box is
    int opposed = 0;
    for (int k = 1; k < 3; ++k)
      if (std::abs(turn(of, axis, k)) > std::abs(turn(of, axis, opposed))) opposed = k;
    const double opposite = side * turn(of, axis, opposed) > 0 ? -1 : 1;
    const int u = (opposed + 1) % 3, v = (opposed + 2) % 3;
    Corner corners[2][kMostCorners];
    for (int r = 0; r < 3; ++r) {
      const int row = axes[r];
      const double sign = r == 2 ? side : 1;
      double middle = center_[of][row] + opposite * other.size[opposed] * turn(of, row, opposed);
      middle = r == 2 ? side * middle - box.size[axis] : middle;
      const double along_u = sign * other.size[u] * turn(of, row, u), along_v = sign * other.size[v] * turn(of, row, v);
      for (int k = 0; k < 4; ++k)
        corners[0][k].x[r] = middle + (k == 0 || k == 3 ? along_u : -along_u) + (k < 2 ? along_v : -along_v);
    }
    int count = 4, from = 0;
    for (int border = 0; border < 4; ++border)
      if (clip(corners[from], corners[1 - from], border / 2, border % 2 == 0 ? 1 : -1, box.size[axes[border / 2]],
               count))
        from = 1 - from;
    const double nsign = of == 0 ? side : -side;
    const Vec3 normal = nsign * box.axis(axis);
    const double scale = box.size[axes[0]] * box.size[axes[0]] + box.size[axes[1]] * box.size[axes[1]];
    int kept = 0;
    Corner* of_contacts = corners[1 - from];
    for (int k = 0; k < count; ++k) {
      const Corner& corner = corners[from][k];
      if (corner.x[2] > margin_ || is_among(corner, of_contacts, kept, 1e-14 * scale)) continue;
      of_contacts[kept++] = corner;
      Vec3 point;
      point[axes[0]] = corner.x[0], point[axes[1]] = corner.x[1];
      point[axis] = side * (box.size[axis] + 0.5 * corner.x[2]);
      list.add(box.to_world(point), normal, corner.x[2]);
    }
  }
  DRL_HD static bool is_among(const Corner& corner, const Corner* others, int count, double square) {
    for (int k = 0; k < count; ++k) {
      const double x = others[k].x[0] - corner.x[0], y = others[k].x[1] - corner.x[1];
      if (x * x + y * y < square) return true;
    }
    return false;
  }
  // Writes what is left of a polygon where sign * x[axis] <= most. Returns false if all of it is left.
  DRL_HD static bool clip(const Corner* polygon, Corner* left, int axis, double sign, double most, int& count) {
    const auto beyond = [&](int k) DRL_LAMBDA { return sign * polygon[k].x[axis] - most; };
    bool is_inside = true;
    for (int k = 0; k < count; ++k) is_inside = is_inside && beyond(k) <= 0;
    if (is_inside) return false;
    int kept = 0;
    for (int k = 0; k < count; ++k) {
      const int next = k + 1 == count ? 0 : k + 1;
      const double here = beyond(k), there = beyond(next);
      if (here <= 0 && kept < kMostCorners) left[kept++] = polygon[k];
      if (!((here < 0 && there > 0) || (here > 0 && there < 0)) || kept == kMostCorners) continue;
      const double t = here / (here - there);
      for (int r = 0; r < 3; ++r) left[kept].x[r] = polygon[k].x[r] + t * (polygon[next].x[r] - polygon[k].x[r]);
      ++kept;
    }
    count = kept;
    return true;
  }

  const Shape* box_[2];
  double margin_, most_apart_;
  Vec3 center_[2];                        // of the other box, in the axes of each
  double cosine_[3][6], second_size_[6];  // [first's axis][second's axis]; the second box's axes are there twice
  int face_of_ = 0, face_axis_ = 0, edge_[2] = {-1, -1};
  double face_apart_ = -1e300, edge_apart_ = 0;
};

}  // namespace drl::inline DRL_ISA::physics
