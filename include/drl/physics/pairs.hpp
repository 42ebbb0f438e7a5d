// This file adds contacts between two geoms that both move (drl/physics/contacts.hpp) to the solution. Such a contact
// couples two bodies, so it has rows along qvel: one for each of its residuals. The columns of its rows are the few
// degrees of freedom that move one of its geoms and not the other.
//
// A lane has few of these contacts, at places that differ between lanes. So they are not computed in the lanes of
// environments: they are sorted by environment and then fill packs, in which each lane holds a contact of any
// environment. What the contacts of an environment add is summed in their order, so its results do not depend on
// others.
#pragma once

#include "drl/physics/chains.hpp"
#include "drl/physics/columns.hpp"
#include "drl/physics/contacts.hpp"
#include "drl/physics/pyramids.hpp"

namespace drl::inline DRL_ISA::physics {

// The friction of contacts with up to `most` residuals. Those without friction are rows, also in a robot with cones.
template <class F, class Sizes, int most = kResiduals>
using ContactFriction = std::conditional_t<(Sizes::kElliptic && most > 1), Cone<F>, Pyramid<F, most>>;
template <class Sizes>
constexpr bool has_pair_cones() {
  return Sizes::kElliptic && Sizes::kPairDimensions > 1;
}

// A pack of contacts. Lanes without a contact have rows of zeros.
template <class F, class Sizes>
struct PairContacts : ContactFriction<F, Sizes, Sizes::kPairDimensions> {
  static constexpr int kDimensions = Sizes::kPairDimensions, kColumns = Sizes::kPairColumns, kWidth = kLanesOf<F>;
  static constexpr int kPoints = Sizes::kTrees > 1 ? 2 : 1;

  F rest[kDimensions];              // scaled residuals at zero acceleration
  F axis[3][3];                     // normal, from the first geom to the second, and tangents
  F point[kPoints][3];              // about the origins of the trees of both geoms
  int32_t env[kWidth];              // the lane of the contact's environment
  int32_t geom[2][kWidth];          // its geoms
  int32_t columns[kWidth];          // the number of degrees of freedom that its rows have
  int32_t place[kColumns][kWidth];  // of each column in an array along qvel in lanes: kWidth dof + env
  int size, most_columns;           // number of contacts; of columns, at most
  uint32_t envs;                    // bits of their environments
  // Their forces, if the noslip solver computes them.
  [[no_unique_address]] Array<F, (Sizes::kNoslipIterations > 0 ? kResiduals : 0)> without_slip;

