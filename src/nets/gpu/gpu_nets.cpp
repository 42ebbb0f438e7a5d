#include "nets/gpu/gpu_nets.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "device/launch_watch.hpp"
#include "gpu/device.hpp"
#include "gpu/vendor.hpp"
#include "nets/gpu/gpu_kernels.hpp"
#include "nets/net_kernels.hpp"

namespace drl {
namespace {

constexpr int64_t kTile =
    int64_t{1} << 18;  // rows per tile: small enough for the buffers, large enough for efficient products
constexpr size_t kWorkspace = size_t{32} << 20;  // bytes for cuBLAS or rocBLAS

class Blas {
 public:
  Blas(Queue& queue, bool tf32) : queue_(queue), workspace_(queue, kWorkspace), slices_(queue, kSliceRoom) {
    if (const gpublasStatus_t status = gpublasCreate(&handle_); status != GPUBLAS_STATUS_SUCCESS)
      throw Error(std::string(kGpuVendor.blas) + " cannot start (" + gpublasGetStatusString(status) +
                  "; it needs some memory of the GPU): use a GPU that no other program uses, or fewer environments "
                  "(--num_envs)");
    DRL_GPU(gpublasSetStream(handle_, static_cast<gpuStream_t>(queue.native())));
    // A private workspace of fixed size makes cuBLAS deterministic and avoids allocation during graph capture.
    DRL_GPU(gpublasSetWorkspace(handle_, workspace_.data(), workspace_.size()));
    DRL_GPU(gpublasSetMathMode(handle_, tf32 ? GPUBLAS_TF32_MATH : GPUBLAS_DEFAULT_MATH));
  }
  ~Blas() { (void)gpublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // All matrices are row-major; cuBLAS sees their transposes.
  // y [n, out] = x [n, in] w^T, w [out, in]
  void forward(int64_t n, int64_t in, int64_t out, const float* x, const float* w, float* y) {
    product("forward", GPUBLAS_OP_T, GPUBLAS_OP_N, out, n, in, w, in, x, in, 0, y, out);
  }
  // dx [n, in] = dy [n, out] w
  void backward(int64_t n, int64_t in, int64_t out, const float* dy, const float* w, float* dx) {
    product("backward", GPUBLAS_OP_N, GPUBLAS_OP_N, in, n, out, w, in, dy, out, 0, dx, in);
  }
  // dw [out, in] += dy^T x. There are few elements, each of which is a sum over very many rows. Slices of the rows are
  // summed in parallel to keep the whole GPU busy, and are then added in a fixed order.
  void weights(int64_t n, int64_t in, int64_t out, const float* dy, const float* x, float* dw) {
    const int64_t size = in * out, slices = std::min(n / kSliceRows, static_cast<int64_t>(kSliceRoom) / size),
                  rows = slices > 1 ? n / slices : 0, done = rows * slices;
    if (slices > 1) {
      const float one = 1, zero = 0;
      announce(GpuProduct{"weights", in, out, rows, slices, false}, 1, [&] {
        DRL_GPU(gpublasSgemmStridedBatched(handle_, GPUBLAS_OP_N, GPUBLAS_OP_T, static_cast<int>(in),
                                           static_cast<int>(out), static_cast<int>(rows), &one, x, static_cast<int>(in),
                                           rows * in, dy, static_cast<int>(out), rows * out, &zero, slices_.data(),
                                           static_cast<int>(in), size, static_cast<int>(slices)));
      });
      for_each(queue_, size, AddSlices{slices_.data(), slices, size, dw});
    }
    if (done < n)
      product("weights", GPUBLAS_OP_N, GPUBLAS_OP_T, in, out, n - done, x + done * in, in, dy + done * out, out, 1, dw,
              in);
  }

 private:
  void product(const char* kind, gpublasOperation_t op_a, gpublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
               const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
    const float alpha = 1;
    announce(GpuProduct{kind, m, n, k, 1, beta != 0}, 1, [&] {
      DRL_GPU(gpublasSgemm(handle_, op_a, op_b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), &alpha,
                           a, static_cast<int>(lda), b, static_cast<int>(ldb), &beta, c, static_cast<int>(ldc)));
    });
  }

