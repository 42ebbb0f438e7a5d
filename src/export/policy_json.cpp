#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "export/exporters.hpp"

namespace drl {
namespace {

using Json = nlohmann::ordered_json;

// Returns the names of the newest observations' quantities, each once: "joint_pos" for "joint_pos[0]" and
// "joint_pos[1]", "command" for "command.lin_vel[0]".
std::vector<std::string> quantities(const ExportedPolicy& policy) {
  std::vector<std::string> all;
  for (size_t k = 0; k < policy.observation_names.size(); ++k) {
    const std::string& name = policy.observation_names[k];
    const std::string quantity = name.substr(0, name.find_first_of("[."));
    if (policy.observation_steps_before[k] == 0 && !contains(all, quantity)) all.push_back(quantity);
  }
  return all;
}

Json named(const std::vector<std::string>& names, const std::vector<std::string>& units) {
  Json list = Json::array();
  for (size_t k = 0; k < names.size(); ++k) {
    Json entry = {{"index", k}, {"name", names[k]}};
    if (!units[k].empty()) entry["unit"] = units[k];
    list.push_back(entry);
  }
  return list;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> metadata(const ExportedPolicy& policy) {
  const auto numbers = [](const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double value : values) texts.push_back(Json(value).dump());
    return join(texts, ",");
  };
  std::vector<std::pair<std::string, std::string>> all = {{"task", policy.task},
                                                          {"source", policy.source},
                                                          {"seconds_per_step", Json(policy.dt).dump()},
                                                          {"observations", join(policy.observation_names, ",")},
                                                          {"action_names", join(policy.action_names, ",")},
                                                          {"action_units", join(policy.action_units, ",")},
                                                          {"action_scale", numbers(policy.unit_scale)}};
  // Deployment code for mjlab's and Unitree's policies reads these keys. An observation has one name there, not one per
  // number.
  all.push_back({"observation_names", join(quantities(policy), ",")});
  if (!policy.command_names.empty()) all.push_back({"command_names", join(policy.command_names, ",")});
  if (contains(policy.action_units, "rad")) {  // the actions are targets of joints
    all.push_back({"joint_names", join(policy.action_names, ",")});
    all.push_back({"default_joint_pos", numbers(policy.unit_offset)});
  }
  if (!policy.recurrent.empty()) all.push_back({"state_size", std::to_string(policy.state_size())});
  if (!policy.stiffness.empty()) {
    all.push_back({"joint_stiffness", numbers(policy.stiffness)});
    all.push_back({"joint_damping", numbers(policy.damping)});
  }
  return all;
}

std::string policy_json(const ExportedPolicy& policy) {
  Json json = {{"task", policy.task},
               {"source", policy.source},
               {"exported_by", std::string("drl ") + kVersion},
               {"seconds_per_step", policy.dt},
               {"observations", named(policy.observation_names, policy.observation_units)},
               {"actions", named(policy.action_names, policy.action_units)}};
  for (size_t k = 0; k < policy.observation_steps_before.size(); ++k)
    json["observations"][k]["steps_before"] = policy.observation_steps_before[k];
  for (size_t k = 0; k < policy.stiffness.size(); ++k)
    json["actions"][k]["controller"] = {{"stiffness", policy.stiffness[k]}, {"damping", policy.damping[k]}};
  if (!policy.command_names.empty()) json["commands"] = policy.command_names;
  for (size_t k = 0; k < policy.unit_scale.size(); ++k)
    if (policy.unit_scale[k] != 1 || policy.unit_offset[k] != 0)
      json["actions"][k]["value"] = {{"offset", policy.unit_offset[k]}, {"scale", policy.unit_scale[k]}};
  json["action_value"] = "in its unit, an action is offset + scale * action (0 and 1 if they are not given)";
  if (policy.choices.empty()) {
    json["action_kind"] = policy.bounding == Bounding::squash ? "continuous: tanh of the means, scaled to the bounds"
                          : policy.bounding == Bounding::beta
                              ? "continuous: means of Beta distributions on the bounds"
                              : "continuous: the means of a Gaussian, clipped to the bounds";
    for (size_t k = 0; k < policy.low.size(); ++k) {
      const float gain = policy.gain.empty() ? 1 : policy.gain[k],
                  offset = policy.offset.empty() ? 0 : policy.offset[k];
      const auto bound = [&](float value) { return std::isfinite(value) ? Json(offset + gain * value) : Json(); };
      const Json low = bound(policy.low[k]), high = bound(policy.high[k]);
      json["actions"][k]["low"] = gain < 0 ? high : low, json["actions"][k]["high"] = gain < 0 ? low : high;
    }
  } else {
    json["action_kind"] = "discrete: the index of the choice with the largest logit";
    for (size_t k = 0; k < policy.choices.size(); ++k) json["actions"][k]["choices"] = policy.choices[k];
  }
  json["normalisation"] =
      policy.mean.empty() ? "none" : "inside the exported files: give them the task's own observations";
  if (!policy.recurrent.empty())
    json["recurrent_layers"] = {{"type", policy.rnn_type},
                                {"number", policy.recurrent.size()},
                                {"outputs", policy.rnn_width},
                                {"state", policy.state_size()}};
  json["hidden_layers"] = Json::array();
  for (size_t k = 0; k + 1 < policy.layers.size(); ++k) json["hidden_layers"].push_back(policy.layers[k].outputs);
  json["activation"] = policy.activation;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string torch_script(const ExportedPolicy& policy) {
  if (!policy.recurrent.empty())
    throw UsageError("--torchscript cannot write a recurrent policy (" + policy.rnn_type +
                     "; its module would need a state): use --onnx or --c");
  std::string body = "def forward(self, observation):\n    x = observation\n";
  const auto line = [&](const std::string& text) { body += "    " + text + "\n"; };
  if (!policy.mean.empty()) {
    line("x = (x - self.mean) * self.scale");
    if (std::isfinite(policy.clip)) line(fmt::format("x = torch.clamp(x, -{0}, {0})", Json(policy.clip).dump()));
  }
  for (size_t k = 0; k < policy.layers.size(); ++k) {
    line(fmt::format("x = torch.linear(x, self.weight{0}, self.bias{0})", k));
    if (!policy.layers[k].norm_weight.empty())
      line(fmt::format("x = torch.layer_norm(x, [{}], self.norm_weight{}, self.norm_bias{}, 1e-5)",
                       policy.layers[k].outputs, k, k));
    if (k + 1 < policy.layers.size()) line("x = torch." + policy.activation + "(x)");
  }
  if (policy.choices.empty()) {
    if (policy.bounding == Bounding::squash) line("x = self.low + self.range * torch.sigmoid(2 * x)");
    if (policy.bounding == Bounding::beta) {
      line("x = torch.softplus(x) + 1");
      line(fmt::format("x = self.low + self.range * (x[:, :{0}] / (x[:, :{0}] + x[:, {0}:]))", policy.actions()));
    }
    line("x = torch.minimum(torch.maximum(x, self.low), self.high)");
    line(policy.gain.empty() ? "return x" : "return self.offset + self.gain * x");
    return body;
  }
  std::vector<std::string> parts;
  int64_t first = 0;
  for (const int64_t choices : policy.choices) {
    parts.push_back(fmt::format("torch.argmax(x[:, {}:{}], 1, True)", first, first + choices));
    first += choices;
  }
  line("return " + (parts.size() == 1 ? parts[0] : "torch.cat([" + join(parts, ", ") + "], 1)"));
  return body;
}

}  // namespace drl
