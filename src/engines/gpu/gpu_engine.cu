// Compiled by nvcc, and for tests by the host's compiler.
#include <algorithm>

#include "engines/activation.hpp"
#include "engines/gpu/gpu_engine.hpp"
#include "gpu/for_each.hpp"
#include "gpu/reduce.hpp"
#include "learn/gpu_loss.hpp"

namespace drl {
namespace {

constexpr int64_t kTile = int64_t{1} << 18;      // samples at a time: buffers stay small, products large
constexpr size_t kWorkspace = size_t{32} << 20;  // bytes for cuBLAS: its own to give, it takes other ones in graphs

// Kernels divide in 32 bits, which is several times as fast: a tile has fewer numbers than 2^32 in every layer.

// Row `index[i]` (or i) of the observations, normalised.
struct GatherInput {
  const float* obs;      // [rows, dim]
  const int32_t* index;  // [n] or null
  NormalizerView normalizer;
  uint32_t dim;
  float* out;  // [n, dim]
  DRL_HD void operator()(int64_t i) const {
    const uint32_t row = static_cast<uint32_t>(i) / dim, k = static_cast<uint32_t>(i) % dim;
    const float x = obs[(index ? index[row] : static_cast<int64_t>(row)) * dim + k];
    out[i] = normalizer.mean ? (x - normalizer.mean[k]) * normalizer.inv_std[k] : x;
  }
};

// Neighbours that a thread loads and stores at once.
template <int N>
struct alignas(N * sizeof(float)) Pack {
  float x[N];
};

// N divides the width.
template <class F, int N>
struct AddBiasAndActivate {
  Pack<N>* y;  // [n, width]
  const float* bias;
  uint32_t width;
  DRL_HD void operator()(int64_t i) const {
    const uint32_t first = static_cast<uint32_t>(i) * N % width;
    Pack<N> pack = y[i];
    for (int k = 0; k < N; ++k) pack.x[k] = F::value(pack.x[k] + bias[first + k]);
    y[i] = pack;
  }
};

template <class F, int N>
void add_bias_and_activate(const gpu::Stream& stream, int64_t numbers, float* y, const float* bias, int64_t width) {
  gpu::for_each(stream, numbers / N,
                AddBiasAndActivate<F, N>{reinterpret_cast<Pack<N>*>(y), bias, static_cast<uint32_t>(width)});
}

struct AddBias {
  float* y;  // [n, width]
  const float* bias;
  uint32_t width;
  DRL_HD void operator()(int64_t i) const { y[i] += bias[static_cast<uint32_t>(i) % width]; }
};

struct LoadMatrix {
  const float* x;
  int64_t width;
  DRL_HD double operator()(int64_t row, int column) const { return static_cast<double>(x[row * width + column]); }
};

// The gradient before an activation, from the one behind it: written where that was, on its way to the bias' gradient.
template <class F>
struct LoadActivationBackward {
  const float* y;
  float* d;
  int64_t width;
  DRL_HD double operator()(int64_t row, int column) const {
    const int64_t i = row * width + column;
    return static_cast<double>(d[i] = F::backward(d[i], y[i]));
  }
};

// Adds the slices of a product's sum to it.
struct AddSlices {
  const float* slices;  // [count, size]
  int64_t count, size;
  float* out;  // [size]
  DRL_HD void operator()(int64_t i) const {
    constexpr int kAtOnce = 16;
    double sum = 0;
    for (int64_t first = 0; first < count; first += kAtOnce) {
      float x[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) x[k] = first + k < count ? slices[(first + k) * size + i] : 0.0f;
      for (int k = 0; k < kAtOnce; ++k) sum += static_cast<double>(x[k]);
    }
    out[i] += static_cast<float>(sum);
  }
};

struct AddTo {
  float* out;
  DRL_HD void operator()(int column, double sum) const { out[column] += static_cast<float>(sum); }
};

class Blas {
 public:
  explicit Blas(const gpu::Stream& stream) : workspace_(kWorkspace, stream), slices_(kSliceRoom, stream) {
    DRL_GPU(gpublasCreate(&handle_));
    DRL_GPU(gpublasSetStream(handle_, stream.get()));
    // Of one's own and fixed: the same sums each time, and nothing is allocated while a graph is captured.
    DRL_GPU(gpublasSetWorkspace(handle_, workspace_.data(), workspace_.size()));
    DRL_GPU(gpublasSetMathMode(handle_, GPUBLAS_DEFAULT_MATH));
  }
  ~Blas() { (void)gpublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // All matrices are row-major; cuBLAS sees their transposes.
  // y [n, out] = x [n, in] w^T, w [out, in]
  void forward(int64_t n, int64_t in, int64_t out, const float* x, const float* w, float* y) {
    product(GPUBLAS_OP_T, GPUBLAS_OP_N, out, n, in, w, in, x, in, 0, y, out);
  }
  // dx [n, in] = dy [n, out] w
  void backward(int64_t n, int64_t in, int64_t out, const float* dy, const float* w, float* dx) {
    product(GPUBLAS_OP_N, GPUBLAS_OP_N, in, n, out, w, in, dy, out, 0, dx, in);
  }
  // dw [out, in] += dy^T x. A sum over very many rows for few numbers: slices of it keep the whole device busy, and
  // their order is ours.
  void weights(int64_t n, int64_t in, int64_t out, const float* dy, const float* x, float* dw,
               const gpu::Stream& stream) {
    const int64_t size = in * out, slices = std::min(n / kSliceRows, static_cast<int64_t>(kSliceRoom) / size),
                  rows = slices > 1 ? n / slices : 0, done = rows * slices;
    if (slices > 1) {
      const float one = 1, zero = 0;
      DRL_GPU(gpublasSgemmStridedBatched(handle_, GPUBLAS_OP_N, GPUBLAS_OP_T, static_cast<int>(in),
                                         static_cast<int>(out), static_cast<int>(rows), &one, x, static_cast<int>(in),
                                         rows * in, dy, static_cast<int>(out), rows * out, &zero, slices_.data(),
                                         static_cast<int>(in), size, static_cast<int>(slices)));
      gpu::for_each(stream, size, AddSlices{slices_.data(), slices, size, dw});
    }
    if (done < n)
      product(GPUBLAS_OP_N, GPUBLAS_OP_T, in, out, n - done, x + done * in, in, dy + done * out, out, 1, dw, in);
  }

 private:
  void product(gpublasOperation_t op_a, gpublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const float* a,
               int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
    const float alpha = 1;
    DRL_GPU(gpublasSgemm(handle_, op_a, op_b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), &alpha, a,
                         static_cast<int>(lda), b, static_cast<int>(ldb), &beta, c, static_cast<int>(ldc)));
  }

