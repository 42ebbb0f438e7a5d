// The layout of the parameters in one flat buffer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drl {

enum class Activation { elu, tanh, relu, silu, gelu };                                       // of the hidden layers
inline constexpr std::string_view kActivations[] = {"elu", "tanh", "relu", "silu", "gelu"};  // their names

// A network of fully connected layers.
struct NetSpec {
  std::string name;       // "policy/actor"
  std::vector<int> dims;  // inputs, hidden..., outputs
  Activation activation = Activation::elu;
  bool layer_norm = false;  // in the hidden layers, before the activation
  bool single = false;      // one layer, whose parameters are "NAME/weight" and "NAME/bias", without the layer's number

  int layers() const { return static_cast<int>(dims.size()) - 1; }
  int inputs() const { return dims.front(); }
  int outputs() const { return dims.back(); }
};

// A parameter array in the buffer.
struct ParamSlice {
  std::string name;            // "policy/actor/0/weight"
  std::vector<int64_t> shape;  // weights are [outputs, inputs], row-major
  int64_t offset = 0;          // in floats, a multiple of kAligned; the padding between slices is 0 and stays 0

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

  const NetSpec& net(NetId id) const { return nets_[static_cast<size_t>(id)].spec; }
  int nets() const { return static_cast<int>(nets_.size()); }
  const std::vector<ParamSlice>& slices() const { return slices_; }
  const ParamSlice& weight(NetId id, int layer) const { return slices_[first_slice(id, layer)]; }
  const ParamSlice& bias(NetId id, int layer) const { return slices_[first_slice(id, layer) + 1]; }
  // Scale and shift of layer norm, for the hidden layers of a network that has it.
  const ParamSlice& norm_weight(NetId id, int layer) const { return slices_[first_slice(id, layer) + 2]; }
  const ParamSlice& norm_bias(NetId id, int layer) const { return slices_[first_slice(id, layer) + 3]; }
  size_t first_slice(NetId id, int layer = 0) const {
    const Net& net = nets_[static_cast<size_t>(id)];
    return net.first_slice + (net.spec.layer_norm ? 4 : 2) * static_cast<size_t>(layer);
  }
  int64_t size() const { return size_; }  // floats in the buffer
  int64_t count() const;                  // number of parameters, without padding

 private:
  struct Net {
    NetSpec spec;
    size_t first_slice;
  };
  void add(std::string name, std::vector<int64_t> shape);

  std::vector<Net> nets_;
  std::vector<ParamSlice> slices_;
  int64_t size_ = 0;
};

}  // namespace drl
