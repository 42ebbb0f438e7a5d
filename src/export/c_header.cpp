#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "export/exporters.hpp"
#include "store/crc32c.hpp"

namespace drl {
namespace {

// All code here has the names drl_policy_..., DRL_POLICY_... and drl_real, which Writer::own() replaces by the
// policy's.

// The code between the arrays and act(). Each function is there only if the policy needs it.
constexpr const char* kDense =
    R"(static inline void drl_policy_dense(const drl_real *weight, const drl_real *bias, int inputs, int outputs,
                                    const drl_real *x, drl_real *y) {
  int i, k;
  for (i = 0; i < outputs; ++i) {
    drl_real sum = bias[i];
    for (k = 0; k < inputs; ++k) sum += weight[i * inputs + k] * x[k];
    y[i] = sum;
  }
}
)";
constexpr const char* kNorm =
    R"(static inline void drl_policy_norm(const drl_real *weight, const drl_real *bias, int size, drl_real *x) {
  drl_real mean = 0, variance = 0;
  int k;
  for (k = 0; k < size; ++k) mean += x[k] / (drl_real)size;
  for (k = 0; k < size; ++k) variance += (x[k] - mean) * (x[k] - mean) / (drl_real)size;
  for (k = 0; k < size; ++k) x[k] = (x[k] - mean) / @sqrt(variance + (drl_real)1e-5) * weight[k] + bias[k];
}
)";

// One step of a recurrent layer from the outputs of its maps, x of the input and h of the state.
constexpr const char* kGru =
    R"(static inline void drl_policy_gru(const drl_real *x, const drl_real *h, int width, drl_real *state) {
  int k;
  for (k = 0; k < width; ++k) {
    const drl_real r = 1 / (1 + @exp(-(x[k] + h[k]))), z = 1 / (1 + @exp(-(x[width + k] + h[width + k])));
    const drl_real n = @tanh(x[2 * width + k] + r * h[2 * width + k]);
    state[k] = (1 - z) * n + z * state[k];
  }
}
)";
constexpr const char* kLstm =
    R"(static inline void drl_policy_lstm(const drl_real *x, const drl_real *h, int width, drl_real *state) {
  int k;
  for (k = 0; k < width; ++k) {
    const drl_real i = 1 / (1 + @exp(-(x[k] + h[k]))), f = 1 / (1 + @exp(-(x[width + k] + h[width + k])));
    const drl_real g = @tanh(x[2 * width + k] + h[2 * width + k]);
    const drl_real o = 1 / (1 + @exp(-(x[3 * width + k] + h[3 * width + k])));
    state[width + k] = f * state[width + k] + i * g;
    state[k] = o * @tanh(state[width + k]);
  }
}
)";

// The mean of a Beta distribution from the raw numbers of its alpha and beta.
constexpr const char* kBetaMean =
    R"(static inline drl_real drl_policy_beta_mean(drl_real raw_alpha, drl_real raw_beta) {
  const drl_real alpha = 1 + (raw_alpha > 0 ? raw_alpha : 0) + @log1p(@exp(-@fabs(raw_alpha)));
  const drl_real beta = 1 + (raw_beta > 0 ? raw_beta : 0) + @log1p(@exp(-@fabs(raw_beta)));
  return alpha / (alpha + beta);
}
)";

// Returns the activation of x as an expression; @ stands before the names of libm's functions.
std::string expression_of(const std::string& name) {
  if (name == "elu") return "x > 0 ? x : @expm1(x)";
  if (name == "tanh") return "@tanh(x)";
  if (name == "relu") return "x > 0 ? x : 0";
  if (name == "silu") return "x / (1 + @exp(-x))";
  return "x * (1 + @erf(x * (drl_real)0.70710678118654752)) / 2";
}

// Replaces "@name" by the function of libm for this type, "name" or "namef".
std::string with_libm(const std::string& code, bool is_double) {
  std::string text;
  for (size_t at = 0; at < code.size(); ++at) {
    if (code[at] != '@') {
      text += code[at];
      continue;
    }
    while (std::isalnum(static_cast<unsigned char>(code[at + 1]))) text += code[++at];
    if (!is_double) text += 'f';
  }
  return text;
}

// Returns a literal of exactly this value.
std::string number(float value, bool is_double) {
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + (is_double ? "HUGE_VAL" : "HUGE_VALF");
  std::string text = is_double ? fmt::format("{:.17g}", double{value}) : fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + (is_double ? "" : "f");
}

