// The numbers that MuJoCo derives from masses, centres of mass and armatures (mj_setConst), for environments that
// change these: inverse inertias in the model's reference pose (qpos0), which weight constraints, and the like. Lanes
// have the ratio of each to that of the model's file.
#pragma once

#include <cmath>

#include "drl/lanes/lanes.hpp"

namespace drl::inline DRL_ISA::physics {

// How one of these numbers is computed.
struct ModelConstant {
  // translation, rotation: the mean inverse inertia of body `index`; if `count` is 1, the other one if it is 0. mass:
  // its inverse mass. joint: the mean inverse inertia of `count` degrees of freedom from `index` on. along: the inverse
  // inertia along row `index`. acceleration: the length of M^-1 times this row. inertia: the mean of M's diagonal.
  // growth: the squared factor by which the geom has grown that has grown most, at least 1; the `count` parameters of
  // sizes begin at place `index`.
  enum Kind { translation, rotation, mass, joint, along, acceleration, inertia, growth } kind;
  int index = 0, count = 0;
  double in_file = 0;
};
// A body of the model's file in the reference pose, in world axes about the origin of its tree.
struct ReferenceBody {
  int last;          // of the degrees of freedom that move it; -1: none does
  int mass, center;  // places of its parameters, or -1
  double in_file;    // its mass
  double at[3], turn[9],
      inertia[6];  // its centre of mass; its axes; its inertia about the centre (xx, yy, zz, xy, xz, yz)
};
struct ReferenceDof {
  int parent, row;       // the next degree of freedom towards the root, or -1; where its row of M begins
  int armature;          // place of its parameter, or -1
  double motion[6];      // angular, then linear
  double in_file, more;  // armature that options change, and that they do not
};
// A tendon's armature, which adds to M.
struct ReferenceTendon {
  int row;
  double armature;
};

// Computes the constants of an environment from its parameters: ratios to the numbers of the file. T has the tables of
// a robot, and the numbers of its degrees of freedom (kDofs) and of M's entries (kEntries). F has one lane. M = L'DL,
// as in MuJoCo, whose entries are of degrees of freedom and their ancestors.
template <class T, class F>
class ConstantFinder {
 public:
  DRL_HD ConstantFinder(const T& tables, const F* parameters) : t_(tables), parameters_(parameters) {}
  // If not `with_inertias`, inertias are those of the file, so that only the growth has to be computed.
  DRL_HD void find(F* constants, bool with_inertias) {
    if (with_inertias) {
      add_bodies(), fill(), add_tendons();
      for (int i = 0; i < t_.dofs(); ++i) mean_ += m_[t_.dof(i).row] / t_.dofs();
      factorise();
    }
    for (int c = 0; c < t_.constants(); ++c) {
      const ModelConstant& constant = t_.constant(c);
      const bool changes = with_inertias || constant.kind == ModelConstant::growth;
      constants[c] = changes ? static_cast<F>(value(constant) / constant.in_file) : F(1);
    }
  }
  // Returns whether an inertia differs from that of the file.
  DRL_HD bool changes_inertias() const {
    bool changes = false;
    for (int b = 0; b < t_.bodies(); ++b) {
      const ReferenceBody& body = t_.body(b);
      if (body.mass >= 0) changes = changes || mass_of(body) != body.in_file || parameter(body.mass + 2, 0) != 0;
      for (int k = 0; k < 3 && body.center >= 0; ++k) changes = changes || parameter(body.center + k, 0) != 0;
    }
    for (int i = 0; i < t_.dofs(); ++i) changes = changes || parameter(t_.dof(i).armature, 1) != 1;
    return changes;
  }

