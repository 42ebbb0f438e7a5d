// What contacts between two geoms (drl/physics/contacts.hpp) add to the solution. Their rows span all of qvel, since
// such a contact couples two bodies. A lane has few of these contacts. They are stored in as many places as the lane
// with most of them needs, and each lane stores its own contacts in order, so its results do not depend on other lanes.
#pragma once

#include "drl/physics/columns.hpp"
#include "drl/physics/cones.hpp"
#include "drl/physics/contacts.hpp"

namespace drl::inline DRL_ISA::physics {

// A row, whose residual is the dot product of `along` and qacc, plus `rest`.
template <class F, int nv>
struct PairRow {
  F along[nv], rest;

  // Copies another row in these lanes.
  DRL_HD void take(Mask<F> lanes, const PairRow& other) {
    DRL_ROLLED
    for (int i = 0; i < nv; ++i) along[i] = math::select(lanes, other.along[i], along[i]);
    rest = math::select(lanes, other.rest, rest);
  }
};
// A contact in an elliptic cone, with one row for each of its scaled residuals.
template <class F, int nv>
struct PairCone : Cone<F> {
  PairRow<F, nv> row[kResiduals];

  // Copies another contact in these lanes, before a solution.
  DRL_HD void take(Mask<F> lanes, const PairCone& other) {
    this->hardness = math::select(lanes, other.hardness, this->hardness);
    this->mu = math::select(lanes, other.mu, this->mu);
    for (int k = 0; k < kResiduals - 1; ++k)
      this->friction[k] = math::select(lanes, other.friction[k], this->friction[k]);
    DRL_ROLLED
    for (int r = 0; r < kResiduals; ++r) row[r].take(lanes, other.row[r]);
  }
};
// Computes two tangents of a contact, as MuJoCo's mju_makeFrame does.
template <class F>
DRL_HD void find_tangents(const PairContact<F>& contact, F* tangent, F* second) {
  const F* normal = contact.normal;
  const Mask<F> is_steep = !((normal[1] < F(0.5)) & (F(-0.5) < normal[1]));  // close to y: the tangent starts from z
  const F share = math::select(is_steep, normal[2], normal[1]);
  for (int k = 0; k < 3; ++k) {
    const F start = k == 0 ? F(0) : math::select(is_steep, F(k == 2 ? 1 : 0), F(k == 1 ? 1 : 0));
    tangent[k] = start - share * normal[k];
  }
  if (contact.along) {
    const F off = dot(contact.along, normal);
    for (int k = 0; k < 3; ++k) tangent[k] = math::fma(-off, normal[k], contact.along[k]);
    // An upright axis has no direction across the normal.
    const Mask<F> is_upright = dot(tangent, tangent) < F(1e-12) * dot(contact.along, contact.along);
    for (int k = 0; k < 3; ++k) tangent[k] = math::select(is_upright, F(k == 0 ? 1 : 0), tangent[k]);
  }
  const F inverse = F(1) / math::sqrt(dot(tangent, tangent));
  for (int k = 0; k < 3; ++k) tangent[k] = inverse * tangent[k];
  cross(normal, tangent, second);
}
// Returns the sliding friction of a pair's pyramid.
template <class P>
DRL_HD typename P::Number edge_friction([[maybe_unused]] const typename P::Work& w, const ContactPair& pair) {
  if constexpr (P::kEdgesVary)
    return sliding_friction(pair.friction, pair.varies, w.parameters);
  else
    return typename P::Number(pair.friction);
}
// Returns the friction of one edge: sliding, torsional or rolling.
template <class P>
DRL_HD typename P::Number friction_of_edge([[maybe_unused]] const typename P::Work& w, const ContactPair& pair,
                                           int edge) {
  using F = typename P::Number;
  if (edge / 2 == 1 && pair.second_sliding > 0) return F(pair.second_sliding);
  if (edge / 2 == 4 && pair.second_rolling > 0) return F(pair.second_rolling);
  if (edge < 4) return edge_friction<P>(w, pair);
  const int k = edge < 6 ? 1 : 2;
  F friction = F(pair.cone_friction[k]);
  if constexpr (P::kEdgesVary)
    for (const int parameter : pair.varies)
      if (parameter >= 0) friction = math::max(friction, w.parameters[parameter + k]);
  return friction;
}

// Computes the wrench of a force at a contact's point about the origin of each tree: (torque, force).
template <class P, class F>
DRL_HD void find_wrenches(const typename P::Work& w, const F* point, const F* force, F (*wrench)[6]) {
  for (int tree = 0; tree < P::kTrees; ++tree) {
    F arm[3];
    for (int k = 0; k < 3; ++k) arm[k] = point[k];
    if constexpr (P::kTrees > 1)
      for (int k = 0; k < 3 && tree > 0; ++k) arm[k] = point[k] + w.tree_offset[tree][k];
    cross(arm, force, wrench[tree]);
    for (int k = 0; k < 3; ++k) wrench[tree][3 + k] = force[k];
  }
}

// Computes one edge of a contact's friction pyramid: a force along the normal, plus or minus friction times a force
// along a tangent, a torque about the normal (condim 4), or about a tangent (condim 6). `friction` is that of the edge.
template <class F>
DRL_HD void find_edge(const ContactPair& pair, const PairContact<F>& contact, int edge, F friction, F* force,
                      F* torque) {
  for (int k = 0; k < 3; ++k) force[k] = contact.normal[k], torque[k] = F(0);
  if (pair.edges == 1) return;
  F tangent[3], second[3];
  find_tangents(contact, tangent, second);
  const F size = edge % 2 == 0 ? friction : -friction;
  const F* axis = edge / 2 == 2 ? contact.normal : edge / 2 % 3 == 0 ? tangent : second;
  F* to = edge < 4 ? force : torque;
  for (int k = 0; k < 3; ++k) to[k] = math::fma(size, axis[k], to[k]);
}
// Computes its wrench about the origin of each tree.
template <class P, class F>
DRL_HD void find_edge_wrenches(const typename P::Work& w, const ContactPair& pair, const PairContact<F>& contact,
                               int edge, F friction, F (*wrench)[6]) {
  F force[3], torque[3];
  find_edge(pair, contact, edge, friction, force, torque);
  find_wrenches<P>(w, contact.point, force, wrench);
  if (edge < 4) return;
  for (int tree = 0; tree < P::kTrees; ++tree)
    for (int k = 0; k < 3; ++k) wrench[tree][k] = wrench[tree][k] + torque[k];
}

// Returns start plus the dot product of two vectors along qvel, computed in four partial sums.
template <int n, class F>
DRL_HD F long_dot(const auto& a, const F* b, F start) {
  constexpr int kSums = 4;
  F sums[kSums] = {start, F(0), F(0), F(0)};
  DRL_ROLLED
  for (int i = 0; i + kSums <= n; i += kSums)
    for (int k = 0; k < kSums; ++k) sums[k] = math::fma(a[i + k], b[i + k], sums[k]);
  for (int i = n - n % kSums; i < n; ++i) sums[i % kSums] = math::fma(a[i], b[i], sums[i % kSums]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Returns the weight of a row if its residual y is negative (the row is active), otherwise 0.
template <class F>
DRL_HD F active_weight(F weight, F y) {
  return math::select(y < F(0), weight, F(0));
}

// Calls body(place, lanes) for each place that `place` names in some of these lanes.
template <class F, class Body>
DRL_HD void each_place(Mask<F> lanes, F place, const Body& body) {
  for (uint32_t left = lane_bits(lanes); left != 0;) {
    const auto k = static_cast<int>(lane(place, lowest_bit(left)));
    const Mask<F> here = lanes & (place == F(k));
    body(k, here);
    left &= ~lane_bits(here);
  }
}
// Calls body(place, lanes, is_new) for the next free place of each of these lanes, which have used `count` places so
// far. `taken` is the number of places that the lane with most of them uses.
template <class F, class Body>
DRL_HD void each_next_place(Mask<F> lanes, F count, int places, int& taken, const Body& body) {
  const int before = taken;
  each_place(lanes, count, [&](int place, Mask<F> here) DRL_LAMBDA {
    if (place >= places) return;
    body(place, here, place == before);
    if (place == before) taken = before + 1;
  });
}

template <class P, class F>
DRL_HD void put_pair_row(typename P::Work& w, Mask<F> lanes, F count, F weight, const PairRow<F, P::nv>& row,
                         [[maybe_unused]] bool opposes_next) {
  each_next_place(lanes, count, P::kPairRows, w.pair_rows, [&](int place, Mask<F> here, bool is_new) DRL_LAMBDA {
    auto&& to = w.pair_row[place];
    F& to_weight = w.weight[P::Work::kFixedWeights + place];
    if constexpr (kLanesOf<F> == 1) {
      DRL_ROLLED
      for (int i = 0; i < P::nv; ++i) to.along[i] = row.along[i];
      to.rest = row.rest, to_weight = weight;
    } else {
      if (is_new) to = {}, to_weight = F(0);
      to.take(here, row), to_weight = math::select(here, weight, to_weight);
    }
    if constexpr (P::kNoslipIterations > 0) {
      if (is_new) w.opposes_next[place] = F(0);
      w.opposes_next[place] = math::select(here, F(opposes_next ? 1 : 0), w.opposes_next[place]);
    }
  });
}

// Computes the components along qvel of equal and opposite wrenches on two geoms.
template <class P, class F>
DRL_HD void find_along(const typename P::Work& w, const ContactPair& pair, const F (*wrench)[6], F* along) {
  const PairGeom &a = P::pair_geom(pair.first), &b = P::pair_geom(pair.second);
  P::along(w, wrench, along);
  DRL_ROLLED
  for (int i = 0; i < P::nv; ++i) {
    const bool first = a.is_moved_by(i), second = b.is_moved_by(i);
    along[i] = first == second ? F(0) : second ? along[i] : -along[i];
  }
}
// The normal and the tangents of a contact in an elliptic cone. The contact's rows are along these axes, then about
// them.
template <class F>
struct ConeAxes {
  F axis[3][3];

  DRL_HD explicit ConeAxes(const PairContact<F>& contact) {
    for (int k = 0; k < 3; ++k) axis[0][k] = contact.normal[k];
    find_tangents(contact, axis[1], axis[2]);
  }
  // Converts three residuals, from `first` on, to world axes.
  DRL_HD void turn(const F* residuals, int first, F* to) const {
    for (int k = 0; k < 3; ++k)
      to[k] = math::fma(residuals[first + 2], axis[2][k],
                        math::fma(residuals[first + 1], axis[1][k], residuals[first] * axis[0][k]));
  }
  // Computes the wrench of a unit of one residual at a point, about the origin of each tree.
  template <class P>
  DRL_HD void find_wrenches(const typename P::Work& w, const F* point, int residual, F (*wrench)[6]) const {
    if (residual < 3) return physics::find_wrenches<P>(w, point, axis[residual], wrench);
    for (int tree = 0; tree < P::kTrees; ++tree)
      for (int k = 0; k < 3; ++k) wrench[tree][k] = axis[residual - 3][k], wrench[tree][3 + k] = F(0);
  }
};

// Computes the friction of a pair's contact (see find_friction).
template <class P, class F>
DRL_HD void find_pair_friction(const typename P::Work& w, const ContactPair& pair, F* friction) {
  find_friction(pair.cone_friction, pair.varies, parameters_of<P>(w), friction);
  if (pair.second_sliding > 0) friction[1] = F(pair.second_sliding);
  if (pair.second_rolling > 0) friction[4] = F(pair.second_rolling);
}
// Returns the damping of residual k of a contact in an elliptic cone.
DRL_HD double damping_of(const ContactPair& pair, int k) {
  return k > 0 && pair.friction_damping >= 0 ? pair.friction_damping : pair.damping;
}

template <class P, class F>
DRL_HD_CALLED void put_pair_cone(typename P::Work& w, Mask<F> lanes, F count, const ContactPair& pair,
                                 const PairContact<F>& contact, F weight, F at_rest, const F* qvel) {
  using Place = PairCone<F, P::nv>;
  const auto find = [&](Place& cone) DRL_LAMBDA {
    F friction[kResiduals - 1], wrench[P::kTrees][6];
    find_pair_friction<P>(w, pair, friction);
    cone.set_friction(pair.dimensions, friction, P::regularised);
    cone.hardness = weight / (cone.mu * cone.mu);
    const ConeAxes<F> axes(contact);
    DRL_ROLLED
    for (int r = 0; r < kResiduals; ++r) {
      PairRow<F, P::nv>& row = cone.row[r];
      axes.template find_wrenches<P>(w, contact.point, r, wrench);
      find_along<P>(w, pair, wrench, row.along);
      const F scale = cone.scale(r);
      DRL_ROLLED
      for (F& x : row.along) x = scale * x;
      row.rest = F(damping_of(pair, r)) * long_dot<P::nv>(row.along, qvel, F(0));
      if (r == 0) row.rest = math::fma(cone.mu, at_rest, row.rest);
    }
  };
  if constexpr (kLanesOf<F> == 1) {  // a single lane computes its contact where it is stored
    if (any(lanes) && w.pair_cones < P::kPairCones) find(w.pair_cone[w.pair_cones++]);
  } else {
    Place cone;
    find(cone);
    each_next_place(lanes, count, P::kPairCones, w.pair_cones, [&](int place, Mask<F> here, bool is_new) DRL_LAMBDA {
      Place& to = w.pair_cone[place];
      if (is_new) to = {};
      to.take(here, cone);
    });
  }
}

// Stores the rows of a contact with a pyramid or without friction. `count` is the number of rows that each lane has so
// far.
template <class P, class F>
DRL_HD_CALLED void put_pair_edges(typename P::Work& w, Mask<F> lanes, F& count, const ContactPair& pair,
                                  const PairContact<F>& contact, F weight, F at_rest, const F* qvel) {
  if constexpr (P::kEdgesVary)
    if (pair.edges > 1) weight = weight / weight_of_friction(edge_friction<P>(w, pair));
  constexpr int kAxes = P::kDense ? kResiduals : 1;
  F of_axis[kAxes][P::nv];  // along each of the contact's axes, then about it
  if constexpr (P::kDense) {
    const ConeAxes<F> axes(contact);
    for (int r = 0; r <= pair.edges / 2; ++r) {
      F wrench[P::kTrees][6];
      axes.template find_wrenches<P>(w, contact.point, r, wrench);
      find_along<P>(w, pair, wrench, of_axis[r]);
    }
  }
  for (int e = 0; e < pair.edges; ++e) {
    PairRow<F, P::nv> row;
    if constexpr (P::kDense) {
      const F most = friction_of_edge<P>(w, pair, e), size = e % 2 == 0 ? most : -most;
      for (int i = 0; i < P::nv; ++i)
        row.along[i] = pair.edges == 1 ? of_axis[0][i] : math::fma(size, of_axis[1 + e / 2][i], of_axis[0][i]);
    } else {
      F wrench[P::kTrees][6];
      find_edge_wrenches<P>(w, pair, contact, e, friction_of_edge<P>(w, pair, e), wrench);
      find_along<P>(w, pair, wrench, row.along);
    }
    row.rest = math::fma(F(pair.damping), long_dot<P::nv>(row.along, qvel, F(0)), at_rest);
    put_pair_row<P>(w, lanes, count, weight, row, pair.edges > 1 && e % 2 == 0);
    count = count + math::select(lanes, F(1), F(0));
  }
}

// Computes the rows of the pairs that touch. Returns the lanes that have more rows than there are places.
template <class P, class F>
DRL_HD_CALLED Mask<F> begin_pairs(typename P::Work& w, const F* qvel) {
  F count = F(0), cones = F(0);
  w.pair_rows = w.pair_cones = 0;
  find_near_pairs<P>(w);
  each_pair_contact<P>(w, [&](const ContactPair& pair, Mask<F> lanes, const PairContact<F>& contact) DRL_LAMBDA {
    F weight, at_rest;
    P::pair_softness(pair, contact.distance, weight, at_rest), adapt_pair_weight<P>(w, pair, weight);
    if constexpr (P::kPairCones > 0)
      if (pair.dimensions > 1) {
        put_pair_cone<P>(w, lanes, cones, pair, contact, weight, at_rest, qvel);
        cones = cones + math::select(lanes, F(1), F(0));
        return;
      }
    if constexpr (P::kPairRows > 0) put_pair_edges<P>(w, lanes, count, pair, contact, weight, at_rest, qvel);
  });
  return (F(P::kPairRows) < count) | (F(P::kPairCones) < cones);
}

// Adds row s, if it is active, to the first half of a solution (solve_up). The row is a rank-one update of the inverse
// (J. Sherman and W. J. Morrison, 1950). w.strength holds the factors of the rows before it and receives that of row s.
template <class P, class F>
DRL_HD_CALLED void take_pair_row(typename P::Work& w, int s, F weight, const auto& row) {
  constexpr int nv = P::nv;
  const Mask<F> pushes = weight != F(0);
  auto&& strength = w.strength;
  strength[s] = F(0);
  if (!any(pushes)) return;
  F half[nv], scaled[nv];
  const auto update = w.pair_update[s];
  P::solve_up(w, gathered<nv>(row.along, scaled), half);
  DRL_ROLLED
  for (int i = 0; i < nv; ++i) update[i] = half[i], scaled[i] = w.inverse[i] * half[i];
  for (int t = 0; t < s; ++t) {
    const Mask<F> is_before = strength[t] != F(0);
    if (!any(is_before)) continue;
    const F share = strength[t] * long_dot<nv>(w.pair_update[t], scaled, F(0));
    DRL_ROLLED
    for (int i = 0; i < nv; ++i)
      update[i] = math::select(is_before, math::fma(-share, w.pair_update[t][i], update[i]), update[i]);
  }
  strength[s] = weight / math::fma(weight, long_dot<nv>(update, scaled, F(0)), F(1));
  const F push = strength[s] * long_dot<nv>(scaled, w.half, row.rest);
  DRL_ROLLED
  for (int i = 0; i < nv; ++i) w.half[i] = math::select(pushes, math::fma(-push, update[i], w.half[i]), w.half[i]);
}

// Calls body(r, weight, row) for six rows that together are a cone, each with its own stiffness: one along N + m T (m =
// cross / normal of Stiffness), one along T and four across both. The directions across come from A. S. Householder's
// reflection of the first tangent to T.
template <int nv, class F, class Body>
DRL_HD void each_row_of_cone(const PairCone<F, nv>& cone, const Body& body) {
  constexpr int kAcross = kResiduals - 1;
  const Stiffness<F>& k = cone.now;
  F t[kAcross], size = F(0);
  for (int r = 0; r < kAcross; ++r) size = math::max(size, math::abs(k.t[r]));
  for (int r = 0; r < kAcross; ++r) t[r] = math::select(F(0) < size, k.t[r], F(r == 0 ? 1 : 0));
  const F side = math::select(t[0] < F(0), F(-1), F(1)), factor = F(1) / (F(1) + math::abs(t[0]));
  // `along` is along T, `reflected` is along the vector of the reflection.
  PairRow<F, nv> along{}, reflected, row;
  const auto add = [&](PairRow<F, nv>& to, F share, const PairRow<F, nv>& from) DRL_LAMBDA {
    DRL_ROLLED
    for (int i = 0; i < nv; ++i) to.along[i] = math::fma(share, from.along[i], to.along[i]);
    to.rest = math::fma(share, from.rest, to.rest);
  };
  along.rest = F(0);
  for (F& x : along.along) x = F(0);
  for (int r = 0; r < kAcross; ++r) add(along, t[r], cone.row[1 + r]);
  reflected = along, add(reflected, side, cone.row[1]);
  row = cone.row[0], add(row, k.cross / math::select(k.normal == F(0), F(1), k.normal), along);
  body(0, k.normal, row);
  body(1, k.alone, along);
  for (int r = 1; r < kAcross; ++r) {
    row = cone.row[1 + r], add(row, -(factor * t[r]), reflected);
    body(1 + r, k.across, row);
  }
}

// Adds all active rows of pairs to the first half of a solution.
template <class P>
DRL_HD_CALLED void take_pairs(typename P::Work& w) {
  using F = typename P::Number;
  if constexpr (P::kPairRows > 0)
    for (int s = 0; s < w.pair_rows; ++s)
      take_pair_row<P>(w, s, active_weight(w.weight[P::Work::kFixedWeights + s], w.y[P::Work::kFixedRows + s]),
                       w.pair_row[s]);
  if constexpr (P::kPairCones > 0)
    for (int c = 0; c < w.pair_cones; ++c)
      each_row_of_cone<P::nv>(w.pair_cone[c], [&](int r, F weight, const PairRow<F, P::nv>& row) DRL_LAMBDA {
        take_pair_row<P>(w, w.pair_rows + kResiduals * c + r, weight, row);
      });
}

// Subtracts the forces of pairs in the solution from `force`, and sets `rest` of each of their rows to 0.
template <class P, class F>
DRL_HD_CALLED void subtract_pairs(typename P::Work& w, F* force) {
  const auto subtract = [&](F push, auto&& row) DRL_LAMBDA {
    DRL_ROLLED
    for (int i = 0; i < P::nv; ++i) force[i] = math::fma(-push, row.along[i], force[i]);
    row.rest = F(0);
  };
  if constexpr (P::kPairRows > 0)
    for (int s = 0; s < w.pair_rows; ++s) {
      const F y = w.next_y[P::Work::kFixedRows + s];
      subtract(active_weight(w.weight[P::Work::kFixedWeights + s], y) * y, w.pair_row[s]);
    }
  if constexpr (P::kPairCones > 0)
    for (int c = 0; c < w.pair_cones; ++c) {
      F push[kResiduals];
      w.pair_cone[c].next.times(w.pair_cone[c].next_u, kResiduals, push);
      for (int r = 0; r < kResiduals; ++r) subtract(push[r], w.pair_cone[c].row[r]);
    }
}

template <class F>
DRL_HD void add_wrench(Mask<F> lanes, F push, const F* wrench, F* sum) {
  for (int k = 0; k < 6; ++k) sum[k] = math::select(lanes, math::fma(push, wrench[k], sum[k]), sum[k]);
}

// Adds the wrenches of a contact in an elliptic cone, which each lane has stored at `place`.
template <class P, class F>
DRL_HD_CALLED void add_cone_wrenches(const typename P::Work& w, const ContactPair& pair, Mask<F> lanes, F place,
                                     const PairContact<F>& contact, F (*wrenches)[6]) {
  const PairGeom &first = P::pair_geom(pair.first), &second = P::pair_geom(pair.second);
  F wrench[P::kTrees][6], push[kResiduals], force[kResiduals];
  for (F& x : force) x = F(0);
  for (int c = 0; c < w.pair_cones; ++c) {
    w.pair_cone[c].push(kResiduals, push);
    for (int r = 0; r < kResiduals; ++r) force[r] = math::select(lanes & (place == F(c)), push[r], force[r]);
  }
  const ConeAxes<F> axes(contact);
  F along[3], about[3];
  axes.turn(force, 0, along), axes.turn(force, 3, about);
  find_wrenches<P>(w, contact.point, along, wrench);
  for (auto& of_tree : wrench)
    for (int k = 0; k < 3; ++k) of_tree[k] = of_tree[k] + about[k];
  if (first.frame >= 0) add_wrench(lanes, F(-1), wrench[first.tree], wrenches[first.frame]);
  if (second.frame >= 0) add_wrench(lanes, F(1), wrench[second.tree], wrenches[second.frame]);
}

// Returns the force of the row that each of these lanes has stored at `place`.
template <class P, class F>
DRL_HD F push_at(const typename P::Work& w, Mask<F> lanes, F place) {
  F push = F(0);
  each_place(lanes, place, [&](int s, Mask<F> here) DRL_LAMBDA {
    if (s >= w.pair_rows) return;
    const F y = w.next_y[P::Work::kFixedRows + s];
    const F weight = w.weight[P::Work::kFixedWeights + s];
    push = math::select(here, -(active_weight(weight, y) * y), push);
  });
  return push;
}

// Adds the wrenches of a contact whose rows begin at `count` in each of these lanes.
template <class P, class F>
DRL_HD_CALLED void add_edge_wrenches(const typename P::Work& w, const ContactPair& pair, Mask<F> lanes, F& count,
                                     const PairContact<F>& contact, F (*wrenches)[6]) {
  const PairGeom &first = P::pair_geom(pair.first), &second = P::pair_geom(pair.second);
  for (int e = 0; e < pair.edges; ++e) {
    F wrench[P::kTrees][6];
    const F push = push_at<P>(w, lanes, count);
    find_edge_wrenches<P>(w, pair, contact, e, friction_of_edge<P>(w, pair, e), wrench);
    if (first.frame >= 0) add_wrench(lanes, -push, wrench[first.tree], wrenches[first.frame]);
    if (second.frame >= 0) add_wrench(lanes, push, wrench[second.tree], wrenches[second.frame]);
    count = count + math::select(lanes, F(1), F(0));
  }
}

// Adds the forces of pairs in the solution to the wrenches on frames.
template <class P, class F>
DRL_HD_CALLED void add_pair_wrenches(const typename P::Work& w, F (*wrenches)[6]) {
  if (w.pair_rows + w.pair_cones == 0) return;
  F count = F(0), cones = F(0);
  each_pair_contact<P>(w, [&](const ContactPair& pair, Mask<F> lanes, const PairContact<F>& contact) DRL_LAMBDA {
    if constexpr (P::kPairCones > 0)
      if (pair.dimensions > 1) {
        add_cone_wrenches<P>(w, pair, lanes, cones, contact, wrenches);
        cones = cones + math::select(lanes, F(1), F(0));
        return;
      }
    if constexpr (P::kPairRows > 0) add_edge_wrenches<P>(w, pair, lanes, count, contact, wrenches);
  });
}

}  // namespace drl::inline DRL_ISA::physics
