#include "random_tree.hpp"

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <sstream>

#include "drl/lanes/philox.hpp"

namespace drl::test {
namespace {

class Writer {
 public:
  Writer(const RobotKind& kind, uint64_t number) : kind_(kind), number_(number) {}

  std::string write() {
    bodies_ = 2 + below(5);
    power_ = chance(0.7) ? 2 : 1;
    out_ << "<mujoco model=\"tree\">\n<compiler angle=\"radian\" autolimits=\"true\"/>\n";
    write_options();
    out_ << "<worldbody>\n";
    write_world();
    for (int k = 0; k < bodies_; ++k) parents_.push_back(k == 0 || chance(0.15) ? -1 : below(k));
    for (int k = 0; k < bodies_; ++k)
      if (parents_[static_cast<size_t>(k)] < 0) write_body(k);
    out_ << "</worldbody>\n";
    write_touching();
    if (kind_.has_tendons) write_tendons();
    write_actuators();
    if (kind_.has_equalities) write_equalities();
    if (kind_.has_sensors) write_sensors();
    out_ << "</mujoco>\n";
    return out_.str();
  }

 private:
  // --- Draws ---
  double uniform(double low, double high) {
    return low +
           (high - low) * static_cast<double>(uniform01(random_bits(17, Purpose::benchmark, number_, draws_++)[0]));
  }
  bool chance(double share) { return uniform(0, 1) < share; }
  int below(int n) { return static_cast<int>(uniform(0, n)) % n; }

  std::string any(std::initializer_list<const char*> of) {
    return std::data(of)[static_cast<size_t>(below(static_cast<int>(of.size())))];
  }

  // --- Text ---
  static std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.5g", x);
    return text;
  }
  // Returns an attribute like name="1 2 3".
  static std::string list(const std::string& name, std::initializer_list<double> numbers) {
    std::string text;
    for (const double x : numbers) text += (text.empty() ? "" : " ") + number(x);
    return " " + name + "=\"" + text + "\"";
  }
  std::string between(const std::string& name, double low, double high) { return list(name, {uniform(low, high)}); }
  std::string maybe(double share, const std::string& attribute) { return chance(share) ? attribute : ""; }
  // Returns a vector attribute, without a y component if the robot moves in a plane.
  std::string vector(const std::string& name, double size) {
    const double x = uniform(-size, size), y = uniform(-size, size), z = uniform(-size, size);
    return list(name, {x, is_planar() ? 0 : y, z});
  }
  // Returns a stiffness or damping, sometimes with a square and a cube.
  std::string profile(const std::string& name, double low, double high) {
    const double linear = uniform(low, high);
    if (!mujoco::since(3, 11) || chance(0.6)) return list(name, {linear});
    return list(name, {linear, linear * uniform(0, 0.05), linear * uniform(0, 0.05)});
  }
  static std::string named(const std::string& kind, int k) { return " name=\"" + kind + std::to_string(k) + "\""; }
  bool is_planar() const { return kind_.edges == 3; }

  // Returns the attributes of a constraint's softness.
  std::string softness(const std::string& of, double power) {
    std::string text;
    if (chance(0.3))
      text += chance(0.7) ? list("solref" + of, {uniform(0.01, 0.05), uniform(0.5, 1.5)})
                          : list("solref" + of, {-uniform(500, 5000), -uniform(10, 100)});
    if (chance(0.3) || power == 1)
      text +=
          list("solimp" + of, {uniform(0.7, 0.9), uniform(0.9, 0.97), uniform(0.001, 0.02), uniform(0.2, 0.8), power});
    return text;
  }

