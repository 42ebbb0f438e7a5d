// Contacts of a robot with geoms of the world, of any shapes. Such a contact moves one body only, so it adds to that
// body's equations of motion, as a contact with a horizontal floor does, and needs no row along qvel.
#pragma once

#include "drl/physics/cones.hpp"
#include "drl/physics/pairs.hpp"

namespace drl::inline DRL_ISA::physics {

// One contact. Its residuals are along the normal, along two tangents, and about these three axes.
template <class F, class Sizes>
struct GroundContact : ContactFriction<F, Sizes> {
  static constexpr float kAbsent = 1e30f;

  F point[3];          // about the origin of the body's tree
  F axis[3][3];        // normal and tangents, whose signs are such that the motion of the robot's body is positive
  F distance;          // kAbsent in lanes that have no such contact, if sensors show contacts in the gap
  F rest[kResiduals];  // scaled residuals at zero acceleration
  int step = 0;        // the solution that this contact was last part of

  // Computes the scaled residuals from a motion (angular, then linear velocity or acceleration of the tree's origin).
  DRL_HD void along(const F* motion, int residuals, const F* start, F* residual) const {
    F turned[3], of_point[3];
    cross(motion, point, turned);
    for (int k = 0; k < 3; ++k) of_point[k] = motion[3 + k] + turned[k];
    for (int k = 0; k < residuals; ++k)
      residual[k] = math::fma(this->scale(k), dot(axis[k % 3], k < 3 ? of_point : motion), start[k]);
  }

  template <class P>
  DRL_HD void begin(const typename P::Work& w, const ContactPair& pair, Mask<F> lanes, const PairContact<F>& contact,
                    const F* velocity) {
    const int tree = P::pair_geom(pair.first_moves ? pair.first : pair.second).tree;
    F friction[kResiduals - 1], weight, at_rest;
    for (int k = 0; k < 3; ++k) {
      point[k] = contact.point[k], axis[0][k] = contact.normal[k];
      if constexpr (P::kTrees > 1)
        if (tree > 0) point[k] = point[k] + w.tree_offset[tree][k];
    }
    find_tangents(contact, axis[1], axis[2]);
    if (pair.first_moves)
      for (auto& direction : axis)
        for (F& x : direction) x = -x;
    find_pair_friction<P>(w, pair, friction);
    this->set_friction(pair.dimensions, friction, P::regularised);
    distance = contact.distance;
    find_softness<P>(w, pair, pair.dimensions, distance, friction, weight, at_rest);
    this->set_weight(pair.dimensions, math::select(lanes, weight, F(0)));
    const F none[kResiduals] = {F(0), F(0), F(0), F(0), F(0), F(0)};
    along(velocity, pair.dimensions, none, rest);
    for (int k = 0; k < pair.dimensions; ++k) rest[k] = F(damping_of(pair, k)) * rest[k];
    rest[0] = math::fma(this->scale(0), at_rest, rest[0]);
  }

  // Adds a second derivative of the cost, and the force at zero acceleration, to the coupling of the contact's body
  // (drl/physics/work.hpp). times(residual, push) multiplies residuals by it.
  template <class Times>
  DRL_HD void add_coupling(int residuals, F* coupling, const Times& times) const {
    F row[kResiduals][6], product[kResiduals][6], force[kResiduals];  // rows: residuals of a unit of each motion
    for (int k = 0; k < residuals; ++k) {
      F turned[3];
      cross(point, axis[k % 3], turned);
      for (int i = 0; i < 3; ++i) {
        row[k][i] = this->scale(k) * (k < 3 ? turned[i] : axis[k % 3][i]);
        row[k][3 + i] = k < 3 ? this->scale(k) * axis[k][i] : F(0);
      }
    }
    for (int j = 0; j < 6; ++j) {
      F column[kResiduals], pushed[kResiduals];
      for (int k = 0; k < residuals; ++k) column[k] = row[k][j];
      times(column, pushed);
      for (int k = 0; k < residuals; ++k) product[k][j] = pushed[k];
    }
    times(rest, force);
    constexpr int kRow[6] = {0, 1, 2, 0, 0, 1}, kColumn[6] = {0, 1, 2, 1, 2, 2};
    const auto entry = [&](int i, int j) DRL_LAMBDA {
      F sum = F(0);
      for (int k = 0; k < residuals; ++k) sum = math::fma(row[k][i], product[k][j], sum);
      return sum;
    };
    for (int s = 0; s < 6; ++s) {
      coupling[s] = coupling[s] + entry(kRow[s], kColumn[s]);
      coupling[15 + s] = coupling[15 + s] + entry(3 + kRow[s], 3 + kColumn[s]);
    }
    for (int s = 0; s < 9; ++s) coupling[6 + s] = coupling[6 + s] + entry(s / 3, 3 + s % 3);
    for (int i = 0; i < 6; ++i)
      for (int k = 0; k < residuals; ++k) coupling[21 + i] = math::fma(row[k][i], force[k], coupling[21 + i]);
  }

