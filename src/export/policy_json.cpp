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

void describe_bound(const op::Bound& bound, Json& json) {
  json["action_kind"] =
      bound.outputs == Outputs::means_before_tanh  ? "continuous: tanh of the means, scaled to the bounds"
      : bound.outputs == Outputs::alphas_and_betas ? "continuous: means of Beta distributions on the bounds"
                                                   : "continuous: the means of a Gaussian, clipped to the bounds";
  for (size_t k = 0; k < bound.low.size(); ++k) {
    const float gain = bound.gain.empty() ? 1 : bound.gain[k], offset = bound.offset.empty() ? 0 : bound.offset[k];
    const auto value = [&](float of) { return std::isfinite(of) ? Json(offset + gain * of) : Json(); };
    const Json low = value(bound.low[k]), high = value(bound.high[k]);
    json["actions"][k]["low"] = gain < 0 ? high : low, json["actions"][k]["high"] = gain < 0 ? low : high;
  }
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
  if (policy.is_recurrent()) all.push_back({"state_size", std::to_string(policy.state_size())});
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
  if (const auto* bound = policy.find<op::Bound>()) describe_bound(*bound, json);
  if (const auto* heads = policy.find<op::ArgMax>()) {
    json["action_kind"] = "discrete: the index of the choice with the largest logit";
    for (size_t k = 0; k < heads->choices.size(); ++k) json["actions"][k]["choices"] = heads->choices[k];
  }
  json["normalisation"] =
      policy.find<op::Normalise>() ? "inside the exported files: give them the task's own observations" : "none";
  if (const auto* layer = policy.find<op::Recurrent>())
    json["recurrent_layers"] = {{"type", layer->type},
                                {"number", policy.all<op::Recurrent>().size()},
                                {"outputs", layer->width},
                                {"state", policy.state_size()}};
  json["hidden_layers"] = Json::array();
  std::vector<const op::Affine*> hidden = policy.all<op::Affine>();
  hidden.pop_back();
  for (const op::Affine* layer : hidden) json["hidden_layers"].push_back(layer->outputs);
  const auto* activation = policy.find<op::Activation>();
  json["activation"] = activation ? activation->name : "none";
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace drl