  void write_options() {
    out_ << "<option" << list("timestep", {kind_.microseconds / 1e6}) << " integrator=\""
         << (kind_.runge_kutta   ? "RK4"
             : kind_.has_sensors ? any({"Euler", "implicitfast", "implicit"})
                                 : "Euler")
         << "\"";
    if (kind_.has_sensors) out_ << maybe(0.15, " noslip_iterations=\"3\"");
    is_elliptic_ = kind_.has_sensors && chance(0.5);
    if (is_elliptic_) out_ << " cone=\"elliptic\"";
    out_ << maybe(0.2, vector("gravity", 10)) << maybe(0.2, between("impratio", 0.5, 4));
    if (!kind_.has_sensors && chance(0.4)) {
      out_ << maybe(0.8, between("density", 0.5, 100)) << maybe(0.8, between("viscosity", 0.01, 1));
      out_ << maybe(0.5, vector("wind", 3));
    }
    out_ << (chance(0.15) ? "><flag eulerdamp=\"disable\"/></option>\n" : "/>\n");
    if (!kind_.has_dry_friction) out_ << "<option><flag frictionloss=\"disable\"/></option>\n";
  }

  // Writes the static geoms: a floor, and sometimes a post for robots with pairs.
  void write_world() {
    if (chance(0.9)) {
      out_ << "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\"" << (kind_.has_pairs ? "" : " conaffinity=\"0\"");
      out_ << list("pos", {0, 0, uniform(-0.3, 0.2)}) << touch() << "/>\n";
    }
    if (!kind_.has_pairs || !chance(0.4)) return;
    const bool is_on_body = number_ % 2 == 1;
    out_ << (is_on_body ? "<body name=\"ground\" pos=\"0.1 0.2 0.3\">\n" : "");
    write_geom("post", false);
    out_ << (is_on_body ? "</body>\n" : "");
  }
  // Returns a geom's contact attributes.
  std::string touch() {
    std::string text = kind_.has_sensors ? friction_and_gap() : maybe(0.6, between("friction", 0.2, 1.5));
    text += softness("", power_);
    if (!kind_.has_sensors) text += maybe(0.3, between("margin", 0, 0.02));
    text += maybe(0.2, between("solmix", 0.1, 3));
    if (!kind_.has_sensors) text += maybe(0.3, list("condim", {1}));
    text += maybe(0.15, list("priority", {1.0 + below(2)}));
    return text;
  }
  std::string friction_and_gap() {
    constexpr double kDimensions[] = {1, 3, 3, 4, 6};
    std::string text = list("condim", {kDimensions[below(5)]});
    if (chance(0.6)) text += list("friction", {uniform(0.2, 1.5), uniform(0.001, 0.1), uniform(0.0001, 0.05)});
    if (const double margin = uniform(0, 0.05); chance(0.4))
      text += list("margin", {margin}) + maybe(0.7, list("gap", {margin * uniform(0, 1.2)}));
    return text;
  }
  std::string turn() {
    const std::string free = list("euler", {uniform(-3, 3), uniform(-3, 3), uniform(-3, 3)});
    return is_planar() ? list("euler", {0, uniform(-3, 3), 0}) : maybe(0.8, free);
  }
  void write_geom(const std::string& name, bool moves) {
    const bool is_ball = chance(0.3);
    const double radius = uniform(0.04, 0.1);
    if (kind_.has_sensors && !is_planar() && chance(0.3)) {
      out_ << "<geom name=\"" << name << "\" type=\"box\"" << list("size", {radius, uniform(0.04, 0.2), 0.08});
    } else {
      out_ << "<geom name=\"" << name << "\" type=\"" << (is_ball ? "sphere\"" : "capsule\"");
      out_ << (is_ball ? list("size", {radius}) : list("size", {radius, uniform(0.05, 0.25)}));
    }
    out_ << vector("pos", moves ? 0.15 : 0.6) << turn() << between("density", 300, 2000);
    if (!kind_.has_pairs) out_ << " contype=\"0\"";
    if (kind_.has_pairs)
      for (const char* bits : {"contype", "conaffinity"}) out_ << maybe(0.3, list(bits, {1.0 + below(3)}));
    out_ << touch() << "/>\n";
  }

