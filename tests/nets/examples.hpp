// Networks with random parameters and their comparison with autograd, for all CPU backends.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "nets/nets.hpp"

namespace drl::test {

using MakeNets = std::unique_ptr<Nets> (*)(Queue&, ParamLayout);

inline constexpr int64_t kObservations = 4000;
inline constexpr int64_t kTile = 0, kTileButOne = -1;  // as many rows as a tape holds, or one fewer

struct NetCase {
  std::string name;
  NetSpec spec;
  int64_t rows;  // number of rows in a pass with a tape, or one of the constants above
  bool index, normalizer;
};

// A network with random parameters, whose layout has another network before it, and random observations.
struct Example {
  Example(const NetCase& c, MakeNets make) : queue(host_queue()), random(17) {
    ParamLayout layout;
    layout.add_net({"first", {2, 3}});
    layout.add_free("free", {3});
    net = layout.add_net(c.spec);
    nets = make(*queue, layout);
    params.resize(static_cast<size_t>(layout.size()));
    fill_uniform(params, random, -0.5, 0.5);
    obs = uniforms(random, kObservations * c.spec.inputs(), -1, 1);
    mean = uniforms(random, c.spec.inputs(), -1, 1), inv_std = uniforms(random, c.spec.inputs(), 0.5, 3);
    index = shuffled(random, kObservations);
    const int64_t count = c.rows > 0 ? c.rows : nets->tile() + c.rows;
    rows = {obs.data(), c.index ? index.data() : nullptr, count, {}};
    if (c.normalizer) rows.normalizer = {mean.data(), inv_std.data()};
    weights = nets->pack(params.data());
  }
  // Returns the network's inputs, computed by their definition.
  at::Tensor inputs(const Rows& given) const {
    at::Tensor x = as_double(obs).reshape({kObservations, -1});
    x = given.index ? x.index_select(0, as_index({given.index, static_cast<size_t>(given.count)}))
                    : x.narrow(0, 0, given.count);
    return normalized(x, given.normalizer);
  }

  std::unique_ptr<Queue> queue;
  Random random;
  NetId net;
  std::unique_ptr<Nets> nets;
  std::vector<float> params;
  std::unique_ptr<Weights> weights;
  std::vector<float> obs, mean, inv_std;
  std::vector<int32_t> index;
  Rows rows;
};

// Expects that outputs and gradients of a pass with a tape equal those of autograd in double.
inline void expect_equals_autograd(Example& s, double output_tolerance = 2e-6, double gradient_tolerance = 1e-5) {
  const ParamLayout& layout = s.nets->layout();
  const NetSpec& spec = layout.net(s.net);
  const int64_t outputs = s.rows.count * spec.outputs();
  const at::Tensor flat = as_double(s.params).set_requires_grad(true),
                   x = s.inputs(s.rows).detach().set_requires_grad(true);
  const at::Tensor expected = mlp(layout, s.net, flat, x);
  std::vector<float> out(static_cast<size_t>(outputs), NAN), d_out = uniforms(s.random, outputs, -1, 1);
  (expected.reshape({-1}) * as_double(d_out)).sum().backward();

  const auto tape = s.nets->make_tape(s.net);
  s.nets->forward(s.net, *s.weights, s.rows, out.data(), tape.get());
  expect_close(out, expected.detach(), output_tolerance, "outputs");
  std::vector<float> grad(s.params.size()), twice(s.params.size()), d_in(s.inputs(s.rows).numel(), NAN);
  s.nets->backward(s.net, *s.weights, *tape, d_out.data(), grad.data(), d_in.data());
  expect_close(d_in, x.grad(), gradient_tolerance, "d_in");
  for (int layer = 0; layer < spec.num_layers(); ++layer)
    for (const ParamSlice& at : layout.slices_of(s.net, layer))
      expect_close({&grad[static_cast<size_t>(at.offset)], static_cast<size_t>(at.count())},
                   flat.grad().narrow(0, at.offset, at.count()), 2 * gradient_tolerance, at.name);
  for (size_t i = 0; i < grad.size(); ++i)
    EXPECT_TRUE(grad[i] == 0 || flat.grad().data_ptr<double>()[i] != 0)
        << "the gradient of another network or of padding changed: " << i;

  // Gradients are added, and do not depend on whether the inputs' gradient is requested. Their rounding is that of the
  // terms of their sums.
  twice = grad;
  s.nets->backward(s.net, *s.weights, *tape, d_out.data(), twice.data());
  for (int layer = 0; layer < spec.num_layers(); ++layer)
    for (const ParamSlice& at : layout.slices_of(s.net, layer))
      expect_close({&twice[static_cast<size_t>(at.offset)], static_cast<size_t>(at.count())},
                   2 * as_double(grad).narrow(0, at.offset, at.count()), 2e-6, at.name);
}

}  // namespace drl::test
