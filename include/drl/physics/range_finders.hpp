// Range finders (MuJoCo, "XML Reference", sensor/rangefinder): the distance along a site's z axis to the first geom
// that is visible and not of the site's own body, or -1.
#pragma once

#include "drl/physics/rays.hpp"
#include "drl/physics/sensor_geoms.hpp"

namespace drl::inline DRL_ISA::physics {

// Rays against shapes in the shapes' own axes, in lanes. A ray is all points from + x along with x >= 0. Each function
// returns the least x at which the ray meets the surface, from outside or inside, or -1 (see rays.hpp).

// The two points at which a line passes through a surface, first <= second; both are -1 if it does not.
template <class F>
struct TwoPoints {
  F first, second;
  DRL_HD F nearest() const { return math::select(first >= F(0), first, math::select(second >= F(0), second, F(-1))); }
};
// The surface is the set of points whose sum of weight[k] p[k]^2 is `level`.
template <class F>
DRL_HD TwoPoints<F> through_quadric(const F (&weight)[3], F level, const F* from, const F* along) {
  F a = F(0), b = F(0);
  for (int k = 0; k < 3; ++k) {
    const F scaled = weight[k] * along[k];
    a = a + scaled * along[k], b = b + scaled * from[k];
  }
  const Mask<F> moves = a >= F(kLeastAlong);
  const F divisor = math::select(moves, a, F(1)), middle = -b / divisor;
  F rest = level;  // of the level at the point of the line where the sum is least: this keeps digits from afar
  for (int k = 0; k < 3; ++k) {
    const F at = from[k] + middle * along[k];
    rest = rest - weight[k] * at * at;
  }
  const Mask<F> meets = moves & (rest >= F(0));
  const F half = math::sqrt(math::max(rest, F(0)) / divisor);
  return {math::select(meets, middle - half, F(-1)), math::select(meets, middle + half, F(-1))};
}
// Spheres and cylinders around the z axis.
template <class F>
DRL_HD TwoPoints<F> through_sphere(F radius, const F* from, const F* along) {
  return through_quadric({F(1), F(1), F(1)}, radius * radius, from, along);
}
template <class F>
DRL_HD TwoPoints<F> through_tube(F radius, const F* from, const F* along) {
  return through_quadric({F(1), F(1), F(0)}, radius * radius, from, along);
}

template <class F>
DRL_HD F ray_to_sphere(F radius, const F* from, const F* along) {
  return through_sphere(radius, from, along).nearest();
}
template <class F>
DRL_HD F ray_to_ellipsoid(const double* size, const F* from, const F* along) {
  F weight[3];
  for (int k = 0; k < 3; ++k) weight[k] = F(1 / (size[k] * size[k]));
  return through_quadric(weight, F(1), from, along).nearest();
}

// The round side of a cylinder or capsule, from -half to half along z.
template <class F>
DRL_HD F ray_to_round_side(F radius, double half, const F* from, const F* along) {
  const F x = through_tube(radius, from, along).nearest();
  return math::select((x >= F(0)) & (math::abs(from[2] + x * along[2]) <= F(half)), x, F(-1));
}
template <class F>
DRL_HD F ray_to_capsule(F radius, double half, const F* from, const F* along) {
  F nearest = ray_to_round_side(radius, half, from, along);
  for (int end = -1; end <= 1; end += 2) {
    const F moved[3] = {from[0], from[1], from[2] - F(end * half)};
    const TwoPoints<F> points = through_sphere(radius, moved, along);
    const F both[2] = {points.first, points.second};
    for (const F& x : both) {
      const Mask<F> is_cap = (x >= F(0)) & (F(end) * (from[2] + x * along[2]) >= F(half));
      nearest = nearer(nearest, math::select(is_cap, x, F(-1)));
    }
  }
  return nearest;
}
template <class F>
DRL_HD F ray_to_cylinder(F radius, double half, const F* from, const F* along) {
  F nearest = ray_to_round_side(radius, half, from, along);
  const Mask<F> moves = math::abs(along[2]) > F(kLeastAlong);
  const F divisor = math::select(moves, along[2], F(1));
  for (int end = -1; end <= 1; end += 2) {
    const F x = (F(end * half) - from[2]) / divisor;
    const F a = from[0] + x * along[0], b = from[1] + x * along[1];
    const Mask<F> meets = moves & (x >= F(0)) & (a * a + b * b <= radius * radius);
    nearest = nearer(nearest, math::select(meets, x, F(-1)));
  }
  return nearest;
}

// A triangle of a mesh, in the mesh's axes. The point corner + p of its plane is in the triangle if to_u p >= 0,
// to_v p >= 0 and their sum is at most 1.
struct MeshTriangle {
  double corner[3], normal[3], to_u[3], to_v[3];
};
// The triangles of a mesh.
struct RayMesh {
  int first, end;
};
template <class F>
DRL_HD F ray_to_triangle(const MeshTriangle& triangle, const F* from, const F* along) {
  const auto times = [](const double* row, const F* x)
                         DRL_LAMBDA { return F(row[0]) * x[0] + F(row[1]) * x[1] + F(row[2]) * x[2]; };
  F at[3];
  for (int k = 0; k < 3; ++k) at[k] = from[k] - F(triangle.corner[k]);
  const F rate = times(triangle.normal, along);
  const Mask<F> moves = math::abs(rate) > F(kLeastAlong);
  const F x = -times(triangle.normal, at) / math::select(moves, rate, F(1));
  for (int k = 0; k < 3; ++k) at[k] = at[k] + x * along[k];
  const F u = times(triangle.to_u, at), v = times(triangle.to_v, at);
  return math::select(moves & (x >= F(0)) & (u >= F(0)) & (v >= F(0)) & (u + v <= F(1)), x, F(-1));
}

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
      if constexpr (P::kHeightFields > 0) return ray_to_field(stage.height_maps[geom.data], from, along);
      return F(-1);
    default:
      break;
  }
  if (!any(ray_to_sphere(F(geom.bound), from, along) >= F(0))) return F(-1);
  if constexpr (P::kMeshTriangles > 0)
    if (geom.kind == ShapeKind::mesh) {
      const RayMesh mesh = P::ray_mesh(geom.data);
      F nearest = F(-1);
      for (int t = mesh.first; t < mesh.end; ++t)
        nearest = nearer(nearest, ray_to_triangle(P::mesh_triangle(t), from, along));
      return nearest;
    }
  if (geom.kind == ShapeKind::capsule) return ray_to_capsule(radius, geom.size[1], from, along);
  if (geom.kind == ShapeKind::cylinder) return ray_to_cylinder(radius, geom.size[1], from, along);
  const double low[3] = {-geom.size[0], -geom.size[1], -geom.size[2]};
  return ray_to_box(low, geom.size, from, along);
}

// Computes the range finders from frames.
template <class P, class To>
DRL_HD_CALLED void find_ranges(const typename P::Stage& stage, const typename P::Derived& derived, To& to) {
  using F = typename P::Number;
  F ray[P::kRangeFinders][6];  // where it begins, and its direction
  F moving[at_least_one(P::kMovingRayGeoms)][12], nearest[P::kRangeFinders];
  P::range_rays(stage.parameters, derived, ray, moving);
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
      if constexpr (P::kSizes) {  // in units of the geom's own size
        const F inverse = F(1) / scale_of<P>(stage, geom);
        for (int k = 0; k < 3; ++k) from[k] = inverse * from[k], along[k] = inverse * along[k];
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

}  // namespace drl::inline DRL_ISA::physics
