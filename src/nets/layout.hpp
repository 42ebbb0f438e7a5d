// Networks as lists of layers, and the layout of their parameters in one flat buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drl {

// The list of activations: expands use(name, struct) for each (the structs are in nets/activation.hpp).
#define DRL_ACTIVATIONS(use) \
  use(elu, Elu) use(tanh, Tanh) use(relu, Relu) use(silu, Silu) use(gelu, Gelu) use(linear, Linear)
#define DRL_ENUMERATOR(name, type) name,
enum class Activation { DRL_ACTIVATIONS(DRL_ENUMERATOR) };
#undef DRL_ENUMERATOR
#define DRL_TEXT(name, type) #name,
inline constexpr std::string_view kActivations[] = {DRL_ACTIVATIONS(DRL_TEXT)};
#undef DRL_TEXT

// A fully connected layer: f(norm(s)), where f is the activation, and s = weight x + bias are its sums.
struct LayerSpec {
  int inputs, outputs;
  Activation activation = Activation::linear;
  bool norm = false;                       // layer norm; otherwise, norm is the identity
  bool residual = false;                   // the sums of the layer two before it, which has a norm, too, are added to s
  size_t first_slice = 0, num_slices = 0;  // of its parameters, in the slices() of a ParamLayout, which sets them
};

// A network. Its last layer is linear and has no norm.
struct NetSpec {
  // `widths`: inputs, hidden layers..., outputs. `activation` and `norm` are those of the hidden layers.
  NetSpec(std::string name, const std::vector<int>& widths, Activation activation = Activation::elu, bool norm = false);

  std::string name;  // "policy/actor"
  std::vector<LayerSpec> layers;
  bool single = false;  // one layer, whose parameters are "NAME/weight" and "NAME/bias", without the layer's number

  int num_layers() const { return static_cast<int>(layers.size()); }
  int inputs() const { return layers.front().inputs; }
  int outputs() const { return layers.back().outputs; }
  // Returns whether the sums of layer k are added to those of a later one.
  bool feeds_residual(int k) const {
    return k >= 0 && k + 2 < num_layers() && layers[static_cast<size_t>(k) + 2].residual;
  }
  // Returns the widths of its input and of each layer's output.
  std::vector<int> widths() const;
};
// Returns a network of residual blocks, each x + W' relu(W norm(x)) with `expansion` times `width` units inside,
// between a linear layer and a norm (Lee et al., "SimBa: Simplicity Bias for Scaling Up Parameters in Deep
// Reinforcement Learning", arXiv:2410.09754).
NetSpec residual_net(std::string name, int inputs, int width, int blocks, int outputs, int expansion = 4);
// Returns the widths of a network: {inputs, hidden..., outputs}.
std::vector<int> widths_of(int inputs, const std::vector<int>& hidden, int outputs);

// A parameter array in the buffer.
struct ParamSlice {
  std::string name;                // "policy/actor/0/weight"
  std::vector<int64_t> shape;      // weights are [outputs, inputs], row-major
  int64_t offset = 0;              // in floats, a multiple of kAligned; the padding between slices is 0 and stays 0
  std::optional<float> initial{};  // the value with which all its numbers start; none: they start at random

  int64_t count() const;
};

using NetId = int;

// The layout of networks and of parameters that belong to no network, in the order in which they were added.
class ParamLayout {
 public:
  static constexpr int64_t kAligned = 4;  // floats: 16 bytes

  NetId add_net(NetSpec spec);
  // Adds a parameter that belongs to no network. Returns its index in slices().
  int add_free(std::string name, std::vector<int64_t> shape);

  const NetSpec& net(NetId id) const { return nets_[static_cast<size_t>(id)]; }
  int nets() const { return static_cast<int>(nets_.size()); }
  const std::vector<ParamSlice>& slices() const { return slices_; }
  const ParamSlice& weight(NetId id, int layer) const { return slices_[first_slice(id, layer)]; }
  const ParamSlice& bias(NetId id, int layer) const { return slices_[first_slice(id, layer) + 1]; }
  // Scale and shift of layer norm, for layers that have it.
  const ParamSlice& norm_weight(NetId id, int layer) const { return slices_[first_slice(id, layer) + 2]; }
  const ParamSlice& norm_bias(NetId id, int layer) const { return slices_[first_slice(id, layer) + 3]; }
  size_t first_slice(NetId id, int layer = 0) const { return net(id).layers[static_cast<size_t>(layer)].first_slice; }
  // Returns all parameters of a layer.
  std::span<const ParamSlice> slices_of(NetId id, int layer) const {
    return std::span(slices_).subspan(first_slice(id, layer), net(id).layers[static_cast<size_t>(layer)].num_slices);
  }
  int64_t size() const { return size_; }  // floats in the buffer
  int64_t count() const;                  // number of parameters, without padding

 private:
  void add(std::string name, std::vector<int64_t> shape, std::optional<float> initial = {});

  std::vector<NetSpec> nets_;
  std::vector<ParamSlice> slices_;
  int64_t size_ = 0;
};

}  // namespace drl
