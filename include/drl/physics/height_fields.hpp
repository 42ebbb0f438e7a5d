// Contacts of a height field with a convex shape. The field is made of prisms with triangular ends, and each prism near
// the shape may have one contact, as in MuJoCo.
#pragma once

#include "drl/physics/height_map.hpp"
#include "drl/physics/overlap.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

struct HeightField : HeightMap {
  double position[3], turn[3][3];  // as those of a Shape
};

// A part of a height field: a triangle on top, vertical walls below its edges, and a horizontal base.
class TopOfPrism {
 public:
  // corners [3] of the triangle, in the field's axes
  DRL_HD TopOfPrism(const Vec3* corners, double base) : corner_(corners), base_(base) {
    normal_ = cross(corners[1] - corners[0], corners[2] - corners[0]);
    is_turned_ = normal_[2] < 0;
    normal_ = (is_turned_ ? -1 : 1) / length(normal_) * normal_;
  }
  // Upwards, a unit vector.
  DRL_HD const Vec3& normal() const { return normal_; }
  // Returns the height of a point above the triangle's plane, along the normal.
  DRL_HD double height(const Vec3& point) const { return dot(normal_, point - corner_[0]); }

  // Finds the point of the prism that is nearest to `point`. Returns false if that is in the prism or below its base.
  DRL_HD bool find_nearest(const Vec3& point, Vec3& nearest) const {
    if (!(point[2] > base_)) return false;
    bool is_inside = height(point) <= 0;
    double best = 1e300;
    const auto take = [&](const Vec3& candidate) DRL_LAMBDA {
      const Vec3 apart = candidate - point;
      const double square = dot(apart, apart);
      if (square < best) best = square, nearest = candidate;
    };
    for (int k = 0; k < 3; ++k) {
      const Vec3 &a = corner_[k], edge = corner_[k == 2 ? 0 : k + 1] - a, to = point - a;
      const double out = (to[0] * edge[1] - to[1] * edge[0]) * (is_turned_ ? -1 : 1);
      if (out <= 0) continue;
      is_inside = false;
      const double along = (to[0] * edge[0] + to[1] * edge[1]) / (edge[0] * edge[0] + edge[1] * edge[1]);
      const double share = along < 0 ? 0 : along > 1 ? 1 : along;
      const Vec3 above = a + share * edge;
      if (point[2] <= above[2]) take({above[0], above[1], point[2]});  // on the wall or its vertical edge
    }
    if (is_inside) return false;
    const Vec3 foot = point - height(point) * normal_;
    take(height(point) > 0 && is_over(foot) ? foot : nearest_on_edges(point));
    return true;
  }

 private:
  // Returns whether a point is above, in or below the triangle.
  DRL_HD bool is_over(const Vec3& point) const {
    for (int k = 0; k < 3; ++k) {
      const Vec3 &a = corner_[k], edge = corner_[k == 2 ? 0 : k + 1] - a, to = point - a;
      if ((to[0] * edge[1] - to[1] * edge[0]) * (is_turned_ ? -1 : 1) > 0) return false;
    }
    return true;
  }
  DRL_HD Vec3 nearest_on_edges(const Vec3& point) const {
    Vec3 nearest = corner_[0];
    double best = 1e300;
    for (int k = 0; k < 3; ++k) {
      const Vec3 &a = corner_[k], edge = corner_[k == 2 ? 0 : k + 1] - a;
      const double back = dot(point - a, edge) / dot(edge, edge);
      const Vec3 here = a + (back < 0 ? 0 : back > 1 ? 1 : back) * edge, apart = here - point;
      if (const double square = dot(apart, apart); square < best) best = square, nearest = here;
    }
    return nearest;
  }

  const Vec3* corner_;
  double base_;
  Vec3 normal_;
  bool is_turned_;  // the corners go clockwise, seen from above
};

