#include "nets/layout.hpp"

#include <utility>

#include "base/check.hpp"

namespace drl {

NetSpec::NetSpec(std::string name_, const std::vector<int>& widths, Activation activation, bool norm)
    : name(std::move(name_)) {
  for (size_t k = 1; k < widths.size(); ++k) layers.push_back({widths[k - 1], widths[k], activation, norm});
  layers.back().activation = Activation::linear, layers.back().norm = false;
}

NetSpec residual_net(std::string name, int inputs, int width, int blocks, int outputs, int expansion) {
  std::vector<int> widths = {inputs, width};
  for (int b = 0; b < blocks; ++b) widths.insert(widths.end(), {expansion * width, width});
  widths.push_back(outputs);
  NetSpec net(std::move(name), widths, Activation::linear);
  for (int k = 0; k + 1 < net.num_layers(); ++k) {
    LayerSpec& layer = net.layers[static_cast<size_t>(k)];
    const bool inside = k % 2 == 1;
    layer.norm = !inside, layer.residual = !inside && k > 0;
    if (inside) layer.activation = Activation::relu;
  }
  return net;
}

std::vector<int> NetSpec::widths() const {
  std::vector<int> all = {inputs()};
  for (const LayerSpec& layer : layers) all.push_back(layer.outputs);
  return all;
}

std::vector<int> widths_of(int inputs, const std::vector<int>& hidden, int outputs) {
  std::vector<int> widths = {inputs};
  widths.insert(widths.end(), hidden.begin(), hidden.end());
  widths.push_back(outputs);
  return widths;
}

int64_t ParamSlice::count() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

NetId ParamLayout::add_net(NetSpec spec) {
  const LayerSpec& last = spec.layers.back();
  DRL_CHECK(last.activation == Activation::linear && !last.norm, "the last layer of a network must be linear");
  for (int number = 0; LayerSpec & layer : spec.layers) {
    const std::string path = spec.single ? spec.name : spec.name + "/" + std::to_string(number++);
    layer.first_slice = slices_.size();
    add(path + "/weight", {layer.outputs, layer.inputs});
    add(path + "/bias", {layer.outputs});
    if (layer.norm) add(path + "/norm/weight", {layer.outputs}, 1.0f), add(path + "/norm/bias", {layer.outputs}, 0.0f);
    layer.num_slices = slices_.size() - layer.first_slice;
  }
  nets_.push_back(std::move(spec));
  return nets() - 1;
}

int ParamLayout::add_free(std::string name, std::vector<int64_t> shape) {
  add(std::move(name), std::move(shape));
  return static_cast<int>(slices_.size()) - 1;
}

int64_t ParamLayout::count() const {
  int64_t n = 0;
  for (const ParamSlice& slice : slices_) n += slice.count();
  return n;
}

void ParamLayout::add(std::string name, std::vector<int64_t> shape, std::optional<float> initial) {
  slices_.push_back({std::move(name), std::move(shape), size_, initial});
  size_ += (slices_.back().count() + kAligned - 1) / kAligned * kAligned;
}

}  // namespace drl
