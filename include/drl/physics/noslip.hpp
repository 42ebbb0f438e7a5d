// The noslip solver (MuJoCo's mj_solNoSlip), for models that ask for it by noslip_iterations. The regularisation of
// friction, by which a solution is unique, also lets contacts creep. After each solution, this solver computes the
// forces of dry friction and of contacts' friction once more without it, while normal forces and all others stay. It
// minimises the cost of the dual problem by a few Gauss-Seidel sweeps. The result depends on their order and on when a
// lane stops: both are MuJoCo's. It runs in double, because MuJoCo's thresholds (1e-10) assume double.
//
// All contacts of such a robot have rows along qvel. The new forces replace residuals and stiffnesses of the solution,
// from which all forces are computed later.
#pragma once

#include "drl/math.hpp"
#include "drl/physics/dense.hpp"
#include "drl/physics/rows.hpp"

namespace drl::inline DRL_ISA::physics {

// Minimises x' A x / 2 + b x over |x| <= r, for positive definite A [n, n], as MuJoCo's mju_QCQP does: by Newton's
// method on the multiplier of the bound, x = -(A + multiplier)^-1 b. Where A is singular, x is 0. `present` tells which
// components exist in each lane; the others have ones on A's diagonal and zeros elsewhere.
template <int n, class F>
class BoundedQuadratic {
 public:
  Mask<F> present[n];
  F x[n];

  DRL_HD BoundedQuadratic(const F (&a)[n][n], const F (&b)[n], F r) : a_(a), b_(b), r_(r) {}

  DRL_HD void solve(Mask<F> lanes) {
    constexpr int kIterations = 20;
    constexpr double kSmall = 1e-10;
    for (F& component : x) component = F(0);
    for (int k = 0; k < kIterations && any(lanes); ++k) {
      F next[n], turned[n];
      const Mask<F> fails = lanes & !factorise(kSmall);
      is_singular_ = is_singular_ | fails, lanes = lanes & !fails;
      for (int i = 0; i < n; ++i) next[i] = -b_[i];
      divide(next);
      F square = F(0), slope = F(0);
      for (int i = 0; i < n; ++i) {
        x[i] = math::select(lanes, next[i], x[i]);
        square = math::fma(next[i], next[i], square), turned[i] = next[i];
      }
      const F excess = math::fma(-r_, r_, square);
      divide(turned);
      for (int i = 0; i < n; ++i) slope = math::fma(F(-2) * next[i], turned[i], slope);
      const F step = -excess / slope;
      lanes = lanes & !(excess < F(kSmall)) & !(step < F(kSmall));
      multiplier_ = math::select(lanes, multiplier_ + step, multiplier_);
    }
    for (F& component : x) component = math::select(is_singular_, F(0), component);
  }
  // Returns the lanes in which the bound holds x.
  DRL_HD Mask<F> is_bound() const { return (!is_singular_) & (multiplier_ != F(0)); }

 private:
  // Returns the lanes in which the matrix is positive definite. MuJoCo compares its determinant with the bound, or, for
  // five components, each pivot.
  DRL_HD Mask<F> factorise(double bound) {
    F least = F(1), product = F(1);
    for (int i = 0; i < n; ++i) {
      F pivot = a_[i][i] + multiplier_, scaled[n];
      for (int j = 0; j < i; ++j) {
        scaled[j] = a_[i][j];
        for (int k = 0; k < j; ++k) scaled[j] = math::fma(-scaled[k], lower_[j][k], scaled[j]);
        lower_[i][j] = inverse_[j] * scaled[j];
        pivot = math::fma(-scaled[j], lower_[i][j], pivot);
      }
      inverse_[i] = F(1) / pivot;
      product = math::select(present[i], product * pivot, product);
      least = math::select(present[i], math::min(pivot, least), least);
    }
    if constexpr (n == 5) product = math::select(present[n - 1], least, product);
    return F(bound) <= product;
  }
  DRL_HD void divide(F* by) const {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) by[i] = math::fma(-lower_[i][j], by[j], by[i]);
    for (int i = n - 1; i >= 0; --i) {
      by[i] = inverse_[i] * by[i];
      for (int j = i + 1; j < n; ++j) by[i] = math::fma(-lower_[j][i], by[j], by[i]);
    }
  }

