// Contacts of a height field with a convex shape. The field is made of prisms with triangular ends, and each prism near
// the shape may have one contact, as in MuJoCo.
#pragma once

#include "drl/physics/height_map.hpp"
#include "drl/physics/overlap.hpp"

namespace drl::inline DRL_ISA::physics {

struct HeightField : HeightMap {
  double position[3], turn[3][3];  // as those of a Shape
};

// A part of a height field: a triangle on top, vertical walls below its edges, and a horizontal base.
class Prism {
 public:
  // corners [3] of the triangle, in the field's axes; they must stay valid
  DRL_HD Prism(const Vec3* corners, double base) : corner_(corners), base_(base) {
    top_ = cross(corners[1] - corners[0], corners[2] - corners[0]);
    side_ = top_[2] < 0 ? -1 : 1;
    top_ = side_ * top_;
    size_[0] = dot(top_, top_);
    for (int k = 0; k < 3; ++k) {
      const Vec3 along = edge(k);
      size_[1 + k] = along[0] * along[0] + along[1] * along[1];
    }
  }
  // Returns whether a shape is above the plane of the triangle, by more than a length.
  DRL_HD bool is_below(Supported& shape, double by) const {
    const Vec3 up = 1 / std::sqrt(size_[0]) * top_;
    return dot(up, shape.farthest(-up) - corner_[0]) > kSlack + by;
  }

  // The points of the prism and of a line that are nearest to each other.
  struct Nearest {
    Vec3 on_prism, on_line;
    double square = 1e300;  // of their distance
    DRL_HD void take(const Vec3& prism, const Vec3& line) {
      const Vec3 apart = prism - line;
      const double here = dot(apart, apart);
      if (here < square) square = here, on_prism = prism, on_line = line;
    }
  };
  enum Found { kFar, kNear, kInside };
  // Finds these points for a line from one end to another, which may be the same. Returns kFar if they are certainly
  // farther apart than `reach`, and kInside if the line touches the prism or goes below its base.
  DRL_HD_CALLED Found find_nearest(const Vec3 (&end)[2], double reach, Nearest& nearest) const {
    double out[2][4];  // of both ends: distances outwards of the four planes, times the root of size_
    for (int k = 0; k < 4; ++k) {
      for (int e = 0; e < 2; ++e) out[e][k] = k == 0 ? height(end[e]) : beyond(k - 1, end[e]);
      const double least = out[0][k] < out[1][k] ? out[0][k] : out[1][k];
      if (least > 0 && least * least > (reach + kSlack) * (reach + kSlack) * size_[k]) return kFar;
    }
    if (!(end[0][2] > base_ && end[1][2] > base_) || enters(out)) return kInside;
    const bool is_ball = end[0][0] == end[1][0] && end[0][1] == end[1][1] && end[0][2] == end[1][2];
    // The ends' feet on the plane of the triangle, and how far these are beyond its edges. A point of the line can be
    // nearest to an edge only if its foot is beyond that edge.
    Vec3 foot[2];
    double off[2][3];
    for (int e = 0; e < (is_ball ? 1 : 2); ++e) {
      foot[e] = end[e] - out[e][0] / size_[0] * top_;
      for (int k = 0; k < 3; ++k) off[e][k] = beyond(k, foot[e]);
      take_end(end[e], foot[e], out[e], off[e], nearest);
    }
    if (is_ball) return kNear;
    // The lower end is nearest if its foot is in the triangle.
    const int low = out[0][0] < out[1][0] ? 0 : 1;
    if (out[low][0] > 0 && !(off[low][0] > 0 || off[low][1] > 0 || off[low][2] > 0)) return kNear;
    for (int k = 0; k < 3; ++k)
      if (off[0][k] > 0 || off[1][k] > 0) take_edge(k, end, nearest);
    take_walls(end, nearest);
    return kNear;
  }

 private:
  static constexpr double kSlack = 2e-6;  // m; GJK and EPA are as accurate as that