  static constexpr int64_t kSliceRows = 2048;            // or more
  static constexpr size_t kSliceRoom = size_t{1} << 22;  // numbers

  gpu::Array<char> workspace_;
  gpu::Array<float> slices_;
  gpublasHandle_t handle_{};
};

// One network and its buffers for a tile.
class Mlp {
 public:
  // `first` is the index of its first slice in the layout.
  Mlp(const MlpSpec& spec, Activation activation, const std::vector<ParamSlice>& layout, size_t first,
      const gpu::Stream& stream)
      : spec_(spec),
        activation_(activation),
        slices_(layout.begin() + first, layout.begin() + first + 2 * spec.layers()) {
    for (int width : spec.dims) widest_ = std::max<int64_t>(widest_, width);
    scratch_ = gpu::Array<double>(gpu::reduction_size(widest_), stream);
  }

  // Room for so many rows; what was in the buffers is lost.
  void reserve(int64_t rows, const gpu::Stream& stream) {
    outputs_.clear(), gradients_.clear();
    for (int width : spec_.dims) {
      outputs_.emplace_back(static_cast<size_t>(rows * width), stream);
      gradients_.emplace_back(static_cast<size_t>(rows * width), stream);
    }
  }

  float* input() { return outputs_.front().data(); }              // [rows, inputs]
  const float* output() const { return outputs_.back().data(); }  // [rows, outputs]
  float* output_gradient() { return gradients_.back().data(); }   // [rows, outputs]