  const F (&a_)[n][n];
  const F (&b_)[n];
  F r_, multiplier_ = F(0);
  F lower_[n][n], inverse_[n];  // A + multiplier = L D L'
  Mask<F> is_singular_ = F(0) != F(0);
};

template <class P>
class NoslipSolver {
  using F = typename P::Number;
  using Work = typename P::Work;
  static constexpr int nv = P::nv;
  static constexpr double kLeast = 1e-15, kLeastInverseInertia = 1e-10, kMostIncrease = 1e-10;

 public:
  // qacc [nv] is the solution's acceleration in the solver's axes, which this solver changes.
  DRL_HD NoslipSolver(Work& w, F* qacc) : w_(w), qacc_(qacc) {}

  DRL_HD void run() {
    find_responses();
    for (int k = 0; k < P::kNoslipIterations; ++k) {
      gain_ = k == 0 ? cost_of_regularisation() : F(0);
      sweep_frictions();
      if constexpr (P::kPairRows > 0)
        for (int s = 0; s + 1 < w_.pair_rows; ++s) update_edges(s);
      if constexpr (P::kNoslipDirections > 0)
        for (int c = 0; c < w_.pair_cones; ++c) update_cone(c);
      F least = F(P::kNoslipTolerance);
      if constexpr (P::kInertiaConstant >= 0) least = least * w_.parameters[P::kInertiaConstant];
      if constexpr (P::kNoslipUsesTrace) least = least * trace_;
      goes_on_ = goes_on_ & !(gain_ < least);
      if (!any(goes_on_)) return;
    }
  }

 private:
  static constexpr int kAcross = P::kNoslipDirections;
  DRL_HD static constexpr int row_of_edge(int s) { return P::kFrictions + s; }
  DRL_HD static constexpr int row_of_cone(int c) { return P::kFrictions + P::kPairRows + kAcross * c; }

  DRL_HD void find_response(const F* along, F* response) {
    for (int i = 0; i < nv; ++i) response[i] = along[i];
    solve_dense<nv>(w_.matrix, response);
  }
  // Computes M^-1 times all rows, and replaces the stiffnesses of cones by ones.
  DRL_HD void find_responses() {
    for (F& x : w_.matrix) x = F(0);
    P::mass_matrix(w_, w_.matrix);
    if constexpr (P::kNoslipUsesTrace)
      for (int i = 0; i < nv; ++i) trace_ = trace_ + w_.matrix[i * (i + 3) / 2];
    factorise_dense<nv>(w_.matrix);
    if constexpr (P::kFrictions > 0) {
      for (auto& row : w_.friction_along)
        for (F& x : row) x = F(0);
      P::friction_rows(w_, w_.friction_along);
      for (int f = 0; f < P::kFrictions; ++f) find_response(w_.friction_along[f], w_.response[f]);
    }
    if constexpr (P::kPairRows > 0)
      for (int s = 0; s < w_.pair_rows; ++s)
        if (any(w_.opposes_next[s] != F(0)) || (s > 0 && any(w_.opposes_next[s - 1] != F(0))))
          find_response(w_.pair_row[s].along, w_.response[row_of_edge(s)]);
    if constexpr (kAcross > 0)
      for (int c = 0; c < w_.pair_cones; ++c) {
        for (int k = 0; k < kAcross; ++k)
          find_response(w_.pair_cone[c].row[1 + k].along, w_.response[row_of_cone(c) + k]);
        Cone<F>& cone = w_.pair_cone[c];
        F push[kResiduals];
        cone.next.times(cone.next_u, kResiduals, push);
        for (int k = 0; k < kResiduals; ++k) cone.next_u[k] = push[k];
        cone.next = {F(1), F(0), F(0), F(1), F(1), {F(0), F(0), F(0), F(0), F(0)}};
      }
  }
  // Adds change * M^-1 row to the acceleration of these lanes.
  DRL_HD void move(Mask<F> lanes, int row, F change) {
    const F* response = w_.response[row];
    for (int i = 0; i < nv; ++i) qacc_[i] = math::select(lanes, math::fma(response[i], change, qacc_[i]), qacc_[i]);
  }
  DRL_HD F edge_force(int s) const {
    const F y = w_.next_y[Work::kFixedRows + s];
    return -(active_weight(w_.weight[Work::kFixedWeights + s], y) * y);
  }

