// Touch sensors (MuJoCo, "XML Reference", sensor/touch): the sum of the normal forces of a body's contacts that are in
// the volume of a site, or behind it as seen along the normal.
#pragma once

#include "drl/physics/shapes.hpp"
#include "drl/physics/work.hpp"

namespace drl::inline DRL_ISA::physics {

// `body` and `size` are MuJoCo's; `place` is that of the value in Stage::sensed.
struct TouchSensor {
  int body, tree;
  ShapeKind kind;
  double size[3];
  int place;
  double cutoff;  // the largest value that it shows, or 0 if there is none
};
// The bodies of a contact's first and second geom; -1 if a body has no touch sensor.
struct TouchedBodies {
  int first, second;
};

// The part of a ray, from `first` to `last` times its direction, that is inside a volume; empty if first > last.
template <class F>
struct PartOfRay {
  F first = F(0), last = F(1e30);

  // Leaves what is inside |from + t along| <= half.
  DRL_HD void clip_slab(F from, F along, F half) {
    const F tiny = F(1e-20), safe = math::select(math::abs(along) < tiny, tiny, along), inverse = F(1) / safe;
    const F a = (-half - from) * inverse, b = (half - from) * inverse;
    first = math::max(first, math::min(a, b)), last = math::min(last, math::max(a, b));
  }
  // Leaves what is inside a t^2 + 2 b t + c <= 0, where a >= 0: if a is 0, all or nothing.
  DRL_HD void clip_quadratic(F a, F b, F c) {
    a = math::max(a, F(1e-20));
    const F rest = math::fma(b, b, -(a * c)), root = math::sqrt(math::max(rest, F(0)));
    const F inverse = F(1) / a;
    const Mask<F> never = rest < F(0);
    first = math::select(never, F(1), math::max(first, (-b - root) * inverse));
    last = math::select(never, F(0), math::min(last, (root - b) * inverse));
  }
  DRL_HD Mask<F> is_somewhere() const { return first <= last; }
};

// Returns the lanes in which a ray meets a site's volume. `from` and the unit vector `along` are in the site's axes.
template <class F>
DRL_HD Mask<F> ray_meets(ShapeKind kind, const double* size, const F* from, const F* along) {
  const auto ball = [&](F height, const double* radii) DRL_LAMBDA {  // an ellipsoid at this height
    const F x = from[0] * F(1 / radii[0]), y = from[1] * F(1 / radii[1]), z = (from[2] - height) * F(1 / radii[2]);
    const F u = along[0] * F(1 / radii[0]), v = along[1] * F(1 / radii[1]), w = along[2] * F(1 / radii[2]);
    PartOfRay<F> part;
    part.clip_quadratic(u * u + v * v + w * w, u * x + v * y + w * z, x * x + y * y + z * z - F(1));
    return part.is_somewhere();
  };
  PartOfRay<F> part;
  if (kind == ShapeKind::sphere || kind == ShapeKind::ellipsoid) {
    const double all[3] = {size[0], size[0], size[0]};
    return ball(F(0), kind == ShapeKind::sphere ? all : size);
  }
  if (kind == ShapeKind::box) {
    for (int k = 0; k < 3; ++k) part.clip_slab(from[k], along[k], F(size[k]));
    return part.is_somewhere();
  }
  // A cylinder, or a capsule, which has a ball at each end.
  part.clip_slab(from[2], along[2], F(size[1]));
  part.clip_quadratic(along[0] * along[0] + along[1] * along[1], from[0] * along[0] + from[1] * along[1],
                      from[0] * from[0] + from[1] * from[1] - F(size[0] * size[0]));
  Mask<F> meets = part.is_somewhere();
  if (kind == ShapeKind::capsule) {
    const double all[3] = {size[0], size[0], size[0]};
    meets = meets | ball(F(size[1]), all) | ball(F(-size[1]), all);
  }
  return meets;
}

// The values of a robot's touch sensors while its contacts are visited.
template <class P>
class TouchSensors {
  using F = typename P::Number;

 public:
  DRL_HD TouchSensors(const typename P::Work& w, typename P::Stage& stage) : w_(w), sensed_(&stage.sensed[0][0]) {
    for (int s = 0; s < P::kTouchSensors; ++s) sensed_[P::touch_sensor(s).place] = F(0);
    P::touch_sites(stage.qpos, stage.parameters, site_);
  }
  // Adds the normal force of a contact that exists in these lanes. `normal` points from the first body to the second.
  // `point` is about the origin of the tree of the body that moves, or about the first tree's if both may (is_of_pair).
  DRL_HD void add(const TouchedBodies& bodies, Mask<F> lanes, F force, const F* normal, const F* point,
                  bool is_of_pair) {
    for (int s = 0; s < P::kTouchSensors; ++s) {
      const TouchSensor& sensor = P::touch_sensor(s);
      if (sensor.body != bodies.first && sensor.body != bodies.second) continue;
      F arm[3], from[3], along[3];
      for (int k = 0; k < 3; ++k) {
        arm[k] = point[k] - site_[s][k];
        if constexpr (P::kTrees > 1)
          if (is_of_pair && sensor.tree > 0) arm[k] = arm[k] + w_.tree_offset[sensor.tree][k];
      }
      // The ray leaves the sensor's body.
      const F sign = F(sensor.body == bodies.second ? -1 : 1);
      for (int k = 0; k < 3; ++k) {
        const F* axis = site_[s] + 3 + 3 * k;
        from[k] = math::fma(arm[2], axis[2], math::fma(arm[1], axis[1], arm[0] * axis[0]));
        along[k] = sign * math::fma(normal[2], axis[2], math::fma(normal[1], axis[1], normal[0] * axis[0]));
      }
      F& sum = sensed_[sensor.place];
      sum = sum + math::select(lanes & ray_meets(sensor.kind, sensor.size, from, along), force, F(0));
    }
  }
  // Limits the sums. Call it after all contacts.
  DRL_HD void finish() {
    for (int s = 0; s < P::kTouchSensors; ++s) {
      const TouchSensor& sensor = P::touch_sensor(s);
      if (sensor.cutoff > 0) sensed_[sensor.place] = math::min(sensed_[sensor.place], F(sensor.cutoff));
    }
  }

 private:
  const typename P::Work& w_;
  F* sensed_;
  F site_[P::kTouchSensors][12];  // the place about its tree's origin, and the axes
};

}  // namespace drl::inline DRL_ISA::physics
