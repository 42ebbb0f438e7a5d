#include "nets/gpu_fused/fused_gpu_nets.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enum_table.hpp"
#include "base/format.hpp"
#include "device/array.hpp"
#include "gpu/device.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/gpu_fused/fused_forward.hpp"

namespace drl {
namespace {

template <class Use>
void with_factors(FusedPrecision precision, const Use& use) {
  switch (precision) {
    case FusedPrecision::fp32:
      return use(ExactFactors{});
    case FusedPrecision::fp16:
      return use(Fp16Factors{});
    case FusedPrecision::bf16:
      return use(Bf16Factors{});
  }
}

// Returns why the engine does not know the network with factors of `parts` parts, or "".
std::string unknown_shape(const NetSpec& spec, int parts) {
  const int hidden = spec.num_layers() - 1, width = hidden > 0 ? spec.layers.front().outputs : 0;
  const bool is_width = width == 32 || width == 64 || width == 128;
  const std::span<const LayerSpec> all(spec.layers.data(), static_cast<size_t>(hidden));
  if (hidden == 0 || !is_width || std::ranges::any_of(all, [&](const LayerSpec& l) { return l.outputs != width; }))
    return "its hidden layers do not all have 32, 64 or 128 units";
  if (const int most = most_hidden_layers(width, parts); hidden > most)
    return fmt::format("it has {} hidden layers of {} units, and {} are possible{}", hidden, width, most,
                       most < most_hidden_layers(width, 1) && hidden <= most_hidden_layers(width, 1)
                           ? " (with --precision fp16 or bf16 also this many)"
                           : "");
  if (spec.inputs() > kMostInputs || spec.outputs() > kMostOutputs)
    return fmt::format("it has {} inputs and {} outputs, and {} and {} are possible", spec.inputs(), spec.outputs(),
                       kMostInputs, kMostOutputs);
  if (std::ranges::any_of(all, &LayerSpec::norm)) return "it has layer norm";
  const Activation activation = all.front().activation;
  if (std::ranges::any_of(all, [&](const LayerSpec& l) { return l.activation != activation; }))
    return "its hidden layers have different activations";
  return is_fused_activation(activation) ? "" : "its activation is neither tanh nor elu nor relu";
}

// `parts`: of a factor.
FusedPlan plan_of(const ParamLayout& layout, NetId net, int parts) {
  const NetSpec& spec = layout.net(net);
  FusedPlan plan{};
  plan.inputs = spec.inputs(), plan.outputs = spec.outputs();
  plan.shape = {spec.layers.front().outputs,   padded(plan.inputs), spec.num_layers() - 1, padded(plan.outputs), true,
                spec.layers.front().activation};
  const auto fits = [&](const FusedShape& kernel) {
    const auto sizes = [](const FusedShape& s) {
      return std::tuple(s.inputs, s.hidden_layers, s.outputs, s.activation);
    };
    return kernel.width == plan.shape.width && (!kernel.exact || sizes(kernel) == sizes(plan.shape));
  };
  plan.shape_index = static_cast<int>(std::ranges::find_if(kFusedShapes, fits) - std::begin(kFusedShapes));

  const int64_t first = layout.weight(net, 0).offset;
  const ParamSlice& end = layout.bias(net, plan.layers() - 1);
  plan.num_params = static_cast<int>(end.offset + end.count() - first);
  for (int layer = 0; layer < plan.layers(); ++layer) {
    plan.weight[layer] = static_cast<int>(layout.weight(net, layer).offset - first);
    plan.bias[layer] = static_cast<int>(layout.bias(net, layer).offset - first);
  }
  plan.at = FusedPlaces::of(plan.shape, parts);
  int next = plan.at.end;
  const auto take = [&](int words) { return std::exchange(next, next + kSharedGap + words) + kSharedGap; };
  plan.out = take(kTileRows * plan.outputs), plan.index = take(kTileRows);
  plan.forward_words = next;
  plan.d_out = take(kTileRows * plan.outputs), plan.largest = take(kTileRows);
  plan.sums = take(plan.num_sums() * kTileRows);
  plan.words = next;
  return plan;
}

// Returns how many blocks of the kernel the current GPU runs at once. Of its shared memory, a multiprocessor has 1 KB
// more than a block may use, and reserves 1 KB for each block (CUDA C++ Programming Guide, "Technical Specifications").
int64_t blocks_at_once(const FusedGradientKernel& kernel, const FusedPlan& plan) {
  const auto fit = static_cast<int>((gpu::shared_memory_per_block() + 1024) / (plan.shared() + 1024));
  return int64_t{gpu::multiprocessors()} * std::clamp(fit, 1, kernel.blocks_per_multiprocessor);
}

// The parameters, and the packed weights of each network that the engine knows.
struct FusedWeights final : Weights {
  using Weights::Weights;
  std::vector<Array<uint32_t>> packed;
};

class FusedGpuNets final : public Nets {
 public:
  FusedGpuNets(Queue& queue, ParamLayout params, int64_t rows, FusedPrecision precision)
      : Nets(std::move(params)),
        queue_(queue),
        precision_(precision),
        layerwise_(make_gpu_nets(queue, layout(), rows)) {
    for (NetId id = 0; id < layout().nets(); ++id) {
      Net& net = nets_.emplace_back();
      if (fused_gradient_kernels().empty())
        net.why_not = "this build has no fused kernels";
      else
        net.plan = plan_fused(layout(), id, precision, gpu::shared_memory_per_block(), net.why_not);
    }
  }