  DRL_HD Vec3 edge(int k) const { return corner_[k == 2 ? 0 : k + 1] - corner_[k]; }
  DRL_HD double height(const Vec3& point) const { return dot(top_, point - corner_[0]); }
  // Positive on the outer side of the wall below edge k.
  DRL_HD double beyond(int k, const Vec3& point) const {
    const Vec3 along = edge(k), to = point - corner_[k];
    return side_ * (to[0] * along[1] - to[1] * along[0]);
  }
  // Clips the line at the four planes, and returns whether something is left.
  DRL_HD static bool enters(const double (&out)[2][4]) {
    double from = 0, to = 1;
    for (int k = 0; k < 4; ++k) {
      if (out[0][k] > 0 && out[1][k] > 0) return false;
      if (out[0][k] <= 0 && out[1][k] <= 0) continue;
      const double at = out[0][k] / (out[0][k] - out[1][k]);
      if (out[0][k] > 0)
        from = at > from ? at : from;
      else
        to = at < to ? at : to;
    }
    return from <= to;
  }
  DRL_HD static double clamp_share(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
  // Takes the points nearest to one end.
  DRL_HD void take_end(const Vec3& point, const Vec3& foot, const double (&out)[4], const double (&off)[3],
                       Nearest& nearest) const {
    if (out[0] > 0 && off[0] <= 0 && off[1] <= 0 && off[2] <= 0) return nearest.take(foot, point);
    for (int k = 0; k < 3; ++k) {
      if (off[k] <= 0 && out[1 + k] <= 0) continue;
      const Vec3 along = edge(k), to = point - corner_[k];
      if (off[k] > 0) nearest.take(corner_[k] + clamp_share(dot(to, along) / dot(along, along)) * along, point);
      if (out[1 + k] <= 0) continue;
      const double share = clamp_share((to[0] * along[0] + to[1] * along[1]) / size_[1 + k]);
      const Vec3 above = corner_[k] + share * along;  // on the wall or its vertical edge
      if (point[2] <= above[2]) nearest.take({above[0], above[1], point[2]}, point);
    }
  }
  // Takes the points at which a line is nearest to an edge of the triangle (C. Ericson, Real-Time Collision Detection,
  // 5.1.9).
  DRL_HD void take_edge(int k, const Vec3 (&end)[2], Nearest& nearest) const {
    const Vec3 way = end[1] - end[0], along = edge(k), to = end[0] - corner_[k];
    const double square = dot(way, way);
    const double a = dot(way, along), b = dot(along, to), c = dot(way, to), e = dot(along, along);
    const double free = square * e - a * a;
    double at = free > 0 ? clamp_share((a * b - c * e) / free) : 0, share = (a * at + b) / e;
    if (share < 0) at = clamp_share(-c / square);
    if (share > 1) at = clamp_share((a - c) / square);
    nearest.take(corner_[k] + clamp_share(share) * along, end[0] + at * way);
  }
  // Takes the points at which a line is nearest to the vertical edges.
  DRL_HD void take_walls(const Vec3 (&end)[2], Nearest& nearest) const {
    const Vec3 way = end[1] - end[0];
    const double flat = way[0] * way[0] + way[1] * way[1];
    const double low = end[0][2] < end[1][2] ? end[0][2] : end[1][2];
    for (int k = 0; k < 3; ++k) {
      if (low >= corner_[k][2] || !(flat > 0)) continue;
      const Vec3 to = end[0] - corner_[k];
      const Vec3 beside = end[0] + clamp_share(-(to[0] * way[0] + to[1] * way[1]) / flat) * way;
      if (beside[2] <= corner_[k][2]) nearest.take({corner_[k][0], corner_[k][1], beside[2]}, beside);
    }
  }

  const Vec3* corner_;
  double base_, side_;  // side_: -1 if the corners go clockwise, seen from above
  Vec3 top_;            // the triangle's normal, upwards, twice as long as its area is large
  double size_[4];      // squares of the normals of the top and the walls
};

// A convex shape over a height field.
class OverField {
 public:
  DRL_HD OverField(const HeightField& field, const Shape& shape, double margin, const ConvexOptions& options)
      : field_(field), world_{}, local_(shape), options_(options), margin_(margin) {
    for (int i = 0; i < 3; ++i) {
      world_.position[i] = field.position[i];
      for (int k = 0; k < 3; ++k) world_.turn[i][k] = field.turn[i][k];
    }
    const Vec3 center = world_.into(shape.center() - world_.center());
    for (int k = 0; k < 3; ++k) {
      const Vec3 axis = world_.into(shape.axis(k));
      local_.position[k] = center[k];
      for (int i = 0; i < 3; ++i) local_.turn[i][k] = axis[i];
    }
  }