// A convex shape over a height field.
class OverField {
 public:
  DRL_HD OverField(const HeightField& field, const Shape& shape, double margin)
      : field_(field), world_{}, local_(shape), margin_(margin) {
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
  DRL_HD void each_contact(const ConvexOptions& options, const Body& body) {
    if (!find_bounds()) return;
    Supported grown(local_, 0.5 * margin_);
    grown.vertex = vertex_;
    int left = kMostContacts;
    for (int row = first_[1]; row < last_[1] && left > 0; ++row)
      for (int column = first_[0]; column <= last_[0] && left > 0; ++column)
        for (int side = 0; side < 2 && left > 0; ++side) {
          add_corner(row + 1 - side, column);
          Overlap overlap;
          if (column == first_[0] || !is_high()) continue;
          const TopOfPrism top(prism_ + 3, -field_.size[3]);
          if (is_above(top, grown) || !overlaps(top, grown, options, overlap)) continue;
          body(contact_of(overlap)), left -= 1;
        }
  }

 private:
  // Finds the box around the shape and the part of the grid that it covers. Returns false if it is not over the field.
  DRL_HD bool find_bounds() {
    Supported exact(local_, 0);
    const double above = field_.size[2], below = field_.size[3];
    for (int k = 0; k < 3; ++k) {
      Vec3 way{0, 0, 0};
      way[k] = 1;
      high_[k] = exact.farthest(way)[k], low_[k] = exact.farthest(-way)[k];
      const double top = k < 2 ? field_.size[k] : above, bottom = k < 2 ? field_.size[k] : below;
      if (!(low_[k] - margin_ <= top && high_[k] + margin_ >= -bottom)) return false;  // or not a number
    }
    vertex_ = exact.vertex;
    for (int k = 0; k < 2; ++k) {
      const int cells = (k == 0 ? field_.columns : field_.rows) - 1;
      const double size = field_.size[k];
      first_[k] = int(std::floor((low_[k] + size) / (2.0 * size) * cells));
      last_[k] = int(std::ceil((high_[k] + size) / (2.0 * size) * cells));
      first_[k] = first_[k] < 0 ? 0 : first_[k], last_[k] = last_[k] > cells ? cells : last_[k];
    }
    return true;
  }

  // Replaces the oldest of the prism's three corners by one of the grid's.
  DRL_HD void add_corner(int row, int column) {
    for (int triangle = 0; triangle < 6; triangle += 3)
      prism_[triangle] = prism_[triangle + 1], prism_[triangle + 1] = prism_[triangle + 2];
    const double x = 2.0 * field_.size[0] / (field_.columns - 1) * column - field_.size[0];
    const double y = 2.0 * field_.size[1] / (field_.rows - 1) * row - field_.size[1];
    const double height = double(field_.heights[row * field_.columns + column]) * field_.size[2];
    prism_[2] = {x, y, -field_.size[3]}, prism_[5] = {x, y, height + margin_};
  }
  DRL_HD bool is_high() const { return !(prism_[3][2] < low_[2] && prism_[4][2] < low_[2] && prism_[5][2] < low_[2]); }
  // Returns whether the shape is above the plane of the triangle on top.
  DRL_HD bool is_above(const TopOfPrism& top, Supported& grown) const {
    constexpr double kSlack = 2e-6;  // m; GJK and EPA are as accurate as that
    return top.height(grown.farthest(-top.normal())) > kSlack;
  }
  DRL_HD bool overlaps(const TopOfPrism& top, Supported& grown, const ConvexOptions& options, Overlap& overlap) {
    Vec3 nearest;
    if (local_.kind == ShapeKind::sphere && top.find_nearest(local_.center(), nearest)) {
      const Vec3 apart = local_.center() - nearest;
      const double distance = length(apart), radius = local_.size[0] + 0.5 * margin_;
      if (distance > options.tolerance) {
        overlap = {nearest, local_.center() - radius / distance * apart, radius - distance};
        return distance < radius;
      }
    }
    return overlaps(grown, options, overlap);
  }
  DRL_HD_CALLED bool overlaps(Supported& grown, const ConvexOptions& options, Overlap& overlap) {
    Shape prism{};
    prism.kind = ShapeKind::prism, prism.prism = prism_;
    for (int k = 0; k < 3; ++k) {
      for (const Vec3& corner : prism_) prism.position[k] += corner[k];
      prism.position[k] *= 1.0 / 6.0;
    }
    Gjk search(Supported(prism, 0), grown, options);
    const bool touches = find_overlap(search, overlap);
    grown.vertex = search.b.vertex;
    return touches;
  }
  DRL_HD ShapeContact contact_of(const Overlap& overlap) const {
    const Vec3 point = world_.to_world(overlap.middle()), normal = world_.out_of(overlap.normal());
    ShapeContact contact;
    for (int k = 0; k < 3; ++k) contact.point[k] = point[k], contact.normal[k] = normal[k];
    contact.distance = -overlap.depth;
    return contact;
  }

  const HeightField& field_;
  Shape world_, local_;  // the field's frame; the shape in it
  double margin_;
  double low_[3], high_[3];  // the box around the shape
  int first_[2], last_[2];   // columns, rows
  int vertex_ = -1;          // where climbing a hull goes on
  Vec3 prism_[6];
};

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl
