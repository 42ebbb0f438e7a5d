#pragma once

#include "algorithms/options.hpp"

namespace drl {

struct GrpoOptions : UpdateOptions {
  int group_size = 16;
  double kl_coef = 0.0;
  int reference_interval = 10;

  void describe(OptionVisitor& v) {
    UpdateOptions::describe(v);
    v("group_size", group_size, "environments that start from one state, whose returns are compared",
      between(2, 1 << 20));
    v("kl_coef", kl_coef, "weight of the KL divergence from the reference policy", at_least(0));
    v("reference_interval", reference_interval,
      "iterations after which the policy becomes the reference, 0 = it stays the first one", at_least(0));
  }
};

}  // namespace drl
