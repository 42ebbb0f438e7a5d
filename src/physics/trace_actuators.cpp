#include <algorithm>
#include <cmath>
#include <numbers>

#include "drl/physics/mujoco_version.hpp"
#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

using Range = std::optional<std::array<double, 2>>;
Expr limited(const Expr& x, const Range& range) { return range ? clamp(x, (*range)[0], (*range)[1]) : x; }
// Returns an error of a circle with this circumference, from -period / 2 to period / 2.
Expr around(const Expr& error, double period) {
  const Expr angle = Expr(2 * std::numbers::pi / period) * error, sine = sin(angle);
  const Expr size = Expr(period / (2 * std::numbers::pi)) * arc_tangent(max(sine, -sine), cos(angle));
  const Expr turned = select_less(sine, 0, -size, size);
  return select_less(period / 2, max(error, -error), turned, error);
}
// Returns a damping, or 0 if the force is not within the range.
Expr damping_within(const auto& range, const Expr& force, const Expr& damping) {
  if (!range || damping.is(0)) return damping;
  return select_less((*range)[0], force, select_less(force, (*range)[1], damping, 0), 0);
}

// How an actuator moves the robot: its length, its velocity, and the derivatives of its length along qvel in the
// solver's axes, all with the gear.
using Transmission = TendonPath;

// Returns a muscle's active force at a dimensionless length, relative to the largest.
Expr force_at_length(const Muscle& muscle, const Expr& length) {
  const double low = 0.5 * (muscle.shortest + 1), high = 0.5 * (1 + muscle.longest);
  const auto square = [](const Expr& over, double by) {
    const Expr x = over / Expr(std::max(1e-15, by));
    return Expr(0.5) * (x * x);
  };
  const Expr rising = select_less(low, length, Expr(1) - square(Expr(1) - length, 1 - low),
                                  square(length - Expr(muscle.shortest), low - muscle.shortest));
  const Expr falling = select_less(high, length, square(Expr(muscle.longest) - length, muscle.longest - high),
                                   Expr(1) - square(length - Expr(1), high - 1));
  const Expr inside = select_less(1, length, falling, rising);
  return select_less(length, muscle.shortest, 0, select_less(muscle.longest, length, 0, inside));
}
// Returns a muscle's force at a dimensionless velocity, relative to that at rest, or the derivative of it.
Expr force_at_velocity(const Muscle& muscle, const Expr& velocity, bool is_derivative) {
  const double most = muscle.lengthening - 1, divisor = std::max(1e-15, most);
  const Expr shortening = velocity + Expr(1), rest = Expr(most) - velocity;
  const Expr first = is_derivative ? Expr(2) * shortening : shortening * shortening;
  const Expr second = is_derivative ? (2 / divisor) * rest : Expr(muscle.lengthening) - (1 / divisor) * (rest * rest);
  const Expr last = is_derivative ? 0 : muscle.lengthening;
  return select_less(-1, velocity, select_less(0, velocity, select_less(most, velocity, last, second), first), 0);
}
Expr length_of(const Muscle& muscle, const Expr& length) {
  return Expr(muscle.from) + (length - Expr(muscle.start)) / Expr(muscle.unit);
}
// Returns a muscle's gain, or the derivative of it by the velocity.
Expr gain_of(const Muscle& muscle, const TendonPath& of, bool is_derivative) {
  const double fastest = std::max(1e-15, muscle.unit * muscle.fastest);
  const double force = is_derivative ? muscle.force / fastest : muscle.force;
  return Expr(-force) * (force_at_length(muscle, length_of(muscle, of.length)) *
                         force_at_velocity(muscle, of.velocity / Expr(fastest), is_derivative));
}
Expr bias_of(const Muscle& muscle, const TendonPath& of) {
  const Expr length = length_of(muscle, of.length);
  const double high = 0.5 * (1 + muscle.longest), width = std::max(1e-15, high - 1);
  const Expr x = (length - Expr(1)) / Expr(width), beyond = Expr(0.5) + (length - Expr(high)) / Expr(width);
  const Expr stretched = select_less(high, length, beyond, Expr(0.5) * (x * x));
  return Expr(-muscle.force * muscle.passive) * select_less(1, length, stretched, 0);
}
// Returns the rate of change of a muscle's activation.
Expr muscle_rate(const Actuator& actuator, const Expr& control, const Expr& act) {
  const auto [activation, deactivation, width] = actuator.times;
  const Expr share = Expr(0.5) + Expr(1.5) * clamp(act, 0, 1), excess = clamp(control, 0, 1) - act;
  const Expr fast = Expr(activation) * share, slow = Expr(deactivation) / share;
  Expr time = select_less(0, excess, fast, slow);
  if (width >= 1e-15) {
    const Expr x = clamp(excess / Expr(width) + Expr(0.5), 0, 1);
    time = slow + (fast - slow) * (x * x * x * (Expr(3) * x * (Expr(2) * x - Expr(5)) + Expr(10)));
  }
  return excess / max(time, 1e-15);
}

