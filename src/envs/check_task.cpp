#include "envs/check_task.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/format.hpp"
#include "device/array.hpp"
#include "drl/lanes/philox.hpp"
#include "envs/make_env.hpp"
#include "envs/task_params.hpp"

namespace drl {
namespace {

// Environments with one StepRow, and random actions that depend only on the global index and the step.
class Bench {
 public:
  Bench(std::string_view task, const EnvConfig& config, std::unique_ptr<Queue> queue)
      : queue_(std::move(queue)),
        envs_(make_env(task, config, *queue_)),
        spec(envs_->spec()),
        n(config.num_envs),
        first_(config.first_global_index) {
    const auto make = [&](auto& array, int columns) {
      array = std::remove_reference_t<decltype(array)>(*queue_, static_cast<size_t>(n * columns), Memory::host);
    };
    make(obs, spec.obs_dim), make(critic_obs, spec.critic_obs_dim);
    make(reward, 1), make(terminated, 1), make(truncated, 1);
    make(numbers_, spec.action.numbers()), make(values_, spec.action.numbers());
    row_.next_obs = obs.data(), row_.next_critic_obs = spec.critic_obs_dim ? critic_obs.data() : nullptr;
    envs_->reset(*queue_, row_, {});
    queue_->synchronize();
    row_.action = spec.action.discrete ? static_cast<const void*>(numbers_.data()) : values_.data();
    row_.reward = reward.data(), row_.terminated = terminated.data(), row_.truncated = truncated.data();
  }

  void choose(int64_t step) {
    for (int64_t k = 0; k < n; ++k)
      for (int a = 0; a < spec.action.numbers(); ++a) {
        const float x = uniform01(random_bits(1, Purpose::benchmark, static_cast<uint64_t>(first_ + k),
                                              static_cast<uint64_t>(step), static_cast<uint32_t>(a / 4))[a % 4]);
        const auto at = static_cast<size_t>(k * spec.action.numbers() + a);
        if (spec.action.discrete) {
          numbers_[at] = static_cast<int32_t>(x * static_cast<float>(spec.action.choices(a)));
        } else {  // within the bounds, but near 0
          const auto d = static_cast<size_t>(a);
          const float low = std::max(spec.action.low[d], -3.0f), high = std::min(spec.action.high[d], 3.0f);
          values_[at] = low < high ? low + (high - low) * x : spec.action.low[d];
        }
      }
  }
  void take(int64_t step) { envs_->step(*queue_, {nullptr, step}, 0, n, row_); }
  void step(int64_t step) { choose(step), take(step), queue_->synchronize(); }

  // Returns everything that the learner receives from environment k.
  std::vector<float> outputs(int64_t k) const {
    std::vector<float> all;
    const auto add = [&](const Array<float>& rows) {
      const auto width = static_cast<int64_t>(rows.size()) / n;
      all.insert(all.end(), rows.begin() + k * width, rows.begin() + (k + 1) * width);
    };
    add(obs), add(critic_obs), add(reward);
    all.push_back(terminated[static_cast<size_t>(k)]), all.push_back(truncated[static_cast<size_t>(k)]);
    return all;
  }
  VecEnv& envs() { return *envs_; }
  Queue& queue() { return *queue_; }

 private:
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<VecEnv> envs_;

 public:
  const TaskSpec spec;
  const int64_t n;
  Array<float> obs, critic_obs, reward;  // in host memory, which a GPU can access
  Array<uint8_t> terminated, truncated;
  bool ended(size_t k) const { return terminated[k] || truncated[k]; }

 private:
  int64_t first_;
  Array<int32_t> numbers_;
  Array<float> values_;
  StepRow row_;
};

StateList state_of(Bench& bench) {
  return list_state([&](StateVisitor& visitor) { bench.envs().visit_state(visitor); });
}

// Collects the largest difference between numbers, and where it occurs.
class LargestDifference {
 public:
  LargestDifference(std::string what, size_t num_envs) : found_{std::move(what), 0, "", 0}, large_(num_envs) {}
  void add(float x, float exact, const std::string& name, size_t env, int64_t step) {
    const double difference = std::abs(static_cast<double>(x) - static_cast<double>(exact)) / (1 + std::abs(exact));
    if (difference > found_.largest)
      found_.largest = difference, found_.where = fmt::format("{} of environment {} at step {}", name, env, step);
    if (difference > kLargeDifference) large_[env] = true;
  }
  void end_step() {
    beyond_ += std::ranges::count(large_, true), ++steps_;
    large_.assign(large_.size(), false);
  }
  Difference found() {
    found_.beyond = static_cast<double>(beyond_) / static_cast<double>(steps_ * static_cast<int64_t>(large_.size()));
    return found_;
  }

