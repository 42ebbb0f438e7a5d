// A policy without its task and its run: all that turns an observation into an action. A checkpoint stores it by name
// in its group `policy/`, and drl_export writes it in the formats that other programs read.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "policy/spec.hpp"
#include "store/checkpoint.hpp"

namespace drl {

struct ExportedLayer {
  int64_t inputs = 0, outputs = 0;
  std::vector<float> weight;                  // [outputs, inputs]
  std::vector<float> bias;                    // [outputs]
  std::vector<float> norm_weight, norm_bias;  // [outputs] of layer norm, before the activation; empty: none
};

// A recurrent layer. Its gates are those of torch.nn.GRU (r, z, n) or torch.nn.LSTM (i, f, g, o).
struct ExportedRecurrentLayer {
  int64_t inputs = 0;
  std::vector<float> input_weight, input_bias;    // [gates * width, inputs], [gates * width]
  std::vector<float> hidden_weight, hidden_bias;  // [gates * width, width], [gates * width]
};

// The last layer's outputs are continuous actions, which are clipped to their bounds, or they determine where between
// the bounds an action is. For the output x of squashed_gaussian, that is (1 + tanh x) / 2 = sigmoid(2 x); for the
// outputs of beta, first all alphas a and then all betas b, it is A / (A + B) with A = 1 + softplus(a) and
// B = 1 + softplus(b).
enum class Bounding { clip, squash, beta };

struct ExportedPolicy {
  std::string task, source;  // source: the checkpoint's file and iteration, for people
  double dt = 0;             // seconds between two actions
  std::vector<std::string> observation_names, observation_units;  // [observations]; an unknown unit is ""
  std::vector<std::string> action_names, action_units;            // [actions]
  std::vector<int32_t> observation_steps_before;  // [observations], of how many steps ago each is (a task's history)
  std::vector<std::string> command_names;         // of the commands that the policy follows
  std::vector<double> unit_scale, unit_offset;    // [actions], an action's value in its unit is offset + scale * action
  std::vector<double> stiffness, damping;         // [actions], of position controllers, whose targets are the actions;
                                                  // empty: no action is a target
  std::vector<float> mean,
      scale;  // [observations], x becomes (x - mean) * scale; empty: observations are not normalised
  float clip = std::numeric_limits<float>::infinity();  // largest absolute value of a normalised observation
  std::string activation;                               // of the hidden layers: elu, tanh, relu, silu or gelu
  std::string rnn_type;                                 // gru or lstm: of the layers before them; empty: none
  int64_t rnn_width = 0;                                // outputs of each recurrent layer
  std::vector<ExportedRecurrentLayer> recurrent;
  std::vector<ExportedLayer> layers;
  std::vector<int64_t> choices;        // the number of choices of each discrete action; empty: actions are continuous
  std::vector<float> low, high;        // [actions], the bounds of continuous actions
  Bounding bounding = Bounding::clip;  // how they are applied to the last layer's outputs
  std::vector<float> range;            // [actions], high - low; empty for Bounding::clip
  std::vector<float> gain, offset;     // [actions] or empty; the action is then offset + gain * clipped action

  int64_t observations() const { return recurrent.empty() ? layers.front().inputs : recurrent.front().inputs; }
  int64_t rnn_gates() const { return rnn_type == "lstm" ? 4 : 3; }
  // Return how many numbers the policy keeps from one action to the next: of each recurrent layer h, and c of an LSTM.
  // They are 0 at the beginning of an episode.
  int64_t layer_state() const { return (rnn_type == "lstm" ? 2 : 1) * rnn_width; }
  int64_t state_size() const { return static_cast<int64_t>(recurrent.size()) * layer_state(); }
  int64_t actions() const {
    if (!choices.empty()) return static_cast<int64_t>(choices.size());
    return layers.back().outputs / (bounding == Bounding::beta ? 2 : 1);
  }
};

// Writes what `policy/` says besides the networks' parameters, which are there already: attributes for names, units,
// activation and distribution, and arrays for the normaliser and the bounds.
void describe_policy(Checkpoint& checkpoint, const PolicySpec& policy);

// Reads the policy from the group `policy/` alone. Throws UsageError if `file` does not have it.
ExportedPolicy exported_policy(const Checkpoint& checkpoint, const std::string& file);

// Applies the bounds, the gain and the offset to continuous actions.
std::vector<double> applied(const ExportedPolicy& policy, std::vector<double> action);

// Returns the most probable action in double precision, as the task's step receives it: the values of continuous
// actions, or the indices of choices. Replaces the state [state_size()].
std::vector<double> act(const ExportedPolicy& policy, std::span<const double> observation,
                        std::span<double> state = {});

}  // namespace drl