  // Gathers the numbers of each column from an array along qvel.
  DRL_HD void gather(const F* along_qvel, F* x) const {
    for (int j = 0; j < most_columns; ++j) x[j] = drl::gather<F>(numbers_of(along_qvel[0]), load<Int<F>>(place[j]));
  }
  // Returns the bits of these contacts' environments.
  DRL_HD uint32_t envs_of(uint32_t contacts) const {
    uint32_t bits = 0;
    for (; contacts != 0; contacts &= contacts - 1) bits |= uint32_t{1} << env[lowest_bit(contacts)];
    return bits;
  }
  // Returns the lanes whose environment is one of these.
  DRL_HD Mask<F> of_envs(uint32_t bits) const {
    Scalar<F> is_one[kWidth];
    for (int l = 0; l < kWidth; ++l) is_one[l] = static_cast<Scalar<F>>(bits >> env[l] & 1);
    return load<F>(is_one) != F(0);
  }
  // Returns the number of each contact's environment.
  DRL_HD F of_each(F of_env) const { return drl::gather<F>(numbers_of(of_env), load<Int<F>>(env)); }
  // Adds a number of each contact to the sum of its environment.
  DRL_HD void add_to_envs(F numbers, Scalar<F>* sums) const {
    const Scalar<F>* of = numbers_of(numbers);
    for (int l = 0; l < size; ++l) sums[env[l]] += of[l];
  }
};
// A row of the noslip solver (drl/physics/noslip.hpp), in the lanes of environments: an edge of a pyramid, a residual
// of a cone, or dry friction. `response` is M^-1 times `along`.
template <class F, class Sizes>
struct NoslipRow {
  F along[Sizes::nv], response[Sizes::nv], rest, force, weight;
};
// Returns how many rows each contact has in the noslip solver, and all have.
template <class Sizes>
constexpr int noslip_rows_of_contact() {
  return Sizes::kElliptic || Sizes::kPairDimensions == 1 ? Sizes::kPairDimensions : 2 * (Sizes::kPairDimensions - 1);
}
template <class Sizes>
constexpr int count_noslip_rows() {
  return Sizes::kNoslipIterations > 0 ? Sizes::kPairContacts * noslip_rows_of_contact<Sizes>() : 0;
}
// Returns a mask of the lanes whose bits are set.
template <class F>
DRL_HD Mask<F> lanes_of_bits(uint32_t bits) {
  Scalar<F> is_one[kLanesOf<F>];
  for (int l = 0; l < kLanesOf<F>; ++l) is_one[l] = static_cast<Scalar<F>>(bits >> l & 1);
  return load<F>(is_one) != F(0);
}
// The bits of all lanes.
template <class F>
constexpr uint32_t kAllLanes = static_cast<uint32_t>((uint64_t{1} << kLanesOf<F>)-1);

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
// Returns the number of residuals of a pair's contacts.
DRL_HD int dimensions_of(const ContactPair& pair) { return pair.edges > 0 ? pair.edges / 2 + 1 : pair.dimensions; }
// Computes the friction of a pair's contact (see find_friction).
template <class P, class F>
DRL_HD void find_pair_friction(const typename P::Work& w, const ContactPair& pair, F* friction) {
  find_friction(pair.cone_friction, pair.varies, parameters_of<P>(w), friction);
  if constexpr (!P::kElliptic) {  // tables of pyramids have only this number if it is the only one
    friction[0] = F(pair.friction);
    if constexpr (P::kEdgesVary) friction[0] = sliding_friction(pair.friction, pair.varies, w.parameters);
    friction[1] = friction[0];
  }
  if (pair.second_sliding > 0) friction[1] = F(pair.second_sliding);
  if (pair.second_rolling > 0) friction[4] = F(pair.second_rolling);
}
// Returns the damping of residual k of a contact in an elliptic cone.
DRL_HD double damping_of(const ContactPair& pair, int k) {
  return k > 0 && pair.friction_damping >= 0 ? pair.friction_damping : pair.damping;
}

// Computes the friction, the weight and the residual at zero velocity of a pair's contact at a distance.
template <class P, class F>
DRL_HD void find_softness(const typename P::Work& w, const ContactPair& pair, int dimensions, F distance, F* friction,
                          F& weight, F& at_rest) {
  P::pair_softness(pair, distance, weight, at_rest), adapt_pair_weight<P>(w, pair, weight);
  if constexpr (P::kEdgesVary)
    if (dimensions > 1) weight = weight / weight_of_friction(friction[0]);
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

// A contact of one environment, with up to `most` residuals, before it takes its place in a pack.
template <class S, int most>
struct FoundContact {
  enum {
    kPoint = 0,
    kNormal = 3,
    kWeight = 6,
    kAtRest,
    kDamping,
    kTangent,
    kDampingAcross = 12,
    kDimensions,
    kFriction
  };
  static constexpr int kNumbers = most > 1 ? kFriction + most - 1 : kTangent;  // the last ones only with friction
  S number[kNumbers];
  int geom[2];
};
template <class P>
using FoundBy = FoundContact<Scalar<typename P::Number>, P::kPairDimensions>;
// Adds a pair's contact to the lists of these lanes, which have room for P::kPairContacts.
template <class P, class F, class Found>
DRL_HD_CALLED void list_contact(const typename P::Work& w, const ContactPair& pair, Mask<F> lanes,
                                const PairContact<F>& contact, Found* found, int* count) {
  F number[Found::kNumbers], friction[kResiduals - 1];
  const int dimensions = dimensions_of(pair);
  find_pair_friction<P>(w, pair, friction);
  find_softness<P>(w, pair, dimensions, contact.distance, friction, number[Found::kWeight], number[Found::kAtRest]);
  for (int k = 0; k < 3; ++k)
    number[Found::kPoint + k] = contact.point[k], number[Found::kNormal + k] = contact.normal[k];
  number[Found::kDamping] = F(damping_of(pair, 0));
  if constexpr (P::kPairDimensions > 1) {
    F second[3];
    find_tangents(contact, number + Found::kTangent, second);
    number[Found::kDampingAcross] = F(damping_of(pair, 1)), number[Found::kDimensions] = F(dimensions);
    for (int k = 0; k < P::kPairDimensions - 1; ++k)
      number[Found::kFriction + k] = k + 1 < dimensions ? friction[k] : F(0);
  }
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left);
    if (count[l]++ >= P::kPairContacts) continue;
    Found& to = found[kLanesOf<F> * (count[l] - 1) + l];
    for (int k = 0; k < Found::kNumbers; ++k) to.number[k] = numbers_of(number[k])[l];
    to.geom[0] = pair.first, to.geom[1] = pair.second;
  }
}

