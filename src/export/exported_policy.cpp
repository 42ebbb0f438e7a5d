#include "export/exported_policy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

template <class T>
Tensor row(const std::string& name, DType type, const std::vector<T>& data) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data));
  return {name, type, {static_cast<int64_t>(data.size())}, {bytes.begin(), bytes.end()}};
}

std::string joined(const std::vector<NamedNumber>& numbers, std::string NamedNumber::*member) {
  std::vector<std::string> parts;
  for (const NamedNumber& number : numbers) parts.push_back(number.*member);
  return join(parts, "\n");
}

// Reads `policy/` of one checkpoint.
class Reader {
 public:
  Reader(const Checkpoint& checkpoint, const std::string& file) : checkpoint_(checkpoint), file_(file) {}

  template <class T>
  const T& get(const std::string& name) const {
    return attribute<T>(checkpoint_, file_, "policy/" + name);
  }
  // Returns the array, or nothing if there is none. Throws UsageError if it has another size than `count` (0: any).
  template <class T>
  std::vector<T> array(const std::string& name, DType type, int64_t count = 0) const {
    const Tensor* tensor = checkpoint_.find("policy/" + name);
    if (!tensor) return {};
    if (tensor->type != type || (count > 0 && static_cast<int64_t>(tensor->data.size() / sizeof(T)) != count))
      refuse("policy/" + name + " does not have " + std::to_string(count) + " numbers of the right type");
    const std::vector<T> data = numbers<T>(tensor->data);
    if (std::ranges::any_of(data, [](T value) { return std::isnan(static_cast<double>(value)); }))
      refuse("policy/" + name + " has a NaN");
    return data;
  }
  std::vector<std::string> names(const std::string& name, int64_t count) const {
    std::vector<std::string> list = split(get<std::string>(name), '\n');
    if (static_cast<int64_t>(list.size()) != count)
      refuse(fmt::format("policy/{} has {} names for {} numbers", name, list.size(), count));
    return list;
  }
  bool has(const std::string& name) const { return checkpoint_.attributes.contains("policy/" + name); }
  void add_operations(ExportedPolicy& policy) const {
    const int64_t width = add_recurrent(policy.ops);
    const int64_t outputs = add_layers(width, policy.ops);
    add_actions(outputs, policy.ops);
    add_normaliser(policy.observations(), policy.ops);
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError("checkpoint " + file_ + " does not describe its policy (" + why +
                     "): give a checkpoint that drl_train has written");
  }