  // Returns the part of the solution's cost that this solver leaves out, sum of force^2 / weight / 2 over all rows. The
  // first sweep counts it as a decrease.
  DRL_HD F cost_of_regularisation() const {
    F sum = F(0);
    const auto add = [&](F weight, F y) DRL_LAMBDA { sum = math::fma(active_weight(weight, y) * y, y, sum); };
    if constexpr (P::kLimits > 0)
      for (int l = 0; l < P::kLimits; ++l) add(w_.weight[P::kContacts + l], w_.next_y[Work::kContactResiduals + l]);
    if constexpr (P::kPairRows > 0)
      for (int s = 0; s < w_.pair_rows; ++s) add(w_.weight[Work::kFixedWeights + s], w_.next_y[Work::kFixedRows + s]);
    if constexpr (P::kEqualityRows > 0)
      for (const EqualityRow<F>& row : w_.equality) sum = sum + row.push * row.push / row.weight;
    each_friction<P>(w_, [&](const auto& friction, const FrictionRow<F>& row) DRL_LAMBDA {
      const F push = row.push(friction);
      sum = sum + push * push / F(friction.weight);
    });
    if constexpr (kAcross > 0)
      for (int c = 0; c < w_.pair_cones; ++c) {
        const Cone<F>& cone = w_.pair_cone[c];
        F square = F(0);
        for (int k = 0; k < kResiduals; ++k) square = math::fma(cone.next_u[k], cone.next_u[k], square);
        sum = sum + math::select(F(0) < cone.hardness, square / cone.hardness, F(0));
      }
    return F(0.5) * sum;
  }

  DRL_HD void sweep_frictions() {
    if constexpr (P::kFrictions > 0)
      for (int f = 0; f < P::kFrictions; ++f) {
        const auto friction = friction_of<P>(f, w_);
        FrictionRow<F>& row = w_.friction[f];
        const F* along = w_.friction_along[f];
        const F inverse_inertia = math::max(long_dot<nv>(along, w_.response[f], F(0)), F(kLeast));
        const F residual = long_dot<nv>(along, qacc_, row.rest), before = row.push(friction);
        const F after = math::clamp(before - residual / inverse_inertia, F(-friction.most), F(friction.most));
        const F change = after - before;
        gain_ = gain_ - math::fma(F(0.5) * inverse_inertia * change, change, change * residual);
        row.next_y = math::select(goes_on_, -after / F(friction.weight), row.next_y);
        move(goes_on_, f, change);
      }
  }

  // In lanes in which rows s and s + 1 are opposite edges, moves force from one to the other; the sum stays.
  DRL_HD void update_edges(int s) {
    const Mask<F> lanes = goes_on_ & (w_.opposes_next[s] != F(0));
    if (!any(lanes)) return;
    F a[2][2], residual[2], before[2], force[2], rest[2];
    for (int k = 0; k < 2; ++k) {
      const PairRow<F, nv>& row = w_.pair_row[s + k];
      for (int l = 0; l < 2; ++l) a[k][l] = long_dot<nv>(row.along, w_.response[row_of_edge(s + l)], F(0));
      a[k][k] = math::max(a[k][k], F(kLeastInverseInertia));
      residual[k] = long_dot<nv>(row.along, qacc_, row.rest), before[k] = edge_force(s + k);
    }
    for (int k = 0; k < 2; ++k) rest[k] = residual[k] - math::fma(a[k][0], before[0], a[k][1] * before[1]);
    // The forces are middle + y and middle - y, whose cost is quadratic in y.
    const F middle = F(0.5) * (before[0] + before[1]);
    const F bend = (a[0][0] - a[0][1]) + (a[1][1] - a[1][0]);
    const F slope = math::fma(middle, a[0][0] - a[1][1], rest[0] - rest[1]);
    const F y = math::select(bend < F(kLeast), F(0), math::clamp(-slope / bend, -middle, middle));
    force[0] = middle + y, force[1] = middle - y;
    const Mask<F> moves = lanes & accept<2>(lanes, a, residual, before, force);
    for (int k = 0; k < 2; ++k) {
      F& next_y = w_.next_y[Work::kFixedRows + s + k];
      next_y = math::select(moves, -(force[k] / w_.weight[Work::kFixedWeights + s + k]), next_y);
      move(moves, row_of_edge(s + k), force[k] - before[k]);
    }
  }
  // Adds the decrease of the cost to the gain. Returns the lanes in which the cost does not rise.
  template <int n>
  DRL_HD Mask<F> accept(Mask<F> lanes, const F (&a)[n][n], const F (&residual)[n], const F (&before)[n],
                        const F (&after)[n]) {
    F change[n], rise = F(0);
    for (int k = 0; k < n; ++k) change[k] = after[k] - before[k];
    for (int k = 0; k < n; ++k) {
      F sum = F(0);
      for (int l = 0; l < n; ++l) sum = math::fma(a[k][l], change[l], sum);
      rise = math::fma(change[k], math::fma(F(0.5), sum, residual[k]), rise);
    }
    const Mask<F> falls = !(F(kMostIncrease) < rise);
    gain_ = math::select(lanes & falls, gain_ - rise, gain_);
    return falls;
  }