// The contacts of one pack while its rows are computed.
template <class P>
class PackOfContacts {
  using F = typename P::Number;
  using S = Scalar<F>;
  using Found = FoundBy<P>;
  static constexpr int W = kLanesOf<F>, kDimensions = P::kPairDimensions;

 public:
  DRL_HD PackOfContacts(typename P::Work& w, int pack) : w_(w), to_(w.pair_contacts[pack]), rows_(w.pair_rows[pack]) {
    to_.size = to_.most_columns = 0, to_.envs = 0;
    for (int l = 0; l < W; ++l) {
      to_.env[l] = to_.geom[0][l] = to_.geom[1][l] = to_.columns[l] = 0;
      for (auto& place : to_.place) place[l] = 0;
    }
  }
  DRL_HD bool is_full() const { return to_.size == W; }
  // Adds a contact of environment `env`.
  DRL_HD void add(const Found& found, int env) {
    const int l = to_.size++;
    const PairGeom &first = P::pair_geom(found.geom[0]), &second = P::pair_geom(found.geom[1]);
    for (int k = 0; k < Found::kNumbers; ++k) number_[k][l] = found.number[k];
    to_.env[l] = env, to_.envs |= uint32_t{1} << env;
    for (int side = 0; side < 2; ++side) to_.geom[side][l] = found.geom[side];
    for (int side = 0; side < to_.kPoints; ++side)
      for (int k = 0; k < 3; ++k) offset_[side][k][l] = offset_of(side == 0 ? first : second, k, env);
    typename P::Work::ChainSet chains;
    int& columns = to_.columns[l];
    for (int word = 0; 64 * word < P::nv; ++word)
      for (uint64_t left = first.movers(word) ^ second.movers(word); left != 0; left &= left - 1) {
        const int dof = 64 * word + lowest_bit_of_64(left);
        to_.place[columns][l] = W * dof + env, sign_[columns++][l] = second.is_moved_by(dof) ? S(1) : S(-1);
        chains.add(P::chain_of(dof));
      }
    // Columns without a degree of freedom read numbers of the same environment, whose sign is 0.
    for (int j = columns; j < to_.kColumns; ++j) to_.place[j][l] = env;
    to_.most_columns = columns > to_.most_columns ? columns : to_.most_columns;
    for (int c = 0; c < P::kChains; ++c)
      if (chains.has(c)) w_.touching_chains_of[env][c].add(chains);
  }
  // Computes the rows of all contacts that were added.
  DRL_HD void finish(const F* qvel) {
    F friction[kResiduals - 1], dimensions = F(1), speed[kDimensions];
    for (int k = 0; k < kResiduals - 1; ++k) friction[k] = F(0);
    for (int k = 0; k < 3; ++k) {
      to_.axis[0][k] = number(Found::kNormal + k);
      for (int side = 0; side < to_.kPoints; ++side)
        to_.point[side][k] = number(Found::kPoint + k) + load<F>(offset_[side][k]);
    }
    if constexpr (kDimensions > 1) {
      for (int k = 0; k < kDimensions - 1; ++k) friction[k] = number(Found::kFriction + k);
      for (int k = 0; k < 3; ++k) to_.axis[1][k] = number(Found::kTangent + k);
      cross(to_.axis[0], to_.axis[1], to_.axis[2]), dimensions = number(Found::kDimensions);
    }
    to_.set_friction(kDimensions, friction, P::regularised);
    set_weight(number(Found::kWeight), dimensions);
    to_.begin_solution(F(0) != F(0));
    for (F& x : speed) x = F(0);
    for (int j = 0; j < to_.most_columns; ++j) find_column(j, qvel, speed);
    for (int r = 0; r < kDimensions; ++r)
      to_.rest[r] = number(r == 0 ? int{Found::kDamping} : int{Found::kDampingAcross}) * speed[r];
    to_.rest[0] = math::fma(to_.scale(0), number(Found::kAtRest), to_.rest[0]);
  }

