// The cells of recurrent layers, between their matrix products. Rows are sequences; each has the numbers of one time
// step. The order of the gates is that of torch.nn.GRU and torch.nn.LSTM.
//
// A kernel's operator() computes a row; its number(row, k) computes one number of the row, for GPUs.
#pragma once

#include <cstdint>

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"

namespace drl {

// Which episodes ended before a time step: the flags of the previous step. With null pointers, none did.
struct Ended {
  const uint8_t *terminated = nullptr, *truncated = nullptr;  // of all samples
  const int32_t* index = nullptr;                             // [rows], the sample of each row; null: row i is sample i
  DRL_HD bool operator()(int64_t row) const {
    if (!terminated) return false;
    const int64_t i = index ? index[row] : row;
    return terminated[i] | truncated[i];
  }
};

// Copies the states of sequences, with zeros where an episode begins.
struct CarryState {
  const float* from;     // [states, from_stride]
  const int32_t* index;  // [rows], which state each row takes; null: row i takes state i
  Ended ended;
  int64_t numbers, from_stride;
  float* to;  // [rows, numbers]
  DRL_HD void operator()(int64_t row) const {
    const float* state = from + (index ? index[row] : row) * from_stride;
    const bool begins = ended(row);
    for (int64_t k = 0; k < numbers; ++k) to[row * numbers + k] = begins ? 0 : state[k];
  }
  DRL_HD void number(int64_t row, int64_t k) const {
    to[row * numbers + k] = ended(row) ? 0 : from[(index ? index[row] : row) * from_stride + k];
  }
};

// Carries the gradient with respect to the state before a step to the state after the previous step. It does not get
// there where an episode begins.
struct CarryGradient {
  const float* from;  // [rows, numbers]
  Ended ended;
  int64_t numbers;
  float* to;  // [rows, numbers]
  DRL_HD void operator()(int64_t row) const {
    const bool begins = ended(row);
    for (int64_t k = 0; k < numbers; ++k) to[row * numbers + k] = begins ? 0 : from[row * numbers + k];
  }
  DRL_HD void number(int64_t row, int64_t k) const { to[row * numbers + k] = ended(row) ? 0 : from[row * numbers + k]; }
};

// Gives each environment whose episode is truncated a row for the state with which its last observation is valued:
// the k-th truncation of a rollout that of Rollout's k-th last observation.
struct TakeLastRows {
  const uint8_t* truncated;  // [N], of this time step
  int64_t num_envs, last_rows;
  int32_t *taken, *rows;  // [N], truncations so far; the row, or -1
  DRL_HD void operator()(int64_t env) const {
    rows[env] = truncated[env] && taken[env] < last_rows ? static_cast<int32_t>(taken[env] * num_envs + env) : -1;
    taken[env] += truncated[env];
  }
};
// Copies the states of the environments that have such a row.
struct KeepLastStates {
  const int32_t* rows;  // [N]
  const float* states;  // [N, numbers]
  int64_t numbers;
  float* kept;  // [last_rows N, numbers]
  DRL_HD void operator()(int64_t env) const {
    if (rows[env] < 0) return;
    for (int64_t k = 0; k < numbers; ++k) kept[rows[env] * numbers + k] = states[env * numbers + k];
  }
  DRL_HD void number(int64_t env, int64_t k) const {
    if (rows[env] >= 0) kept[rows[env] * numbers + k] = states[env * numbers + k];
  }
};

namespace recurrent {

template <class F>
DRL_HD F sigmoid(F x) {
  return F(1) / (F(1) + math::exp(-x));
}
// Calls body.template operator()<F>(k) for the units k, k + 1, ... of a row, one per lane of F.
template <class Body>
DRL_HD void for_each_unit(int64_t width, const Body& body) {
  int64_t k = 0;
#if !defined(DRL_GPU_COMPILER)
  for (; k + kFloatLanes <= width; k += kFloatLanes) body.template operator()<math::Floats>(k);
#endif
  for (; k < width; ++k) body.template operator()<float>(k);
}

}  // namespace recurrent

// A gated recurrent unit (Cho et al., arXiv:1406.1078, in the variant of torch.nn.GRU):
//   r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h
// where x_. and h_. are linear maps of the input and of the state h.
struct GruCell {
  static constexpr int kGates = 3, kKept = 1, kStates = 1;

