// Sensors of the distance of geoms or bodies, its direction and its ends (MuJoCo, "XML Reference", sensor/distance,
// sensor/normal and sensor/fromto). Each lane computes its own (below).
#pragma once

#include "drl/physics/collide.hpp"
#include "drl/physics/sensor_geoms.hpp"

namespace drl::inline DRL_ISA::physics {

// The signed distance of two shapes, as libmujoco's mj_geomDistance computes it: with the closed forms and the GJK and
// EPA of contacts (collide.hpp), but also for shapes that are far apart.

// The distance, negative where the shapes overlap, and the points that it is between.
struct ShapeDistance {
  double distance;
  Vec3 on_a, on_b;
};

// By GJK, and by EPA if they overlap. Of shapes that are farther apart than `most`, the distance is at least `most`.
DRL_HD_CALLED ShapeDistance convex_distance(const Shape& a, const Shape& b, double most, const ConvexOptions& options) {
  Gjk search(Supported(a, 0), Supported(b, 0), options);
  Overlap overlap;
  const bool is_round = search.a.is_round() || search.b.is_round();
  bool is_known = is_round && find_shallow_overlap(search, overlap, most);
  if (!is_known) {
    search.run(most);
    if (!search.has_overlap()) return {search.distance, search.on_a, search.on_b};
    Polytope polytope(search);
    is_known = polytope.run(overlap.depth, overlap.on_a, overlap.on_b);
  }
  if (!is_known) return {0, search.on_a, search.on_b};
  return {-overlap.depth, overlap.on_a, overlap.on_b};
}

// By closed forms, of shapes whose kinds are in order.
DRL_HD_CALLED ShapeDistance closed_distance(const Shape& a, const Shape& b, double most, const ConvexOptions& options) {
  ShapeContact contacts[kMostShapeContacts];
  ShapeDistance least{most, {0, 0, 0}, {0, 0, 0}};
  if (b.kind == ShapeKind::plane) return least;
  const int count = collide(a, b, most, options, contacts);
  for (int c = 0; c < count; ++c) {
    const ShapeContact& contact = contacts[c];
    if (!(contact.distance < least.distance)) continue;
    least.distance = contact.distance;
    for (int k = 0; k < 3; ++k) {
      least.on_a[k] = contact.point[k] - 0.5 * contact.distance * contact.normal[k];
      least.on_b[k] = contact.point[k] + 0.5 * contact.distance * contact.normal[k];
    }
  }
  return least;
}

// Neither shape is a height field. If the shapes are not closer than `most`, or are two planes, the distance is at
// least `most`, and the points mean nothing.
DRL_HD ShapeDistance shape_distance(const Shape& a, const Shape& b, double most, const ConvexOptions& options) {
  const bool is_swapped = b.kind < a.kind;
  const Shape &first = is_swapped ? b : a, &second = is_swapped ? a : b;
  if (is_convex_pair(first.kind, second.kind) || (a.kind == ShapeKind::box && b.kind == ShapeKind::box))
    return convex_distance(a, b, most, options);  // in this order, on which the steps depend
  const ShapeDistance found = closed_distance(first, second, most, options);
  return is_swapped ? ShapeDistance{found.distance, found.on_b, found.on_a} : found;
}

struct DistanceSensor {
  enum Kind { distance, normal, segment } kind;
  int number, query;  // that of its first value in sensordata; what it shows
};
// The least distance of the pairs from `first` to end - 1, if it is below `most`; otherwise `most` itself.
struct DistanceQuery {
  int first, end;
  double most;
};
struct DistancePair {
  int first, second;  // geoms
};

template <class P>
class DistanceSensors {
  using F = typename P::Number;
  static constexpr int kLanes = kLanesOf<F>;

