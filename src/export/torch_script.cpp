#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "export/exporters.hpp"

namespace drl {
namespace {

// Writes the body of forward() line by line, in which x is the row of numbers.
struct Script {
  std::string text = "def forward(self, observation):\n    x = observation\n";
  int64_t width = 0;  // of x

  void line(const std::string& code) { text += "    " + code + "\n"; }
  void operator()(const op::Normalise& normalise) {
    line("x = (x - self.mean) * self.scale");
    if (std::isfinite(normalise.clip))
      line(fmt::format("x = torch.clamp(x, -{0}, {0})", nlohmann::json(normalise.clip).dump()));
  }
  void operator()(const op::Recurrent& layer) {
    throw UsageError("--torchscript cannot write a recurrent policy (" + layer.type +
                     "; its module would need a state): use --onnx or --c");
  }
  void operator()(const op::Affine& layer) {
    line(fmt::format("x = torch.linear(x, self.weight{0}, self.bias{0})", layer.number));
    width = layer.outputs;
  }
  void operator()(const op::Norm& norm) {
    line(fmt::format("x = torch.layer_norm(x, [{0}], self.norm_weight{1}, self.norm_bias{1}, 1e-5)", width,
                     norm.number));
  }
  void operator()(const op::Activation& activation) { line("x = torch." + activation.name + "(x)"); }
  void operator()(const op::Bound& bound) {
    if (bound.outputs == Outputs::means_before_tanh) line("x = self.low + self.range * torch.sigmoid(2 * x)");
    if (bound.outputs == Outputs::alphas_and_betas) {
      line("x = torch.softplus(x) + 1");
      line(fmt::format("x = self.low + self.range * (x[:, :{0}] / (x[:, :{0}] + x[:, {0}:]))", bound.low.size()));
    }
    line("x = torch.minimum(torch.maximum(x, self.low), self.high)");
    line(bound.gain.empty() ? "return x" : "return self.offset + self.gain * x");
  }
  void operator()(const op::ArgMax& heads) {
    std::vector<std::string> parts;
    int64_t first = 0;
    for (const int64_t choices : heads.choices) {
      parts.push_back(fmt::format("torch.argmax(x[:, {}:{}], 1, True)", first, first + choices));
      first += choices;
    }
    line("return " + (parts.size() == 1 ? parts[0] : "torch.cat([" + join(parts, ", ") + "], 1)"));
  }
};

}  // namespace

std::string torch_script(const ExportedPolicy& policy) {
  Script script;
  for (const Op& op : policy.ops) std::visit(script, op);
  return script.text;
}

}  // namespace drl
