// Networks forward and backward on a device: what Engine is, with all arrays in device memory and all work enqueued.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "learn/engine.hpp"

namespace drl {

class GpuEngine {
 public:
  virtual ~GpuEngine() = default;
  // Where the parameters lie in `params`, as network_layout.
  virtual const std::vector<ParamSlice>& layout() const = 0;
  // Before all else: no call below gets more than `rows` at a time without cutting them up.
  virtual void reserve(int64_t rows, const gpu::Stream& stream) = 0;
  // The actor's outputs out [rows, action size] for raw observations [rows, obs_dim].
  virtual void policy(const float* params, const Normalizers& normalizers, const float* obs, int64_t rows, float* out,
                      const gpu::Stream& stream) = 0;
  // The critic's values out [rows] for raw observations [rows, critic input].
  virtual void values(const float* params, const Normalizers& normalizers, const float* obs, int64_t rows, float* out,
                      const gpu::Stream& stream) = 0;
  // Writes the gradient of the SUM of the losses of the samples `rows` [count], indices into the rollout [T * N], and
  // behind it the tail [kTailSize]. `settings` is in device memory.
  virtual void gradient(const float* params, const Normalizers& normalizers, const RolloutView& rollout,
                        const int32_t* rows, int64_t count, const LossSettings* settings, float* grad_and_tail,
                        const gpu::Stream& stream) = 0;
  virtual std::string description() const = 0;
};

}  // namespace drl