 private:
  // Returns the array's shape [outputs, inputs]. Throws UsageError if there is no such array.
  const std::vector<int64_t>& shape_of_weight(const std::string& name) const {
    const Tensor* weight = checkpoint_.find("policy/" + name);
    if (!weight || weight->shape.size() != 2 || weight->shape[0] < 1 || weight->shape[1] < 1)
      refuse("policy/" + name + " is missing");
    return weight->shape;
  }
  // Adds the recurrent layers, and returns their width, or 0 if there are none.
  int64_t add_recurrent(std::vector<Op>& ops) const {
    if (!has("rnn_type")) return 0;
    const auto& type = get<std::string>("rnn_type");
    if (type != "gru" && type != "lstm") refuse("its recurrent layers " + printable(type) + " are unknown");
    const auto width = get<int64_t>("rnn_hidden_dim"), layers = get<int64_t>("rnn_layers");
    if (width < 1 || width > 65536) refuse("its recurrent layers have no width");
    if (layers < 1) refuse("it has no recurrent layers");
    for (int64_t k = 0; k < layers; ++k) {
      const std::string path = fmt::format("actor/rnn/{}", k);
      op::Recurrent layer{
          .number = k, .type = type, .inputs = shape_of_weight(path + "/input/weight")[1], .width = width};
      if (k > 0 && layer.inputs != width) refuse("its recurrent layers do not fit together");
      const int64_t gates = layer.gates();
      layer.input_weight = array<float>(path + "/input/weight", DType::f32, gates * layer.inputs);
      layer.input_bias = array<float>(path + "/input/bias", DType::f32, gates);
      layer.hidden_weight = array<float>(path + "/hidden/weight", DType::f32, gates * width);
      layer.hidden_bias = array<float>(path + "/hidden/bias", DType::f32, gates);
      if (layer.input_bias.empty() || layer.hidden_weight.empty() || layer.hidden_bias.empty())
        refuse("policy/" + path + " lacks numbers");
      ops.push_back(layer);
    }
    return width;
  }
  // Adds the layers, and returns the number of outputs of the last one. `width`: of the recurrent layers before them.
  int64_t add_layers(int64_t width, std::vector<Op>& ops) const {
    const auto& activation = get<std::string>("activation");
    if (std::ranges::find(kActivations, activation) == std::end(kActivations))
      refuse("its activation " + printable(activation) + " is unknown");
    const auto layers = get<int64_t>("layers");
    if (layers < 1) refuse("it has no layers");
    for (int64_t k = 0; k < layers; ++k) {
      const std::string path = "actor/" + std::to_string(k);
      const std::vector<int64_t>& shape = shape_of_weight(path + "/weight");
      op::Affine affine{.number = k, .inputs = shape[1], .outputs = shape[0]};
      affine.weight = array<float>(path + "/weight", DType::f32, affine.inputs * affine.outputs);
      affine.bias = array<float>(path + "/bias", DType::f32, affine.outputs);
      const op::Norm norm{k, array<float>(path + "/norm/weight", DType::f32, affine.outputs),
                          array<float>(path + "/norm/bias", DType::f32, affine.outputs)};
      if (affine.bias.empty() || norm.weight.size() != norm.bias.size()) refuse("policy/" + path + " lacks numbers");
      if (width > 0 && affine.inputs != width)
        refuse(k > 0 ? "its layers do not fit together" : "its layers do not fit to its recurrent layers");
      width = affine.outputs;
      ops.push_back(affine);
      if (!norm.weight.empty()) ops.push_back(norm);
      if (k + 1 < layers) ops.push_back(op::Activation{activation});
    }
    return width;
  }
  // Adds what turns the last layer's outputs into actions.
  void add_actions(int64_t outputs, std::vector<Op>& ops) const {
    const NamedDistribution* distribution = find_distribution(get<std::string>("distribution"));
    if (!distribution) refuse("its distribution " + printable(get<std::string>("distribution")) + " is unknown");
    const Outputs kind = without_stds(distribution->outputs);
    if (kind != distribution->outputs) outputs = keep_means(std::get<op::Affine>(ops.back()));
    const std::vector<int32_t> choices = array<int32_t>("action/choices", DType::i32);
    if (choices.empty()) return add_bound(kind, outputs, ops);
    if (std::accumulate(choices.begin(), choices.end(), int64_t{0}) != outputs)
      refuse("its choices are not as many as its last layer's outputs");
    if (std::ranges::any_of(choices, [](int32_t count) { return count < 1; })) refuse("its choices are invalid");
    ops.push_back(op::ArgMax{{choices.begin(), choices.end()}});
  }
  // Removes the second half of a layer's outputs, which are standard deviations. Returns how many remain.
  static int64_t keep_means(op::Affine& layer) {
    layer.outputs /= 2;
    layer.weight.resize(static_cast<size_t>(layer.outputs * layer.inputs));
    layer.bias.resize(static_cast<size_t>(layer.outputs));
    return layer.outputs;
  }
  void add_bound(Outputs kind, int64_t outputs, std::vector<Op>& ops) const {
    const int64_t actions = outputs / (kind == Outputs::alphas_and_betas ? 2 : 1);
    const auto row = [&](const char* name) { return array<float>("action/" + std::string(name), DType::f32, actions); };
    op::Bound bound{
        .outputs = kind, .low = row("low"), .high = row("high"), .gain = row("scale"), .offset = row("offset")};
    if (bound.low.empty() || bound.high.empty()) refuse("policy/action has neither choices nor bounds");
    for (size_t k = 0; are_within_bounds(kind) && k < bound.low.size(); ++k)
      bound.range.push_back(bound.high[k] - bound.low[k]);
    if (bound.gain.size() != bound.offset.size()) refuse("policy/action has a scale without an offset");
    ops.push_back(bound);
  }
  void add_normaliser(int64_t inputs, std::vector<Op>& ops) const {
    op::Normalise normalise{.mean = array<float>("normalizer/mean", DType::f32, inputs),
                            .scale = array<float>("normalizer/scale", DType::f32, inputs)};
    if (normalise.mean.size() != normalise.scale.size() || normalise.mean.empty() == has("normalizer_clip"))
      refuse("its normaliser has no mean or no scale");
    if (normalise.mean.empty()) return;
    normalise.clip = static_cast<float>(get<double>("normalizer_clip"));
    ops.insert(ops.begin(), normalise);
  }

  const Checkpoint& checkpoint_;
  const std::string& file_;
};

}  // namespace

