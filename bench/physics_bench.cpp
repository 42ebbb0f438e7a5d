// Compares the cost of a robot's step in lanes with that of libmujoco.
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "bench.hpp"
#include "device/for_each.hpp"
#include "drl/lanes/philox.hpp"
#include "drl/physics/mujoco_model.hpp"
#include "physics_robots.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

constexpr const char* kHelp =
    "physics_bench: measures environment steps per second of robots' physics on one core, with random actions and\n"
    "resets. Compares lanes of AVX-512 and AVX2 (if available) with libmujoco, whose solver runs as the model's file\n"
    "asks (shipped) or to convergence as the lanes' solver does (converged). The variants take turns; results are\n"
    "medians of the thread's processor time.\n";

constexpr const char* kModels = "HalfCheetah, Ant, Walker2d, Hopper, Humanoid, HumanoidStandup, Swimmer, Go1 or G1";
#if DRL_HAS_GO1 && DRL_HAS_G1
constexpr const char* kMissing = "";
#else
constexpr const char* kMissing = " (this build lacks Go1 or G1: run tools/fetch_robots and build again)";
#endif

struct PhysicsBenchOptions {
  std::string model, json;
  int num_envs = 256;  // with 1024, all columns would map to the same sets of the first-level cache
  int pairs = 5;
  double seconds = 0.4;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("model", model, std::string(kModels) + "; default: all");
    v("json", json, "also write the results to this file");
    v("num_envs", num_envs, "environments in lanes", between(16, 1 << 20));
    v("pairs", pairs, "turns of each variant", at_least(1));
    v("seconds", seconds, "duration of each turn", unit("s"), at_least(0.01));
    v("help", help, "this text", letter('h'));
  }
};

// How a task steps its robot.
struct Task {
  const char *name, *file;
  int frame_skip;
  double noise;       // of initial states
  double low, high;   // bounds of qpos[2] beyond which an episode ends
  bool needs_forces;  // reads cfrc_ext
  // For robots that stand: the initial qpos, around whose angles the actuators' targets swing by `swing` rad.
  std::vector<double> start = {};
  double swing = 0;
  bool needs_sensors = false;

  double start_of(const mjModel& model, int k) const {
    return start.empty() ? model.qpos0[k] : start[static_cast<size_t>(k)];
  }
  // Returns the control for an action from -1 to 1.
  double control(const mjModel& model, int a, double action) const {
    if (start.empty()) return model.actuator_ctrlrange[2 * a + 1] * action;
    return start[static_cast<size_t>(7 + a)] + swing * action;
  }
};

constexpr int kActionRows = 16, kEpisode = 1000, kReferences = 64;

// Pseudorandom numbers from -1 to 1.
class Draws {
 public:
  double next() { return 2 * uniform01(random_bits(7, Purpose::benchmark, index_++, 0)[0]) - 1; }

 private:
  uint64_t index_ = 0;
};

// Environments in libmujoco, with one mjData each.
class Reference {
 public:
  Reference(const Task& task, const mjModel& model, bool is_converged)
      : task_(task), model_(mj_copyModel(nullptr, &model)) {
    if (is_converged) {
      model_->opt.solver = mjSOL_NEWTON, model_->opt.tolerance = 1e-14;
      model_->opt.iterations = 100, model_->opt.ls_iterations = 50;
    }
    for (int e = 0; e < kReferences; ++e) {
      data_.push_back(mj_makeData(model_.get()));
      begin(e);
      age_.push_back(e * kEpisode / kReferences);
    }
    for (int k = 0; k < kActionRows * model_->nu; ++k) actions_.push_back(draws_.next());
  }
  ~Reference() {
    for (mjData* data : data_) mj_deleteData(data);
  }
  double steps_per_second(double seconds) {
    const double start = thread_time();
    double steps = 0, now = start;
    while ((now = thread_time()) < start + seconds)
      for (int e = 0; e < kReferences; ++e, ++steps) step(e);
    return steps / (now - start);
  }

 private:
  void begin(int e) {
    mjData* d = data_[static_cast<size_t>(e)];
    mj_resetData(model_.get(), d);
    for (int k = 0; k < model_->nq; ++k) d->qpos[k] = task_.start_of(*model_, k) + task_.noise * draws_.next();
    for (int k = 0; k < model_->nv; ++k) d->qvel[k] = task_.noise * draws_.next();
  }
  void step(int e) {
    mjData* d = data_[static_cast<size_t>(e)];
    const double* action = &actions_[static_cast<size_t>(step_++ % kActionRows * model_->nu)];
    for (int a = 0; a < model_->nu; ++a) d->ctrl[a] = task_.control(*model_, a, action[a]);
    for (int k = 0; k < task_.frame_skip; ++k) mj_step(model_.get(), d);
    if (task_.needs_forces) mj_rnePostConstraint(model_.get(), d);
    int& age = age_[static_cast<size_t>(e)];
    if (++age < kEpisode && task_.low < d->qpos[2] && d->qpos[2] < task_.high) return;
    begin(e);
    age = 0;
  }

