// M and matrices with its sparsity, in loops over tables. Robots with long chains of joints use these functions,
// because code without loops would become too large (src/physics/robot_counts.hpp, uses_loops).
//
// Row i of such a matrix holds the entry of the diagonal, and then the entries of the degrees of freedom to which i is
// coupled: tree_parent(i), the tree_parent of that one, and so on. Sizes::tree_row(i) is where the row begins. So the
// entries of row i from the one of `above` on are those of the same columns as the whole row `above`. tree_mover(i) is
// the next degree of freedom that moves the body of i; other entries come from constraints. Both are -1 after the last.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl::inline DRL_ISA::physics {

template <class Sizes>
DRL_HD int tree_entries_of_row(int i) {
  return Sizes::tree_row(i + 1) - Sizes::tree_row(i);
}

template <class F>
DRL_HD F spatial_dot(const F* a, const F* b) {
  F sum = a[0] * b[0];
  for (int c = 1; c < 6; ++c) sum = math::fma(a[c], b[c], sum);
  return sum;
}
// Adds axis[a] . push[i] to entry (i, a) for each degree of freedom a that moves the body of i. axis: [nv, 6].
template <class Sizes, class F>
DRL_HD_CALLED void add_projections(const F* axis, const F (*push)[6], F* matrix) {
  for (int i = 0; i < Sizes::nv; ++i) {
    F* entry = matrix + Sizes::tree_row(i);
    int column = i;
    for (int a = i; a >= 0; a = Sizes::tree_mover(a)) {
      for (; column != a; column = Sizes::tree_parent(column)) ++entry;
      *entry = *entry + spatial_dot(axis + 6 * a, push[i]);
    }
  }
}

// Adds what the contacts of bodies add to the equations of motion (TouchingBody::coupling in drl/physics/work.hpp):
// computes the wrench that each degree of freedom meets for a unit acceleration (push [nv, 6]), and subtracts the
// forces at zero acceleration. P::tree_touching(b) is the index of body b among those with contacts, or -1;
// tree_body(i) is the body of a degree of freedom; tree_parent_body(b) is its parent, which comes before it, or -1.
template <class P, class F = typename P::Number>
DRL_HD_CALLED void add_couplings(const typename P::Work& w, F (*push)[6], F* force) {
  constexpr int kSymmetric[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  F carried[P::kTreeBodies][27];  // terms of each body and its descendants
  for (int b = P::kTreeBodies - 1; b >= 0; --b) {
    const int touching = P::tree_touching(b);
    for (int k = 0; k < 27; ++k)
      carried[b][k] = touching >= 0 ? w.body[touching >= 0 ? touching : 0].coupling[k] : F(0);
  }
  for (int b = P::kTreeBodies - 1; b >= 0; --b)
    if (const int parent = P::tree_parent_body(b); parent >= 0)
      for (int k = 0; k < 27; ++k) carried[parent][k] = carried[parent][k] + carried[b][k];
  for (int i = 0; i < P::nv; ++i) {
    const F *axis = w.axis + 6 * i, *of = carried[P::tree_body(i)];
    for (int r = 0; r < 3; ++r) {
      F torque = F(0), linear = F(0);
      for (int k = 0; k < 3; ++k) {
        torque = math::fma(of[kSymmetric[r][k]], axis[k], math::fma(of[6 + 3 * r + k], axis[3 + k], torque));
        linear = math::fma(of[6 + 3 * k + r], axis[k], math::fma(of[15 + kSymmetric[r][k]], axis[3 + k], linear));
      }
      push[i][r] = torque, push[i][3 + r] = linear;
    }
    force[i] = force[i] - spatial_dot(axis, of + 21);
  }
}

// Factorises a matrix in place as L' D L (Featherstone, section 6.5): the factors of L follow the diagonal of each row,
// and `inverse` [nv] receives that of D. Replaces x by L'^-1 x.
template <class Sizes, class F>
DRL_HD_CALLED void factorise_tree(F* matrix, F* inverse, F* x) {
  for (int k = Sizes::nv - 1; k >= 0; --k) {
    F* row = matrix + Sizes::tree_row(k);
    inverse[k] = F(1) / row[0];
    for (int above = Sizes::tree_parent(k), i = 1; above >= 0; above = Sizes::tree_parent(above), ++i) {
      const F factor = row[i] * inverse[k];
      F* to = matrix + Sizes::tree_row(above);
      const int entries = tree_entries_of_row<Sizes>(above);
      for (int j = 0; j < entries; ++j) to[j] = math::fma(-factor, row[i + j], to[j]);
      x[above] = math::fma(-factor, x[k], x[above]);
    }
    const int entries = tree_entries_of_row<Sizes>(k);
    for (int j = 1; j < entries; ++j) row[j] = row[j] * inverse[k];
  }
}
// Replaces x by L^-1 D^-1 x, the second half.
template <class Sizes, class F>
DRL_HD_CALLED void solve_down_tree(const F* factors, const F* inverse, F* x) {
  for (int k = 0; k < Sizes::nv; ++k) {
    const F* row = factors + Sizes::tree_row(k);
    F sum = x[k] * inverse[k];
    for (int above = Sizes::tree_parent(k), i = 1; above >= 0; above = Sizes::tree_parent(above), ++i)
      sum = math::fma(-row[i], x[above], sum);
    x[k] = sum;
  }
}

// Adds share * matrix * x to y.
template <class Sizes, class F>
DRL_HD_CALLED void add_tree_product(const F* matrix, const F* x, F share, F* y) {
  for (int k = 0; k < Sizes::nv; ++k) {
    const F* row = matrix + Sizes::tree_row(k);
    const F scaled = share * x[k];
    F sum = row[0] * scaled;
    for (int above = Sizes::tree_parent(k), i = 1; above >= 0; above = Sizes::tree_parent(above), ++i) {
      sum = math::fma(row[i], share * x[above], sum);
      y[above] = math::fma(row[i], scaled, y[above]);
    }
    y[k] = y[k] + sum;
  }
}
// Returns (to - from)' matrix (to - from).
template <class Sizes, class F>
DRL_HD_CALLED F square_in_tree(const F* matrix, const F* from, const F* to) {
  F change[Sizes::nv], product[Sizes::nv], sum = F(0);
  for (int i = 0; i < Sizes::nv; ++i) change[i] = to[i] - from[i], product[i] = F(0);
  add_tree_product<Sizes>(matrix, change, F(1), product);
  for (int i = 0; i < Sizes::nv; ++i) sum = math::fma(change[i], product[i], sum);
  return sum;
}

// Writes a matrix to one that is packed by the rows of its lower half; other entries of that one stay.
template <class Sizes, class F>
DRL_HD_CALLED void spread_tree(const F* matrix, F* full) {
  for (int i = 0; i < Sizes::nv; ++i) {
    const F* entry = matrix + Sizes::tree_row(i);
    for (int column = i; column >= 0; column = Sizes::tree_parent(column)) full[i * (i + 1) / 2 + column] = *entry++;
  }
}

}  // namespace drl::inline DRL_ISA::physics
