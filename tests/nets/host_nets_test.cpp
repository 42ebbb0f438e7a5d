// The backends that compute networks on a CPU.
#include "nets/host_nets.hpp"

#include <tuple>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "examples.hpp"
#include "nets/fused/fused_nets.hpp"
#include "nets/torch/torch_library.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

struct Backend {
  std::string name;
  int64_t tile;
  MakeNets make;
  bool needs_multiply_adds;  // to be bit-identical on all instruction sets
};

std::unique_ptr<Nets> make(Queue& queue, ParamLayout layout) { return make_fused_nets(queue, std::move(layout), 1); }
std::unique_ptr<Nets> make_with_torch(Queue& queue, ParamLayout layout) {
  return make_torch_nets(queue, std::move(layout), 1);
}
const Backend kBackends[] = {{"Fused", 192, make, true}, {"Torch", 1024, make_with_torch, false}};

class HostNetsOn : public testing::TestWithParam<std::tuple<Backend, NetCase>> {
 protected:
  const Backend& backend = std::get<Backend>(GetParam());
  const NetCase& network = std::get<NetCase>(GetParam());
};

TEST_P(HostNetsOn, ForwardAndBackwardEqualAutograd) {
  Example s(network, backend.make);
  expect_equals_autograd(s);
}

// Without a tape, any number of rows is processed tile by tile. All instruction sets are bit-identical, for the fused
// networks all those with multiply-adds.
TEST_P(HostNetsOn, ManyRowsEqualAutogradOnEveryInstructionSet) {
  Example s(network, backend.make);
  s.rows.count = 2500;
  std::vector<float> first;
  for (Isa isa : available_isas()) {
    const auto queue = make_host_queue(isa);
    const auto nets = backend.make(*queue, s.nets->layout());
    std::vector<float> out(static_cast<size_t>(2500 * network.spec.outputs()), NAN);
    nets->forward(s.net, *nets->pack(s.params.data()), s.rows, out.data());
    expect_close(out, mlp(nets->layout(), s.net, as_double(s.params), s.inputs(s.rows)), 2e-6, "outputs");
    if (backend.needs_multiply_adds && !has_fused_multiply_add(isa)) continue;
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << name_of(isa);
  }
  s.rows.count = 0;
  s.nets->forward(s.net, *s.weights, s.rows, nullptr);
}

class FusedNetsOn : public testing::TestWithParam<NetCase> {};

// Processes 1000 rows in several tiles.
TEST_P(FusedNetsOn, GradientsAreBitIdenticalOnEveryInstructionSetAndForAnyNumberOfThreads) {
  Example s(GetParam(), make);
  s.rows.count = 1000;
  const int64_t outputs = GetParam().spec.outputs();
  std::vector<float> out(static_cast<size_t>(s.rows.count * outputs)), first;
  const std::vector<float> d_out = uniforms(s.random, static_cast<int64_t>(out.size()), -1, 1);
  for (bool bf16 : {false, true}) {
    first.clear();
    for (Isa isa : available_isas())
      for (int threads : {1, 2, 3}) {
        if (!has_fused_multiply_add(isa)) continue;
        const auto queue = make_host_queue(isa);
        const auto nets = make_fused_nets(*queue, s.nets->layout(), threads, bf16);
        const auto tape = nets->make_tape(s.net);
        std::vector<float> grad(s.params.size());
        const auto weights = nets->pack(s.params.data());
        for (int64_t row = 0; row < s.rows.count; row += nets->tile()) {
          const int64_t some = std::min(nets->tile(), s.rows.count - row);
          float* of_part = threads == 3 ? nullptr : out.data() + row * outputs;  // the tape does not need the outputs
          nets->forward(s.net, *weights, s.rows.part(row, some, GetParam().spec.inputs()), of_part, tape.get());
          nets->backward(s.net, *weights, *tape, d_out.data() + row * outputs, grad.data());
        }
        if (first.empty()) first = grad;
        EXPECT_EQ(grad, first) << name_of(isa) << ", " << threads << " threads" << (bf16 ? ", bf16" : "");
      }
  }
}

std::unique_ptr<Nets> make_bf16(Queue& queue, ParamLayout layout) {
  return make_fused_nets(queue, std::move(layout), 1, true);
}