  static constexpr int kMostContacts = 50;  // MuJoCo's mjMAXCONPAIR

  // Calls body(contact) for each contact that is closer than the margin, at most kMostContacts.
  template <class Body>
  DRL_HD void each_contact(const Body& body) {
    if (!find_bounds()) return;
    Supported grown = grown_shape();
    int left = kMostContacts;
    for (int row = first_[1]; row < last_[1] && left > 0; ++row)
      for (int column = first_[0]; column <= last_[0] && left > 0; ++column)
        for (int side = 0; side < 2 && left > 0; ++side) {
          add_corner(row + 1 - side, column);
          if (column > first_[0] && touches(grown, body)) left -= 1;
        }
  }
  // The prisms of cells from a first row and column on, `columns` in each row. Bit k of sides[0] is the one of cell k
  // with the higher row, bit k of sides[1] the one with the higher column.
  struct Cells {
    int row, column, columns;
    uint32_t sides[2];
  };
  // Calls body(contact) for each contact with one of these prisms, at most 50.
  template <class Body>
  DRL_HD void each_contact(const Cells& cells, const Body& body) {
    if (!find_bounds()) return;
    Supported grown = grown_shape();
    int left = kMostContacts;
    for (uint32_t some = cells.sides[0] | cells.sides[1]; some != 0 && left > 0; some &= some - 1) {
      const int cell = lowest_bit(some);
      const int row = cells.row + cell / cells.columns, column = cells.column + cell % cells.columns;
      if (row < first_[1] || row >= last_[1] || column < first_[0] || column >= last_[0]) continue;
      for (int side = 0; side < 2 && left > 0; ++side) {
        if ((cells.sides[side] >> cell & 1) == 0) continue;
        if (side == 0) add_corner(row + 1, column);
        add_corner(row, column), add_corner(row + 1, column + 1);
        if (side == 1) add_corner(row, column + 1);
        if (touches(grown, body)) left -= 1;
      }
    }
  }

 private:
  // Finds the box around the shape and the part of the grid that it covers. Returns false if it is not over the field.
  DRL_HD bool find_bounds() {
    Supported exact(local_, 0);
    if (exact.is_round())
      for (int e = 0; e < 2; ++e) {
        const double half = local_.kind == ShapeKind::capsule ? local_.size[1] : 0;
        end_[e] = local_.center() + (e == 0 ? half : -half) * local_.axis(2);
      }
    const double above = field_.size[2], below = field_.size[3];
    for (int k = 0; k < 3; ++k) {
      Vec3 way{0, 0, 0};
      way[k] = 1;
      if (exact.is_round()) {
        const double a = end_[0][k], b = end_[1][k], radius = local_.size[0];
        high_[k] = (a > b ? a : b) + radius, low_[k] = (a < b ? a : b) - radius;
      } else {
        high_[k] = exact.farthest(way)[k], low_[k] = exact.farthest(-way)[k];
      }
      const double top = k < 2 ? field_.size[k] : above, bottom = k < 2 ? field_.size[k] : below;
      if (!(low_[k] - margin_ <= top && high_[k] + margin_ >= -bottom)) return false;  // or not a number
    }
    vertex_ = exact.vertex;
    for (int k = 0; k < 3 && options_.is_stable; ++k) high_[k] = high_[k] + margin_, low_[k] = low_[k] - margin_;
    for (int k = 0; k < 2; ++k) {
      const int cells = (k == 0 ? field_.columns : field_.rows) - 1;
      const double size = field_.size[k];
      first_[k] = int(std::floor((low_[k] + size) / (2.0 * size) * cells));
      last_[k] = int(std::ceil((high_[k] + size) / (2.0 * size) * cells));
      first_[k] = first_[k] < 0 ? 0 : first_[k], last_[k] = last_[k] > cells ? cells : last_[k];
    }
    return true;
  }