  // Does the same for the cone's current stiffness, with fewer operations. The axes must be orthonormal, and friction
  // the same along both tangents and about them. Let w_k be the motion (angular, linear) of which residual k is 1
  // before it is scaled. For a contact at p with normal n,
  //   w_0 w_0^T + w_1 w_1^T + w_2 w_2^T = [ |p|^2 I - p p^T   [p]x ]        w_4 w_4^T + w_5 w_5^T = [ I - n n^T   0 ]
  //                                       [ [p]x^T            I    ]                                [ 0           0 ]
  template <int residuals>
  DRL_HD void add_cone(F* coupling) const {
    constexpr bool kTwists = residuals > 3, kRolls = residuals > 4;
    const Stiffness<F>& h = this->now;
    const F *p = point, *n = axis[0];
    const F sliding = this->scale(1), twisting = this->scale(3), rolling = this->scale(4);
    F pushed[residuals];
    h.times(rest, residuals, pushed);
    F normal[6], across[6],
        force[6];  // w_0; the sum of scale(k) t_k w_k across the normal; that of scale(k) pushed_k w_k
    for (int i = 0; i < 3; ++i) {
      normal[3 + i] = n[i];
      across[3 + i] = sliding * math::fma(h.t[0], axis[1][i], h.t[1] * axis[2][i]);
      const F slides = math::fma(pushed[1], axis[1][i], pushed[2] * axis[2][i]);
      force[3 + i] = math::fma(sliding, slides, this->mu * pushed[0] * n[i]);
    }
    cross(p, normal + 3, normal), cross(p, across + 3, across), cross(p, force + 3, force);
    for (int i = 0; i < 3; ++i) {
      if constexpr (kTwists) {
        across[i] = math::fma(twisting * h.t[2], n[i], across[i]);
        force[i] = math::fma(twisting * pushed[3], n[i], force[i]);
      }
      if constexpr (kRolls) {
        across[i] = math::fma(rolling, math::fma(h.t[3], axis[1][i], h.t[4] * axis[2][i]), across[i]);
        force[i] = math::fma(rolling, math::fma(pushed[4], axis[1][i], pushed[5] * axis[2][i]), force[i]);
      }
    }
    // The matrix is normal first^T + across second^T, plus what the two equations above give for `slides` and `rolls`,
    // and what twisting adds to n n^T.
    const F slides = h.across * (sliding * sliding), rolls = kRolls ? h.across * (rolling * rolling) : F(0);
    const F twists = kTwists ? math::fma(h.across, twisting * twisting, -rolls) : F(0);
    const F own = math::fma(h.normal, this->mu * this->mu, -slides), mixed = h.cross * this->mu;
    F first[6], second[6];
    for (int i = 0; i < 6; ++i) {
      first[i] = math::fma(own, normal[i], mixed * across[i]);
      second[i] = math::fma(mixed, normal[i], h.along * across[i]);
    }
    const auto entry = [&](int i, int j, F sum)
                           DRL_LAMBDA { return math::fma(normal[i], first[j], math::fma(across[i], second[j], sum)); };
    constexpr int kRow[6] = {0, 1, 2, 0, 0, 1}, kColumn[6] = {0, 1, 2, 1, 2, 2};
    for (int s = 0; s < 6; ++s) {
      const int i = kRow[s], j = kColumn[s], next = (i + 1) % 3, last = (i + 2) % 3;
      F angular =
          i == j ? math::fma(slides, math::fma(p[next], p[next], p[last] * p[last]), rolls) : -(slides * p[i]) * p[j];
      if constexpr (kTwists) angular = math::fma(twists * n[i], n[j], angular);
      coupling[s] = coupling[s] + entry(i, j, angular);
      coupling[15 + s] = coupling[15 + s] + entry(3 + i, 3 + j, i == j ? slides : F(0));
    }
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        F shifted = F(0);  // [p]x
        if (i != j) shifted = (j - i + 3) % 3 == 1 ? -(slides * p[3 - i - j]) : slides * p[3 - i - j];
        coupling[6 + 3 * i + j] = coupling[6 + 3 * i + j] + entry(i, 3 + j, shifted);
      }
    for (int i = 0; i < 6; ++i) coupling[21 + i] = coupling[21 + i] + force[i];
  }