  int64_t tile() const override { return layerwise_->tile(); }
  std::unique_ptr<Tape> make_tape(NetId net) override { return layerwise_->make_tape(net); }

  std::unique_ptr<Weights> pack(const float* params) override {
    auto weights = std::make_unique<FusedWeights>(params);
    for (const Net& net : nets_)
      weights->packed.emplace_back(queue_, net.plan ? static_cast<size_t>(net.plan->at.packed_words) : 0);
    repack(*weights);
    return weights;
  }
  void repack(Weights& weights) override {
    auto& fused = static_cast<FusedWeights&>(weights);
    with_factors(precision_, [&]<class Factors>(Factors) {
      PackNetworks<Factors> pair{};
      int taken = 0;
      const auto enqueue = [&] {
        const int64_t words = int64_t{pair.nets[0].plan.at.packed_words} + pair.nets[1].plan.at.packed_words;
        if (taken > 0) for_each(queue_, words, pair);
        pair = {}, taken = 0;
      };
      for (NetId id = 0; id < layout().nets(); ++id) {
        const auto& plan = net(id).plan;
        if (!plan) continue;
        pair.nets[taken++] = {*plan, weights.params() + layout().weight(id, 0).offset,
                              fused.packed[static_cast<size_t>(id)].data()};
        if (taken == 2) enqueue();
      }
      enqueue();
    });
  }

  void forward(NetId id, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    if (tape || !net(id).is_fused) return layerwise_->forward(id, weights, rows, out, tape);
    const FusedPass pass = pass_of(id, weights, rows);
    const int64_t blocks = std::min(pass.tiles(), kForwardBlocks);
    with_factors(precision_, [&]<class Factors>(Factors) {
      for_each_fused_shape([&]<int k>() {
        if (k == pass.plan.shape_index)
          for_each_block(queue_, blocks, pass.plan.forward_shared(),
                         FusedForward<kFusedShapes[k], Factors>{pass, pass.tiles(), blocks, out});
      });
    });
  }
  void backward(NetId id, const Weights& weights, Tape& tape, const float* d_out, float* grad, float* d_in) override {
    layerwise_->backward(id, weights, tape, d_out, grad, d_in);
  }

