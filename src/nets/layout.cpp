#include "nets/layout.hpp"

#include <utility>

namespace drl {

int64_t ParamSlice::count() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

NetId ParamLayout::add_net(NetSpec spec) {
  nets_.push_back({std::move(spec), slices_.size()});
  const NetSpec& net = nets_.back().spec;
  for (int layer = 0; layer < net.layers(); ++layer) {
    const std::string path = net.single ? net.name : net.name + "/" + std::to_string(layer);
    add(path + "/weight", {net.dims[static_cast<size_t>(layer) + 1], net.dims[static_cast<size_t>(layer)]});
    add(path + "/bias", {net.dims[static_cast<size_t>(layer) + 1]});
    if (!net.layer_norm || layer + 1 == net.layers()) continue;
    add(path + "/norm/weight", {net.dims[static_cast<size_t>(layer) + 1]});
    add(path + "/norm/bias", {net.dims[static_cast<size_t>(layer) + 1]});
  }
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

void ParamLayout::add(std::string name, std::vector<int64_t> shape) {
  slices_.push_back({std::move(name), std::move(shape), size_});
  size_ += (slices_.back().count() + kAligned - 1) / kAligned * kAligned;
}

}  // namespace drl
