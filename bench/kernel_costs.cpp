#include "kernel_costs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <typeindex>

#include "algorithms/fused_step.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "device/fingerprint_kernels.hpp"
#include "device/reduce.hpp"
#include "envs/episode_sums.hpp"
#include "envs/task_envs.hpp"
#include "nets/gpu/gpu_kernels.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/net_kernels.hpp"
#include "policy/actor_kernels.hpp"

namespace drl {
namespace {

constexpr double kLaunchGap = 1e-6;  // s

constexpr double kFloat = sizeof(float), kDouble = sizeof(double);
double sectors(double bytes) { return std::ceil(bytes / 32) * 32; }

using CostFunction = std::function<Cost(const void* what, double count)>;
std::map<std::type_index, CostFunction> costs;

// Registers the cost of T: a function of the object and the number of indices.
template <class T, class Function>
void add(const Function& cost) {
  costs[typeid(T)] = [cost](const void* what, double count) { return cost(*static_cast<const T*>(what), count); };
}
// Registers a function object whose memory traffic is a few numbers.
template <class T>
void add_small() {
  costs[typeid(T)] = [](const void*, double) { return Cost{}; };
}
// Registers the sum over the columns of a Load, which reads and writes `bytes` for each row and column.
template <class Load>
void add_sum(double bytes) {
  add<GpuSumColumns<Load>>([bytes](const GpuSumColumns<Load>& sum, double partials) {
    return Cost{static_cast<double>(sum.rows * sum.columns) * bytes + partials * kDouble};
  });
}
template <class Store>
void add_final_sums() {
  add<FinalSums<Store>>([](const FinalSums<Store>& sum, double columns) {
    return Cost{columns * static_cast<double>(sum.count + 1) * kDouble};
  });
}
template <class A, int N>
void add_bias_and_activation() {
  add<AddBiasAndActivate<A, N>>(
      [](const AddBiasAndActivate<A, N>& f, double groups) { return Cost{groups * N * (f.sums ? 3 : 2) * kFloat}; });
}
template <class A>
void add_activation() {
  add_bias_and_activation<A, 1>();
  add_bias_and_activation<A, 4>();
  add_sum<LoadActivationBackward<A>>(3 * kFloat);
}
template <class Policy>
void add_distribution() {
  if (HasStateStd<Policy>) add_sum<StateStd<Policy>>(2 * kFloat);
  if (HasStdParameter<Policy>) add_small<StandardDeviations<Policy>>();
  add<ChooseActions<Policy>>([](const ChooseActions<Policy>& f, double envs) {
    const int actions = f.policy.action_size() * (std::is_same_v<Policy, Categorical> ? 1 : 2);
    return Cost{envs * (f.policy.outputs() + actions + 1) * kFloat};
  });
  add<GpuSumRows<PpoLoss<Policy>>>([](const GpuSumRows<PpoLoss<Policy>>& sum, double partials) {
    const Policy& policy = sum.function.policy;
    const double outputs = policy.outputs(), actions = policy.action_size();
    // Gathered: the action, the old outputs, and log-probability, advantage, value and return.
    const double gathered = sectors(actions * kFloat) + sectors(outputs * kFloat) + 4 * sectors(kFloat);
    // The sample's row and value, its outputs, and the gradients with respect to these.
    const double in_order = (1 + 2 + 2 * outputs) * kFloat;
    return Cost{static_cast<double>(sum.rows) * (gathered + in_order) +
                partials * static_cast<double>(sum.columns) * 2 * kDouble};
  });
}

// Every number of an environment's state is read and written.
Cost cost_of_step(const TaskLaunch& task, double) {
  const TaskRecord& record = *task.record;
  double state = 2 + record.reward_term_count + record.metric_count + record.obs_dim * (record.history - 1);
  for (int f = 0; f < record.field_count; ++f) state += record.fields[f].count;
  const double written = record.obs_dim * record.history + record.critic_obs_dim + 1 + record.action_size, flags = 2;
  return {static_cast<double>(task.call->end - task.call->begin) * ((2 * state + written) * kFloat + flags)};
}

Cost cost_of_product(const GpuProduct& p, double) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
             count = static_cast<double>(p.count);
  return {count * (m * k + k * n + (p.adds ? 2 : 1) * m * n) * kFloat, count * 2 * m * n * k};
}

void register_all() {
  add<CopyBytes>([](const CopyBytes& copy, double) { return Cost{2.0 * static_cast<double>(copy.bytes)}; });
  add<ClearBytes>([](const ClearBytes& clear, double) { return Cost{static_cast<double>(clear.bytes)}; });
  add<GpuProduct>(cost_of_product);
  add<TaskLaunch>(cost_of_step);

  add<GatherInputs>([](const GatherInputs& f, double elements) {
    const double inputs = f.inputs, row = inputs * kFloat;
    return Cost{elements / inputs * (row + (f.rows.index ? sectors(row) + kFloat : row))};
  });
  add<AddBias>([](const AddBias&, double elements) { return Cost{elements * 2 * kFloat}; });
  add_activation<Elu>();
  add_activation<Tanh>();
  add_activation<Relu>();
  add_activation<Silu>();
  add_activation<Gelu>();
  add<AddSlices>(
      [](const AddSlices& f, double elements) { return Cost{elements * static_cast<double>(f.count + 2) * kFloat}; });

  add_sum<LoadMatrix>(kFloat);
  add_sum<LoadEpisodes>(kDouble);
  add_sum<SegmentHashes>(kFloat);
  add_sum<ObservationMoments>(kFloat / 2);  // two columns of each number
  add_sum<AdvantageMoments>(kFloat / 2);
  add_sum<GradientSquares>(kFloat / 2);
  add<IntermediateSums>([](const IntermediateSums&, double sums) { return Cost{sums * (kSumLanes + 1) * kDouble}; });
  add_final_sums<StoreTo>();
  add_final_sums<StoreMoments>();
  add_final_sums<StoreLoss>();
  add_final_sums<AddTo>();

  for_each_distribution([]<class Policy>() { add_distribution<Policy>(); });
  add<Advantages>([](const Advantages& f, double envs) {
    const double flags = 2;
    return Cost{envs * static_cast<double>(f.r.num_steps) * (5 * kFloat + flags)};
  });
  add<MiniBatchRows>([](const MiniBatchRows&, double rows) { return Cost{rows * kFloat}; });
  add<AdamStep>([](const AdamStep&, double parameters) { return Cost{parameters * 7 * kFloat}; });
  add<SgdStep>([](const SgdStep&, double parameters) { return Cost{parameters * 5 * kFloat}; });
  add<OneBlockStep<AdamStep>>([](const auto& of, double) { return Cost{static_cast<double>(of.count) * 8 * kFloat}; });
  add<OneBlockStep<SgdStep>>([](const auto& of, double) { return Cost{static_cast<double>(of.count) * 6 * kFloat}; });
  add_small<AddUp>();
  add_small<CheckFinite>();
  add_small<ResetUpdateNumbers>();
  add_small<SetEntropyCoef>();
  add_small<StandardizeAdvantages>();
  add_small<PrepareStep>();
}

}  // namespace