// Rounding to bfloat16 changes each factor by up to 2^-9 of its value. (Networks with relu have few rows, so that no
// input is so close to the kink that rounding moves it to the other side.)
TEST_P(FusedNetsOn, Bf16IsCloseToAutograd) {
  Example s(GetParam(), make_bf16);
  expect_equals_autograd(s, 0.02, 0.03);
}

// The widths are below, at and above those of registers and blocks. The numbers of outputs include 12, which fills a
// block, and slightly larger ones.
const NetCase kNetworks[] = {{"Elu", {"net", {5, 16, 24, 3}, Activation::elu}, kTile, true, true},
                             {"Tanh", {"net", {7, 32, 1}, Activation::tanh}, kTileButOne, false, true},
                             {"Relu", {"net", {5, 16, 24, 2}, Activation::relu}, 17, true, false},
                             {"Silu", {"net", {5, 16, 24, 13}, Activation::silu}, kTile, true, true},
                             {"Gelu", {"net", {7, 33, 12}, Activation::gelu}, kTileButOne, false, true},
                             {"Wide", {"net", {48, 256, 130, 14}, Activation::elu}, 192, true, true},
                             {"ManyInputs", {"net", {348, 64, 17}, Activation::tanh}, 97, true, true},
                             {"Odd", {"net", {65, 127, 15, 15}, Activation::tanh}, 50, true, false},
                             {"Single", {"net", {1, 1, 1}, Activation::relu}, 3, true, false},
                             {"OneRow", {"net", {9, 80, 26}, Activation::silu}, 1, true, true},
                             {"NormElu", {"net", {5, 16, 24, 3}, Activation::elu, true}, kTile, true, true},
                             {"NormTanh", {"net", {48, 256, 130, 14}, Activation::tanh, true}, 191, false, true},
                             {"NormRelu", {"net", {7, 12, 9, 1}, Activation::relu, true}, 17, true, false},
                             {"NormSilu", {"net", {65, 127, 15, 15}, Activation::silu, true}, 97, true, false},
                             {"NormGelu", {"net", {9, 80, 33, 26}, Activation::gelu, true}, 17, true, true},
                             {"OneLayer", {"net", {4, 2}, Activation::elu}, 1, false, false}};
INSTANTIATE_TEST_SUITE_P(Networks, HostNetsOn,
                         testing::Combine(testing::ValuesIn(kBackends), testing::ValuesIn(kNetworks)),
                         [](const auto& info) {
                           return std::get<Backend>(info.param).name + std::get<NetCase>(info.param).name;
                         });
INSTANTIATE_TEST_SUITE_P(Networks, FusedNetsOn, testing::ValuesIn(kNetworks),
                         [](const auto& info) { return info.param.name; });

// Compares with central differences in a random direction of each parameter slice.
TEST(FusedNets, GradientsThroughLayerNormEqualCentralDifferences) {
  Example s({"", {"net", {6, 20, 17, 3}, Activation::tanh, true}, 100, false, true}, make);
  const std::vector<float> params = s.params, d_out = uniforms(s.random, 300, -1, 1);
  std::vector<float> out(300), grad(params.size());
  const auto tape = s.nets->make_tape(s.net);
  const auto sum = [&] {
    s.nets->repack(*s.weights);
    s.nets->forward(s.net, *s.weights, s.rows, out.data(), tape.get());
    double all = 0;
    for (size_t i = 0; i < out.size(); ++i) all += static_cast<double>(out[i]) * d_out[i];
    return all;
  };
  sum();
  s.nets->backward(s.net, *s.weights, *tape, d_out.data(), grad.data());
  for (int layer = 0; layer < 3; ++layer)
    for (const ParamSlice& at : s.nets->layout().slices_of(s.net, layer)) {
      const std::vector<float> along = uniforms(s.random, at.count(), -1, 1);
      const auto moved = [&](float by) {
        s.params = params;
        for (size_t i = 0; i < along.size(); ++i) s.params[static_cast<size_t>(at.offset) + i] += by * along[i];
        return sum();
      };
      constexpr float h = 2e-3f;
      double expected = 0, size = 0;
      for (size_t i = 0; i < along.size(); ++i) {
        const double term = static_cast<double>(grad[static_cast<size_t>(at.offset) + i]) * along[i];
        expected += term, size += std::abs(term);
      }
      EXPECT_NEAR((moved(h) - moved(-h)) / (2 * h), expected, 2e-3 * size) << at.name;
    }
}

TEST(HostNets, MoreRowsThanATapeHoldsAreAnError) {
  for (const Backend& backend : kBackends) {
    Example s({"", {"net", {4, 8, 2}}, backend.tile + 1, false, false}, backend.make);
    EXPECT_EQ(s.nets->tile(), backend.tile);
    std::vector<float> out(static_cast<size_t>(2 * s.rows.count));
    const auto tape = s.nets->make_tape(s.net);
    EXPECT_THROW(s.nets->forward(s.net, *s.weights, s.rows, out.data(), tape.get()), Error) << backend.name;
  }
}

// A pass uses the parameters as they were when its weights were last packed, whatever other weights exist. The network
// is linear, so that parameters twice as large give outputs twice as large.
TEST(FusedNets, UseTheWeightsThatTheyReceive) {
  Example s({"", {"net", {4, 2}}, 1, false, false}, make);
  std::vector<float> others = s.params;
  for (float& p : others) p *= 3;
  const std::unique_ptr<Weights> of_others = s.nets->pack(others.data());
  const auto outputs = [&](const Weights& weights) {
    std::vector<float> out(2);
    s.nets->forward(s.net, weights, s.rows, out.data());
    return out;
  };
  const std::vector<float> before = outputs(*s.weights);
  for (float& p : s.params) p *= 2;
  s.nets->repack(*s.weights);
  const std::vector<float> after = outputs(*s.weights), other = outputs(*of_others);
  for (size_t k : {0, 1}) {
    EXPECT_FLOAT_EQ(after[k], 2 * before[k]);
    EXPECT_FLOAT_EQ(other[k], 3 * before[k]);
  }
}

// Tests which networks --nets chooses.
TEST(HostNets, AreFusedIfTheInstructionSetHasMultiplyAdds) {
  const auto queue = host_queue();
  const auto made = [&](const NetSpec& spec, const std::string& which, int threads) {
    ParamLayout layout;
    layout.add_net(spec);
    return make_host_nets(*queue, layout, which, threads)->description().substr(0, 5);
  };
  const NetSpec plain{"net", {4, 8, 2}}, norm{"net", {4, 8, 2}, Activation::elu, true};
  const bool fma = has_fused_multiply_add(queue->isa());
  EXPECT_EQ(made(plain, "auto", 1), fma ? "fused" : "libto");
  EXPECT_EQ(made(plain, "auto", 2), fma ? "fused" : "libto");
  EXPECT_EQ(made(norm, "auto", 1), fma ? "fused" : "libto");
  EXPECT_EQ(made(norm, "fused", 1), "fused");
  EXPECT_EQ(made(plain, "torch", 1), "libto");
  EXPECT_EQ(made(plain, "fused", 2), "fused");
  ParamLayout layout;
  layout.add_net(plain);
  EXPECT_THROW(make_host_nets(*queue, layout, "torch", 1, "bf16"), UsageError);
  const auto with = [&](const char* which, const char* precision) {
    return make_host_nets(*queue, layout, which, 1, precision)->description();
  };
  if (fma) expect_mentions(with("auto", "bf16"), {"fused", "bfloat16"});
  EXPECT_EQ(with("fused", "auto"), with("fused", has_fast_bf16(queue->isa()) ? "bf16" : "fp32"));
  EXPECT_EQ(with("torch", "auto"), with("torch", "fp32"));
}

TEST(TorchNets, DescriptionHasLibtorchAndTheBlas) {
  const Example s({"", {"net", {1, 1}}, 1, false, false}, make_with_torch);
  EXPECT_EQ(s.nets->description().find("libtorch "), 0u);
  const std::string blas = torch_library(1).facts().blas;
  EXPECT_NE(s.nets->description().find(blas), std::string::npos);
  EXPECT_FALSE(blas.empty());
}

TEST(TorchLibrary, ErrorsContainLibtorchsMessage) {
  float numbers[16] = {};
  try {
    torch_library(1).multiply(matrix(numbers, 2, 2), matrix(numbers, 2, 3), matrix(numbers, 2, 2));
    FAIL();
  } catch (const Error& error) {
    expect_mentions(error.what(), {"libtorch", "2x3"});
  }
}

}  // namespace
}  // namespace drl
