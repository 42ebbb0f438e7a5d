// Contacts of a height field with a convex shape. The field is made of prisms with triangular ends, and each prism near
// the shape may have one contact, as in MuJoCo.
#pragma once

#include "drl/physics/overlap.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

struct HeightField {
  const float* heights;  // [rows, columns], from 0 to 1; not owned
  int rows, columns;
  double size[4];                  // half sizes along x and y, height of the value 1, depth of the base (hfield_size)
  double position[3], turn[3][3];  // as those of a Shape
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

  // Calls body(contact) for each contact that is closer than the margin, at most 50.
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
          if (column == first_[0] || !is_high() || !overlaps(grown, options, overlap)) continue;
          body(contact_of(overlap)), left -= 1;
        }
  }

 private:
  static constexpr int kMostContacts = 50;  // MuJoCo's mjMAXCONPAIR

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
