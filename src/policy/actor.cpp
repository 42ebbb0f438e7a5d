#include "policy/actor.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

template <class T>
Array<T> on_queue(Queue& queue, const std::vector<T>& numbers) {
  Array<T> array(queue, numbers.size());
  queue.copy(array.data(), numbers.data(), numbers.size());
  return array;
}

}  // namespace

Actor::Actor(Queue& queue, Nets& nets, const PolicySpec& spec, const float* params, const NormalizerView& normalizer)
    : queue_(queue),
      nets_(nets),
      net_(spec.actor),
      rnn_(spec.actor_rnn),
      inputs_(spec.inputs()),
      outputs_(spec.actor_net().outputs()),
      normalizer_(normalizer),
      weights_(nets.pack(params)),
      low_(on_queue(queue, spec.action.low)),
      high_(on_queue(queue, spec.action.high)),
      std_(queue, static_cast<size_t>(free_parameters(spec.distribution))),
      heads_(on_queue(queue, spec.action.heads)),
      distribution_(spec.distribution) {
  queue.synchronize();  // the caller may destroy the spec after this
  std::visit(
      [&]<class Policy>(Policy& policy) {
        if constexpr (requires { policy.counts; }) {
          policy.counts = heads_.data();
        } else {
          policy.low = low_.data(), policy.high = high_.data();
        }
        if constexpr (HasStdParameter<Policy>)
          policy.param = params + spec.std_offset(), policy.log_std = spec.log_std, policy.std = std_.data();
      },
      distribution_);
}

void Actor::begin() {
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        if constexpr (HasStdParameter<Policy>) for_each(queue_, policy.size, StandardDeviations<Policy>{policy});
      },
      distribution_);
}

void Actor::forward(const float* obs, int64_t count, float* out, int64_t first_env) {
  Rows rows{obs, nullptr, count, normalizer_};
  if (!rnn_.empty()) {
    DRL_CHECK(rnn_step_, "begin_episodes() must be called before a recurrent policy acts");
    rows = {rnn_step_->step(*weights_, rows, states_.data() + first_env * state_size()), nullptr, count};
  }
  nets_.forward(net_, *weights_, rows, out);
}

void Actor::begin_episodes(int64_t num_envs) {
  if (rnn_.empty()) return;
  rnn_step_.emplace(queue_, nets_, rnn_, std::min(num_envs, tile()));
  states_ = Array<float>(queue_, static_cast<size_t>(num_envs * state_size()));
}

void Actor::restart_episodes() { queue_.clear(states_.data(), states_.size()); }

void Actor::end_step(const uint8_t* terminated, const uint8_t* truncated, int64_t begin, int64_t count) {
  if (rnn_.empty()) return;
  for_each_row(
      queue_, begin, begin + count, state_size(),
      CarryState{states_.data(), nullptr, {terminated, truncated}, state_size(), state_size(), states_.data()});
}

void Actor::act(const ActionRow& row, const ActionSource& source, LifetimeStep step, int64_t begin, int64_t count) {
  forward(row.obs + begin * inputs_, count, row.out + begin * outputs_, begin);
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        for_each(queue_, begin, begin + count, ChooseActions<Policy>{policy, source, step, row});
      },
      distribution_);
}

}  // namespace drl