 private:
  DRL_HD double parameter(int place, double otherwise) const {
    return place < 0 ? otherwise : static_cast<double>(parameters_[place]);
  }
  DRL_HD double mass_of(const ReferenceBody& b) const {
    return b.mass < 0 ? b.in_file : b.in_file * parameter(b.mass, 1) + parameter(b.mass + 1, 0);
  }
  DRL_HD void find_center(const ReferenceBody& b, double* center) const {
    for (int i = 0; i < 3; ++i) {
      center[i] = b.at[i];
      for (int k = 0; k < 3 && b.center >= 0; ++k) center[i] += b.turn[3 * i + k] * parameter(b.center + k, 0);
    }
  }
  // Adds the mass, the first moments and the inertia about the origin of all bodies to what each degree of freedom
  // moves.
  DRL_HD void add_bodies() {
    for (int i = 0; i < t_.dofs(); ++i)
      for (double& x : moved_[i]) x = 0;
    for (int b = 0; b < t_.bodies(); ++b) {
      const ReferenceBody& body = t_.body(b);
      if (body.last < 0) continue;
      const double mass = mass_of(body),
                   share = body.mass < 0 ? 1 : mass / body.in_file * (1 + parameter(body.mass + 2, 0));
      double c[3], *to = moved_[body.last];
      find_center(body, c);
      const double square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
      to[0] += mass;
      for (int k = 0; k < 3; ++k) {
        to[1 + k] += mass * c[k];
        to[4 + k] += share * body.inertia[k] + mass * (square - c[k] * c[k]);
      }
      to[7] += share * body.inertia[3] - mass * c[0] * c[1];
      to[8] += share * body.inertia[4] - mass * c[0] * c[2];
      to[9] += share * body.inertia[5] - mass * c[1] * c[2];
    }
    for (int i = t_.dofs() - 1; i >= 0; --i)
      if (const int parent = t_.dof(i).parent; parent >= 0)
        for (int k = 0; k < 10; ++k) moved_[parent][k] += moved_[i][k];
  }
  DRL_HD void fill() {
    for (int i = 0; i < t_.dofs(); ++i) {
      const ReferenceDof& dof = t_.dof(i);
      const double *w = dof.motion, *v = w + 3, *of = moved_[i], *first = of + 1, *inertia = of + 4;
      double push[6] = {inertia[0] * w[0] + inertia[3] * w[1] + inertia[4] * w[2] + first[1] * v[2] - first[2] * v[1],
                        inertia[3] * w[0] + inertia[1] * w[1] + inertia[5] * w[2] + first[2] * v[0] - first[0] * v[2],
                        inertia[4] * w[0] + inertia[5] * w[1] + inertia[2] * w[2] + first[0] * v[1] - first[1] * v[0],
                        of[0] * v[0] + w[1] * first[2] - w[2] * first[1],
                        of[0] * v[1] + w[2] * first[0] - w[0] * first[2],
                        of[0] * v[2] + w[0] * first[1] - w[1] * first[0]};
      int at = dof.row;
      for (int j = i; j >= 0; j = t_.dof(j).parent, ++at) {
        m_[at] = 0;
        for (int k = 0; k < 6; ++k) m_[at] += t_.dof(j).motion[k] * push[k];
      }
      m_[dof.row] += dof.in_file * parameter(dof.armature, 1) + dof.more;
    }
  }
  DRL_HD void add_tendons() {
    for (int t = 0; t < t_.tendons(); ++t) {
      const ReferenceTendon& tendon = t_.tendon(t);
      for (int i = 0; i < t_.dofs(); ++i) {
        int at = t_.dof(i).row;
        for (int j = i; j >= 0; j = t_.dof(j).parent, ++at)
          m_[at] += tendon.armature * t_.along(tendon.row, i) * t_.along(tendon.row, j);
      }
    }
  }
  DRL_HD void factorise() {
    for (int k = t_.dofs() - 1; k >= 0; --k) {
      int at = t_.dof(k).row;
      const double inverse = 1 / m_[at++];
      for (int i = t_.dof(k).parent; i >= 0; i = t_.dof(i).parent, ++at) {
        const double factor = m_[at] * inverse;
        for (int j = i, from = at, to = t_.dof(i).row; j >= 0; j = t_.dof(j).parent) m_[to++] -= factor * m_[from++];
        m_[at] = factor;
      }
    }
  }
  // Replaces y by L'^-1 y, for degrees of freedom from `i` on towards the root, and returns y' M^-1 y.
  DRL_HD double solve_up(int i, bool is_chain) {
    double sum = 0;
    for (; i >= 0; i = is_chain ? t_.dof(i).parent : i - 1) {
      int at = t_.dof(i).row;
      sum += y_[i] * y_[i] / m_[at++];
      for (int j = t_.dof(i).parent; j >= 0; j = t_.dof(j).parent) y_[j] -= m_[at++] * y_[i];
    }
    return sum;
  }
  DRL_HD double of_body(int b, bool turns) {
    const ReferenceBody& body = t_.body(b);
    double c[3], sum = 0;
    find_center(body, c);
    for (int axis = 0; axis < 3; ++axis) {
      const int j = (axis + 1) % 3, k = (axis + 2) % 3;
      for (int i = body.last; i >= 0; i = t_.dof(i).parent) {
        const double *w = t_.dof(i).motion, *v = w + 3;
        y_[i] = turns ? w[axis] : v[axis] + w[j] * c[k] - w[k] * c[j];
      }
      sum += solve_up(body.last, true) / 3;
    }
    return sum;
  }
  DRL_HD double value(const ModelConstant& constant) {
    constexpr double kLeast = 1e-15;  // mjMINVAL
    const int index = constant.index;
    switch (constant.kind) {
      case ModelConstant::translation:
      case ModelConstant::rotation: {
        const bool turns = constant.kind == ModelConstant::rotation;
        const double own = of_body(index, turns);
        return own < kLeast && constant.count > 0 ? of_body(index, !turns) : own;
      }
      case ModelConstant::mass: {
        const double mass = mass_of(t_.body(index));
        return 1 / (mass > kLeast ? mass : kLeast);
      }
      case ModelConstant::joint: {
        double sum = 0;
        for (int k = 0; k < constant.count; ++k) {
          for (int i = index + k; i >= 0; i = t_.dof(i).parent) y_[i] = i == index + k ? 1 : 0;
          sum += solve_up(index + k, true) / constant.count;
        }
        return sum;
      }
      case ModelConstant::along:
        return solve_row(index);
      case ModelConstant::acceleration: {
        solve_row(index);
        double square = 0;
        for (int i = 0; i < t_.dofs(); ++i) {
          int at = t_.dof(i).row;
          y_[i] /= m_[at++];
          for (int j = t_.dof(i).parent; j >= 0; j = t_.dof(j).parent) y_[i] -= m_[at++] * y_[j];
          square += y_[i] * y_[i];
        }
        return std::sqrt(square);
      }
      case ModelConstant::growth: {
        double most = 1;
        for (int k = 0; k < constant.count; ++k) {
          const double radius = parameter(index + 3 * k, 1), all = parameter(index + 3 * k + 1, 1);
          most = radius * all > most ? radius * all : all > most ? all : most;
        }
        constexpr double kRounding = 1.0001;
        return most > 1 ? kRounding * most * most : 1;
      }
      default:
        return mean_;
    }
  }
  DRL_HD double solve_row(int row) {
    for (int i = 0; i < t_.dofs(); ++i) y_[i] = t_.along(row, i);
    return solve_up(t_.dofs() - 1, false);
  }

