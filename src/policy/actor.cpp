#include "policy/actor.hpp"

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
      inputs_(spec.actor_net().inputs()),
      outputs_(spec.actor_net().outputs()),
      normalizer_(normalizer),
      weights_(nets.pack(params)),
      low_(on_queue(queue, spec.action.low)),
      high_(on_queue(queue, spec.action.high)),
      std_(queue, static_cast<size_t>(free_parameters(spec.distribution))),
      heads_(on_queue(queue, spec.action.heads)),
      distribution_(spec.distribution) {
  queue.synchronize();  // the caller may destroy the spec after this
  if (auto* categorical = std::get_if<Categorical>(&distribution_)) categorical->counts = heads_.data();
  if (auto* gaussian = std::get_if<Gaussian>(&distribution_))
    *gaussian = {gaussian->size, low_.data(), high_.data(), params + spec.std_offset(), spec.log_std, std_.data()};
}

void Actor::begin() {
  if (const auto* gaussian = std::get_if<Gaussian>(&distribution_))
    for_each(queue_, gaussian->size, StandardDeviations{*gaussian});
}

void Actor::forward(const float* obs, int64_t count, float* out) {
  nets_.forward(net_, *weights_, {obs, nullptr, count, normalizer_}, out);
}

void Actor::act(const ActionRow& row, const ActionSource& source, LifetimeStep step, int64_t begin, int64_t count) {
  forward(row.obs + begin * inputs_, count, row.out + begin * outputs_);
  std::visit(
      [&]<class Policy>(const Policy& policy) {
        for_each(queue_, begin, begin + count, ChooseActions<Policy>{policy, source, step, row});
      },
      distribution_);
}

}  // namespace drl