std::string array(const std::string& name, const std::vector<float>& data, bool is_double) {
  std::string text = fmt::format("static const drl_real drl_policy_{}[{}] = {{", name, data.size()), line;
  for (const float value : data) {
    const std::string next = number(value, is_double) + ",";
    if (line.size() + next.size() > 110) text += "\n   " + std::exchange(line, "");
    line += " " + next;
  }
  return text + "\n   " + line + "\n};\n";
}

// Returns a string literal of C. Octal escapes stand for all but plain characters; a question mark could begin a
// trigraph.
std::string string_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const bool is_plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    literal += is_plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return literal + "\"";
}

// Returns a text that may stand in a comment.
std::string in_comment(std::string text) {
  for (size_t at; (at = text.find("*/")) != std::string::npos;) text.replace(at, 2, "* /");
  return text;
}

// Returns a line for each number; with `scale` and `offset`, also its value in the unit.
std::string names(const std::vector<std::string>& names, const std::vector<std::string>& units,
                  const std::vector<double>& scale = {}, const std::vector<double>& offset = {}) {
  std::string text;
  const auto value = [&](size_t k) {
    if (scale.empty() || (scale[k] == 1 && offset[k] == 0)) return std::string();
    return fmt::format(" = {:.9g} + {:.9g} * action", offset[k], scale[k]);
  };
  for (size_t k = 0; k < names.size(); ++k)
    text += fmt::format(" *   {:3}  {}{}{}\n", k, in_comment(names[k]), value(k),
                        units[k].empty() ? "" : " [" + in_comment(units[k]) + "]");
  return text;
}

// The code of the operations. Each reads `from_`, one of the buffers a and b, and replaces it or writes the other one.
class Operations {
 public:
  Operations(const ExportedPolicy& policy, bool is_double) : policy_(policy), is_double_(is_double) {}

  std::string write() {
    for (const Op& op : policy_.ops) std::visit(*this, op);
    return text_;
  }

  void operator()(const op::Normalise& normalise) {
    const std::string scaled = "(observation[k] - drl_policy_mean[k]) * drl_policy_scale[k]";
    const std::string clip = number(normalise.clip, is_double_);
    each(policy_.observations(),
         std::isinf(normalise.clip)
             ? "a[k] = " + scaled + ";"
             : fmt::format("{{\n    const drl_real x = {0};\n    a[k] = x < -{1} ? -{1} : x > {1} ? {1} : x;\n  }}",
                           scaled, clip));
  }
  void operator()(const op::Recurrent& layer) {
    text_ += fmt::format(
        "  drl_policy_dense(drl_policy_rnn_input_weight{0}, drl_policy_rnn_input_bias{0}, {1}, {2}, a, of_input);\n"
        "  drl_policy_dense(drl_policy_rnn_hidden_weight{0}, drl_policy_rnn_hidden_bias{0}, {3}, {2}, state->rnn + "
        "{4}, "
        "of_state);\n"
        "  drl_policy_{5}(of_input, of_state, {3}, state->rnn + {4});\n",
        layer.number, layer.inputs, layer.gates(), layer.width, state_, layer.type);
    each(layer.width, fmt::format("a[k] = state->rnn[{} + k];", state_));
    state_ += layer.state_size();
  }
  void operator()(const op::Affine& layer) {
    const char* to = *from_ == 'a' ? "b" : "a";
    text_ += fmt::format("  drl_policy_dense(drl_policy_weight{0}, drl_policy_bias{0}, {1}, {2}, {3}, {4});\n",
                         layer.number, layer.inputs, layer.outputs, from_, to);
    from_ = to, width_ = layer.outputs;
  }
  void operator()(const op::Norm& norm) {
    text_ += fmt::format("  drl_policy_norm(drl_policy_norm_weight{0}, drl_policy_norm_bias{0}, {1}, {2});\n",
                         norm.number, width_, from_);
  }
  void operator()(const op::Activation&) {
    each(width_, fmt::format("{0}[k] = drl_policy_activation({0}[k]);", from_));
  }
  void operator()(const op::Bound& bound) {
    const int64_t actions = policy_.actions();
    if (are_within_bounds(bound.outputs)) {
      const std::string at = bound.outputs == Outputs::means_before_tanh
                                 ? fmt::format("(1 / (1 + @exp(-2 * {}[k])))", from_)
                                 : fmt::format("drl_policy_beta_mean({0}[k], {0}[{1} + k])", from_, actions);
      each(actions,
           with_libm(fmt::format("{}[k] = drl_policy_low[k] + drl_policy_range[k] * {};", from_, at), is_double_));
    }
    const bool is_plain = bound.gain.empty();
    each(actions,
         fmt::format("{{\n    const drl_real low = drl_policy_low[k], high = drl_policy_high[k];\n"
                     "    action[k] = {1}{0}[k] < low ? low : {0}[k] > high ? high : {0}[k]{2};\n  }}",
                     from_, is_plain ? "" : "drl_policy_offset[k] + drl_policy_gain[k] * (", is_plain ? "" : ")"));
  }
  void operator()(const op::ArgMax& heads) {
    int64_t first = 0;
    for (size_t head = 0; head < heads.choices.size(); first += heads.choices[head++])
      text_ += fmt::format(
          "  action[{0}] = 0;\n  for (k = 1; k < {1}; ++k)\n    if ({2}[{3} + k] > {2}[{3} + action[{0}]]) action[{0}] "
          "= k;\n",
          head, heads.choices[head], from_, first);
  }

 private:
  void each(int64_t count, const std::string& statement) {
    text_ += fmt::format("  for (k = 0; k < {}; ++k) {}\n", count, statement);
  }

  const ExportedPolicy& policy_;
  bool is_double_;
  std::string text_;
  const char* from_ = "a";
  int64_t width_ = 0, state_ = 0;  // of the row in `from_`; the place of the next recurrent layer's state
};

class Writer {
 public:
  Writer(const ExportedPolicy& policy, bool is_double, const std::string& prefix)
      : policy_(policy), is_double_(is_double), lower_(prefix), upper_(boost::to_upper_copy(prefix)) {}

  std::string write() const {
    std::string code = definitions();
    policy_.for_each_tensor([&](const std::string& name, const std::vector<int64_t>&, const std::vector<float>& data) {
      code += array(name, data, is_double_);
    });
    code += "\n" + std::string(kDense);
    if (policy_.find<op::Norm>()) code += with_libm(kNorm, is_double_);
    if (const auto* layer = policy_.find<op::Recurrent>())
      code += with_libm(layer->type == "gru" ? kGru : kLstm, is_double_);
    if (const auto* bound = policy_.find<op::Bound>(); bound && bound->outputs == Outputs::alphas_and_betas)
      code += with_libm(kBetaMean, is_double_);
    if (const auto* activation = policy_.find<op::Activation>())
      code += "static inline drl_real drl_policy_activation(drl_real x) { return " +
              with_libm(expression_of(activation->name), is_double_) + "; }\n";
    const std::string text = action_names() + own(code + function());
    return comment() + guarded(text + aliases());
  }

 private:
  std::string own(std::string code) const {
    boost::replace_all(code, "drl_real", "drl_policy_real");
    boost::replace_all(code, "drl_policy", lower_);
    boost::replace_all(code, "DRL_POLICY", upper_);
    return code;
  }

  std::string comment() const {
    std::string text = fmt::format("/* The policy of {}, {}, exported by drl {}.\n", in_comment(policy_.task),
                                   in_comment(policy_.source), kVersion);
    text += fmt::format(" * Call {}_act once every {:g} s{}.\n *\n * Observations:\n{}", lower_, policy_.dt,
                        !policy_.is_recurrent() ? "" : ", and " + lower_ + "_reset before an episode",
                        names(policy_.observation_names, policy_.observation_units));
    text += policy_.is_discrete() ? " * Actions, the index of the choice:\n" : " * Actions:\n";
    return text + names(policy_.action_names, policy_.action_units, policy_.unit_scale, policy_.unit_offset) + " */\n";
  }

  // A header may be included twice, but two policies need different names.
  std::string guarded(const std::string& text) const {
    const std::string guard = fmt::format("{}_H_{:08X}", upper_, crc32c(bytes_of(text)));
    return fmt::format(
        "#ifndef {0}\n#define {0}\n\n#ifdef {1}_ACTIONS\n#error \"two policies have the names {2}_...: export one of "
        "them to a file of another name\"\n#endif\n\n#include <math.h>\n\n{3}\n#endif\n",
        guard, upper_, lower_, text);
  }

  // Returns further names for a program with one exported policy, whose code then need not change with the policy.
  std::string aliases() const {
    std::vector<std::string> macros = {"OBSERVATIONS", "ACTIONS",       "DT",
                                       "ACTION_NAMES", "ACTION_SCALES", "ACTION_OFFSETS"},
                             others = {"act"};
    if (!policy_.stiffness.empty()) macros.insert(macros.end(), {"ACTION_STIFFNESSES", "ACTION_DAMPINGS"});
    if (policy_.is_recurrent()) macros.emplace_back("STATE"), others.insert(others.end(), {"state", "reset"});
    std::string text =
        "\n/* Names that do not depend on the policy: those of the first exported policy that a file includes. */\n"
        "#ifndef DRL_POLICY_H\n#define DRL_POLICY_H\n#define drl_real " +
        lower_ + "_real\n";
    for (const std::string& name : macros) text += fmt::format("#define DRL_POLICY_{0} {1}_{0}\n", name, upper_);
    for (const std::string& name : others) text += fmt::format("#define drl_policy_{0} {1}_{0}\n", name, lower_);
    return text + "#endif\n";
  }

