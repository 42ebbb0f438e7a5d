#include "envs/motor_network.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "base/enum_table.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "motion/npz.hpp"

namespace drl {
namespace {

// The settings of Isaac Lab's ActuatorNetMLPCfg, by its names.
const std::vector<std::string> kSettings = {"activation", "input_idx", "input_order",
                                            "pos_scale",  "vel_scale", "torque_scale"};
using Net = MotorNetwork;
constexpr auto kActivationNames = by_enum<Net::Activation, const char*>(Net::softsign, {{Net::elu, "elu"},
                                                                                        {Net::relu, "relu"},
                                                                                        {Net::tanh, "tanh"},
                                                                                        {Net::sigmoid, "sigmoid"},
                                                                                        {Net::softsign, "softsign"}});
const std::vector<std::string> kActivations(kActivationNames.begin(), kActivationNames.end());
const std::vector<std::string> kOrders = {"pos_vel", "vel_pos"};
constexpr const char* kSame = "make it from the state_dict of one network (docs/howto/randomisation.md)";
constexpr const char* kLstmName = "weight_ih_l";

// A network and the arrays that it points to.
class Loaded {
 public:
  explicit Loaded(const std::string& path)
      : file_(path, {"--env.dr.motor_network", "give an .npz file that numpy.savez made"}) {
    read_settings();
    for (const std::string& name : file_.names()) read(name);
    for (const std::string& name : file_.names())
      if (!used_.contains(name) && !contains(kSettings, name))
        file_.fail("has an array " + shown(name) + ", which is not part of a linear layer or an LSTM", kSame);
    if (net_.dense_count == 0) file_.fail("has no linear layer (an array NAME.weight with two dimensions)", kSame);
    if (width_ != 1) file_.fail(fmt::format("has {} outputs (a motor has one torque)", width_), kSame);
    if (net_.dense_count > 1 && !file_.has("activation"))
      file_.fail("has several linear layers, but no activation between them",
                 "give one to numpy.savez: activation=\"softsign\" (or " + join(kActivations, ", ") + ")");
    net_.memory = 2 * net_.steps;
    for (const MotorNetwork::Lstm& layer : std::span(net_.lstm, static_cast<size_t>(net_.lstm_count)))
      net_.memory += 2 * layer.hidden;
  }
  const MotorNetwork& network() const { return net_; }

 private:
  void read_settings() {
    net_.position_scale = scale("pos_scale"), net_.velocity_scale = scale("vel_scale");
    net_.torque_scale = scale("torque_scale");
    net_.activation = static_cast<MotorNetwork::Activation>(choice("activation", kActivations));
    net_.velocity_first = choice("input_order", kOrders);
    std::vector<double> steps{0};
    if (file_.has("input_idx")) steps = file_.array("input_idx").numbers;
    if (steps.empty() || steps.size() > MotorNetwork::kMostInputs)
      file_.fail(fmt::format("has {} numbers in input_idx", steps.size()),
                 fmt::format("give 1 to {}", MotorNetwork::kMostInputs));
    for (const double before : steps) {
      if (!(before >= 0 && before <= MotorNetwork::kMostSteps && before == std::floor(before)))
        file_.fail(fmt::format("has the number {} in input_idx", before),
                   fmt::format("give whole numbers of time steps before this one, 0 to {}", MotorNetwork::kMostSteps));
      net_.steps_before[net_.input_count++] = static_cast<int32_t>(before);
      net_.steps = std::max(net_.steps, static_cast<int32_t>(before));
    }
    width_ = 2 * net_.input_count;
  }
  double scale(const std::string& name) {
    if (!file_.has(name)) return 1;
    const NpzArray array = file_.array(name);
    if (array.numbers.size() != 1 || !std::isfinite(array.numbers[0]))
      file_.fail("has a " + name + " that is not one finite number", "give one");
    return array.numbers[0];
  }
  // Returns the index of the text among the choices; 0 if it is not given.
  int choice(const std::string& name, const std::vector<std::string>& choices) {
    if (!file_.has(name)) return 0;
    const std::string text = file_.text(name);
    const auto found = std::ranges::find(choices, text);
    if (found == choices.end())
      file_.fail(fmt::format("has the {} {}", name, shown(text)), "give one of " + join(choices, ", "));
    return static_cast<int>(found - choices.begin());
  }