std::optional<Cost> cost_of(const Launch& launch) {
  if (costs.empty()) register_all();
  const auto found = costs.find(launch.type);
  if (found == costs.end()) return std::nullopt;
  return found->second(launch.what, static_cast<double>(launch.count));
}

std::string name_of(const Launch& launch) {
  if (launch.type == typeid(GpuProduct)) {
    const auto& p = *static_cast<const GpuProduct*>(launch.what);
    return fmt::format("{} product {} x {} x {}{}", p.kind, p.m, p.n, p.k,
                       p.count > 1 ? fmt::format(", {} slices", p.count) : "");
  }
  if (launch.type == typeid(TaskLaunch))
    return std::string("step of ") + static_cast<const TaskLaunch*>(launch.what)->record->name;
  if (launch.type == typeid(CopyBytes)) return "copy";
  if (launch.type == typeid(ClearBytes)) return "clear";
  return plain_name(launch.type);
}

Card card_of(const std::string& name) {
  struct Known {
    const char* part;
    Card card;
  };
  static constexpr Known kCards[] = {
      // a name that contains another one comes first
      {"H100 PCIe", {2.0e12, 51e12}},
      {"H100 NVL", {3.9e12, 60e12}},
      {"GH200", {4.0e12, 67e12}},
      {"H200", {4.8e12, 67e12}},
      {"H100", {3.35e12, 67e12}},
      {"A100-SXM4-40GB", {1.555e12, 19.5e12}},
      {"A100-PCIE-40GB", {1.555e12, 19.5e12}},
      {"A100", {2.04e12, 19.5e12}},
  };
  for (const auto& [part, card] : kCards)
    if (name.find(part) != std::string::npos) return card;
  return {};
}

double least_seconds(const Card& card, const Cost& cost, int64_t launches) {
  if (card.bandwidth == 0 || card.peak == 0) return 0;
  return std::max(cost.bytes / card.bandwidth, cost.flops / card.peak) + static_cast<double>(launches) * kLaunchGap;
}

}  // namespace drl
