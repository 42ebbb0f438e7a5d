// Compares Go1-Velocity-Rough in lanes with libmujoco, on ground of all kinds. Built only if tools/fetch_robots has
// downloaded the robot.
#include "physics/go1_rough.hpp"
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include "robots/go1_velocity_rough.hpp"

namespace drl {
namespace {

template <class Params>
Params on_all_kinds() {
  Params params{};
  params.terrain.terrain = kTerrains - 1, params.terrain.rows = 4, params.terrain.level_max = 3;
  params.terrain.curriculum = false;  // another patch in each episode
  return params;
}
static_assert(std::string_view(kTerrainNames[kTerrains - 1]) == "all");

// Robots soon lie on their trunks, which are boxes. Their contacts with a height field are iterated
// (drl/physics/epa.hpp).
TEST(InLanes, Go1VelocityRoughAgreesWithMujoco) {
  tolerance = 1e-6;
  using OnAll = Pair<Go1VelocityRough>;
  expect_equal_steps<Go1VelocityRough>(OnAll(on_all_kinds<OnAll::Params>(), on_all_kinds<OnAll::Lanes::Params>()));
}

}  // namespace
}  // namespace drl