  static constexpr int64_t kSliceRows = 2048;            // smallest number of rows in a slice
  static constexpr size_t kSliceRoom = size_t{1} << 22;  // floats for all slices

  Queue& queue_;
  Array<char> workspace_;
  Array<float> slices_;
  gpublasHandle_t handle_{};
};

// A network's buffers for a tile.
struct GpuTape final : Tape {
  GpuTape(Queue& queue, const NetSpec& spec, int64_t tile, bool backward) {
    for (int k = 0; k < spec.layers(); ++k) {
      const auto size = static_cast<size_t>(tile * spec.dims[static_cast<size_t>(k)]);
      inputs.emplace_back(queue, size);
      if (backward) gradients.emplace_back(queue, k > 0 ? size : 0);
      sums.emplace_back(queue, k > 0 && (spec.layer_norm || (backward && !from_output(spec.activation))) ? size : 0);
      inv_std.emplace_back(queue, k > 0 && spec.layer_norm ? static_cast<size_t>(tile) : 0);
    }
  }
  std::vector<Array<float>> inputs;     // of each layer: [tile, width]
  std::vector<Array<float>> gradients;  // of the loss with respect to the inputs
  // The input of the activation before each layer, if its backward pass needs it; with layer norm, z.
  std::vector<Array<float>> sums;
  std::vector<Array<float>> inv_std;  // [tile], with layer norm: 1 / standard deviation
  int64_t rows = 0;                   // of the last forward pass
};

class LayerwiseNets final : public Nets {
 public:
  LayerwiseNets(Queue& queue, ParamLayout params, int64_t rows, bool tf32)
      : Nets(std::move(params)), queue_(queue), blas_(queue, tf32), tf32_(tf32) {
    int widest = 1;
    for (NetId net = 0; net < layout().nets(); ++net)
      for (int width : layout().net(net).dims) widest = std::max(widest, width);
    tile_ = std::min({rows, kTile, (int64_t{1} << 32) / widest - 1});
    scratch_sums_ = Array<double>(queue, sum_scratch(queue, widest));
    for (NetId net = 0; net < layout().nets(); ++net)
      scratch_.push_back(std::make_unique<GpuTape>(queue, layout().net(net), tile_, false));
  }

  int64_t tile() const override { return tile_; }
  std::unique_ptr<Tape> make_tape(NetId net) override {
    return std::make_unique<GpuTape>(queue_, layout().net(net), tile_, true);
  }

  void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    const float* params = weights.params();
    if (tape) return forward_tile(net, params, rows, out, static_cast<GpuTape&>(*tape));
    const NetSpec& spec = layout().net(net);
    for (int64_t first = 0; first < rows.count; first += tile_)
      forward_tile(net, params, rows.part(first, std::min(tile_, rows.count - first), spec.inputs()),
                   out + first * spec.outputs(), *scratch_[static_cast<size_t>(net)]);
  }