  Task task_;
  std::unique_ptr<mjModel, DeleteModel> model_;
  std::vector<mjData*> data_;
  std::vector<int> age_;
  std::vector<double> actions_;
  int64_t step_ = 0;
  Draws draws_;
};

// Environments in lanes.
template <class Robot>
class Lanes {
 public:
  Lanes(const Task& task, const mjModel& model, Isa isa, int64_t n)
      : task_(task), model_(model), queue_(make_host_queue(isa)), n_(n) {
    const auto rows = [&](int count) { return std::vector<float>(static_cast<size_t>(count * n)); };
    state_ = rows(Step::kNumbers), unsolved_ = rows(1);
    if (task.needs_forces) forces_ = rows(6 * Step::nbody);
    if (task.needs_sensors) sensors_ = rows(static_cast<int>(model.nsensordata));
    for (int k = 0; k < kActionRows; ++k) {
      actions_.push_back(rows(Step::nu));
      for (size_t i = 0; i < actions_.back().size(); ++i)
        actions_.back()[i] =
            static_cast<float>(task.control(model, static_cast<int>(i / static_cast<size_t>(n)), draws_.next()));
    }
    age_.resize(static_cast<size_t>(n));
    for (int64_t e = 0; e < n; ++e) begin(e), age_[static_cast<size_t>(e)] = static_cast<int>(e * kEpisode / n);
  }
  double steps_per_second(double seconds) {
    const double start = thread_time();
    double steps = 0, now = start;
    while ((now = thread_time()) < start + seconds) step(), steps += static_cast<double>(n_);
    steps_ += steps;
    return steps / (now - start);
  }
  // Returns the fraction of solutions that did not converge.
  double unsolved() const {
    double sum = 0;
    for (const float x : unsolved_) sum += static_cast<double>(x);
    return sum / (steps_ * task_.frame_skip * (Robot::template Physics<float>::kRungeKutta ? 4 : 1));
  }

 private:
  using Step = StepRobots<Robot>;

  float& number(int k, int64_t e) { return state_[static_cast<size_t>(k * n_ + e)]; }
  void begin(int64_t e) {
    for (int k = 0; k < Step::kNumbers; ++k) number(k, e) = 0;
    for (int k = 0; k < Step::nq; ++k)
      number(k, e) = static_cast<float>(task_.start_of(model_, k) + task_.noise * draws_.next());
    for (int k = 0; k < Step::nv; ++k) number(Step::nq + k, e) = static_cast<float>(task_.noise * draws_.next());
  }
  void step() {
    const std::vector<float>& actions = actions_[static_cast<size_t>(step_++ % kActionRows)];
    for_each(*queue_, n_,
             Step{n_, task_.frame_skip, state_.data(), actions.data(), nullptr,
                  task_.needs_forces ? forces_.data() : nullptr, unsolved_.data(),
                  task_.needs_sensors ? sensors_.data() : nullptr});
    for (int64_t e = 0; e < n_; ++e) {
      const double height = static_cast<double>(number(2, e));
      int& age = age_[static_cast<size_t>(e)];
      if (++age < kEpisode && task_.low < height && height < task_.high) continue;
      begin(e);
      age = 0;
    }
  }

  Task task_;
  const mjModel& model_;
  std::unique_ptr<Queue> queue_;
  int64_t n_;
  std::vector<float> state_, forces_, unsolved_, sensors_;
  std::vector<std::vector<float>> actions_;
  std::vector<int> age_;
  int64_t step_ = 0;
  double steps_ = 0;
  Draws draws_;
};

