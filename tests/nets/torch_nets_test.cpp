#include "nets/torch/torch_nets.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "../support/autograd.hpp"
#include "../support/learning.hpp"
#include "../support/loops.hpp"
#include "base/check.hpp"
#include "nets/torch/blas.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int64_t kObservations = 4000;

struct Case {
  std::string name;
  NetSpec spec;
  int64_t rows;  // of a tape
  bool index, normalizer;
};

// A network behind another one, with random parameters, and random observations.
struct Example {
  explicit Example(const Case& c) : queue(host_queue()), random(17) {
    ParamLayout layout;
    layout.add_net({"first", {2, 3}});
    layout.add_free("free", {3});
    net = layout.add_net(c.spec);
    nets = make_torch_nets(*queue, layout, 1);
    params.resize(static_cast<size_t>(layout.size()));
    fill_uniform(params, random, -0.5, 0.5);
    obs = uniforms(random, kObservations * c.spec.inputs(), -1, 1);
    mean = uniforms(random, c.spec.inputs(), -1, 1), inv_std = uniforms(random, c.spec.inputs(), 0.5, 3);
    index = shuffled(random, kObservations);
    rows = {obs.data(), c.index ? index.data() : nullptr, c.rows, {}};
    if (c.normalizer) rows.normalizer = {mean.data(), inv_std.data()};
  }
  // What goes into the network, as the definition says.
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
  std::vector<float> params, obs, mean, inv_std;
  std::vector<int32_t> index;
  Rows rows;
};

std::vector<const ParamSlice*> slices_of(const ParamLayout& layout, NetId net, int layer) {
  std::vector<const ParamSlice*> slices = {&layout.weight(net, layer), &layout.bias(net, layer)};
  if (layout.net(net).layer_norm && layer + 1 < layout.net(net).layers()) {
    slices.push_back(&layout.norm_weight(net, layer));
    slices.push_back(&layout.norm_bias(net, layer));
  }
  return slices;
}

class TorchNetsOn : public testing::TestWithParam<Case> {};

TEST_P(TorchNetsOn, ForwardAndBackwardAreAutograds) {
  Example s(GetParam());
  const ParamLayout& layout = s.nets->layout();
  const NetSpec& spec = GetParam().spec;
  const int64_t outputs = GetParam().rows * spec.outputs();
  const at::Tensor flat = as_double(s.params).set_requires_grad(true),
                   x = s.inputs(s.rows).detach().set_requires_grad(true);
  const at::Tensor expected = mlp(layout, s.net, flat, x);
  std::vector<float> out(static_cast<size_t>(outputs), NAN), d_out = uniforms(s.random, outputs, -1, 1);
  (expected.reshape({-1}) * as_double(d_out)).sum().backward();

  const auto tape = s.nets->make_tape(s.net);
  s.nets->forward(s.net, s.params.data(), s.rows, out.data(), tape.get());
  expect_close(out, expected.detach(), 2e-6, "outputs");
  std::vector<float> grad(s.params.size()), twice(s.params.size()), d_in(s.inputs(s.rows).numel(), NAN);
  s.nets->backward(s.net, s.params.data(), *tape, d_out.data(), grad.data(), d_in.data());
  expect_close(d_in, x.grad(), 1e-5, "d_in");
  for (int layer = 0; layer < spec.layers(); ++layer)
    for (const ParamSlice* at : slices_of(layout, s.net, layer))
      expect_close({&grad[static_cast<size_t>(at->offset)], static_cast<size_t>(at->count())},
                   flat.grad().narrow(0, at->offset, at->count()), 2e-5, at->name);
  for (size_t i = 0; i < grad.size(); ++i)
    EXPECT_TRUE(grad[i] == 0 || flat.grad().data_ptr<double>()[i] != 0) << "of another network, or of none: " << i;

  // It adds, and the same without the inputs' gradient.
  twice = grad;
  s.nets->backward(s.net, s.params.data(), *tape, d_out.data(), twice.data());
  for (size_t i = 0; i < grad.size(); ++i) EXPECT_NEAR(twice[i], 2 * grad[i], 1e-5 * std::abs(grad[i]) + 1e-6);
}

