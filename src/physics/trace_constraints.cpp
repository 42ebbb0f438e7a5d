#include "physics/trace.hpp"

namespace drl::robot_compiler {
namespace {

// The contribution of a body's contacts to its equations of motion. They exert the wrench -(A acceleration + force),
// where A is a symmetric [6, 6] matrix.
struct Coupling {
  Symmetric angular;  // the block of A for torque and angular acceleration
  Mat3 mixed;         // for torque and linear acceleration
  Symmetric linear;   // for force and linear acceleration
  Spatial force;
  Expr& operator[](int k) {
    if (k < 6) return angular[k];
    if (k < 15) return mixed[(k - 6) / 3][(k - 6) % 3];
    return k < 21 ? linear[k - 15] : force[k - 21];
  }
};
Coupling operator+(Coupling a, Coupling b) {
  Coupling sum;
  for (int k = 0; k < kCouplings; ++k) sum[k] = a[k] + b[k];
  return sum;
}
Spatial operator*(const Coupling& a, const Spatial& motion) {
  return {a.angular * motion.angular + a.mixed * motion.linear,
          transposed(a.mixed) * motion.angular + a.linear * motion.linear};
}

// A contact in the frame of its plane, with the normal z. The edges of a pyramid are the normal plus or minus friction
// times a tangent (MuJoCo, "Computation", friction cones).
struct Row {
  Vec3 point;                           // its position
  Expr friction, tangent_x, tangent_y;  // the first tangent; the second is perpendicular to it
  Vec3 rest;  // residuals at zero acceleration along the normal and the tangents; the latter are multiplied by friction
};

class Tracer {
 public:
  Tracer(const RobotModel& model, const Kept& kept, Program& p)
      : model_(model), kept_(kept), p_(p), bodies_(touching_bodies(model)), edges_(p.edges) {}

  void trace() {
    trace_newton();
    trace_curvature();
    if (!model_.pairs.empty()) trace_pair_softness();
    if (model_.contacts.empty() && model_.ground_pairs == 0) return;
    trace_accelerations();
    if (model_.elliptic || model_.contacts.empty()) return;
    trace_row();
    trace_edges();
    trace_coupling();
    trace_wrench();
    if (!model_.contact_sensors.empty() || !model_.touch_sensors.empty()) trace_force();
    if (!model_.touch_sensors.empty()) trace_point();
  }

 private:
  // Returns the expression that reads the entry `name` of the current contact. If all contacts have the same value, it
  // returns the value instead.
  template <class Contact, class Get>
  Expr table(const std::vector<Contact>& contacts, const std::string& entry, const std::string& name, const Get& get) {
    const double first = get(contacts[0]);
    for (const Contact& contact : contacts)
      if (get(contact) != first) return p_.input("F(" + entry + "." + name + ")", name);
    return first;
  }
  template <class Get>
  Expr table(const std::string& name, const Get& get) {
    return table(model_.contacts, "point", name, get);
  }
  // Returns the impedance of the current contact at the violation x.
  template <class Contact>
  Expr impedance_of(const std::vector<Contact>& contacts, const std::string& entry, const Expr& x) {
    const auto softness = [&](const std::string& name, auto member) {
      return table(contacts, entry, name, [&](const Contact& c) { return c.softness.*member; });
    };
    const Impedance curve{softness("least", &Softness::least), softness("most", &Softness::most),
                          softness("width", &Softness::width), softness("midpoint", &Softness::midpoint),
                          contacts[0].softness.power};
    return p_.named(impedance(curve, x), "impedance");
  }

  // --- Contacts with the floor ---

