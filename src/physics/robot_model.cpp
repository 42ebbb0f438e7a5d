#include "physics/robot_model.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>

#include "physics/robot_counts.hpp"
#include "physics/robot_reader.hpp"
#include "physics/stiffness.hpp"

namespace drl::robot_compiler {
namespace {

constexpr int kMostDofs = 1000;            // each becomes code
constexpr size_t kMostProducts = 200'000;  // a chain of 105 joints

// Returns the inertia (xx, yy, zz, xy, xz, yz) with the principal moments `moments` about the axes `turn`, plus the
// inertia of a point mass at `off`.
std::array<double, 6> inertia_about(const Rotation& turn, const mjtNum* moments, double mass, const Numbers3& off) {
  constexpr size_t kRow[] = {0, 1, 2, 0, 0, 1}, kColumn[] = {0, 1, 2, 1, 2, 2};
  const double square = off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
  const double rounding = 1e-12 * (*std::max_element(moments, moments + 3) + mass * square);
  std::array<double, 6> inertia{};
  for (size_t k = 0; k < 6; ++k) {
    const size_t i = kRow[k], j = kColumn[k];
    for (size_t l = 0; l < 3; ++l) inertia[k] += turn[i][l] * turn[j][l] * moments[l];
    inertia[k] += mass * ((i == j ? square : 0) - off[i] * off[j]);
    if (std::abs(inertia[k]) < rounding) inertia[k] = 0;
  }
  return inertia;
}

class Reader : PartReader {
 public:
  Reader(const mjModel& model, RobotModel& robot, const std::string& file) : PartReader(model, robot), file_(file) {}

  void read() {
    r_.file = std::filesystem::path(file_).filename().string();
    r_.name = std::filesystem::path(file_).stem().string();
    r_.id = model_id(m_, file_);
    r_.nq = static_cast<int>(m_.nq), r_.nv = static_cast<int>(m_.nv), r_.na = static_cast<int>(m_.na);
    r_.start.assign(m_.qpos0, m_.qpos0 + m_.nq);
    if (r_.nv > kMostDofs)
      return refuse("worldbody: ", "more than " + std::to_string(kMostDofs) + " degrees of freedom",
                    " (" + std::to_string(r_.nv) + ")");
    read_options();
    read_frames();
    read_joints();
    if (m_.opt.integrator == mjINT_IMPLICITFAST && mujoco::kFreeBodiesTurnImplicitly) find_turning_bodies();
    r_.turns_stages =
        mujoco::kRungeKuttaTurns && r_.runge_kutta && std::ranges::any_of(r_.joints, &Joint::turns_freely);
    read_masses();
    read_fluid();
    read_geoms_and_sites();
    read_tendons(m_, r_);
    read_actuators(m_, r_);
    read_keyframes();
    read_equalities(m_, r_);
    read_parameters(m_, r_);
    if (std::ranges::any_of(r_.joints, &Joint::carries_weight) &&
        std::ranges::any_of(r_.parameters, [](const Parameter& p) { return p.kind == ModelParameter::center_of_mass; }))
      refuse("text 'varies': ", "centres of mass of a robot whose actuators compensate gravity");
    if (r_.randomised && !r_.fluid_boxes.empty()) refuse("option: ", "masses that differ between copies in a fluid");
    read_contacts(m_, r_);
    if (!has_friction()) r_.noslip.reset();
    read_sensors(m_, r_);
    refuse_infinite();
    refuse_the_rest();
  }

