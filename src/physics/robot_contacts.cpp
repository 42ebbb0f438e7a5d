#include <map>
#include <set>

#include "drl/physics/multiccd.hpp"
#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  void read() {
    if (is_constraint_off(mjDSBL_CONTACT)) return;
    constexpr int kMostAdhesions = 32;  // bits of GeomPair::adhesions
    if (std::ranges::count(r_.actuators, Actuator::body, &Actuator::acts_on) > kMostAdhesions)
      refuse("actuator: ", "adhesion of more than " + std::to_string(kMostAdhesions) + " actuators");
    r_.convex_tolerance = m_.opt.ccd_tolerance, r_.convex_iterations = m_.opt.ccd_iterations;
    for (int e = 0; e < m_.nexclude; ++e)
      excluded_.insert(std::minmax(m_.exclude_signature[e] >> 16, m_.exclude_signature[e] & 0xffff));
    for (int p = 0; p < m_.npair; ++p) {
      explicit_.insert(std::minmax(m_.pair_geom1[p], m_.pair_geom2[p]));
      if (may_push(m_.pair_geom1[p], m_.pair_geom2[p])) read_contact(explicit_contact(p));
    }
    for (int a = 0; a < m_.ngeom; ++a)
      for (int b = a + 1; b < m_.ngeom; ++b)
        if (may_touch(a, b) && !explicit_.contains(std::minmax(a, b))) read_contact(mixed_contact(a, b));
  }

 private:
  // The parameters of a contact between two geoms.
  struct ContactParameters {
    int a, b, dimensions;
    double friction = 0;
    Softness softness;
    Numbers3 frictions = {};                        // sliding, torsional, rolling
    std::vector<int> friction_geoms = {};           // the geoms whose friction counts; the largest value is used
    double gap = 0, file_margin = 0, adhesion = 0;  // MuJoCo's
    double second_sliding = 0, second_rolling = 0, friction_damping = -1;  // as in ConeFriction and GeomPair
  };
  // Return the distance below which the contact pushes, and the one below which it exists.
  static double margin_of(const ContactParameters& touch) {
    return touch.file_margin - (mujoco::kGapFollowsMargin ? 0 : touch.gap);
  }
  static double reach_of(const ContactParameters& touch) {
    return touch.file_margin + (mujoco::kGapFollowsMargin ? touch.gap : 0);
  }
  // Combines the parameters of two geoms as MuJoCo's mj_contactParam does: takes those of the geom with the higher
  // priority, or mixes both.
  ContactParameters mixed_contact(int a, int b) {
    double share = 0.5;  // weight of a's solref and solimp
    const double mix_a = m_.geom_solmix[a], mix_b = m_.geom_solmix[b];
    if (mix_a >= kLeast || mix_b >= kLeast) share = mix_a < kLeast ? 0 : mix_b < kLeast ? 1 : mix_a / (mix_a + mix_b);
    int dimensions = std::max(m_.geom_condim[a], m_.geom_condim[b]);
    double mu = std::max(m_.geom_friction[3 * a], m_.geom_friction[3 * b]);
    std::vector<int> friction_geoms{a, b};
    const bool one_has_priority = m_.geom_priority[a] != m_.geom_priority[b];
    if (one_has_priority) {
      const int first = m_.geom_priority[a] > m_.geom_priority[b] ? a : b;
      share = first == a ? 1 : 0, dimensions = m_.geom_condim[first], mu = m_.geom_friction[3 * first];
      friction_geoms = {first};
    }
    mjtNum solref[2], solimp[5];
    const bool are_time_constants = m_.geom_solref[2 * a] > 0 && m_.geom_solref[2 * b] > 0;
    for (int k = 0; k < 2; ++k) {
      const mjtNum x = m_.geom_solref[2 * a + k], y = m_.geom_solref[2 * b + k];
      solref[k] = are_time_constants || one_has_priority ? share * x + (1 - share) * y : std::min(x, y);
    }
    for (int k = 0; k < 5; ++k) solimp[k] = share * m_.geom_solimp[5 * a + k] + (1 - share) * m_.geom_solimp[5 * b + k];
    return {.a = a,
            .b = b,
            .dimensions = dimensions,
            .friction = std::max(kLeastFriction, mu),
            .softness = contact_softness(solref, solimp, {"geom", mjOBJ_GEOM, a}),
            .friction_geoms = friction_geoms,
            .gap = m_.geom_gap[a] + m_.geom_gap[b],
            .file_margin = m_.geom_margin[a] + m_.geom_margin[b],
            .adhesion = mujoco::geom_adhesion(m_, a) + mujoco::geom_adhesion(m_, b)};
  }
  // Reads the parameters of an explicit <pair>.
  ContactParameters explicit_contact(int p) {
    const mjtNum *friction = m_.pair_friction + 5 * p, *solreffriction = m_.pair_solreffriction + 2 * p;
    const Element where{"pair", mjOBJ_PAIR, p};
    ContactParameters pair{.a = m_.pair_geom1[p],
                           .b = m_.pair_geom2[p],
                           .dimensions = m_.pair_dim[p],
                           .softness = contact_softness(m_.pair_solref + 2 * p, m_.pair_solimp + 5 * p, where),
                           .gap = m_.pair_gap[p],
                           .file_margin = m_.pair_margin[p],
                           .adhesion = mujoco::pair_adhesion(m_, p)};
    set_frictions(pair, friction);
    // Only elliptic cones use it. If the signs of its numbers differ, MuJoCo ignores it.
    const bool is_given = solreffriction[0] != 0 || solreffriction[1] != 0;
    if (r_.elliptic && is_given && (solreffriction[0] > 0) == (solreffriction[1] > 0))
      pair.friction_damping = softness(solreffriction, m_.pair_solimp + 5 * p, where).damping;
    return pair;
  }
  // The flag override replaces parameters of all contacts.
  bool overrides() const { return (m_.opt.enableflags & mjENBL_OVERRIDE) != 0; }
  Softness contact_softness(const mjtNum* solref, const mjtNum* solimp, const Element& where) {
    return overrides() ? softness(m_.opt.o_solref, m_.opt.o_solimp, {"option", mjOBJ_UNKNOWN, 0})
                       : softness(solref, solimp, where);
  }
  void override_parameters(ContactParameters& touch) const {
    if (!overrides()) return;
    touch.file_margin = m_.opt.o_margin;
    touch.friction_geoms = {}, touch.friction_damping = -1;
    set_frictions(touch, m_.opt.o_friction);
  }
  // Sets the five coefficients of a contact.
  static void set_frictions(ContactParameters& touch, const mjtNum* friction) {
    const auto second = [&](int k) {
      return friction[k] == friction[k - 1] ? 0 : std::max(kLeastFriction, friction[k]);
    };
    touch.friction = std::max(kLeastFriction, friction[0]), touch.frictions = {friction[0], friction[2], friction[3]};
    touch.second_sliding = touch.dimensions > 1 ? second(1) : 0;
    touch.second_rolling = touch.dimensions == 6 ? second(4) : 0;
  }
  // Returns the inverse weight of a geom's body. If no force moves the body's centre of mass, as that of a knob on its
  // axis, MuJoCo's inverse weight is 0, and contacts with the world are rigid.
  double inverse_weight(int g) const {
    const double in_file = m_.body_invweight0[2 * m_.geom_bodyid[g]];
    return moves(g) ? std::max(in_file, kLeastWeight) : in_file;
  }
  double inverse_weight(const ContactParameters& touch) const {
    return inverse_weight(touch.a) + inverse_weight(touch.b);
  }
  // Returns the factor w of the regularisation of each edge, R = w (1 - d) / d, for an inverse weight.
  double edge_weight(const ContactParameters& touch, double weight) const {
    const double mu = touch.friction;
    return touch.dimensions == 1 || r_.elliptic ? weight : weight * (1 + mu * mu) * 2 * mu * mu / m_.opt.impratio;
  }
  // Returns the same without the factor that friction adds in a pyramid, (1 + mu^2) 2 mu^2.
  double weight_without_friction(const ContactParameters& touch, double weight) const {
    return touch.dimensions == 1 || r_.elliptic ? weight : weight / m_.opt.impratio;
  }

  // Returns the friction of a cone or a pyramid.
  ConeFriction cone_friction(const ContactParameters& touch) {
    ConeFriction cone{.dimensions = touch.dimensions,
                      .fixed = touch.frictions,
                      .second_sliding = touch.second_sliding,
                      .second_rolling = touch.second_rolling};
    for (const int g : touch.friction_geoms) {
      const auto is_theirs = [&](const Parameter& p) { return p.kind == ModelParameter::friction && p.index == g; };
      const auto parameter = std::ranges::find_if(r_.parameters, is_theirs);
      if (parameter != r_.parameters.end() && touch.dimensions > 1)
        cone.varies.push_back(3 * static_cast<int>(parameter - r_.parameters.begin()));
      else
        for (size_t k = 0; k < 3; ++k)
          cone.fixed[k] = std::max(cone.fixed[k], m_.geom_friction[3 * g + static_cast<int>(k)]);
    }
    for (double& mu : cone.fixed) mu = std::max(kLeastFriction, mu);
    return cone;
  }

  bool moves(int g) const { return r_.geoms[g].body >= 0; }
  // Returns whether contacts of an explicit pair have forces.
  bool may_push(int a, int b) const {
    return mujoco::kPairsOfOneBodyPush ? moves(a) || moves(b) : r_.geoms[a].body != r_.geoms[b].body;
  }
  // Returns whether MuJoCo checks the two geoms for contacts.
  bool may_touch(int a, int b) const {
    const bool wants = (m_.geom_contype[a] & m_.geom_conaffinity[b]) || (m_.geom_contype[b] & m_.geom_conaffinity[a]);
    const int body_a = m_.geom_bodyid[a], body_b = m_.geom_bodyid[b];
    const int weld_a = m_.body_weldid[body_a], weld_b = m_.body_weldid[body_b];
    if (!wants || weld_a == weld_b || !(moves(a) || moves(b))) return false;
    const int parent_a = m_.body_weldid[m_.body_parentid[weld_a]], parent_b = m_.body_weldid[m_.body_parentid[weld_b]];
    const bool are_parent_and_child = weld_a != 0 && weld_b != 0 && (weld_a == parent_b || weld_b == parent_a);
    if (are_parent_and_child && !is_off(mjDSBL_FILTERPARENT)) return false;
    return !excluded_.contains(std::minmax(body_a, body_b));
  }

  void read_contact(ContactParameters touch) {
    override_parameters(touch);
    if (touch.adhesion != 0) refuse(quoted("geom", mjOBJ_GEOM, touch.a), "adhesion of a geom");
    for (const int g : {touch.a, touch.b})
      if (mujoco::has_moving_surface(m_, g)) refuse(quoted("geom", mjOBJ_GEOM, g), "a surface that moves");
    if (is_on_floor(touch.a, touch.b, touch)) return read_floor_contact(touch.a, touch.b, touch);
    if (is_on_floor(touch.b, touch.a, touch)) return read_floor_contact(touch.b, touch.a, touch);
    read_pair(touch);
  }
  // Returns whether the contact is of the kind that costs least: of a sphere, capsule or box with a horizontal plane
  // that does not move, in an elliptic cone or with sliding friction only, equal in all directions. The noslip solver
  // needs rows along qvel, and contacts that sensors may show in the gap need a pair.
  bool is_on_floor(int plane, int g, const ContactParameters& touch) const {
    return !r_.noslip && adhesions_of(touch) == 0 && touch.gap >= 0 && !(touch.gap > 0 && has_contact_sensors()) &&
           touch.second_sliding == 0 && touch.second_rolling == 0 && touch.friction_damping < 0 &&
           m_.geom_type[plane] == mjGEOM_PLANE && m_.geom_bodyid[plane] == 0 &&
           column(rotation(m_.geom_quat + 4 * plane), 2) == Numbers3{0, 0, 1} &&
           (is_sphere_or_capsule(g) || is_box(g)) && (r_.elliptic || touch.dimensions <= 3);
  }

  bool has_contact_sensors() const {
    return std::find(m_.sensor_type, m_.sensor_type + m_.nsensor, mjSENS_CONTACT) != m_.sensor_type + m_.nsensor;
  }
  // Returns the bits of the actuators that adhere to these geoms' contacts.
  uint32_t adhesions_of(const ContactParameters& touch) const {
    uint32_t bits = 0;
    int number = 0;
    for (const Actuator& actuator : r_.actuators) {
      if (actuator.acts_on != Actuator::body) continue;
      if (number == 32) break;  // refused by read()
      if (m_.geom_bodyid[touch.a] == actuator.target || m_.geom_bodyid[touch.b] == actuator.target)
        bits |= uint32_t{1} << number;
      number += 1;
    }
    return bits;
  }

  bool is_sphere_or_capsule(int g) const {
    return m_.geom_type[g] == mjGEOM_CAPSULE || m_.geom_type[g] == mjGEOM_SPHERE;
  }
  bool is_box(int g) const { return m_.geom_type[g] == mjGEOM_BOX; }
  // Return a geom's axes, and the axis along which a capsule extends, in the geom's body.
  Rotation turn_of(int g) const { return r_.geoms[g].turn; }
  Numbers3 axis_of(int g) const { return column(turn_of(g), 2); }

  void read_floor_contact(int plane, int g, const ContactParameters& touch) {
    const bool is_capsule = m_.geom_type[g] == mjGEOM_CAPSULE;
    const int b = m_.geom_bodyid[g];
    const Frame& frame = r_.frames[b];
    FloorContact contact{.name = name(mjOBJ_GEOM, g), .body = frame.body, .frame = b, .geom = g, .plane = plane};
    contact.radius = m_.geom_size[3 * g], contact.height = m_.geom_pos[3 * plane + 2];
    contact.margin = margin_of(touch), contact.friction = touch.friction,
    contact.weight = edge_weight(touch, inverse_weight(touch));
    contact.weight_without_friction =
        (touch.dimensions == 1 && !r_.elliptic ? 4 : 1) * weight_without_friction(touch, inverse_weight(touch));
    if (touch.dimensions == 1) contact.friction = 0;
    if (touch.dimensions == 1 && !r_.elliptic) contact.weight *= 4;  // one row becomes a pyramid with four equal edges
    contact.softness = touch.softness, contact.cone = cone_friction(touch);
    const Numbers3 middle = r_.geoms[g].pos, along = axis_of(g);
    const auto add = [&] {
      if (!r_.elliptic && !r_.contacts.empty() && r_.contacts[0].softness.power != contact.softness.power)
        refuse(quoted("geom", mjOBJ_GEOM, g), "a power of solimp that differs from that of other geoms");
      r_.contacts.push_back(contact);
    };
    if (is_box(g)) {
      contact.radius = 0;
      for (int k = 0; k < 8; ++k) {
        Numbers3 corner;
        for (size_t i = 0; i < 3; ++i) corner[i] = (k >> i & 1 ? 1 : -1) * m_.geom_size[3 * g + static_cast<int>(i)];
        contact.corner = times(turn_of(g), corner), contact.center = plus(middle, *contact.corner);
        contact.name = name(mjOBJ_GEOM, g) + "'s corner " + std::to_string(k);
        add();
      }
      return;
    }
    if (is_capsule) contact.axis = along;
    for (const double end : is_capsule ? std::vector<double>{1, -1} : std::vector<double>{0}) {
      const double off = end * m_.geom_size[3 * g + 1];
      contact.center = plus(middle, {off * along[0], off * along[1], off * along[2]});
      contact.name = name(mjOBJ_GEOM, g) + (end > 0 ? "'s upper end" : end < 0 ? "'s lower end" : "");
      add();
    }
  }

  // Returns the index of a geom among pair_geoms, and adds the geom if it is new.
  int pair_geom_of(int g) {
    const auto [place, is_new] = pair_geoms_.emplace(g, static_cast<int>(r_.pair_geoms.size()));
    if (!is_new) return place->second;
    PairGeom geom{.name = name(mjOBJ_GEOM, g), .geom = g, .body = r_.geoms[g].body, .frame = m_.geom_bodyid[g]};
    geom.center = r_.geoms[g].pos, geom.radius = m_.geom_size[3 * g];
    const Numbers3 axis = axis_of(g);
    const double half = m_.geom_type[g] == mjGEOM_CAPSULE ? m_.geom_size[3 * g + 1] : 0;
    geom.half = {half * axis[0], half * axis[1], half * axis[2]};
    geom.inverse_weight = inverse_weight(g);
    geom.kind = shape_of(m_.geom_type[g]), geom.turn = turn_of(g), geom.bound = m_.geom_rbound[g];
    if (geom.is_turned()) geom.radius = 0;
    const mjtNum *size = m_.geom_size + 3 * g, *box = m_.geom_aabb + 6 * g;  // box: centre, then half sizes
    for (size_t k = 0; k < 3; ++k) geom.size[k] = size[k], geom.extent[k] = std::abs(box[k]) + box[k + 3];
    if (geom.kind == PairGeom::mesh) geom.hull = hull_of(m_.geom_dataid[g]);
    if (geom.kind == PairGeom::height_field) {
      constexpr double kAnySize = 1e6;  // m; other heights may also have another size
      geom.hull = height_field_of(m_.geom_dataid[g]), geom.bound = kAnySize;
    }
    r_.pair_geoms.push_back(geom);
    return place->second;
  }
  // Returns the index of a mesh's hull, and adds the hull if it is new.
  int hull_of(int mesh) {
    const auto [place, is_new] = hulls_.emplace(mesh, static_cast<int>(r_.hulls.size()));
    if (!is_new) return place->second;
    r_.hulls.push_back(read_hull(m_, mesh));
    if (const size_t count = r_.hulls.back().vertices.size(); count > kMostHullVertices)
      refuse(quoted("mesh", mjOBJ_MESH, mesh), "a hull of more than " + std::to_string(kMostHullVertices) + " vertices",
             " (" + std::to_string(count) + "; maxhullvert=\"64\" in the file's <mesh> makes it smaller)");
    return place->second;
  }
  // Returns the index of a height field, and adds it if it is new.
  int height_field_of(int field) {
    const auto known = std::ranges::find(r_.height_fields, field, &HeightField::index);
    if (known != r_.height_fields.end()) return static_cast<int>(known - r_.height_fields.begin());
    HeightField& added = r_.height_fields.emplace_back();
    added.index = field, added.rows = m_.hfield_nrow[field], added.columns = m_.hfield_ncol[field];
    std::copy_n(m_.hfield_size + 4 * field, 4, added.size.begin());
    return static_cast<int>(r_.height_fields.size()) - 1;
  }
  // Reads the faces that a pair needs, and whether the flag multiccd matters.
  void read_faces_of_pair(const GeomPair& pair) {
    const PairGeom* geoms[] = {&r_.pair_geoms[pair.first], &r_.pair_geoms[pair.second]};
    const physics::ShapeKind first = geoms[0]->kind, second = geoms[1]->kind;
    if (mujoco::kPlanesTouchFaces && first == physics::ShapeKind::plane && second == physics::ShapeKind::mesh)
      r_.planes_touch_faces = true, read_faces_of(*geoms[1]);
    if (!mujoco::has_multiccd(m_) || !physics::has_many_contacts(first, second)) return;
    const bool has_faces = mujoco::kSidesTouch || physics::has_face_contacts(first, second, pair.margin);
    r_.multiccd = true;
    if (has_faces)
      for (const PairGeom* geom : geoms) read_faces_of(*geom), check_corners(*geom);
  }
  void read_faces_of(const PairGeom& geom) {
    if (geom.kind == PairGeom::mesh && !r_.hull_faces.contains(geom.hull))
      r_.hull_faces.emplace(geom.hull, read_faces(m_, m_.geom_dataid[geom.geom]));
  }
  void check_corners(const PairGeom& geom) {
    if (!mujoco::kClipsByUnitNormals || geom.kind != PairGeom::mesh) return;
    const std::vector<int>& first = r_.hull_faces.at(geom.hull).first_corner;
    for (size_t k = 0; k + 1 < first.size(); ++k)
      if (first[k + 1] - first[k] > physics::kMostCorners)
        return refuse(
            quoted("mesh", mjOBJ_MESH, m_.geom_dataid[geom.geom]),
            "a face of more than " + std::to_string(physics::kMostCorners) + " corners with the flag multiccd",
            ", of geom '" + geom.name + "'");
  }
  // Refuses options of the convex collision detector, which all pairs without a closed form need.
  void check_convex(const PairGeom& a, const PairGeom& b) {
    using enum physics::ShapeKind;
    const bool is_closed =
        a.kind == plane || (a.kind == sphere && b.kind == cylinder) ||
        (a.kind != ellipsoid && a.kind != cylinder && a.kind != height_field && (!b.is_turned() || b.kind == box));
    if (is_closed) return;
    const std::string pair = ", for geoms '" + a.name + "' and '" + b.name + "'";
    if (is_off(mjDSBL_NATIVECCD)) refuse("option: ", "nativeccd=\"disable\"", pair);
  }
  void read_pair(const ContactParameters& touch) {
    for (const int g : {touch.a, touch.b}) {
      const bool is_field = m_.geom_type[g] == mjGEOM_HFIELD;
      const std::string other = ", such as geom '" + name(mjOBJ_GEOM, g == touch.a ? touch.b : touch.a) + "'";
      if (m_.geom_type[g] > mjGEOM_MESH)
        return refuse(quoted("geom", mjOBJ_GEOM, g), "a signed distance field that may touch other geoms", other);
      if (is_field && moves(g))
        return refuse(quoted("geom", mjOBJ_GEOM, g), "a height field that moves and may touch other geoms", other);
    }
    // MuJoCo has no function for two such geoms.
    const auto is_ground = [&](int g) { return m_.geom_type[g] <= mjGEOM_HFIELD; };
    if (is_ground(touch.a) && is_ground(touch.b)) return;
    if (r_.nv > kMostPairedDofs)
      return refuse("contact: ",
                    "geoms that may touch, and more than " + std::to_string(kMostPairedDofs) + " degrees of freedom");
    if (r_.pairs.size() == kMostPairs || r_.pair_geoms.size() >= kMostPairGeoms) return refuse_many();
    const bool turns = m_.geom_type[touch.a] > m_.geom_type[touch.b];
    GeomPair pair{.first = pair_geom_of(turns ? touch.b : touch.a), .second = pair_geom_of(turns ? touch.a : touch.b)};
    check_convex(r_.pair_geoms[pair.first], r_.pair_geoms[pair.second]);
    pair.edges = touch.dimensions == 1 ? 1 : r_.elliptic ? 0 : 2 * (touch.dimensions - 1);
    pair.margin = margin_of(touch), pair.friction = touch.friction,
    pair.weight = edge_weight(touch, inverse_weight(touch));
    pair.friction_damping = touch.friction_damping, pair.adhesions = adhesions_of(touch);
    if (touch.gap != 0) pair.gap = touch.gap, pair.margin = reach_of(touch);
    pair.weight_without_friction = weight_without_friction(touch, inverse_weight(touch));
    pair.relative_weight = edge_weight(touch, 1);
    pair.relative_weight_without_friction = weight_without_friction(touch, 1);
    pair.softness = touch.softness, pair.cone = cone_friction(touch);
    if (!r_.pairs.empty() && r_.pairs[0].softness.power != pair.softness.power)
      refuse(quoted("geom", mjOBJ_GEOM, touch.a), "a power of solimp that differs from that of other pairs");
    read_faces_of_pair(pair);
    r_.pairs.push_back(pair);
  }

  void refuse_many() {
    refuse("contact: ",
           "more than " + std::to_string(kMostPairGeoms) + " geoms or " + std::to_string(kMostPairs) +
               " pairs of geoms that may touch",
           " (contype and conaffinity choose which geoms may)");
  }

  // Beyond these, the header's tables and the memory of a step would be mostly of things that do not touch.
  static constexpr size_t kMostPairs = 200'000, kMostPairGeoms = 2'000, kMostHullVertices = 20'000;
  static constexpr int kMostPairedDofs = 256;  // bits of moved_by in PairGeom of drl/physics/contact_pairs.hpp
  std::map<int, int> pair_geoms_, hulls_;      // by geom; by mesh
  std::set<std::pair<int, int>> explicit_, excluded_;
};

}  // namespace

void read_contacts(const mjModel& model, RobotModel& robot) { Reader(model, robot).read(); }

}  // namespace drl::robot_compiler
