// Where each weight lies in the one flat buffer of parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drl {

enum class Activation { elu, tanh, relu, silu, gelu };  // of the hidden layers

// A network of full layers.
struct NetSpec {
  std::string name;       // "policy/actor"
  std::vector<int> dims;  // inputs, hidden..., outputs
  Activation activation = Activation::elu;
  bool layer_norm = false;  // of the hidden layers' sums, before the activation

  int layers() const { return static_cast<int>(dims.size()) - 1; }
  int inputs() const { return dims.front(); }
  int outputs() const { return dims.back(); }
};

struct ParamSlice {
  std::string name;            // "policy/actor/0/weight"
  std::vector<int64_t> shape;  // weights are [outputs, inputs], row-major
  int64_t offset = 0;          // in floats, a multiple of kAligned: numbers between slices are 0 and stay 0

  int64_t count() const;
};

using NetId = int;

// Any number of networks, and parameters that belong to none, in the order in which they were added.
class ParamLayout {
 public:
  static constexpr int64_t kAligned = 4;  // floats: 16 bytes

  NetId add_net(NetSpec spec);
  int add_free(std::string name, std::vector<int64_t> shape);  // the number of its slice

  const NetSpec& net(NetId id) const { return nets_[static_cast<size_t>(id)].spec; }
  int nets() const { return static_cast<int>(nets_.size()); }
  const std::vector<ParamSlice>& slices() const { return slices_; }
  const ParamSlice& weight(NetId id, int layer) const { return slices_[first_slice(id, layer)]; }
  const ParamSlice& bias(NetId id, int layer) const { return slices_[first_slice(id, layer) + 1]; }
  // Of a hidden layer of a network with layer norm: what its units are multiplied by, and what is added.
  const ParamSlice& norm_weight(NetId id, int layer) const { return slices_[first_slice(id, layer) + 2]; }
  const ParamSlice& norm_bias(NetId id, int layer) const { return slices_[first_slice(id, layer) + 3]; }
  size_t first_slice(NetId id, int layer = 0) const {
    const Net& net = nets_[static_cast<size_t>(id)];
    return net.first_slice + (net.spec.layer_norm ? 4 : 2) * static_cast<size_t>(layer);
  }
  int64_t size() const { return size_; }  // floats of the buffer
  int64_t count() const;                  // parameters

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