 private:
  DRL_HD F number(int k) const { return load<F>(number_[k]); }
  DRL_HD S offset_of([[maybe_unused]] const PairGeom& geom, [[maybe_unused]] int k, [[maybe_unused]] int env) const {
    if constexpr (P::kTrees > 1)
      if (geom.tree > 0) return numbers_of(w_.tree_offset[geom.tree][k])[env];
    return S(0);
  }
  DRL_HD void set_weight(F weight, F dimensions) {
    if constexpr (has_pair_cones<P>()) {
      to_.mu = math::select(dimensions == F(1), F(1), to_.mu);
      to_.set_weight(kDimensions, weight);
    } else {
      // The one row of a contact without friction is that of two equal edges of other contacts.
      if constexpr (kDimensions > 1) weight = math::select(dimensions == F(1), F(0.5) * weight, weight);
      for (int k = 0; k < to_.kAcross; ++k)
        to_.weight[k] = k == 0 ? weight : math::select(F(k + 1) < dimensions, weight, F(0));
    }
  }
  // Computes column j of all rows, and adds its part of the contact's velocity to `speed`.
  DRL_HD void find_column(int j, const F* qvel, F* speed) {
    // Number k of a dof's axis is at W (6 dof + k) + env, and its place is W dof + env.
    const auto place = load<Int<F>>(to_.place[j]), first = Int<F>(6) * place - Int<F>(5) * load<Int<F>>(to_.env);
    const Scalar<F>* axes = numbers_of(w_.axis[0]);
    const F sign = load<F>(sign_[j]), velocity = gather<F>(numbers_of(qvel[0]), place);
    F angular[3], linear[3], at[3], turned[3];
    for (int k = 0; k < 3; ++k) {
      angular[k] = sign * gather<F>(axes + W * k, first), linear[k] = sign * gather<F>(axes + W * (3 + k), first);
      at[k] = to_.point[0][k];
      if constexpr (P::kTrees > 1) at[k] = math::select(F(0) < sign, to_.point[1][k], at[k]);
    }
    cross(angular, at, turned);
    for (int k = 0; k < 3; ++k) linear[k] = linear[k] + turned[k];
    for (int r = 0; r < kDimensions; ++r) {
      const F entry = to_.scale(r) * dot(to_.axis[r % 3], r < 3 ? linear : angular);
      rows_[r * P::kPairColumns + j] = entry;
      speed[r] = math::fma(entry, velocity, speed[r]);
    }
  }