  void write_body(int k) {
    const bool is_root = parents_[static_cast<size_t>(k)] < 0;
    out_ << "<body" << named("body", k);
    const auto place = [&] {
      return list("pos", {uniform(-0.5, 0.5), is_planar() ? 0 : uniform(-0.5, 0.5), uniform(0.1, 0.6)});
    };
    out_ << (is_root ? place() : vector("pos", 0.3)) << (is_planar() ? "" : maybe(0.5, turn())) << ">\n";
    if (is_root && !is_planar() && chance(0.5))
      write_free_joint();
    else
      for (int j = is_root ? 1 + below(3) : chance(0.15) ? 0 : 1 + below(2); j > 0; --j) write_joint(j < 3);
    if (chance(0.2) && !is_planar()) write_inertia();
    for (int g = chance(0.3) ? 2 : 1; g > 0; --g)
      write_geom("geom" + std::to_string(geoms_++), true), owners_.push_back(k);
    out_ << maybe(0.2, "<site" + vector("pos", 0.2) + "/>\n");
    if (kind_.has_sensors) {
      out_ << "<site" << named("site", k) << vector("pos", 0.2) << turn();
      out_ << list("size", {uniform(0.1, 0.3), uniform(0.05, 0.2), 0.1}) << " type=\""
           << any({"sphere", "box", "capsule"}) << "\"/>\n";
    }
    if (kind_.has_tendons) {
      out_ << "<site" << named("hook", k) << vector("pos", 0.2) << "/>\n";
      out_ << "<geom" << named("drum", k) << " type=\"sphere\"" << between("size", 0.03, 0.1) << vector("pos", 0.1)
           << " contype=\"0\" conaffinity=\"0\"/>\n";
    }
    for (int child = k + 1; child < bodies_; ++child)
      if (parents_[static_cast<size_t>(child)] == k) write_body(child);
    out_ << "</body>\n";
  }
  void write_free_joint() {
    out_ << "<joint" << named("joint", joints_++) << " type=\"free\"" << maybe(0.3, between("damping", 0.0005, 0.01));
    out_ << maybe(0.3, between("armature", 0.001, 0.1)) << maybe(0.3, dry_friction(2)) << "/>\n";
  }
  // Spreads the friction over three orders of magnitude up to `most`.
  std::string dry_friction(double most) {
    return list("frictionloss", {most * std::pow(10, uniform(-3, 0))}) + softness("friction", 1 + below(2));
  }
  // No two joints of a body have the same motion; otherwise one of them would have no mass.
  void write_joint(bool may_slide) {
    const bool slides = may_slide && chance(0.3);
    out_ << "<joint" << named("joint", joints_) << (slides ? " type=\"slide\"" : "");
    if (is_planar())
      out_ << (slides ? vector("axis", 1) : " axis=\"0 1 0\"");
    else
      out_ << (!slides && chance(0.3) ? list("axis", {1.0 * below(2), 0, 1}) : vector("axis", 1));
    out_ << vector("pos", 0.1) << maybe(0.2, between("ref", -0.5, 0.5));
    // Driven joints have an armature: without it, a light body that is driven would be unstable.
    const bool is_driven = chance(0.7);
    if (is_driven) out_ << between("armature", 0.03, 0.2) << maybe(0.7, profile("damping", 0.01, 1));
    if (!is_driven) out_ << maybe(0.3, profile("damping", 0.0001, 0.005));
    // Without it, closed chains of light bodies would make libmujoco's forces inexact, and so would tendons.
    if (!is_driven && (kind_.has_equalities || kind_.has_tendons)) out_ << between("armature", 0.01, 0.1);
    if (is_driven) driven_.push_back(joints_);
    out_ << maybe(0.4, profile("stiffness", 0.1, is_driven ? 20 : 0.5)) << maybe(0.2, between("springref", -0.5, 0.5));
    if (chance(0.5)) {
      out_ << list("range", {uniform(-1.2, -0.1), uniform(0.1, 1.2)}) << softness("limit", 1 + below(2));
      out_ << maybe(0.2, between("margin", 0, 0.05));
    }
    out_ << maybe(0.2, list("actuatorfrcrange", {uniform(-3, -1), uniform(1, 3)}));
    out_ << maybe(0.4, dry_friction(is_driven ? 10 : 1)) << "/>\n";
    joints_ += 1;
  }
  // Gives a body an inertia that differs from that of its geoms. The sum of two moments is at least the third.
  void write_inertia() {
    const double mass = uniform(0.5, 3), a = uniform(0.002, 0.02), b = uniform(0.002, 0.02);
    out_ << "<inertial" << list("mass", {mass}) << vector("pos", 0.1) << turn();
    out_ << list("diaginertia", {a, b, uniform(std::abs(a - b) + 1e-4, a + b - 1e-4)}) << "/>\n";
  }

