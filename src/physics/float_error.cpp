#include "physics/float_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace drl::robot_compiler {
namespace {

// A square matrix, or rows along qvel.
template <class F>
struct Rows {
  size_t n;
  std::vector<F> numbers;

  Rows(size_t count, size_t columns) : n(columns), numbers(count * columns) {}
  template <class G>
  explicit Rows(const Rows<G>& other) : n(other.n), numbers(other.numbers.begin(), other.numbers.end()) {}
  F* operator[](size_t row) { return numbers.data() + row * n; }
  const F* operator[](size_t row) const { return numbers.data() + row * n; }
};

// The system (M + J^T W J) qacc = force + J^T push.
struct System {
  struct Weight {
    size_t row, other;  // different rows in an elliptic cone
    double weight;
  };
  Rows<double> mass, jacobian;
  std::vector<double> force, push;
  std::vector<Weight> weights = {};
};

System last_system(const mjModel& m, mjData& d) {
  const size_t n = m.nv, rows = d.nefc;
  System s{.mass{n, n}, .jacobian{rows, n}, .force{d.qfrc_smooth, d.qfrc_smooth + n}, .push{}};
  std::vector<double> unit(n), here(rows), residual(rows);
  for (size_t k = 0; k < n; ++k) unit[k] = 1, mj_mulM(&m, &d, s.mass[k], unit.data()), unit[k] = 0;
  if (rows == 0) return s;
  if (mj_isSparse(&m))
    mju_sparse2dense(s.jacobian[0], d.efc_J, d.nefc, m.nv, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind);
  else
    std::copy_n(d.efc_J, rows * n, s.jacobian[0]);
  mj_mulJacVec(&m, &d, here.data(), d.qacc);
  for (size_t r = 0; r < rows; ++r) residual[r] = here[r] - d.efc_aref[r];
  mj_constraintUpdate(&m, &d, residual.data(), nullptr, 1);
  for (size_t r = 0; r < rows; ++r) {
    const bool is_cone = d.efc_state[r] == mjCNSTRSTATE_CONE;
    if (d.efc_state[r] == mjCNSTRSTATE_QUADRATIC) s.weights.push_back({r, r, d.efc_D[r]});
    for (int k = 0, size = is_cone ? d.contact[d.efc_id[r]].dim : 0; k < size * size; ++k)
      s.weights.push_back({r + k / size, r + k % size, d.contact[d.efc_id[r]].H[k]});
    if (is_cone) r += d.contact[d.efc_id[r]].dim - 1;
  }
  s.push.assign(d.efc_force, d.efc_force + rows);
  for (const auto& [row, other, weight] : s.weights) s.push[row] += weight * here[other];
  return s;
}

// Solves the system in numbers of type F, by a factorisation L^T L of its matrix, as lanes do.
template <class F>
std::vector<F> solution(const System& s) {
  Rows<F> matrix(s.mass);
  const Rows<F> along(s.jacobian);
  const size_t n = matrix.n;
  std::vector<F> x(s.force.begin(), s.force.end());
  for (size_t r = 0; r < s.push.size(); ++r)
    for (size_t k = 0; k < n; ++k) x[k] += along[r][k] * static_cast<F>(s.push[r]);
  for (const auto& [row, other, weight] : s.weights)
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k <= i; ++k) matrix[i][k] += static_cast<F>(weight) * along[row][i] * along[other][k];
  for (size_t i = n; i-- > 0;) {
    matrix[i][i] = std::sqrt(matrix[i][i]);
    for (size_t k = 0; k < i; ++k) matrix[i][k] /= matrix[i][i];
    for (size_t j = 0; j < i; ++j)
      for (size_t k = 0; k <= j; ++k) matrix[j][k] -= matrix[i][j] * matrix[i][k];
    x[i] /= matrix[i][i];
    for (size_t k = 0; k < i; ++k) x[k] -= matrix[i][k] * x[i];
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) x[i] -= matrix[i][k] * x[k];
    x[i] /= matrix[i][i];
  }
  return x;
}

}  // namespace

double float_error(const mjModel& model, mjData& data) {
  const System system = last_system(model, data);
  const std::vector<double> exact = solution<double>(system);
  const std::vector<float> rounded = solution<float>(system);
  double error = 0, most = 0;
  for (size_t k = 0; k < exact.size(); ++k) {
    const double difference = std::abs(static_cast<double>(rounded[k]) - exact[k]);
    // Also if the factorisation fails, which leaves NaN.
    if (!(difference <= error)) error = std::isfinite(difference) ? difference : HUGE_VAL;
    most = std::max(most, std::abs(exact[k]));
  }
  return error / (1 + most);
}

}  // namespace drl::robot_compiler
