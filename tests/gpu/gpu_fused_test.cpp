// The fused engine's gradients of PPO's loss equal autograd of an independent implementation in libtorch, in double.
#include <algorithm>
#include <limits>
#include <map>

#include "../support/autograd.hpp"
#include "../support/learning.hpp"
#include "../support/mentions.hpp"
#include "algorithms/ppo/ppo_kernels.hpp"
#include "gpu_rig.hpp"
#include "nets/gpu/gpu_nets.hpp"
#include "nets/gpu_fused/fused_gpu_nets.hpp"

namespace drl {
namespace {

using namespace test;

// The blocks that an H100 runs at once of networks with 32 units.
constexpr int64_t kBlocks = 2 * 132;

struct Case {
  std::string name;
  FusedPrecision precision = FusedPrecision::fp32;
  Activation activation = Activation::tanh;
  std::vector<int> actor = {4, 64, 64, 2}, critic = {4, 64, 64, 1};
  bool discrete = true;
  int64_t rows = 209;  // three tiles, and one of 17 rows
  std::vector<int> heads = {};
  double advantage_scale = 1, error_scale = 1;
  float growth = 1;
  bool clips = true;
  double largest_param = 0.25;

  // The log-probability of n Gaussian actions is a sum of n numbers near 1, in float. Its rounding, which is about
  // n 1e-7, is the ratio's relative error.
  double tolerance() const {
    const double of_ratio = discrete ? 0 : 1e-7 * actor.back();
    return precision == FusedPrecision::fp32 ? 2e-6 + of_ratio : precision == FusedPrecision::fp16 ? 2e-3 : 2e-2;
  }
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

// A rollout of random numbers and a mini-batch of it, on the host.
struct Example {
  explicit Example(const Case& c) : c(c), samples(c.rows + 50), random(11) {
    layout.add_net({"other", {3, 5, 1}});
    actor = layout.add_net({"actor", c.actor, c.activation});
    if (!c.discrete) std_slice = layout.add_free("log_std", {c.actor.back()});
    critic = layout.add_net({"critic", c.critic, c.activation});
    params = uniforms(random, layout.size(), -c.largest_param, c.largest_param);
    const auto inputs = static_cast<int64_t>(c.actor.front()), critic_inputs = static_cast<int64_t>(c.critic.front()),
               outputs = static_cast<int64_t>(c.actor.back());
    obs = uniforms(random, samples * inputs, -2, 2), critic_obs = uniforms(random, samples * critic_inputs, -2, 2);
    mean = uniforms(random, inputs, -0.5, 0.5), inv_std = uniforms(random, inputs, 0.5, 2);
    rows = shuffled(random, samples);
    rows.resize(static_cast<size_t>(c.rows));

    // The outputs of the old networks are near those of the new ones, so that not all ratios are clipped.
    const at::Tensor flat = as_double(params);
    old_out = near(mlp(layout, actor, flat, inputs_of(obs, inputs, true)), 0.2);
    old_value = near(mlp(layout, critic, flat, inputs_of(critic_obs, critic_inputs, false)), 0.3);
    for (int64_t k = 0; k < outputs && !c.discrete; ++k) {
      const float now = params[static_cast<size_t>(layout.slices()[static_cast<size_t>(std_slice)].offset + k)];
      std.push_back(std::exp(now) * uniform(random, 0.95, 1.05));
    }
    action = uniforms(random, samples * outputs, -1, 1);
    const auto heads = static_cast<int64_t>(all_heads().size());
    // Actions and advantages are not centred, so that their gradients do not cancel.
    for (int64_t i = 0; i < samples * heads; ++i) {
      const auto count = static_cast<size_t>(all_heads()[static_cast<size_t>(i % heads)]);
      choice.push_back(random() % 4 == 0 ? static_cast<int32_t>(random() % count) : 0);
    }
    advantage = uniforms(random, samples, -0.3 * c.advantage_scale, c.advantage_scale);
    target = uniforms(random, samples, -0.3 * c.error_scale, c.error_scale);
    // The samples of each block's second tile.
    for (size_t i = kBlocks * kTileRows; i < rows.size(); ++i)
      advantage[static_cast<size_t>(rows[i])] *= c.growth, target[static_cast<size_t>(rows[i])] *= c.growth;
    settings = {.clip_param = c.clips ? 0.2f : 1e6f,
                .value_clip = c.clips ? 0.2f : std::numeric_limits<float>::infinity(),
                .value_loss_coef = 0.7f,
                .entropy_coef = 0.02f,
                .advantage_mean = 0.1f,
                .advantage_inv_std = 1.3f};
    const at::Tensor old = as_double(old_out).reshape({samples, -1});
    const at::Tensor log_std = as_double(std).log();
    const at::Tensor log_probs = c.discrete ? chosen(log_probabilities(old)).sum(1) : gaussian(old, log_std);
    log_prob = as_floats(log_probs);
  }