  // Writes explicit pairs and exclusions.
  void write_touching() {
    if (!kind_.has_pairs) return;
    out_ << "<contact>\n";
    const int a = below(bodies_), b = below(bodies_);
    if (a != b && chance(0.5)) out_ << "<exclude body1=\"body" << a << "\" body2=\"body" << b << "\"/>\n";
    const int first = below(geoms_), second = below(geoms_);
    if (owners_[static_cast<size_t>(first)] != owners_[static_cast<size_t>(second)] && chance(0.5)) {
      const double mu = uniform(0.2, 1);
      out_ << "<pair geom1=\"geom" << first << "\" geom2=\"geom" << second << "\"" << list("friction", {mu, mu});
      out_ << list("condim", {chance(0.5) ? 1.0 : 3.0}) << softness("", power_) << "/>\n";
    }
    out_ << "</contact>\n";
  }

  // Returns the attributes of a tendon's forces: weak ones, so that light bodies stay stable.
  std::string pull(double low, double high) {
    std::string text = maybe(0.5, profile("stiffness", 0.1, 3)) + maybe(0.4, profile("damping", 0.001, 0.05));
    text += maybe(0.3, list("springlength", {low, high})) + maybe(0.3, between("armature", 0.001, 0.02));
    if (chance(0.5)) {
      text += list("range", {low, high}) + list("solreflimit", {uniform(0.04, 0.2), uniform(0.7, 1.5)});
      text += maybe(0.3, between("margin", 0, 0.05));
    }
    if (chance(0.4)) text += list("frictionloss", {uniform(0.01, 1)}) + list("solreffriction", {uniform(0.04, 0.2), 1});
    return text +
           maybe(0.3, " actuatorfrclimited=\"true\"" + list("actuatorfrcrange", {-uniform(0.2, 1), uniform(0.2, 1)}));
  }
  // Writes a tendon of two joints, and one between bodies that goes around a geom or over a pulley.
  void write_tendons() {
    out_ << "<tendon>\n";
    if (driven_.size() > 1) {
      out_ << "<fixed name=\"tendon0\"" << pull(-uniform(0.1, 1), uniform(0.1, 1)) << ">";
      for (const size_t k : {size_t{0}, driven_.size() - 1})
        out_ << "<joint joint=\"joint" << driven_[k] << "\"" << between("coef", -2, 2) << "/>";
      out_ << "</fixed>\n";
      tendons_ = 1;
    }
    const int first = below(bodies_), second = (first + 1 + below(bodies_ - 1)) % bodies_;
    const auto hook = [&](int body) { return "<site site=\"hook" + std::to_string(body) + "\"/>"; };
    const bool goes_around = chance(0.6);
    std::string forces = pull(uniform(0.05, 0.2), uniform(0.3, 0.8));
    if (goes_around && forces.find("armature") != std::string::npos) forces = "";  // libmujoco refuses it
    out_ << "<spatial name=\"tendon" << tendons_++ << "\"" << forces << ">" << hook(first);
    if (goes_around) out_ << "<geom geom=\"drum" << below(bodies_) << "\"/>";
    out_ << hook(second);
    if (chance(0.3))
      out_ << "<pulley divisor=\"2\"/>" << hook(second) << hook((second + 1 + below(bodies_ - 1)) % bodies_);
    out_ << "</spatial>\n</tendon>\n";
  }
  void write_activation() {
    const char* const types[] = {"integrator", "filter", "filterexact"};
    out_ << " dyntype=\"" << types[below(3)] << "\"" << between("dynprm", 0.01, 0.2);
    out_ << maybe(0.3, list("actrange", {-uniform(0.1, 0.5), uniform(0.1, 0.5)})) << maybe(0.3, " actearly=\"true\"");
  }