  void trace_accelerations() {
    p_.begin("Computes the part of bodies' accelerations that comes from qacc, for bodies with contacts.",
             "accelerations(Work& w, const F* qacc)");
    if (p_.loops_over_bodies) {
      p_.after("accelerate_touching<Physics>(w, qacc);", 6 * model_.nv);
      for (int c = 0; c < 6; ++c) acceleration_[c] = acceleration(c, c);
      return;
    }
    std::vector<Spatial> of(model_.bodies.size());
    for (size_t k = 0; k < of.size(); ++k) {
      if (model_.bodies[k].parent >= 0) of[k] = of[model_.bodies[k].parent];
      for (size_t i = 0; i < model_.dofs.size(); ++i)
        if (model_.dofs[i].body == static_cast<int>(k)) of[k] = of[k] + qacc("qacc", i) * kept_.axis[i];
      p_.named(of[k], identifier(model_.bodies[k].name) + "_acceleration");
      if (bodies_[k] < 0) continue;
      for (int c = 0; c < 6; ++c)
        if (const int place = p_.motion_places[c]; place >= 0) {
          p_.set(at(at("w.body", bodies_[k]) + ".motion", place), of[k][c]);
          acceleration_[c] = acceleration(c, place);
        }
    }
  }
  // Returns the expression that reads a component of the current body's acceleration.
  Expr acceleration(int component, int place) {
    return p_.input(at("acceleration", place),
                    std::string("acceleration_") + "wwwvvv"[component] + "xyzxyz"[component]);
  }
  Expr qacc(const std::string& array, size_t i) {
    return p_.input(at(array, i), array + "_" + identifier(model_.dofs[i].name));
  }

  void trace_row() {
    p_.begin("Computes a contact's rows.",
             std::string("contact_row(const ContactPoint& point, ") +
                 (edges_vary(model_) ? "const F& friction, " : "") +
                 "const Touch<F>& touch, const F* velocity, ContactRow<F>& row, F& weight)",
             true);
    const auto softness = [&](const std::string& name, auto member) {
      return table(name, [&](const FloorContact& c) { return c.softness.*member; });
    };
    const Expr radius = table("radius", [](const FloorContact& c) { return c.radius; });
    const Expr margin = table("margin", [](const FloorContact& c) { return c.margin; });
    const Expr damping = softness("damping", &Softness::damping),
               stiffness = softness("stiffness", &Softness::stiffness);
    row_.friction = edges_vary(model_) ? p_.input("friction", "")
                                       : table("friction", [](const FloorContact& c) { return c.friction; });
    row_.point = kept_.center - Vec3{0, 0, radius + Expr(0.5) * kept_.distance};
    const Expr square = kept_.along_x * kept_.along_x + kept_.along_y * kept_.along_y;
    const Expr least = 1e-30;  // for an upright capsule
    const Expr inverse = Expr(1) / sqrt(max(square, least));
    row_.tangent_x = select_less(square, least, 1, inverse * kept_.along_x);
    row_.tangent_y = select_less(square, least, 0, inverse * kept_.along_y);
    const Vec3 velocity = kept_.velocity.linear + cross(kept_.velocity.angular, row_.point);
    const Expr x = p_.named(kept_.distance - margin, "violation");

    const Expr d = impedance_of(model_.contacts, "point", x);
    const Expr scale =
        edges_vary(model_) ? scale_of(row_.friction) : table("weight", [](const FloorContact& c) { return c.weight; });
    p_.set("weight", select_less(x, 0, d / ((Expr(1) - d) * scale), 0));
    row_.rest[0] = damping * velocity[2] + stiffness * (d * x);
    const Expr slip = row_.friction * damping;
    row_.rest[1] = slip * along_first(velocity), row_.rest[2] = slip * along_second(velocity);
    if (edges_vary(model_)) row_.friction = passed(row_.friction, "friction");
    for (int k = 0; k < 3; ++k) row_.point[k] = passed(row_.point[k], std::string("point_") + "xyz"[k]);
    if (senses_distances(model_)) p_.add_field("ContactRow", "distance"), p_.set("row.distance", kept_.distance);
    row_.tangent_x = passed(row_.tangent_x, "tangent_x"), row_.tangent_y = passed(row_.tangent_y, "tangent_y");
    constexpr const char* kRest[] = {"rest_normal", "rest_first", "rest_second"};
    for (int k = 0; k < 3; ++k) row_.rest[k] = passed(row_.rest[k], kRest[k]);
  }
  // Returns the factor of the regularisation with a friction that varies, or 0 for contacts without friction.
  Expr scale_of(const Expr& friction) {
    const Expr square = friction * friction;
    return table("weight", [](const FloorContact& c) { return c.weight_without_friction; }) *
           select_less(0, friction, Expr(2) * square * (Expr(1) + square), 1);
  }
  // Stores x in the contact's row, and returns the expression that reads it.
  Expr passed(const Expr& x, const std::string& name) {
    if (x.is_known()) return x;
    p_.add_field("ContactRow", name);
    p_.set("row." + name, x);
    return p_.input("row." + name, name);
  }
  Expr along_first(const Vec3& a) const { return row_.tangent_x * a[0] + row_.tangent_y * a[1]; }
  Expr along_second(const Vec3& a) const {
    return edges_ == 3 ? Expr(0) : row_.tangent_x * a[1] - row_.tangent_y * a[0];
  }

