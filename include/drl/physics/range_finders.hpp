// Range finders (MuJoCo, "XML Reference", sensor/rangefinder): the distance along a site's z axis to the first geom
// that is visible and not of the site's own body, or -1.
#pragma once

#include "drl/physics/sensor_geoms.hpp"
#include "drl/physics/shape_rays.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

// `body` is MuJoCo's; `number` is that of the value in sensordata.
struct RangeFinder {
  int body, number;
  double cutoff;  // the value is clamped to [-cutoff, cutoff]; 0: it is not
};
template <class P, class F>
DRL_HD F ray_to_geom(const typename P::Stage& stage, const SensorGeom& geom, const F* from, const F* along) {
  const F radius = radius_of<P>(stage, geom);
  switch (geom.kind) {
    case ShapeKind::plane:
      return ray_to_plane(geom.size, from, along);
    case ShapeKind::sphere:
      return ray_to_sphere(radius, from, along);
    case ShapeKind::ellipsoid:
      return ray_to_ellipsoid(geom.size, from, along);
    case ShapeKind::height_field:
      if constexpr (count_height_fields<P>() > 0) return ray_to_field(stage.height_maps[geom.data], from, along);
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
    const SensorGeom& geom = P::ray_geom(g);
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
