#include "nets/torch/torch_nets.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/log.hpp"
#include "nets/layerwise_nets.hpp"
#include "nets/torch/torch_library.hpp"

namespace drl {
namespace {

constexpr int64_t kTile = 1024;

class TorchProducts {
 public:
  static constexpr bool kAddsBias = true;

  TorchProducts(Queue& queue, const ParamLayout& layout, const TorchLibrary& torch)
      : queue_(queue), torch_(torch), ones_(queue, kTile) {
    int widest = 0;
    for (NetId net = 0; net < layout.nets(); ++net)
      for (const LayerSpec& layer : layout.net(net).layers)
        if (layer.norm) widest = std::max(widest, layer.outputs);
    std::ranges::fill(ones_, 1.0f);
    product_ = Array<float>(queue, static_cast<size_t>(kTile * widest));
  }

  void gather(const Rows& rows, int inputs, float* x) {
    for_each(queue_, rows.count, GatherRows{rows, inputs, inputs, x});
  }
  void multiply(int64_t rows, const LayerParams& l, const float* x, float* y) {
    torch_.multiply_add_row(matrix(y, rows, l.out), l.bias, matrix(x, rows, l.in), transposed(weight_of(l)));
  }
  template <class A>
  void activate(int64_t rows, const LayerParams& l, float* y, const float* sums) {
    for_each(queue_, rows * l.out, Activate<A>{sums ? sums : y, y});
  }
  void multiply_back(int64_t rows, const LayerParams& l, const float* dy, float* dx) {
    torch_.multiply(matrix(dx, rows, l.in), matrix(dy, rows, l.out), weight_of(l));
  }
  void add_weights(int64_t rows, const LayerParams& l, const float* dy, const float* x, float* dw) {
    torch_.add_product(matrix(dw, l.out, l.in), transposed(matrix(dy, rows, l.out)), matrix(x, rows, l.in));
  }
  void add_columns(int64_t rows, int64_t width, const float* x, float* sum) {
    torch_.add_vector_product(sum, transposed(matrix(x, rows, width)), ones_.data());
  }
  void add_columns(int64_t rows, int64_t width, const float* x, const float* y, float* sum) {
    std::transform(x, x + rows * width, y, product_.data(), std::multiplies<>());
    add_columns(rows, width, product_.data(), sum);
  }
  template <class A>
  void activate_backward(int64_t rows, int64_t width, const float* from, float* d, float* d_bias) {
    for_each(queue_, rows * width, ActivateBackward<A>{from, d});
    add_columns(rows, width, d, d_bias);
  }

  std::string description() const {
    return std::string("libtorch ") + torch_.facts().version + " (" + torch_.facts().blas + ")";
  }

 private:
  static TorchMatrix weight_of(const LayerParams& l) { return matrix(l.weight, l.out, l.in); }

  Queue& queue_;
  const TorchLibrary& torch_;
  Array<float> ones_, product_;
};

void warn_of_slow_blas(const TorchLibrary& torch) {
  static bool warned = false;
  if (torch.facts().reference_blas && !std::exchange(warned, true))
    log::warn(
        "matrix products use the reference BLAS, which is 4 to 5 times slower than an optimised one: install OpenBLAS "
        "(Debian: libopenblas0-pthread)");
}

}  // namespace

std::unique_ptr<Nets> make_torch_nets(Queue& queue, ParamLayout layout, int threads) {
  const TorchLibrary& torch = torch_library(threads);
  warn_of_slow_blas(torch);
  return std::make_unique<LayerwiseNets<TorchProducts>>(queue, std::move(layout), kTile, torch);
}

}  // namespace drl