  void backward(NetId net, const Weights& weights, Tape& any_tape, const float* d_out, float* grad,
                float* d_in) override {
    const float* params = weights.params();
    const NetSpec& spec = layout().net(net);
    GpuTape& tape = static_cast<GpuTape&>(any_tape);
    const auto add_columns = [&](const ParamSlice& slice, const auto& load) {
      sum_columns(queue_, tape.rows, slice.count(), scratch_sums_.data(), load, AddTo{grad + slice.offset});
    };
    const int last = spec.layers() - 1;
    const float* dy = d_out;
    add_columns(layout().bias(net, last), LoadMatrix{d_out, spec.outputs()});
    for (int layer = last; layer >= 0; --layer) {
      const auto at = static_cast<size_t>(layer);
      const int64_t in = spec.dims[at], width = spec.dims[at + 1];
      blas_.weights(tape.rows, in, width, dy, tape.inputs[at].data(), grad + layout().weight(net, layer).offset);
      float* dx = layer > 0 ? tape.gradients[at].data() : d_in;
      if (!dx) return;
      blas_.backward(tape.rows, in, width, dy, params + layout().weight(net, layer).offset, dx);
      if (layer > 0)
        with_activation(spec.activation, [&]<class A>(A) {
          const ParamSlice& bias = layout().bias(net, layer - 1);
          const float *y = tape.inputs[at].data(), *sums = tape.sums[at].data();
          if (!spec.layer_norm) {
            add_columns(bias, LoadActivationBackward<A>{A::kFromOutput ? y : sums, dx, in});
            return;
          }
          const ScaledUnits units = scaled_units(layout(), params, net, layer - 1, sums);
          for_each(queue_, tape.rows * in, ScaleAndActivateBackward<A>{units, y, dx});
          add_columns(layout().norm_bias(net, layer - 1), LoadMatrix{dx, in});
          add_columns(layout().norm_weight(net, layer - 1), LoadProduct{dx, sums, in});
          for_each(queue_, tape.rows,
                   NormalizeRowsBackward{sums, tape.inv_std[at].data(), units.weight, dx, static_cast<int>(in)});
          add_columns(bias, LoadMatrix{dx, in});
        });
      dy = dx;
    }
  }

  std::string description() const override { return std::string(kGpuVendor.blas) + (tf32_ ? " in TF32" : ""); }

 private:
  void forward_tile(NetId net, const float* params, const Rows& rows, float* out, GpuTape& tape) {
    const NetSpec& spec = layout().net(net);
    DRL_CHECK(rows.count <= tile_, "more rows than a tape holds");
    tape.rows = rows.count;
    for_each(queue_, rows.count * spec.inputs(),
             GatherInputs{rows, static_cast<uint32_t>(spec.inputs()), tape.inputs[0].data()});
    for (int layer = 0; layer < spec.layers(); ++layer) {
      const bool last = layer + 1 == spec.layers();
      if (last && !out) return;
      const auto at = static_cast<size_t>(layer);
      const int64_t in = spec.dims[at], width = spec.dims[at + 1];
      float *y = last ? out : tape.inputs[at + 1].data(), *sums = last ? nullptr : tape.sums[at + 1].data();
      const float* bias = params + layout().bias(net, layer).offset;
      blas_.forward(rows.count, in, width, tape.inputs[at].data(), params + layout().weight(net, layer).offset,
                    spec.layer_norm && !last ? sums : y);
      if (last) {
        for_each(queue_, rows.count * width, AddBias{y, bias, static_cast<uint32_t>(width)});
        return;
      }
      with_activation(spec.activation, [&]<class A>(A) {
        if (spec.layer_norm) {
          for_each(queue_, rows.count, NormalizeRows{sums, tape.inv_std[at + 1].data(), static_cast<int>(width), bias});
          for_each(queue_, rows.count * width,
                   ScaleAndActivate<A>{scaled_units(layout(), params, net, layer, sums), y});
        } else if (width % 4 == 0) {
          add_bias_and_activate<A, 4>(rows.count * width, y, bias, width, sums);
        } else {
          add_bias_and_activate<A, 1>(rows.count * width, y, bias, width, sums);
        }
      });
    }
  }
  template <class A, int N>
  void add_bias_and_activate(int64_t numbers, float* y, const float* bias, int64_t width, float* sums) {
    for_each(queue_, numbers / N,
             AddBiasAndActivate<A, N>{reinterpret_cast<FloatGroup<N>*>(y), bias, static_cast<uint32_t>(width),
                                      reinterpret_cast<FloatGroup<N>*>(sums)});
  }

  Queue& queue_;
  Blas blas_;
  bool tf32_;
  int64_t tile_ = 0;
  Array<double> scratch_sums_;
  std::vector<std::unique_ptr<GpuTape>> scratch_;  // for passes without a tape
};

}  // namespace

std::unique_ptr<Nets> make_gpu_nets(Queue& queue, ParamLayout layout, int64_t rows, bool tf32) {
  return std::make_unique<LayerwiseNets>(queue, std::move(layout), rows, tf32);
}

}  // namespace drl
