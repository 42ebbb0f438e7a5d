// The device of a rank, and what computes its networks there: all that differs between CPUs and GPUs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "algorithms/learner_parts.hpp"
#include "apps/workplace.hpp"
#include "comm/gpu_energy.hpp"
#include "run/train_options.hpp"

namespace drl {

// Throws UsageError if --nets and --precision name an engine that the device does not have.
void require_engine(const TrainOptions& train, bool on_gpu);

class RunEngine final : public Engine {
 public:
  // Opens the GPU's libraries. Throws UsageError if the device does not have what --nets and --precision name. The
  // arguments must outlive the engine.
  RunEngine(const Options& options, const Workplace& place);
  // Collective. Connects the ranks' devices; `host` communicates host memory and must outlive the engine.
  void connect(Communicator& host);
  // Makes the queue. A GPU becomes the current device of this thread.
  void start();

  bool on_gpu() const { return place_.placement.gpu >= 0; }
  Queue& queue() { return *queue_; }
  // The communicator of the learner's all-reduces: NCCL on GPUs, else the host's.
  Communicator& comm() { return gpu_comm_ ? *gpu_comm_ : *host_comm_; }
  std::unique_ptr<Nets> make_nets(const ParamLayout& layout, int64_t rows) override;
  // Makes networks for evaluations, which always run on the CPU.
  std::unique_ptr<Nets> make_host_nets(Queue& queue, const ParamLayout& layout) const;
  bool records_graphs() const override { return options_.gpu.cuda_graphs; }
  std::string library_versions() const;  // ", CUDA 12.4, NCCL 2.20"; "" on CPUs

  // Collective on GPUs: starts measuring their energy.
  void measure_energy();
  // Collective on GPUs. Returns GpuEnergyMeter::read(); nullopt on CPUs.
  std::optional<GpuEnergy> energy() { return energy_ ? energy_->read() : std::nullopt; }

 private:
  const Options& options_;
  const Workplace& place_;
  Communicator* host_comm_ = nullptr;
  std::unique_ptr<Communicator> gpu_comm_;
  std::unique_ptr<Queue> queue_;
  std::optional<GpuEnergyMeter> energy_;  // on GPUs
};

}  // namespace drl
