#include "algorithms/sac/sac.hpp"

#include <cmath>
#include <iterator>

#include "base/check.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

ParamLayout layout_of_temperature() {
  ParamLayout layout;
  layout.add_free("log_temperature", {1});
  return layout;
}

constexpr PresetDeviation kPresets[] = {{"", kOffPolicyPreset},
                                        {"", R"(
[policy]
state_dependent_std = true
std_type = log
init_std = 1
std_min = 0.0067
std_max = 7.39
)"},
                                        {"-Velocity-", R"(
num_envs_total = 1024
num_steps_per_env = 16
max_iterations = 600
[policy]
actor_hidden_dims = 256,128
activation = silu
layer_norm = true
[sac]
batch_size = 512
updates_per_step = 8
n_step = 3
gamma = 0.97
tau = 0.03
learning_rate = 1e-3
temperature_learning_rate = 3e-3
initial_temperature = 0.01
target_entropy = 0
compensate_delay = false
reward_normalization = true
obs_normalization = true
replay_size = 1048576
learning_starts = 20480
)"}};

}  // namespace

std::span<const PresetDeviation> Sac::presets() { return kPresets; }

void Sac::check(const SacOptions& options, const PolicyOptions& policy) {
  check_networks(kTraits, options, policy);
  if (policy.distribution != SquashedGaussian::kName || !policy.state_dependent_std)
    throw UsageError(
        "--algorithm sac learns a Gaussian through tanh whose standard deviation depends on the observation: use "
        "--policy.distribution squashed_gaussian --policy.state_dependent_std true");
}

Sac::Sac(const LearnerParts& parts, const SacOptions& options)
    : OffPolicyLearner(
          parts, options,
          {.algorithm = kTraits, .choice = ActionChoice::sample, .repeats_actor = options.compensate_delay}),
      own_options_(options),
      temperature_layout_(layout_of_temperature()),
      temperature_(queue_, static_cast<size_t>(temperature_layout_.size())),
      host_temperature_(queue_, 1, Memory::host),
      temperature_optimizer_(queue_, actor_gradients_, temperature_layout_, temperature_.data(),
                             adam("temperature", temperature_layout_, options.temperature_learning_rate, kKl + 1)) {
  host_temperature_[0] = static_cast<float>(std::log(options.initial_temperature));
  queue_.copy(temperature_.data(), host_temperature_.data(), 1);
  queue_.synchronize();
}

void Sac::draw(const ActionNoise& noise, const Tile& tile) {
  for_each(queue_, tile.count,
           DrawActions{distribution(), noise, out_.data(), critic_obs(), input_.data(), log_prob_.data()});
}

void Sac::act_next(const Tile& tile) { draw(noise(Purpose::next_action, updates_, tile), tile); }

void Sac::act(const Tile& tile) { draw(noise(Purpose::policy_action, actor_updates_, tile), tile); }

void Sac::add_actor_loss(const Tile& tile) {
  const ActionNoise drawn = noise(Purpose::policy_action, actor_updates_, tile);
  add_rows(queue_, tile.count, ActorColumn::count, scratch_.data(),
           ActorLoss{distribution(),
                     drawn,
                     out_.data(),
                     values(of_options()),
                     {d_input_[0].data(), d_input_[1].data()},
                     critic_obs(),
                     log_prob_.data(),
                     temperature_.data(),
                     d_out_.data()});
}

void Sac::before_all_reduce_of_actor() {
  const float* tail = actor_optimizer_.gradient() + policy_.spec().layout.size();
  const double target_entropy = own_options_.target_entropy.value_or(-static_cast<double>(replay_.view().action_size));
  float* gradient = temperature_optimizer_.gradient();
  for_each(queue_, 1,
           TemperatureGradient{temperature_.data(), tail, static_cast<float>(target_entropy), gradient,
                               gradient + temperature_layout_.size()});
}

void Sac::after_actor_step() {
  if (own_options_.temperature_learning_rate > 0) temperature_optimizer_.enqueue_step();
}

std::vector<Metric> Sac::metrics() const {
  std::vector<Metric> all = OffPolicyLearner::metrics();
  all.insert(
      all.end(),
      {{"entropy", "Entropy", "Loss/entropy", -actor_optimizer_.mean(ActorColumn::log_prob), true, "entropy {:>7}"},
       {"temperature", "Temperature", "Policy/temperature", std::exp(static_cast<double>(host_temperature_[0])), true},
       {"action_std", "Action std", "Policy/mean_std", policy_.action_std(), true}});
  return all;
}

void Sac::visit_own_state(StateVisitor& visitor) {
  visitor.scalar(path("log_temperature"), *temperature_.data(), &queue_);
  temperature_optimizer_.visit_state(visitor, path("temperature_optimizer"));
}

}  // namespace drl