  std::vector<int> all_heads() const { return c.heads.empty() ? std::vector<int>{c.actor.back()} : c.heads; }
  static std::vector<float> as_floats(const at::Tensor& x) {
    const at::Tensor floats = x.detach().to(at::kFloat).contiguous();
    return {floats.data_ptr<float>(), floats.data_ptr<float>() + floats.numel()};
  }
  std::vector<float> near(const at::Tensor& x, double distance) {
    std::vector<float> numbers = as_floats(x);
    for (float& number : numbers) number += uniform(random, -distance, distance);
    return numbers;
  }
  at::Tensor inputs_of(const std::vector<float>& numbers, int64_t columns, bool is_normalized) const {
    const at::Tensor x = as_double(numbers).reshape({-1, columns});
    return is_normalized ? normalized(x, {mean.data(), inv_std.data(), 1.5f}) : x;
  }
  // Returns the logarithms of the choices' probabilities, head after head.
  at::Tensor log_probabilities(const at::Tensor& logits) const {
    std::vector<at::Tensor> parts;
    int64_t first = 0;
    for (const int count : all_heads())
      parts.push_back(at::log_softmax(logits.narrow(1, first, count), 1)), first += count;
    return at::cat(parts, 1);
  }
  at::Tensor chosen(const at::Tensor& log_p) const {
    std::vector<at::Tensor> parts;
    const at::Tensor choices = as_index(choice).reshape({samples, -1});
    int64_t first = 0, head = 0;
    for (const int count : all_heads())
      parts.push_back(log_p.narrow(1, first, count).gather(1, choices.narrow(1, head++, 1))), first += count;
    return at::cat(parts, 1);
  }
  at::Tensor gaussian(const at::Tensor& means, const at::Tensor& log_std) const {
    const at::Tensor z = (as_double(action).reshape({samples, -1}) - means) / log_std.exp();
    return (-0.5 * z * z - log_std - 0.5 * std::log(2 * std::acos(-1.0))).sum(1);
  }

  // Returns the gradient, and the loss's columns.
  std::pair<at::Tensor, std::map<int, double>> expected() const {
    const at::Tensor flat = as_double(params).set_requires_grad(true), index = as_index(rows);
    const at::Tensor out = mlp(layout, actor, flat, inputs_of(obs, c.actor.front(), true)),
                     v = mlp(layout, critic, flat, inputs_of(critic_obs, c.critic.front(), false)).squeeze(1),
                     old = as_double(old_out).reshape({samples, -1});
    at::Tensor now, entropy, kl;
    if (c.discrete) {
      const at::Tensor log_p = log_probabilities(out), old_log_p = log_probabilities(old);
      now = chosen(log_p).sum(1), entropy = -(log_p.exp() * log_p).sum(1);
      kl = (old_log_p.exp() * (old_log_p - log_p)).sum(1);
    } else {
      const at::Tensor log_std = param(flat, layout.slices()[static_cast<size_t>(std_slice)]),
                       old_log_std = as_double(std).log();
      now = gaussian(out, log_std);
      entropy = (log_std + 0.5 + 0.5 * std::log(2 * std::acos(-1.0))).sum().expand({samples});
      kl = (log_std - old_log_std + ((2 * old_log_std).exp() + (out - old).pow(2)) / (2 * (2 * log_std).exp()) - 0.5)
               .sum(1);
    }
    const at::Tensor a = (as_double(advantage) - double{settings.advantage_mean}) * double{settings.advantage_inv_std},
                     ratio = (now - as_double(log_prob)).exp();
    const double clip = settings.clip_param, value_clip = settings.value_clip;
    const at::Tensor clipped_ratio = ratio.clamp(1 - clip, 1 + clip);
    const at::Tensor surrogate = at::max(-a * ratio, -a * clipped_ratio);
    const at::Tensor before = as_double(old_value), goal = as_double(target),
                     clipped_v = before + (v - before).clamp(-value_clip, value_clip);
    const at::Tensor value = at::max((v - goal).pow(2), (clipped_v - goal).pow(2));
    const auto sum = [&](const at::Tensor& x) { return x.index_select(0, index).sum(); };
    const at::Tensor loss =
        sum(surrogate) + double{settings.value_loss_coef} * sum(value) - double{settings.entropy_coef} * sum(entropy);
    loss.backward();
    const auto number = [&](const at::Tensor& x) { return sum(x.detach()).item<double>(); };
    return {flat.grad(),
            {{kSamples, static_cast<double>(c.rows)},
             {kKl, number(kl)},
             {kSurrogate, number(surrogate)},
             {kValue, number(value)},
             {kEntropy, number(entropy)},
             {kClipped, number((ratio != clipped_ratio).to(at::kDouble))}}};
  }