 public:
  DRL_HD DistanceSensors(const typename P::Stage& stage, const typename P::Derived& derived) : stage_(stage) {
    P::distance_geoms(derived, moving_);
  }
  template <class To>
  DRL_HD void show(To& to) const {
    F values[P::kDistanceQueries][7];  // the distance, and the ends of the segment, or 0
    for (int q = 0; q < P::kDistanceQueries; ++q) find(P::distance_query(q), values[q]);
    for (int s = 0; s < P::kDistanceSensors; ++s) {
      const DistanceSensor& sensor = P::distance_sensor(s);
      const F* value = values[sensor.query];
      if (sensor.kind == DistanceSensor::distance) {
        const double most = P::distance_query(sensor.query).most;
        set_sensor<P>(sensor.number, most > 0 ? math::max(value[0], F(-most)) : value[0], to);
      } else if (sensor.kind == DistanceSensor::segment) {
        for (int k = 0; k < 6; ++k) set_sensor<P>(sensor.number + k, value[1 + k], to);
      } else {
        for (int k = 0; k < 3; ++k) set_sensor<P>(sensor.number + k, normal(value + 1, k), to);
      }
    }
  }

 private:
  // Returns a component of the direction of a segment; 0 if it has no length.
  DRL_HD static F normal(const F* ends, int k) {
    F square = F(0), way[3];
    for (int i = 0; i < 3; ++i) way[i] = ends[3 + i] - ends[i], square = square + way[i] * way[i];
    const Mask<F> has_length = square > F(0);
    return math::select(has_length, way[k] / math::sqrt(math::select(has_length, square, F(1))), F(0));
  }
  DRL_HD void find(const DistanceQuery& query, F* values) const {
    Scalar<F> all[7][kLanes];
    for (int l = 0; l < kLanes; ++l) {
      ShapeDistance least{query.most, {0, 0, 0}, {0, 0, 0}};
      for (int p = query.first; p < query.end; ++p) {
        const DistancePair& pair = P::distance_pair(p);
        Hull hulls[2];
        const Shape first = shape(pair.first, l, hulls[0]), second = shape(pair.second, l, hulls[1]);
        const ShapeDistance found = shape_distance(first, second, query.most, P::convex());
        if (found.distance < least.distance) least = found;
      }
      all[0][l] = static_cast<Scalar<F>>(least.distance);
      for (int k = 0; k < 3; ++k) {
        all[1 + k][l] = static_cast<Scalar<F>>(least.on_a[k]);
        all[4 + k][l] = static_cast<Scalar<F>>(least.on_b[k]);
      }
    }
    for (int k = 0; k < 7; ++k) values[k] = load<F>(all[k]);
  }
  // Returns a geom's shape in lane l. A mesh's hull stays in `hull`.
  DRL_HD Shape shape(int g, int l, [[maybe_unused]] Hull& hull) const {
    const SensorGeom& geom = P::distance_geom(g);
    const auto pose = [&](int k)
                          DRL_LAMBDA { return geom.moving < 0 ? geom.pose[k] : lane(moving_[geom.moving][k], l); };
    Shape shape;
    shape.kind = geom.kind, shape.hull = nullptr;
    shape.size[0] = lane(radius_of<P>(stage_, geom), l), shape.size[1] = geom.size[1], shape.size[2] = geom.size[2];
    if constexpr (P::kSizes)
      for (double& x : shape.size) x *= static_cast<double>(lane(scale_of<P>(stage_, geom), l));
    for (int i = 0; i < 3; ++i) {
      shape.position[i] = pose(i);
      for (int k = 0; k < 3; ++k) shape.turn[i][k] = pose(3 + 3 * i + k);
    }
    if constexpr (P::kHulls > 0)
      if (geom.kind == ShapeKind::mesh) hull = P::hull(geom.data), shape.hull = &hull;
    return shape;
  }

  const typename P::Stage& stage_;
  F moving_[at_least_one(P::kMovingDistanceGeoms)][12];
};

// Computes the sensors of distances from frames.
template <class P, class To>
DRL_HD_CALLED void find_distance_sensors(const typename P::Stage& stage, const typename P::Derived& derived, To& to) {
  DistanceSensors<P>(stage, derived).show(to);
}

}  // namespace drl::inline DRL_ISA::physics