  void trace_edges() {
    p_.begin(edges_ == 3 ? "Computes a contact's residuals y along its normal and its tangent."
                         : "Computes a contact's residuals y. It pushes with -weight y along the edges where y < 0.",
             "contact_edges(const ContactPoint& point, const ContactRow<F>& row, const F* acceleration, auto y)", true);
    const Vec3 a = acceleration_.linear + cross(acceleration_.angular, row_.point);
    const Expr normal = p_.named(a[2] + row_.rest[0], "normal");
    const Expr first = p_.named(row_.friction * along_first(a) + row_.rest[1], "first");
    const Expr second = p_.named(row_.friction * along_second(a) + row_.rest[2], "second");
    if (edges_ == 3) return p_.set("y[0]", normal), p_.set("y[1]", first);
    p_.set("y[0]", normal + first), p_.set("y[1]", normal - first);
    p_.set("y[2]", normal + second), p_.set("y[3]", normal - second);
  }

  // The sum and the difference of the values of two opposite edges, for each tangent.
  struct Pairs {
    Expr first_sum, first_difference, second_sum, second_difference;
  };
  Pairs pairs(const std::string& array) {
    Expr e[4];
    for (int k = 0; k < edges_; ++k) e[k] = p_.input(at(array, k), array + "_" + std::to_string(k));
    return {e[0] + e[1], e[0] - e[1], e[2] + e[3], edges_ == 3 ? Expr(0) : e[2] - e[3]};
  }
  // Converts a force along (first tangent, second tangent, normal) to a wrench about the origin, in world axes.
  Spatial wrench(const Expr& first, const Expr& second, const Expr& normal) const {
    const Vec3 force{first * row_.tangent_x - second * row_.tangent_y, first * row_.tangent_y + second * row_.tangent_x,
                     normal};
    return {cross(row_.point, force), force};
  }

  void trace_coupling() {
    p_.begin("Updates a body's coupling for a `change` of the weights of a contact's edges.",
             "add_coupling(const ContactPoint& point, const ContactRow<F>& row, const F* change, F* coupling)", true);
    const Pairs e = pairs("change");
    const Expr mu = row_.friction, square = mu * mu, x = row_.tangent_x, y = row_.tangent_y;
    const Expr normal = e.first_sum + e.second_sum;
    const Expr first = square * e.first_sum, second = square * e.second_sum;
    const Expr normal_first = mu * e.first_difference, normal_second = mu * e.second_difference;
    Coupling c;
    c.linear = {
        first * (x * x) + second * (y * y), first * (y * y) + second * (x * x),   normal,
        (first - second) * (x * y),         normal_first * x - normal_second * y, normal_first * y + normal_second * x};
    const Mat3 arm = cross_matrix(row_.point);
    c.mixed = arm * c.linear.matrix();
    c.angular = Symmetric::of(c.mixed * transposed(arm));
    c.force = wrench(normal_first * row_.rest[0] + mu * (e.first_sum * row_.rest[1]),
                     normal_second * row_.rest[0] + mu * (e.second_sum * row_.rest[2]),
                     normal * row_.rest[0] + e.first_difference * row_.rest[1] + e.second_difference * row_.rest[2]);
    for (int k = 0; k < kCouplings; ++k)
      if (const int place = p_.coupling_places[k]; place >= 0) p_.add(at("coupling", place), c[k]);
  }

  void trace_wrench() {
    p_.begin("Adds a contact's torque about the origin of its tree and its force, from the forces along its edges.",
             "add_wrench(const ContactPoint& point, const ContactRow<F>& row, const F* push, F* wrench)", true);
    const Pairs e = pairs("push");
    Spatial w =
        wrench(row_.friction * e.first_difference, row_.friction * e.second_difference, e.first_sum + e.second_sum);
    if (model_.pairs.empty())
      for (int k = 0, place = 0; k < 6; ++k) p_.wrench_places[k] = w[k].is(0) ? -1 : place++;
    for (int k = 0; k < 6; ++k)
      if (const int place = p_.wrench_places[k]; place >= 0) p_.add(at("wrench", place), w[k]);
  }

