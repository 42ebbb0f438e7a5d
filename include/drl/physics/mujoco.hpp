// Wraps a robot's task as a simulator (drl/simulator.hpp), whose physics is libmujoco's (drl/physics/mujoco_robot.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drl/physics/model_id.hpp"
#include "drl/physics/mujoco_robot.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "drl/physics/shared_heights.hpp"
#include "drl/physics/task.hpp"
#include "drl/physics/terrain_picture.hpp"
#include "drl/simulator.hpp"
#include "drl/task/exact.hpp"

namespace drl {

// An output for observe() that records which numbers are written.
class ObservationProbe {
 public:
  class Number {
   public:
    Number(ObservationProbe& probe, std::ptrdiff_t at) : probe_(probe), at_(at) {}
    Number& operator=(double) {
      if (at_ >= std::ssize(probe_.written_)) probe_.written_.resize(static_cast<size_t>(at_) + 1);
      probe_.written_[static_cast<size_t>(at_)] = true;
      return *this;
    }
    void operator+=(double) const {}
    operator double() const { return 0; }

   private:
    ObservationProbe& probe_;
    std::ptrdiff_t at_;
  };
  // Behaves like a pointer to numbers.
  class Out {
   public:
    explicit Out(ObservationProbe& probe) : probe_(&probe) {}
    Number operator*() const { return {*probe_, at_}; }
    Number operator[](std::ptrdiff_t k) const { return {*probe_, at_ + k}; }
    Out& operator++() { return at_ += 1, *this; }
    Out operator++(int) { return std::exchange(*this, *this + 1); }
    Out operator+(std::ptrdiff_t k) const {
      Out other = *this;
      other.at_ += k;
      return other;
    }
    Out& operator+=(std::ptrdiff_t k) { return *this = *this + k; }

   private:
    ObservationProbe* probe_;
    std::ptrdiff_t at_ = 0;
  };

  Out begin() { return Out(*this); }
  int size() const { return static_cast<int>(written_.size()); }  // one more than the largest index written
  bool has_gaps() const { return std::find(written_.begin(), written_.end(), false) != written_.end(); }

 private:
  std::vector<bool> written_;
};

// Wraps a robot's task as a simulator with all environments of a rank. Their states are kept in arrays. Each thread has
// one robot, which is loaded from the arrays before a step; the observation that follows uses the robot as the step
// left it.
template <template <class> class Task>
class MujocoTask : public Task<MujocoRobot> {
 public:
  using Definition = Task<MujocoRobot>;
  using Params = robot::Params<Definition>;
  using Result = Step<float, reward_term_count<Definition>(), metric_count<Definition>(), end_count<Definition>()>;
  static_assert(!Definition::action.discrete, "a robot's action must be continuous");

  // Throws std::invalid_argument if the model or, unless this is a probe of the model alone, a file that Params names
  // cannot be used.
  MujocoTask(const SimulatorConfig& config, const Params& params, bool is_probe = false)
      : file_(config.robot ? file_of(config.robot->model) : model_file()),
        model_(load_model(file_)),
        files_(model_id(*model_, file_)),
        frame_skip_(config.robot ? config.robot->frame_skip : Definition::model.frame_skip),
        num_envs_(config.num_envs),
        network_(config.robot ? config.robot->motor_network : nullptr),
        ranges_(*model_, frame_skip_, ranges_of(config.robot)),
        model_per_episode_(config.robot && config.robot->model_per_episode != 0) {
    lay_ground(params, is_probe);
    if constexpr (kPrepares<Params>)
      if (!is_probe) params.prepare(file_);
    MujocoRobot robot(*model_, frame_skip_);
    check(robot);
    PartFinder find(*model_, file_);
    parts_.find(find);
    check_observations(robot, params);
    check_reset(robot, params);
    state_size_ = robot.state_size();
    physics_.resize(static_cast<size_t>(num_envs_ * state_size_));
    size_t described = 0;
    auto member = [&](const char* name, auto& numbers) {
      size_t count = 0;
      auto number = [&](auto&) { count += 1; };
      each_number(numbers, number);
      described += sizeof(numbers);
      columns_.push_back({name, count, std::vector<double>(static_cast<size_t>(num_envs_) * count)});
    };
    auto state = robot::state_of<Definition>();
    state.describe(member);
    for (size_t p = 0; p < ranges_.parameters().size(); ++p)
      if (ranges_.changes(p)) changed_.push_back(p);
    if (network_) motor_memory_.resize(static_cast<size_t>(num_envs_) * motor_memory_size());
    if (!changed_.empty()) {
      drawn_.resize(static_cast<size_t>(num_envs_) * drawn_size());
      derived_.resize(static_cast<size_t>(num_envs_) * count_derived(*model_));
      controls_.resize(static_cast<size_t>(num_envs_) * Definition::action.size);
      pushes_.resize(static_cast<size_t>(num_envs_) * pushes_size());
    }
    constexpr size_t kAlignment = alignof(State);
    if (!std::is_empty_v<State> && (described + kAlignment - 1) / kAlignment * kAlignment != sizeof(State))
      throw std::invalid_argument(std::string("task ") + Definition::name +
                                  " has members of State that State::describe does not visit, which would be lost "
                                  "after each step: make describe visit every member once");
  }