// A tendon's force is at its limit if it is as near to it as this, relative to the limit.
constexpr double kSaturated = 1e-6;

class Actuators {
 public:
  Actuators(const RobotModel& model, const Kinematics& kinematics, Program& p) : model_(model), k_(kinematics), p_(p) {}

  void trace(Dynamics& d) const {
    std::vector<Expr> damping(model_.dofs.size());  // of actuators on joints
    for (size_t a = 0; a < model_.actuators.size(); ++a) {
      const Actuator& actuator = model_.actuators[a];
      d.actuator_force.push_back(p_.named(limited_force(a), identifier(actuator.name) + "_force"));
      add(a, d.actuator_force.back(), d, damping);
    }
    for (const Joint& joint : model_.joints) {
      Expr& torque = d.actuator_torque[joint.dof];
      d.damping.diagonal[joint.dof] += damping_within(joint.force_range, torque, damping[joint.dof]);
      torque = limited(torque, joint.force_range);
    }
  }

  // Returns the rate of change of an actuator's activation.
  Expr rate(size_t a) const {
    const Actuator& actuator = model_.actuators[a];
    const Expr control = limited(this->control(a), actuator.control_range), act = activation(actuator);
    switch (actuator.dynamics) {
      case Actuator::integrator:
        return control;
      case Actuator::filter:
      case Actuator::exact_filter:
        return (control - act) / Expr(actuator.times[0]);
      case Actuator::muscle:
        return muscle_rate(actuator, control, act);
      default:
        return 0;
    }
  }
  // Returns the activation after a time step with a rate of change.
  Expr next_activation(const Actuator& actuator, const Expr& rate) const {
    const double time = actuator.times[0], step = model_.timestep;
    const double factor = actuator.dynamics == Actuator::exact_filter ? time * (1 - std::exp(-step / time)) : step;
    return limited(activation(actuator) + Expr(factor) * rate, actuator.activation_range);
  }

  Transmission transmission(const Actuator& actuator) const {
    Transmission of;
    of.along.resize(model_.dofs.size());
    switch (actuator.acts_on) {
      case Actuator::joint: {
        const Joint& joint = model_.joints[actuator.target];
        of.length = Expr(actuator.gear) * p_.input(at("qpos", joint.qpos), "");
        of.along[joint.dof] = actuator.gear;
        break;
      }
      case Actuator::tendon:
        of = trace_tendon(model_, actuator.target, k_, p_);
        of.length = Expr(actuator.gear) * of.length;
        for (Expr& x : of.along) x = Expr(actuator.gear) * x;
        break;
      case Actuator::site:
        add_site(actuator, of);
        break;
      case Actuator::ball_in_body:
      case Actuator::ball_in_parent:
        add_ball(actuator, of);
        break;
      case Actuator::slider_crank:
        add_slider_crank(actuator, of);
        break;
      case Actuator::body:  // its length is 0, and its force acts where the body's contacts are
        break;
      default:
        add_free_joint(actuator, of);
    }
    of.velocity = 0;
    for (size_t i = 0; i < of.along.size(); ++i) of.velocity += of.along[i] * k_.qvel[i];
    return of;
  }

 private:
  Expr control(size_t a) const { return p_.input(at("ctrl", a), identifier(model_.actuators[a].name) + "_ctrl"); }
  Expr activation(const Actuator& actuator) const {
    return p_.input(at("act", actuator.activation), identifier(actuator.name) + "_act");
  }
  // Returns what is multiplied by the gain: a limited control, or an activation.
  Expr signal(size_t a) const {
    const Actuator& actuator = model_.actuators[a];
    if (actuator.activation < 0) return limited(control(a), actuator.control_range);
    return actuator.is_early ? next_activation(actuator, rate(a)) : activation(actuator);
  }