  void trace_force() {
    p_.begin(
        "Computes a contact's force along its normal and its tangents, and its first tangent's x and y, for sensors.",
        "contact_force(const ContactPoint& point, const ContactRow<F>& row, const F* push, F* force, F* tangent)",
        true);
    const Pairs e = pairs("push");
    p_.set("force[0]", e.first_sum + e.second_sum);
    p_.set("force[1]", row_.friction * e.first_difference);
    p_.set("force[2]", row_.friction * e.second_difference);
    p_.set("tangent[0]", row_.tangent_x), p_.set("tangent[1]", row_.tangent_y);
  }

  void trace_point() {
    p_.begin("Computes the place of a contact about the origin of its tree, for touch sensors.",
             "contact_point(const ContactPoint& point, const ContactRow<F>& row, F* at)", true);
    p_.set("at", row_.point);
  }

  // The matrix is packed by rows of its lower half.
  void trace_assembly() {
    p_.begin("Computes M plus active contacts with the floor and the world and limits, and the forces at rest.",
             "assemble(const Work& w, auto matrix, F* force)");
    TreeMatrix h = kept_.mass;
    std::vector<Expr> force = kept_.force;
    add_contacts(h, force), add_limits(h, force), add_frictions(h, force);
    for (size_t i = 0; i < force.size(); ++i) {
      const int first = static_cast<int>(i * (i + 1) / 2);
      for (size_t a = 0; a < model_.dofs[i].ancestors.size(); ++a)
        p_.set(at("matrix", first + model_.dofs[i].ancestors[a]), h.ancestors[i][a]);
      p_.set(at("matrix", first + i), h.diagonal[i]);
      p_.set(at("force", i), force[i]);
    }
  }
  // --- Newton's matrix and its solution ---

  // Writes the functions that solve with M, in loops (drl/physics/trees.hpp): they copy M, add what constraints add,
  // and factorise the sum.
  void trace_newton_in_loops() {
    const bool has_pairs = has_rows_of_pairs(model_);
    const int entries = tree_entries(model_), solution = tree_products(model_) + 3 * entries;
    const std::string tree = "tree", x = has_pairs ? "force" : "qacc";
    if (has_pairs)
      p_.begin("Computes M plus active floor contacts and limits, packed by rows of its lower half, and the force.",
               "assemble(const Work& w, auto matrix, F* force)");
    else
      p_.begin("Computes the accelerations at which forces are in balance for the active rows of the work.",
               "newton(const Work& w, F* qacc)");
    const std::string count = std::to_string(entries);
    p_.before("F tree[" + count + "];");
    p_.before("for (int k = 0; k < " + count + "; ++k) " + tree + "[k] = w.mass[k];");
    TreeMatrix h;
    for (const Dof& dof : model_.dofs) h.diagonal.emplace_back(0), h.ancestors.emplace_back(dof.ancestors.size(), 0);
    std::vector<Expr> force = kept_.force;
    if (count_numbers(bodies_) > 0) {
      p_.before("F push[Sizes::nv][6];");
      const bool has_all = count_numbers(p_.coupling_places) == kCouplings;
      if (has_all) p_.after("add_couplings<Physics>(w, push, " + x + ");", 36 * model_.nv);
      std::vector<Coupling> coupling(has_all ? 0 : model_.bodies.size());
      if (!has_all) gather_contacts(coupling);
      for (size_t i = 0; i < model_.dofs.size() && !has_all; ++i) {
        const Coupling& carried = coupling[model_.dofs[i].body];
        const Spatial push = carried * kept_.axis[i];
        p_.set(at("push", i), push);
        force[i] -= dot(kept_.axis[i], carried.force);
      }
      p_.after("add_projections<Sizes>(w.axis, push, " + tree + ");", 6 * entries);
    }
    add_limits(h, force), add_frictions(h, force);
    add_to_tree(h, tree, 0, true, p_);
    p_.set(x, force);
    if (has_pairs) {
      p_.after("spread_tree<Sizes>(tree, matrix);", entries);
    } else {
      p_.before("F inverse[Sizes::nv];");
      p_.after("factorise_tree<Sizes>(tree, inverse, qacc);", solution);
      p_.after("solve_down_tree<Sizes>(tree, inverse, qacc);", entries);
    }
  }
  void trace_newton() {
    if (uses_loops(model_)) return trace_newton_in_loops();
    if (has_rows_of_pairs(model_)) return trace_assembly();
    p_.begin("Computes the accelerations at which forces are in balance for the active rows of the work.",
             "newton(const Work& w, F* qacc)");
    TreeMatrix h = kept_.mass;
    std::vector<Expr> force = kept_.force;
    add_contacts(h, force), add_limits(h, force), add_frictions(h, force);
    p_.section("factorisation and solution");
    const std::vector<Expr> solution = solve_tree(model_, h, force);
    for (size_t i = 0; i < solution.size(); ++i)
      p_.set(at("qacc", i), p_.named(solution[i], "qacc_" + identifier(model_.dofs[i].name)));
  }