  void create(int64_t env, Draws<float>& draws, const Params& params) {
    auto state = robot::state_of<Definition>();
    Draws<double> numbers(draws);
    draw_model(env, draws);
    this->robot().reset();
    forget_motors(env), randomise(env);
    robot::create<Definition>(state, this->robot(), numbers, parts_, params);
    store(env, state);
  }
  void reset(int64_t env, Draws<float>& draws, const Params& params) {
    MujocoRobot& robot = this->robot();
    auto state = load(env);
    Draws<double> numbers(draws);
    if (model_per_episode_) draw_model(env, draws);
    robot.reset();
    forget_motors(env), randomise(env);
    robot::apply<Definition>(state, robot, parts_, params);
    robot::reset<Definition>(state, robot, numbers, parts_, params);
    robot.save(physics(env));
    store(env, state);
  }
  Result step(int64_t env, const float* action, Draws<float>& draws, const Params& params) {
    MujocoRobot& robot = this->robot();
    auto state = load(env);
    Draws<double> numbers(draws);
    double controls[Definition::action.size];
    for (int a = 0; a < Definition::action.size; ++a) controls[a] = static_cast<double>(action[a]);
    robot.load(physics(env));
    randomise(env);
    if (!drawn_.empty()) robot.push(numbers.of(Purpose::model), &pushes_[static_cast<size_t>(env) * pushes_size()]);
    robot::apply<Definition>(state, robot, parts_, params);
    const auto result = robot::step<Definition>(state, robot, controls, numbers, parts_, params);
    robot.save(physics(env));
    store(env, state);
    return as_floats(result);
  }
  void observe(int64_t env, Draws<float>& draws, const Params& params, float* obs) {
    double observation[max_obs_dim_of<Definition>()] = {};
    Draws<double> numbers(draws);
    robot::observe<Definition>(load(env), this->robot(), numbers, parts_, params, &observation[0]);
    for (int o = 0; o < max_obs_dim_of<Definition>(); ++o) obs[o] = static_cast<float>(observation[o]);
    if (const std::string why = robot().why_diverged(); !why.empty()) {
      obs[0] = std::numeric_limits<float>::quiet_NaN();  // marks the environment as lost
      if (!warned_.test_and_set())
        std::fprintf(stderr, "drl: an environment of %s was lost; MuJoCo's warning: %s\n", Definition::name,
                     why.c_str());
    }
  }
  void observe_critic(int64_t env, const Params& params, float* obs) {
    if constexpr (critic_obs_dim_of<Definition>() > 0) {
      double observation[critic_obs_dim_of<Definition>()] = {};
      robot::observe_critic<Definition>(load(env), this->robot(), parts_, params, &observation[0]);
      for (int o = 0; o < critic_obs_dim_of<Definition>(); ++o) obs[o] = static_cast<float>(observation[o]);
    }
  }

