// Rays against shapes in the shapes' own axes, in lanes. A ray is all points from + x along with x >= 0. Each function
// returns the least x at which the ray meets the surface, from outside or inside, or -1 (see rays.hpp).
#pragma once

#include "drl/physics/rays.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

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

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl
