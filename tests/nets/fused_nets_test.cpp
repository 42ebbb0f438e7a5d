#include "nets/fused/fused_nets.hpp"

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "examples.hpp"
#include "nets/host_nets.hpp"

namespace drl {
namespace {

using namespace test;

std::unique_ptr<Nets> make(Queue& queue, ParamLayout layout) { return make_fused_nets(queue, std::move(layout), 1); }

class FusedNetsOn : public testing::TestWithParam<NetCase> {};

TEST_P(FusedNetsOn, ForwardAndBackwardEqualAutograd) {
  Example s(GetParam(), make);
  expect_equals_autograd(s);
}

// Without a tape, any number of rows is processed tile by tile. All instruction sets with multiply-adds are
// bit-identical.
TEST_P(FusedNetsOn, ManyRowsEqualAutogradOnEveryInstructionSet) {
  Example s(GetParam(), make);
  s.rows.count = 2500;
  std::vector<float> first;
  for (Isa isa : available_isas()) {
    const auto queue = make_host_queue(isa);
    const auto nets = make(*queue, s.nets->layout());
    std::vector<float> out(static_cast<size_t>(2500 * GetParam().spec.outputs()), NAN);
    nets->forward(s.net, *nets->pack(s.params.data()), s.rows, out.data());
    expect_close(out, mlp(nets->layout(), s.net, as_double(s.params), s.inputs(s.rows)), 2e-6, "outputs");
    if (!has_fused_multiply_add(isa)) continue;
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << name_of(isa);
  }
  s.rows.count = 0;
  s.nets->forward(s.net, *s.weights, s.rows, nullptr);
}

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
INSTANTIATE_TEST_SUITE_P(
    Networks, FusedNetsOn,
    testing::Values(NetCase{"Elu", {"net", {5, 16, 24, 3}, Activation::elu}, 192, true, true},
                    NetCase{"Tanh", {"net", {7, 32, 1}, Activation::tanh}, 191, false, true},
                    NetCase{"Relu", {"net", {5, 16, 24, 2}, Activation::relu}, 17, true, false},
                    NetCase{"Silu", {"net", {5, 16, 24, 13}, Activation::silu}, 192, true, true},
                    NetCase{"Gelu", {"net", {7, 33, 12}, Activation::gelu}, 191, false, true},
                    NetCase{"Wide", {"net", {48, 256, 130, 14}, Activation::elu}, 192, true, true},
                    NetCase{"ManyInputs", {"net", {348, 64, 17}, Activation::tanh}, 97, true, true},
                    NetCase{"Odd", {"net", {65, 127, 15, 15}, Activation::tanh}, 50, true, false},
                    NetCase{"Single", {"net", {1, 1, 1}, Activation::relu}, 3, true, false},
                    NetCase{"OneRow", {"net", {9, 80, 26}, Activation::silu}, 1, true, true},
                    NetCase{"NormElu", {"net", {5, 16, 24, 3}, Activation::elu, true}, 192, true, true},
                    NetCase{"NormTanh", {"net", {48, 256, 130, 14}, Activation::tanh, true}, 191, false, true},
                    NetCase{"NormRelu", {"net", {7, 12, 9, 1}, Activation::relu, true}, 17, true, false},
                    NetCase{"NormSilu", {"net", {65, 127, 15, 15}, Activation::silu, true}, 97, true, false},
                    NetCase{"NormGelu", {"net", {9, 80, 33, 26}, Activation::gelu, true}, 17, true, true},
                    NetCase{"OneLayer", {"net", {4, 2}, Activation::elu}, 1, false, false}),
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

TEST(FusedNets, MoreRowsThanATapeHoldsAreAnError) {
  Example s({"", {"net", {4, 8, 2}}, 193, false, false}, make);
  EXPECT_EQ(s.nets->tile(), 192);
  std::vector<float> out(2 * 193);
  const auto tape = s.nets->make_tape(s.net);
  EXPECT_THROW(s.nets->forward(s.net, *s.weights, s.rows, out.data(), tape.get()), Error);
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
  if (fma) {
    expect_mentions(make_host_nets(*queue, layout, "auto", 1, "bf16")->description(), {"fused", "bfloat16"});
  }
}

}  // namespace
}  // namespace drl