  const char* files() const { return files_.c_str(); }

  // Becomes RobotRecord::bounds (drl/task/abi.hpp).
  static int32_t model_bounds(const RobotChoice* choice, float* bounds, int64_t size, char* error, int64_t error_size) {
    return with_error_code(error, error_size, [&] {
      const auto model = load_model(file_of(choice->model));
      const ModelRanges ranges(*model, choice->frame_skip, ranges_of(choice));
      if (size != static_cast<int64_t>(ranges.bounds().size()))
        throw std::invalid_argument(std::string("the model of ") + Definition::name +
                                    " is not the one that was compiled: build its library again");
      std::copy(ranges.bounds().begin(), ranges.bounds().end(), bounds);
    });
  }

  // The same task on physics in lanes. look() checks whether the compiled physics can be used; it becomes
  // RobotRecord::inspect (drl/task/abi.hpp).
  using InLanes = PhysicsTask<Task>;
  using Randomised = RandomisedTask<Task>;
  static int32_t look(const RobotChoice* choice, RobotFacts* facts, char* error, int64_t error_size) {
    Params params{};
    if constexpr (HasTerrain<Params>) params.terrain.rows = params.terrain.columns = 1;  // any will do
    std::string why_not;
    bool is_mistaken = false;
    const int32_t code = with_error_code(error, error_size, [&] {
      const MujocoTask task({.num_envs = 1, .first_global_index = 0, .seed = 0, .robot = choice}, params, true);
      facts->dt = task.model_->opt.timestep * task.frame_skip_;
      facts->iterations = task.model_->opt.iterations;
      facts->in_double = steps_in_double<Task>() ? 1 : 0;
      std::snprintf(facts->file, sizeof(facts->file), "%s", task.file_.c_str());
      std::snprintf(facts->id, sizeof(facts->id), "%s", task.files_.c_str());
      std::snprintf(facts->mujoco, sizeof(facts->mujoco), "%s%s", version_text(mjVERSION_HEADER).c_str(),
                    uses_multiccd(*task.model_) ? " with multiccd" : "");
      why_not = task.why_not_in_lanes(), is_mistaken = task.is_mistaken(*choice);
      if constexpr (!RandomisedModel<Task>::is_compiled)
        if (why_not.empty() && !ranges_of(choice).empty()) why_not = RandomisedModel<Task>::why_not;
    });
    if (code != 0) return 2;
    std::snprintf(error, static_cast<size_t>(error_size), "%s", why_not.c_str());
    return why_not.empty() ? 0 : is_mistaken ? 3 : 1;
  }
  // Lays the ground of the task on compiled physics, or reads its files, with these bytes of its Params
  // (RobotRecord::prepare).
  static int32_t prepare_lanes([[maybe_unused]] const void* params, char* error, int64_t error_size) {
    return with_error_code(error, error_size, [&] {
      if constexpr (HasTerrain<Params> && !kNotCompiled<InLanes::template Of>) {
        const auto& ground = static_cast<const typename InLanes::template Of<float>::Params*>(params)->terrain;
        set_terrain<typename CompiledModel<Task>::template Physics<float>>(ground);
      }
      if constexpr (kPrepares<Params> && !kNotCompiled<InLanes::template Of>)
        static_cast<const typename InLanes::template Of<float>::Params*>(params)->prepare(model_file());
    });
  }
  // Returns the path of the task's default model file.
  static std::string model_file() { return find_model(Definition::model, origin()); }

  template <class V>
  void visit_state(V& visit) {
    visit("physics", physics_.data(), state_size_);
    if (!drawn_.empty()) {
      visit("model", drawn_.data(), static_cast<int64_t>(drawn_size()));
      visit("model_constants", derived_.data(), static_cast<int64_t>(count_derived(*model_)));
      visit("controls", controls_.data(), Definition::action.size);
      visit("pushes", pushes_.data(), static_cast<int64_t>(pushes_size()));
    }
    if (!motor_memory_.empty()) visit("motors", motor_memory_.data(), static_cast<int64_t>(motor_memory_size()));
    for (Column& column : columns_) visit(column.name, column.numbers.data(), static_cast<int64_t>(column.count));
  }
  template <class AnyCanvas>
  void draw(int64_t env, const Params& params, AnyCanvas& canvas) {
    canvas.model(file_.c_str(), physics(env) + 1, model_->nq);  // qpos follows the time
    for (int k = 0; k < model_->nhfield; ++k) canvas.heights(heights_of(*model_, k));
    robot::draw<Definition>(load(env), params, canvas);
  }