  int64_t width;
  // For the units k, k + 1, ... of a row, one per lane of F: x [3 width] and h [3 width] are the maps' outputs.
  // Replaces x by the gates r, z and n, and writes h_n to kept [width].
  template <class F>
  DRL_HD void forward(int64_t k, float* x, const float* h, const float* state, float* kept, float* next) const {
    const int64_t w = width;
    const F r = recurrent::sigmoid(load<F>(x + k) + load<F>(h + k));
    const F z = recurrent::sigmoid(load<F>(x + w + k) + load<F>(h + w + k));
    const F h_n = load<F>(h + 2 * w + k), n = math::tanh(load<F>(x + 2 * w + k) + r * h_n);
    store(x + k, r), store(x + w + k, z), store(x + 2 * w + k, n), store(kept + k, h_n);
    store(next + k, (F(1) - z) * n + z * load<F>(state + k));
  }
  // From d, the gradient with respect to `next`: those with respect to x and h, and the part of that with respect to
  // `state` that does not go through h. The gradient with respect to x replaces the gates.
  template <class F>
  DRL_HD void backward(int64_t k, float* x, const float* kept, const float* state, const float* /*next*/,
                       const float* d, float* d_h, float* d_state) const {
    const int64_t w = width;
    const F r = load<F>(x + k), z = load<F>(x + w + k), n = load<F>(x + 2 * w + k), h_n = load<F>(kept + k),
            dy = load<F>(d + k);
    const F d_n = dy * (F(1) - z) * (F(1) - n * n);
    const F d_r = d_n * h_n * r * (F(1) - r), d_z = dy * (load<F>(state + k) - n) * z * (F(1) - z);
    store(x + k, d_r), store(x + w + k, d_z), store(x + 2 * w + k, d_n);
    store(d_h + k, d_r), store(d_h + w + k, d_z), store(d_h + 2 * w + k, d_n * r);
    store(d_state + k, dy * z);
  }
};

// A long short-term memory (Hochreiter and Schmidhuber, 1997, with forget gates as in torch.nn.LSTM):
//   i, f, o = sigmoid(x_. + h_.), g = tanh(x_g + h_g), c' = f c + i g, h' = o tanh(c')
// The state is h, then c.
struct LstmCell {
  static constexpr int kGates = 4, kKept = 0, kStates = 2;

