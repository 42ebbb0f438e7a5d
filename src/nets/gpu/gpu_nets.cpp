#include "nets/gpu/gpu_nets.hpp"

#include <algorithm>
#include <string>

#include "device/launch_watch.hpp"
#include "gpu/device.hpp"
#include "gpu/vendor.hpp"
#include "nets/gpu/gpu_kernels.hpp"
#include "nets/layerwise_nets.hpp"

namespace drl {
namespace {

constexpr int64_t kTile =
    int64_t{1} << 18;  // rows per tile: small enough for the buffers, large enough for efficient products
constexpr size_t kWorkspace = size_t{32} << 20;  // bytes for cuBLAS or rocBLAS

// Returns the widest input or output of a layer.
int widest(const ParamLayout& layout) {
  int widest = 1;
  for (NetId net = 0; net < layout.nets(); ++net) widest = std::max(widest, std::ranges::max(layout.net(net).widths()));
  return widest;
}

class Blas {
 public:
  static constexpr bool kAddsBias = false;

  Blas(Queue& queue, const ParamLayout& layout, bool tf32)
      : queue_(queue),
        tf32_(tf32),
        workspace_(queue, kWorkspace),
        slices_(queue, kSliceRoom),
        scratch_sums_(queue, sum_scratch(queue, widest(layout))) {
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

  void gather(const Rows& rows, int inputs, float* x) {
    for_each(queue_, rows.count * inputs, GatherInputs{rows, static_cast<uint32_t>(inputs), x});
  }
  // All matrices are row-major; cuBLAS sees their transposes.
  void multiply(int64_t rows, const LayerParams& l, const float* x, float* y) {
    product("forward", GPUBLAS_OP_T, GPUBLAS_OP_N, l.out, rows, l.in, l.weight, l.in, x, l.in, 0, y, l.out);
  }
  void add_bias(int64_t rows, const LayerParams& l, float* y) {
    for_each(queue_, rows * l.out, AddBias{y, l.bias, static_cast<uint32_t>(l.out)});
  }
  template <class A>
  void activate(int64_t rows, const LayerParams& l, float* y, float* sums) {
    const auto enqueue = [&]<int N>(FloatGroup<N>* groups) {
      for_each(queue_, rows * l.out / N,
               AddBiasAndActivate<A, N>{groups, l.bias, static_cast<uint32_t>(l.out),
                                        reinterpret_cast<FloatGroup<N>*>(sums)});
    };
    if (l.out % 4 == 0) return enqueue(reinterpret_cast<FloatGroup<4>*>(y));
    enqueue(reinterpret_cast<FloatGroup<1>*>(y));
  }
  void multiply_back(int64_t rows, const LayerParams& l, const float* dy, float* dx) {
    product("backward", GPUBLAS_OP_N, GPUBLAS_OP_N, l.in, rows, l.out, l.weight, l.in, dy, l.out, 0, dx, l.in);
  }
  // There are few elements, each of which is a sum over very many rows. Slices of the rows are
  // summed in parallel to keep the whole GPU busy, and are then added in a fixed order.
  void add_weights(int64_t n, const LayerParams& l, const float* dy, const float* x, float* dw) {
    const int64_t in = l.in, out = l.out, size = in * out,
                  slices = std::min(n / kSliceRows, static_cast<int64_t>(kSliceRoom) / size),
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
  void add_columns(int64_t rows, int64_t width, const float* x, float* sum) {
    add(rows, width, LoadMatrix{x, width}, sum);
  }
  void add_columns(int64_t rows, int64_t width, const float* x, const float* y, float* sum) {
    add(rows, width, LoadProduct{x, y, width}, sum);
  }
  template <class A>
  void activate_backward(int64_t rows, int64_t width, const float* from, float* d, float* d_bias) {
    add(rows, width, LoadActivationBackward<A>{from, d, width}, d_bias);
  }

  std::string description() const { return std::string(kGpuVendor.blas) + (tf32_ ? " in TF32" : ""); }

 private:
  template <class Load>
  void add(int64_t rows, int64_t width, const Load& load, float* sum) {
    sum_columns(queue_, rows, width, scratch_sums_.data(), load, AddTo{sum});
  }
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
  bool tf32_;
  Array<char> workspace_;
  Array<float> slices_;
  Array<double> scratch_sums_;
  gpublasHandle_t handle_{};
};

}  // namespace

std::unique_ptr<Nets> make_gpu_nets(Queue& queue, ParamLayout layout, int64_t rows, bool tf32) {
  const int64_t tile = std::min({rows, kTile, (int64_t{1} << 32) / widest(layout) - 1});
  return std::make_unique<LayerwiseNets<Blas>>(queue, std::move(layout), tile, tf32);
}

}  // namespace drl
