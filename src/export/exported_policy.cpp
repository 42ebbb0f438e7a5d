#include "export/exported_policy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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
  ExportedLayer layer(int k) const {
    const std::string path = "actor/" + std::to_string(k);
    const Tensor* weight = checkpoint_.find("policy/" + path + "/weight");
    if (!weight || weight->shape.size() != 2) refuse("policy/" + path + "/weight is missing");
    ExportedLayer layer;
    layer.inputs = weight->shape[1], layer.outputs = weight->shape[0];
    layer.weight = array<float>(path + "/weight", DType::f32, layer.inputs * layer.outputs);
    layer.bias = array<float>(path + "/bias", DType::f32, layer.outputs);
    layer.norm_weight = array<float>(path + "/norm/weight", DType::f32, layer.outputs);
    layer.norm_bias = array<float>(path + "/norm/bias", DType::f32, layer.outputs);
    if (layer.inputs < 1 || layer.outputs < 1 || layer.bias.empty() ||
        layer.norm_weight.size() != layer.norm_bias.size())
      refuse("policy/" + path + " lacks numbers");
    return layer;
  }
  ExportedRecurrentLayer recurrent_layer(int64_t k, int64_t gates, int64_t width) const {
    const std::string path = fmt::format("actor/rnn/{}", k);
    const Tensor* weight = checkpoint_.find("policy/" + path + "/input/weight");
    if (!weight || weight->shape.size() != 2 || weight->shape[1] < 1)
      refuse("policy/" + path + "/input/weight is missing");
    ExportedRecurrentLayer layer;
    layer.inputs = weight->shape[1];
    layer.input_weight = array<float>(path + "/input/weight", DType::f32, gates * layer.inputs);
    layer.input_bias = array<float>(path + "/input/bias", DType::f32, gates);
    layer.hidden_weight = array<float>(path + "/hidden/weight", DType::f32, gates * width);
    layer.hidden_bias = array<float>(path + "/hidden/bias", DType::f32, gates);
    if (layer.input_bias.empty() || layer.hidden_weight.empty() || layer.hidden_bias.empty())
      refuse("policy/" + path + " lacks numbers");
    return layer;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError("checkpoint " + file_ + " does not describe its policy (" + why +
                     "): give a checkpoint that drl_train has written");
  }

 private:
  const Checkpoint& checkpoint_;
  const std::string& file_;
};

double activate(const std::string& name, double x) {
  if (name == "elu") return x > 0 ? x : std::expm1(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "silu") return x / (1 + std::exp(-x));
  return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
}