  void write_actuators() {
    out_ << "<actuator>\n";
    for (const int joint : driven_) {
      if (chance(0.3)) continue;
      const double scale = uniform(0.5, 5);
      const int type = below(4);
      const char* const types[] = {"motor", "position", "velocity", "general"};
      out_ << "<" << types[type] << " joint=\"joint" << joint << "\" ctrlrange=\"-1 1\"";
      out_ << maybe(0.2, " ctrllimited=\"false\"") << maybe(0.5, between("gear", 0.5, 3));
      if (type == 1) out_ << list("kp", {scale}) << maybe(0.5, between("kv", 0.01, 0.2));
      if (type == 2) out_ << list("kv", {0.1 * scale});
      if (type == 3) {
        out_ << list("gainprm", {scale}) << " biastype=\"affine\"";
        out_ << list("biasprm", {uniform(-1, 1), -scale, -0.1 * scale});
      }
      if (type == 3 && kind_.has_tendons) write_activation();
      out_ << maybe(0.3, list("forcerange", {-uniform(0.5, 2), uniform(0.5, 2)})) << "/>\n";
    }
    for (int t = 0; t < tendons_; ++t) {
      out_ << "<general tendon=\"tendon" << t << "\" ctrlrange=\"-1 1\" biastype=\"affine\"";
      out_ << between("gainprm", 0.1, 1) << list("biasprm", {0, uniform(-1, 0), uniform(-0.02, 0)});
      if (chance(0.5)) write_activation();
      out_ << "/>\n";
    }
    out_ << "</actuator>\n";
  }

  // Returns the attributes of an equality constraint: slower than others, so that closed chains of light bodies stay
  // stable.
  std::string softness_of_equality() {
    return list("solref", {uniform(0.04, 0.2), uniform(0.7, 1.5)}) +
           list("solimp",
                {uniform(0.5, 0.9), uniform(0.8, 0.95), uniform(0.001, 0.2), uniform(0.2, 0.8), 1.0 + below(2)});
  }
  // Writes a weld or a connect of two bodies, or of a body and the world, and couples joints.
  void write_equalities() {
    out_ << "<equality>\n";
    const int first = below(bodies_), second = (first + 1 + below(bodies_ - 1)) % bodies_;
    const bool is_weld = chance(0.5);
    out_ << (is_weld ? "<weld" : "<connect") << " body1=\"body" << first << "\"";
    if (chance(0.7)) out_ << " body2=\"body" << second << "\"";
    out_ << vector("anchor", 0.2) << softness_of_equality();
    if (is_weld) {
      out_ << maybe(0.7, between("torquescale", 0.2, 2));
      if (chance(0.5))
        out_ << list("relpose", {uniform(-0.3, 0.3), 0, uniform(-0.3, 0.3), uniform(-1, 1), is_planar() ? 0 : 0.3,
                                 uniform(-1, 1), 0});
    }
    out_ << "/>\n";
    for (size_t k = 0; k < driven_.size(); k += 2) {
      out_ << "<joint joint1=\"joint" << driven_[k] << "\"";
      if (k + 1 < driven_.size()) out_ << " joint2=\"joint" << driven_[k + 1] << "\"";
      out_ << list("polycoef",
                   {uniform(-0.3, 0.3), uniform(-2, 2), uniform(-1, 1), uniform(-0.5, 0.5), uniform(-0.2, 0.2)});
      out_ << softness_of_equality() << "/>\n";
    }
    out_ << "</equality>\n";
  }

