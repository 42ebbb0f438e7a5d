// Include this first in the unit that includes all headers of a library's tasks. Each DRL_TASK then adds an entry to
// the table that library_of_this_unit() returns. DRL_TASK_LIBRARY, after all headers, exports the table from a shared
// library.
#pragma once

#if defined(DRL_TASK)
#error "include this header before the headers of tasks"
#endif

#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "drl/canvas.hpp"
#include "drl/task.hpp"
#include "drl/task/abi.hpp"
#include "drl/task/border.hpp"
#include "drl/task/exact.hpp"
#include "drl/task/loops.hpp"
#include "drl/task/table.hpp"

#if !defined(DRL_TASK_FLAGS)
#error "DRL_TASK_FLAGS is not defined: compile with drl_add_task_library (find_package(drl))"
#endif

namespace drl {

// Declares the loops that the host units define, one per instruction set.
#define DRL_DECLARE_LOOPS(isa)                                   \
  namespace isa {                                                \
  template <template <class> class Task>                         \
  struct HostLoops {                                             \
    static int32_t reset(const LoopCall*, char*, int64_t);       \
    static int32_t step(const LoopCall*, char*, int64_t);        \
    static int32_t reset_ended(const LoopCall*, char*, int64_t); \
  };                                                             \
  }
DRL_FOR_EACH_ISA(DRL_DECLARE_LOOPS)
#undef DRL_DECLARE_LOOPS

// A task's record, and the objects that it points to.
template <template <class> class Task>
class TableEntry {
 public:
  static const TaskRecord* record() {
    static const TableEntry entry;
    return &entry.record_;
  }

 private:
  using Spec = Task<float>;
  using Params = typename Spec::Params;
  static_assert(
      requires { Spec::name; }, "the task's header lacks: static constexpr const char* name");
  static_assert(
      requires { Spec::preset; },
      "the task's header lacks: static constexpr const char* preset, its default training options (may be empty)");
  static_assert(
      requires { Spec::obs_dim; }, "the task's header lacks: static constexpr int obs_dim");
  static_assert(
      requires { Spec::step_limit; }, "the task's header lacks: static constexpr int step_limit (0: none)");
  static_assert(
      requires { Spec::dt; }, "the task's header lacks: static constexpr double dt, in seconds per step");
  static_assert(
      requires { Spec::action; }, "the task's header lacks: static constexpr drl::ContinuousAction<...> action");
  static_assert(TaskOf<Task<float>, float>);

