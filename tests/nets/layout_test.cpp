#include "nets/layout.hpp"

#include <gtest/gtest.h>

#include "../support/learning.hpp"

namespace drl {
namespace {

TEST(ParamLayout, SlicesAreInOrderAndAlignedTo16Bytes) {
  ParamLayout layout;
  const NetId first = layout.add_net({"a", {3, 5, 2}, Activation::tanh});
  const int free = layout.add_free("b", {2});
  const NetId second = layout.add_net({"c", {4, 1}});
  const std::vector<std::string> names = {"a/0/weight", "a/0/bias",   "a/1/weight", "a/1/bias",
                                          "b",          "c/0/weight", "c/0/bias"};
  const std::vector<std::vector<int64_t>> shapes = {{5, 3}, {5}, {2, 5}, {2}, {2}, {1, 4}, {1}};
  const std::vector<int64_t> offsets = {0, 16, 24, 36, 40, 44, 48};
  ASSERT_EQ(layout.slices().size(), names.size());
  for (size_t k = 0; k < names.size(); ++k) {
    EXPECT_EQ(layout.slices()[k].name, names[k]);
    EXPECT_EQ(layout.slices()[k].shape, shapes[k]);
    EXPECT_EQ(layout.slices()[k].offset, offsets[k]) << names[k];
  }
  EXPECT_EQ(layout.size(), 52);
  EXPECT_EQ(layout.count(), 15 + 5 + 10 + 2 + 2 + 4 + 1);
  EXPECT_EQ(layout.nets(), 2);
  EXPECT_EQ(layout.slices()[static_cast<size_t>(free)].name, "b");
  EXPECT_EQ(&layout.weight(first, 1), &test::slice(layout, "a/1/weight"));
  EXPECT_EQ(&layout.bias(second, 0), &test::slice(layout, "c/0/bias"));
  EXPECT_EQ(layout.net(first).layers[0].activation, Activation::tanh);
  EXPECT_EQ(layout.net(first).layers[1].activation, Activation::linear);
  EXPECT_EQ(layout.net(first).inputs(), 3);
  EXPECT_EQ(layout.net(second).outputs(), 1);
}

TEST(ParamLayout, LayerNormFollowsEachHiddenLayer) {
  ParamLayout layout;
  layout.add_net({"other", {2, 1}});
  const NetId net = layout.add_net({"a", {3, 8, 4, 2}, Activation::silu, true});
  const std::vector<std::string> names = {"other/0/weight",  "other/0/bias",  "a/0/weight", "a/0/bias",
                                          "a/0/norm/weight", "a/0/norm/bias", "a/1/weight", "a/1/bias",
                                          "a/1/norm/weight", "a/1/norm/bias", "a/2/weight", "a/2/bias"};
  ASSERT_EQ(layout.slices().size(), names.size());
  for (size_t k = 0; k < names.size(); ++k) EXPECT_EQ(layout.slices()[k].name, names[k]);
  for (int layer : {0, 1, 2}) {
    const std::string path = "a/" + std::to_string(layer);
    EXPECT_EQ(layout.weight(net, layer).name, path + "/weight");
    EXPECT_EQ(layout.bias(net, layer).name, path + "/bias");
    if (layer == 2) continue;
    EXPECT_EQ(layout.norm_weight(net, layer).name, path + "/norm/weight");
    EXPECT_EQ(layout.norm_bias(net, layer).shape, layout.bias(net, layer).shape);
  }
  EXPECT_EQ(layout.count(), 3 + 3 * 8 + 8 * 3 + 8 * 4 + 4 * 3 + 4 * 2 + 2);
}

}  // namespace
}  // namespace drl
