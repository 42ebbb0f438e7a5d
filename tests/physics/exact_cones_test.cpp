// The robots of elliptic cones; Unitree's Go1 where tools/fetch_robots has brought it.
#include "cone_robots.hpp"
#include "exact.hpp"
#include "lanes.hpp"

namespace drl {
namespace {

template <>
struct Files<crawler_robot> {
  static constexpr const char* file = "tests/physics/models/crawler.xml";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Crawler, Exact, crawler_robot);
TEST(Lanes, OfCrawler) { expect_lanes<crawler_robot>(Files<crawler_robot>::file); }

#if DRL_HAS_GO1
template <>
struct Files<go1_robot> {
  static constexpr const char* file = DRL_MODELS "/go1.xml";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Go1, Exact, go1_robot);
TEST(Lanes, OfGo1) { expect_lanes<go1_robot>(Files<go1_robot>::file); }
#endif

}  // namespace
}  // namespace drl