  TableEntry() : action_(Spec::action.space()) {
    typename Spec::State state;
    int columns = 0;
    auto number = [&](auto&) { ++columns; };
    auto member = [&](const char* name, auto& m) {
      const int before = columns;
      each_number(m, number);
      using Number = std::remove_all_extents_t<std::remove_reference_t<decltype(m)>>;
      fields_.push_back({name, std::is_same_v<Number, int32_t>, columns - before});
    };
    state.describe(member);
    if constexpr (kHasOptions<Spec>) {
      DescribeParams describe{*this};
      defaults_.describe(describe);
    }
    if constexpr (requires { Spec::simulator_record; }) {
      record_.host = Spec::host_loops(), record_.simulator = &Spec::simulator_record;
      if constexpr (requires { typename Spec::InLanes; }) {
        robot_.own = {Spec::model.file, Spec::model.frame_skip}, robot_.inspect = Spec::look;
        if constexpr (!kNotCompiled<Spec::InLanes::template Of>)
          robot_.in_lanes = TableEntry<Spec::InLanes::template Of>::record();
        if constexpr (!kNotCompiled<Spec::Randomised::template Of>)
          robot_.randomised = TableEntry<Spec::Randomised::template Of>::record();
        robot_.bounds = Spec::model_bounds;
        if constexpr (requires { Spec::prepare_lanes; }) robot_.prepare = Spec::prepare_lanes;
        record_.robot = &robot_;
      }
    } else {
      static_assert(TaskOf<Task<double>, double>);
#define DRL_LOOPS_OF(isa) loops_of<isa::HostLoops<Task>, is_compiled(#isa)>(),
      static constexpr TaskLoops loops[] = {DRL_FOR_EACH_ISA(DRL_LOOPS_OF)};
#undef DRL_LOOPS_OF
      static constexpr TaskLoops exact{ExactLoops<Task>::reset, ExactLoops<Task>::step, reset_none, nullptr};
      record_.host = loops, record_.exact = &exact;
    }
    if constexpr (kHasWeights<Spec>) {
      for (const RewardTerm& term : Spec::reward_terms) terms_.push_back(term.name), weights_.push_back(term.weight);
      record_.reward_terms = terms_.data(), record_.reward_weights = weights_.data();
    } else if constexpr (reward_term_count<Spec>() > 0) {
      record_.reward_terms = Spec::reward_terms;
    }
    if constexpr (metric_count<Spec>() > 0) record_.metrics = std::data(Spec::metrics);
    if constexpr (requires { Spec::observations[0].name; }) {
      static_assert(total_count(Spec::observations) == Spec::obs_dim,
                    "the counts of observations[] must add up to obs_dim");
      record_.observations = std::data(Spec::observations);
      record_.observation_count = static_cast<int32_t>(std::size(Spec::observations));
    }
    if constexpr (requires { Spec::actions[0].name; }) {
      record_.actions = std::data(Spec::actions);
      record_.action_count = static_cast<int32_t>(std::size(Spec::actions));
    }
    if constexpr (requires { Spec::commands[0]; })
      record_.commands = std::data(Spec::commands),
      record_.command_count = static_cast<int32_t>(std::size(Spec::commands));
    if constexpr (kHasMirror<Spec>) {
      static_assert(
          requires { Spec::mirrored_action.numbers; }, "the task's header has mirrored_obs, but lacks mirrored_action");
      record_.mirrored_obs = Spec::mirrored_obs.numbers, record_.mirrored_action = Spec::mirrored_action.numbers;
      if constexpr (critic_obs_dim_of<Spec>() > 0) record_.mirrored_critic_obs = Spec::mirrored_critic_obs.numbers;
      trouble_ = mirror_trouble();
    }
    if constexpr (requires { std::data(Spec::gate); })
      record_.gate = std::data(Spec::gate), record_.gate_count = static_cast<int32_t>(std::size(Spec::gate));
    if constexpr (requires { std::string_view(Spec::gate_options); }) record_.gate_options = Spec::gate_options;
    if constexpr (end_count<Spec>() > 0)
      for (const EndCause& cause : Spec::ends) ends_.push_back({cause.name, cause.as == EndsAs::time_out});
    record_.scale_rewards_by_dt = scales_rewards_by_dt<Spec>();
    record_.metric_count = metric_count<Spec>(), record_.end_count = end_count<Spec>(), record_.ends = ends_.data();
    if constexpr (kHasCurriculum<Spec>) {
      auto member = [&](const char* name, float& number) {
        curriculum_names_.push_back(name), curriculum_start_.push_back(number);
      };
      defaults_.curriculum.describe(member);
      record_.update_curriculum = update_curriculum;
      if (sizeof(defaults_.curriculum) != curriculum_names_.size() * sizeof(float))
        trouble_ = "its Curriculum::describe must visit each number once, and each must be a Scalar<F>";
    }
    record_.curriculum_count = static_cast<int32_t>(curriculum_names_.size());
    record_.curriculum_names = curriculum_names_.data(), record_.curriculum_start = curriculum_start_.data();
    record_.name = Spec::name, record_.preset = Spec::preset;
    if constexpr (requires { Spec::description; }) record_.description = Spec::description;
    record_.obs_dim = Spec::obs_dim, record_.critic_obs_dim = critic_obs_dim_of<Spec>();
    if constexpr (kObsDimVaries<Spec>) {
      static_assert(Spec::obs_dim == Spec::obs_dim_with(Params{}), "obs_dim must equal obs_dim_with(Params{})");
      record_.obs_dim_with = [](const void* params) -> int32_t {
        return Spec::obs_dim_with(*static_cast<const Params*>(params));
      };
    }
    record_.history = history_of<Spec>(), record_.finite_horizon = finite_horizon<Spec>();
    record_.head_count = static_cast<int32_t>(action_.heads.size()), record_.heads = action_.heads.data();
    record_.action_scale = action_.scale.data(), record_.action_offset = action_.offset.data();
    record_.discrete = action_.discrete, record_.action_size = action_.size;
    record_.action_low = action_.low.data(), record_.action_high = action_.high.data();
    record_.step_limit = Spec::step_limit, record_.truncates = truncates<Spec>(), record_.dt = Spec::dt;
    record_.reward_term_count = reward_term_count<Spec>();
    record_.field_count = static_cast<int32_t>(fields_.size()), record_.fields = fields_.data();
    record_.param_count = static_cast<int32_t>(params_.size()), record_.params = params_.data();
    record_.params_size = sizeof(Params), record_.default_params = &defaults_;
    record_.gpu = &GpuLoopsOf<Task>::loops;
    if constexpr (requires { Spec::model_id; }) record_.model = Spec::model_id;
    record_.model_numbers = Environments<Task>::kModelNumbers, record_.motors = Environments<Task>::kMotors;
    record_.robot_columns = Environments<Task>::kRobotColumns;
    if constexpr (kDraws) record_.draw = draw;
    if (columns != Environments<Task>::kColumns) {
      trouble_ = "its State has " + std::to_string(Environments<Task>::kColumns) +
                 " numbers, but State::describe visits " + std::to_string(columns);
    } else if (trouble_.empty()) {
      if constexpr (
          !requires { Spec::simulator_record; } && !requires { Spec::model_id; })
        trouble_ = observation_trouble();  // robots are checked when their model is loaded
    }
    if (!trouble_.empty()) record_.trouble = trouble_.c_str();
  }

