// Compares tasks of one robot in lanes with libmujoco. CMakeLists.txt compiles this file once for each robot that
// tools/fetch_robots has downloaded, with the macros DRL_LANES_...: the task, the headers of its physics and its
// definition, optionally another task of the robot, and the velocity task's configuration with the robot's mass.
#include DRL_LANES_PHYSICS
// These must follow the header of the physics.
#include "lanes_pair.hpp"
#include DRL_LANES_HEADER
#ifdef DRL_LANES_OTHER
#include DRL_LANES_OTHER_HEADER
#endif
#include "velocity_model.hpp"

namespace drl {
namespace {

// On rough ground, episodes are on ground of all kinds. Robots soon lie on their trunks, which are boxes; their
// contacts with a height field are iterated (drl/physics/epa.hpp).
template <template <class> class Task>
void expect_agreement() {
  typename Pair<Task>::Params params{};
  typename Pair<Task>::Lanes::Params lanes_params{};
  if constexpr (HasTerrain<typename Pair<Task>::Params>) {
    static_assert(std::string_view(kTerrainNames[kTerrains - 1]) == "all");
    const auto choose_all = [](auto& terrain) {
      terrain.terrain = kTerrains - 1, terrain.rows = 4, terrain.level_max = 3;
      terrain.curriculum = false;  // another patch in each episode
    };
    choose_all(params.terrain), choose_all(lanes_params.terrain);
    tolerance = 1e-6;
  }
  const std::string file = find_model(Pair<Task>::Reference::model, nullptr);
  if constexpr (requires { params.prepare(file); }) params.prepare(file);  // reads the motions, for both
  expect_equal_steps<Task>(Pair<Task>(params, lanes_params));
}

TEST(InLanes, DRL_LANES_TASK) { expect_agreement<DRL_LANES_TASK>(); }
#ifdef DRL_LANES_OTHER
TEST(InLanes, DRL_LANES_OTHER) { expect_agreement<DRL_LANES_OTHER>(); }
#endif
#ifdef DRL_LANES_CONFIG
TEST(HeaderAgreesWithModel, DRL_LANES_CONFIG) { expect_header_agrees_with_model<DRL_LANES_CONFIG>(DRL_LANES_KG); }
#endif

}  // namespace
}  // namespace drl
