// The solution for robots with many rows of pairs, more than degrees of freedom: the equations of motion become one
// full matrix, to which all rows are added, and which is factorised as L D L'.
#pragma once

#include "drl/physics/work.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns where entry (i, j) of a symmetric matrix is stored; j <= i.
constexpr int packed(int i, int j) { return i * (i + 1) / 2 + j; }

// Collects rows and adds them to a matrix [nv, nv] and a force [nv], several at a time so that each entry of the matrix
// is read and written less often.
template <class F, int nv>
class RowAdder {
 public:
  DRL_HD RowAdder(F* matrix, F* force) : matrix_(matrix), force_(force) {}
  DRL_HD void add(F weight, const auto& row) {
    if (!any(weight != F(0))) return;
    for (int i = 0; i < nv; ++i) along_[count_][i] = row.along[i];
    weight_[count_] = weight, rest_[count_] = row.rest;
    if (++count_ == kRows) flush();
  }
  DRL_HD void flush() {
    if (count_ == 0) return;
    for (int r = count_; r < kRows; ++r) {
      weight_[r] = rest_[r] = F(0);
      for (F& x : along_[r]) x = F(0);
    }
    for (int i = 0; i < nv; ++i) {
      F scaled[kRows];
      Mask<F> moves = F(0) != F(0);
      for (int r = 0; r < kRows; ++r) {
        scaled[r] = weight_[r] * along_[r][i];
        moves = moves | (scaled[r] != F(0));
      }
      if (!any(moves)) continue;
      F* to = matrix_ + packed(i, 0);
      for (int j = 0; j <= i; ++j) {
        F sum = to[j];
        for (int r = 0; r < kRows; ++r) sum = math::fma(scaled[r], along_[r][j], sum);
        to[j] = sum;
      }
      for (int r = 0; r < kRows; ++r) force_[i] = math::fma(-scaled[r], rest_[r], force_[i]);
    }
    count_ = 0;
  }

 private:
  static constexpr int kRows = 4;
  F *matrix_, *force_, along_[kRows][nv], weight_[kRows], rest_[kRows];
  int count_ = 0;
};

// Adds all active rows of pairs.
template <class P>
DRL_HD void add_pair_rows(const typename P::Work& w, typename P::Number* matrix, typename P::Number* force) {
  using F = typename P::Number;
  RowAdder<F, P::nv> adder(matrix, force);
  if constexpr (P::kPairRows > 0)
    for (int s = 0; s < w.pair_rows; ++s)
      adder.add(active_weight(w.weight[P::Work::kFixedWeights + s], w.y[P::Work::kFixedRows + s]), w.pair_row[s]);
  if constexpr (P::kPairCones > 0)
    for (int c = 0; c < w.pair_cones; ++c)
      each_row_of_cone<P::nv>(w.pair_cone[c],
                              [&](int, F weight, const PairRow<F, P::nv>& row) DRL_LAMBDA { adder.add(weight, row); });
  adder.flush();
}

// Factorises a matrix in place: L without its diagonal of ones, and the inverse of D on the diagonal. L has zeros where
// a row of the matrix begins with zeros (its skyline), as between bodies that do not touch.
template <int nv, class F>
DRL_HD_CALLED void factorise_dense(F* matrix) {
  F scaled[nv];
  int first[nv];  // column that is not 0 in all lanes
  for (int i = 0; i < nv; ++i) {
    F* row = matrix + packed(i, 0);
    F diagonal = row[i];
    first[i] = 0;
    while (first[i] < i && !any(row[first[i]] != F(0))) first[i] += 1;
    for (int j = first[i]; j < i; ++j) {
      const F* other = matrix + packed(j, 0);
      F sums[2] = {row[j], F(0)};
      for (int k = first[i] > first[j] ? first[i] : first[j]; k < j; ++k)
        sums[k % 2] = math::fma(-scaled[k], other[k], sums[k % 2]);
      scaled[j] = sums[0] + sums[1];
      row[j] = scaled[j] * other[j];
      diagonal = math::fma(-scaled[j], row[j], diagonal);
    }
    row[i] = F(1) / diagonal;
  }
}
// Replaces a force by the acceleration, with the factors of factorise_dense().
template <int nv, class F>
DRL_HD_CALLED void solve_dense(const F* factors, F* x) {
  for (int i = 0; i < nv; ++i)
    for (int j = 0; j < i; ++j) x[i] = math::fma(-factors[packed(i, j)], x[j], x[i]);
  for (int i = 0; i < nv; ++i) x[i] = factors[packed(i, i)] * x[i];
  for (int i = nv - 1; i >= 0; --i)
    for (int j = 0; j < i; ++j) x[j] = math::fma(-factors[packed(i, j)], x[i], x[j]);
}

// Computes the accelerations at which forces are in balance for the active rows of the work.
template <class P>
DRL_HD_CALLED void balance_dense(typename P::Work& w, typename P::Number* qacc) {
  using F = typename P::Number;
  for (F& x : w.matrix) x = F(0);
  P::assemble(w, w.matrix, qacc);
  add_pair_rows<P>(w, w.matrix, qacc);
  factorise_dense<P::nv>(w.matrix);
  solve_dense<P::nv>(w.matrix, qacc);
}

}  // namespace drl::inline DRL_ISA::physics
