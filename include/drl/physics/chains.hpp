// The matrix of Newton's method for robots whose bodies touch each other, and its factors.
//
// The degrees of freedom are in chains: one chain is a part of the tree without branches, such as the joints of a leg.
// The matrix is in blocks, of the rows of one chain and the columns of another (or the same). Which of them are not 0
// follows from the tree, and from the contacts: a contact between two legs couples their chains. So the work of a
// factorisation is that of the tree and of the legs that touch.
#pragma once

#include <type_traits>

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl::inline DRL_ISA::physics {

// Returns where entry (i, j) of a symmetric matrix is stored; j <= i.
DRL_HD constexpr int packed(int i, int j) { return (i * (i + 1) >> 1) + j; }

// Bits of chains. Chain c is that of the degrees of freedom from Sizes::chain_first(c) to Sizes::chain_first(c + 1)
// - 1.
template <class Sizes>
struct Chains {
  static constexpr int kWords = Sizes::kChains > 0 ? (Sizes::kChains + 63) / 64 : 1;
  uint64_t bits[kWords] = {};

  DRL_HD void add(int c) { bits[c / 64] |= uint64_t{1} << c % 64; }
  DRL_HD void remove(int c) { bits[c / 64] &= ~(uint64_t{1} << c % 64); }
  DRL_HD void add(const Chains& others) {
    for (int k = 0; k < kWords; ++k) bits[k] |= others.bits[k];
  }
  DRL_HD bool has(int c) const { return (bits[c / 64] >> c % 64 & 1) != 0; }
  DRL_HD Chains common(const Chains& others) const {
    Chains both;
    for (int k = 0; k < kWords; ++k) both.bits[k] = bits[k] & others.bits[k];
    return both;
  }
  DRL_HD bool operator==(const Chains& others) const {
    for (int k = 0; k < kWords; ++k)
      if (bits[k] != others.bits[k]) return false;
    return true;
  }
  DRL_HD bool empty() const { return *this == Chains{}; }
  // Calls body(c) for each of them.
  template <class Body>
  DRL_HD void each(const Body& body) const {
    for (int k = 0; k < kWords; ++k)
      for (uint64_t left = bits[k]; left != 0; left &= left - 1) body(64 * k + lowest_bit_of_64(left));
  }
};

// Which blocks of a matrix are not 0: the chains before and after each chain that are coupled to it.
template <class Sizes>
struct ChainPattern {
  static constexpr int kChains = Sizes::kChains > 0 ? Sizes::kChains : 1;
  Chains<Sizes> before[kChains], after[kChains];

  // Becomes the pattern of M, to which `more` are coupled (of which bits of chain d in more[c] count if d < c), and of
  // its factors. M couples each chain to the chains above it. A factorisation from the last row to the first couples
  // all chains before one that are coupled to it; here it suffices to couple the last of them to the others.
  DRL_HD void set(const Chains<Sizes>* more) {
    for (int c = 0; c < Sizes::kChains; ++c) {
      const int above = Sizes::chain_parent(c);
      before[c] = after[c] = {};
      if (above >= 0) before[c] = before[above], before[c].add(above);
    }
    for (int c = Sizes::kChains - 1; c > 0; --c) {
      if (more != nullptr)
        for (int d = 0; d < c; ++d)
          if (more[c].has(d)) before[c].add(d);
      int last = -1;
      before[c].each([&](int d) DRL_LAMBDA { last = d, after[d].add(c); });
      if (last <= 0) continue;
      Chains<Sizes> others = before[c];
      others.remove(last);
      before[last].add(others);
    }
  }
};

// The number of entries for which a matrix has room: a few behind its last row are read.
constexpr int packed_entries(int n) { return n > 0 ? n * (n + 1) / 2 + 7 : 0; }
// A matrix [nv, nv], packed by rows of its lower half, of which only the blocks of a pattern count. It is factorised in
// place as L' D L: row k then holds L(k, i) D(k), and inverse[k] is 1 / D(k).
template <class Sizes, class F, class Numbers>
class ChainMatrix {
 public:
  DRL_HD ChainMatrix(const ChainPattern<Sizes>& pattern, Numbers numbers, F* inverse)
      : pattern_(pattern), m_(numbers), inverse_(inverse) {}

  DRL_HD_CALLED void factorise() {
    if constexpr (kIsUnrolled)
      each_chain<0, Sizes::kChains>([&](auto k) DRL_LAMBDA { eliminate_chain<Sizes::kChains - 1 - k()>(); });
    else
      for (int c = Sizes::kChains - 1; c >= 0; --c) eliminate(c);
  }
  // Replaces a force by the acceleration.
  DRL_HD_CALLED void solve(F* x) const {
    if constexpr (kIsUnrolled) {
      each_chain<0, Sizes::kChains>([&](auto k) DRL_LAMBDA { solve_chain_up<Sizes::kChains - 1 - k()>(x); });
      each_chain<0, Sizes::kChains>([&](auto c) DRL_LAMBDA { solve_chain_down<c()>(x); });
    } else {
      for (int c = Sizes::kChains - 1; c >= 0; --c) solve_up(c, x);
      for (int c = 0; c < Sizes::kChains; ++c) solve_down(c, x);
    }
  }

 private:
  // Robots with few chains have code for each of them, in which loops have fixed lengths.
  static constexpr bool kIsUnrolled = [] {
    if constexpr (requires { Sizes::kChainFirst[0]; }) return Sizes::kChains <= 8;
    return false;
  }();
  static constexpr int first_of(int c) {
    if constexpr (kIsUnrolled) return Sizes::kChainFirst[c];
    return 0;
  }
  static constexpr int size_of(int c) { return first_of(c + 1) - first_of(c); }

  // Computes the rows of chain c from those of later chains, and then from each other. Each of their blocks stays in
  // registers meanwhile.
  template <int c>
  DRL_HD void eliminate_chain() {
    constexpr int n = size_of(c), first = first_of(c), end = first + n;
    const uint64_t after = pattern_.after[c].bits[0];
    F of_later[Sizes::nv - end > 0 ? n * (Sizes::nv - end) : 1];
    each_chain<c + 1, Sizes::kChains>([&](auto e) DRL_LAMBDA {
      if (!(after >> e() & 1)) return;
      DRL_ROLLED
      for (int k = first_of(e()); k < first_of(e() + 1); ++k)
        for (int i = 0; i < n; ++i) of_later[n * (k - end) + i] = -(inverse_[k] * m_[packed(k, first + i)]);
    });
    F own[n][n], factor[n][n];
    take_later<c, c>(after, of_later, own);
    each_chain<0, n>([&](auto r) DRL_LAMBDA {
      constexpr int i = n - 1 - decltype(r)::value;
      each_chain<i + 1, n>([&](auto k) DRL_LAMBDA { factor[k()][i] = -(inverse_[first + k()] * own[k()][i]); });
      add_rows<i, i + 1>(factor, own);
      inverse_[first + i] = F(1) / own[i][i];
      each_chain<0, i + 1>([&](auto s) DRL_LAMBDA { m_[packed(first + i, first + s())] = own[i][s()]; });
    });
    const uint64_t before = pattern_.before[c].bits[0];
    each_chain<0, c>([&](auto d) DRL_LAMBDA {
      constexpr int columns = size_of(decltype(d)::value);
      if (!(before >> d() & 1)) return;
      F block[n][columns];
      take_later<c, decltype(d)::value>(after & pattern_.after[d()].bits[0], of_later, block);
      each_chain<0, n>([&](auto r) DRL_LAMBDA {
        constexpr int i = n - 1 - decltype(r)::value;
        add_rows<i, columns>(factor, block);
        each_chain<0, columns>([&](auto s) DRL_LAMBDA { m_[packed(first + i, first_of(d()) + s())] = block[i][s()]; });
      });
    });
  }
  // Loads the block of the rows of chain c and the columns of chain d, and adds the rows of later chains times their
  // factors [., size_of(c)].
  template <int c, int d, class Block>
  DRL_HD void take_later(uint64_t later, const F* factor, Block& block) const {
    constexpr int n = size_of(c), first = first_of(c), column = first_of(d);
    const auto each_entry = [](const auto& body) DRL_LAMBDA {
      each_chain<0, n>([&](auto i) DRL_LAMBDA {
        each_chain<0, (c == d ? decltype(i)::value + 1 : size_of(d))>([&](auto s) DRL_LAMBDA { body(i(), s()); });
      });
    };
    each_entry([&](int i, int s) DRL_LAMBDA { block[i][s] = m_[packed(first + i, column + s)]; });
    each_chain<c + 1, Sizes::kChains>([&](auto e) DRL_LAMBDA {
      if (!(later >> e() & 1)) return;
      DRL_ROLLED
      for (int k = first_of(e()); k < first_of(e() + 1); ++k) {
        const Numbers of = m_ + packed(k, column);
        const F* times = factor + n * (k - first - n);
        each_entry([&](int i, int s) DRL_LAMBDA { block[i][s] = math::fma(times[i], of[s], block[i][s]); });
      }
    });
  }
  // Adds the later rows of a block, times their factors, to the first columns of row i.
  template <int i, int columns, int n, class Block>
  DRL_HD static void add_rows(const F (&factor)[n][n], Block& block) {
    each_chain<i + 1, n>([&](auto k) DRL_LAMBDA {
      each_chain<0, columns>(
          [&](auto s) DRL_LAMBDA { block[i][s()] = math::fma(factor[k()][i], block[k()][s()], block[i][s()]); });
    });
  }
  // These do what solve_up() and solve_down() do.
  template <int c>
  DRL_HD void solve_chain_up(F* x) const {
    constexpr int n = size_of(c), first = first_of(c);
    F z[n];
    for (int k = n - 1; k >= 0; --k) {
      F sum = x[first + k];
      for (int later = n - 1; later > k; --later) sum = math::fma(z[later], m_[packed(first + later, first + k)], sum);
      x[first + k] = sum, z[k] = -(inverse_[first + k] * sum);
    }
    each_block_before<c>([&](int column, auto columns) DRL_LAMBDA {
      F sum[columns()];
      for (int s = 0; s < columns(); ++s) sum[s] = x[column + s];
      for (int k = n - 1; k >= 0; --k)
        for (int s = 0; s < columns(); ++s) sum[s] = math::fma(z[k], m_[packed(first + k, column + s)], sum[s]);
      for (int s = 0; s < columns(); ++s) x[column + s] = sum[s];
    });
  }
  template <int c>
  DRL_HD void solve_chain_down(F* x) const {
    constexpr int n = size_of(c), first = first_of(c);
    F sum[n];
    for (int k = 0; k < n; ++k) sum[k] = x[first + k];
    each_block_before<c>([&](int column, auto columns) DRL_LAMBDA {
      for (int s = 0; s < columns(); ++s)
        for (int k = 0; k < n; ++k) sum[k] = math::fma(-m_[packed(first + k, column + s)], x[column + s], sum[k]);
    });
    for (int k = 0; k < n; ++k) {
      for (int s = 0; s < k; ++s) sum[k] = math::fma(-m_[packed(first + k, first + s)], x[first + s], sum[k]);
      x[first + k] = inverse_[first + k] * sum[k];
    }
  }
  // Calls body(column, columns) for each block of chain c's rows before its own: its first column, and their number.
  template <int c, class Body>
  DRL_HD void each_block_before(const Body& body) const {
    const uint64_t before = pattern_.before[c].bits[0];
    each_chain<0, c>([&](auto d) DRL_LAMBDA {
      if (before >> d() & 1) body(first_of(d()), std::integral_constant<int, size_of(d())>());
    });
  }
  // Calls body(std::integral_constant<int, c>()) for each chain from `begin` to `end` - 1.
  template <int begin, int end, class Body>
  DRL_HD static void each_chain(const Body& body) {
    if constexpr (begin < end) {
      body(std::integral_constant<int, begin>());
      each_chain<begin + 1, end>(body);
    }
  }

  // Does what eliminate_chain() does, in loops whose lengths are known at run time.
  DRL_HD void eliminate(int c) {
    const int first = Sizes::chain_first(c), end = Sizes::chain_first(c + 1);
    const auto& after = pattern_.after[c];
    for (int i = first; i < end && !after.empty(); ++i) {
      take_chains(after, i), subtract_rows(i, first, i + 1);
      pattern_.before[c].each([&](int d) DRL_LAMBDA {
        take_chains(after.common(pattern_.after[d]), i);
        subtract_rows(i, Sizes::chain_first(d), Sizes::chain_first(d + 1));
      });
    }
    for (int i = end - 1; i >= first; --i) {
      rows_ = 0;
      for (int k = i + 1; k < end; ++k) take_row(k, i);
      pattern_.before[c].each([&](int d)
                                  DRL_LAMBDA { subtract_rows(i, Sizes::chain_first(d), Sizes::chain_first(d + 1)); });
      subtract_rows(i, first, i + 1);
      inverse_[i] = F(1) / m_[packed(i, i)];
    }
  }
  // These replace the part of chain c of a vector, first by that of L'^-1 x (from the last chain to the first), and
  // then by that of L^-1 D^-1 x (from the first one to the last).
  DRL_HD void solve_up(int c, F* x) const {
    for (int k = Sizes::chain_first(c + 1) - 1; k >= Sizes::chain_first(c); --k) {
      const F z = -(inverse_[k] * x[k]);
      const Numbers row = m_ + packed(k, 0);
      each_column(c, k, [&](int j) DRL_LAMBDA { x[j] = math::fma(z, row[j], x[j]); });
    }
  }
  DRL_HD void solve_down(int c, F* x) const {
    for (int k = Sizes::chain_first(c); k < Sizes::chain_first(c + 1); ++k) {
      const Numbers row = m_ + packed(k, 0);
      F sum = x[k];
      each_column(c, k, [&](int j) DRL_LAMBDA { sum = math::fma(-row[j], x[j], sum); });
      x[k] = inverse_[k] * sum;
    }
  }
  // Calls body(j) for each column before k of row k, which belongs to chain c.
  template <class Body>
  DRL_HD void each_column(int c, int k, const Body& body) const {
    const auto visit = [&](int begin, int end) DRL_LAMBDA {
      DRL_ROLLED
      for (int j = begin; j < end; ++j) body(j);
    };
    pattern_.before[c].each([&](int d) DRL_LAMBDA { visit(Sizes::chain_first(d), Sizes::chain_first(d + 1)); });
    visit(Sizes::chain_first(c), k);
  }
  // Takes row k into the list of those that are subtracted from row i.
  DRL_HD void take_row(int k, int i) {
    row_[rows_] = packed(k, 0);
    factor_[rows_++] = -(inverse_[k] * m_[packed(k, i)]);
  }
  DRL_HD void take_chains(const Chains<Sizes>& chains, int i) {
    rows_ = 0;
    chains.each([&](int e) DRL_LAMBDA {
      for (int k = Sizes::chain_first(e); k < Sizes::chain_first(e + 1); ++k) take_row(k, i);
    });
  }
  // Subtracts the rows of the list from the columns from `begin` to `end` - 1 of row i.
  DRL_HD void subtract_rows(int i, int begin, int end) {
    constexpr int kColumns = 6;
    for (int j = begin; j < end; j += kColumns) {
      const Numbers to = m_ + (packed(i, 0) + j);
      F sum[kColumns];
      for (int s = 0; s < kColumns; ++s) sum[s] = to[s];
      DRL_ROLLED
      for (int t = 0; t < rows_; ++t) {
        const F factor = factor_[t];
        const Numbers from = m_ + (row_[t] + j);
        for (int s = 0; s < kColumns; ++s) sum[s] = math::fma(factor, from[s], sum[s]);
      }
      for (int s = 0; s < kColumns; ++s)
        if (j + s < end) to[s] = sum[s];
    }
  }

  const ChainPattern<Sizes>& pattern_;
  Numbers m_;
  F* inverse_;
  int row_[Sizes::nv], rows_ = 0;  // where the rows that are subtracted begin
  F factor_[Sizes::nv];            // minus their factors
};

}  // namespace drl::inline DRL_ISA::physics