  void add_contacts(TreeMatrix& h, std::vector<Expr>& force) {
    std::vector<Coupling> coupling(model_.bodies.size());
    gather_contacts(coupling);
    p_.section("along qvel");
    for (size_t i = 0; i < model_.dofs.size(); ++i) {
      const Coupling& carried = coupling[model_.dofs[i].body];
      const Spatial push = carried * kept_.axis[i];
      h.diagonal[i] += dot(kept_.axis[i], push);
      for (size_t a = 0; a < model_.dofs[i].ancestors.size(); ++a)
        if (const auto up = static_cast<size_t>(model_.dofs[i].ancestors[a]); moves(model_, up, model_.dofs[i].body))
          h.ancestors[i][a] += dot(kept_.axis[up], push);
      force[i] -= dot(kept_.axis[i], carried.force);
    }
  }
  // Adds the contacts of each body, and those of its children, to `coupling`.
  void gather_contacts(std::vector<Coupling>& coupling) {
    p_.section("contributions of contacts to each body and its subtree");
    for (size_t b = 0; b < coupling.size(); ++b)
      for (int k = 0; k < kCouplings && bodies_[b] >= 0; ++k)
        if (const int place = p_.coupling_places[k]; place >= 0)
          coupling[b][k] = p_.input(at(at("w.body", bodies_[b]) + ".coupling", place),
                                    identifier(model_.bodies[b].name) + "_coupling_" + std::to_string(k));
    for (size_t b = coupling.size(); b-- > 0;)
      if (const int parent = model_.bodies[b].parent; parent >= 0) coupling[parent] = coupling[parent] + coupling[b];
  }
  // --- Limits and dry friction ---

