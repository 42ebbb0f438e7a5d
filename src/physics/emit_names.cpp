#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"

namespace drl::robot_compiler {
namespace {

// Writes the names of the sensors, or "" if the model has none.
std::string emit_sensor_names(const RobotModel& model) {
  const auto sensor = [](const Sensor& s) {
    return "{" + quoted(s.name) + ", " + std::to_string(s.first) + ", " + std::to_string(s.size) + "}";
  };
  const auto lacking = [](const LackingSensor& s) { return "{" + quoted(s.name) + ", " + quoted(s.why) + "}"; };
  std::string text;
  if (!model.sensors.empty())
    text += wrapped(table("inline constexpr NamedSensor sensors[]", model.sensors, "", sensor), "");
  if (!model.lacking_sensors.empty())
    text += wrapped(table("inline constexpr LackingSensor lacking_sensors[]", model.lacking_sensors, "", lacking), "");
  return text;
}

}  // namespace

std::string emit_names(const RobotModel& model) {
  const auto name = [](const auto& part) { return quoted(part.name); };
  const auto list = [&](const std::string& what, const auto& parts) {
    return wrapped(table("inline constexpr const char* " + what + "_names[]", parts, "\"\"", name), "");
  };
  const auto joint = [](const Joint& j) {
    return "{" + quoted(j.name) + ", " + std::to_string(j.qpos) + ", " + std::to_string(j.dof) + "}";
  };
  return list("body", model.frames) + list("geom", model.geoms) + list("site", model.sites) +
         list("actuator", model.actuators) + emit_sensor_names(model) +
         wrapped(table("inline constexpr NamedJoint joints[]", model.joints, "", joint), "");
}

}  // namespace drl::robot_compiler
