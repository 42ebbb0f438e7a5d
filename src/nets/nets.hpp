// Forward and backward passes of networks, on raw arrays in a queue's memory. The backends are drl's own kernels and
// libtorch on CPUs, and cuBLAS on GPUs. Backends and algorithms do not know each other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "nets/batch.hpp"

namespace drl {

// Parameters in the form in which a backend's passes read them. Several may exist at once, e.g. those of the learner
// and of a reference policy.
class Weights {
 public:
  explicit Weights(const float* params) : params_(params) {}
  virtual ~Weights() = default;
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  const float* params() const { return params_; }

 private:
  const float* params_;
};

// The values that a forward pass stores for the backward pass.
class Tape {
 public:
  virtual ~Tape() = default;
};

class Nets {
 public:
  explicit Nets(ParamLayout layout) : layout_(std::move(layout)) {}
  virtual ~Nets() = default;
  Nets(const Nets&) = delete;
  Nets& operator=(const Nets&) = delete;

  const ParamLayout& layout() const { return layout_; }
  // Returns the number of rows that a tape holds; on CPUs, a multiple of kSumLanes. Mini-batches are processed in such
  // tiles.
  virtual int64_t tile() const = 0;
  virtual std::unique_ptr<Tape> make_tape(NetId net) = 0;

  // Returns the weights of all networks for the parameters in `params` [layout().size()], which are in the queue's
  // memory. The caller owns `params`, which must outlive the weights. A backend that copies them enqueues the copies,
  // into buffers that stay where they are as long as the weights exist: recorded graphs hold their addresses.
  virtual std::unique_ptr<Weights> pack(const float* params) { return std::make_unique<Weights>(params); }
  // Enqueues the same copies again. Call it whenever the parameters have changed, before the next pass with them.
  virtual void repack(Weights&) {}
  // Enqueues the computation of out [count, outputs] of network `net`, with weights that this object has packed. With a
  // tape, `rows` may have at most tile() rows, and `out` may be null: then only what backward() needs is computed.
  virtual void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape = nullptr) = 0;
  // Enqueues the backward pass of the tape's last forward pass. d_out [count, outputs] is the gradient of the loss,
  // which is summed over the rows, not averaged. Adds the parameters' gradients to `grad`, which has the layout of the
  // parameters, unless grad is null. Writes the gradient with respect to the normalised inputs to d_in [count, inputs],
  // unless d_in is null.
  virtual void backward(NetId net, const Weights& weights, Tape& tape, const float* d_out, float* grad,
                        float* d_in = nullptr) = 0;
  // Announces the loss of the networks `nets` before the first pass. `whole`: gradient() will be called for every
  // mini-batch. A backend may choose its kernels accordingly.
  virtual void use_loss(LossId, DistributionId, std::span<const NetId> /*nets*/, bool /*whole*/) {}
  // Lets a backend compute a mini-batch's gradient as a whole, e.g. to keep a tile in cache from forward to backward
  // pass. If the backend supports this loss and distribution, it enqueues this work and returns true. The work writes
  // the gradient of the networks' and the distribution's parameters, in the layout of the parameters, and then the
  // loss's columns to `grad_and_tail`, all summed over the samples. It does not write the padding between parameters,
  // nor other networks' parameters. Otherwise the backend returns false, and the caller goes through the batch tile by
  // tile (forward, loss, backward). nets/gpu_fused implements this.
  virtual bool gradient(const Batch& /*batch*/, LossId, DistributionId, float* /*grad_and_tail*/) { return false; }
  virtual std::string description() const = 0;  // "libtorch 1.13.1 (OpenBLAS)"

 private:
  ParamLayout layout_;
};

}  // namespace drl