 private:
  Difference found_;
  std::vector<bool> large_;
  int64_t beyond_ = 0, steps_ = 0;
};

// Compares bits, so that NaN equals itself.
bool identical(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct RunningRange {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  int64_t count = 0;
  void add(double x) { low = std::min(low, x), high = std::max(high, x), sum += x, ++count; }
  ValueRange as(std::string name) const {
    return {std::move(name), count ? low : 0, count ? high : 0, count ? sum / static_cast<double>(count) : 0};
  }
};

class Checker {
 public:
  Checker(std::string_view task, const EnvSetup& setup, const CheckPlan& plan)
      : task_(task), setup_(setup), plan_(plan) {}

  TaskFindings run() {
    found_.hash = text_hash("");
    const TaskRecord& record = *setup_.record;
    std::vector<Isa> isas = available_isas();
    const Isa best = compiled_isa(record, isas.back());  // without loops, the environments report it
    std::erase_if(isas, [&](Isa isa) { return isa != best && !record.host[static_cast<int>(isa)].step; });
    collect_statistics(isas.back());
    for (Isa isa : isas) {
      // Compiled physics uses fused multiply-add, which x86-64-v2 lacks.
      if (record.model && isa != isas.back() && name_of(isa) == "x86-64-v2") continue;
      compare(isa == isas.back() ? "in two runs" : fmt::format("on {} and on {}", name_of(isa), name_of(isas.back())),
              [&] { return make_host_queue(isa); }, {plan_.num_envs});
    }
    const auto on_host = [&] { return make_host_queue(isas.back()); };
    const int64_t third = plan_.num_envs / 3;
    compare("in one batch and in two", on_host, {third, plan_.num_envs - third});
    compare("for one environment alone and among others", on_host,
            std::vector<int64_t>(static_cast<size_t>(plan_.num_envs), 1));
    if (plan_.gpu_queue) compare("on the GPU and on the host", plan_.gpu_queue, {plan_.num_envs});
    if (record.exact && !setup_.network_in_lanes()) compare_with_double();
    for (Isa isa : isas)
      if (plan_.seconds > 0) found_.speeds.push_back(speed(isa));
    return std::move(found_);
  }

 private:
  using MakeQueue = std::function<std::unique_ptr<Queue>()>;
  EnvConfig config(int64_t first, int64_t count) const { return {count, first, plan_.seed, false, setup_}; }
  std::unique_ptr<Bench> bench(Isa isa) const {
    return std::make_unique<Bench>(task_, config(0, plan_.num_envs), make_host_queue(isa));
  }
  void fault(const std::string& text) { found_.faults.push_back(text); }

  void collect_statistics(Isa isa) {
    const auto all = bench(isa);
    const TaskSpec& spec = all->spec;
    std::vector<RunningRange> obs(static_cast<size_t>(spec.obs_dim)), critic(static_cast<size_t>(spec.critic_obs_dim));
    RunningRange reward, length;
    std::vector<int64_t> age(static_cast<size_t>(plan_.num_envs));
    bool finite = true;
    const auto add = [&](const Array<float>& rows, std::vector<RunningRange>& ranges) {
      for (size_t k = 0; k < rows.size(); ++k) {
        const auto x = static_cast<double>(rows[k]);
        if (!std::isfinite(x) && std::exchange(finite, false))
          fault(fmt::format("observation {} is {} at step {}", k % ranges.size(), x, step_));
        if (std::isfinite(x)) ranges[k % ranges.size()].add(x);
      }
    };
    for (step_ = 0; step_ < plan_.steps; ++step_) {
      add(all->obs, obs), add(all->critic_obs, critic);
      all->step(step_);
      for (int64_t k = 0; k < all->n; ++k)
        for (float x : all->outputs(k)) found_.hash = (found_.hash ^ std::bit_cast<uint32_t>(x)) * 0x100000001b3ull;
      for (size_t k = 0; k < age.size(); ++k) {
        const auto x = static_cast<double>(all->reward[k]);
        if (!std::isfinite(x) && std::exchange(finite, false))
          fault(fmt::format("the reward is {} at step {}", x, step_));
        reward.add(x);
        ++age[k];
        if (all->terminated[k] && all->truncated[k]) fault("an episode is terminated and truncated at once");
        if (!all->ended(k)) continue;
        length.add(static_cast<double>(std::exchange(age[k], 0)));
        found_.terminated += all->terminated[k] != 0;
      }
    }
    for (size_t o = 0; o < obs.size(); ++o) {
      found_.observations.push_back(obs[o].as(fmt::format("observation {}", o)));
      const ValueRange& range = found_.observations.back();
      if (range.low == range.high) found_.hints.push_back(fmt::format("observation {} is always {}", o, range.low));
      if (std::max(-range.low, range.high) > 100)
        found_.hints.push_back(
            fmt::format("observation {} reaches {:.3g}: scale it, or train with --ppo.obs_normalization true", o,
                        std::max(-range.low, range.high)));
    }
    for (size_t o = 0; o < critic.size(); ++o)
      found_.observations.push_back(critic[o].as(fmt::format("critic observation {}", o)));
    found_.rewards.push_back(reward.as("reward"));
    found_.episodes = static_cast<double>(length.count);
    const ValueRange lengths = length.as("");
    found_.shortest = lengths.low, found_.longest = lengths.high, found_.mean_length = lengths.mean;
    add_terms(*all);
    if (length.count == 0)
      found_.hints.push_back(fmt::format("no episode ended in {} steps of random actions", plan_.steps));
  }

  // Adds the means per step of the reward terms, from the sums over ended episodes. Their sum must equal the reward.
  void add_terms(Bench& all) {
    std::vector<double> sums(episode_columns(all.spec)), scratch(sums.size() * 64);
    all.envs().take_episode_sums(all.queue(), sums.data(), scratch.data());
    const EpisodeSums episodes = read_episodes(sums.data(), all.spec);
    if (episodes.lost > 0)
      fault(fmt::format("{} environments were lost: a value of the state, an observation or the reward was not finite",
                        episodes.lost));
    if (episodes.length == 0) return;
    double total = 0, size = 0;
    for (size_t t = 0; t < episodes.terms.size(); ++t) {
      const double mean = episodes.terms[t] / episodes.length;
      found_.rewards.push_back({all.spec.reward_terms[t], 0, 0, mean});
      total += episodes.terms[t], size += std::abs(episodes.terms[t]);
    }
    if (!episodes.terms.empty() && std::abs(total - episodes.reward) > 1e-4 * (size + std::abs(episodes.reward)))
      fault(fmt::format("the reward terms add up to {:.6g}, but the reward to {:.6g}", total, episodes.reward));
  }

  // Checks that trajectories are identical if the environments are divided into parts of these sizes.
  void compare(const std::string& what, const MakeQueue& make_queue, const std::vector<int64_t>& counts) {
    const auto all = bench(available_isas().back());
    std::vector<std::unique_ptr<Bench>> parts;
    std::vector<int64_t> firsts;
    int64_t first = 0;
    for (int64_t count : counts) {
      parts.push_back(std::make_unique<Bench>(task_, config(first, count), make_queue()));
      firsts.push_back(first), first += count;
    }
    for (int64_t t = 0; t < steps_to_compare(); ++t) {
      all->step(t);
      for (size_t p = 0; p < parts.size(); ++p) {
        parts[p]->step(t);
        for (int64_t k = 0; k < counts[p]; ++k) {
          if (identical(parts[p]->outputs(k), all->outputs(firsts[p] + k))) continue;
          return fault(
              fmt::format("trajectories {} differ for the same actions, first in environment {} at step {}. A lane "
                          "must depend only on its own state, action and draws (and must not draw in while_any)",
                          what, firsts[p] + k, t));
        }
      }
    }
    found_.identical.push_back(what);
  }
  int64_t steps_to_compare() const { return std::min<int64_t>(plan_.steps, 300); }

  // Compares steps from the same floats and with the same draws. Skips a step if an episode ends in only one of the
  // two, which may happen at a threshold.
  void compare_with_double() {
    const auto all = bench(available_isas().back());
    EnvConfig in_double = config(0, plan_.num_envs);
    in_double.exact = true;
    Bench exact(task_, in_double, make_host_queue(available_isas().back()));
    const StateList from = state_of(*all), to = state_of(exact);
    const auto rows = static_cast<size_t>(plan_.num_envs);
    LargestDifference state("state", rows), obs("observations", rows), reward("reward", rows);
    std::vector<std::string> fields, actor, critic;
    for (const StateField& field : from) fields.push_back(field.name.substr(std::min<size_t>(10, field.name.size())));
    for (int o = 0; o < all->spec.obs_dim; ++o) actor.push_back(fmt::format("observation {}", o));
    for (int o = 0; o < all->spec.critic_obs_dim; ++o) critic.push_back(fmt::format("critic observation {}", o));
    const auto compare_rows = [&](const Array<float>& x, const Array<float>& y, const auto& names, size_t env) {
      for (size_t k = 0, at = env * names.size(); k < names.size(); ++k, ++at)
        obs.add(x[at], y[at], names[k], env, step_);
    };
    const auto compare_environment = [&](size_t env) {
      for (size_t f = 0; f < from.size(); ++f)
        if (from[f].name.starts_with("env/state/") && from[f].type == DType::f32)
          state.add(static_cast<const float*>(from[f].data)[env], static_cast<const float*>(to[f].data)[env], fields[f],
                    env, step_);
      compare_rows(all->obs, exact.obs, actor, env);
      compare_rows(all->critic_obs, exact.critic_obs, critic, env);
      reward.add(all->reward[env], exact.reward[env], "reward", env, step_);
    };
    step_ = 0;
    for (size_t env = 0; env < rows; ++env) compare_environment(env);  // the resets
    for (; step_ < steps_to_compare(); ++step_) {
      for (size_t f = 0; f < from.size(); ++f) to[f].write(from[f].read());
      all->step(step_), exact.step(step_);
      for (size_t env = 0; env < rows; ++env)
        if (all->terminated[env] == exact.terminated[env] && all->truncated[env] == exact.truncated[env])
          compare_environment(env);
      for (LargestDifference* each : {&state, &obs, &reward}) each->end_step();
    }
    for (LargestDifference* each : {&state, &obs, &reward}) {
      const Difference& found = found_.from_double.emplace_back(each->found());
      if (found.largest > kLargeDifference)
        found_.hints.push_back(
            fmt::format("float and double differ in the {} by up to {:.2g} ({}), and in {:.2g} % of the steps by more "
                        "than {}: this "
                        "is normal at a threshold; otherwise look for a small difference between large numbers",
                        found.what, found.largest, found.where, 100 * found.beyond, kLargeDifference));
    }
  }

  // Measures one core, with environments that fit its cache. The share of resets is estimated from the time of a reset
  // of all environments.
  Speed speed(Isa isa) const {
    using Clock = std::chrono::steady_clock;
    constexpr int64_t kEnvs = 2048;
    Bench all(task_, config(0, kEnvs), make_host_queue(isa));
    const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
    all.choose(0);
    int64_t t = 0;
    double ended = 0;
    for (; t < 20; ++t) all.take(t);
    const auto start = Clock::now();
    int64_t rounds = 0;
    do {
      for (int k = 0; k < 10; ++k, ++t, ++rounds) {
        all.take(t);
        for (int64_t i = 0; i < kEnvs; i += 64) ended += all.ended(static_cast<size_t>(i));
      }
    } while (seconds(Clock::now() - start) < plan_.seconds);
    const double elapsed = seconds(Clock::now() - start);
    // Measures the time of one reset: resets all environments with the same function.
    StepRow row;
    std::vector<float> obs(static_cast<size_t>(kEnvs * all.spec.obs_dim)),
        critic(static_cast<size_t>(kEnvs * all.spec.critic_obs_dim));
    row.next_obs = obs.data(), row.next_critic_obs = critic.empty() ? nullptr : critic.data();
    const auto again = Clock::now();
    all.envs().reset(all.queue(), row, {});
    const double seconds_per_reset = seconds(Clock::now() - again) / static_cast<double>(kEnvs);
    return {isa, static_cast<double>(rounds * kEnvs) / elapsed,
            std::min(1.0, ended * 64 * seconds_per_reset / elapsed)};
  }

  const std::string task_;
  const EnvSetup& setup_;
  const CheckPlan plan_;
  TaskFindings found_;
  int64_t step_ = 0;
};

}  // namespace

TaskFindings check_task(std::string_view task, const EnvSetup& setup, const CheckPlan& plan) {
  return Checker(task, setup, plan).run();
}

}  // namespace drl