  // The task's names are not code of this file.
  std::string action_names() const {
    return own("#define DRL_POLICY_ACTION_NAMES") +
           initializer([&](size_t k) { return string_literal(policy_.action_names[k]); });
  }

  std::string definitions() const {
    std::string text = fmt::format(
        "#define DRL_POLICY_OBSERVATIONS {}\n#define DRL_POLICY_ACTIONS {}\n#define DRL_POLICY_DT {:.9g} /* s */\n",
        policy_.observations(), policy_.actions(), policy_.dt);
    const auto list = [&](const char* name, const std::vector<double>& values) {
      text += std::string("#define DRL_POLICY_ACTION_") + name +
              initializer([&](size_t k) { return fmt::format("{:.17g}", values[k]); });
    };
    list("SCALES", policy_.unit_scale);
    list("OFFSETS", policy_.unit_offset);
    if (!policy_.stiffness.empty()) list("STIFFNESSES", policy_.stiffness), list("DAMPINGS", policy_.damping);
    if (policy_.is_recurrent()) text += fmt::format("#define DRL_POLICY_STATE {}\n", policy_.state_size());
    text += std::string("\ntypedef ") + (is_double_ ? "double" : "float") + " drl_real;\n\n";
    if (!policy_.is_recurrent()) return text;
    return text +
           "/* What the policy keeps from one action to the next. */\n"
           "typedef struct {\n  drl_real rnn[DRL_POLICY_STATE];\n} drl_policy_state;\n\n"
           "static inline void drl_policy_reset(drl_policy_state *state) {\n  int k;\n"
           "  for (k = 0; k < DRL_POLICY_STATE; ++k) state->rnn[k] = 0;\n}\n\n";
  }

  // Returns the value of a macro, so that a program that does not use it has no unused array.
  template <class Element>
  std::string initializer(const Element& element) const {
    std::vector<std::string> parts;
    for (size_t k = 0; k < policy_.action_names.size(); ++k) parts.push_back(element(k));
    return " {" + join(parts, ", ") + "}\n";
  }

  std::string function() const {
    int64_t widest = policy_.observations();
    for (const auto* layer : policy_.all<op::Recurrent>()) widest = std::max(widest, layer->width);
    for (const auto* layer : policy_.all<op::Affine>()) widest = std::max(widest, layer->outputs);
    const auto* recurrent = policy_.find<op::Recurrent>();
    std::string text = fmt::format(
        "\n/* Computes the most probable action [DRL_POLICY_ACTIONS] for an observation [DRL_POLICY_OBSERVATIONS]. */\n"
        "static inline void drl_policy_act({}const drl_real *observation, {} *action) {{\n"
        "  drl_real a[{}], b[{}];\n{}  int k;\n",
        recurrent ? "drl_policy_state *state, " : "", policy_.is_discrete() ? "int" : "drl_real", widest, widest,
        recurrent ? fmt::format("  drl_real of_input[{0}], of_state[{0}];\n", recurrent->gates()) : "");
    if (!policy_.find<op::Normalise>())
      text += fmt::format("  for (k = 0; k < {}; ++k) a[k] = observation[k];\n", policy_.observations());
    return text + Operations(policy_, is_double_).write() + "}\n";
  }

  const ExportedPolicy& policy_;
  bool is_double_;
  std::string lower_, upper_;  // the policy's prefix
};

// Returns "go1_velocity_flat" for "Go1-Velocity-Flat". C++ reserves names with two underscores in a row.
std::string identifier(const std::string& text) {
  std::string name;
  for (const unsigned char c : text)
    if (c < 128 && std::isalnum(c))
      name += static_cast<char>(std::tolower(c));
    else if (!name.empty() && name.back() != '_')
      name += '_';
  if (name.ends_with('_')) name.pop_back();
  return name;
}

}  // namespace

std::string c_prefix(const std::string& file_name, const std::string& task) {
  for (const std::string& text : {file_name.substr(0, file_name.find('.')), task})
    if (const std::string name = identifier(text); !name.empty() && name != "policy") return "drl_" + name;
  return "drl_a_policy";
}

std::string c_header(const ExportedPolicy& policy, const std::string& real, const std::string& file_name) {
  return Writer(policy, real == "double", c_prefix(file_name, policy.task)).write();
}

}  // namespace drl
