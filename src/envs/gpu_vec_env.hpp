// The device executor of our tasks: what VecEnv is, with all arrays in device memory and all work enqueued on a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "envs/make_env.hpp"
#include "envs/vec_env.hpp"
#include "gpu/device.hpp"

namespace drl {

class GpuVecEnv {
 public:
  virtual ~GpuVecEnv() = default;
  virtual const TaskSpec& spec() const = 0;
  virtual int64_t num_envs() const = 0;
  // Starts every environment anew and writes next_obs only.
  virtual void reset(const StepRow& row, const gpu::Stream& stream) = 0;
  // The lifetime step is *first_step + offset: the first is a device number, so that a captured step can be replayed.
  virtual void step(const int64_t* first_step, int64_t offset, const StepRow& row, const gpu::Stream& stream) = 0;
  // For benchmarks: `steps` steps from this one of the lifetime on, in one kernel that keeps each environment in
  // registers. Actions are uniform, of random_bits(seed, Purpose::benchmark, global index, step). No rows are written;
  // checksum [N] becomes the sum of all rewards and observations, final ones included, so that the compiler cannot
  // leave any out.
  virtual void step_randomly(int64_t first_step, int64_t steps, float* checksum, const gpu::Stream& stream) = 0;
  // Numbers that take_episode_sums writes: count, reward, reward squared, length, then the reward terms.
  virtual int episode_columns() const = 0;
  // Sums over the episodes that ended since they were last taken, [episode_columns] in device memory. `scratch` holds
  // gpu::reduction_size of them.
  virtual void take_episode_sums(double* out, double* scratch, const gpu::Stream& stream) = 0;
  // Before visit_state, once: the state's copies in host memory.
  virtual void mirror_state(gpu::StateMirror& mirror) = 0;
  // Enumerates those copies, with the names and shapes of CpuVecEnv: each opens the other's checkpoints.
  virtual void visit_state(StateVisitor& visitor) = 0;
};

// Throws UsageError, naming the nearest known task, if there is no such task. The arrays are zeroed on `stream`.
std::unique_ptr<GpuVecEnv> make_gpu_env(std::string_view task, const EnvConfig& config, const gpu::Stream& stream);

}  // namespace drl