  // Returns factor `k` of an actuator's numbers (ModelParameter::actuator).
  Expr factor(size_t a, int k) const { return parameter(model_, ModelParameter::actuator, static_cast<int>(a), k, p_); }
  // Returns the range of an actuator's force, or nullopt. That of a motor is narrowed by the line from its stall torque
  // to its no-load speed, in four quadrants, as in Isaac Lab's DCMotor.
  std::optional<std::array<Expr, 2>> force_range(size_t a) const {
    const Actuator& actuator = model_.actuators[a];
    std::optional<std::array<Expr, 2>> range;
    if (actuator.force_range)
      range = {(*actuator.force_range)[0] * factor(a, 2), (*actuator.force_range)[1] * factor(a, 2)};
    const Expr stall = parameter(model_, ModelParameter::motor, static_cast<int>(a), 0, p_);
    if (stall.is_known()) return range;
    const Expr speed =
        transmission(actuator).velocity / parameter(model_, ModelParameter::motor, static_cast<int>(a), 1, p_);
    std::array<Expr, 2> line = {stall * (Expr(-1) - speed), stall * (Expr(1) - speed)};
    if (range)
      for (Expr& end : line) end = clamp(end, (*range)[0], (*range)[1]);
    return line;
  }

  // Returns number `k` of ModelParameter::network.
  Expr network(size_t a, int k) const { return parameter(model_, ModelParameter::network, static_cast<int>(a), k, p_); }
  // Returns an actuator's force before its force range and that of its tendon.
  Expr unlimited_force(size_t a) const {
    const Expr own = own_force(a), share = network(a, 0);
    return share.is_known() ? own : share * own + network(a, 1);
  }
  // Returns the same without a network's torque.
  Expr own_force(size_t a) const {
    const Actuator& actuator = model_.actuators[a];
    Expr signal = this->signal(a);
    const bool is_muscle = actuator.muscle_gain || actuator.muscle_bias;
    if (actuator.acts_on == Actuator::joint && !is_muscle && actuator.gain[1] == 0 && actuator.gain[2] == 0) {
      const Joint& joint = model_.joints[actuator.target];
      const Expr length = Expr(actuator.gear) * p_.input(at("qpos", joint.qpos), "");
      return factor(a, 0) * Expr(actuator.gain[0]) * signal + Expr(actuator.bias[0]) +
             factor(a, 0) * Expr(actuator.bias[1]) * length +
             factor(a, 1) * Expr(actuator.bias[2] * actuator.gear) * k_.qvel[joint.dof];
    }
    const Transmission of = transmission(actuator);
    if (actuator.circle > 0) signal = of.length + around(signal - of.length, actuator.circle);
    const auto affine = [&](const std::array<double, 3>& x, const Expr& of_constant) {
      return of_constant * Expr(x[0]) + factor(a, 0) * Expr(x[1]) * of.length + factor(a, 1) * Expr(x[2]) * of.velocity;
    };
    const Expr gain = actuator.muscle_gain
                          ? muscle_factor(a, *actuator.muscle_gain) * gain_of(*actuator.muscle_gain, of, false)
                          : affine(actuator.gain, factor(a, 0));
    const Expr bias = actuator.muscle_bias
                          ? muscle_factor(a, *actuator.muscle_bias) * bias_of(*actuator.muscle_bias, of)
                          : affine(actuator.bias, 1);
    return gain * signal + bias;
  }
  // Returns the factor by which an environment's masses change a muscle's force.
  Expr muscle_factor(size_t a, const Muscle& muscle) const {
    if (!muscle.divides_by_acceleration) return 1;
    return Expr(1) / constant_ratio(model_, DerivedConstants::actuator, static_cast<int>(a), p_);
  }
  Expr total_force(int tendon, Expr (Actuators::*of)(size_t) const) const {
    Expr total = 0;
    for (size_t a = 0; a < model_.actuators.size(); ++a)
      if (model_.actuators[a].pulls(tendon)) total += (this->*of)(a);
    return total;
  }
  Expr limited_force(size_t a) const {
    const Actuator& actuator = model_.actuators[a];
    Expr force = unlimited_force(a);
    if (actuator.acts_on == Actuator::tendon) force = share_of(actuator.target) * force;
    if (const auto range = force_range(a)) force = clamp(force, (*range)[0], (*range)[1]);
    return force;
  }
  // Returns the factor that brings the total force of a tendon's actuators into its range.
  Expr share_of(int tendon) const {
    const Range& range = model_.tendons[tendon].force_range;
    const Expr total = range ? total_force(tendon, &Actuators::unlimited_force) : 0;
    if (!range || total.is(0)) return 1;
    const auto [low, high] = *range;
    const Expr share = select_less(total, low, Expr(low) / total, select_less(high, total, Expr(high) / total, 1));
    return select_less(total, 0, share, select_less(0, total, share, 1));
  }
  // Returns the damping of what an actuator moves with this gear. It is 0 while the force is at its limit
  // (MuJoCo, "Computation", integrators).
  Expr damping(size_t a, const Expr& force, double gear) const {
    const Actuator& actuator = model_.actuators[a];
    Expr damping = Expr(-actuator.bias[2] * gear * gear) * factor(a, 1);
    Expr slope = Expr(actuator.gain[2]) * factor(a, 1);
    if (const auto& muscle = actuator.muscle_gain)
      slope = muscle_factor(a, *muscle) * gain_of(*muscle, transmission(actuator), true);
    const bool is_free = !mujoco::kDampedByLimitedControl && actuator.activation < 0;
    if (!slope.is(0)) damping -= Expr(gear * gear) * slope * (is_free ? control(a) : signal(a));
    if (!damping.is(0)) damping = network(a, 0) * damping;
    if (mujoco::kLimitedForcesAreNotDamped && actuator.acts_on == Actuator::tendon)
      if (Range range = model_.tendons[actuator.target].force_range) {
        for (double& end : *range) end *= 1 - kSaturated;
        damping = damping_within(range, total_force(actuator.target, &Actuators::limited_force), damping);
      }
    return damping_within(force_range(a), force, damping);
  }
  // Adds an actuator's force and damping along qvel.
  void add(size_t a, const Expr& force, Dynamics& d, std::vector<Expr>& of_joints) const {
    const Actuator& actuator = model_.actuators[a];
    if (actuator.acts_on == Actuator::body) return;  // drl/physics/adhesion.hpp
    if (actuator.acts_on == Actuator::joint) {
      const int dof = model_.joints[actuator.target].dof;
      d.actuator_torque[dof] += Expr(actuator.gear) * force;
      Expr& damping = mujoco::kLimitedForcesAreNotDamped ? of_joints[dof] : d.damping.diagonal[dof];
      if (model_.implicit_actuators) damping += this->damping(a, force, actuator.gear);
      return;
    }
    const Transmission of = transmission(actuator);
    for (size_t i = 0; i < of.along.size(); ++i) d.actuator_torque[i] += of.along[i] * force;
    if (actuator.acts_on == Actuator::tendon) d.tendon_force[actuator.target] += Expr(actuator.gear) * force;
    if (model_.implicit_actuators)
      add_outer_product(model_, of.along, damping(a, force, 1), Entries::of_damping, d.damping);
  }

