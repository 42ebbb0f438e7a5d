#include "physics/emit.hpp"

#include <cstdio>

#include "drl/task/abi.hpp"
#include "physics/emit_tables.hpp"
#include "physics/emit_text.hpp"
#include "physics/robot_counts.hpp"

namespace drl::robot_compiler {
namespace {

// Returns a name that is different for each name of a file. The suffix is necessary because the file's name may be a
// keyword of C++.
std::string namespace_of(const RobotModel& model) {
  std::string name = identifier(model.name);
  if (name != model.name) {
    char hash[24];
    std::snprintf(hash, sizeof(hash), "_%016llx", static_cast<unsigned long long>(text_hash(model.name.c_str())));
    name += hash;
  }
  return name + (model.randomised ? "_randomised" : "") + "_robot";
}

std::string specialised(const RobotModel& model) {
  return std::string("template <>\nstruct ") + (model.randomised ? "RandomisedRobot" : "CompiledRobot") +
         "<model_key(" + quoted(model.file) + ")> {\n";
}

// Writes the specialisation of CompiledRobot, by which a task finds the robot.
std::string emit_compiled(const RobotModel& model) {
  const std::string scope = "physics::" + namespace_of(model) + "::";
  std::string text = specialised(model) + "  static constexpr bool is_compiled = true;\n";
  text += "  static constexpr char id[] = " + quoted(model.id) + ";\n";
  std::vector<const char*> parts{"body_names", "geom_names", "site_names", "actuator_names", "joints"};
  if (!model.sensors.empty()) parts.push_back("sensors");
  if (!model.lacking_sensors.empty()) parts.push_back("lacking_sensors");
  for (const char* names : parts)
    text += std::string("  static constexpr auto& ") + names + " = " + scope + names + ";\n";
  return text + "  template <class F>\n  using Physics = " + scope + "Physics<F>;\n};\n\n";
}

}  // namespace

std::string emit_header(const RobotModel& model, const Program& program) {
  std::string text =
      remark("Physics of " + model.file +
             " in lanes (drl/physics/support.hpp), written by drl_robot: edit the model instead.") +
      "\n" +
      remark("Lines are ordered so that few values are live. A comment says what most of the lines below it compute.") +
      "\n";
  text += "#pragma once\n\n#include \"drl/physics/compiled_robot.hpp\"\n#include \"drl/physics/support.hpp\"\n\n";
  text += "namespace drl {\ninline namespace DRL_ISA {\nnamespace physics::" + namespace_of(model) + " {\n\n";
  text += emit_names(model) + "\n" + emit_sizes(model, program) + "\n";
  text += "template <class F>\nstruct Physics : Sizes {\n  using Number = F;\n";
  if (has_exact_distances(model) || program.is_wide)
    text += "  template <class Other>\n  using With = Physics<Other>;\n";
  for (const std::string type : {"State", "Stage", "Forces", "Derived", "Work"})
    text +=
        "  using " + type + " = physics::" + (program.is_wide && type == "Work" ? "WideWork" : type) + "<F, Sizes>;\n";
  for (const Function& function : program.functions()) text += "\n" + emit_function(program, function).text;
  text += "};\n\n}  // namespace physics::" + namespace_of(model) + "\n}  // namespace DRL_ISA\n\n";
  text += "// The robot for function objects, whose types must be the same for all instruction sets.\n";
  text += "struct " + namespace_of(model) + " {\n  template <class F>\n";
  text += "  using Physics = physics::" + namespace_of(model) + "::Physics<F>;\n};\n\n";
  return text + emit_compiled(model) + "}  // namespace drl\n";
}

std::string why_not(const RobotModel& model) {
  const std::vector<std::string> lines = unsupported_lines(model);
  const size_t others = lines.size() - 1;
  return "drl_robot cannot compile " + lines.front() + (others > 0 ? ", and " + std::to_string(others) + " more" : "");
}

std::string emit_why_not(const RobotModel& model) {
  return remark(model.file + " cannot be compiled; written by drl_robot.") + "\n#pragma once\n\n" +
         "#include \"drl/physics/compiled_robot.hpp\"\n\nnamespace drl {\n\n" + specialised(model) +
         "  static constexpr bool is_compiled = false;\n  static constexpr char why_not[] =\n      " +
         quoted(why_not(model)) + ";\n};\n\n}  // namespace drl\n";
}

}  // namespace drl::robot_compiler