 private:
  using State = robot::State<Definition>;
  using Parts = robot::Parts<Definition>;
  static constexpr bool any_frame_skip() {
    if constexpr (requires { Definition::any_frame_skip; }) return Definition::any_frame_skip;
    return false;
  }
  static std::string ranges_of(const RobotChoice* choice) { return choice && choice->ranges ? choice->ranges : ""; }
  size_t drawn_size() const { return 3 * ranges_.parameters().size(); }
  size_t pushes_size() const { return kPushDirection * ranges_.parameters().size(); }
  // Draws the numbers of the environment's model: the same as in lanes.
  void draw_model(int64_t env, const Draws<float>& draws) {
    Draws<float> numbers = draws.of(Purpose::model);
    const float* bounds = ranges_.bounds().data();
    for (size_t k = 0; k < drawn_size() && !drawn_.empty(); ++k)
      drawn_[static_cast<size_t>(env) * drawn_size() + k] =
          static_cast<double>(numbers.uniform(bounds[2 * k], bounds[2 * k + 1]));
    if (!drawn_.empty()) robot().derive(ranges_.parameters(), changed_, drawn_of(env), derived_of(env));
  }
  const double* drawn_of(int64_t env) const { return &drawn_[static_cast<size_t>(env) * drawn_size()]; }
  double* derived_of(int64_t env) { return &derived_[static_cast<size_t>(env) * count_derived(*model_)]; }
  void randomise(int64_t env) {
    if (!drawn_.empty())
      robot().randomise(ranges_.parameters(), changed_, drawn_of(env), derived_of(env),
                        &controls_[static_cast<size_t>(env) * Definition::action.size]);
    robot().drive(network_, memory_of_motors(env));
  }
  size_t motor_memory_size() const { return static_cast<size_t>(Definition::action.size * network_->memory); }
  double* memory_of_motors(int64_t env) {
    return motor_memory_.empty() ? nullptr : &motor_memory_[static_cast<size_t>(env) * motor_memory_size()];
  }
  void forget_motors(int64_t env) {
    if (double* memory = memory_of_motors(env)) std::fill_n(memory, motor_memory_size(), 0.0);
  }
  static std::string file_of(const std::string& model) {
    return model == Definition::model.file ? model_file() : find_model(model, origin());
  }
  static ModelOrigin origin() {
    ModelOrigin origin{.here = &kHere, .header = TaskHeader<Task>::file};
    if constexpr (CompiledModel<Task>::is_compiled) origin.id = CompiledModel<Task>::id;
    return origin;
  }
  // Returns whether the task's own model was compiled, but the file that was found is another model. Models that the
  // user names, or that a directory of DRL_MODELS has, may differ.
  bool is_mistaken(const RobotChoice& choice) const {
    if constexpr (!CompiledModel<Task>::is_compiled) return false;
    const std::string own = Definition::model.file;
    return own == choice.model && !is_in_listed_directory(own) && !is_same_model(files_, origin().id);
  }
  // Returns why lanes cannot be used, or "".
  std::string why_not_in_lanes() const {
    if constexpr (!CompiledModel<Task>::is_compiled) {
      return CompiledModel<Task>::why_not;
    } else {
      if (!is_same_model(files_, CompiledModel<Task>::id))
        return file_ + " differs from the model that was compiled: " + files_ + ", compiled " + CompiledModel<Task>::id;
      if (frame_skip_ != Definition::model.frame_skip)
        return "it was compiled for frame skip " + std::to_string(Definition::model.frame_skip) + ", not " +
               std::to_string(frame_skip_);
      if (const physics::LackingSensor* sensor = lacking_sensor<Task>())
        return std::string("it uses the sensor '") + sensor->name + "', which drl_robot cannot compile (" +
               sensor->why + ")";
      using Compiled = typename CompiledModel<Task>::template Physics<float>;
      if (!HasTerrain<Params> || !has_heights<Compiled>()) load_heights<Compiled>(*model_);
      const char* lacking = ExactLoops<InLanes::template Of>::lacking();
      return lacking ? std::string("it uses a feature that lanes do not provide: ") + lacking : "";
    }
  }
  // Loads the model again, with the task's ground if it has one. files_ stays the id of the file's own model.
  void lay_ground([[maybe_unused]] const Params& params, [[maybe_unused]] bool is_probe) {
    if constexpr (HasTerrain<Params>) {
      const TerrainHeights ground(params.terrain, is_probe ? TerrainPicture{} : read_terrain_picture(params.terrain));
      FieldHeights heights{0, ground.rows, ground.columns, {}, ground.heights.data()};
      std::copy_n(ground.size, 4, heights.size);
      model_ = load_model(file_, {heights});
    }
  }
  // One member of State, for all environments. Int<F> is stored as double too.
  struct Column {
    const char* name;
    size_t count;
    std::vector<double> numbers;  // [num_envs, count]
  };