  // Observes an environment after its first reset. Returns an error unless the actor and the critic observe exactly the
  // numbers 0, 1, ... below their dimensions; else "".
  static std::string observation_trouble() {
    using Exact = Task<double>;
    const typename Exact::Params params{};
    typename Exact::State state{};
    Scratch<Exact> scratch;
    Draws<double> draws(0, 0, 0);
    task::create<Exact, double>(state, scratch, draws, params);
    task::reset<Exact, double>(state, scratch, draws, params);
    int dim = Spec::obs_dim;
    if constexpr (kObsDimVaries<Spec>) dim = Spec::obs_dim_with(Params{});
    std::string trouble = written_trouble("observe", "obs_dim", dim, [&](double* obs) {
      task::observe<Exact, double>(state, scratch, draws, params, obs);
    });
    if constexpr (critic_obs_dim_of<Exact>() > 0)
      if (trouble.empty())
        trouble = written_trouble("observe_critic", "critic_obs_dim", critic_obs_dim_of<Exact>(), [&](double* obs) {
          task::observe_critic<Exact, double>(state, scratch, params, obs);
        });
    return trouble;
  }
  template <class Observe>
  static std::string written_trouble(const std::string& function, const std::string& name, int dim,
                                     const Observe& observe) {
    constexpr size_t kRoom = 1024;                        // for numbers beyond the dimension
    constexpr double kUntouched = -0x1.8badcafe123p+900;  // no task computes this number
    std::vector<double> obs(static_cast<size_t>(dim) + kRoom, kUntouched);
    observe(obs.data());
    size_t end = obs.size();
    while (end > 0 && obs[end - 1] == kUntouched) --end;
    const std::string is = ", but " + name + " is " + std::to_string(dim);
    if (end > static_cast<size_t>(dim)) return function + " writes " + std::to_string(end) + " numbers" + is;
    for (int k = 0; k < dim; ++k)
      if (obs[static_cast<size_t>(k)] == kUntouched)
        return function + " does not write number " + std::to_string(k) + is;
    return "";
  }

