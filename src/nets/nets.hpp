// Networks forward and backward, on raw arrays in the memory of a queue. A backend is what may exist once per device:
// libtorch on CPUs, cuBLAS on GPUs. It knows no algorithm; no algorithm knows it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "nets/layout.hpp"
#include "nets/normalizer.hpp"

namespace drl {

// What goes into a network: row i is the observation number index[i] (or i) of `data`, normalised.
struct Rows {
  const float* data;     // [observations, inputs]
  const int32_t* index;  // [count], or null
  int64_t count;
  NormalizerView normalizer = {};

  // Leaves out the first `rows` of `inputs` numbers; `count` stays.
  void skip(int64_t rows, int inputs) {
    if (index) {
      index += rows;
    } else {
      data += rows * inputs;
    }
  }
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

  // Enqueues out [count, outputs] of network `net` with the weights in `params`; with a tape for a tile at most.
  virtual void forward(NetId net, const float* params, const Rows& rows, float* out, Tape* tape = nullptr) = 0;
  // Enqueues the way back for the tape's last forward pass, from d_out [count, outputs], the gradient of a SUM over the
  // rows: adds the weights' gradients to `grad`, which is laid out as `params`, and writes that of the inputs, as they
  // are after the normaliser, to d_in [count, inputs] if it is not null.
  virtual void backward(NetId net, const float* params, Tape& tape, const float* d_out, float* grad,
                        float* d_in = nullptr) = 0;
  virtual std::string description() const = 0;  // "libtorch 1.13.1 (OpenBLAS)"

 private:
  ParamLayout layout_;
};

}  // namespace drl
