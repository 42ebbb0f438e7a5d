#include "physics/robot_model.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "drl/mujoco_model.hpp"

namespace drl::robot_compiler {
namespace {

// MuJoCo's own bounds.
constexpr double kLeast = 1e-15, kLeastImpedance = 1e-4, kMostImpedance = 0.9999, kLeastFriction = 1e-5;

// What rounding leaves of 0, 1 and -1.
double snap(double x) { return std::abs(x - std::round(x)) < 1e-12 ? std::round(x) : x; }

Numbers3 numbers(const mjtNum* x) { return {snap(x[0]), snap(x[1]), snap(x[2])}; }
Rotation rotation(const mjtNum* quat) {
  mjtNum m[9];
  mju_quat2Mat(m, quat);
  return {numbers(m), numbers(m + 3), numbers(m + 6)};
}
Numbers3 plus(const Numbers3& a, const Numbers3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Numbers3 times(const Rotation& r, const Numbers3& x) {
  Numbers3 y{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = 0; k < 3; ++k) y[i] += r[i][k] * x[k];
  return {snap(y[0]), snap(y[1]), snap(y[2])};
}
Numbers3 column(const Rotation& r, size_t k) { return {r[0][k], r[1][k], r[2][k]}; }
Rotation times(const Rotation& a, const Rotation& b) {
  Rotation c;
  for (size_t k = 0; k < 3; ++k) {
    const Numbers3 x = times(a, column(b, k));
    for (size_t i = 0; i < 3; ++i) c[i][k] = x[i];
  }
  return c;
}

// Of `moments` about the axes of `turn`, and of a mass at `off`: xx, yy, zz, xy, xz, yz.
std::array<double, 6> inertia_about(const Rotation& turn, const mjtNum* moments, double mass, const Numbers3& off) {
  constexpr size_t kRow[] = {0, 1, 2, 0, 0, 1}, kColumn[] = {0, 1, 2, 1, 2, 2};
  const double square = off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
  std::array<double, 6> inertia{};
  for (size_t k = 0; k < 6; ++k) {
    const size_t i = kRow[k], j = kColumn[k];
    for (size_t l = 0; l < 3; ++l) inertia[k] += turn[i][l] * turn[j][l] * moments[l];
    inertia[k] += mass * ((i == j ? square : 0) - off[i] * off[j]);
    if (std::abs(inertia[k]) < 1e-13) inertia[k] = 0;
  }
  return inertia;
}

class Reader {
 public:
  Reader(const mjModel& model, const std::string& file) : m_(model), file_(file) {}

  RobotModel read() {
    r_.file = std::filesystem::path(file_).filename().string();
    r_.name = std::filesystem::path(file_).stem().string();
    r_.id = model_id(m_, file_);
    r_.nq = static_cast<int>(m_.nq), r_.nv = static_cast<int>(m_.nv);
    r_.start.assign(m_.qpos0, m_.qpos0 + m_.nq);
    read_options();
    read_frames();
    read_joints();
    read_masses();
    read_fluid();
    read_marks();
    read_actuators();
    read_contacts();
    refuse_the_rest();
    return std::move(r_);
  }

 private:
  template <class... Words>
  void refuse(const Words&... words) {
    std::string text;
    (text.append(words), ...);
    if (std::ranges::find(r_.unsupported, text) == r_.unsupported.end()) r_.unsupported.push_back(text);
  }
  std::string name(mjtObj type, int k) const {
    const char* text = mj_id2name(&m_, type, k);
    return text && *text ? text : "number " + std::to_string(k);
  }
  std::string quoted(const char* what, mjtObj type, int k) const {
    return std::string(what) + " '" + name(type, k) + "': ";
  }

  void read_options() {
    r_.timestep = m_.opt.timestep;
    r_.runge_kutta = m_.opt.integrator == mjINT_RK4;
    r_.gravity = {m_.opt.gravity[0], m_.opt.gravity[1], m_.opt.gravity[2]};
    if (m_.opt.integrator != mjINT_RK4 && m_.opt.integrator != mjINT_EULER)
      refuse("option: an integrator that is neither Euler nor RK4");
    if (m_.opt.cone != mjCONE_PYRAMIDAL) refuse("option: elliptic friction cones");
    constexpr int kHarmless = mjDSBL_WARMSTART | mjDSBL_SENSOR | mjDSBL_MIDPHASE | mjDSBL_EULERDAMP | mjDSBL_AUTORESET |
                              mjDSBL_NATIVECCD | mjDSBL_ISLAND;
    if ((m_.opt.disableflags & ~kHarmless) != 0) refuse("option: a flag that switches a part of the physics off");
    constexpr int kReports = mjENBL_ENERGY | mjENBL_FWDINV | mjENBL_INVDISCRETE;
    if ((m_.opt.enableflags & ~kReports) != 0) refuse("option: a flag that enables override, multiccd or sleep");
    const bool has_damping = std::any_of(m_.dof_damping, m_.dof_damping + m_.nv, [](mjtNum d) { return d > 0; });
    r_.implicit_damping = !r_.runge_kutta && has_damping && (m_.opt.disableflags & mjDSBL_EULERDAMP) == 0;
  }

  // Bodies of the file, and which of them begin something that moves by itself.
  void read_frames() {
    r_.trees = 0;
    for (int b = 0; b < m_.nbody; ++b) {
      Frame frame{.name = name(mjOBJ_BODY, b), .body = -1, .root = m_.body_rootid[b], .parent = m_.body_parentid[b]};
      const Numbers3 pos = numbers(m_.body_pos + 3 * b);
      const Rotation turn = rotation(m_.body_quat + 4 * b);
      frame.pos = pos, frame.turn = turn;
      std::copy_n(m_.body_quat + 4 * b, 4, frame.quat.begin());
      if (b > 0) {
        const Frame& parent = r_.frames[static_cast<size_t>(frame.parent)];
        frame.pos = plus(parent.pos, times(parent.turn, pos)), frame.turn = times(parent.turn, turn);
        mju_mulQuat(frame.quat.data(), parent.quat.data(), m_.body_quat + 4 * b);
        frame.body = parent.body;
      }
      if (m_.body_jntnum[b] > 0) {
        const bool is_root = frame.body < 0;
        const int tree = is_root ? r_.trees++ : r_.bodies[static_cast<size_t>(frame.body)].tree;
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
      if (m_.body_gravcomp[b] != 0) refuse(quoted("body", mjOBJ_BODY, b), "gravcomp");
      if (m_.body_mocapid[b] >= 0) refuse(quoted("body", mjOBJ_BODY, b), "mocap");
      r_.frames.push_back(frame);
    }
  }
  // Principal axes of a frame's inertia, in its body.
  Rotation axes(int b, const Frame& frame) const { return times(frame.turn, rotation(m_.body_iquat + 4 * b)); }

  void read_joints() {
    for (int j = 0; j < m_.njnt; ++j) {
      Joint joint{.name = name(mjOBJ_JOINT, j), .qpos = m_.jnt_qposadr[j], .dof = m_.jnt_dofadr[j]};
      const std::string where = quoted("joint", mjOBJ_JOINT, j);
      const int body = r_.frames[static_cast<size_t>(m_.jnt_bodyid[j])].body;
      joint.kind = m_.jnt_type[j] == mjJNT_FREE    ? Joint::free
                   : m_.jnt_type[j] == mjJNT_SLIDE ? Joint::slide
                                                   : Joint::hinge;
      if (m_.jnt_type[j] == mjJNT_BALL) refuse(where, "a ball joint");
      joint.axis = numbers(m_.jnt_axis + 3 * j), joint.pos = numbers(m_.jnt_pos + 3 * j);
      joint.reference = m_.qpos0[joint.qpos];
      joint.stiffness = m_.jnt_stiffness[j], joint.rest = m_.qpos_spring[joint.qpos];
      if (joint.kind == Joint::free && joint.stiffness != 0) refuse(where, "stiffness of a free joint");
      if (m_.jnt_limited[j]) {
        joint.limit = {m_.jnt_range[2 * j], m_.jnt_range[2 * j + 1], m_.jnt_margin[j],
                       softness(m_.jnt_solref + 2 * j, m_.jnt_solimp + 5 * j, where)};
        if (joint.limit->high - joint.limit->low <= 2 * joint.limit->margin) refuse(where, "both limits at once");
      }
      if (m_.jnt_actfrclimited[j]) joint.force_range = {m_.jnt_actfrcrange[2 * j], m_.jnt_actfrcrange[2 * j + 1]};
      if (joint.kind == Joint::free) check_free(joint, where);
      r_.bodies[static_cast<size_t>(body)].joints.push_back(j);
      const int count = joint.kind == Joint::free ? 6 : 1;
      for (int k = 0; k < count; ++k) read_dof(joint, j, body, k, count);
      r_.joints.push_back(joint);
    }
  }
  // Its turning is computed about the world's axes.
  void check_free(const Joint& joint, const std::string& where) {
    const mjtNum *armature = m_.dof_armature + joint.dof + 3, *damping = m_.dof_damping + joint.dof + 3;
    if (armature[0] != armature[1] || armature[1] != armature[2] || damping[0] != damping[1] ||
        damping[1] != damping[2])
      refuse(where, "armature or damping that differs by axis");
  }
  void read_dof(const Joint& joint, int j, int body, int k, int count) {
    const int d = joint.dof + k;
    Dof dof{.name = count == 1 ? joint.name : joint.name + "_" + "xyzabc"[k], .body = body, .joint = j};
    for (int parent = m_.dof_parentid[d]; parent >= 0; parent = m_.dof_parentid[parent])
      dof.ancestors.push_back(parent);
    dof.armature = m_.dof_armature[d], dof.damping = m_.dof_damping[d], dof.inverse_weight = m_.dof_invweight0[d];
    if (m_.dof_frictionloss[d] != 0) refuse(quoted("joint", mjOBJ_JOINT, j), "frictionloss");
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

  // Of bodies that move and have a mass. An implicit integrator would need derivatives of what the fluid does.
  void read_fluid() {
    r_.density = m_.opt.density, r_.viscosity = m_.opt.viscosity, r_.wind = numbers(m_.opt.wind);
    if (r_.density == 0 && r_.viscosity == 0) return;
    if (m_.opt.integrator != mjINT_RK4 && m_.opt.integrator != mjINT_EULER)
      refuse("option: a fluid (density, viscosity) with an implicit integrator");
    for (int g = 0; g < m_.ngeom; ++g)
      if (m_.geom_fluid[mjNFLUID * g] > 0) refuse(quoted("geom", mjOBJ_GEOM, g), "fluidshape ellipsoid");
    for (int b = 1; b < m_.nbody; ++b) {
      const Frame& frame = r_.frames[static_cast<size_t>(b)];
      if (frame.body < 0 || frame.mass < kLeast) continue;
      FluidBox box{.name = frame.name, .body = frame.body, .center = frame.center, .turn = axes(b, frame)};
      const mjtNum* moments = m_.body_inertia + 3 * b;
      const double sum = moments[0] + moments[1] + moments[2];
      for (size_t k = 0; k < 3; ++k) box.half[k] = std::sqrt(1.5 * std::max(kLeast, sum - 2 * moments[k]) / frame.mass);
      r_.boxes.push_back(box);
    }
  }

  Mark mark(const std::string& name, int b, const mjtNum* pos) const {
    const Frame& frame = r_.frames[static_cast<size_t>(b)];
    return {name, frame.body, plus(frame.pos, times(frame.turn, numbers(pos)))};
  }
  void read_marks() {
    for (int g = 0; g < m_.ngeom; ++g)
      r_.geoms.push_back(mark(name(mjOBJ_GEOM, g), m_.geom_bodyid[g], m_.geom_pos + 3 * g));
    for (int s = 0; s < m_.nsite; ++s)
      r_.sites.push_back(mark(name(mjOBJ_SITE, s), m_.site_bodyid[s], m_.site_pos + 3 * s));
  }

  void read_actuators() {
    for (int a = 0; a < m_.nu; ++a) {
      const std::string where = quoted("actuator", mjOBJ_ACTUATOR, a);
      Actuator actuator{.name = name(mjOBJ_ACTUATOR, a), .joint = m_.actuator_trnid[2 * a]};
      if (m_.actuator_trntype[a] != mjTRN_JOINT || m_.jnt_type[actuator.joint] == mjJNT_FREE) {
        refuse(where, "it does not act on a hinge or a slide");
        actuator.joint = 0;
      }
      if (m_.actuator_dyntype[a] != mjDYN_NONE) refuse(where, "activation");
      if (m_.actuator_gaintype[a] != mjGAIN_FIXED) refuse(where, "a gain that is not fixed");
      const bool is_affine = m_.actuator_biastype[a] == mjBIAS_AFFINE;
      if (!is_affine && m_.actuator_biastype[a] != mjBIAS_NONE) refuse(where, "a bias that is not affine");
      actuator.gear = m_.actuator_gear[6 * a], actuator.gain = m_.actuator_gainprm[mjNGAIN * a];
      for (size_t k = 0; k < 3 && is_affine; ++k)
        actuator.bias[k] = m_.actuator_biasprm[mjNBIAS * a + static_cast<int>(k)];
      if (m_.actuator_ctrllimited[a])
        actuator.control_range = {m_.actuator_ctrlrange[2 * a], m_.actuator_ctrlrange[2 * a + 1]};
      if (m_.actuator_forcelimited[a])
        actuator.force_range = {m_.actuator_forcerange[2 * a], m_.actuator_forcerange[2 * a + 1]};
      r_.actuators.push_back(actuator);
    }
  }

  Softness softness(const mjtNum* solref, const mjtNum* solimp, const std::string& where) {
    Softness s;
    s.least = std::clamp(solimp[0], kLeastImpedance, kMostImpedance);
    s.most = std::clamp(solimp[1], kLeastImpedance, kMostImpedance);
    s.width = std::max(0.0, solimp[2]);
    s.midpoint = std::clamp(solimp[3], kLeastImpedance, kMostImpedance);
    s.power = static_cast<int>(std::max(1.0, solimp[4]));
    if (s.power > 2 || s.power != std::max(1.0, solimp[4])) refuse(where, "a power of solimp that is neither 1 nor 2");
    if (solref[0] > 0) {
      const double time = std::max(solref[0], 2 * m_.opt.timestep);
      s.stiffness = 1 / std::max(kLeast, s.most * s.most * time * time * solref[1] * solref[1]);
      s.damping = 2 / std::max(kLeast, s.most * time);
    } else {
      s.stiffness = -solref[0] / std::max(kLeast, s.most * s.most);
      s.damping = -solref[1] / std::max(kLeast, s.most);
    }
    if (s.width <= kLeast) s.least = s.most = (s.least + s.most) / 2, s.width = 1;  // the same for all x
    return s;
  }

  // How two geoms touch.
  struct Touch {
    int a, b, dimensions;
    double margin, gap, friction;
    Softness softness;
  };
  // What MuJoCo's mj_contactParam mixes of two geoms: the one of higher priority says it, else both.
  Touch mixed_touch(int a, int b) {
    double share = 0.5;  // of a
    const double mix_a = m_.geom_solmix[a], mix_b = m_.geom_solmix[b];
    if (mix_a >= kLeast || mix_b >= kLeast) share = mix_a < kLeast ? 0 : mix_b < kLeast ? 1 : mix_a / (mix_a + mix_b);
    int dimensions = std::max(m_.geom_condim[a], m_.geom_condim[b]);
    double mu = std::max(m_.geom_friction[3 * a], m_.geom_friction[3 * b]);
    if (m_.geom_priority[a] != m_.geom_priority[b]) {
      const int first = m_.geom_priority[a] > m_.geom_priority[b] ? a : b;
      share = first == a ? 1 : 0, dimensions = m_.geom_condim[first], mu = m_.geom_friction[3 * first];
    }
    mjtNum solref[2], solimp[5];
    const bool are_times = m_.geom_solref[2 * a] > 0 && m_.geom_solref[2 * b] > 0;
    for (int k = 0; k < 2; ++k) {
      const mjtNum x = m_.geom_solref[2 * a + k], y = m_.geom_solref[2 * b + k];
      solref[k] = are_times || share == 0 || share == 1 ? share * x + (1 - share) * y : std::min(x, y);
    }
    for (int k = 0; k < 5; ++k) solimp[k] = share * m_.geom_solimp[5 * a + k] + (1 - share) * m_.geom_solimp[5 * b + k];
    return {a,
            b,
            dimensions,
            m_.geom_margin[a] + m_.geom_margin[b],
            m_.geom_gap[a] + m_.geom_gap[b],
            std::max(kLeastFriction, mu),
            softness(solref, solimp, quoted("geom", mjOBJ_GEOM, a))};
  }
  // What the file says of the two.
  Touch told_touch(int p) {
    const std::string where = quoted("pair", mjOBJ_PAIR, p);
    const mjtNum *friction = m_.pair_friction + 5 * p, *turned = m_.pair_solreffriction + 2 * p;
    if (m_.pair_dim[p] > 1 && friction[0] != friction[1]) refuse(where, "friction that differs by direction");
    if (turned[0] != 0 || turned[1] != 0) refuse(where, "solreffriction");
    return {m_.pair_geom1[p],
            m_.pair_geom2[p],
            m_.pair_dim[p],
            m_.pair_margin[p],
            m_.pair_gap[p],
            std::max(kLeastFriction, friction[0]),
            softness(m_.pair_solref + 2 * p, m_.pair_solimp + 5 * p, where)};
  }
  // What the impedance makes a diagonal of, of each edge.
  double edge_weight(const Touch& touch) const {
    const double weight =
        m_.body_invweight0[2 * m_.geom_bodyid[touch.a]] + m_.body_invweight0[2 * m_.geom_bodyid[touch.b]];
    const double mu = touch.friction;
    return touch.dimensions == 1 ? weight : weight * (1 + mu * mu) * 2 * mu * mu / m_.opt.impratio;
  }

  // Whether MuJoCo looks for contacts of the two.
  bool may_touch(int a, int b) const {
    const bool wants = (m_.geom_contype[a] & m_.geom_conaffinity[b]) || (m_.geom_contype[b] & m_.geom_conaffinity[a]);
    const int body_a = m_.geom_bodyid[a], body_b = m_.geom_bodyid[b];
    const int weld_a = m_.body_weldid[body_a], weld_b = m_.body_weldid[body_b];
    if (!wants || weld_a == weld_b) return false;
    const int parent_a = m_.body_weldid[m_.body_parentid[weld_a]], parent_b = m_.body_weldid[m_.body_parentid[weld_b]];
    if (weld_a != 0 && weld_b != 0 && (weld_a == parent_b || weld_b == parent_a)) return false;
    for (int e = 0; e < m_.nexclude; ++e) {
      const int first = m_.exclude_signature[e] >> 16, second = m_.exclude_signature[e] & 0xffff;
      if ((first == body_a && second == body_b) || (first == body_b && second == body_a)) return false;
    }
    return true;
  }

  bool is_told(int a, int b) const {
    for (int p = 0; p < m_.npair; ++p)
      if (std::minmax(a, b) == std::minmax(m_.pair_geom1[p], m_.pair_geom2[p])) return true;
    return false;
  }

  void read_contacts() {
    for (int p = 0; p < m_.npair; ++p) read_contact(told_touch(p));
    for (int a = 0; a < m_.ngeom; ++a)
      for (int b = a + 1; b < m_.ngeom; ++b)
        if (may_touch(a, b) && !is_told(a, b)) read_contact(mixed_touch(a, b));
    if (!r_.pairs.empty() && r_.nv > 64) refuse("contact: geoms may touch, and more than 64 numbers of qvel");
  }
  void read_contact(const Touch& touch) {
    const std::string where = quoted("geom", mjOBJ_GEOM, touch.a);
    if (touch.dimensions != 1 && touch.dimensions != 3)
      return refuse(where, "condim ", std::to_string(touch.dimensions), " with geom '", name(mjOBJ_GEOM, touch.b), "'");
    if (touch.gap != 0) refuse(where, "gap");
    if (m_.geom_type[touch.a] == mjGEOM_PLANE) return read_floor_contact(touch.a, touch.b, touch);
    if (m_.geom_type[touch.b] == mjGEOM_PLANE) return read_floor_contact(touch.b, touch.a, touch);
    read_pair(touch);
  }

  bool is_round(int g) const { return m_.geom_type[g] == mjGEOM_CAPSULE || m_.geom_type[g] == mjGEOM_SPHERE; }
  // The axis of a geom, in its body.
  Numbers3 axis_of(int g) const {
    const Frame& frame = r_.frames[static_cast<size_t>(m_.geom_bodyid[g])];
    return column(times(frame.turn, rotation(m_.geom_quat + 4 * g)), 2);
  }

  void read_floor_contact(int plane, int g, const Touch& touch) {
    const std::string where = quoted("geom", mjOBJ_GEOM, g);
    const bool is_capsule = m_.geom_type[g] == mjGEOM_CAPSULE;
    if (!is_round(g)) return refuse(where, "it may touch a plane, and is neither sphere nor capsule");
    const Rotation plane_turn = rotation(m_.geom_quat + 4 * plane);
    if (m_.geom_bodyid[plane] != 0 || column(plane_turn, 2) != Numbers3{0, 0, 1})
      return refuse(quoted("geom", mjOBJ_GEOM, plane), "a plane that is not horizontal, or moves");
    const int b = m_.geom_bodyid[g];
    const Frame& frame = r_.frames[static_cast<size_t>(b)];
    FloorContact contact{.name = name(mjOBJ_GEOM, g), .body = frame.body, .frame = b};
    contact.radius = m_.geom_size[3 * g], contact.height = m_.geom_pos[3 * plane + 2];
    contact.margin = touch.margin, contact.friction = touch.friction, contact.weight = edge_weight(touch);
    if (touch.dimensions == 1) contact.friction = 0, contact.weight *= 4;
    contact.softness = touch.softness;
    const Numbers3 middle = r_.geoms[static_cast<size_t>(g)].pos, along = axis_of(g);
    if (is_capsule) contact.axis = along;
    for (const double end : is_capsule ? std::vector<double>{1, -1} : std::vector<double>{0}) {
      const double off = end * m_.geom_size[3 * g + 1];
      contact.center = plus(middle, {off * along[0], off * along[1], off * along[2]});
      if (!r_.contacts.empty() && r_.contacts[0].softness.power != contact.softness.power)
        refuse(where, "a power of solimp that differs from that of geom '", r_.contacts[0].name, "'");
      contact.name = name(mjOBJ_GEOM, g) + (end > 0 ? "'s upper end" : end < 0 ? "'s lower end" : "");
      r_.contacts.push_back(contact);
    }
  }

  // The number of a geom among rounds, where it may be new.
  int round_of(int g) {
    const auto [place, is_new] = rounds_.emplace(g, static_cast<int>(r_.rounds.size()));
    if (!is_new) return place->second;
    Round round{.name = name(mjOBJ_GEOM, g), .body = r_.geoms[static_cast<size_t>(g)].body, .frame = m_.geom_bodyid[g]};
    round.center = r_.geoms[static_cast<size_t>(g)].pos, round.radius = m_.geom_size[3 * g];
    const Numbers3 axis = axis_of(g);
    const double half = m_.geom_type[g] == mjGEOM_CAPSULE ? m_.geom_size[3 * g + 1] : 0;
    round.half = {half * axis[0], half * axis[1], half * axis[2]};
    r_.rounds.push_back(round);
    return place->second;
  }
  void read_pair(const Touch& touch) {
    for (const int g : {touch.a, touch.b})
      if (!is_round(g))
        return refuse(quoted("geom", mjOBJ_GEOM, g), "it may touch geom '",
                      name(mjOBJ_GEOM, g == touch.a ? touch.b : touch.a), "', and is neither sphere nor capsule");
    const bool turns = m_.geom_type[touch.a] > m_.geom_type[touch.b];
    RoundPair pair{.first = round_of(turns ? touch.b : touch.a), .second = round_of(turns ? touch.a : touch.b)};
    pair.edges = touch.dimensions == 1 ? 1 : 4;
    pair.margin = touch.margin, pair.friction = touch.friction, pair.weight = edge_weight(touch);
    pair.softness = touch.softness;
    if (!r_.pairs.empty() && r_.pairs[0].softness.power != pair.softness.power)
      refuse(quoted("geom", mjOBJ_GEOM, touch.a), "a power of solimp that differs from that of other pairs");
    r_.pairs.push_back(pair);
  }

  void refuse_the_rest() {
    if (m_.neq > 0) refuse("equality constraints");
    if (m_.nplugin > 0) refuse("plugins");
    if (m_.nflex > 0) refuse("flexible bodies");
    if (r_.bodies.empty()) refuse("worldbody: nothing moves");
    for (int t = 0; t < m_.ntendon; ++t)
      if (m_.tendon_stiffness[t] != 0 || m_.tendon_damping[t] != 0 || m_.tendon_limited[t] ||
          m_.tendon_frictionloss[t] != 0 || m_.tendon_armature[t] != 0)
        refuse(quoted("tendon", mjOBJ_TENDON, t), "it pulls");
    for (int s = 0; s < m_.nsensor; ++s) refuse(quoted("sensor", mjOBJ_SENSOR, s), "sensors");
  }

  const mjModel& m_;
  std::string file_;
  RobotModel r_;
  std::map<int, int> rounds_;  // by geom
};

}  // namespace

RobotModel read_robot_model(const std::string& file) {
  const auto model = load_model(file);
  return Reader(*model, file).read();
}

}  // namespace drl::robot_compiler
