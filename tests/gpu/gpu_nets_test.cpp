// Networks on a GPU equal those of libtorch up to the rounding of sums.
#include "nets/gpu/gpu_nets.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/check.hpp"
#include "gpu_rig.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

struct Case {
  std::string name;
  Activation activation;
  std::vector<int> dims;
  bool normalized;
  int64_t rows, tile;
  bool layer_norm = false;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

std::vector<float> uniform(std::mt19937_64& random, size_t count, float low, float high) {
  std::vector<float> numbers(count);
  for (float& x : numbers) x = std::uniform_real_distribution<float>(low, high)(random);
  return numbers;
}

// The inputs of a pass, in host memory.
struct Inputs {
  explicit Inputs(const Case& c) : observations(c.rows + 100) {
    layout.add_net({"other", {3, 5, 1}, c.activation});
    layout.add_free("free", {3});
    net = layout.add_net({"net", c.dims, c.activation, c.layer_norm});
    std::mt19937_64 random(17);
    const auto in = static_cast<size_t>(c.dims.front()), out = static_cast<size_t>(c.dims.back());
    params = uniform(random, static_cast<size_t>(layout.size()), -0.4f, 0.4f);
    grad = uniform(random, params.size(), -0.1f, 0.1f);  // the pass adds to this
    obs = uniform(random, static_cast<size_t>(observations) * in, -1, 1);
    mean = uniform(random, in, -0.5f, 0.5f), inv_std = uniform(random, in, 0.5f, 3);
    d_out = uniform(random, static_cast<size_t>(c.rows) * out, -1, 1);
    index.resize(static_cast<size_t>(observations));
    for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int32_t>(i);
    std::ranges::shuffle(index, random);
    index.resize(static_cast<size_t>(c.rows));
  }
  ParamLayout layout;
  NetId net;
  int64_t observations;
  std::vector<float> params, grad, obs, mean, inv_std, d_out;
  std::vector<int32_t> index;
};

struct Outputs {
  std::vector<float> all;              // outputs for all observations
  std::vector<float> out, grad, d_in;  // for the indexed rows, tile by tile
};

Outputs pass(Queue& queue, Nets& nets, const Case& c, const Inputs& from) {
  const int64_t in = c.dims.front(), out = c.dims.back();
  const auto params = to_queue(queue, from.params), obs = to_queue(queue, from.obs),
             d_out = to_queue(queue, from.d_out), mean = to_queue(queue, from.mean),
             inv_std = to_queue(queue, from.inv_std);
  const auto index = to_queue(queue, from.index);
  const std::unique_ptr<Weights> weights = nets.pack(params.data());
  auto grad = to_queue(queue, from.grad);
  Array<float> all(queue, static_cast<size_t>(from.observations * out)), some(queue, d_out.size()),
      d_in(queue, static_cast<size_t>(c.rows * in));
  const NormalizerView normalizer = c.normalized ? NormalizerView{mean.data(), inv_std.data(), 1.5f} : NormalizerView{};
  nets.forward(from.net, *weights, {obs.data(), nullptr, from.observations, normalizer}, all.data());
  const auto tape = nets.make_tape(from.net);
  for (int64_t first = 0; first < c.rows; first += nets.tile()) {
    const int64_t count = std::min(nets.tile(), c.rows - first);
    const Rows rows{obs.data(), index.data() + first, count, normalizer};
    nets.forward(from.net, *weights, rows, some.data() + first * out, nullptr);
    nets.forward(from.net, *weights, rows, nullptr, tape.get());  // the tape does not need the outputs
    nets.backward(from.net, *weights, *tape, d_out.data() + first * out, grad.data(), d_in.data() + first * in);
  }
  return {to_host(queue, all), to_host(queue, some), to_host(queue, grad), to_host(queue, d_in)};
}

class GpuNets : public GpuTest, public testing::WithParamInterface<Case> {};

TEST_P(GpuNets, EqualLibtorchUpToRounding) {
  const Case& c = GetParam();
  const Inputs inputs(c);
  const auto host_queue = make_host_queue(isa_of("auto")), queue = make_gpu_queue();
  const auto torch = make_torch_nets(*host_queue, inputs.layout, 1);
  const auto nets = make_gpu_nets(*queue, inputs.layout, c.tile);
  EXPECT_EQ(nets->tile(), c.tile);
  const Outputs expected = pass(*host_queue, *torch, c, inputs), actual = pass(*queue, *nets, c, inputs);
  EXPECT_LT(largest_difference(actual.all, expected.all), 2e-6);
  EXPECT_LT(largest_difference(actual.out, expected.out), 2e-6);
  EXPECT_LT(largest_difference(actual.d_in, expected.d_in), 2e-6);
  for (const ParamSlice& slice : inputs.layout.slices()) {
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + slice.offset, all.begin() + slice.offset + slice.count());
    };
    EXPECT_LT(largest_difference(part(actual.grad), part(expected.grad)), 2e-5) << slice.name;
    EXPECT_EQ(part(actual.grad) == part(inputs.grad), !slice.name.starts_with("net/")) << slice.name;
  }
}

