// Compares solutions with Newton's matrix in blocks of chains with those of a full matrix.
#include "drl/physics/chains.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "drl/lanes/philox.hpp"

namespace drl {
namespace {

using namespace physics;

// A trunk of three, with an arm of two and two legs of three, of which one has a foot of two. Robots with few chains
// have code for each of them.
struct Quadruped {
  static constexpr int nv = 13, kChains = 5;
  static constexpr int kChainFirst[] = {0, 3, 5, 8, 11, 13};
  static int chain_first(int c) { return kChainFirst[c]; }
  static int chain_parent(int c) { return c == 4 ? 3 : c - 1 < 0 ? -1 : 0; }
};
// This has the same chains, for which ChainMatrix uses loops.
struct InLoops : Quadruped {
  static constexpr int kChainFirst = 0;
};
// Seventy boxes, so that bits of chains fill more than one word.
struct Boxes {
  static constexpr int nv = 140, kChains = 70;
  static int chain_first(int c) { return 2 * c; }
  static int chain_parent(int) { return -1; }
};

// Returns whether chain d is above chain c in the tree.
template <class Sizes>
bool is_chain_above(int d, int c) {
  while (c > d) c = Sizes::chain_parent(c);
  return c == d;
}
double draw(uint64_t& draws) {
  return 2 * static_cast<double>(uniform01(random_bits(1, Purpose::benchmark, draws++, 0)[0])) - 1;
}

// Solves by Gauss' elimination of the full matrix, which is positive definite.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> x) {
  const size_t n = x.size();
  for (size_t k = 0; k < n; ++k)
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      x[i] -= factor * x[k];
    }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) x[k] -= a[k][j] * x[j];
    x[k] /= a[k][k];
  }
  return x;
}

// Solves a random matrix with the entries of the tree and of `touching` pairs of chains.
template <class Sizes>
void expect_solved(const std::vector<std::pair<int, int>>& touching) {
  constexpr int nv = Sizes::nv;
  uint64_t draws = 0;
  std::vector<Chains<Sizes>> more(Sizes::kChains);
  for (const auto& [c, d] : touching) more[static_cast<size_t>(c)].add(d);
  ChainPattern<Sizes> pattern;
  pattern.set(more.data());
  std::vector<double> matrix(packed_entries(nv), std::nan("")), inverse(nv), x(nv);
  std::vector<std::vector<double>> full(nv, std::vector<double>(nv));
  for (int c = 0; c < Sizes::kChains; ++c)
    for (int d = 0; d <= c; ++d) {
      const bool is_coupled = d == c || is_chain_above<Sizes>(d, c) || more[static_cast<size_t>(c)].has(d);
      if (d < c && !pattern.before[c].has(d)) {
        EXPECT_FALSE(is_coupled);
        continue;
      }
      for (int i = Sizes::chain_first(c); i < Sizes::chain_first(c + 1); ++i)
        for (int j = Sizes::chain_first(d); j < Sizes::chain_first(d + 1) && j <= i; ++j) {
          const double entry = i == j ? 3 + nv / 4 : is_coupled ? draw(draws) : 0;
          matrix[static_cast<size_t>(packed(i, j))] = full[static_cast<size_t>(i)][static_cast<size_t>(j)] =
              full[static_cast<size_t>(j)][static_cast<size_t>(i)] = entry;
        }
    }
  for (double& force : x) force = draw(draws);
  const std::vector<double> expected = solved(full, x);
  ChainMatrix chains(pattern, matrix.data(), inverse.data());
  chains.factorise(), chains.solve(x.data());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], 1e-13) << i;
}

TEST(ChainMatrix, SolvesATree) {
  expect_solved<Quadruped>({});
  expect_solved<InLoops>({});
}
TEST(ChainMatrix, SolvesChainsThatTouch) {
  for (const auto& touching : std::vector<std::vector<std::pair<int, int>>>{
           {{2, 1}}, {{3, 2}}, {{4, 2}}, {{4, 1}, {2, 1}}, {{2, 1}, {3, 1}, {3, 2}, {4, 1}, {4, 2}}}) {
    expect_solved<Quadruped>(touching);
    expect_solved<InLoops>(touching);
  }
}
TEST(ChainMatrix, SolvesManyChains) {
  expect_solved<Boxes>({{1, 0}, {69, 0}, {69, 68}, {66, 3}, {40, 3}, {68, 40}, {65, 64}, {64, 63}});
}

}  // namespace
}  // namespace drl