// Prints the robot's speeds, and adds their ratios to `all`.
template <class Robot>
void measure(nlohmann::ordered_json& all, const PhysicsBenchOptions& options, const Task& task) {
  if (!options.model.empty() && options.model != task.name) return;
  constexpr char kHere = 0;
  const auto model = load_model(find_model(task.file, &kHere));
  Reference shipped(task, *model, false), converged(task, *model, true);
  std::vector<Lanes<Robot>> lanes;
  std::vector<std::string> names;
  for (const Isa isa : compiled_isas())
    if (isa != available_isas().front() || compiled_isas().size() == 1)
      lanes.emplace_back(task, *model, isa, options.num_envs), names.emplace_back(name_of(isa));
  for (auto& robots : lanes) robots.steps_per_second(options.seconds);
  shipped.steps_per_second(options.seconds), converged.steps_per_second(options.seconds);
  std::vector<double> shipped_rates, converged_rates;
  std::vector<std::vector<double>> rates(lanes.size());
  std::vector<std::vector<double>> ratios(lanes.size()), converged_ratios(lanes.size());
  for (int k = 0; k < options.pairs; ++k) {
    shipped_rates.push_back(shipped.steps_per_second(options.seconds));
    for (size_t l = 0; l < lanes.size(); ++l) rates[l].push_back(lanes[l].steps_per_second(options.seconds));
    converged_rates.push_back(converged.steps_per_second(options.seconds));
    for (size_t l = 0; l < lanes.size(); ++l) {
      ratios[l].push_back(rates[l].back() / shipped_rates.back());
      converged_ratios[l].push_back(rates[l].back() / converged_rates.back());
    }
  }
  nlohmann::ordered_json& json = all[task.name];
  std::printf("%-12s libmujoco %8.0f steps/s as shipped, %8.0f converged\n", task.name, median(shipped_rates),
              median(converged_rates));
  using InFloat = typename Robot::template Physics<float>;
  std::printf("  %zu bytes of state and %zu bytes of scratch per lane\n", sizeof(typename InFloat::State),
              sizeof(typename InFloat::Work));
  for (size_t l = 0; l < lanes.size(); ++l) {
    std::printf("  %-10s %9.0f steps/s: %5.1f times (%.1f to %.1f), %5.1f converged; %.1e of solutions not converged\n",
                names[l].c_str(), median(rates[l]), median(ratios[l]), std::ranges::min(ratios[l]),
                std::ranges::max(ratios[l]), median(converged_ratios[l]), lanes[l].unsolved());
    json[names[l]] = {{"ratio", median(ratios[l])}, {"ratio_converged", median(converged_ratios[l])}};
  }
  json["ratio"] = median(ratios.back());
}

void run(const PhysicsBenchOptions& options) {
  if (!options.json.empty()) require_output("json", options.json);
  nlohmann::ordered_json json;
  measure<half_cheetah_robot>(json, options, {"HalfCheetah", "half_cheetah.xml", 5, 0.1, -1e3, 1e3, false});
  measure<ant_robot>(json, options, {"Ant", "ant.xml", 5, 0.1, 0.2, 1, true});
  measure<walker2d_robot>(json, options, {"Walker2d", "walker2d.xml", 4, 0.005, -1, 1, false});
  measure<hopper_robot>(json, options, {"Hopper", "hopper.xml", 4, 0.005, -0.2, 0.2, false});
  measure<humanoid_robot>(json, options, {"Humanoid", "humanoid.xml", 5, 0.01, 1, 2, true});
  measure<humanoid_standup_robot>(json, options, {"HumanoidStandup", "humanoid_standup.xml", 5, 0.01, -1e3, 1e3, true});
  measure<swimmer_robot>(json, options, {"Swimmer", "swimmer.xml", 4, 0.1, -1e3, 1e3, false});
#if DRL_HAS_GO1
  const std::vector<double> go1 = {0,    0,   0.3,  1,   0,   0,    0,    0.1, 0.9, -1.8,
                                   -0.1, 0.9, -1.8, 0.1, 0.9, -1.8, -0.1, 0.9, -1.8};
  measure<go1_robot>(json, options, {"Go1", "go1.xml", 4, 0.02, 0.12, 1, false, go1, 0.37, true});
#endif
#if DRL_HAS_G1
  std::vector<double> g1(36);  // the start of its task
  g1[2] = 0.76, g1[3] = 1, g1[22] = g1[23] = g1[29] = 0.2, g1[30] = -0.2, g1[25] = g1[32] = 0.6;
  for (const size_t leg : {7u, 13u}) g1[leg] = -0.312, g1[leg + 3] = 0.669, g1[leg + 4] = -0.363;
  measure<g1_robot>(json, options, {"G1", "g1.xml", 4, 0.02, 0.4, 1.2, false, g1, 0.5, true});
#endif
  if (json.empty())
    throw UsageError("--model " + options.model + " is unknown (it is not one of the benchmark's robots): " + kModels +
                     kMissing);
  if (options.json.empty()) return;
  std::ofstream file(options.json);
  file << json.dump(1) << "\n" << std::flush;
  if (!file) throw UsageError(options.json + " cannot be written: name another --json");
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) {
  return drl::bench_main(argc, argv, drl::kHelp, drl::PhysicsBenchOptions{}, drl::run);
}