  // --- Sensors ---
  std::string body() { return "body" + std::to_string(below(bodies_)); }
  std::string geom() { return "geom" + std::to_string(below(geoms_)); }
  std::string site() { return "site" + std::to_string(below(bodies_)); }
  static std::string attribute(const std::string& name, const std::string& value) {
    return " " + name + "=\"" + value + "\"";
  }
  // Returns the attributes that name an object, whose names begin with `prefix`.
  std::string object(const std::string& prefix) {
    const std::string type = any({"body", "xbody", "geom", "site"});
    return attribute(prefix + "type", type) + attribute(prefix + "name", type == "geom"   ? geom()
                                                                         : type == "site" ? site()
                                                                                          : body());
  }
  void write_sensor(const std::string& type, const std::string& attributes) {
    const bool is_unit = type.ends_with("axis") || type.ends_with("quat");
    out_ << "<" << type << named("sensor", sensors_++) << attributes
         << (is_unit ? "" : maybe(0.15, between("cutoff", 0.1, 2))) << "/>\n";
  }
  void write_contact_sensor() {
    std::string text, data = "found";
    const std::string side = any({"geom", "body", "subtree"}),
                      reduce = any({"none", "mindist", "maxforce", "netforce"});
    for (const char* number : {"1", "2"})
      if (chance(0.6)) text += attribute(side + number, side == "geom" ? geom() : body());
    for (const char* field : {" force", " dist", " normal", " tangent"}) {
      const bool is_shown = chance(0.5), turns = field == std::string(" force") || field == std::string(" tangent");
      if (is_shown && !(is_elliptic_ && turns && reduce != "netforce")) data += field;
    }
    out_ << "<contact" << named("sensor", sensors_++) << text << attribute("data", data) << attribute("reduce", reduce)
         << "/>\n";
  }
  // Writes sensors that lanes compute, also if all numbers of the model vary.
  void write_sensors() {
    out_ << "<sensor>\n";
    for (int k = 0; k < 4; ++k) {
      // The force between a free body and the world is 0: what remains of large forces is rounding.
      const int at = below(bodies_);
      const std::string shown = parents_[static_cast<size_t>(at)] < 0 ? "gyro" : any({"force", "torque"});
      write_sensor(
          chance(0.3) ? shown : any({"gyro", "velocimeter", "accelerometer", "magnetometer", "touch", "rangefinder"}),
          attribute("site", "site" + std::to_string(at)));
      write_sensor(
          any({"framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel"}),
          object("obj") + maybe(0.5, object("ref")));
      write_contact_sensor();
    }
    write_sensor(any({"framelinacc", "frameangacc"}), attribute("objtype", "xbody") + attribute("objname", body()));
    write_sensor(any({"subtreecom", "subtreelinvel", "subtreeangmom"}), attribute("body", body()));
    for (const int joint : driven_)
      if (chance(0.3))
        write_sensor(any({"jointpos", "jointvel", "jointactuatorfrc"}),
                     attribute("joint", "joint" + std::to_string(joint)));
    for (int t = 0; t < tendons_; ++t)
      write_sensor(any({"tendonpos", "tendonvel", "tendonactuatorfrc"}),
                   attribute("tendon", "tendon" + std::to_string(t)));
    write_sensor(any({"e_potential", "e_kinetic", "clock"}), "");
    out_ << "</sensor>\n";
  }

  RobotKind kind_;
  uint64_t number_;
  int draws_ = 0;
  int bodies_ = 0, joints_ = 0, geoms_ = 0, tendons_ = 0, sensors_ = 0;
  bool is_elliptic_ = false;
  double power_ = 2;                            // of the solimp of all contacts
  std::vector<int> parents_, driven_, owners_;  // parents of bodies; joints with a motor; bodies of geoms
  std::ostringstream out_;
};

}  // namespace

std::string random_tree(const RobotKind& kind, uint64_t number) { return Writer(kind, number).write(); }

}  // namespace drl::test