  void read(const std::string& name) {
    const size_t dot = name.rfind('.') + 1;  // 0 without a dot
    const std::string prefix = name.substr(0, dot), last = name.substr(dot);
    if (last == "weight") read_dense(prefix);
    if (last == kLstmName + std::to_string(net_.lstm_count)) read_lstm(prefix);
  }
  void read_dense(const std::string& prefix) {
    require_place(net_.dense_count, prefix);
    const NpzArray weight = file_.array(prefix + "weight");
    const auto outputs = weight.shape.empty() ? 0 : weight.shape[0];
    require_width(prefix + "weight", outputs);
    MotorNetwork::Dense& layer = net_.dense[net_.dense_count++];
    layer.inputs = width_, layer.outputs = static_cast<int32_t>(outputs);
    layer.weight = keep(weight, {outputs, width_});
    layer.bias = keep(file_.array(prefix + "bias"), {outputs});
    width_ = layer.outputs;
  }
  void read_lstm(const std::string& prefix) {
    require_place(net_.lstm_count, prefix);
    if (net_.dense_count > 0) file_.fail("has an LSTM after a linear layer", "put LSTM layers first");
    const std::string layer_name = "_l" + std::to_string(net_.lstm_count);
    const NpzArray weight = file_.array(prefix + "weight_hh" + layer_name);
    const int64_t hidden = weight.shape.size() == 2 ? weight.shape[1] : 0;
    require_width(prefix + "weight_hh" + layer_name, 4 * hidden);
    MotorNetwork::Lstm& layer = net_.lstm[net_.lstm_count++];
    layer.inputs = width_, layer.hidden = static_cast<int32_t>(hidden);
    layer.weight_hh = keep(weight, {4 * hidden, hidden});
    layer.weight_ih = keep(file_.array(prefix + "weight_ih" + layer_name), {4 * hidden, width_});
    layer.bias_ih = keep(file_.array(prefix + "bias_ih" + layer_name), {4 * hidden});
    layer.bias_hh = keep(file_.array(prefix + "bias_hh" + layer_name), {4 * hidden});
    width_ = layer.hidden;
  }
  void require_place(int32_t count, const std::string& prefix) const {
    if (count == MotorNetwork::kMostLayers)
      file_.fail(fmt::format("has more than {} layers (at {})", MotorNetwork::kMostLayers, shown(prefix)),
                 "use a smaller network");
  }
  void require_width(const std::string& name, int64_t width) const {
    if (width < 1 || width > MotorNetwork::kMostWidth)
      file_.fail(fmt::format("has a layer {} of {} numbers", shown(name), width),
                 fmt::format("use layers of 1 to {}", MotorNetwork::kMostWidth));
  }
  // Keeps the numbers of an array that must have this shape.
  const float* keep(const NpzArray& array, const std::vector<int64_t>& shape) {
    const auto text = [](const std::vector<int64_t>& extents) {
      std::vector<std::string> all;
      for (const int64_t extent : extents) all.push_back(std::to_string(extent));
      return fmt::format("[{}]", join(all, ", "));
    };
    if (array.shape != shape)
      file_.fail(fmt::format("has an array {} of shape {} (the layer before it, or its inputs, need {})",
                             shown(array.name), text(array.shape), text(shape)),
                 "compare it with input_idx, of which each number is one error and one velocity");
    used_.insert(array.name);
    std::vector<float>& numbers = numbers_.emplace_back(array.numbers.begin(), array.numbers.end());
    if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }))
      file_.fail("has an array " + shown(array.name) + " with numbers that are not finite", "train the network again");
    return numbers.data();
  }

  NpzFile file_;
  MotorNetwork net_{};
  int32_t width_ = 0;  // of what the next layer reads
  std::list<std::vector<float>> numbers_;
  std::set<std::string> used_;  // arrays of layers
};

}  // namespace

const MotorNetwork& motor_network(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Loaded>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Loaded>& loaded = all[path];
  std::error_code ignored;
  if (!loaded && !std::filesystem::exists(path, ignored))
    throw UsageError("--env.dr.motor_network " + path + " does not exist: check the path");
  if (!loaded) loaded = std::make_unique<Loaded>(path);
  return loaded->network();
}

}  // namespace drl