 private:
  void read_options() {
    r_.timestep = m_.opt.timestep, r_.iterations = m_.opt.iterations;
    if (r_.timestep <= 0) refuse("option: ", "a timestep that is not above 0");
    r_.runge_kutta = m_.opt.integrator == mjINT_RK4;
    if (!is_off(mjDSBL_GRAVITY)) r_.gravity = {m_.opt.gravity[0], m_.opt.gravity[1], m_.opt.gravity[2]};
    r_.magnetic_field = {m_.opt.magnetic[0], m_.opt.magnetic[1], m_.opt.magnetic[2]};
    const bool is_fast = m_.opt.integrator == mjINT_IMPLICITFAST;
    r_.implicit_turning = m_.opt.integrator == mjINT_IMPLICIT;
    r_.elliptic = m_.opt.cone == mjCONE_ELLIPTIC, r_.impratio = m_.opt.impratio;
    if (m_.opt.noslip_iterations > 0)
      r_.noslip = {
          m_.opt.noslip_iterations,
          m_.opt.noslip_tolerance *
              (mujoco::kNoslipUsesTrace ? 1 : m_.stat.meaninertia * std::max(1.0, static_cast<double>(m_.nv)))};
    for (int k = 0; k < mjNENABLE; ++k)
      if ((m_.opt.enableflags & ~mujoco::kKnownFlags & (1 << k)) != 0)
        refuse("option: ", "the flag " + lower_case(mjENABLESTRING[k]));
    if (m_.opt.integrator > mjINT_IMPLICITFAST) refuse("option: ", "the integrator discrete");
    r_.implicit_damping = !r_.runge_kutta && has_damping() && !is_off(mjDSBL_EULERDAMP | mjDSBL_DAMPER);
    if (is_fast || r_.implicit_turning) r_.implicit_damping = r_.implicit_actuators = true;
  }

