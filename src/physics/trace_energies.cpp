// Sensors of energies, of limits and of the time.

#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

class Tracer {
 public:
  Tracer(const RobotModel& model, const Kinematics& kinematics, Program& p)
      : model_(model), kinematics_(kinematics), p_(p) {}

  // The energy of weights and springs, as in mj_energyPos.
  Expr potential() {
    Expr sum = 0;
    for (size_t f = 1; f < model_.frames.size(); ++f)
      sum -= mass_of(model_, static_cast<int>(f), p_) * dot(kinematics_.gravity, derived_vector(p_, "xipos", f));
    for (size_t j = 0; j < model_.joints.size(); ++j)
      if (const Joint& joint = model_.joints[j]; !joint.stiffness.is_zero()) sum += energy_of_spring(joint, j);
    for (size_t t = 0; t < model_.tendons.size(); ++t) {
      const Tendon& tendon = model_.tendons[t];
      if (tendon.stiffness.is_zero()) continue;
      const Expr length = path(t).length, stretch = length - clamp(length, tendon.rest[0], tendon.rest[1]);
      sum += energy(tendon.stiffness, 0.5 * tendon.stiffness.linear, stretch, stretch * stretch);
    }
    return sum;
  }
  // Half of qvel' M qvel, where M contains the armature of joints and tendons.
  Expr kinetic() {
    Expr twice = 0;
    for (size_t f = 1; f < model_.frames.size(); ++f) {
      if (model_.frames[f].body < 0) continue;
      const Spatial velocity = derived_velocity(p_, f);
      twice += dot(derived_inertia(model_, f, p_) * velocity, velocity);
    }
    const std::vector<Expr>& qvel = kinematics_.qvel;
    for (size_t i = 0; i < model_.dofs.size(); ++i) {
      const Expr factor = parameter(model_, ModelParameter::joint, static_cast<int>(i), 1, p_);
      twice += Expr(model_.dofs[i].armature) * factor * (qvel[i] * qvel[i]);
    }
    TreeMatrix m;  // of tendons
    m.diagonal.resize(qvel.size());
    for (const Dof& dof : model_.dofs) m.ancestors.emplace_back(dof.ancestors.size());
    for (size_t t = 0; t < model_.tendons.size(); ++t)
      if (model_.tendons[t].armature != 0)
        add_outer_product(model_, path(t).along, model_.tendons[t].armature, Entries::of_mass, m);
    const std::vector<Expr> momentum = multiply_tree(model_, m, qvel);
    for (size_t i = 0; i < qvel.size(); ++i) twice += momentum[i] * qvel[i];
    return Expr(0.5) * twice;
  }

 private:
  TendonPath path(size_t t) { return trace_tendon(model_, static_cast<int>(t), kinematics_, p_); }
  Expr energy_of_spring(const Joint& joint, size_t j) {
    const ForceProfile& spring = joint.stiffness;
    if (!joint.turns_freely()) {
      const Expr away = p_.input(at("qpos", joint.qpos), "") - Expr(joint.rest);
      const Expr half =
          Expr(0.5 * spring.linear) * parameter(model_, ModelParameter::spring, static_cast<int>(j), 0, p_);
      return energy(spring, half, away, away * away);
    }
    const auto energy_of = [&](const Expr& square) {
      return energy(spring, 0.5 * spring.linear, spring.is_linear() ? Expr(0) : sqrt(square), square);
    };
    Expr square = 0;
    for (int k = 0; k < 3 && joint.kind == Joint::free; ++k) {
      const Expr away = p_.input(at("qpos", joint.qpos + k), "") - Expr(joint.rest_pos[k]);
      square += away * away;
    }
    const Vec3 turn = rotation_vector(conjugate(known(joint.rest_quat)) * trace_quaternion(joint, p_));
    if (spring.is_linear()) return energy_of(square + dot(turn, turn));
    return energy_of(square) + energy_of(dot(turn, turn));
  }
  // Returns the integral of a spring's force up to x. `half` is half of its stiffness.
  static Expr energy(const ForceProfile& spring, const Expr& half, const Expr& x, const Expr& square) {
    if (spring.is_linear()) return half * square;
    return square * (half + x * (Expr(spring.higher[0] / 3) + Expr(spring.higher[1] / 4) * x));
  }

