// Compares robots' tasks in lanes, in double, with the same tasks on libmujoco, whose solver runs to convergence.
// Include this header after those of the compiled physics and before those of the tasks.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "drl/physics/mujoco.hpp"

namespace drl {
namespace {

constexpr uint64_t kSeed = 11;

double tolerance = 1e-9;

// Expects |a - b| <= tolerance (1 + |b|).
void expect_same(double a, double b, const char* what, int k) {
  ASSERT_LE(std::abs(a - b), tolerance * (1 + std::abs(b))) << what << " " << k << ": " << a << " and " << b;
}
void expect_same(const double* a, const double* b, int n, const char* what) {
  for (int k = 0; k < n; ++k) ASSERT_NO_FATAL_FAILURE(expect_same(a[k], b[k], what, k));
}

// Returns the numbers of a State.
template <class S>
std::vector<double> numbers_of(S& state) {
  std::vector<double> numbers;
  auto number = [&](auto& x) { numbers.push_back(static_cast<double>(x)); };
  auto member = [&](const char*, auto& m) { each_number(m, number); };
  state.describe(member);
  return numbers;
}

// One environment on libmujoco and one in lanes, which take the same steps. InLanes is PhysicsTask<Task> or
// RandomisedTask<Task>, whose model has other numbers after each reset.
template <template <class> class Task, class InLanes = PhysicsTask<Task>>
class Pair {
 public:
  using Reference = Task<MujocoRobot>;
  using Lanes = typename InLanes::template Of<double>;
  static constexpr int kObs = Reference::obs_dim;

  using Params = robot::Params<Reference>;

  // If a network is given, it drives all motors that it can.
  explicit Pair(const Params& params = {}, const typename Lanes::Params& lanes_params = {},
                const MotorNetwork* network = nullptr)
      : model_(load_model(find_model(Reference::model, &kHere), heights_of(params))),
        network_(network),
        params_(params),
        lanes_params_(lanes_params) {
    const auto memory = static_cast<size_t>(network ? model_->nu * network->memory : 0);
    motors_.resize(memory), lanes_motors_.resize(memory);
    model_->opt.solver = mjSOL_NEWTON, model_->opt.tolerance = 1e-26;
    model_->opt.iterations = 100, model_->opt.ls_iterations = 50;
    robot_ = std::make_unique<MujocoRobot>(*model_, Reference::model.frame_skip);
    PartFinder find(*model_, "");
    parts_.find(find);
    draw_model();
    Scratch<Lanes> scratch = new_scratch();
    Draws<double> draws(kSeed, 0, 0, Purpose::create), same(kSeed, 0, 0, Purpose::create);
    robot::create<Reference>(state_, *robot_, draws, parts_, params_);
    task::create<Lanes, double>(lanes_, scratch, same, lanes_params_);
  }

  void reset(uint64_t step) {
    Scratch<Lanes> scratch = new_scratch();
    std::ranges::fill(motors_, 0);
    Draws<double> draws(kSeed, 0, step), same(kSeed, 0, step);
    robot_->reset();
    draw_model();
    robot::apply<Reference>(state_, *robot_, parts_, params_);
    robot::reset<Reference>(state_, *robot_, draws, parts_, params_);
    task::reset<Lanes, double>(lanes_, scratch, same, lanes_params_);
    ASSERT_NO_FATAL_FAILURE(expect_same_state());
    expect_same_observation(scratch, step);
  }

  // Takes a step in both environments from the reference's state. Returns whether the episode continues.
  bool step(uint64_t step) {
    set_lanes();
    double action[Reference::action.size];
    for (int a = 0; a < Reference::action.size; ++a)
      action[a] =
          static_cast<double>(2 * uniform01(random_bits(kSeed, Purpose::benchmark, step, 0, a)[0]) - 1) * most_action();
    Scratch<Lanes> scratch = new_scratch();
    Draws<double> draws(kSeed, 0, step, Purpose::step), same(kSeed, 0, step, Purpose::step);
    if constexpr (Lanes::kModelNumbers > 0) robot_->push(draws.of(Purpose::model), pushes_.data());
    const auto expected = robot::step<Reference>(state_, *robot_, action, draws, parts_, params_);
    const auto actual = task::step<Lanes, double>(lanes_, scratch, action, same, lanes_params_);
    compare(scratch, actual, expected, step);
    return !expected.terminated && !(end_count<Reference>() > 0 && expected.ends[0]) &&
           !testing::Test::HasFatalFailure();
  }