  static std::string lower_case(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  bool has_damping() const {
    for (int d = 0; d < m_.nv; ++d)
      if (m_.dof_damping[d] > 0 || mujoco::dof_damping(m_, d) != mujoco::Higher{}) return true;
    for (int a = 0; a < mujoco::count_actuators(m_); ++a)
      if (mujoco::adds_to_target(m_, a) && m_.actuator_trntype[a] != mjTRN_TENDON) return true;
    return false;
  }

  // Returns whether degrees of freedom, tendons or contacts of the noslip solver have friction.
  bool has_friction() const {
    const auto slides = [](const GeomPair& pair) { return pair.cone.dimensions > 1; };
    return count_frictions(r_) > 0 || std::ranges::any_of(r_.pairs, slides);
  }

  // --- Bodies and joints ---

  // Reads the bodies of the file. Each one with joints begins a new Body.
  void read_frames() {
    r_.trees = 0;
    for (int b = 0; b < m_.nbody; ++b) {
      Frame frame{.name = name(mjOBJ_BODY, b), .body = -1, .root = m_.body_rootid[b], .parent = m_.body_parentid[b]};
      const Numbers3 pos = numbers(m_.body_pos + 3 * b);
      const Rotation turn = rotation(m_.body_quat + 4 * b);
      frame.pos = pos, frame.turn = turn;
      std::copy_n(m_.body_quat + 4 * b, 4, frame.quat.begin());
      if (b > 0) {
        const Frame& parent = r_.frames[frame.parent];
        frame.pos = plus(parent.pos, times(parent.turn, pos)), frame.turn = times(parent.turn, turn);
        mju_mulQuat(frame.quat.data(), parent.quat.data(), m_.body_quat + 4 * b);
        frame.body = parent.body;
      }
      if (m_.body_jntnum[b] > 0) {
        const bool is_root = frame.body < 0;
        const int tree = is_root ? r_.trees++ : r_.bodies[frame.body].tree;
        r_.bodies.push_back({.name = frame.name,
                             .parent = frame.body,
                             .tree = tree,
                             .pos = frame.pos,
                             .turn = frame.turn,
                             .quat = frame.quat});
        frame.body = static_cast<int>(r_.bodies.size()) - 1;
        frame.pos = {}, frame.turn = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, frame.quat = {1, 0, 0, 0};
      }
      frame.mass = m_.body_mass[b];
      frame.center = plus(frame.pos, times(frame.turn, numbers(m_.body_ipos + 3 * b)));
      frame.inertia = inertia_about(axes(b, frame), m_.body_inertia + 3 * b, 0, {});
      if (frame.body >= 0 && has_passive_forces()) frame.gravity_compensation = m_.body_gravcomp[b];
      r_.frames.push_back(frame);
    }
  }
  // MuJoCo's fluid forces and gravity compensation are passive forces: they are off if springs and dampers are both
  // off.
  bool has_passive_forces() const { return !(is_off(mjDSBL_SPRING) && is_off(mjDSBL_DAMPER)); }
  bool has_gravity() const { return r_.gravity != Numbers3{}; }
  bool has_gravity_compensation() const {
    const auto is_compensated = [](const Frame& frame) { return frame.gravity_compensation != 0 && frame.mass > 0; };
    return has_gravity() && std::ranges::any_of(r_.frames, is_compensated);
  }
  // Returns the principal axes of a frame's inertia, in its body.
  Rotation axes(int b, const Frame& frame) const { return times(frame.turn, rotation(m_.body_iquat + 4 * b)); }

  void read_joints() {
    for (int j = 0; j < m_.njnt; ++j) {
      Joint joint{.name = name(mjOBJ_JOINT, j), .qpos = m_.jnt_qposadr[j], .dof = m_.jnt_dofadr[j]};
      const std::string where = quoted("joint", mjOBJ_JOINT, j);
      const int body = r_.frames[m_.jnt_bodyid[j]].body;
      joint.kind = m_.jnt_type[j] == mjJNT_FREE    ? Joint::free
                   : m_.jnt_type[j] == mjJNT_BALL  ? Joint::ball
                   : m_.jnt_type[j] == mjJNT_SLIDE ? Joint::slide
                                                   : Joint::hinge;
      joint.axis = numbers(m_.jnt_axis + 3 * j), joint.pos = numbers(m_.jnt_pos + 3 * j);
      joint.reference = m_.qpos0[joint.qpos];
      if (mujoco::yields(m_, mjOBJ_JOINT, j)) refuse(where, "a spring that yields");
      if (!is_off(mjDSBL_SPRING)) joint.stiffness = {m_.jnt_stiffness[j], mujoco::joint_stiffness(m_, j)};
      joint.rest = m_.qpos_spring[joint.qpos];
      if (joint.kind == Joint::free) std::copy_n(m_.qpos_spring + joint.qpos, 3, joint.rest_pos.begin());
      if (joint.turns_freely()) std::copy_n(m_.qpos_spring + joint.quat(), 4, joint.rest_quat.begin());
      if (m_.jnt_limited[j] && !is_constraint_off(mjDSBL_LIMIT) && !joint.turns_freely()) {
        joint.limit = {m_.jnt_range[2 * j], m_.jnt_range[2 * j + 1], m_.jnt_margin[j],
                       softness(m_.jnt_solref + 2 * j, m_.jnt_solimp + 5 * j, {"joint", mjOBJ_JOINT, j})};
        if (joint.limit->high - joint.limit->low <= 2 * joint.limit->margin)
          refuse(where, "a range so narrow that both limits apply at once");
      }
      // Without actuators libmujoco applies neither the compensation of gravity by actuators nor their limits.
      const bool has_actuators = m_.nu > 0 && !is_off(mjDSBL_ACTUATION);
      joint.carries_weight = m_.jnt_actgravcomp[j] && has_gravity_compensation();
      if (joint.carries_weight && !has_actuators)
        refuse(where, "gravity compensation by actuators, although none is switched on");
      if (m_.jnt_actfrclimited[j] && has_actuators)
        joint.force_range = {m_.jnt_actfrcrange[2 * j], m_.jnt_actfrcrange[2 * j + 1]};
      if (joint.kind == Joint::free) check_free(joint, where);
      r_.bodies[body].joints.push_back(j);
      const int count = joint.motions();
      for (int k = 0; k < count; ++k) read_dof(joint, j, body, k, count);
      r_.joints.push_back(joint);
    }
  }
  void find_turning_bodies() {
    for (size_t b = 0; b < r_.bodies.size(); ++b) {
      const Body& body = r_.bodies[b];
      const auto is_child = [&](const Body& other) { return other.parent == static_cast<int>(b); };
      if (body.parent < 0 && body.joints.size() == 1 && r_.joints[body.joints[0]].kind == Joint::free &&
          std::ranges::none_of(r_.bodies, is_child))
        r_.turning_bodies.push_back(static_cast<int>(b));
    }
  }
  // Rejects armature and damping that differ by axis, because the rotation of a free joint is computed in world axes.
  void check_free(const Joint& joint, const std::string& where) {
    const mjtNum *armature = m_.dof_armature + joint.dof + 3, *damping = m_.dof_damping + joint.dof + 3;
    if (armature[0] != armature[1] || armature[1] != armature[2] || damping[0] != damping[1] ||
        damping[1] != damping[2])
      refuse(where, "armature or damping that differs by axis");
    if (mujoco::dof_damping(m_, joint.dof + 3) != mujoco::Higher{})
      refuse(where, "damping of a free joint that is not linear");
  }
  void read_dof(const Joint& joint, int j, int body, int k, int count) {
    const int d = joint.dof + k;
    Dof dof{.name = count == 1 ? joint.name : joint.name + "_" + "xyzabc"[count == 3 ? 3 + k : k],
            .body = body,
            .joint = j};
    for (int parent = m_.dof_parentid[d]; parent >= 0; parent = m_.dof_parentid[parent])
      dof.ancestors.push_back(parent);
    dof.armature = m_.dof_armature[d], dof.inverse_weight = m_.dof_invweight0[d];
    if (!is_off(mjDSBL_DAMPER)) dof.damping = {m_.dof_damping[d], mujoco::dof_damping(m_, d)};
    add_actuators(mjOBJ_JOINT, j, dof.damping, dof.armature);
    dof.is_simple = m_.dof_simplenum[d] > 0;
    if (m_.dof_frictionloss[d] > 0 && !is_constraint_off(mjDSBL_FRICTIONLOSS))
      dof.friction = dry_friction(m_.dof_solref + 2 * d, m_.dof_solimp + 5 * d, {"joint", mjOBJ_JOINT, j},
                                  m_.dof_frictionloss[d], m_.dof_invweight0[d]);
    r_.dofs.push_back(dof);
  }

  void read_masses() {
    for (size_t k = 0; k < r_.bodies.size(); ++k) {
      Body& body = r_.bodies[k];
      body.mass = 0, body.center = {}, body.inertia = {};
      for (const Frame& frame : r_.frames)
        if (frame.body == static_cast<int>(k)) {
          body.mass += frame.mass;
          for (size_t i = 0; i < 3; ++i) body.center[i] += frame.mass * frame.center[i];
        }
      for (double& x : body.center) x = snap(x / std::max(body.mass, kLeast));
      for (size_t b = 0; b < r_.frames.size(); ++b) {
        const Frame& frame = r_.frames[b];
        if (frame.body != static_cast<int>(k)) continue;
        const Numbers3 off{frame.center[0] - body.center[0], frame.center[1] - body.center[1],
                           frame.center[2] - body.center[2]};
        const auto of = inertia_about(axes(static_cast<int>(b), frame), m_.body_inertia + 3 * b, frame.mass, off);
        for (size_t i = 0; i < 6; ++i) body.inertia[i] += of[i];
      }
    }
  }

  // --- Fluids, geoms, sites and keyframes ---

  // Reads the fluid boxes of bodies that move and have a mass. Implicit integrators are refused, because they would
  // need derivatives of the fluid's forces.
  void read_fluid() {
    if (has_passive_forces()) r_.density = m_.opt.density, r_.viscosity = m_.opt.viscosity;
    r_.wind = numbers(m_.opt.wind);
    if (r_.density == 0 && r_.viscosity == 0) return;
    if (m_.opt.integrator != mjINT_RK4 && m_.opt.integrator != mjINT_EULER)
      refuse("option: ", "a fluid (density, viscosity) with an implicit integrator");
    for (int g = 0; g < m_.ngeom; ++g)
      if (m_.geom_fluid[mjNFLUID * g] > 0) refuse(quoted("geom", mjOBJ_GEOM, g), "fluidshape ellipsoid");
    for (int b = 1; b < m_.nbody; ++b) {
      const Frame& frame = r_.frames[b];
      if (frame.body < 0 || frame.mass < kLeast) continue;
      FluidBox box{.name = frame.name, .frame = b, .turn = axes(b, frame)};
      const mjtNum* moments = m_.body_inertia + 3 * b;
      const double sum = moments[0] + moments[1] + moments[2];
      for (size_t k = 0; k < 3; ++k) box.half[k] = std::sqrt(1.5 * std::max(kLeast, sum - 2 * moments[k]) / frame.mass);
      r_.fluid_boxes.push_back(box);
    }
  }

  Placement placement(const std::string& name, int b, const mjtNum* pos, const mjtNum* quat) const {
    const Frame& frame = r_.frames[b];
    return {.name = name,
            .body = frame.body,
            .pos = plus(frame.pos, times(frame.turn, numbers(pos))),
            .turn = times(frame.turn, rotation(quat)),
            .frame = b};
  }
  // If a geom's or site's frame is nearly that of its body, or that of the body's inertia, libmujoco uses the latter
  // frame. `same_frame` is its decision.
  Placement placement(const std::string& name, int b, int same_frame, const mjtNum* pos, const mjtNum* quat) const {
    constexpr mjtNum kNoPos[] = {0, 0, 0}, kNoQuat[] = {1, 0, 0, 0};
    if (same_frame == mjSAMEFRAME_BODY) pos = kNoPos;
    if (same_frame == mjSAMEFRAME_INERTIA) pos = m_.body_ipos + 3 * b;
    if (same_frame == mjSAMEFRAME_BODY || same_frame == mjSAMEFRAME_BODYROT) quat = kNoQuat;
    if (same_frame == mjSAMEFRAME_INERTIA || same_frame == mjSAMEFRAME_INERTIAROT) quat = m_.body_iquat + 4 * b;
    return placement(name, b, pos, quat);
  }
  void read_geoms_and_sites() {
    for (int g = 0; g < m_.ngeom; ++g)
      r_.geoms.push_back(placement(name(mjOBJ_GEOM, g), m_.geom_bodyid[g], m_.geom_sameframe[g], m_.geom_pos + 3 * g,
                                   m_.geom_quat + 4 * g));
    for (int g = 0; g < m_.ngeom; ++g)
      if (m_.geom_type[g] == mjGEOM_PLANE && m_.body_weldid[m_.geom_bodyid[g]] == 0)
        r_.planes.push_back({.pos = r_.geoms[g].pos,
                             .turn = r_.geoms[g].turn,
                             .width = m_.geom_size[3 * g],
                             .length = m_.geom_size[3 * g + 1]});
    for (int s = 0; s < m_.nsite; ++s)
      r_.sites.push_back(placement(name(mjOBJ_SITE, s), m_.site_bodyid[s], m_.site_sameframe[s], m_.site_pos + 3 * s,
                                   m_.site_quat + 4 * s)),
          r_.sites.back().site = s;
  }

  void read_keyframes() {
    const auto row = [](const mjtNum* rows, int k, auto width) {
      return std::vector<double>(rows + k * width, rows + (k + 1) * width);
    };
    for (int k = 0; k < m_.nkey; ++k)
      if (const char* name = mj_id2name(&m_, mjOBJ_KEY, k); name && *name)
        r_.keyframes.push_back({name, row(m_.key_qpos, k, m_.nq), row(m_.key_qvel, k, m_.nv),
                                row(m_.key_ctrl, k, m_.nu), row(m_.key_act, k, m_.na)});
  }

  // --- What is refused ---

  // Rejects numbers that are not finite, both from the file and computed by libmujoco.
  void refuse_infinite(const std::string& where, std::initializer_list<std::span<const mjtNum>> lists) {
    for (const std::span<const mjtNum> list : lists)
      if (!std::ranges::all_of(list, [](mjtNum x) { return std::isfinite(x); }))
        refuse(where, "a number that is not finite");
  }
  // Returns the `width` numbers of part k.
  static std::span<const mjtNum> of(const mjtNum* numbers, int k, size_t width) {
    return {numbers + static_cast<size_t>(k) * width, width};
  }
  void refuse_infinite() {
    const mjOption& o = m_.opt;
    refuse_infinite("option: ", {{&o.timestep, 1},
                                 {o.gravity, 3},
                                 {o.wind, 3},
                                 {&o.density, 1},
                                 {&o.viscosity, 1},
                                 {&o.impratio, 1},
                                 {&o.o_margin, 1},
                                 {o.o_solref, 2},
                                 {o.o_solimp, 5},
                                 {o.o_friction, 5}});
    for (int b = 0; b < m_.nbody; ++b)
      refuse_infinite(quoted("body", mjOBJ_BODY, b),
                      {of(m_.body_pos, b, 3), of(m_.body_quat, b, 4), of(m_.body_ipos, b, 3), of(m_.body_iquat, b, 4),
                       of(m_.body_mass, b, 1), of(m_.body_inertia, b, 3), of(m_.body_invweight0, b, 2)});
    for (int j = 0; j < m_.njnt; ++j)
      refuse_infinite(
          quoted("joint", mjOBJ_JOINT, j),
          {of(m_.jnt_pos, j, 3), of(m_.jnt_axis, j, 3), of(m_.jnt_stiffness, j, 1), of(m_.jnt_range, j, 2),
           of(m_.jnt_actfrcrange, j, 2), of(m_.jnt_margin, j, 1), of(m_.jnt_solref, j, 2), of(m_.jnt_solimp, j, 5)});
    for (int d = 0; d < m_.nv; ++d)
      refuse_infinite(quoted("joint", mjOBJ_JOINT, m_.dof_jntid[d]),
                      {of(m_.dof_armature, d, 1), of(m_.dof_damping, d, 1), of(m_.dof_frictionloss, d, 1),
                       of(m_.dof_invweight0, d, 1), of(m_.dof_solref, d, 2), of(m_.dof_solimp, d, 5)});
    for (int q = 0; q < m_.nq; ++q) refuse_infinite("qpos0: ", {of(m_.qpos0, q, 1), of(m_.qpos_spring, q, 1)});
    for (int g = 0; g < m_.ngeom; ++g)
      refuse_infinite(quoted("geom", mjOBJ_GEOM, g),
                      {of(m_.geom_pos, g, 3), of(m_.geom_quat, g, 4), of(m_.geom_size, g, 3),
                       of(m_.geom_friction, g, 3), of(m_.geom_margin, g, 1), of(m_.geom_gap, g, 1),
                       of(m_.geom_solmix, g, 1), of(m_.geom_solref, g, 2), of(m_.geom_solimp, g, 5)});
    for (int p = 0; p < m_.npair; ++p)
      refuse_infinite(quoted("pair", mjOBJ_PAIR, p),
                      {of(m_.pair_friction, p, 5), of(m_.pair_margin, p, 1), of(m_.pair_gap, p, 1),
                       of(m_.pair_solref, p, 2), of(m_.pair_solreffriction, p, 2), of(m_.pair_solimp, p, 5)});
    for (int s = 0; s < m_.nsite; ++s)
      refuse_infinite(quoted("site", mjOBJ_SITE, s), {of(m_.site_pos, s, 3), of(m_.site_quat, s, 4)});
    for (int k = 0; k < m_.nkey; ++k)
      refuse_infinite(quoted("key", mjOBJ_KEY, k),
                      {of(m_.key_qpos, k, static_cast<size_t>(m_.nq)), of(m_.key_qvel, k, static_cast<size_t>(m_.nv)),
                       of(m_.key_ctrl, k, static_cast<size_t>(m_.nu)), of(m_.key_act, k, static_cast<size_t>(m_.na))});
    for (int t = 0; t < m_.ntendon; ++t)
      refuse_infinite(quoted("tendon", mjOBJ_TENDON, t),
                      {of(m_.tendon_range, t, 2), of(m_.tendon_actfrcrange, t, 2), of(m_.tendon_margin, t, 1),
                       of(m_.tendon_stiffness, t, 1), of(m_.tendon_damping, t, 1), of(m_.tendon_armature, t, 1),
                       of(m_.tendon_frictionloss, t, 1), of(m_.tendon_lengthspring, t, 2), of(m_.tendon_length0, t, 1),
                       of(m_.tendon_invweight0, t, 1), of(m_.tendon_solref_lim, t, 2), of(m_.tendon_solimp_lim, t, 5),
                       of(m_.tendon_solref_fri, t, 2), of(m_.tendon_solimp_fri, t, 5)});
    for (int w = 0; w < m_.nwrap; ++w) refuse_infinite("tendon: ", {of(m_.wrap_prm, w, 1)});
    for (int a = 0; a < m_.nu; ++a)
      refuse_infinite(
          quoted("actuator", mjOBJ_ACTUATOR, a),
          {of(m_.actuator_gear, a, 6), of(m_.actuator_gainprm, a, mjNGAIN), of(m_.actuator_biasprm, a, mjNBIAS),
           of(m_.actuator_ctrlrange, a, 2), of(m_.actuator_forcerange, a, 2), of(m_.actuator_dynprm, a, mjNDYN),
           of(m_.actuator_actrange, a, 2), of(m_.actuator_lengthrange, a, 2), of(m_.actuator_acc0, a, 1),
           of(m_.actuator_cranklength, a, 1)});
  }
  void refuse_the_rest() {
    for (int b = 0; b < m_.nbody; ++b)
      if (m_.body_plugin[b] >= 0) refuse(quoted("body", mjOBJ_BODY, b), "a plugin");
    for (int f = 0; f < m_.nflex; ++f) refuse(quoted("flex", mjOBJ_FLEX, f), "a flexible body");
    if (r_.bodies.empty()) refuse("worldbody: ", "nothing moves");
    size_t products = 0;  // of the factorisation of the mass matrix, each of which becomes code
    for (const Dof& dof : r_.dofs) products += dof.ancestors.size() * dof.ancestors.size() / 2;
    if (products > kMostProducts)
      refuse("worldbody: ", "chains of joints that are too long (" + std::to_string(r_.nv) + " degrees of freedom)");
  }

  std::string file_;
};

}  // namespace

void add_unsupported(RobotModel& robot, const std::string& element, const std::string& what,
                     const std::string& detail) {
  auto kind = std::ranges::find(robot.unsupported, what, &Unsupported::what);
  if (kind == robot.unsupported.end()) kind = robot.unsupported.insert(kind, {what, {}, {}});
  if (kind->elements.insert(element).second) kind->lines.push_back(element + what + detail);
}

std::vector<std::string> unsupported_lines(const RobotModel& robot) {
  std::vector<std::string> lines;
  for (const Unsupported& kind : robot.unsupported) lines.insert(lines.end(), kind.lines.begin(), kind.lines.end());
  return lines;
}

RobotModel read_robot_model(const std::string& file, int places, bool randomised) {
  mj_setCacheCapacity(mj_getCache(), 0);  // of meshes, which are read only once
  RobotModel robot;
  robot.randomised = randomised;
  const auto model = is_compiled_model(file) ? load_compiled_model(file) : load_model(file, {}, &robot.warnings);
  // MuJoCo 4.0 takes it, but warns. Masses that are scaled in the file, such as HalfCheetah's, would have other bits.
  std::erase_if(robot.warnings, [](const std::string& text) { return text.find("'settotalmass'") != text.npos; });
  Reader(*model, robot, file).read();
  if (!robot.unsupported.empty()) return robot;
  VisitedStates visited(*model, depends_on_motion(robot));
  choose_pair_places(visited, robot, places);
  if (depends_on_motion(robot)) try_float(visited, robot);
  group_pairs(robot);
  if (randomised) read_constants(*model, robot);
  return robot;
}

}  // namespace drl::robot_compiler