  // Returns an error unless the tables mirror the task's numbers, and a mirrored action has the bounds of the action;
  // else "".
  std::string mirror_trouble() const {
    std::string trouble;
    if constexpr (kHasMirror<Spec>) {
      const auto check = [&](const char* name, const auto& table, int numbers) {
        if (trouble.empty()) trouble = table.trouble(numbers);
        if (!trouble.empty()) trouble = std::string(name) + trouble;
        return trouble.empty();
      };
      if (!action_.heads.empty()) return "mirrored_action cannot mirror several discrete actions";
      if (!check("mirrored_obs", Spec::mirrored_obs, Spec::obs_dim)) return trouble;
      if (!check("mirrored_action", Spec::mirrored_action, action_.size)) return trouble;
      if constexpr (critic_obs_dim_of<Spec>() > 0)
        if (!check("mirrored_critic_obs", Spec::mirrored_critic_obs, critic_obs_dim_of<Spec>())) return trouble;
      for (size_t k = 0; k < static_cast<size_t>(action_.size); ++k) {
        const auto [source, sign] = Spec::mirrored_action.numbers[k];
        const auto from = static_cast<size_t>(source);
        const bool fits = action_.discrete ? sign > 0
                          : sign > 0 ? action_.low[k] == action_.low[from] && action_.high[k] == action_.high[from]
                                     : action_.low[k] == -action_.high[from] && action_.high[k] == -action_.low[from];
        if (!fits) return "mirrored_action gives number " + std::to_string(k) + " values that are not among its own";
      }
    }
    return trouble;
  }

  template <class Loops, bool compiled>
  static constexpr TaskLoops loops_of() {
    if constexpr (compiled) return {Loops::reset, Loops::step, Loops::reset_ended, nullptr};
    return {};
  }
  static int32_t reset_none(const LoopCall*, char*, int64_t) { return 0; }

  static constexpr bool kDraws = requires(const typename Spec::State& state, const Params& params, Canvas& canvas) {
    Spec::draw(state, params, canvas);
  };
  static int32_t draw(const LoopCall* call, const CanvasCalls* calls, char* error, int64_t error_size) {
    return with_error_code(error, error_size, [&] {
      const auto envs = Environments<Task>::of(*call);
      typename Environments<Task>::template EnvLanes<float> one;
      envs.load_lanes(call->begin, one);
      const Params params = envs.template params<float>();
      Canvas canvas(*calls);
      if constexpr (kDraws) Spec::draw(one.state, params, canvas);
    });
  }

  static void update_curriculum(float* numbers, const TrainingStats* stats) {
    if constexpr (kHasCurriculum<Spec>) {
      auto curriculum = Params{}.curriculum;
      __builtin_memcpy(static_cast<void*>(&curriculum), numbers, sizeof(curriculum));
      curriculum.update(*stats);
      __builtin_memcpy(numbers, &curriculum, sizeof(curriculum));
    }
  }

  struct DescribeParams {
    TableEntry& entry;
    template <class T, class... Attributes>
    void operator()(const char* name, T& value, const char* help, const Attributes&... attributes) {
      constexpr bool has_names = (std::is_same_v<Attributes, NamedValues> || ...);
      constexpr bool has_range = has_names || (std::is_same_v<Attributes, Range> || ...);
      static_assert(has_range != (std::is_same_v<T, bool> || std::is_same_v<T, FileName>),
                    "each number needs a range, for example any_number()");
      static_assert(!has_names || std::is_same_v<T, int32_t>, "only an int32_t has named values");
      TaskParam param{};
      param.name = name, param.help = help, param.unit = "", param.offset = offset(&value);
      add_shape(param, &value);
      static_assert((std::is_same_v<Attributes, ParamCondition> + ... + 0) <= TaskParam::kMostConditions);
      (add(param, attributes), ...);
      entry.params_.push_back(param);
    }

