// The noslip solver (MuJoCo's mj_solNoSlip), for models that ask for it by noslip_iterations. The regularisation of
// friction, by which a solution is unique, also lets contacts creep. After each solution, this solver computes the
// forces of dry friction and of contacts' friction once more without it, while normal forces and all others stay. It
// minimises the cost of the dual problem by a few Gauss-Seidel sweeps. The result depends on their order and on when a
// lane stops: both are MuJoCo's. It runs in double, because MuJoCo's thresholds (1e-10) assume double.
//
// All contacts of such a robot have rows along qvel. The new forces are kept (PairContacts::without_slip), and those of
// dry friction replace its residuals.
#pragma once

#include "drl/math.hpp"
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
  using S = Scalar<F>;
  static constexpr int nv = P::nv;
  static constexpr double kLeast = 1e-15, kLeastInverseInertia = 1e-10, kMostIncrease = 1e-10;
  static constexpr bool kHasCones = has_pair_cones<P>();
  static constexpr int kRows = noslip_rows_of_contact<P>(),
                       kAcross = kHasCones && P::kPairs > 0 ? P::kNoslipDirections : 0;

 public:
  // qacc [nv] is the solution's acceleration in the solver's axes, which this solver changes.
  DRL_HD NoslipSolver(Work& w, F* qacc) : w_(w), qacc_(qacc) {}

  DRL_HD void run() {
    find_responses();
    for (int k = 0; k < P::kNoslipIterations; ++k) {
      gain_ = k == 0 ? cost_of_regularisation() : F(0);
      sweep_frictions();
      for (int c = 0; c < contacts_; ++c) {
        if constexpr (!kHasCones && P::kPairs > 0)
          for (int e = 0; e + 1 < kRows; e += 2) update_edges(kRows * c + e);
      }
      if constexpr (kAcross > 0)
        for (int c = 0; c < contacts_; ++c) update_cone(c);
      F least = F(P::kNoslipTolerance);
      if constexpr (P::kInertiaConstant >= 0) least = least * w_.parameters[P::kInertiaConstant];
      if constexpr (P::kNoslipUsesTrace) least = least * trace_;
      goes_on_ = goes_on_ & !(gain_ < least);
      if (!any(goes_on_)) break;
    }
    each_contact([&](int c, int env, auto& contacts, const auto&, int l)
                     DRL_LAMBDA { keep_forces(c, env, contacts, l); });
  }

 private:
  DRL_HD void find_response(const F* along, F* response) {
    for (int i = 0; i < nv; ++i) response[i] = along[i];
    ChainMatrix(of_mass_, w_.matrix, w_.inverse).solve(response);
  }
  // Calls body(c, env, contacts, rows, l) for each contact c of each environment, which is in lane l of its pack.
  template <class Body>
  DRL_HD void each_contact(const Body& body) {
    if constexpr (P::kPairs > 0)
      for (int env = 0; env < kLanesOf<F>; ++env)
        for (int k = w_.first_contact[env]; k < w_.first_contact[env + 1]; ++k) {
          const int pack = k / kLanesOf<F>;
          body(k - w_.first_contact[env], env, w_.pair_contacts[pack], w_.pair_rows[pack], k % kLanesOf<F>);
        }
  }
  // Computes M^-1 times all rows.
  DRL_HD void find_responses() {
    for (F& x : w_.matrix) x = F(0);
    P::mass_matrix(w_, w_.matrix);
    if constexpr (P::kNoslipUsesTrace)
      for (int i = 0; i < nv; ++i) trace_ = trace_ + w_.matrix[packed(i, i)];
    of_mass_.set(nullptr);
    ChainMatrix(of_mass_, w_.matrix, w_.inverse).factorise();
    if constexpr (P::kFrictions > 0) {
      for (auto& row : w_.friction_along)
        for (F& x : row) x = F(0);
      P::friction_rows(w_, w_.friction_along);
      for (int f = 0; f < P::kFrictions; ++f) find_response(w_.friction_along[f], w_.friction_response[f]);
    }
    each_contact([&](int c, int, auto&, const auto&, int)
                     DRL_LAMBDA { contacts_ = c < contacts_ ? contacts_ : c + 1; });
    if constexpr (P::kPairs > 0) {
      for (int s = 0; s < kRows * contacts_; ++s) {
        auto& row = w_.noslip_row[s];
        row.rest = row.force = row.weight = F(0);
        for (F& x : row.along) x = F(0);
      }
      each_contact([&](int c, int env, auto& contacts, const auto& rows, int l)
                       DRL_LAMBDA { begin_rows(c, env, contacts, rows, l); });
      for (int s = 0; s < kRows * contacts_; ++s) find_response(w_.noslip_row[s].along, w_.noslip_row[s].response);
    }
  }
  DRL_HD void begin_rows(int c, int env, const auto& contacts, const auto& rows, int l) {
    F pushed[kResiduals];
    contacts.respond(P::kPairDimensions, pushed);
    const auto number = [&](int r, int j) DRL_LAMBDA { return numbers_of(rows[r * P::kPairColumns + j])[l]; };
    for (int r = 0; r < kRows; ++r) {
      auto& row = w_.noslip_row[kRows * c + r];
      const int across = kHasCones || kRows == 1 ? 0 : 1 + r / 2;
      const S side = across == 0 ? S(0) : r % 2 == 0 ? S(1) : S(-1);
      const int main = across == 0 ? r : 0;
      for (int j = 0; j < contacts.columns[l]; ++j)
        numbers_of(row.along[contacts.place[j][l] / kLanesOf<F>])[env] =
            across == 0 ? number(main, j) : number(main, j) + side * number(across, j);
      numbers_of(row.rest)[env] =
          numbers_of(contacts.rest[main])[l] + (across == 0 ? S(0) : side * numbers_of(contacts.rest[across])[l]);
      if constexpr (kHasCones) {
        numbers_of(row.weight)[env] = numbers_of(contacts.hardness)[l];
        numbers_of(row.force)[env] = -numbers_of(pushed[r])[l];
      } else {
        numbers_of(row.weight)[env] = numbers_of(contacts.weight[r / 2])[l];
        const F active = contacts.active_edge(contacts.next_u, P::kPairDimensions, r);
        const F force = -(active * contacts.edge(contacts.next_u, P::kPairDimensions, r));
        numbers_of(row.force)[env] = numbers_of(force)[l];
      }
    }
    if constexpr (kHasCones)
      for (int r = 0; r < P::kPairDimensions; ++r) {
        const F scale = contacts.scale(r);
        numbers_of(scale_[c][r])[env] = numbers_of(scale)[l];
      }
  }
  DRL_HD void keep_forces(int c, int env, auto& contacts, int l) {
    S force[kResiduals] = {};
    for (int r = 0; r < kRows; ++r) {
      const S of_row = numbers_of(w_.noslip_row[kRows * c + r].force)[env];
      if constexpr (kHasCones) {
        force[r] = numbers_of(scale_[c][r])[env] * of_row;
      } else {
        force[0] += of_row;
        if (kRows > 1) force[1 + r / 2] += (r % 2 == 0 ? 1 : -1) * numbers_of(contacts.friction[r / 2])[l] * of_row;
      }
    }
    for (int k = 0; k < kResiduals; ++k) numbers_of(contacts.without_slip[k])[l] = force[k];
  }
  // Adds change * M^-1 row to the acceleration of these lanes.
  DRL_HD void move(Mask<F> lanes, const F* response, F change) {
    for (int i = 0; i < nv; ++i) qacc_[i] = math::select(lanes, math::fma(response[i], change, qacc_[i]), qacc_[i]);
  }

  // Returns the part of the solution's cost that this solver leaves out, sum of force^2 / weight / 2 over all rows. The
  // first sweep counts it as a decrease.
  DRL_HD F cost_of_regularisation() const {
    F sum = F(0);
    const auto add = [&](F weight, F y) DRL_LAMBDA { sum = math::fma(active_weight(weight, y) * y, y, sum); };
    if constexpr (P::kLimits > 0)
      for (int l = 0; l < P::kLimits; ++l) add(w_.weight[P::kContacts + l], w_.next_y[Work::kContactResiduals + l]);
    if constexpr (P::kPairs > 0)
      for (int s = 0; s < kRows * contacts_; ++s) {
        const auto& row = w_.noslip_row[s];
        sum = sum + math::select(F(0) < row.weight, row.force * row.force / row.weight, F(0));
      }
    if constexpr (P::kEqualityRows > 0)
      for (const EqualityRow<F>& row : w_.equality) sum = sum + row.push * row.push / row.weight;
    each_friction<P>(w_, [&](const auto& friction, const FrictionRow<F>& row) DRL_LAMBDA {
      const F push = row.push(friction);
      sum = sum + push * push / F(friction.weight);
    });
    return F(0.5) * sum;
  }

  DRL_HD void sweep_frictions() {
    if constexpr (P::kFrictions > 0)
      for (int f = 0; f < P::kFrictions; ++f) {
        const auto friction = friction_of<P>(f, w_);
        FrictionRow<F>& row = w_.friction[f];
        const F *along = w_.friction_along[f], *response = w_.friction_response[f];
        const F inverse_inertia = math::max(long_dot<nv>(along, response, F(0)), F(kLeast));
        const F residual = long_dot<nv>(along, qacc_, row.rest), before = row.push(friction);
        const F after = math::clamp(before - residual / inverse_inertia, F(-friction.most), F(friction.most));
        const F change = after - before;
        gain_ = gain_ - math::fma(F(0.5) * inverse_inertia * change, change, change * residual);
        row.next_y = math::select(goes_on_, -after / F(friction.weight), row.next_y);
        move(goes_on_, response, change);
      }
  }

  // Moves force between the opposite edges s and s + 1; the sum stays.
  DRL_HD void update_edges(int s) {
    auto* edge = &w_.noslip_row[s];
    F differs = F(0);  // the edges of a contact without friction are equal
    for (int i = 0; i < nv; ++i) differs = math::max(differs, math::abs(edge[0].along[i] - edge[1].along[i]));
    const Mask<F> lanes = goes_on_ & (F(0) < edge[0].weight) & (F(0) < differs);
    if (!any(lanes)) return;
    F a[2][2], residual[2], before[2], force[2], rest[2];
    for (int k = 0; k < 2; ++k) {
      for (int l = 0; l < 2; ++l) a[k][l] = long_dot<nv>(edge[k].along, edge[l].response, F(0));
      a[k][k] = math::max(a[k][k], F(kLeastInverseInertia));
      residual[k] = long_dot<nv>(edge[k].along, qacc_, edge[k].rest), before[k] = edge[k].force;
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
      edge[k].force = math::select(moves, force[k], edge[k].force);
      move(moves, edge[k].response, force[k] - before[k]);
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
      auto* row = &w_.noslip_row[kRows * c];
      const Mask<F> lanes = goes_on_ & (F(0) < row[0].weight);
      if (!any(lanes)) return;
      const F normal = scale_[c][0] * row[0].force;
      F a[kAcross][kAcross], residual[kAcross], before[kAcross], rest[kAcross], after[kAcross];
      BoundedQuadratic<kAcross, F> quadratic(a, rest, normal);
      for (int k = 0; k < kAcross; ++k) {
        const F scale = scale_[c][1 + k], least = F(kLeastInverseInertia) * (scale * scale);
        quadratic.present[k] = F(0) < scale;
        for (int l = 0; l < kAcross; ++l) a[k][l] = long_dot<nv>(row[1 + k].along, row[1 + l].response, F(0));
        a[k][k] = math::select(quadratic.present[k], math::max(a[k][k], least), F(1));
        residual[k] = long_dot<nv>(row[1 + k].along, qacc_, row[1 + k].rest), before[k] = row[1 + k].force;
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
        row[1 + k].force = math::select(moves, after[k], row[1 + k].force);
        move(moves, row[1 + k].response, after[k] - before[k]);
      }
    }
  }

  Work& w_;
  F* qacc_;
  ChainPattern<typename Work::AllSizes> of_mass_;
  int contacts_ = 0;                                                               // of the environment that has most
  F scale_[kHasCones ? P::kPairContacts : 1][kHasCones ? P::kPairDimensions : 1];  // of cones' residuals
  F gain_ = F(0);                                                                  // decrease of the cost in this sweep
  F trace_ = F(0);                                                                 // of M
  Mask<F> goes_on_ = F(0) == F(0);
};

template <class P>
DRL_HD_CALLED void noslip(typename P::Work& w, typename P::Number* qacc) {
  NoslipSolver<P>(w, qacc).run();
}

}  // namespace drl::inline DRL_ISA::physics