  static constexpr const char* kMakeEqual =
      "make the two numbers equal; a robot with other joints or actuators needs a task of its own (examples/own_robot, "
      "docs/reference/robots.md)";

  void check(MujocoRobot& robot) const {
    const auto fail = [&](const std::string& problem) { throw std::invalid_argument(file_ + " " + problem); };
    const std::string action_size = std::to_string(Definition::action.size);
    if (robot.nu() == 0)
      fail("has no actuator (the task " + std::string(Definition::name) + " has actions of size " + action_size +
           "): " + kMakeEqual);
    if (robot.nu() != Definition::action.size)
      fail("has " + std::to_string(robot.nu()) + " actuators (the task " + Definition::name + " has actions of size " +
           action_size + "): " + kMakeEqual);
    if (!(robot.timestep() > 0))
      fail("has a time step of " + std::to_string(robot.timestep()) + " s: give <option timestep=...> a value above 0");
    if (!any_frame_skip() && std::abs(robot.dt() - Definition::dt) > 1e-9 * robot.dt())
      fail("has a time step of " + std::to_string(robot.timestep()) + " s (with a frame skip of " +
           std::to_string(frame_skip_) + " this is not the task's dt of " + std::to_string(Definition::dt) +
           " s): make them agree");
    const double controls[Definition::action.size] = {};
    robot.advance(controls);
    if (robot.diverged())
      fail("diverges in its first step (numbers are not finite or too large): check its masses and positions");
  }

  // Throws std::invalid_argument unless observe writes each of the obs_dim numbers, and no others, for this model.
  void check_observations(MujocoRobot& robot, const Params& params) const {
    robot.reset();
    robot.forward();
    const auto state = robot::state_of<Definition>();
    const auto check = [&](const ObservationProbe& probe, const char* name, int dim) {
      if (probe.size() != dim || probe.has_gaps())
        throw std::invalid_argument(std::string("task ") + Definition::name + " observes " +
                                    std::to_string(probe.size()) + " numbers" +
                                    (probe.has_gaps() ? ", with gaps," : "") + " of " + file_ + ", but its " + name +
                                    " is " + std::to_string(dim) + ": " + kMakeEqual);
    };
    Draws<double> draws(0, 0, 0, Purpose::observe);
    ObservationProbe actor;
    robot::observe<Definition>(state, robot, draws, parts_, params, actor.begin());
    int dim = Definition::obs_dim;
    if constexpr (kObsDimVaries<Definition>) dim = Definition::obs_dim_with(params);
    check(actor, "obs_dim", dim);
    if constexpr (critic_obs_dim_of<Definition>() > 0) {
      ObservationProbe critic;
      robot::observe_critic<Definition>(state, robot, parts_, params, critic.begin());
      check(critic, "critic_obs_dim", critic_obs_dim_of<Definition>());
    }
  }