  Case c;
  int64_t samples;
  Random random;
  ParamLayout layout;
  NetId actor = 0, critic = 0;
  int std_slice = -1;
  std::vector<float> params, obs, critic_obs, mean, inv_std, old_out, old_value, std, action, advantage, target,
      log_prob;
  std::vector<int32_t> rows, choice;
  LossSettings settings;
};

// The results of the engine on a GPU.
struct Computed {
  std::vector<float> gradient, columns, out;
};
Computed compute(const Example& e, FusedPrecision precision) {
  const std::unique_ptr<Queue> queue = make_gpu_queue();
  const std::unique_ptr<Nets> nets = make_fused_gpu_nets(*queue, e.layout, e.samples, precision);
  const auto array = [&](const auto& numbers) { return to_queue(*queue, numbers); };
  auto params = array(e.params), obs = array(e.obs), critic_obs = array(e.critic_obs), mean = array(e.mean),
       inv_std = array(e.inv_std), old_out = array(e.old_out), old_value = array(e.old_value), std = array(e.std),
       action = array(e.action), advantage = array(e.advantage), target = array(e.target), log_prob = array(e.log_prob);
  auto rows = array(e.rows), choice = array(e.choice), heads = array(e.all_heads());
  auto settings = array(std::vector<LossSettings>{e.settings});
  RolloutView r{};
  r.policy_out = old_out.data(), r.log_prob = log_prob.data(), r.value = old_value.data();
  r.advantage = advantage.data(), r.return_target = target.data();
  r.action = reinterpret_cast<std::byte*>(e.c.discrete ? static_cast<void*>(choice.data()) : action.data());

  const std::unique_ptr<Weights> weights = nets->pack(params.data());
  const NetId used[] = {e.actor, e.critic};
  const DistributionId id = e.c.discrete ? kDistributionId<Categorical> : kDistributionId<Gaussian>;
  nets->use_loss("ppo", id, used, true);
  EXPECT_EQ(nets->description().find("not used"), std::string::npos) << nets->description();

  const int outputs = e.c.actor.back();
  const int64_t size = e.layout.size();
  const int num_free = e.c.discrete ? 0 : outputs;
  const int64_t first_free = e.c.discrete ? 0 : e.layout.slices()[static_cast<size_t>(e.std_slice)].offset;
  Gaussian gaussian{outputs};
  gaussian.std = std.data(), gaussian.param = params.data() + first_free;
  Categorical categorical{outputs, static_cast<int>(e.all_heads().size()), heads.data()};
  const PpoLoss<Gaussian> gaussian_loss{gaussian, r, settings.data()};
  const PpoLoss<Categorical> categorical_loss{categorical, r, settings.data()};

  Array<float> gradient(*queue, static_cast<size_t>(size + kLossColumns));
  const auto count = static_cast<int64_t>(e.rows.size());
  const NormalizerView normalizer{mean.data(), inv_std.data(), 1.5f};
  const Batch::Input inputs[] = {{e.actor, {obs.data(), rows.data(), count, normalizer}},
                                 {e.critic, {critic_obs.data(), rows.data(), count, {}}}};
  const Batch batch{
      inputs,       *weights,   e.c.discrete ? static_cast<const void*>(&categorical_loss) : &gaussian_loss,
      kLossColumns, first_free, num_free};
#if defined(DRL_GPU_RUNTIME)
  const gpu::HostCounts before = gpu::host_counts();
#endif
  EXPECT_TRUE(nets->gradient(batch, "ppo", id, gradient.data()));
#if defined(DRL_GPU_RUNTIME)
  EXPECT_EQ(gpu::host_counts().calls - before.calls, 3) << "a kernel for each network, and their sums";
#endif
  Array<float> out(*queue, static_cast<size_t>(e.samples * outputs));
  nets->forward(e.actor, *weights, {obs.data(), nullptr, e.samples, normalizer}, out.data());
  Computed computed{to_host(*queue, gradient.data(), static_cast<size_t>(size)),
                    to_host(*queue, gradient.data() + size, kLossColumns), to_host(*queue, out)};
  return computed;
}

class GpuFused : public GpuTest, public testing::WithParamInterface<Case> {};

void expect_gradients_of_doubles(const Case& c) {
  const Example e(c);
  const Computed ours = compute(e, c.precision);
  const auto [gradient, columns] = e.expected();
  for (const ParamSlice& s : e.layout.slices()) {
    const std::span<const float> part(ours.gradient.data() + s.offset, static_cast<size_t>(s.count()));
    if (s.name.starts_with("other"))
      EXPECT_TRUE(std::ranges::all_of(part, [](float x) { return x == 0; })) << s.name;
    else
      expect_close(part, gradient.narrow(0, s.offset, s.count()), c.tolerance(), s.name);
  }
  for (const auto& [column, sum] : columns)
    EXPECT_NEAR(ours.columns[static_cast<size_t>(column)], sum,
                c.tolerance() * std::max(std::abs(sum), static_cast<double>(c.rows)))
        << column;
  EXPECT_EQ(ours.columns[kSamples], static_cast<float>(c.rows));
  const at::Tensor out = mlp(e.layout, e.actor, as_double(e.params), e.inputs_of(e.obs, c.actor.front(), true));
  expect_close(ours.out, out, c.tolerance(), "outputs");
}

TEST_P(GpuFused, GradientsEqualThoseInDouble) { expect_gradients_of_doubles(GetParam()); }

// A block adds up 16 tiles. If tensor cores made these sums, they would cut a digit off each time.
TEST_F(GpuFused, SumsOfManyTilesAreNotCut) {
  expect_gradients_of_doubles(
      {.name = "ManyTilesPerBlock", .actor = {4, 32, 2}, .critic = {4, 32, 1}, .rows = kTileRows * kBlocks * 16});
}

// Layouts of one network, and what the engine says of it for a GPU with `shared` bytes of shared memory per block.
std::string why_not(std::vector<int> dims, FusedPrecision precision, size_t shared) {
  ParamLayout layout;
  layout.add_net({"net", std::move(dims), Activation::tanh});
  std::string reason;
  const bool is_planned = plan_fused(layout, 0, precision, shared, reason).has_value();
  EXPECT_EQ(is_planned, reason.empty());
  return reason;
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": a block of an A100 has at most 163 KB,
// a multiprocessor 164 KB; an H100 has 227 KB and 228 KB. Each block needs 1 KB more.
TEST(FusedPlan, FitsIntoSharedMemory) {
  constexpr size_t kb = 1024, a100 = 163 * kb, h100 = 227 * kb;
  const size_t half_h100 = 228 * kb / 2 - kb;
  EXPECT_EQ(why_not({4, 64, 64, 2}, FusedPrecision::fp32, half_h100), "") << "two blocks run at once";
  EXPECT_EQ(why_not({64, 64, 64, 64, 32}, FusedPrecision::fp32, h100), "");
  EXPECT_EQ(why_not({64, 128, 128, 8}, FusedPrecision::fp32, h100), "");
  EXPECT_EQ(why_not({64, 128, 128, 32}, FusedPrecision::fp16, a100), "");
  EXPECT_EQ(why_not({64, 128, 128, 128, 32}, FusedPrecision::bf16, h100), "");
  EXPECT_EQ(why_not({64, 128, 128, 128, 8}, FusedPrecision::fp16, a100), "");
  expect_mentions(why_not({4, 128, 128, 128, 2}, FusedPrecision::fp32, h100), {"3 hidden layers", "fp16"});
  EXPECT_EQ(why_not({16, 128, 128, 2}, FusedPrecision::fp32, a100), "");
  expect_mentions(why_not({17, 128, 128, 2}, FusedPrecision::fp32, a100), {"shared memory", "163 KB"});
  expect_mentions(why_not({65, 64, 64, 2}, FusedPrecision::fp32, h100), {"65 inputs", "64"});
  expect_mentions(why_not({4, 64, 64, 33}, FusedPrecision::fp32, h100), {"33 outputs", "32"});
  expect_mentions(why_not({4, 2}, FusedPrecision::fp32, h100), {"hidden layers"});
}

#if defined(DRL_GPU_RUNTIME)
// The order of a phase's warps and threads, and what shared memory held before, change nothing.
TEST_P(GpuFused, OrderAndOldContentsChangeNoBit) {
  const Case& c = GetParam();
  const Example e(c);
  const Computed first = compute(e, c.precision);
  for (const unsigned char poison : {0x00, 0x3c, 0x7f}) {
    gpu::host_blocks() = {poison + 5u, poison};
    const Computed again = compute(e, c.precision);
    gpu::host_blocks() = {};
    EXPECT_EQ(again.gradient, first.gradient);
    EXPECT_EQ(again.columns, first.columns);
    EXPECT_EQ(again.out, first.out);
  }
}
#endif

constexpr FusedPrecision kFp16 = FusedPrecision::fp16, kBf16 = FusedPrecision::bf16;

INSTANTIATE_TEST_SUITE_P(
    Cases, GpuFused,
    testing::Values(Case{"CartPole"}, Case{.name = "CartPoleFp16", .precision = kFp16, .clips = false},
                    Case{.name = "CartPoleBf16", .precision = kBf16, .clips = false},
                    Case{.name = "Gaussian",
                         .activation = Activation::elu,
                         .actor = {17, 32, 32, 32, 6},
                         .critic = {40, 64, 1},
                         .discrete = false},
                    Case{.name = "ManyChoices",
                         .activation = Activation::elu,
                         .actor = {64, 64, 64, 64, 29},
                         .critic = {33, 32, 32, 32, 1}},
                    Case{.name = "GaussianFp16",
                         .precision = kFp16,
                         .activation = Activation::elu,
                         .actor = {17, 64, 64, 64, 6},
                         .critic = {33, 32, 1},
                         .discrete = false,
                         .clips = false},
                    Case{.name = "GaussianBf16",
                         .precision = kBf16,
                         .actor = {5, 32, 3},
                         .critic = {5, 128, 128, 1},
                         .discrete = false,
                         .clips = false},
                    // With elu, outputs would be large, and the ratio's exponential function would magnify their error.
                    Case{.name = "Deep128Fp16",
                         .precision = kFp16,
                         .actor = {20, 128, 128, 128, 6},
                         .critic = {33, 128, 128, 128, 1},
                         .discrete = false,
                         .clips = false},
                    Case{.name = "Deep128Bf16",
                         .precision = kBf16,
                         .actor = {17, 128, 128, 128, 5},
                         .critic = {64, 128, 128, 128, 1},
                         .clips = false},
                    Case{.name = "Relu128",
                         .activation = Activation::relu,
                         .actor = {33, 128, 128, 7},
                         .critic = {16, 128, 1},
                         .rows = 64,
                         .heads = {2, 3, 2}},
                    // With larger parameters, the ratio's exponential function would magnify the rounding of outputs.
                    Case{.name = "Elu128",
                         .activation = Activation::elu,
                         .actor = {17, 128, 128, 32},
                         .critic = {40, 128, 128, 1},
                         .discrete = false,
                         .clips = false,
                         .largest_param = 0.1},
                    Case{.name = "HalfCheetah", .actor = {17, 64, 64, 6}, .critic = {17, 64, 64, 1}, .discrete = false},
                    Case{.name = "SmallParameters", .activation = Activation::relu, .largest_param = 1e-3},
                    Case{.name = "OneSample", .actor = {1, 32, 2}, .critic = {1, 32, 1}, .rows = 1},
                    // More tiles than blocks: blocks have up to two tiles, and the second needs another power of two.
                    Case{.name = "ManyTiles",
                         .activation = Activation::elu,
                         .actor = {4, 32, 2},
                         .critic = {4, 32, 1},
                         .rows = 64 * 300 + 5,
                         .growth = 1000,
                         .clips = false},
                    // Beyond the range of halves: 1e5 times as large, and 1e-7 times.
                    Case{.name = "LargeLoss", .advantage_scale = 1e5, .error_scale = 1e5, .clips = false},
                    Case{.name = "SmallLoss", .advantage_scale = 1e-7, .error_scale = 1e-3, .clips = false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drl
