// Networks forward and backward, on raw arrays in the memory of a queue. A backend is what may exist once per device:
// our own kernels or libtorch on CPUs, cuBLAS on GPUs. It knows no algorithm; no algorithm knows it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "nets/batch.hpp"

namespace drl {

// What a recurrent network carries from step to step, [rows, width] numbers. A feed-forward network has none.
struct HiddenState {
  float* data = nullptr;
  int width = 0;
};

// What a forward pass leaves for the backward pass.
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
  // The rows that a tape holds, a multiple of kSumLanes: whoever trains goes through a mini-batch in tiles of so many.
  virtual int64_t tile() const = 0;
  virtual std::unique_ptr<Tape> make_tape(NetId net) = 0;

  // Enqueues what follows from the numbers in `params`: before the first pass with them, and whenever they have changed.
  virtual void refresh(const float* /*params*/) {}
  // Enqueues out [count, outputs] of network `net` with the weights in `params`; with a tape for a tile at most.
  // `hidden` goes in, and becomes `next`.
  virtual void forward(NetId net, const float* params, const Rows& rows, float* out, Tape* tape = nullptr,
                       const HiddenState& hidden = {}, const HiddenState& next = {}) = 0;
  // Enqueues the way back for the tape's last forward pass, from d_out [count, outputs], the gradient of a SUM over the
  // rows: adds the weights' gradients to `grad`, which is laid out as `params`, and writes that of the inputs, as they
  // are after the normaliser, to d_in [count, inputs] if it is not null.
  virtual void backward(NetId net, const float* params, Tape& tape, const float* d_out, float* grad,
                        float* d_in = nullptr) = 0;
  // Enqueues a mini-batch's sums of gradients, laid out as `params`, to `grad_and_tail`, which is zero, and behind them
  // the loss's own; or returns false, and the caller goes through the batch tile by tile: forward, loss, backward.
  // For backends that keep a tile in registers or cache from end to end, of the names that they know: none does yet.
  virtual bool gradient(const Batch& /*batch*/, LossId, DistributionId, float* /*grad_and_tail*/) { return false; }
  virtual std::string description() const = 0;  // "libtorch 1.13.1 (OpenBLAS)"

 protected:
  void require_feed_forward(const HiddenState& hidden, const HiddenState& next) const {
    if (hidden.width > 0 || next.width > 0)
      throw Error(description() + " has no recurrent networks (hidden state of width " +
                  std::to_string(std::max(hidden.width, next.width)) + " is given): use feed-forward ones");
  }

 private:
  ParamLayout layout_;
};

}  // namespace drl