  // The last layer's outputs go to `out` [rows, outputs].
  void forward(Blas& blas, const float* params, int64_t rows, float* out, const gpu::Stream& stream) {
    for (int layer = 0; layer < spec_.layers(); ++layer) {
      const bool last = layer + 1 == spec_.layers();
      const int64_t in = spec_.dims[layer], width = spec_.dims[layer + 1];
      float* y = last ? out : outputs_[layer + 1].data();
      const float* bias = params + slices_[2 * layer + 1].offset;
      blas.forward(rows, in, width, outputs_[layer].data(), params + slices_[2 * layer].offset, y);
      if (last) {
        gpu::for_each(stream, rows * width, AddBias{y, bias, static_cast<uint32_t>(width)});
      } else {
        with_activation(activation_, [&]<class F>(F) {
          const auto add = width % 4 == 0 ? add_bias_and_activate<F, 4> : add_bias_and_activate<F, 1>;
          add(stream, rows * width, y, bias, width);
        });
      }
    }
  }
  void forward(Blas& blas, const float* params, int64_t rows, const gpu::Stream& stream) {
    forward(blas, params, rows, outputs_.back().data(), stream);
  }

  // Adds the weights' gradients, given output_gradient() for the rows of the last forward.
  void backward(Blas& blas, const float* params, float* grad, int64_t rows, const gpu::Stream& stream) {
    const auto add_bias_gradient = [&](int layer, const auto& load) {
      gpu::sum_columns(stream, rows, spec_.dims[layer + 1], scratch_.data(), load,
                       AddTo{grad + slices_[2 * layer + 1].offset});
    };
    const int last = spec_.layers() - 1;
    add_bias_gradient(last, LoadMatrix{gradients_[last + 1].data(), spec_.outputs()});
    for (int layer = last; layer >= 0; --layer) {
      const int64_t in = spec_.dims[layer], width = spec_.dims[layer + 1];
      const float *x = outputs_[layer].data(), *dy = gradients_[layer + 1].data();
      blas.weights(rows, in, width, dy, x, grad + slices_[2 * layer].offset, stream);
      if (layer == 0) return;
      float* dx = gradients_[layer].data();
      blas.backward(rows, in, width, dy, params + slices_[2 * layer].offset, dx);
      with_activation(activation_, [&]<class F>(F) {
        add_bias_gradient(layer - 1, LoadActivationBackward<F>{x, dx, in});
      });
    }
  }

 private:
  MlpSpec spec_;
  Activation activation_;
  std::vector<ParamSlice> slices_;            // weight, bias of each layer
  std::vector<gpu::Array<float>> outputs_;    // [rows, width]: the input, then each layer's
  std::vector<gpu::Array<float>> gradients_;  // of the loss with respect to them
  int64_t widest_ = 0;
  gpu::Array<double> scratch_;
};

class LayerwiseEngine final : public GpuEngine {
 public:
  LayerwiseEngine(const NetworkSpec& spec, const gpu::Stream& stream)
      : spec_(spec),
        layout_(network_layout(spec)),
        blas_(stream),
        actor_(spec.actor, spec.activation, layout_, 0, stream),
        critic_(spec.critic, spec.activation, layout_, layout_.size() - 2 * spec.critic.layers(), stream),
        std_offset_(std_offset(layout_)),
        parameters_(parameter_count(layout_)),
        loss_scratch_(gpu::reduction_size(kLossColumns + (spec.discrete ? 0 : spec.actor.outputs())), stream) {}

  const std::vector<ParamSlice>& layout() const override { return layout_; }

  void reserve(int64_t rows, const gpu::Stream& stream) override {
    int widest = 1;
    for (const MlpSpec* spec : {&spec_.actor, &spec_.critic})
      widest = std::max(widest, *std::max_element(spec->dims.begin(), spec->dims.end()));
    tile_ = std::min({rows, kTile, (int64_t{1} << 32) / widest - 1});
    actor_.reserve(tile_, stream);
    critic_.reserve(tile_, stream);
  }