  typename P::Work& w_;
  typename P::Work::Contacts& to_;
  decltype(std::declval<typename P::Work&>().pair_rows[0] + 0) rows_;
  S number_[Found::kNumbers][W] = {}, offset_[2][3][W] = {}, sign_[P::kPairColumns][W] = {};
};

// Calls body(place, columns) for each row of a block of the matrix: the place of its first entry, and their number.
template <class P, class Body>
DRL_HD void each_row_of_block(int c, int d, const Body& body) {
  const int begin = P::chain_first(d), end = P::chain_first(d + 1);
  for (int i = P::chain_first(c); i < P::chain_first(c + 1); ++i)
    body(packed(i, begin), (end <= i ? end : i + 1) - begin);
}

// Makes the matrix have the blocks of chains that touch in these environments. In others, it is not valid.
template <class P>
DRL_HD_CALLED void couple_chains(typename P::Work& w, uint32_t envs) {
  for (auto& chains : w.touching_chains) chains = {};
  for (; envs != 0; envs &= envs - 1)
    for (int c = 0; c < P::kChains; ++c) w.touching_chains[c].add(w.touching_chains_of[lowest_bit(envs)][c]);
  w.coupled_chains.set(w.touching_chains);
}
// Finds the contacts of pairs that touch, and computes their rows. Returns the lanes that have more contacts than there
// are places, or too stiff ones.
template <class P, class F>
DRL_HD_CALLED Mask<F> begin_pairs(typename P::Work& w, const F* qvel) {
  constexpr int W = kLanesOf<F>;
  FoundBy<P> found[P::kPairContacts * W];  // those of all lanes at each place
  int count[W] = {};
  w.pair_packs = 0;
  for (auto& of_env : w.touching_chains_of)
    for (auto& chains : of_env) chains = {};
  find_near_pairs<P>(w);
  uint32_t has_too_many = 0;
  each_pair_contact<P>(w, [&](const ContactPair& pair, Mask<F> lanes, const PairContact<F>& contact) DRL_LAMBDA {
    list_contact<P>(w, pair, lanes, contact, found, count);
    if constexpr (P::kStiffer) has_too_many |= lane_bits(lanes & is_too_stiff<P>(pair, contact.distance));
  });
  w.first_contact[0] = 0;
  for (int env = 0; env < W; ++env) {
    const bool has_all = count[env] <= P::kPairContacts;
    has_too_many |= has_all ? 0 : uint32_t{1} << env;
    w.first_contact[env + 1] = w.first_contact[env] + (has_all ? count[env] : P::kPairContacts);
  }
  for (int env = 0, k = 0; k < w.first_contact[W];) {
    PackOfContacts<P> pack(w, w.pair_packs++);
    for (; k < w.first_contact[W] && !pack.is_full(); ++k) {
      while (k == w.first_contact[env + 1]) ++env;
      pack.add(found[W * (k - w.first_contact[env]) + env], env);
    }
    pack.finish(qvel);
  }
  for (F& x : w.pair_force) x = F(0);
  couple_chains<P>(w, kAllLanes<F>);
  for (int c = 0; c < P::kChains; ++c)
    w.touching_chains[c].each([&](int d) DRL_LAMBDA {
      if (d > c) return;
      each_row_of_block<P>(c, d, [&](int first, int columns) DRL_LAMBDA {
        for (int j = 0; j < columns; ++j) w.pair_matrix[first + j] = F(0);
      });
    });
  return lanes_of_bits<F>(has_too_many);
}

// Calls body(contacts, rows) for each pack that has contacts of these environments.
template <class P, class Work, class Body>
DRL_HD void each_pack(Work& w, uint32_t envs, const Body& body) {
  for (int k = 0; k < w.pair_packs; ++k)
    if ((w.pair_contacts[k].envs & envs) != 0) body(w.pair_contacts[k], w.pair_rows[k]);
}