  DRL_HD Supported grown_shape() const {
    Supported grown(local_, 0.5 * margin_);
    grown.vertex = vertex_;
    return grown;
  }
  // Returns whether the shape touches the prism; then calls body(contact).
  template <class Body>
  DRL_HD bool touches(Supported& grown, const Body& body) {
    if (!is_high()) return false;
    Overlap overlap;
    const Prism prism(prism_ + 3, -field_.size[3]);
    if (grown.is_round() ? !overlaps_round(prism, grown, overlap)
                         : prism.is_below(grown, grown_prism()) || !overlaps(grown, overlap))
      return false;
    body(contact_of(overlap));
    return true;
  }
  // Replaces the oldest of the prism's three corners by one of the grid's.
  DRL_HD void add_corner(int row, int column) {
    for (int triangle = 0; triangle < 6; triangle += 3)
      prism_[triangle] = prism_[triangle + 1], prism_[triangle + 1] = prism_[triangle + 2];
    const double x = 2.0 * field_.size[0] / (field_.columns - 1) * column - field_.size[0];
    const double y = 2.0 * field_.size[1] / (field_.rows - 1) * row - field_.size[1];
    const double height = double(field_.heights[row * field_.columns + column]) * field_.size[2];
    prism_[2] = {x, y, -field_.size[3]}, prism_[5] = {x, y, options_.is_stable ? height : height + margin_};
  }
  DRL_HD bool is_high() const { return !(prism_[3][2] < low_[2] && prism_[4][2] < low_[2] && prism_[5][2] < low_[2]); }
  // The distance by which the surface of a prism is moved outwards.
  DRL_HD double grown_prism() const { return options_.is_stable ? 0.5 * margin_ : 0; }
  // Returns whether a sphere or a capsule overlaps the prism. Its axis decides, if it is outside.
  DRL_HD bool overlaps_round(const Prism& prism, Supported& grown, Overlap& overlap) {
    const double radius = local_.size[0] + 0.5 * margin_, reach = radius + grown_prism();
    Prism::Nearest nearest;
    const Prism::Found found = prism.find_nearest(end_, reach, nearest);
    if (found == Prism::kFar) return false;
    if (found == Prism::kInside || !(nearest.square > options_.tolerance * options_.tolerance))
      return overlaps(grown, overlap);
    const double distance = std::sqrt(nearest.square);
    const Vec3 apart = nearest.on_line - nearest.on_prism;
    overlap = {nearest.on_prism, nearest.on_line - radius / distance * apart, reach - distance};
    if (grown_prism() > 0) overlap.on_a = overlap.on_a + grown_prism() / distance * apart;
    return distance < reach;
  }
  DRL_HD_CALLED bool overlaps(Supported& grown, Overlap& overlap) {
    Shape prism{};
    prism.kind = ShapeKind::prism, prism.prism = prism_;
    for (int k = 0; k < 3; ++k) {
      for (const Vec3& corner : prism_) prism.position[k] += corner[k];
      prism.position[k] *= 1.0 / 6.0;
    }
    Gjk search(Supported(prism, grown_prism()), grown, options_);
    const bool touches = find_overlap(search, overlap);
    grown.vertex = search.b.vertex;
    return touches;
  }
  DRL_HD ShapeContact contact_of(const Overlap& overlap) const {
    const Vec3 point = world_.to_world(overlap.middle()), normal = world_.out_of(overlap.normal());
    ShapeContact contact;
    for (int k = 0; k < 3; ++k) contact.point[k] = point[k], contact.normal[k] = normal[k];
    contact.distance = options_.is_stable ? margin_ - overlap.depth : -overlap.depth;
    return contact;
  }

  const HeightField& field_;
  Shape world_, local_;  // the field's frame; the shape in it
  ConvexOptions options_;
  double margin_;
  Vec3 end_[2];              // of the axis of a sphere or a capsule
  double low_[3], high_[3];  // the box around the shape; with ConvexOptions::is_stable, the margin further out
  int first_[2], last_[2];   // columns, rows
  int vertex_ = -1;          // where climbing a hull goes on
  Vec3 prism_[6];
};

}  // namespace drl::inline DRL_ISA::physics
