#include "physics/program.hpp"

#include <cctype>

namespace drl::robot_compiler {
namespace {

constexpr const char* kAxes[] = {"x", "y", "z"};
constexpr const char* kSpatial[] = {"wx", "wy", "wz", "vx", "vy", "vz"};

}  // namespace

void Program::begin(const std::string& comment, const std::string& signature, bool is_inlined, bool is_wide) {
  functions_.push_back({.comment = comment,
                        .signature = signature,
                        .is_inlined = is_inlined,
                        .is_wide = is_wide,
                        .first_section = sections_});
  functions_.back().group = static_cast<int>(functions_.size());
  section("");
}

void Program::section(const std::string& comment) {
  graph_.begin_section(sections_++);
  functions_.back().sections.push_back(comment);
}

void Program::set(const std::string& target, const Expr& value) {
  functions_.back().statements.push_back({target, value, false, sections_ - 1});
}
void Program::set(const std::string& array, const std::vector<Expr>& values) {
  for (size_t k = 0; k < values.size(); ++k) set(at(array, k), values[k]);
}
void Program::set(const std::string& array, const Vec3& x, int first) {
  for (int k = 0; k < 3; ++k) set(at(array, first + k), x[k]);
}
void Program::set(const std::string& array, const Spatial& x) { set(array, x.angular), set(array, x.linear, 3); }
void Program::add(const std::string& target, const Expr& value) {
  if (!value.is(0)) functions_.back().statements.push_back({target, value, true, sections_ - 1});
}

Expr Program::named(const Expr& x, const std::string& name) {
  graph_.name(x, name);
  return x;
}
Vec3 Program::named(const Vec3& x, const std::string& name) {
  for (int k = 0; k < 3; ++k) named(x[k], name + "_" + kAxes[k]);
  return x;
}
Mat3 Program::named(const Mat3& x, const std::string& name) {
  for (int k = 0; k < 3; ++k) named(x[k], name + "_" + kAxes[k]);
  return x;
}
Spatial Program::named(const Spatial& x, const std::string& name) {
  for (int k = 0; k < 6; ++k) named(x[k], name + "_" + kSpatial[k]);
  return x;
}

Expr Program::keep(const std::string& array, const Expr& x, const std::string& name) {
  if (x.is_known()) return x;
  if (const auto known = kept_.find(x.node()); known != kept_.end()) return known->second;
  named(x, name);
  const std::string place = at("w." + array, arrays_[array]++);
  set(place, x);
  return kept_.emplace(x.node(), input(place, name)).first->second;
}
Spatial Program::keep(const std::string& array, const Spatial& x, const std::string& name) {
  Spatial kept;
  for (int k = 0; k < 6; ++k) kept[k] = keep(array, x[k], name + "_" + kSpatial[k]);
  return kept;
}
Spatial Program::keep_all(const std::string& array, const Spatial& x, const std::string& name) {
  Spatial kept;
  for (int k = 0; k < 6; ++k) {
    const std::string place = at("w." + array, arrays_[array]++);
    set(place, x[k]);
    kept[k] = x[k].is_known() ? x[k] : input(place, name + "_" + kSpatial[k]);
  }
  return kept;
}
Mat3 Program::keep(const std::string& array, const Mat3& x, const std::string& name) {
  Mat3 kept;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) kept[i][k] = keep(array, x[i][k], name + "_" + kAxes[i] + kAxes[k]);
  return kept;
}

std::string identifier(const std::string& name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) text = "n" + text;
  return text;
}

}  // namespace drl::robot_compiler
