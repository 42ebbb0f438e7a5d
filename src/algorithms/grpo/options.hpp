#pragma once

#include "algorithms/options.hpp"

namespace drl {

struct GrpoOptions : UpdateOptions {
  int group_size = 16;
  double kl_coef = 0.0;
  int reference_interval = 10;

  void describe(OptionVisitor& v) {
    UpdateOptions::describe(v);
    v("group_size", group_size,
      "number of environments in a group: they start from the same state, and their returns are compared",
      between(2, 1 << 20), common, always);
    v("kl_coef", kl_coef, "weight of the KL divergence from the reference policy", at_least(0), always);
    v("reference_interval", reference_interval,
      "the policy becomes the new reference policy every N iterations; 0 keeps the initial policy as the reference",
      at_least(0), not_with("kl_coef", "0"));
    describe_annealing(v);
  }
};

}  // namespace drl