// Without a tape any number of rows, tile after tile; the instruction set changes no bit.
TEST_P(TorchNetsOn, ForwardOfManyRows) {
  Example s(GetParam());
  s.rows.count = 2500;
  std::vector<float> first;
  for (Isa isa : available_isas()) {
    const auto queue = make_host_queue(isa);
    const auto nets = make_torch_nets(*queue, s.nets->layout(), 1);
    std::vector<float> out(static_cast<size_t>(2500 * GetParam().spec.outputs()), NAN);
    nets->forward(s.net, s.params.data(), s.rows, out.data());
    expect_close(out, mlp(nets->layout(), s.net, as_double(s.params), s.inputs(s.rows)), 2e-6, "outputs");
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << name_of(isa);
  }
  s.rows.count = 0;
  s.nets->forward(s.net, s.params.data(), s.rows, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, TorchNetsOn,
    testing::Values(Case{"Elu", {"net", {5, 16, 24, 3}, Activation::elu}, 1024, true, true},
                    Case{"Tanh", {"net", {7, 32, 1}, Activation::tanh}, 1023, false, true},
                    Case{"Relu", {"net", {5, 16, 24, 2}, Activation::relu}, 17, true, false},
                    Case{"Silu", {"net", {5, 16, 24, 3}, Activation::silu}, 1024, true, true},
                    Case{"Gelu", {"net", {7, 33, 1}, Activation::gelu}, 1023, false, true},
                    Case{"EluNorm", {"net", {5, 16, 24, 3}, Activation::elu, true}, 1024, true, true},
                    Case{"SiluNorm", {"net", {6, 37, 2}, Activation::silu, true}, 1023, true, true},
                    Case{"GeluNorm", {"net", {5, 64, 9, 2}, Activation::gelu, true}, 17, true, false},
                    Case{"OneLayer", {"net", {4, 2}, Activation::elu, true}, 1, false, false}),
    [](const auto& info) { return info.param.name; });

TEST(TorchNets, ATapeHoldsATile) {
  Example s({"", {"net", {4, 8, 2}}, 1025, false, false});
  EXPECT_EQ(s.nets->tile() % 16, 0);
  EXPECT_EQ(s.nets->tile(), 1024);
  std::vector<float> out(2 * 1025);
  const auto tape = s.nets->make_tape(s.net);
  EXPECT_THROW(s.nets->forward(s.net, s.params.data(), s.rows, out.data(), tape.get()), Error);
}

TEST(TorchNets, RefuseHiddenState) {
  Example s({"", {"net", {4, 2}}, 1, false, false});
  std::vector<float> out(2), hidden(3);
  const HiddenState some{hidden.data(), 3}, none;
  s.nets->forward(s.net, s.params.data(), s.rows, out.data(), nullptr, none, none);
  for (const auto& [in, next] : {std::pair{some, none}, {none, some}}) try {
      s.nets->forward(s.net, s.params.data(), s.rows, out.data(), nullptr, in, next);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("no recurrent networks (hidden state of width 3"), std::string::npos);
    }
}

TEST(TorchNets, SaysWhatItComputesWith) {
  const Example s({"", {"net", {1, 1}}, 1, false, false});
  EXPECT_EQ(s.nets->description().find("libtorch "), 0u);
  EXPECT_NE(s.nets->description().find(blas_library().name), std::string::npos);
  EXPECT_FALSE(blas_library().name.empty());
}

// 192 MiB for each thread, and as much besides.
TEST(AddressSpace, MustHoldTheBuffersOfBlas) {
  constexpr uint64_t mib = 1 << 20;
  EXPECT_EQ(address_space_problem(RLIM_INFINITY, 600 * mib, 1000), "");
  EXPECT_EQ(address_space_problem(984 * mib, 600 * mib, 1), "");
  EXPECT_EQ(
      address_space_problem(983 * mib, 600 * mib, 1),
      "the limit of the address space leaves 383 MiB (ulimit -v 1006592), and 1 thread of matrix products may take "
      "384 MiB: ulimit -v 1007617, or unlimited; in a job ask for more memory");
  EXPECT_NE(address_space_problem(984 * mib, 600 * mib, 2), "");
  EXPECT_NE(address_space_problem(500 * mib, 600 * mib, 1), "");
}

}  // namespace
}  // namespace drl