 private:
  Scratch<Lanes> new_scratch() {
    Scratch<Lanes> scratch;
    scratch.robot.drive(network_, lanes_motors_.data(), 1);
    return scratch;
  }
  // Draws numbers of the model, the same for both.
  void draw_model() {
    if constexpr (Lanes::kModelNumbers > 0) {
      parameters_ = randomisable(*model_);
      controls_.resize(static_cast<size_t>(model_->nu)), pushes_.resize(kPushDirection * parameters_.size());
      ASSERT_EQ(3 * parameters_.size(), static_cast<size_t>(Lanes::kModelNumbers));
      changed_.clear(), drawn_.clear();
      for (size_t p = 0; p < parameters_.size(); ++p) {
        const ModelParameter::Kind kind = parameters_[p].kind;
        changed_.push_back(p);
        for (int k = 0; k < 3; ++k) {
          const auto u = static_cast<double>(
              uniform01(random_bits(kSeed, Purpose::model, static_cast<uint64_t>(drawn_.size()), ++draws_)[0]));
          double x = 0.7 + 0.6 * u;
          if (kind == ModelParameter::center_of_mass) x = 0.02 * (2 * u - 1);
          if (kind == ModelParameter::gravity) x = 2 * u - 1;
          if (kind == ModelParameter::mass && k > 0)
            x = k == 1 ? 0.3 * u * model_->body_mass[parameters_[p].index] : 0.6 * (u - 0.5);
          if (kind == ModelParameter::motor && k < 2) x = motor(parameters_[p].index, k, u);
          if (kind == ModelParameter::push)  // light bodies would fly away
            x = k == 0 ? (is_root(*model_, parameters_[p].index) ? 30 : 3) * u
                       : Reference::dt * (k == 1 ? 3 + 8 * u : 1 + 2 * u);
          if (kind == ModelParameter::motor && k == 2) x = (Reference::model.frame_skip + 1) * u;
          if (kind == ModelParameter::push_torque) x = (is_root(*model_, parameters_[p].index) ? 5 : 0.5) * u;
          if (kind == ModelParameter::network) x = network_ ? 0 : k == 0 ? x : 2 * u - 1;
          if (kind == ModelParameter::range && k == 1) x = 0.1 * (2 * u - 1);
          if (kind == ModelParameter::site_position) x = 0.02 * (2 * u - 1);
          if (kind == ModelParameter::site_turn) x = 0.2 * (2 * u - 1);
          drawn_.push_back(x);
        }
      }
      std::copy(drawn_.begin(), drawn_.end(), lanes_.drawn.numbers);
      Lanes::derive_model(lanes_);
      derived_.resize(count_derived(*model_));
      robot_->derive(parameters_, changed_, drawn_.data(), derived_.data());
      robot_->randomise(parameters_, changed_, drawn_.data(), derived_.data(), controls_.data());
      robot_->drive(network_, motors_.data());
    }
  }
  // Lays the ground of a task that has one in lanes, and returns it for the reference.
  static std::vector<FieldHeights> heights_of([[maybe_unused]] const Params& params) {
    if constexpr (HasTerrain<Params>) {
      using Physics = typename Lanes::Physics;
      set_terrain<Physics>(params.terrain);
      return {drl::heights_of<Physics>(0)};
    }
    return {};
  }
  // Returns a stall torque (k = 0) or a no-load speed. A line between them that falls steeply would make the explicit
  // time step of a light robot unstable.
  double motor(int actuator, int k, double u) const {
    const bool is_limited = model_->actuator_forcelimited[actuator];
    if (k == 0) return (is_limited ? model_->actuator_forcerange[2 * actuator + 1] : 0.7) * (0.7 + u);
    return (is_limited ? 5 + 20 * u : 10 + 30 * u) * model_->actuator_gear[6 * actuator];
  }
  static double most_action() {
    if constexpr (requires { Reference::action.high; })
      return static_cast<double>(Reference::action.high);
    else
      return 2;  // an action without bounds
  }
  template <class Actual, class Expected>
  void compare(const Scratch<Lanes>& scratch, const Actual& actual, const Expected& expected, uint64_t step) {
    ASSERT_NO_FATAL_FAILURE(expect_same(actual.reward, expected.reward, "reward", 0));
    ASSERT_NO_FATAL_FAILURE(expect_same(actual.terms, expected.terms, reward_term_count<Reference>(), "term"));
    ASSERT_NO_FATAL_FAILURE(expect_same(actual.metrics, expected.metrics, metric_count<Reference>(), "metric"));
    ASSERT_EQ(actual.metrics[metric_count<Reference>()], 0) << "solutions that did not converge";
    ASSERT_EQ(actual.terminated, expected.terminated);
    for (int k = 0; k < end_count<Reference>(); ++k) ASSERT_EQ(actual.ends[k], expected.ends[k]);
    ASSERT_EQ(scratch.robot.lacking(), nullptr);
    ASSERT_NO_FATAL_FAILURE(expect_same_state());
    expect_same_observation(scratch, step);
  }
  void set_lanes() {
    std::vector<double> all(static_cast<size_t>(robot_->state_size()));
    robot_->save(all.data());
    auto& physics = lanes_.physics;
    for (int k = 0; k < robot_->nq(); ++k) physics.qpos[k] = robot_->qpos(k);
    for (int k = 0; k < robot_->nv(); ++k) {
      physics.qvel[k] = robot_->qvel(k);
      physics.warm_start[k] = all[static_cast<size_t>(mj_stateSize(model_.get(), mjSTATE_WARMSTART - 1) + k)];
    }
    physics.time = robot_->time();
    const std::vector<double> task_state = numbers_of(state_);
    size_t at = 0;
    auto number = [&](auto& x) { x = task_state[at++]; };
    auto member = [&](const char*, auto& m) { each_number(m, number); };
    lanes_.task.describe(member);
  }
  void expect_same_state() {
    const auto& physics = lanes_.physics;
    for (int k = 0; k < robot_->nq(); ++k)
      ASSERT_NO_FATAL_FAILURE(expect_same(physics.qpos[k], robot_->qpos(k), "qpos", k));
    for (int k = 0; k < robot_->nv(); ++k)
      ASSERT_NO_FATAL_FAILURE(expect_same(physics.qvel[k], robot_->qvel(k), "qvel", k));
    ASSERT_NO_FATAL_FAILURE(expect_same(physics.time, robot_->time(), "time", 0));
    const std::vector<double> actual = numbers_of(lanes_.task), expected = numbers_of(state_);
    expect_same(actual.data(), expected.data(), static_cast<int>(actual.size()), "state");
  }
  void expect_same_observation(const Scratch<Lanes>& scratch, uint64_t step) {
    double actual[kObs], expected[kObs];
    Draws<double> draws(kSeed, 0, step, Purpose::observe), same(kSeed, 0, step, Purpose::observe);
    robot::observe<Reference>(state_, *robot_, draws, parts_, params_, &expected[0]);
    task::observe<Lanes, double>(lanes_, scratch, same, lanes_params_, actual);
    ASSERT_NO_FATAL_FAILURE(expect_same(actual, expected, kObs, "observation"));
    constexpr int kCriticObs = critic_obs_dim_of<Reference>();
    if constexpr (kCriticObs > 0) {
      double actual_critic[kCriticObs], expected_critic[kCriticObs];
      robot::observe_critic<Reference>(state_, *robot_, parts_, params_, &expected_critic[0]);
      task::observe_critic<Lanes, double>(lanes_, scratch, lanes_params_, actual_critic);
      expect_same(actual_critic, expected_critic, kCriticObs, "critic observation");
    }
  }

  static constexpr char kHere = 0;
  std::unique_ptr<mjModel, DeleteModel> model_;
  std::unique_ptr<MujocoRobot> robot_;
  std::vector<ModelParameter> parameters_;
  std::vector<size_t> changed_;
  std::vector<double> drawn_, derived_, controls_, pushes_;
  const MotorNetwork* network_;
  std::vector<double> motors_, lanes_motors_;  // memory of the motors
  uint64_t draws_ = 0;
  robot::Parts<Reference> parts_{};
  Params params_{};
  robot::State<Reference> state_{};
  typename Lanes::State lanes_{};
  typename Lanes::Params lanes_params_{};
};

template <template <class> class Task, class InLanes = PhysicsTask<Task>>
void expect_equal_steps(Pair<Task, InLanes> pair = Pair<Task, InLanes>()) {
  int age = 0;
  ASSERT_NO_FATAL_FAILURE(pair.reset(0));
  for (uint64_t step = 1; step <= 3000; ++step) {
    const bool continues = pair.step(step);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "at step " << step << ", age " << age;
    if (++age < 200 && continues) continue;
    ASSERT_NO_FATAL_FAILURE(pair.reset(step)) << "reset at step " << step;
    age = 0;
  }
}

}  // namespace
}  // namespace drl
