// Evaluates a network that gives the torques of a robot's motors.
#pragma once

#include "drl/lanes/lanes.hpp"
#include "drl/math.hpp"
#include "drl/task/motor_network.hpp"

namespace drl::inline DRL_ISA {

namespace motors {

template <class F>
DRL_HD F sigmoid(F x) {
  return F(1) / (F(1) + math::exp(-x));
}
template <class F>
DRL_HD F activated(MotorNetwork::Activation activation, F x) {
  switch (activation) {
    case MotorNetwork::elu:
      return math::select(x > F(0), x, math::exp(math::min(x, F(0))) - F(1));
    case MotorNetwork::relu:
      return math::max(x, F(0));
    case MotorNetwork::tanh:
      return math::tanh(x);
    case MotorNetwork::sigmoid:
      return sigmoid(x);
    default:  // softsign
      return x / (F(1) + math::abs(x));
  }
}

// y += weight x + bias, with weight [outputs, inputs]. Four sums at a time, because each waits for its last addition.
template <class F>
DRL_HD void add_linear(const float* weight, const float* bias, int inputs, int outputs, const F* x, F* y) {
  constexpr int kSums = 4;
  int row = 0;
  for (; row + kSums <= outputs; row += kSums) {
    F sum[kSums];
    for (int s = 0; s < kSums; ++s) sum[s] = F(bias[row + s]);
    for (int k = 0; k < inputs; ++k)
      for (int s = 0; s < kSums; ++s) sum[s] = sum[s] + F(weight[(row + s) * inputs + k]) * x[k];
    for (int s = 0; s < kSums; ++s) y[row + s] = y[row + s] + sum[s];
  }
  for (; row < outputs; ++row) {
    F sum = F(bias[row]);
    for (int k = 0; k < inputs; ++k) sum = sum + F(weight[row * inputs + k]) * x[k];
    y[row] = y[row] + sum;
  }
}

}  // namespace motors

// Returns the torque of a motor in this time step, and moves its memory on. `error` is its target minus its position.
// memory(k) returns number k of MotorNetwork::memory, and memory(k, x) sets it.
template <class F, class Memory>
DRL_HD F motor_torque(const MotorNetwork& net, F error, F velocity, const Memory& memory) {
  F x[MotorNetwork::kMostWidth], y[MotorNetwork::kMostWidth];
  int width = 2 * net.input_count;
  for (int k = 0; k < net.input_count; ++k) {
    const int before = net.steps_before[k], at = 2 * (before - 1);
    const int of_error = net.velocity_first ? net.input_count + k : k;
    const int of_velocity = net.velocity_first ? k : net.input_count + k;
    x[of_error] = F(net.position_scale) * (before == 0 ? error : memory(at));
    x[of_velocity] = F(net.velocity_scale) * (before == 0 ? velocity : memory(at + 1));
  }
  for (int k = 2 * net.steps - 1; k > 1; --k) memory(k, memory(k - 2));
  if (net.steps > 0) memory(0, error), memory(1, velocity);

  int at = 2 * net.steps;
  for (int l = 0; l < net.lstm_count; ++l) {
    const MotorNetwork::Lstm& layer = net.lstm[l];
    const int h = layer.hidden;
    F hidden[MotorNetwork::kMostWidth / 4];
    for (int k = 0; k < h; ++k) hidden[k] = memory(at + k);
    for (int k = 0; k < 4 * h; ++k) y[k] = F(0);
    motors::add_linear(layer.weight_ih, layer.bias_ih, width, 4 * h, x, y);
    motors::add_linear(layer.weight_hh, layer.bias_hh, h, 4 * h, hidden, y);
    for (int k = 0; k < h; ++k) {  // c' = f c + i g; h' = o tanh(c')
      const F cell = motors::sigmoid(y[h + k]) * memory(at + h + k) + motors::sigmoid(y[k]) * math::tanh(y[2 * h + k]);
      x[k] = motors::sigmoid(y[3 * h + k]) * math::tanh(cell);
      memory(at + k, x[k]), memory(at + h + k, cell);
    }
    width = h, at += 2 * h;
  }
  for (int l = 0; l < net.dense_count; ++l) {
    const MotorNetwork::Dense& layer = net.dense[l];
    for (int k = 0; k < layer.outputs; ++k) y[k] = F(0);
    motors::add_linear(layer.weight, layer.bias, layer.inputs, layer.outputs, x, y);
    for (int k = 0; k < layer.outputs; ++k)
      x[k] = l + 1 < net.dense_count ? motors::activated(net.activation, y[k]) : y[k];
  }
  return F(net.torque_scale) * x[0];
}

}  // namespace drl::inline DRL_ISA