   private:
    int32_t offset(const void* value) const {
      return static_cast<int32_t>(static_cast<const char*>(value) - reinterpret_cast<const char*>(&entry.defaults_));
    }
    static void add(TaskParam& param, const Range& range) {
      param.low = range.low, param.high = range.high;
      param.low_is_out = range.low_is_out, param.high_is_out = range.high_is_out;
    }
    static void add(TaskParam& param, const ParamCondition& c) { param.conditions[param.condition_count++] = c; }
    static void add(TaskParam& param, const Unit& unit) { param.unit = unit.text; }
    static void add(TaskParam& param, const ChangesEnvState& changes) { param.changes_env_state = changes.value; }
    static void add(TaskParam& param, const NamedValues& values) {
      param.choices = values.names, param.choice_count = values.count;
    }
    template <int N>
    static void add_shape(TaskParam& param, const Numbers<N>*) {
      param.kind = TaskParamKind::numbers, param.number_count = N;
    }
    static void add_shape(TaskParam& param, const Interval*) {
      param.kind = TaskParamKind::numbers, param.number_count = 2, param.is_interval = 1;
    }
    template <int N, int Rows>
    static void add_shape(TaskParam& param, const Schedule<N, Rows>*) {
      param.kind = TaskParamKind::schedule, param.number_count = 1 + N, param.most_rows = Rows;
    }
    static void add_shape(TaskParam& param, const float*) { param.kind = TaskParamKind::f32; }
    static void add_shape(TaskParam& param, const double*) { param.kind = TaskParamKind::f64; }
    static void add_shape(TaskParam& param, const int32_t*) { param.kind = TaskParamKind::i32; }
    static void add_shape(TaskParam& param, const bool*) { param.kind = TaskParamKind::boolean; }
    static void add_shape(TaskParam& param, const FileName*) {
      param.kind = TaskParamKind::file, param.changes_env_state = 1;
    }
  };

  ActionSpace action_;
  std::vector<const char*> terms_;
  std::vector<double> weights_;
  std::vector<TaskEnd> ends_;
  std::vector<const char*> curriculum_names_;
  std::vector<float> curriculum_start_;
  std::string trouble_;
  std::vector<TaskField> fields_;
  std::vector<TaskParam> params_;
  Params defaults_{};
  RobotRecord robot_{};
  TaskRecord record_{};
};

// In an anonymous namespace, so that each table unit of a program has its own table.
namespace {
std::vector<const TaskRecord*>& table_of_this_unit() {
  static std::vector<const TaskRecord*> table;
  return table;
}
const TaskLibrary* library_of_this_unit(const char* drl_version) {
  static const TaskLibrary library = [&] {
    TaskLibrary made{};
    made.magic = kTaskMagic, made.abi = kTaskAbi, made.flags = text_hash(DRL_TASK_FLAGS);
    for (int k = 0; k < kTaskSizeCount; ++k) made.sizes[k] = TaskSizes{}.all[k];
    made.compiler = __VERSION__, made.drl_version = drl_version;
    made.motion_reader = &motion_reader;
    made.count = static_cast<int32_t>(table_of_this_unit().size()), made.tasks = table_of_this_unit().data();
    return made;
  }();
  return &library;
}
}  // namespace

}  // namespace drl

#define DRL_TASK_TABLE_UNIT  // simulator.hpp
#undef DRL_TASK
#define DRL_TASK_NAME_OF(number) drl_task_in_table_##number
#define DRL_TASK_NAME(number) DRL_TASK_NAME_OF(number)
#define DRL_TASK(...)                                             \
  [[maybe_unused]] static const bool DRL_TASK_NAME(__COUNTER__) = \
      (::drl::table_of_this_unit().push_back(::drl::TableEntry<__VA_ARGS__>::record()), true);
#define DRL_TASK_LIBRARY                                                                         \
  extern "C" __attribute__((visibility("default"))) const drl::TaskLibrary* drl_task_library() { \
    return ::drl::library_of_this_unit(DRL_TASK_VERSION);                                        \
  }
