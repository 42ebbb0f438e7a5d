#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  void read() {
    for (int t = 0; t < m_.ntendon; ++t) r_.tendons.push_back(tendon(t));
    for (int j = 0; j < m_.njnt; ++j)
      if (m_.jnt_type[j] == mjJNT_BALL && m_.jnt_limited[j] && !is_constraint_off(mjDSBL_LIMIT))
        r_.tendons.push_back(limit_of_ball(j));
  }

 private:
  Tendon tendon(int t) {
    Tendon tendon{.name = name(mjOBJ_TENDON, t)};
    const Element where{"tendon", mjOBJ_TENDON, t};
    const std::string text = quoted(where.what, where.type, where.index);
    if (mujoco::yields(m_, mjOBJ_TENDON, t)) refuse(text, "a spring that yields");
    if (!is_off(mjDSBL_SPRING)) tendon.stiffness = {m_.tendon_stiffness[t], mujoco::tendon_stiffness(m_, t)};
    if (!is_off(mjDSBL_DAMPER)) tendon.damping = {m_.tendon_damping[t], mujoco::tendon_damping(m_, t)};
    tendon.armature = m_.tendon_armature[t];
    add_actuators(mjOBJ_TENDON, t, tendon.damping, tendon.armature);
    tendon.rest = {m_.tendon_lengthspring[2 * t], m_.tendon_lengthspring[2 * t + 1]};
    tendon.reference = m_.tendon_length0[t], tendon.inverse_weight = m_.tendon_invweight0[t];
    if (m_.tendon_actfrclimited[t])
      tendon.force_range = {m_.tendon_actfrcrange[2 * t], m_.tendon_actfrcrange[2 * t + 1]};
    const bool is_fixed = m_.wrap_type[m_.tendon_adr[t]] == mjWRAP_JOINT;
    is_fixed ? read_terms(t, tendon) : read_path(t, tendon);
    if (dofs_of_tendon(r_, tendon).empty()) return tendon;  // its rows would have no effect
    if (m_.tendon_limited[t] && !is_constraint_off(mjDSBL_LIMIT)) {
      tendon.limit = {m_.tendon_range[2 * t], m_.tendon_range[2 * t + 1], m_.tendon_margin[t],
                      softness(m_.tendon_solref_lim + 2 * t, m_.tendon_solimp_lim + 5 * t, where)};
      if (tendon.limit->high - tendon.limit->low <= 2 * tendon.limit->margin)
        refuse(text, "a range so narrow that both limits apply at once");
    }
    if (m_.tendon_frictionloss[t] > 0 && !is_constraint_off(mjDSBL_FRICTIONLOSS))
      tendon.friction = dry_friction(m_.tendon_solref_fri + 2 * t, m_.tendon_solimp_fri + 5 * t, where,
                                     m_.tendon_frictionloss[t], tendon.inverse_weight);
    if (tendon.has_rows() && tendon.inverse_weight < kLeast) refuse(text, "rows without inverse inertia");
    return tendon;
  }
  Tendon limit_of_ball(int j) {
    constexpr double kNever = 1000;  // an angle is not below -1000
    Tendon limit{.name = name(mjOBJ_JOINT, j), .ball = j};
    limit.inverse_weight = m_.dof_invweight0[m_.jnt_dofadr[j]];
    const double most = std::max(m_.jnt_range[2 * j], m_.jnt_range[2 * j + 1]);
    limit.limit = {-kNever, most, m_.jnt_margin[j],
                   softness(m_.jnt_solref + 2 * j, m_.jnt_solimp + 5 * j, {"joint", mjOBJ_JOINT, j})};
    return limit;
  }
  void read_terms(int t, Tendon& tendon) {
    for (int k = m_.tendon_adr[t]; k < m_.tendon_adr[t] + m_.tendon_num[t]; ++k) {
      const int joint = m_.wrap_objid[k];
      for (const Tendon::Term& term : tendon.terms)
        if (term.joint == joint) refuse(quoted("tendon", mjOBJ_TENDON, t), "a tendon that has a joint twice");
      tendon.terms.push_back({joint, m_.wrap_prm[k]});
    }
  }
  void read_path(int t, Tendon& tendon) {
    const int last = m_.tendon_adr[t] + m_.tendon_num[t] - 1;
    double share = 1;
    for (int k = m_.tendon_adr[t]; k < last; ++k) {
      if (m_.wrap_type[k] == mjWRAP_PULLEY) share = 1 / m_.wrap_prm[k];
      if (m_.wrap_type[k] == mjWRAP_PULLEY || m_.wrap_type[k + 1] == mjWRAP_PULLEY) continue;
      Tendon::Part part{.from = m_.wrap_objid[k], .share = share};
      if (m_.wrap_type[k + 1] != mjWRAP_SITE) read_geom(++k, part);
      part.to = m_.wrap_objid[k + 1];
      tendon.path.push_back(part);
    }
  }
  // Reads the geom around which a part of a path goes.
  void read_geom(int wrap, Tendon::Part& part) {
    part.geom = m_.wrap_objid[wrap], part.radius = m_.geom_size[3 * part.geom];
    part.is_around_sphere = m_.wrap_type[wrap] == mjWRAP_SPHERE;
    part.side = mju_round(m_.wrap_prm[wrap]);
  }
};

}  // namespace

void read_tendons(const mjModel& model, RobotModel& robot) { Reader(model, robot).read(); }

}  // namespace drl::robot_compiler