  // Computes the forces across the normal of a contact in an elliptic cone, scaled as its residuals are: their square
  // is at most that of the normal force.
  DRL_HD void update_cone(int c) {
    if constexpr (kAcross > 0) {
      PairCone<F, nv>& cone = w_.pair_cone[c];
      const Mask<F> lanes = goes_on_ & (F(0) < cone.hardness);
      if (!any(lanes)) return;
      const F normal = -(cone.mu * cone.next_u[0]);
      F a[kAcross][kAcross], residual[kAcross], before[kAcross], rest[kAcross], after[kAcross];
      BoundedQuadratic<kAcross, F> quadratic(a, rest, normal);
      for (int k = 0; k < kAcross; ++k) {
        const PairRow<F, nv>& row = cone.row[1 + k];
        const F scale = cone.scale(1 + k), least = F(kLeastInverseInertia) * (scale * scale);
        quadratic.present[k] = F(0) < scale;
        for (int l = 0; l < kAcross; ++l) a[k][l] = long_dot<nv>(row.along, w_.response[row_of_cone(c) + l], F(0));
        a[k][k] = math::select(quadratic.present[k], math::max(a[k][k], least), F(1));
        residual[k] = long_dot<nv>(row.along, qacc_, row.rest), before[k] = -cone.next_u[1 + k];
      }
      for (int k = 0; k < kAcross; ++k) {
        rest[k] = residual[k];
        for (int l = 0; l < kAcross; ++l) rest[k] = math::fma(-a[k][l], before[l], rest[k]);
      }
      const Mask<F> presses = !(normal < F(kLeast));
      quadratic.solve(lanes & presses);
      F square = F(0);
      for (const F& x : quadratic.x) square = math::fma(x, x, square);
      const F shrink = math::sqrt(normal * normal / math::max(square, F(kLeast)));
      for (int k = 0; k < kAcross; ++k) {
        const F x = quadratic.x[k];
        after[k] = math::select(presses, math::select(quadratic.is_bound(), shrink * x, x), F(0));
      }
      const Mask<F> moves = lanes & accept<kAcross>(lanes, a, residual, before, after);
      for (int k = 0; k < kAcross; ++k) {
        cone.next_u[1 + k] = math::select(moves, -after[k], cone.next_u[1 + k]);
        move(moves, row_of_cone(c) + k, after[k] - before[k]);
      }
    }
  }

  Work& w_;
  F* qacc_;
  F gain_ = F(0);   // decrease of the cost in this sweep
  F trace_ = F(0);  // of M
  Mask<F> goes_on_ = F(0) == F(0);
};

template <class P>
DRL_HD_CALLED void noslip(typename P::Work& w, typename P::Number* qacc) {
  NoslipSolver<P>(w, qacc).run();
}

}  // namespace drl::inline DRL_ISA::physics
