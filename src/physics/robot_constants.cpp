#include <memory>

#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

using Of = DerivedConstants;
using physics::ModelConstant;

struct DeleteData {
  void operator()(mjData* data) const { mj_deleteData(data); }
};

// The tables of a model, as ConstantFinder takes them.
struct Tables {
  static constexpr int kDofs = 1000, kEntries = 200'000;  // the most of a robot that can be compiled
  const DerivedConstants& of;
  int dofs() const { return static_cast<int>(of.dofs.size()); }
  int bodies() const { return static_cast<int>(of.bodies.size()); }
  int tendons() const { return static_cast<int>(of.tendons.size()); }
  int constants() const { return static_cast<int>(of.how.size()); }
  const physics::ReferenceDof& dof(int k) const { return of.dofs[k]; }
  const physics::ReferenceBody& body(int k) const { return of.bodies[k]; }
  const physics::ReferenceTendon& tendon(int k) const { return of.tendons[k]; }
  const ModelConstant& constant(int k) const { return of.how[k]; }
  double along(int row, int dof) const { return of.rows[static_cast<size_t>(row) * of.dofs.size() + dof]; }
};

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  void read() {
    data_.reset(mj_makeData(&m_));
    if (!data_) return refuse("size: ", "too little memory");
    std::copy_n(m_.qpos0, m_.nq, data_->qpos);
    mj_kinematics(&m_, data_.get()), mj_comPos(&m_, data_.get());
    mj_tendon(&m_, data_.get()), mj_transmission(&m_, data_.get());
    for (int b = 0; b < m_.nbody; ++b) to_.bodies.push_back(body(b));
    for (int d = 0; d < m_.nv; ++d) add_dof(d);
    for (int t = 0; t < m_.ntendon; ++t)
      if (const double armature = r_.tendons[t].armature; armature != 0) to_.tendons.push_back({add_row(t), armature});
    add_constants();
    check();
  }

 private:
  physics::ReferenceBody body(int b) const {
    physics::ReferenceBody body{.last = -1,
                                .mass = place_of_parameter(r_, ModelParameter::mass, b),
                                .center = place_of_parameter(r_, ModelParameter::center_of_mass, b),
                                .in_file = m_.body_mass[b],
                                .at = {},
                                .turn = {},
                                .inertia = {}};
    const int moving = m_.body_weldid[b];
    if (m_.body_dofnum[moving] > 0) body.last = m_.body_dofadr[moving] + m_.body_dofnum[moving] - 1;
    for (int i = 0; i < 3; ++i) body.at[i] = data_->xipos[3 * b + i] - data_->subtree_com[3 * m_.body_rootid[b] + i];
    std::copy_n(data_->xmat + 9 * b, 9, body.turn);
    constexpr int kRow[] = {0, 1, 2, 0, 0, 1}, kColumn[] = {0, 1, 2, 1, 2, 2};
    const mjtNum *axes = data_->ximat + 9 * b, *moments = m_.body_inertia + 3 * b;
    for (int k = 0; k < 6; ++k)
      for (int l = 0; l < 3; ++l) body.inertia[k] += axes[3 * kRow[k] + l] * axes[3 * kColumn[k] + l] * moments[l];
    return body;
  }
  void add_dof(int d) {
    physics::ReferenceDof dof{.parent = m_.dof_parentid[d],
                              .row = to_.entries,
                              .armature = place_of_parameter(r_, ModelParameter::joint, d),
                              .motion = {},
                              .in_file = m_.dof_armature[d],
                              .more = r_.dofs[d].armature - m_.dof_armature[d]};
    if (dof.armature >= 0) dof.armature += 1;  // its second number
    std::copy_n(data_->cdof + 6 * d, 6, dof.motion);
    for (int i = d; i >= 0; i = m_.dof_parentid[i]) to_.entries += 1;
    to_.dofs.push_back(dof);
  }
  // Adds the derivatives of a tendon's length along qvel, and returns their row.
  int add_row(int tendon) {
    const auto first = to_.rows.size();
    to_.rows.resize(first + to_.dofs.size());
    mujoco::tendon_row(m_, *data_, tendon, &to_.rows[first]);
    return static_cast<int>(first / to_.dofs.size());
  }
  int add_actuator_row(int actuator) {
    const auto first = to_.rows.size();
    to_.rows.resize(first + to_.dofs.size());
    mujoco::actuator_row(m_, *data_, actuator, &to_.rows[first]);
    return static_cast<int>(first / to_.dofs.size());
  }

  // --- The constants that a step reads ---

  void add_constants() {
    const std::vector<int> touching = touching_frames(r_);
    for (int b = 0; b < m_.nbody; ++b)
      if (touching[b] >= 0) add_body(b, false);
    for (const Equality& equality : r_.equalities) add_equality(equality);
    for (const Joint* joint : limited_joints(r_)) add_joint(joint->dof);
    for (const int dof : frictional_dofs(r_)) add_joint(dof);
    for (size_t t = 0; t < r_.tendons.size(); ++t)
      if (r_.tendons[t].has_rows())
        r_.tendons[t].ball < 0 ? add_tendon(static_cast<int>(t)) : add_joint(r_.joints[r_.tendons[t].ball].dof);
    for (size_t a = 0; a < r_.actuators.size(); ++a) {
      const Actuator& actuator = r_.actuators[a];
      const auto divides = [](const std::optional<Muscle>& muscle) {
        return muscle && muscle->divides_by_acceleration;
      };
      const int index = static_cast<int>(a);
      if (divides(actuator.muscle_gain) || divides(actuator.muscle_bias))
        add(Of::actuator, index, [&] {
          return ModelConstant{ModelConstant::acceleration, add_actuator_row(index), 0, m_.actuator_acc0[a]};
        });
    }
    const auto is_size = [](const Parameter& p) { return p.kind == ModelParameter::size; };
    const auto first = std::ranges::find_if(r_.parameters, is_size);
    add(Of::growth, 0, [&] {
      return ModelConstant{ModelConstant::growth, static_cast<int>(3 * (first - r_.parameters.begin())),
                           static_cast<int>(std::ranges::count_if(r_.parameters, is_size)), 1};
    });
    if (r_.noslip && !mujoco::kNoslipUsesTrace)
      add(Of::inertia, 0, [&] { return ModelConstant{ModelConstant::inertia, 0, 0, m_.stat.meaninertia}; });
  }
  // how() returns the constant.
  template <class How>
  void add(Of::Of of, int index, const How& how) {
    if (std::ranges::find(to_.of, std::pair(of, index)) != to_.of.end()) return;
    const ModelConstant constant = how();
    if (constant.in_file >= kLeast) to_.of.emplace_back(of, index), to_.how.push_back(constant);
  }
  // Returns whether a body only slides, so that MuJoCo's inverse weights of it are its inverse mass.
  bool only_slides(int b) const { return m_.body_simple[b] == 2; }
  void add_body(int b, bool turns) {
    add(turns ? Of::body_rotation : Of::body_translation, b, [&] {
      const ModelConstant::Kind kind = only_slides(b) ? ModelConstant::mass
                                       : turns        ? ModelConstant::rotation
                                                      : ModelConstant::translation;
      return ModelConstant{kind, b, mujoco::kInertiasAreNotZero ? 1 : 0, m_.body_invweight0[2 * b + (turns ? 1 : 0)]};
    });
  }
  void add_equality(const Equality& equality) {
    for (size_t side = 0; side < 2; ++side) {
      const int j = equality.joints[side], b = equality.sides[side].frame;
      if (!equality.couples_lengths()) {
        add_body(b, false);
        if (equality.kind == Equality::weld) add_body(b, true);
      } else if (j >= 0) {
        equality.kind == Equality::joint ? add_joint(r_.joints[j].dof) : add_tendon(j);
      }
    }
  }
  void add_joint(int dof) {
    add(Of::dof, dof, [&] {
      const int joint = m_.dof_jntid[dof], body = m_.jnt_bodyid[joint], first = m_.jnt_dofadr[joint];
      const double in_file = m_.dof_invweight0[dof];
      if (only_slides(body)) return ModelConstant{ModelConstant::mass, body, 0, in_file};
      if (m_.jnt_type[joint] == mjJNT_FREE)
        return ModelConstant{ModelConstant::joint, dof < first + 3 ? first : first + 3, 3, in_file};
      return ModelConstant{ModelConstant::joint, first, m_.jnt_type[joint] == mjJNT_BALL ? 3 : 1, in_file};
    });
  }
  void add_tendon(int t) {
    add(Of::tendon, t, [&] { return ModelConstant{ModelConstant::along, add_row(t), 0, m_.tendon_invweight0[t]}; });
  }

  // Computes the constants of the file's own numbers, and compares them with MuJoCo's.
  void check() {
    std::vector<double> numbers(3 * r_.parameters.size()), ratios(to_.how.size());
    for (size_t p = 0; p < r_.parameters.size(); ++p)
      for (int k = 0; k < 3; ++k)
        numbers[3 * p + static_cast<size_t>(k)] = ModelParameter::unchanged(r_.parameters[p].kind, k);
    const auto differs = [&](size_t c) { return std::abs(ratios[c] - 1) > 1e-6; };
    ratios = constant_ratios(r_, numbers);
    for (size_t c = 0; c < ratios.size(); ++c)
      if (differs(c))
        refuse("body, joint, tendon or actuator number " + std::to_string(to_.of[c].second) + ": ",
               "an inverse inertia that does not follow from the masses");
  }

  DerivedConstants& to_ = r_.constants;
  std::unique_ptr<mjData, DeleteData> data_;
};

}  // namespace

std::vector<double> constant_ratios(const RobotModel& model, const std::vector<double>& numbers) {
  const Tables tables{model.constants};
  std::vector<double> ratios(model.constants.how.size());
  // On the heap, because it has room for the largest robots.
  std::make_unique<physics::ConstantFinder<Tables, double>>(tables, numbers.data())->find(ratios.data(), true);
  return ratios;
}
void read_constants(const mjModel& model, RobotModel& robot) { Reader(model, robot).read(); }

}  // namespace drl::robot_compiler