  void policy(const float* params, const Normalizers& normalizers, const float* obs, int64_t rows, float* out,
              const gpu::Stream& stream) override {
    run(actor_, spec_.actor, params, normalizers.obs, obs, rows, out, stream);
  }

  void values(const float* params, const Normalizers& normalizers, const float* obs, int64_t rows, float* out,
              const gpu::Stream& stream) override {
    run(critic_, spec_.critic, params, critic_normalizer(normalizers), obs, rows, out, stream);
  }

  void gradient(const float* params, const Normalizers& normalizers, const RolloutView& rollout, const int32_t* rows,
                int64_t count, const LossSettings* settings, float* grad_and_tail, const gpu::Stream& stream) override {
    DRL_GPU(gpuMemsetAsync(grad_and_tail, 0, static_cast<size_t>(parameters_) * sizeof(float), stream.get()));
    DRL_GPU(gpuMemsetAsync(loss_scratch_.data(), 0, loss_scratch_.size() * sizeof(double), stream.get()));
    for (int64_t first = 0; first < count; first += tile_)
      tile_gradient(params, normalizers, rollout, rows + first, std::min(tile_, count - first), settings, grad_and_tail,
                    stream);
    gpu::sum_partials(stream, loss_columns(rollout), loss_scratch_.data(),
                      StoreLoss{static_cast<float>(count), grad_and_tail + parameters_,
                                grad_and_tail + std::max<int64_t>(std_offset_, 0)});
  }

  std::string description() const override { return "cuBLAS"; }

 private:
  // A critic without observations of its own sees, and is normalised as, the actor.
  static const NormalizerView& critic_normalizer(const Normalizers& n) {
    return n.critic_obs.mean ? n.critic_obs : n.obs;
  }

  void run(Mlp& network, const MlpSpec& spec, const float* params, const NormalizerView& normalizer, const float* obs,
           int64_t rows, float* out, const gpu::Stream& stream) {
    for (int64_t first = 0; first < rows; first += tile_) {
      const int64_t n = std::min(tile_, rows - first);
      gpu::for_each(stream, n * spec.inputs(),
                    GatherInput{obs + first * spec.inputs(), nullptr, normalizer, static_cast<uint32_t>(spec.inputs()),
                                network.input()});
      network.forward(blas_, params, n, out + first * spec.outputs(), stream);
    }
  }

  void tile_gradient(const float* params, const Normalizers& normalizers, const RolloutView& rollout,
                     const int32_t* rows, int64_t n, const LossSettings* settings, float* grad,
                     const gpu::Stream& stream) {
    const auto dim = static_cast<uint32_t>(rollout.obs_dim),
               critic_dim = static_cast<uint32_t>(rollout.critic_input_dim());
    const int64_t columns = loss_columns(rollout);
    gpu::for_each(stream, n * dim, GatherInput{rollout.obs, rows, normalizers.obs, dim, actor_.input()});
    gpu::for_each(
        stream, n * critic_dim,
        GatherInput{rollout.critic_input(), rows, critic_normalizer(normalizers), critic_dim, critic_.input()});
    actor_.forward(blas_, params, n, stream);
    critic_.forward(blas_, params, n, stream);
    const PolicyOutputs outputs{actor_.output(), critic_.output(), params + std::max<int64_t>(std_offset_, 0),
                                spec_.log_std};
    const int64_t partials = gpu::partial_count(columns);
    gpu::for_each(stream, partials,
                  GpuLoss{rollout, rows, n, settings, outputs, actor_.output_gradient(), critic_.output_gradient(),
                          partials, columns, loss_scratch_.data()});
    actor_.backward(blas_, params, grad, n, stream);
    critic_.backward(blas_, params, grad, n, stream);
  }

  NetworkSpec spec_;
  std::vector<ParamSlice> layout_;
  Blas blas_;
  Mlp actor_, critic_;
  int64_t std_offset_, parameters_, tile_ = 0;
  gpu::Array<double> loss_scratch_;
};

}  // namespace

std::unique_ptr<GpuEngine> make_gpu_engine(const NetworkSpec& spec, const gpu::Stream& stream) {
  return std::make_unique<LayerwiseEngine>(spec, stream);
}

}  // namespace drl
