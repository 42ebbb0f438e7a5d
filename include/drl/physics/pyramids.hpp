// Contacts with friction in pyramids (MuJoCo, "Computation", friction cones). An edge of a pyramid is the normal plus
// or minus one of the contact's other directions: two tangents, and rotations about the normal and the tangents. Each
// edge is a row of the solution: it pushes with -weight y if its residual y is negative.
#pragma once

#include "drl/physics/cones.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns the weight of a row if its residual y is negative (the row is active), otherwise 0.
template <class F>
DRL_HD F active_weight(F weight, F y) {
  return math::select(y < F(0), weight, F(0));
}

// A contact in a pyramid with the same functions as Cone. `most` is its largest number of residuals. Its residuals are
// scaled so that those of edges are their sums and differences.
template <class F, int most = kResiduals>
struct Pyramid {
  static constexpr int kAcross = most > 1 ? most - 1 : 1;
  // weight[k] is the weight of both edges of direction k across the normal. Without friction, weight[0] is that of the
  // normal.
  F weight[kAcross], friction[kAcross];
  F u[most], next_u[most];  // at the last and at the next accelerations

  DRL_HD void set_friction(int dimensions, const F* coefficients, double) {
    for (int k = 0; k < kAcross; ++k) friction[k] = k + 1 < dimensions ? coefficients[k] : F(0);
  }
  DRL_HD void set_weight(int dimensions, F of_each) {
    for (int k = 0; k < kAcross; ++k) weight[k] = k == 0 || k + 1 < dimensions ? of_each : F(0);
  }
  DRL_HD F scale(int k) const { return k == 0 ? F(1) : friction[k - 1]; }
  DRL_HD Mask<F> exists() const { return F(0) < weight[0]; }

  DRL_HD static int edges(int residuals) { return residuals == 1 ? 1 : 2 * (residuals - 1); }
  DRL_HD static F edge(const F* residual, int residuals, int e) {
    if (residuals == 1) return residual[0];
    const F across = residual[1 + e / 2];
    return e % 2 == 0 ? residual[0] + across : residual[0] - across;
  }
  DRL_HD F active_edge(const F* residual, int residuals, int e) const {
    return active_weight(weight[e / 2], edge(residual, residuals, e));
  }

  DRL_HD void begin_solution(Mask<F> was_here) {
    for (int k = 0; k < most; ++k) u[k] = math::select(was_here, next_u[k], F(0)), next_u[k] = F(0);
  }
  // Moves next_u by a share of the way to the residuals at the warm start, in lanes where an edge pushed (see
  // guess_active_rows); sets u to 0.
  DRL_HD void reuse_last(int residuals, double share) {
    Mask<F> pushed = F(0) != F(0);
    for (int e = 0; e < edges(residuals); ++e) pushed = pushed | (edge(u, residuals, e) < F(0));
    for (int k = 0; k < residuals; ++k) {
      next_u[k] = math::select(pushed, math::fma(F(share), next_u[k] - u[k], u[k]), next_u[k]);
      u[k] = F(0);
    }
  }
  DRL_HD void find_next(int) {}
  // Returns the lanes in which an edge becomes active or inactive.
  DRL_HD Mask<F> changes(int residuals) const {
    Mask<F> changes = F(0) != F(0);
    for (int e = 0; e < edges(residuals); ++e)
      changes = changes | (active_edge(next_u, residuals, e) != active_edge(u, residuals, e));
    return changes;
  }
  // Computes the product of residuals and the change of the cost's second derivative from u to next_u.
  DRL_HD void times_change(const F* residual, int residuals, F* push) const {
    times(residual, residuals, push,
          [&](int e) DRL_LAMBDA { return active_edge(next_u, residuals, e) - active_edge(u, residuals, e); });
  }
  DRL_HD void take_next(int residuals, Mask<F>) {
    for (int k = 0; k < residuals; ++k) u[k] = next_u[k];
  }

  DRL_HD void begin_line(int residuals, F& slope, F& start) const {
    for (int e = 0; e < edges(residuals); ++e) {
      const F y = edge(u, residuals, e), next_y = edge(next_u, residuals, e), change = next_y - y;
      const F push = active_weight(weight[e / 2], y) * change;
      slope = math::fma(-push, next_y, slope), start = math::fma(push, change, start);
    }
  }
  DRL_HD void add_slopes(int residuals, F at, F& first, F& second) const {
    for (int e = 0; e < edges(residuals); ++e) {
      const F y = edge(u, residuals, e), change = edge(next_u, residuals, e) - y, here = math::fma(at, change, y);
      const F push = active_weight(weight[e / 2] * change, here);
      first = math::fma(push, here, first), second = math::fma(push, change, second);
    }
  }
  DRL_HD void go_back(int residuals, Mask<F> lanes, F at) {
    for (int k = 0; k < residuals; ++k)
      next_u[k] = math::select(lanes, math::fma(at, next_u[k] - u[k], u[k]), next_u[k]);
  }
  DRL_HD void respond(int residuals, F* pushed) const {
    times(next_u, residuals, pushed, [&](int e) DRL_LAMBDA { return active_edge(next_u, residuals, e); });
  }
  DRL_HD void push(int residuals, F* force) const {
    respond(residuals, force);
    for (int k = 0; k < residuals; ++k) force[k] = -(scale(k) * force[k]);
    for (int k = residuals; k < kResiduals; ++k) force[k] = F(0);
  }

 private:
  template <class Weights>
  DRL_HD static void times(const F* residual, int residuals, F* push, const Weights& weight_of) {
    for (int k = 0; k < residuals; ++k) push[k] = F(0);
    for (int e = 0; e < edges(residuals); ++e) {
      const F along_edge = weight_of(e) * edge(residual, residuals, e);
      push[0] = push[0] + along_edge;
      if (residuals > 1) push[1 + e / 2] = e % 2 == 0 ? push[1 + e / 2] + along_edge : push[1 + e / 2] - along_edge;
    }
  }
};

}  // namespace drl::inline DRL_ISA::physics
