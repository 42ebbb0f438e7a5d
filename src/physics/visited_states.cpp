#include "physics/visited_states.hpp"

#include <memory>

#include "drl/lanes/philox.hpp"
#include "physics/float_error.hpp"

namespace drl::robot_compiler {
namespace {

// Runs from initial states, then from random ones, of which many short runs follow: bodies may land on each other.
constexpr int kRuns = 6, kSteps = 500, kShortRuns = 40, kShortSteps = 50;
constexpr int kMostCost = 200'000;  // of a run: degrees of freedom and rows, summed over its steps

}  // namespace

const std::vector<VisitedStep>& VisitedStates::steps() {
  if (!steps_.empty()) return steps_;
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(&m_), mj_deleteData);
  mjData& d = *data;
  uint64_t draws = 0;
  const auto draw = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(uniform01(random_bits(1, Purpose::benchmark, draws++, 0)[0]));
  };
  for (int run = 0; run < kRuns + kShortRuns; ++run) {
    mj_resetData(&m_, &d);
    if (m_.nkey > 0 && run < m_.nkey) mj_resetDataKeyframe(&m_, &d, run);
    for (int j = 0; j < m_.njnt && run >= kRuns / 2; ++j) {
      const bool is_short = m_.jnt_type[j] == mjJNT_HINGE || m_.jnt_type[j] == mjJNT_SLIDE;
      const mjtNum* range = m_.jnt_range + 2 * j;
      if (is_short && m_.jnt_limited[j]) d.qpos[m_.jnt_qposadr[j]] = draw(range[0], range[1]);
    }
    int cost = 0;
    for (int step = 0; step < (run < kRuns ? kSteps : kShortSteps) && cost < kMostCost; ++step) {
      for (int a = 0; a < m_.nu; ++a) {
        const mjtNum* range = m_.actuator_ctrlrange + 2 * a;
        if (step % 10 == 0) d.ctrl[a] = m_.actuator_ctrllimited[a] ? draw(range[0], range[1]) : draw(-1, 1);
      }
      mj_step(&m_, &d);
      cost += static_cast<int>(m_.nv) + d.nefc;
      VisitedStep& to = steps_.emplace_back();
      for (int c = 0; c < d.ncon; ++c) {
        const mjContact& contact = d.contact[c];
        to.contacts.push_back({contact.geom[0], contact.geom[1], contact.includemargin - contact.dist});
      }
      if (tries_float_ && d.ncon > 0 && step % 3 == 0) float_errors_.push_back(float_error(m_, d));
    }
  }
  return steps_;
}

}  // namespace drl::robot_compiler
