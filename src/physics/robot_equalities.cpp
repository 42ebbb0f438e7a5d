#include <algorithm>
#include <iterator>
#include <set>

#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  void read() {
    for (int e = 0; e < m_.neq && !is_constraint_off(mjDSBL_EQUALITY); ++e)
      if (m_.eq_active0[e]) read_equality(e);
    const bool couples = !r_.equalities.empty() || std::ranges::any_of(r_.tendons, &Tendon::has_rows);
    if (couples) couple();
  }

 private:
  void read_equality(int e) {
    const std::string where = quoted("equality", mjOBJ_EQUALITY, e);
    const int type = m_.eq_type[e];
    const bool couples_lengths = type == mjEQ_JOINT || type == mjEQ_TENDON;
    if (!couples_lengths && type != mjEQ_CONNECT && type != mjEQ_WELD)
      return refuse(where, "an equality constraint of flexes");
    const mjtNum* data = m_.eq_data + mjNEQDATA * e;
    if (!std::all_of(data, data + mjNEQDATA, [](mjtNum x) { return std::isfinite(x); }))
      return refuse(where, "a number that is not finite");
    Equality equality{.name = name(mjOBJ_EQUALITY, e)};
    equality.softness = softness(m_.eq_solref + mjNREF * e, m_.eq_solimp + mjNIMP * e, {"equality", mjOBJ_EQUALITY, e});
    couples_lengths ? read_lengths(e, equality) : read_sides(e, equality);
    if (moving_dofs(equality).empty() || (has_no_derivative(equality) && !mj_isSparse(&m_)))
      return;  // libmujoco leaves such rows out
    if (equality.inverse_weight < kLeastWeight ||
        (equality.kind == Equality::weld && equality.inverse_inertia < kLeastWeight))
      return refuse(where, "bodies without inverse inertia");
    r_.equalities.push_back(equality);
  }
  void read_lengths(int e, Equality& equality) {
    const bool is_of_joints = m_.eq_type[e] == mjEQ_JOINT;
    equality.kind = is_of_joints ? Equality::joint : Equality::tendon;
    equality.joints = {m_.eq_obj1id[e], m_.eq_obj2id[e]};
    std::copy_n(m_.eq_data + mjNEQDATA * e, equality.polynomial.size(), equality.polynomial.begin());
    for (size_t k = 0; k < 2; ++k)
      if (const int j = equality.joints[k]; j >= 0)
        equality.weights[k] = is_of_joints ? m_.dof_invweight0[m_.jnt_dofadr[j]] : m_.tendon_invweight0[j];
    equality.inverse_weight = equality.weights[0] + equality.weights[1];
  }
  void read_sides(int e, Equality& equality) {
    const bool is_weld = m_.eq_type[e] == mjEQ_WELD;
    equality.kind = is_weld ? Equality::weld : Equality::connect;
    const mjtNum* data = m_.eq_data + mjNEQDATA * e;
    if (is_weld) equality.torque_scale = data[10];
    const int objects[] = {m_.eq_obj1id[e], m_.eq_obj2id[e]};
    for (int k = 0; k < 2; ++k) {
      // The anchor of a weld's second body stands first. The first body has the relative rotation.
      const mjtNum* anchor = data + 3 * (is_weld ? 1 - k : k);
      const mjtNum* turn = is_weld && k == 0 ? data + 6 : nullptr;
      int b = objects[k];
      if (m_.eq_objtype[e] == mjOBJ_SITE)
        anchor = m_.site_pos + 3 * b, turn = m_.site_quat + 4 * b, b = m_.site_bodyid[b];
      equality.sides[k] = side(b, anchor, turn);
      equality.weights[k] = m_.body_invweight0[2 * b], equality.inertias[k] = m_.body_invweight0[2 * b + 1];
    }
    equality.inverse_weight = equality.weights[0] + equality.weights[1];
    equality.inverse_inertia = equality.inertias[0] + equality.inertias[1];
  }
  Equality::Side side(int b, const mjtNum* pos, const mjtNum* turn) const {
    const Frame& frame = r_.frames[b];
    Equality::Side side{.body = frame.body, .frame = b, .quat = frame.quat};
    for (size_t i = 0; i < 3; ++i) {
      side.pos[i] = frame.pos[i];
      for (size_t k = 0; k < 3; ++k) side.pos[i] += frame.turn[i][k] * pos[k];
    }
    if (turn) mju_mulQuat(side.quat.data(), frame.quat.data(), turn);
    return side;
  }

  std::set<int> moving_dofs(const Equality& equality) const {
    std::set<int> dofs;
    for (const int j : equality.joints)
      if (j >= 0 && equality.kind == Equality::tendon)
        dofs.merge(dofs_of_tendon(r_, r_.tendons[j]));
      else if (j >= 0)
        dofs.insert(r_.joints[j].dof);
    for (const Equality::Side& side : equality.sides)
      for (size_t i = 0; i < r_.dofs.size(); ++i)
        if (moves(r_, i, side.body)) dofs.insert(static_cast<int>(i));
    return dofs;
  }
  // Returns whether both sides are on a body that only slides, so that the violation is constant.
  bool has_no_derivative(const Equality& equality) const {
    if (equality.couples_lengths() || equality.sides[0].body != equality.sides[1].body) return false;
    return std::ranges::all_of(moving_dofs(equality),
                               [&](int i) { return r_.joints[r_.dofs[i].joint].kind == Joint::slide; });
  }
  // Makes each list of ancestors a path of the matrix's elimination tree (J. W. H. Liu, 1990), so that the
  // factorisation adds no entry outside of these lists.
  void couple() {
    std::vector<std::set<int>> before(r_.dofs.size());  // entries of each row left of the diagonal
    for (size_t i = 0; i < r_.dofs.size(); ++i) before[i] = {r_.dofs[i].ancestors.begin(), r_.dofs[i].ancestors.end()};
    const auto add_row = [&](const std::set<int>& dofs) {
      for (const int i : dofs) before[i].insert(dofs.begin(), dofs.find(i));
    };
    for (const Equality& equality : r_.equalities) add_row(moving_dofs(equality));
    for (const Tendon& tendon : r_.tendons)
      if (tendon.has_rows()) add_row(dofs_of_tendon(r_, tendon));
    for (size_t i = before.size(); i-- > 0;) {
      if (before[i].empty()) continue;
      const auto last = std::prev(before[i].end());
      before[*last].insert(before[i].begin(), last);
    }
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].empty()) continue;
      const int parent = *before[i].rbegin();
      r_.dofs[i].ancestors = {parent};
      const auto& more = r_.dofs[parent].ancestors;
      r_.dofs[i].ancestors.insert(r_.dofs[i].ancestors.end(), more.begin(), more.end());
    }
  }
};

}  // namespace

void read_equalities(const mjModel& model, RobotModel& robot) { Reader(model, robot).read(); }

}  // namespace drl::robot_compiler