// Computes the residuals at qacc in these environments. Returns the bits of those in which an edge of a pyramid becomes
// active or inactive. For cones, adds the squares of forces and of their errors (Cone::compare) to the environments'.
template <class P, class F = typename P::Number>
DRL_HD_CALLED uint32_t find_next_pairs(typename P::Work& w, const F* qacc, uint32_t envs,
                                       [[maybe_unused]] Scalar<F>* size, [[maybe_unused]] Scalar<F>* error) {
  constexpr int kDimensions = P::kPairDimensions;
  uint32_t differs = 0;
  each_pack<P>(w, envs, [&](auto& contacts, const auto& rows) DRL_LAMBDA {
    F x[P::kPairColumns];
    contacts.gather(qacc, x);
    for (int r = 0; r < kDimensions; ++r) {
      F u = contacts.rest[r];
      for (int j = 0; j < contacts.most_columns; ++j) u = math::fma(rows[r * P::kPairColumns + j], x[j], u);
      contacts.next_u[r] = u;
    }
    if constexpr (has_pair_cones<P>()) {
      F own_size = F(0), own_error = F(0);
      contacts.find_next(kDimensions), contacts.compare(kDimensions, own_size, own_error);
      // The force of a contact without friction, which may be much larger, says nothing about errors of others.
      own_size = math::select(F(0) < contacts.friction[0], own_size, F(0));
      contacts.add_to_envs(own_size, size), contacts.add_to_envs(own_error, error);
    } else {
      differs |= contacts.envs_of(lane_bits(contacts.changes(kDimensions)));
    }
  });
  return differs;
}

// Adds the changes of these contacts' stiffness, J' K J, and of their forces at rest to those of all contacts.
template <class P, class Rows, class F = typename P::Number>
DRL_HD_CALLED void add_changes(typename P::Work& w, const typename P::Work::Contacts& contacts, const Rows& rows,
                               uint32_t which) {
  constexpr int kDimensions = P::kPairDimensions, kColumns = P::kPairColumns, W = kLanesOf<F>;
  F push[kColumns][kDimensions], rest[kDimensions], entry[packed(kColumns, 0)], force[kColumns];
  contacts.times_change(contacts.rest, kDimensions, rest);
  for (int i = 0; i < contacts.most_columns; ++i) {
    F column[kDimensions];
    force[i] = F(0);
    for (int r = 0; r < kDimensions; ++r)
      column[r] = rows[r * kColumns + i], force[i] = math::fma(column[r], rest[r], force[i]);
    contacts.times_change(column, kDimensions, push[i]);
    for (int j = 0; j <= i; ++j) {
      F& sum = entry[packed(i, j)];
      sum = F(0);
      for (int r = 0; r < kDimensions; ++r) sum = math::fma(column[r], push[j][r], sum);
    }
  }
  // One contact after the other, because the columns of several may be the same degree of freedom.
  const auto add = [&](int row, int place, Scalar<F> number) DRL_LAMBDA {  // row: where it begins
    if constexpr (W == 1)
      w.pair_matrix[row + place] += number;
    else
      numbers_of(w.pair_matrix[0])[W * row + place] += number;
  };
  for (; which != 0; which &= which - 1) {
    const int l = lowest_bit(which), columns = contacts.columns[l];
    int place[kColumns];
    for (int i = 0; i < columns; ++i) {
      place[i] = contacts.place[i][l];
      numbers_of(w.pair_force[0])[place[i]] -= numbers_of(force[i])[l];
      const int row = packed(place[i] / W, 0);
      const Scalar<F>* numbers = numbers_of(entry[packed(i, 0)]) + l;
      for (int j = 0; j <= i; ++j) add(row, place[j], numbers[W * j]);
    }
  }
}
// Makes the next residuals the current ones in these environments; in others, contacts stay as they are.
template <class P>
DRL_HD_CALLED void take_next_pairs(typename P::Work& w, uint32_t envs) {
  each_pack<P>(w, envs, [&](auto& contacts, const auto& rows) DRL_LAMBDA {
    const auto here = contacts.of_envs(envs);
    uint32_t which = lane_bits(here) & ((uint64_t{1} << contacts.size) - 1);
    if constexpr (!has_pair_cones<P>()) which &= lane_bits(contacts.changes(P::kPairDimensions));
    if (which != 0) add_changes<P>(w, contacts, rows, which);
    contacts.take_next(P::kPairDimensions, !here);
  });
}

