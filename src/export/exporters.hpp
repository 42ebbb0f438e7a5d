// The formats of drl_export. Each function returns the content of a file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "export/exported_policy.hpp"

namespace drl {

// A model of opset 17 (onnx.ai/onnx/operators): input `observation` [batch, observations], output `action`
// [batch, actions], as float, or int64 for discrete actions. Normaliser, networks, bounds and the choice of the most
// probable action are inside. metadata() is stored in the model. A recurrent policy also has the input `state` and the
// output `next_state` [batch, state_size()].
std::string onnx_model(const ExportedPolicy& policy);

// A header of C99, which C++ also compiles, for programs without an allocator: it needs only libm. `real` is the type
// of its numbers, float or double. A recurrent policy has a struct for its state, and a function that resets it. All
// names begin with c_prefix(), so that a program can use several policies. The first header that a file includes also
// has the names drl_policy_... and DRL_POLICY_....
std::string c_header(const ExportedPolicy& policy, const std::string& real, const std::string& file_name = "policy.h");

// Returns "drl_walk" for a file walk.h. The name policy.h, which drl_export gives, tells nothing, so the task's name
// stands for it: "drl_cartpole". Pure.
std::string c_prefix(const std::string& file_name, const std::string& task);

// Returns the metadata of an ONNX model as pairs of key and value. Lists are joined by commas.
std::vector<std::pair<std::string, std::string>> metadata(const ExportedPolicy& policy);

// Describes the policy to people who use it: order, names and units of observations and actions, and seconds per step.
std::string policy_json(const ExportedPolicy& policy);

// The source of a TorchScript module: its method forward() for parameters and buffers that have the names of
// ExportedPolicy::for_each_tensor(). Throws UsageError for a recurrent policy.
std::string torch_script(const ExportedPolicy& policy);

}  // namespace drl