  static Vec3 force_of(const Actuator& actuator) { return {actuator.gears[0], actuator.gears[1], actuator.gears[2]}; }
  static Vec3 torque_of(const Actuator& actuator) { return {actuator.gears[3], actuator.gears[4], actuator.gears[5]}; }

  void add_ball(const Actuator& actuator, Transmission& of) const {
    const Joint& joint = model_.joints[actuator.target];
    const Quat q = trace_quaternion(joint, p_);
    Vec3 torque = force_of(actuator);
    if (actuator.acts_on == Actuator::ball_in_parent) torque = transposed(rotation_of(q)) * torque;
    of.length = dot(rotation_vector(q), torque);
    for (int k = 0; k < 3; ++k) of.along[joint.dof + k] = torque[k];
  }
  void add_free_joint(const Actuator& actuator, Transmission& of) const {
    const int dof = model_.joints[actuator.target].dof;
    const Vec3 force = force_of(actuator);
    Vec3 torque = torque_of(actuator);
    if (actuator.acts_on == Actuator::free_in_body) torque = k_.turn[model_.dofs[dof].body] * torque;
    for (int k = 0; k < 3; ++k) of.along[dof + k] = force[k], of.along[dof + 3 + k] = torque[k];
  }
  Mat3 turn_of(const Placement& site) const {
    return site.body < 0 ? known(site.turn) : k_.turn[site.body] * known(site.turn);
  }
  void add_site(const Actuator& actuator, Transmission& of) const {
    const bool is_relative = actuator.reference.site >= 0;
    const Placement& site = model_.sites[actuator.from.site];
    const Placement& reference = is_relative ? model_.sites[actuator.reference.site] : site;
    const Mat3 axes = turn_of(reference);
    const Vec3 force = axes * force_of(actuator), torque = axes * torque_of(actuator);
    const BodyPoint point = point_of(site, k_), other = point_of(reference, k_);
    if (is_relative) {
      of.length = dot(transposed(axes) * apart(model_, k_, other, point), force_of(actuator)) +
                  dot(turn_between(actuator), torque_of(actuator));
    }
    const auto push = [&](const BodyPoint& at, int i) {
      return dot(k_.axis[i], Spatial{torque + cross(at.arm, force), force});
    };
    for (const int i : dofs_of_actuator(model_, actuator))
      of.along[i] = moves(model_, i, site.body) ? push(point, i) : -push(other, i);
  }
  // With the slider's axis a, the vector v from the slider's site to the crank's, and the rod's length r, the slider is
  // at a v - sqrt((a v)^2 - v v + r^2). If the rod does not reach the axis, it is at a v.
  void add_slider_crank(const Actuator& actuator, Transmission& of) const {
    const Placement& crank = model_.sites[actuator.from.site];
    const Placement& slider = model_.sites[actuator.reference.site];
    const BodyPoint point = point_of(crank, k_), origin = point_of(slider, k_);
    const Vec3 axis = turn_of(slider).column(2), way = apart(model_, k_, origin, point);
    const Expr along = dot(way, axis), square = along * along - dot(way, way) + Expr(actuator.rod * actuator.rod);
    const Expr root = sqrt(max(square, 1e-30)), gear = actuator.gear;
    const Expr inverse = select_less(0, square, Expr(1) / root, 0), share = Expr(1) - along * inverse;
    of.length = gear * (along - select_less(0, square, root, 0));
    const Vec3 by_way = gear * (share * axis + inverse * way), by_axis = gear * (share * way);
    for (const int i : dofs_of_actuator(model_, actuator)) {
      const Spatial& motion = k_.axis[i];
      const auto move = [&](const BodyPoint& at) { return motion.linear + cross(motion.angular, at.arm); };
      of.along[i] = moves(model_, i, crank.body)
                        ? dot(by_way, move(point))
                        : dot(by_axis, cross(motion.angular, axis)) - dot(by_way, move(origin));
    }
  }
  // Returns the rotation vector of a site relative to its reference site. In libmujoco before 4.0, a site's own
  // rotation comes first, so that this is exact only for sites that are not turned.
  Vec3 turn_between(const Actuator& actuator) const {
    if (actuator.gears[3] == 0 && actuator.gears[4] == 0 && actuator.gears[5] == 0) return {};
    const std::vector<Quat> quats = trace_quaternions(model_, p_);
    const auto quat_of = [&](const Actuator::Site& site) {
      const Frame& frame = model_.frames[site.frame];
      const Quat own = known(frame.quat), in_world = frame.body < 0 ? own : quats[frame.body] * own;
      return mujoco::kSitesTurnInTheirBodies ? in_world * known(site.quat) : known(site.quat) * in_world;
    };
    const Quat a = quat_of(actuator.from);
    return rotation_vector(conjugate(quat_of(actuator.reference)) * a);
  }