// Adds what contacts add to the matrix and to the force. Blocks that only a factorisation fills become 0.
template <class P, class F>
DRL_HD void add_pairs(const typename P::Work& w, auto matrix, F* force) {
  for (int c = 0; c < P::kChains; ++c) {
    typename P::Work::ChainSet of_tree;
    of_tree.add(c);
    for (int above = P::chain_parent(c); above >= 0; above = P::chain_parent(above)) of_tree.add(above);
    for (int d = 0; d <= c; ++d) {
      const bool is_of_tree = of_tree.has(d), touches = w.touching_chains[c].has(d);
      if (is_of_tree ? !touches : !w.coupled_chains.before[c].has(d)) continue;
      each_row_of_block<P>(c, d, [&](int first, int columns) DRL_LAMBDA {
        const auto to = matrix + first;
        const auto from = w.pair_matrix + first;
        DRL_ROLLED
        for (int j = 0; j < columns; ++j) to[j] = !is_of_tree ? touches ? from[j] : F(0) : to[j] + from[j];
      });
    }
  }
  if (w.pair_packs == 0) return;
  DRL_ROLLED
  for (int i = 0; i < P::nv; ++i) force[i] = force[i] + w.pair_force[i];
}

// Calls add(contacts, first, second) for each pack of these environments, and adds the sums that it computes to those
// of the environments.
template <class P, class F, class Add>
DRL_HD void sum_over_pairs(const typename P::Work& w, uint32_t envs, F& first, F& second, const Add& add) {
  constexpr int W = kLanesOf<F>;
  F sums[2] = {F(0), F(0)}, of_packs[2][W > 1 ? P::kPairContacts : 1];
  for (int k = 0; k < w.pair_packs; ++k) {
    F of_pack[2] = {F(0), F(0)};
    if ((w.pair_contacts[k].envs & envs) != 0) add(w.pair_contacts[k], of_pack[0], of_pack[1]);
    for (int i = 0; i < 2; ++i) {
      if constexpr (W > 1)
        of_packs[i][k] = of_pack[i];
      else
        sums[i] = sums[i] + of_pack[i];
    }
  }
  if constexpr (W > 1) {
    int most = 0;
    for (int env = 0; env < W; ++env) most = math::max(most, w.first_contact[env + 1] - w.first_contact[env]);
    const auto begin = load<Int<F>>(w.first_contact), end = load<Int<F>>(w.first_contact + 1);
    const F count = load<F>(w.first_contact + 1) - load<F>(w.first_contact);
    for (int k = 0; k < most; ++k) {
      const auto place = begin + Int<F>(k), at = math::select(place < end, place, Int<F>(0));
      for (int i = 0; i < 2; ++i)
        sums[i] = sums[i] + math::select(F(k) < count, gather<F>(numbers_of(of_packs[i][0]), at), F(0));
    }
  }
  first = first + sums[0], second = second + sums[1];
}
// Moves the residuals back to the point `at` of the line (see search_line) in these lanes.
template <class P, class F>
DRL_HD void move_pairs_back(typename P::Work& w, Mask<F> lanes, F at) {
  const uint32_t envs = lane_bits(lanes);
  each_pack<P>(w, envs, [&](auto& contacts, const auto&) DRL_LAMBDA {
    contacts.go_back(P::kPairDimensions, contacts.of_envs(envs), contacts.of_each(at));
  });
}

