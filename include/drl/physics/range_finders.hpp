// Range finders (MuJoCo, "XML Reference", sensor/rangefinder): the distance along a site's z axis to the first geom
// that is visible and not of the site's own body, or -1.
#pragma once

#include "drl/physics/shape_rays.hpp"
#include "drl/physics/shapes.hpp"
#include "drl/physics/work.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

// `body` is MuJoCo's; `number` is that of the value in sensordata.
struct RangeFinder {
  int body, number;
  double cutoff;  // the value is clamped to [-cutoff, cutoff]; 0: it is not
};
// A geom that rays may meet. `size` is MuJoCo's.
struct RayGeom {
  ShapeKind kind;
  int body;
  double size[3];
  double bound;            // the radius of a sphere around its centre that contains it
  int field = -1;          // of a height field: its index
  int moving = -1;         // its index among the geoms that move; -1: it has this pose
  double pose[12] = {};    // the position of its centre, and the rows of the matrix of its axes
  int radius_factor = -1;  // the parameter by which its radius is multiplied, or -1
};

template <class P, class F>
DRL_HD F ray_to_geom([[maybe_unused]] const typename P::Stage& stage, const RayGeom& geom, const F* from,
                     const F* along) {
  F radius = F(geom.size[0]);
  if constexpr (requires { P::kSizes; })
    if (geom.radius_factor >= 0) radius = radius * stage.parameters[geom.radius_factor];
  switch (geom.kind) {
    case ShapeKind::plane:
      return ray_to_plane(geom.size, from, along);
    case ShapeKind::sphere:
      return ray_to_sphere(radius, from, along);
    case ShapeKind::ellipsoid:
      return ray_to_ellipsoid(geom.size, from, along);
    case ShapeKind::height_field:
      if constexpr (count_height_fields<P>() > 0) return ray_to_field(stage.height_maps[geom.field], from, along);
      return F(-1);
    default:
      break;
  }
  if (!any(ray_to_sphere(F(geom.bound), from, along) >= F(0))) return F(-1);
  if (geom.kind == ShapeKind::capsule) return ray_to_capsule(radius, geom.size[1], from, along);
  if (geom.kind == ShapeKind::cylinder) return ray_to_cylinder(radius, geom.size[1], from, along);
  const double low[3] = {-geom.size[0], -geom.size[1], -geom.size[2]};
  return ray_to_box(low, geom.size, from, along);
}

// Returns the number of range finders. Robots without them do not define kRangeFinders.
template <class P>
constexpr int count_range_finders() {
  if constexpr (requires { P::kRangeFinders; })
    return P::kRangeFinders;
  else
    return 0;
}
// Writes a number of MuJoCo's sensordata to a Derived, or to the values that a stage keeps.
template <class P, class To>
DRL_HD void set_sensor(int number, typename P::Number value, To& to) {
  if constexpr (std::is_same_v<To, typename P::Derived>) {
    to.sensor[number] = value;
  } else {
    const int place = P::sensor_place(number);
    to[place / 4][place % 4] = value;
  }
}

// Computes the range finders from frames.
template <class P, class To>
DRL_HD_CALLED void find_ranges(const typename P::Stage& stage, const typename P::Derived& derived, To& to) {
  using F = typename P::Number;
  F ray[P::kRangeFinders][6];  // where it begins, and its direction
  F moving[at_least_one(P::kMovingRayGeoms)][12], nearest[P::kRangeFinders];
  if constexpr (requires { P::kMovesSites; })
    P::range_rays(stage.parameters, derived, ray, moving);
  else
    P::range_rays(derived, ray, moving);
  for (F& x : nearest) x = F(-1);
  for (int g = 0; g < P::kRayGeoms; ++g) {
    const RayGeom& geom = P::ray_geom(g);
    F pose[12];
    for (int k = 0; k < 12; ++k) pose[k] = geom.moving < 0 ? F(geom.pose[k]) : moving[geom.moving][k];
    for (int r = 0; r < P::kRangeFinders; ++r) {
      if (P::range_finder(r).body == geom.body) continue;
      F from[3] = {F(0), F(0), F(0)}, along[3] = {F(0), F(0), F(0)};
      for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) {
          from[k] = from[k] + pose[3 + 3 * i + k] * (ray[r][i] - pose[i]);
          along[k] = along[k] + pose[3 + 3 * i + k] * ray[r][3 + i];
        }
      nearest[r] = nearer(nearest[r], ray_to_geom<P>(stage, geom, from, along));
    }
  }
  for (int r = 0; r < P::kRangeFinders; ++r) {
    const RangeFinder& finder = P::range_finder(r);
    F value = nearest[r];
    if (finder.cutoff > 0) value = math::clamp(value, F(-finder.cutoff), F(finder.cutoff));
    set_sensor<P>(finder.number, value, to);
  }
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl
