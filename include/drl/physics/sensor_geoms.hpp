// The geoms that range finders and sensors of distances know, and where sensors' values go.
#pragma once

#include "drl/physics/shapes.hpp"
#include "drl/physics/work.hpp"

namespace drl::inline DRL_ISA::physics {

// `body` and `size` are MuJoCo's.
struct SensorGeom {
  ShapeKind kind;
  int body;
  double size[3];
  double bound;            // the radius of a sphere around its centre that contains it
  int data = -1;           // index of a height field, or of a mesh or its hull
  int moving = -1;         // its index among the geoms that move; -1: it has this pose
  double pose[12] = {};    // the position of its centre, and the rows of the matrix of its axes
  int radius_factor = -1;  // the parameters by which its radius and all sizes are multiplied, or -1
};

// Returns the factor of all sizes of a geom in an environment.
template <class P>
DRL_HD typename P::Number scale_of([[maybe_unused]] const typename P::Stage& stage, const SensorGeom& geom) {
  if constexpr (P::kSizes)
    if (geom.radius_factor >= 0) return stage.parameters[geom.radius_factor + 1];
  return typename P::Number(1);
}

// Returns the radius of a sphere, capsule or cylinder, without the factor of all sizes.
template <class P>
DRL_HD typename P::Number radius_of([[maybe_unused]] const typename P::Stage& stage, const SensorGeom& geom) {
  using F = typename P::Number;
  if constexpr (P::kSizes)
    if (geom.radius_factor >= 0) return F(geom.size[0]) * stage.parameters[geom.radius_factor];
  return F(geom.size[0]);
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

}  // namespace drl::inline DRL_ISA::physics