void describe_policy(Checkpoint& checkpoint, const PolicySpec& policy) {
  const NetSpec& actor = policy.actor_net();
  const ActionSpace& space = policy.action;
  auto& attributes = checkpoint.attributes;
  attributes["policy/task"] = policy.task;
  attributes["policy/seconds_per_step"] = policy.dt;
  attributes["policy/layers"] = int64_t{actor.num_layers()};
  attributes["policy/activation"] = std::string(kActivations[static_cast<size_t>(actor.layers.front().activation)]);
  attributes["policy/layer_norm"] = int64_t{actor.layers.front().norm};
  if (const RnnSpec& rnn = policy.actor_rnn; !rnn.empty()) {
    attributes["policy/rnn_type"] = std::string(kRnnTypes[static_cast<size_t>(rnn.type)]);
    attributes["policy/rnn_layers"] = static_cast<int64_t>(rnn.layers.size());
    attributes["policy/rnn_hidden_dim"] = int64_t{rnn.width};
  }
  attributes["policy/distribution"] =
      std::visit([](const auto& d) { return std::string(d.kName); }, policy.distribution);
  const auto name = [&](const std::string& what, const std::vector<NamedNumber>& numbers) {
    attributes["policy/" + what + "_names"] = joined(numbers, &NamedNumber::name);
    attributes["policy/" + what + "_units"] = joined(numbers, &NamedNumber::unit);
  };
  name("observation", policy.observations);
  name("action", policy.actions);
  if (!policy.commands.empty()) attributes["policy/command_names"] = join(policy.commands, "\n");

  std::vector<Tensor>& tensors = checkpoint.tensors;
  std::vector<int32_t> steps_before;
  for (const NamedNumber& observation : policy.observations) steps_before.push_back(observation.steps_before);
  tensors.push_back(row("policy/observation/steps_before", DType::i32, steps_before));
  const auto list = [&](const std::string& name, const std::vector<NamedNumber>& all, double NamedNumber::*member) {
    std::vector<double> numbers;
    for (const NamedNumber& number : all) numbers.push_back(number.*member);
    tensors.push_back(row("policy/" + name, DType::f64, numbers));
  };
  list("observation/unit_scale", policy.observations, &NamedNumber::scale);
  list("observation/unit_offset", policy.observations, &NamedNumber::offset);
  list("action/unit_scale", policy.actions, &NamedNumber::scale);
  list("action/unit_offset", policy.actions, &NamedNumber::offset);
  if (std::ranges::any_of(policy.actions, [](const NamedNumber& action) { return action.stiffness > 0; })) {
    list("action/stiffness", policy.actions, &NamedNumber::stiffness);
    list("action/damping", policy.actions, &NamedNumber::damping);
  }
  if (space.discrete) {
    std::vector<int32_t> choices(space.heads.begin(), space.heads.end());
    if (choices.empty()) choices = {space.size};
    tensors.push_back(row("policy/action/choices", DType::i32, choices));
  } else {
    tensors.push_back(row("policy/action/low", DType::f32, space.low));
    tensors.push_back(row("policy/action/high", DType::f32, space.high));
    if (!space.scale.empty()) {
      tensors.push_back(row("policy/action/scale", DType::f32, space.scale));
      tensors.push_back(row("policy/action/offset", DType::f32, space.offset));
    }
  }
  const Tensor *count = checkpoint.find("normalizer/obs/count"), *mean = checkpoint.find("normalizer/obs/mean"),
               *variance = checkpoint.find("normalizer/obs/variance");
  if (!policy.normalizer) return;
  if (!count || count->data.size() != sizeof(double) || !mean || !variance)
    throw Error("the normaliser of the policy of " + policy.task + " has no statistics");
  const NormalizerRule& rule = *policy.normalizer;
  const bool is_empty = numbers<double>(count->data).front() == 0;
  std::vector<float> means, scales;
  for (const double value : numbers<double>(mean->data)) means.push_back(static_cast<float>(value));
  for (const double value : numbers<double>(variance->data)) scales.push_back(is_empty ? 1 : rule.inverse_std(value));
  tensors.push_back(row("policy/normalizer/mean", DType::f32, means));
  tensors.push_back(row("policy/normalizer/scale", DType::f32, scales));
  attributes["policy/normalizer_clip"] = rule.clip > 0 ? rule.clip : std::numeric_limits<double>::infinity();
}

ExportedPolicy exported_policy(const Checkpoint& checkpoint, const std::string& file) {
  const Reader read(checkpoint, file);
  if (!checkpoint.attributes.contains("policy/task"))
    throw UsageError(
        "checkpoint " + file +
        " does not describe its policy (an earlier version of drl saved it): resume its run, which saves a "
        "new checkpoint");
  ExportedPolicy policy;
  policy.task = read.get<std::string>("task");
  policy.source = fmt::format("{}, iteration {}", file, attribute<int64_t>(checkpoint, file, "iteration"));
  policy.dt = read.get<double>("seconds_per_step");
  read.add_operations(policy);
  policy.observation_names = read.names("observation_names", policy.observations());
  policy.observation_units = read.names("observation_units", policy.observations());
  policy.action_names = read.names("action_names", policy.actions());
  policy.action_units = read.names("action_units", policy.actions());
  policy.unit_scale = read.array<double>("action/unit_scale", DType::f64, policy.actions());
  policy.unit_offset = read.array<double>("action/unit_offset", DType::f64, policy.actions());
  if (policy.unit_scale.empty() || policy.unit_offset.empty()) read.refuse("policy/action has no units");
  policy.stiffness = read.array<double>("action/stiffness", DType::f64, policy.actions());
  policy.damping = read.array<double>("action/damping", DType::f64, policy.actions());
  if (policy.stiffness.size() != policy.damping.size()) read.refuse("policy/action has a stiffness without a damping");
  policy.observation_steps_before = read.array<int32_t>("observation/steps_before", DType::i32, policy.observations());
  if (policy.observation_steps_before.empty()) policy.observation_steps_before.resize(policy.observation_names.size());
  if (checkpoint.attributes.contains("policy/command_names"))
    policy.command_names = split(read.get<std::string>("command_names"), '\n');
  return policy;
}

}  // namespace drl