  void use_loss(LossId loss, DistributionId distribution, std::span<const NetId> ids, bool whole) override {
    why_not_ = whole ? "" : "recurrent layers or a symmetry need the layers one by one";
    for (size_t k = 0; k < ids.size() && why_not_.empty(); ++k) {
      Net& used = net(ids[k]);
      used.kernel = used.plan ? find_kernel(loss, distribution, k > 0, used.plan->shape_index) : nullptr;
      if (!used.plan)
        why_not_ = layout().net(ids[k]).name + ": " + used.why_not;
      else if (!used.kernel)
        why_not_ =
            std::ranges::none_of(fused_gradient_kernels(), [&](const auto& kernel) { return kernel.loss == loss; })
                ? "it has no kernels for this algorithm's loss"
                : "it knows only discrete actions, and Gaussian ones whose standard deviation is a parameter";
    }
    for (NetId id : ids) {
      Net& used = net(id);
      used.is_fused = why_not_.empty();
      if (!used.is_fused) continue;
      used.most_blocks = blocks_at_once(*used.kernel, *used.plan);
      used.partials = Array<float>(queue_, static_cast<size_t>(used.most_blocks * used.plan->num_partials()));
    }
  }
  bool gradient(const Batch& batch, LossId, DistributionId, float* grad_and_tail) override {
    if (!why_not_.empty()) return false;
    AddPartials add{{}, batch.loss_columns, grad_and_tail + layout().size(), grad_and_tail + batch.first_free};
    int64_t numbers = batch.loss_columns + batch.num_free;
    for (size_t k = 0; k < batch.inputs.size(); ++k) {
      const auto& [id, rows] = batch.inputs[k];
      FusedPass pass = pass_of(id, batch.weights, rows);
      pass.blocks = std::min(pass.tiles(), net(id).most_blocks), pass.partials = net(id).partials.data();
      net(id).kernel->enqueue(queue_, pass, batch.loss);
      add.nets[k] = {pass.partials, pass.blocks, pass.plan.num_partials(), pass.plan.num_params,
                     grad_and_tail + layout().weight(id, 0).offset};
      numbers += pass.plan.num_params;
    }
    for_each(queue_, numbers, add);
    return true;
  }

  std::string description() const override {
    if (!why_not_.empty()) return layerwise_->description() + " (the fused engine is not used: " + why_not_ + ")";
    using enum FusedPrecision;
    constexpr auto kNames = by_enum<FusedPrecision, const char*>(
        bf16, {{fp32, "two fp16 parts per factor"}, {fp16, "fp16"}, {bf16, "bf16"}});
    return fmt::format("fused kernels ({})", kNames[static_cast<size_t>(precision_)]);
  }

 private:
  struct Net {
    std::optional<FusedPlan> plan;
    std::string why_not;  // there is no plan
    bool is_fused = false;
    const FusedGradientKernel* kernel = nullptr;
    int64_t most_blocks = 0;
    Array<float> partials;
  };

  Net& net(NetId id) { return nets_[static_cast<size_t>(id)]; }
  FusedPass pass_of(NetId id, const Weights& weights, const Rows& rows) {
    return {*net(id).plan, static_cast<const FusedWeights&>(weights).packed[static_cast<size_t>(id)].data(), rows};
  }
  const FusedGradientKernel* find_kernel(LossId loss, DistributionId distribution, bool of_critic,
                                         int shape_index) const {
    for (const FusedGradientKernel& kernel : fused_gradient_kernels())
      if (kernel.loss == loss && kernel.distribution == distribution && kernel.of_critic == of_critic &&
          kernel.shape_index == shape_index && kernel.precision == precision_)
        return &kernel;
    return nullptr;
  }

  Queue& queue_;
  FusedPrecision precision_;
  std::unique_ptr<Nets> layerwise_;
  std::vector<Net> nets_;
  std::string why_not_ = "no loss uses these networks";  // empty: the engine is used
};

}  // namespace

std::optional<FusedPlan> plan_fused(const ParamLayout& layout, NetId net, FusedPrecision precision, size_t shared,
                                    std::string& reason) {
  const int parts = precision == FusedPrecision::fp32 ? 2 : 1;
  reason = unknown_shape(layout.net(net), parts);
  if (!reason.empty()) return {};
  const FusedPlan plan = plan_of(layout, net, parts);
  if (plan.shared() <= shared) return plan;
  reason = fmt::format("it needs {} KB of shared memory, and the GPU has {} KB", plan.shared() / 1024, shared / 1024);
  return {};
}

std::unique_ptr<Nets> make_fused_gpu_nets(Queue& queue, ParamLayout layout, int64_t rows, FusedPrecision precision) {
  return std::make_unique<FusedGpuNets>(queue, std::move(layout), rows, precision);
}

}  // namespace drl