  // Computes the force and the torque on the robot's body, in world axes.
  DRL_HD void find_push(int residuals, F* force, F* torque) const {
    F f[kResiduals];
    this->push(residuals, f);
    for (int i = 0; i < 3; ++i) {
      force[i] = math::fma(axis[2][i], f[2], math::fma(axis[1][i], f[1], axis[0][i] * f[0]));
      torque[i] = math::fma(axis[2][i], f[5], math::fma(axis[1][i], f[4], axis[0][i] * f[3]));
    }
  }
  // Adds the contact's wrenches (torque about the tree's origin, force) to those on both geoms' frames.
  template <class P>
  DRL_HD void add_wrench(const typename P::Work& w, const ContactPair& pair, F (*wrenches)[6]) const {
    const PairGeom& mover = P::pair_geom(pair.first_moves ? pair.first : pair.second);
    const PairGeom& still = P::pair_geom(pair.first_moves ? pair.second : pair.first);
    F force[3], torque[3], turned[3], from_first[3];
    find_push(pair.dimensions, force, torque);
    cross(point, force, turned);
    for (int i = 0; i < 3; ++i) {
      wrenches[mover.frame][i] = wrenches[mover.frame][i] + (turned[i] + torque[i]);
      wrenches[mover.frame][3 + i] = wrenches[mover.frame][3 + i] + force[i];
    }
    if (still.frame < 0) return;
    for (int i = 0; i < 3; ++i) {
      from_first[i] = point[i];
      if constexpr (P::kTrees > 1)
        if (mover.tree > 0) from_first[i] = point[i] - w.tree_offset[mover.tree][i];
    }
    cross(from_first, force, turned);
    for (int i = 0; i < 3; ++i) {
      wrenches[still.frame][i] = wrenches[still.frame][i] - (turned[i] + torque[i]);
      wrenches[still.frame][3 + i] = wrenches[still.frame][3 + i] - force[i];
    }
  }
};

// Calls body(residuals) with a contact's number of residuals, which on CPUs is a constant, so that loops over them are
// unrolled.
template <class P, class Body>
DRL_HD void with_residuals(int residuals, const Body& body) {
  if constexpr (DRL_ON_GPU) {
    body(residuals);
  } else {
    const auto visit = [&](auto number) DRL_LAMBDA {
      if constexpr ((P::kResidualNumbers >> decltype(number)::value & 1) != 0)
        if (residuals == decltype(number)::value) body(number);
    };
    visit(std::integral_constant<int, 1>()), visit(std::integral_constant<int, 3>());
    visit(std::integral_constant<int, 4>()), visit(std::integral_constant<int, 6>());
  }
}
// Calls body(pair, contact) for each contact with the world that exists in some lane.
template <class P, class Work, class Body>
DRL_HD void each_ground_contact([[maybe_unused]] Work& w, const Body& body) {
  if constexpr (P::kGround > 0)
    for (int t = 0; t < w.grounded; ++t) body(P::pair(w.on_ground[t].pair), w.ground[w.on_ground[t].place]);
}