  const RobotModel& model_;
  const Kinematics& k_;  // not read by rate() and next_activation()
  Program& p_;
};

}  // namespace

TendonPath trace_transmission(const RobotModel& model, const Actuator& actuator, const Kinematics& kinematics,
                              Program& p) {
  return Actuators(model, kinematics, p).transmission(actuator);
}

void trace_activations(const RobotModel& model, Program& p) {
  if (model.na == 0) return;
  const Kinematics none;
  const Actuators actuators(model, none, p);
  p.begin("Computes the rates of change of the activations.", "rates(const F* ctrl, const F* act, F* rate)");
  for (size_t a = 0; a < model.actuators.size(); ++a)
    if (const int k = model.actuators[a].activation; k >= 0) p.set(at("rate", k), actuators.rate(a));
  p.begin("Computes the activations after a time step. `to` may be `act`.",
          "activate(const F* act, const F* rate, F* to)");
  for (const Actuator& actuator : model.actuators)
    if (const int k = actuator.activation; k >= 0)
      p.set(at("to", k), actuators.next_activation(actuator, p.input(at("rate", k), "rate")));
}

void trace_actuators(const RobotModel& model, const Kinematics& kinematics, Dynamics& d, Program& p) {
  Actuators(model, kinematics, p).trace(d);
}

}  // namespace drl::robot_compiler