  const T& t_;
  const F* parameters_;
  // For each degree of freedom: the mass that it moves, and the first moments and the inertia of this mass about the
  // origin.
  double moved_[T::kDofs][10];
  double m_[T::kEntries], y_[T::kDofs], mean_ = 0;
};

// The tables of a compiled robot.
template <class P>
struct ConstantTables {
  static constexpr int kDofs = P::nv, kEntries = P::kReferenceEntries;
  DRL_HD static int dofs() { return P::nv; }
  DRL_HD static int bodies() { return P::nbody; }
  DRL_HD static int tendons() { return P::kReferenceTendons; }
  DRL_HD static int constants() { return P::kConstants; }
  DRL_HD static const ReferenceDof& dof(int k) { return P::reference_dof(k); }
  DRL_HD static const ReferenceBody& body(int k) { return P::reference_body(k); }
  DRL_HD static const ReferenceTendon& tendon(int k) { return P::reference_tendon(k); }
  DRL_HD static const ModelConstant& constant(int k) { return P::constant(k); }
  DRL_HD static double along(int row, int dof) { return P::reference_row(row * P::nv + dof); }
};
// Computes the constants [kConstants] of an environment from the numbers that it has drawn, [kParameters].
template <class P, class F>
DRL_HD_CALLED void find_constants(const F* drawn, F* constants) {
  if constexpr (P::kConstants > 0) {
    const ConstantTables<P> tables;
    ConstantFinder finder(tables, drawn);
    finder.find(constants, finder.changes_inertias());
  }
}

}  // namespace drl::inline DRL_ISA::physics