// Finds the contacts with the world. Their residuals u become those of the last solution, or 0 for contacts that were
// not part of it. Returns the lanes that have more contacts with a height field than there are places, or too stiff
// ones, or whose heights are not set.
template <class P>
DRL_HD_CALLED Mask<typename P::Number> begin_ground(typename P::Work& w) {
  using F = typename P::Number;
  Mask<F> has_too_many = F(0) != F(0);
  const int before = w.grounded;
  int former[P::kGround], count = 0;
  for (int t = 0; t < before; ++t) former[t] = w.on_ground[t].place;
  w.ground_step += 1;
  [[maybe_unused]] int same_field = 0;  // up to here, pairs have the same height field
  [[maybe_unused]] F highest = F(0);    // of the field, under all of them
  for (int k = 0; k < P::kGroundPairs; ++k) {
    const ContactPair& pair = P::pair(k);
    Mask<F> near = may_touch<P>(w, pair);
    if constexpr (P::kHeightFields > 0)
      if (pair.places > 0) {
        if (k >= same_field) {
          for (same_field = k; same_field < P::kGroundPairs && P::pair(same_field).first == pair.first;) ++same_field;
          highest = highest_under_all<P, F>(w, k, same_field);
        }
        near = near & is_below<P>(w, pair, highest);
      }
    if (!any(near)) continue;
    const auto begin = [&](const ContactPair&, Mask<F> lanes, const PairContact<F>& contact) DRL_LAMBDA {
      if constexpr (P::kHeightFields > 0)
        if (pair.places > 0 && contact.index >= pair.places) {
          has_too_many = has_too_many | lanes;
          return;
        }
      const int place = pair.place + contact.index;
      auto& here = w.ground[place];
      // With dry friction, a solution does not begin with the last one's rows (reuses_active_rows).
      const bool is_reused = P::kFrictions == 0 && here.step + 1 == w.ground_step;
      const Mask<F> was_here = is_reused ? here.exists() : F(0) != F(0);
      here.template begin<P>(w, pair, pushing_lanes<P>(pair, lanes, contact), contact, w.body[pair.body].motion);
      if constexpr (P::kSensesGaps) here.distance = math::select(lanes, here.distance, F(here.kAbsent));
      here.begin_solution(was_here);
      if constexpr (P::kStiffer) has_too_many = has_too_many | (lanes & is_too_stiff<P>(pair, contact.distance));
      here.step = w.ground_step;
      w.on_ground[count++] = {static_cast<uint16_t>(k), static_cast<uint16_t>(place)};
    };
    each_sensed_contact<P, F>(w, k, near, begin);
  }
  w.grounded = count;
  for (int t = 0; t < before; ++t)
    if (w.ground[former[t]].step != w.ground_step) w.ground[former[t]].set_weight(kResiduals, F(0));
  return has_too_many;
}

// Computes the residuals at the accelerations of bodies. Returns the lanes in which an edge of a pyramid becomes active
// or inactive.
template <class P>
DRL_HD Mask<typename P::Number> find_next_ground(typename P::Work& w) {
  using F = typename P::Number;
  Mask<F> differs = F(0) != F(0);
  each_ground_contact<P>(w, [&](const ContactPair& pair, auto& contact) DRL_LAMBDA {
    with_residuals<P>(pair.dimensions, [&](auto residuals) DRL_LAMBDA {
      contact.along(w.body[pair.body].motion, residuals, contact.rest, contact.next_u);
      if constexpr (!P::kElliptic) differs = differs | contact.changes(residuals);
    });
  });
  return differs;
}

// Updates the contribution of pyramids to their bodies from u to next_u.
template <class P>
DRL_HD void take_next_pyramids(typename P::Work& w) {
  using F = typename P::Number;
  each_ground_contact<P>(w, [&](const ContactPair& pair, auto& contact) DRL_LAMBDA {
    with_residuals<P>(pair.dimensions, [&](auto residuals) DRL_LAMBDA {
      if (!any(contact.changes(residuals))) return;
      contact.add_coupling(residuals, w.body[pair.body].coupling, [&](const F* residual, F* push) DRL_LAMBDA {
        contact.times_change(residual, residuals, push);
      });
    });
  });
}
// Adds the contribution of elliptic cones, which is not kept between iterations.
template <class P>
DRL_HD void add_ground_cones(typename P::Work& w) {
  using F = typename P::Number;
  each_ground_contact<P>(w, [&](const ContactPair& pair, auto& contact) DRL_LAMBDA {
    if constexpr (P::kHeightFields > 0)
      if (pair.places > 0 && pair.second_sliding == 0 && pair.second_rolling == 0) {
        F* coupling = w.body[pair.body].coupling;
        if (pair.dimensions == 6) return contact.template add_cone<6>(coupling);
        if (pair.dimensions == 4) return contact.template add_cone<4>(coupling);
        if (pair.dimensions == 3) return contact.template add_cone<3>(coupling);
      }
    with_residuals<P>(pair.dimensions, [&](auto residuals) DRL_LAMBDA {
      contact.add_coupling(residuals, w.body[pair.body].coupling, [&](const F* residual, F* push) DRL_LAMBDA {
        contact.now.times(residual, residuals, push);
      });
    });
  });
}

}  // namespace drl::inline DRL_ISA::physics