// Subtracts the forces of pairs in the solution from `force`.
template <class P, class F>
DRL_HD_CALLED void subtract_pairs(const typename P::Work& w, F* force) {
  each_pack<P>(w, kAllLanes<F>, [&](const auto& contacts, const auto& rows) DRL_LAMBDA {
    F pushed[P::kPairDimensions];
    contacts.respond(P::kPairDimensions, pushed);
    F sum[P::kPairColumns];
    for (int j = 0; j < contacts.most_columns; ++j) {
      sum[j] = F(0);
      for (int r = 0; r < P::kPairDimensions; ++r) sum[j] = math::fma(rows[r * P::kPairColumns + j], pushed[r], sum[j]);
    }
    for (int l = 0; l < contacts.size; ++l)
      for (int j = 0; j < contacts.columns[l]; ++j) numbers_of(force[0])[contacts.place[j][l]] -= numbers_of(sum[j])[l];
  });
}
// Computes the forces of contacts in the solution, along the normal and the tangents, and the torques about them.
template <class P, class F>
DRL_HD void find_pair_forces(const typename P::Work::Contacts& contacts, F* force) {
  if constexpr (P::kNoslipIterations > 0)
    for (int k = 0; k < kResiduals; ++k) force[k] = contacts.without_slip[k];
  else
    contacts.push(P::kPairDimensions, force);
}
// Adds the forces of pairs in the solution to the wrenches on frames.
template <class P, class F>
DRL_HD_CALLED void add_pair_wrenches(const typename P::Work& w, F (*wrenches)[6]) {
  each_pack<P>(w, kAllLanes<F>, [&](const auto& contacts, const auto&) DRL_LAMBDA {
    F f[kResiduals], force[3], torque[3];
    find_pair_forces<P>(contacts, f);
    for (int i = 0; i < 3; ++i) {
      force[i] = contacts.axis[0][i] * f[0], torque[i] = F(0);
      for (int k = 1; k < P::kPairDimensions; ++k) {
        F& to = k < 3 ? force[i] : torque[i];
        to = math::fma(contacts.axis[k % 3][i], f[k], to);
      }
    }
    F moment[2][3];
    for (int side = 0; side < 2; ++side) {
      cross(contacts.point[side % contacts.kPoints], force, moment[side]);
      for (int k = 0; k < 3; ++k) moment[side][k] = moment[side][k] + torque[k];
    }
    for (int l = 0; l < contacts.size; ++l)
      for (int side = 0; side < 2; ++side) {
        const int frame = P::pair_geom(contacts.geom[side][l]).frame, env = contacts.env[l];
        if (frame < 0) continue;
        const Scalar<F> sign = side == 0 ? -1 : 1;
        for (int k = 0; k < 3; ++k) {
          numbers_of(wrenches[frame][k])[env] += sign * numbers_of(moment[side][k])[l];
          numbers_of(wrenches[frame][3 + k])[env] += sign * numbers_of(force[k])[l];
        }
      }
  });
}

// Computes the components along qvel of equal and opposite wrenches on two geoms.
template <class P, class F>
DRL_HD void find_along(const typename P::Work& w, const ContactPair& pair, const F (*wrench)[6], F* along) {
  const PairGeom &a = P::pair_geom(pair.first), &b = P::pair_geom(pair.second);
  DRL_ROLLED
  for (int i = 0; i < P::nv; ++i) {
    const bool first = a.is_moved_by(i), second = b.is_moved_by(i);
    along[i] = F(0);
    if (first == second) continue;
    const F* of_tree = wrench[first ? a.tree : b.tree];
    for (int k = 0; k < 6; ++k) along[i] = math::fma(w.axis[6 * i + k], of_tree[k], along[i]);
    if (first) along[i] = -along[i];
  }
}

}  // namespace drl::inline DRL_ISA::physics
