#include "nets/torch/torch_nets.hpp"

#include <gtest/gtest.h>

#include "../support/mentions.hpp"
#include "base/check.hpp"
#include "examples.hpp"
#include "nets/torch/torch_library.hpp"

namespace drl {
namespace {

using namespace test;

std::unique_ptr<Nets> make(Queue& queue, ParamLayout layout) { return make_torch_nets(queue, std::move(layout), 1); }

class TorchNetsOn : public testing::TestWithParam<NetCase> {};

TEST_P(TorchNetsOn, ForwardAndBackwardEqualAutograd) {
  Example s(GetParam(), make);
  expect_equals_autograd(s);
}

// Without a tape, any number of rows is processed tile by tile. All instruction sets are bit-identical.
TEST_P(TorchNetsOn, ManyRowsEqualAutogradOnEveryInstructionSet) {
  Example s(GetParam(), make);
  s.rows.count = 2500;
  std::vector<float> first;
  for (Isa isa : available_isas()) {
    const auto queue = make_host_queue(isa);
    const auto nets = make_torch_nets(*queue, s.nets->layout(), 1);
    std::vector<float> out(static_cast<size_t>(2500 * GetParam().spec.outputs()), NAN);
    nets->forward(s.net, *nets->pack(s.params.data()), s.rows, out.data());
    expect_close(out, mlp(nets->layout(), s.net, as_double(s.params), s.inputs(s.rows)), 2e-6, "outputs");
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << name_of(isa);
  }
  s.rows.count = 0;
  s.nets->forward(s.net, *s.weights, s.rows, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, TorchNetsOn,
    testing::Values(NetCase{"Elu", {"net", {5, 16, 24, 3}, Activation::elu}, 1024, true, true},
                    NetCase{"Tanh", {"net", {7, 32, 1}, Activation::tanh}, 1023, false, true},
                    NetCase{"Relu", {"net", {5, 16, 24, 2}, Activation::relu}, 17, true, false},
                    NetCase{"Silu", {"net", {5, 16, 24, 3}, Activation::silu}, 1024, true, true},
                    NetCase{"Gelu", {"net", {7, 33, 1}, Activation::gelu}, 1023, false, true},
                    NetCase{"EluNorm", {"net", {5, 16, 24, 3}, Activation::elu, true}, 1024, true, true},
                    NetCase{"SiluNorm", {"net", {6, 37, 2}, Activation::silu, true}, 1023, true, true},
                    NetCase{"GeluNorm", {"net", {5, 64, 9, 2}, Activation::gelu, true}, 17, true, false},
                    NetCase{"OneLayer", {"net", {4, 2}, Activation::elu, true}, 1, false, false}),
    [](const auto& info) { return info.param.name; });

TEST(TorchNets, MoreRowsThanATapeHoldsAreAnError) {
  Example s({"", {"net", {4, 8, 2}}, 1025, false, false}, make);
  EXPECT_EQ(s.nets->tile() % 16, 0);
  EXPECT_EQ(s.nets->tile(), 1024);
  std::vector<float> out(2 * 1025);
  const auto tape = s.nets->make_tape(s.net);
  EXPECT_THROW(s.nets->forward(s.net, *s.weights, s.rows, out.data(), tape.get()), Error);
}

TEST(TorchNets, DescriptionHasLibtorchAndTheBlas) {
  const Example s({"", {"net", {1, 1}}, 1, false, false}, make);
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