  void add_limits(TreeMatrix& h, std::vector<Expr>& force) {
    const auto joints = limited_joints(model_);
    for (size_t l = 0; l < joints.size(); ++l) {
      const auto dof = static_cast<size_t>(joints[l]->dof);
      const auto [weight, push] = limit(static_cast<int>(l), identifier(joints[l]->name) + "_limit_");
      h.diagonal[dof] += weight;
      force[dof] -= push;
    }
    auto number = static_cast<int>(joints.size());
    for (const int t : limited_tendons(model_)) {
      const auto [weight, push] = limit(number++, identifier(model_.tendons[t].name) + "_tendon_limit_");
      add_tendon(t, weight, push, h, force);
    }
  }
  // Returns the weight of a limit's row if it is active, or 0, and its force at rest.
  std::array<Expr, 2> limit(int number, const std::string& name) {
    const Expr y = p_.input(at("w.y", contact_residuals(model_, p_) + number), name + "y");
    const Expr full = p_.input(at("w.weight", count_pyramids(model_) + number), name + "weight");
    const Expr weight = p_.named(select_less(y, 0, full, 0), name + "active_weight");
    return {weight, weight * (p_.input(at("w.limit_sign", number), name + "sign") *
                              p_.input(at("w.limit_rest", number), name + "rest"))};
  }
  // Adds weight * J' J and the force -J' push of a row along a tendon with the derivatives J.
  void add_tendon(int tendon, const Expr& weight, const Expr& push, TreeMatrix& h, std::vector<Expr>& force) {
    const std::vector<Expr>& along = along_of(model_, kept_, tendon);
    add_outer_product(model_, along, weight, Entries::all, h);
    for (size_t i = 0; i < along.size(); ++i) force[i] -= along[i] * push;
  }
  // Dry friction acts along one entry of qvel. For the rotation of a free joint, this entry is a combination of three
  // entries in the solver's axes.
  void add_frictions(TreeMatrix& h, std::vector<Expr>& force) {
    int number = 0;
    for (const int dof : frictional_dofs(model_)) {
      const std::string place = at("w.friction", number++);
      const std::string name = identifier(model_.dofs[dof].name) + "_friction_";
      const Expr weight = p_.input(place + ".active", name + "weight");
      const Expr push = weight * p_.input(place + ".rest", name + "rest") + p_.input(place + ".slip", name + "slip");
      const auto along = in_solver(model_, kept_, dof);
      for (const auto& [i, x] : along) {
        h.diagonal[i] += weight * (x * x);
        force[i] -= push * x;
        for (const auto& [ancestor, y] : along)
          if (ancestor < i) h.ancestors[i][i - ancestor - 1] += weight * (x * y);
      }
    }
    for (const int t : frictional_tendons(model_)) {
      const std::string place = at("w.friction", number++);
      const std::string name = identifier(model_.tendons[t].name) + "_tendon_friction_";
      const Expr weight = p_.input(place + ".active", name + "weight");
      add_tendon(t, weight,
                 weight * p_.input(place + ".rest", name + "rest") + p_.input(place + ".slip", name + "slip"), h,
                 force);
    }
  }
  void trace_pair_softness() {
    p_.begin("Computes a pair's weight at a distance, and its rows' residual at zero velocity and acceleration.",
             "pair_softness(const ContactPair& pair, const F& distance, F& weight, F& rest)", true);
    const auto entry = [&](const std::string& name, const auto& get) { return table(model_.pairs, "pair", name, get); };
    const Expr margin = entry("margin", [](const GeomPair& pair) { return pair.margin; }) -
                        entry("gap", [](const GeomPair& pair) { return pair.gap; });
    const Expr x = p_.named(p_.input("distance", "") - margin, "violation");
    const Expr d = impedance_of(model_.pairs, "pair", x);
    const bool varies = edges_vary(model_);
    p_.set("weight", d / ((Expr(1) - d) * entry("weight", [&](const GeomPair& pair) {
                            return varies ? pair.weight_without_friction : pair.weight;
                          })));
    p_.set("rest", entry("stiffness", [](const GeomPair& pair) { return pair.softness.stiffness; }) * (d * x));
  }

  void trace_curvature() {
    p_.begin("Computes x' M x for the difference x between two accelerations.",
             "curvature(const Work& w, const F* from, const F* to, F& result)");
    if (uses_loops(model_))
      return p_.after("result = square_in_tree<Sizes>(w.mass, from, to);", 2 * tree_entries(model_));
    std::vector<Expr> x;
    for (size_t i = 0; i < model_.dofs.size(); ++i) x.push_back(qacc("to", i) - qacc("from", i));
    Expr sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      Expr others = 0;
      for (size_t a = 0; a < model_.dofs[i].ancestors.size(); ++a)
        others += kept_.mass.ancestors[i][a] * x[model_.dofs[i].ancestors[a]];
      sum += x[i] * (kept_.mass.diagonal[i] * x[i] + Expr(2) * others);
    }
    p_.set("result", sum);
  }

  const RobotModel& model_;
  const Kept& kept_;
  Program& p_;
  std::vector<int> bodies_;
  int edges_;
  Spatial acceleration_;  // of the current body
  Row row_;
};

}  // namespace

std::vector<std::pair<size_t, Expr>> in_solver(const RobotModel& model, const Kept& kept, int dof) {
  const int j = model.dofs[dof].joint;
  const size_t turning = model.joints[j].dof + 3, d = dof;
  if (model.joints[j].kind != Joint::free || d < turning) return {{d, 1}};
  const Vec3 turned = kept.free_turns.at(j).column(dof - static_cast<int>(turning));
  return {{turning, turned[0]}, {turning + 1, turned[1]}, {turning + 2, turned[2]}};
}

void trace_constraints(const RobotModel& model, const Kept& kept, Program& p) { Tracer(model, kept, p).trace(); }

}  // namespace drl::robot_compiler
