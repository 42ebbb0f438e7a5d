// The parameters that humanoids share in the velocity tasks: mjlab's numbers for G1. Only G1 touches itself. The
// example in velocity.hpp is a humanoid.
#pragma once

#include "drl/robots/velocity.hpp"

namespace drl::velocity {

struct Humanoid {
  static constexpr const char *base = "floating_base_joint", *self_contact = nullptr;
  static constexpr bool is_symmetric = true;
  static constexpr const char *sides[][2] = {{"left", "right"}}, *flips[] = {"_roll", "_yaw"};

  static constexpr auto reward_terms = velocity::reward_terms(-0.05, -0.02);
  static constexpr double gate_speed = 0.12;  // m/s, the error that the gate allows

  // Draws an environment's sliding, torsional and rolling friction of the feet.
  template <class F>
  DRL_HD static Vec<F, 3> friction(Draws<F>& draws) {
    return {{draws.uniform(F(0.3), F(1.2)), F(0.005), F(0.0001)}};
  }
};

}  // namespace drl::velocity
