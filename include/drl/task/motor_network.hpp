// A network that gives the torques of a robot's motors (--env.dr.motor_network). drl reads it from a file
// (envs/motor_network.hpp) and shares it with task libraries, which evaluate it (drl/physics/motor_pass.hpp).
#pragma once

#include <cstdint>

namespace drl {

// All motors of a robot use the same network, each with its own memory. Its inputs are the errors of the position
// (target minus position) and the velocities of this time step and of steps before, each multiplied by its scale. They
// pass through the LSTM layers and then through the dense layers, with an activation between two of these. The output
// times torque_scale is the torque (Isaac Lab's ActuatorNetMLP and ActuatorNetLSTM). The arrays belong to drl, and live
// as long as the process.
struct MotorNetwork {
  enum Activation : int32_t { elu, relu, tanh, sigmoid, softsign };
  static constexpr int kMostWidth = 256;  // numbers that a layer reads or writes
  static constexpr int kMostInputs = 32, kMostLayers = 8, kMostSteps = 64;

  struct Dense {
    int32_t inputs, outputs;
    const float *weight, *bias;  // [outputs, inputs], [outputs]
  };
  // As torch.nn.LSTM. Its rows are those of the input, forget, cell and output gates, in this order.
  struct Lstm {
    int32_t inputs, hidden;
    const float *weight_ih, *weight_hh, *bias_ih, *bias_hh;  // [4 hidden, inputs], [4 hidden, hidden], [4 hidden] twice
  };

  int32_t input_count;                // of errors, and of velocities
  int32_t steps_before[kMostInputs];  // of each: 0 is this time step
  int32_t velocity_first;             // 0 or 1: whether the velocities precede the errors
  int32_t steps;                      // the most of steps_before
  double position_scale, velocity_scale, torque_scale;
  int32_t lstm_count, dense_count;
  Lstm lstm[kMostLayers];
  Dense dense[kMostLayers];
  Activation activation;
  // Numbers of a motor's memory: the error and the velocity of each of the steps before, latest first, and then the
  // hidden state and the cell state of each LSTM layer. They are 0 when an episode begins.
  int32_t memory;
};

}  // namespace drl