  int64_t width;
  // Replaces x by the gates i, f, g and o.
  template <class F>
  DRL_HD void forward(int64_t k, float* x, const float* h, const float* state, float* /*kept*/, float* next) const {
    const int64_t w = width;
    const F i = recurrent::sigmoid(load<F>(x + k) + load<F>(h + k));
    const F f = recurrent::sigmoid(load<F>(x + w + k) + load<F>(h + w + k));
    const F g = math::tanh(load<F>(x + 2 * w + k) + load<F>(h + 2 * w + k));
    const F o = recurrent::sigmoid(load<F>(x + 3 * w + k) + load<F>(h + 3 * w + k));
    const F c = f * load<F>(state + w + k) + i * g;
    store(x + k, i), store(x + w + k, f), store(x + 2 * w + k, g), store(x + 3 * w + k, o);
    store(next + k, o * math::tanh(c)), store(next + w + k, c);
  }
  template <class F>
  DRL_HD void backward(int64_t k, float* x, const float* /*kept*/, const float* state, const float* next,
                       const float* d, float* d_h, float* d_state) const {
    const int64_t w = width;
    const F i = load<F>(x + k), f = load<F>(x + w + k), g = load<F>(x + 2 * w + k), o = load<F>(x + 3 * w + k),
            squashed = math::tanh(load<F>(next + w + k)), dy = load<F>(d + k);
    const F d_c = load<F>(d + w + k) + dy * o * (F(1) - squashed * squashed);
    const F d_i = d_c * g * i * (F(1) - i), d_f = d_c * load<F>(state + w + k) * f * (F(1) - f),
            d_g = d_c * i * (F(1) - g * g), d_o = dy * squashed * o * (F(1) - o);
    store(x + k, d_i), store(x + w + k, d_f), store(x + 2 * w + k, d_g), store(x + 3 * w + k, d_o);
    store(d_h + k, d_i), store(d_h + w + k, d_f), store(d_h + 2 * w + k, d_g), store(d_h + 3 * w + k, d_o);
    store(d_state + k, F(0)), store(d_state + w + k, d_c * f);
  }
};

// One time step of a cell for all rows. `next` may be `state`, which is then replaced.
template <class Cell>
struct CellForward {
  Cell cell;
  float* x;            // [rows, kGates width], replaced by the gates
  const float* h;      // [rows, kGates width]
  const float* state;  // kStates width numbers of each row, `stride` apart, as of `next`
  int64_t stride;
  float *kept, *next;  // [rows, kKept width] and the states after the step
  DRL_HD void operator()(int64_t row) const {
    recurrent::for_each_unit(cell.width, [&]<class F>(int64_t k) DRL_LAMBDA { units<F>(row, k); });
  }
  DRL_HD void number(int64_t row, int64_t k) const { units<float>(row, k); }
  template <class F>
  DRL_HD void units(int64_t row, int64_t k) const {
    const int64_t w = cell.width;
    cell.template forward<F>(k, x + row * Cell::kGates * w, h + row * Cell::kGates * w, state + row * stride,
                             kept + row * Cell::kKept * w, next + row * stride);
  }
};

// Its backward pass. Adds the gradient with respect to the step's output (the first `width` numbers of the state) to d,
// the gradient with respect to the state after the step.
template <class Cell>
struct CellBackward {
  Cell cell;
  float* x;  // [rows, kGates width]: the gates, replaced by the gradient with respect to the map's output
  const float *kept, *state, *next;
  const float* d_out;    // [rows, width]
  float* d;              // [rows, kStates width]
  float *d_h, *d_state;  // [rows, kGates width], [rows, kStates width]
  DRL_HD void operator()(int64_t row) const {
    const int64_t w = cell.width;
    for (int64_t k = 0; k < w; ++k) d[row * Cell::kStates * w + k] += d_out[row * w + k];
    recurrent::for_each_unit(w, [&]<class F>(int64_t k) DRL_LAMBDA { units<F>(row, k); });
  }
  DRL_HD void number(int64_t row, int64_t k) const {
    d[row * Cell::kStates * cell.width + k] += d_out[row * cell.width + k];
    units<float>(row, k);
  }
  template <class F>
  DRL_HD void units(int64_t row, int64_t k) const {
    const int64_t w = cell.width, states = Cell::kStates * w, gates = Cell::kGates * w;
    cell.template backward<F>(k, x + row * gates, kept + row * Cell::kKept * w, state + row * states,
                              next + row * states, d + row * states, d_h + row * gates, d_state + row * states);
  }
};

// Adds rows of `width` numbers to the first ones of rows of `stride` numbers.
struct AddToRows {
  const float* from;  // [rows, width]
  int64_t width, stride;
  float* to;  // [rows, stride]
  DRL_HD void operator()(int64_t row) const {
    for (int64_t k = 0; k < width; ++k) to[row * stride + k] += from[row * width + k];
  }
  DRL_HD void number(int64_t row, int64_t k) const { to[row * stride + k] += from[row * width + k]; }
};

// Calls kernel.number(row, k) for index row * width + k, so that neighbouring threads of a GPU read neighbouring
// numbers.
template <class Kernel>
struct ByNumber {
  using GpuOnly = void;
  Kernel kernel;
  int64_t width;
  DRL_HD void operator()(int64_t i) const { kernel.number(i / width, i % width); }
};

}  // namespace drl