TEST_P(GpuNets, AreDeterministic) {
  const Case& c = GetParam();
  const Inputs inputs(c);
  const auto queue = make_gpu_queue();
  const auto nets = make_gpu_nets(*queue, inputs.layout, c.tile);
  const Outputs first = pass(*queue, *nets, c, inputs), second = pass(*queue, *nets, c, inputs);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(second.grad, first.grad);
}

class GpuProducts : public GpuTest {};

// TF32 keeps 11 significant bits of each factor. With fewer, nothing changes.
TEST_F(GpuProducts, OfTf32RoundTheirFactors) {
  const Case c{"", Activation::elu, {5, 2}, false, 300, 1000};
  Inputs inputs(c);
  const auto queue = make_gpu_queue();
  const auto exact = make_gpu_nets(*queue, inputs.layout, c.tile),
             rounded = make_gpu_nets(*queue, inputs.layout, c.tile, true);
  EXPECT_NE(rounded->description().find("TF32"), std::string::npos);
  const double difference =
      largest_difference(pass(*queue, *rounded, c, inputs).out, pass(*queue, *exact, c, inputs).out);
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 5 * 0.4 * 2 * std::ldexp(1, -11));  // five products of at most 0.4
  for (std::vector<float>* numbers : {&inputs.params, &inputs.obs, &inputs.d_out})
    for (float& x : *numbers) x = std::round(x * 512) / 512;
  const Outputs few = pass(*queue, *rounded, c, inputs), all = pass(*queue, *exact, c, inputs);
  EXPECT_LT(largest_difference(few.out, all.out), 1e-6);
  EXPECT_LT(largest_difference(few.d_in, all.d_in), 1e-6);
  EXPECT_LT(largest_difference(few.grad, all.grad), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Cases, GpuNets,
                         testing::Values(Case{"Elu", Activation::elu, {5, 16, 21, 3}, true, 3333, 1000},
                                         Case{"Tanh", Activation::tanh, {7, 32, 1}, false, 1000, 1000},
                                         Case{"Relu", Activation::relu, {4, 6, 6, 6, 2}, true, 17, 1000},
                                         Case{"Silu", Activation::silu, {5, 16, 21, 3}, true, 3333, 1000},
                                         Case{"Gelu", Activation::gelu, {7, 32, 1}, false, 1000, 1000},
                                         Case{"EluNorm", Activation::elu, {5, 16, 21, 3}, true, 3333, 1000, true},
                                         Case{"SiluNorm", Activation::silu, {5, 37, 8, 3}, true, 3333, 1000, true},
                                         Case{"GeluNorm", Activation::gelu, {5, 64, 2}, false, 17, 1000, true},
                                         Case{"OneLayer", Activation::elu, {5, 2}, true, 300, 1000, true},
                                         // Sums over this many rows are divided into slices, with a remainder.
                                         Case{"LargeTile", Activation::tanh, {5, 16, 20, 2}, false, 9001, 10000}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl
