#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"

namespace drl::robot_compiler {
namespace {

// Writes an array of the texts item(x) of a model's parts.
template <class Parts, class Item>
std::string emit_parts(const std::string& declaration, const Parts& parts, const Item& item, const char* empty = "") {
  std::vector<std::string> items;
  for (const auto& part : parts) items.push_back(item(part));
  return wrapped(array("inline constexpr " + declaration + "[]", items, empty), "");
}

}  // namespace

std::string emit_names(const RobotModel& model) {
  const auto list = [&](const std::string& what, const auto& parts) {
    const auto name = [](const auto& part) { return quoted(part.name); };
    return emit_parts("const char* " + what + "_names", parts, name, "\"\"");
  };
  std::string text = list("body", model.frames) + list("geom", model.geoms) + list("site", model.sites) +
                     list("actuator", model.actuators);
  if (!model.sensors.empty())
    text += emit_parts("NamedSensor sensors", model.sensors,
                       [](const Sensor& s) { return braced(quoted(s.name), s.first, s.size); });
  if (!model.lacking_sensors.empty())
    text += emit_parts("LackingSensor lacking_sensors", model.lacking_sensors,
                       [](const LackingSensor& s) { return braced(quoted(s.name), quoted(s.why)); });
  return text + emit_parts("NamedJoint joints", model.joints,
                           [](const Joint& j) { return braced(quoted(j.name), j.qpos, j.dof); });
}

}  // namespace drl::robot_compiler