std::vector<double> linear(const std::vector<float>& weight, const std::vector<float>& bias,
                           std::span<const double> x) {
  std::vector<double> y(bias.begin(), bias.end());
  for (size_t i = 0; i < y.size(); ++i) y[i] += std::inner_product(x.begin(), x.end(), &weight[i * x.size()], 0.0);
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Takes a step of recurrent layer k. Returns its output, and replaces its part of the state.
std::vector<double> recur(const ExportedPolicy& policy, size_t k, const std::vector<double>& input,
                          std::span<double> state) {
  const ExportedRecurrentLayer& layer = policy.recurrent[k];
  const auto width = static_cast<size_t>(policy.rnn_width);
  const std::span<double> h = state.subspan(k * static_cast<size_t>(policy.layer_state()), width);
  const std::vector<double> x = linear(layer.input_weight, layer.input_bias, input),
                            y = linear(layer.hidden_weight, layer.hidden_bias, h);
  const auto gate = [&](size_t number, size_t i) { return x[number * width + i] + y[number * width + i]; };
  for (size_t i = 0; i < width; ++i) {
    if (policy.rnn_type == "gru") {
      const double r = sigmoid(gate(0, i)), z = sigmoid(gate(1, i));
      h[i] = (1 - z) * std::tanh(x[2 * width + i] + r * y[2 * width + i]) + z * h[i];
    } else {
      double& c = h.data()[width + i];
      c = sigmoid(gate(1, i)) * c + sigmoid(gate(0, i)) * std::tanh(gate(2, i));
      h[i] = sigmoid(gate(3, i)) * std::tanh(c);
    }
  }
  return {h.begin(), h.end()};
}

std::vector<double> dense(const ExportedLayer& layer, const std::vector<double>& x) {
  std::vector<double> y = linear(layer.weight, layer.bias, x);
  if (layer.norm_weight.empty()) return y;
  const double size = static_cast<double>(y.size()), mean = std::accumulate(y.begin(), y.end(), 0.0) / size;
  double variance = 0;
  for (const double value : y) variance += (value - mean) * (value - mean) / size;
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = (y[i] - mean) / std::sqrt(variance + 1e-5) * layer.norm_weight[i] + layer.norm_bias[i];
  return y;
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Returns the actions for the last layer's outputs.
std::vector<double> bounded(const ExportedPolicy& policy, std::vector<double> out) {
  const size_t size = policy.range.size();
  for (size_t k = 0; k < size; ++k) {
    double at = sigmoid(2 * out[k]);
    if (policy.bounding == Bounding::beta) {
      const double alpha = 1 + softplus(out[k]), beta = 1 + softplus(out[size + k]);
      at = alpha / (alpha + beta);
    }
    out[k] = policy.low[k] + policy.range[k] * at;
  }
  if (size > 0) out.resize(size);
  return out;
}

// Removes the second half of a layer's outputs, which are standard deviations.
void keep_means(ExportedLayer& layer) {
  layer.outputs /= 2;
  layer.weight.resize(static_cast<size_t>(layer.outputs * layer.inputs));
  layer.bias.resize(static_cast<size_t>(layer.outputs));
}

}  // namespace

void describe_policy(Checkpoint& checkpoint, const PolicySpec& policy) {
  const NetSpec& actor = policy.actor_net();
  const ActionSpace& space = policy.action;
  auto& attributes = checkpoint.attributes;
  attributes["policy/task"] = policy.task;
  attributes["policy/seconds_per_step"] = policy.dt;
  attributes["policy/layers"] = int64_t{actor.layers()};
  attributes["policy/activation"] = std::string(kActivations[static_cast<size_t>(actor.activation)]);
  attributes["policy/layer_norm"] = int64_t{actor.layer_norm};
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
  const auto number = [&](const std::string& what, double NamedNumber::*member) {
    std::vector<double> numbers;
    for (const NamedNumber& action : policy.actions) numbers.push_back(action.*member);
    tensors.push_back(row("policy/action/" + what, DType::f64, numbers));
  };
  number("unit_scale", &NamedNumber::scale);
  number("unit_offset", &NamedNumber::offset);
  if (std::ranges::any_of(policy.actions, [](const NamedNumber& action) { return action.stiffness > 0; })) {
    number("stiffness", &NamedNumber::stiffness);
    number("damping", &NamedNumber::damping);
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
  policy.activation = read.get<std::string>("activation");
  if (std::ranges::find(kActivations, policy.activation) == std::end(kActivations))
    read.refuse("its activation " + printable(policy.activation) + " is unknown");
  if (checkpoint.attributes.contains("policy/rnn_type")) {
    policy.rnn_type = read.get<std::string>("rnn_type");
    if (policy.rnn_type != "gru" && policy.rnn_type != "lstm")
      read.refuse("its recurrent layers " + printable(policy.rnn_type) + " are unknown");
    policy.rnn_width = read.get<int64_t>("rnn_hidden_dim");
    if (policy.rnn_width < 1 || policy.rnn_width > 65536) read.refuse("its recurrent layers have no width");
    for (int64_t k = 0; k < read.get<int64_t>("rnn_layers"); ++k)
      policy.recurrent.push_back(read.recurrent_layer(k, policy.rnn_gates() * policy.rnn_width, policy.rnn_width));
    if (policy.recurrent.empty()) read.refuse("it has no recurrent layers");
    for (size_t k = 1; k < policy.recurrent.size(); ++k)
      if (policy.recurrent[k].inputs != policy.rnn_width) read.refuse("its recurrent layers do not fit together");
  }
  const int64_t layers = read.get<int64_t>("layers");
  for (int64_t k = 0; k < layers; ++k) {
    policy.layers.push_back(read.layer(static_cast<int>(k)));
    if (k > 0 && policy.layers[k].inputs != policy.layers[k - 1].outputs) read.refuse("its layers do not fit together");
  }
  if (policy.layers.empty()) read.refuse("it has no layers");
  const NamedDistribution* distribution = find_distribution(read.get<std::string>("distribution"));
  if (!distribution) read.refuse("policy/distribution is unknown");
  if (distribution->outputs == Outputs::means_and_stds) keep_means(policy.layers.back());
  if (distribution->outputs == Outputs::means_before_tanh) policy.bounding = Bounding::squash;
  if (distribution->outputs == Outputs::alphas_and_betas) policy.bounding = Bounding::beta;
  if (!policy.recurrent.empty() && policy.layers.front().inputs != policy.rnn_width)
    read.refuse("its layers do not fit to its recurrent layers");
  for (const int32_t choices : read.array<int32_t>("action/choices", DType::i32)) policy.choices.push_back(choices);
  if (policy.choices.empty()) {
    policy.low = read.array<float>("action/low", DType::f32, policy.actions());
    policy.high = read.array<float>("action/high", DType::f32, policy.actions());
    if (policy.low.empty() || policy.high.empty()) read.refuse("policy/action has neither choices nor bounds");
    for (size_t k = 0; policy.bounding != Bounding::clip && k < policy.low.size(); ++k)
      policy.range.push_back(policy.high[k] - policy.low[k]);
    policy.gain = read.array<float>("action/scale", DType::f32, policy.actions());
    policy.offset = read.array<float>("action/offset", DType::f32, policy.actions());
    if (policy.gain.size() != policy.offset.size()) read.refuse("policy/action has a scale without an offset");
  } else if (std::accumulate(policy.choices.begin(), policy.choices.end(), int64_t{0}) !=
             policy.layers.back().outputs) {
    read.refuse("its choices are not as many as its last layer's outputs");
  }
  policy.mean = read.array<float>("normalizer/mean", DType::f32, policy.observations());
  policy.scale = read.array<float>("normalizer/scale", DType::f32, policy.observations());
  if (std::ranges::any_of(policy.choices, [](int64_t choices) { return choices < 1; }))
    read.refuse("its choices are invalid");
  if (policy.mean.size() != policy.scale.size() ||
      policy.mean.empty() == checkpoint.attributes.contains("policy/normalizer_clip"))
    read.refuse("its normaliser has no mean or no scale");
  if (!policy.mean.empty()) policy.clip = static_cast<float>(read.get<double>("normalizer_clip"));
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

std::vector<double> applied(const ExportedPolicy& policy, std::vector<double> action) {
  for (size_t k = 0; k < action.size(); ++k) {
    action[k] = std::clamp(action[k], double{policy.low[k]}, double{policy.high[k]});
    if (!policy.gain.empty()) action[k] = policy.offset[k] + policy.gain[k] * action[k];
  }
  return action;
}

std::vector<double> act(const ExportedPolicy& policy, std::span<const double> observation, std::span<double> state) {
  DRL_CHECK(static_cast<int64_t>(state.size()) == policy.state_size(), "the state has another size than the policy's");
  std::vector<double> x(observation.begin(), observation.end());
  const double clip = policy.clip;
  for (size_t k = 0; k < policy.mean.size(); ++k)
    x[k] = std::clamp((x[k] - policy.mean[k]) * policy.scale[k], -clip, clip);
  for (size_t k = 0; k < policy.recurrent.size(); ++k) x = recur(policy, k, x, state);
  for (size_t k = 0; k < policy.layers.size(); ++k) {
    x = dense(policy.layers[k], x);
    if (k + 1 < policy.layers.size())
      for (double& value : x) value = activate(policy.activation, value);
  }
  if (policy.choices.empty()) return applied(policy, bounded(policy, std::move(x)));
  std::vector<double> chosen;
  auto first = x.begin();
  for (const int64_t choices : policy.choices) {
    chosen.push_back(static_cast<double>(std::max_element(first, first + choices) - first));
    first += choices;
  }
  return chosen;
}

}  // namespace drl