  const RobotModel& model_;
  const Kinematics& kinematics_;
  Program& p_;
};

// A limit of a joint or tendon as sensors show it: 0 where it does not act, as libmujoco has no row then.
struct LimitState {
  Expr position, velocity;
};
LimitState state_of(const Limit& limit, const std::array<Expr, 2>& range, const Expr& position, const Expr& velocity) {
  const Expr above = position - range[0], below = range[1] - position, distance = min(above, below);
  const Expr approach = select_less(above, below, velocity, -velocity);
  return {select_less(distance, limit.margin, distance - Expr(limit.margin), 0),
          select_less(distance, limit.margin, approach, 0)};
}
LimitState limit_state(const RobotModel& model, int number, const Kinematics& kinematics, Program& p) {
  const std::vector<const Joint*> joints = limited_joints(model);
  const auto k = static_cast<size_t>(number);
  if (k < joints.size()) {
    const Joint& joint = *joints[k];
    return state_of(*joint.limit, range_of(model, joint, p), p.input(at("qpos", joint.qpos), ""),
                    kinematics.qvel[joint.dof]);
  }
  const int t = limited_tendons(model)[k - joints.size()];
  const Limit& limit = *model.tendons[t].limit;
  const TendonPath path = trace_tendon(model, t, kinematics, p);
  return state_of(limit, {limit.low, limit.high}, path.length, path.velocity);
}

}  // namespace

void trace_limit_sensors(const RobotModel& model, Program& p) {
  if (senses(model, &Sensor::shows_limit)) {
    p.begin("Computes sensors of the positions and velocities of limits.",
            "derive_limits(const F* qpos, const F* qvel, const F* parameters, " + sensors_argument(model));
    const Kinematics kinematics = trace_kinematics(model, p);
    for (const Sensor& sensor : model.sensors) {
      if (!sensor.shows_limit()) continue;
      LimitState state;
      if (sensor.index >= 0) state = limit_state(model, sensor.index, kinematics, p);
      set_sensor(model, sensor, {sensor.kind == Sensor::limit_position ? state.position : state.velocity}, p);
    }
  }
  if (!senses(model, Sensor::limit_force)) return;
  p.begin("Computes sensors of the forces of limits.", "find_limit_forces(const F* limit, F (*sensed)[4])");
  for (const Sensor& sensor : model.sensors) {
    if (sensor.kind != Sensor::limit_force) continue;
    Expr force = 0;
    if (sensor.index >= 0) force = p.input(at("limit", sensor.index), identifier(sensor.name));
    set_sensor(model, sensor, {max(force, -force)}, p);  // a limit never pulls
  }
}
void trace_energies(const RobotModel& model, Program& p) {
  if (!senses(model, &Sensor::shows_energy)) return;
  p.begin("Computes sensors of energies from centres of mass and motion.",
          "derive_energies(const F* qpos, const F* qvel, const F* parameters, " + derived_and_sensors_argument(model));
  const Kinematics kinematics = trace_kinematics(model, p);
  Tracer tracer(model, kinematics, p);
  for (const Sensor& sensor : model.sensors)
    if (sensor.shows_energy())
      set_sensor(model, sensor, {sensor.kind == Sensor::kinetic_energy ? tracer.kinetic() : tracer.potential()}, p);
}
void trace_time(const RobotModel& model, Program& p) {
  if (!senses(model, Sensor::time)) return;
  p.begin("Computes sensors of the time.", "derive_time(const F& time, " + sensors_argument(model));
  for (const Sensor& sensor : model.sensors)
    if (sensor.kind == Sensor::time) set_sensor(model, sensor, {p.input("time", "")}, p);
}

}  // namespace drl::robot_compiler