  // Throws what reset() throws, such as an unknown keyframe, before the run begins.
  void check_reset(MujocoRobot& robot, const Params& params) const {
    robot.reset();
    auto state = robot::state_of<Definition>();
    Draws<double> draws(0, 0, 0);
    robot::create<Definition>(state, robot, draws, parts_, params);
    robot::reset<Definition>(state, robot, draws, parts_, params);
  }

  // Returns this thread's robot.
  MujocoRobot& robot() {
    struct Last {
      uint64_t owner = 0;
      MujocoRobot* robot = nullptr;
    };
    thread_local Last last;
    if (last.owner != id_) {
      const std::lock_guard<std::mutex> lock(robots_mutex_);
      auto& own = robots_[std::this_thread::get_id()];
      if (!own) own = std::make_unique<MujocoRobot>(*model_, frame_skip_);
      last = {id_, own.get()};
    }
    return *last.robot;
  }

  double* physics(int64_t env) { return &physics_[static_cast<size_t>(env * state_size_)]; }
  State load(int64_t env) {
    State state{};
    size_t c = 0;
    auto member = [&](const char*, auto& numbers) {
      const double* from = &columns_[c].numbers[static_cast<size_t>(env) * columns_[c].count];
      auto number = [&](auto& x) { x = static_cast<std::remove_reference_t<decltype(x)>>(*from++); };
      each_number(numbers, number);
      c += 1;
    };
    state.describe(member);
    return state;
  }
  void store(int64_t env, State& state) {
    size_t c = 0;
    auto member = [&](const char*, auto& numbers) {
      double* to = &columns_[c].numbers[static_cast<size_t>(env) * columns_[c].count];
      auto number = [&](auto& x) { *to++ = static_cast<double>(x); };
      each_number(numbers, number);
      c += 1;
    };
    state.describe(member);
  }
  template <class Doubles>
  static Result as_floats(const Doubles& from) {
    Result to;
    to.reward = static_cast<float>(from.reward), to.terminated = from.terminated, to.truncated = from.truncated;
    const auto cast = [](const auto& doubles, auto& floats) {
      for (size_t k = 0; k < std::size(floats); ++k) floats[k] = static_cast<float>(doubles[k]);
    };
    cast(from.terms, to.terms), cast(from.metrics, to.metrics);
    for (size_t k = 0; k < std::size(to.ends); ++k) to.ends[k] = from.ends[k];
    return to;
  }
  static uint64_t next_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  static constexpr char kHere = 0;  // its address is in the task library
  std::string file_;
  std::unique_ptr<mjModel, DeleteModel> model_;
  std::string files_;
  int frame_skip_;
  int64_t num_envs_;
  int64_t state_size_ = 0;
  Parts parts_{};
  std::vector<double> physics_;  // [num_envs, state_size]
  const MotorNetwork* network_;  // that drives the motors; or null
  ModelRanges ranges_;
  bool model_per_episode_;
  std::vector<size_t> changed_;       // the parameters of the model that differ between environments
  std::vector<double> drawn_;         // [num_envs, 3 * parameters]; empty if no number differs
  std::vector<double> derived_;       // [num_envs, count_derived()], that MuJoCo derives from them; likewise
  std::vector<double> controls_;      // [num_envs, nu] of the previous step; likewise
  std::vector<double> motor_memory_;  // [num_envs, nu * network_->memory]; empty without a network
  std::vector<double> pushes_;        // [num_envs, parameters, kPushDirection], of the last pushes; likewise
  std::vector<Column> columns_;
  static inline std::atomic_flag warned_;  // a lost environment was reported, in this process
  const uint64_t id_ = next_id();          // identifies this object in the process
  std::mutex robots_mutex_;
  std::map<std::thread::id, std::unique_ptr<MujocoRobot>> robots_;
};

template <template <class> class Task>
const char* filmed_model() {
  static const std::string file = MujocoTask<Task>::model_file();
  return file.c_str();
}

}  // namespace drl
