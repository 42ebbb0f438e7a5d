// The states that a learner on a GPU keeps and dumps are those of a learner on the host.
#include "../run/watched_envs.hpp"
#include "gpu_rig.hpp"

namespace drl {
namespace {

class GpuLostStates : public test::GpuTest {};

// Attributes differ in the time.
std::vector<Tensor> dumped(std::unique_ptr<Queue> queue) {
  const TempFolder run;
  Watched envs(run, 40, 6, 0, 1, std::move(queue));
  for (int iteration = 0; iteration < 2; ++iteration) {
    std::vector<std::vector<int32_t>> actions(6, std::vector<int32_t>(40));
    for (size_t t = 0; t < 6; ++t)
      for (size_t i = 0; i < 40; ++i) actions[t][i] = (3 * i + 5 * t) % 7 == 0 ? static_cast<int32_t>((i + t) % 5) : 0;
    envs.roll_out(actions);
  }
  return read_lost_states(run / "lost_states" / "rank_0.h5").tensors;
}

TEST_F(GpuLostStates, AreThoseOfTheHost) {
  const std::vector<Tensor> states = dumped(make_gpu_queue());
  EXPECT_GT(states.size(), 100u);
  EXPECT_EQ(states, dumped(make_host_queue(available_isas().back())));
}

}  // namespace
}  // namespace drl
