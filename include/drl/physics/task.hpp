// Tasks of robots with physics in lanes (drl/physics/robot_in_lanes.hpp), in the form of drl/task.hpp.
#pragma once

#include <array>
#include <string_view>

#include "drl/physics/robot_in_lanes.hpp"

namespace drl {
inline namespace DRL_ISA {

// The function object that Parts::find calls. Indices are MuJoCo's.
template <class Compiled>
class CompiledParts {
 public:
  constexpr void operator()(BodyId& id, const char* name) const { id.index = find(Compiled::body_names, name); }
  constexpr void operator()(GeomId& id, const char* name) const { id.index = find(Compiled::geom_names, name); }
  constexpr void operator()(SiteId& id, const char* name) const { id.index = find(Compiled::site_names, name); }
  constexpr void operator()(ActuatorId& id, const char* name) const { id.index = find(Compiled::actuator_names, name); }
  constexpr void operator()(JointId& id, const char* name) const {
    for (const auto& joint : Compiled::joints)
      if (is_same(joint.name, name)) id = {joint.qpos, joint.qvel};
  }
  constexpr void operator()([[maybe_unused]] SensorId& id, [[maybe_unused]] const char* name) const {
    if constexpr (requires { Compiled::sensors; })
      for (const auto& sensor : Compiled::sensors)
        if (is_same(sensor.name, name)) id = {sensor.first, sensor.size};
  }

 private:
  template <int N>
  static constexpr int find(const char* const (&names)[N], const char* name) {
    for (int k = 0; k < N; ++k)
      if (is_same(names[k], name)) return k;
    return 0;  // PartFinder (drl/physics/mujoco_model.hpp) has already reported unknown names
  }
  static constexpr bool is_same(const char* a, const char* b) {
    for (; *a && *a == *b; ++a) ++b;
    return *a == *b;
  }
};
template <class Definition, class Compiled>
constexpr robot::Parts<Definition> find_parts() {
  robot::Parts<Definition> parts{};
  CompiledParts<Compiled> find;
  parts.find(find);
  return parts;
}
// Returns the parts. They are found at compile time if the task's find() is constexpr, otherwise once at run time,
// which is not possible on GPUs.
template <class Definition, class Compiled>
DRL_HD decltype(auto) compiled_parts() {
  if constexpr (requires { typename std::bool_constant<(find_parts<Definition, Compiled>(), true)>; }) {
    static constexpr robot::Parts<Definition> parts = find_parts<Definition, Compiled>();
    return (parts);
  } else {
#if defined(DRL_GPU_COMPILER)
    static_assert(sizeof(Definition) == 0, "the Parts::find of a robot that runs on GPUs must be constexpr");
#else
    static const robot::Parts<Definition> parts = find_parts<Definition, Compiled>();
    return (parts);
#endif
  }
}

}  // namespace DRL_ISA

// A placeholder for the robot, with which a task's static members can be read.
struct NoRobot {
  using F = float;
};
template <template <class> class Task>
using CompiledModel = CompiledRobot<model_key(Task<NoRobot>::model.file)>;
template <template <class> class Task>
using RandomisedModel = RandomisedRobot<model_key(Task<NoRobot>::model.file)>;

// Finds the first sensor that a task uses and that drl_robot did not compile.
template <class Compiled>
struct LackingSensorFinder {
  const physics::LackingSensor* found = nullptr;
  bool any = false;  // under sanitizers, GCC's constant expressions cannot compare `found` with null
  template <class Id>
  constexpr void operator()(Id&, const char*) {}
  constexpr void operator()(SensorId&, [[maybe_unused]] const char* name) {
    if constexpr (requires { Compiled::lacking_sensors; })
      for (const physics::LackingSensor& sensor : Compiled::lacking_sensors)
        if (!any && std::string_view(sensor.name) == name) found = &sensor, any = true;
  }
};
template <template <class> class Task>
constexpr LackingSensorFinder<CompiledModel<Task>> find_lacking_sensor() {
  robot::Parts<Task<NoRobot>> parts{};
  LackingSensorFinder<CompiledModel<Task>> find;
  parts.find(find);
  return find;
}
// Returns that sensor, or null.
template <template <class> class Task>
constexpr const physics::LackingSensor* lacking_sensor() {
  return find_lacking_sensor<Task>().found;
}
// Returns whether a task's loops in lanes are compiled. A task whose find() is not constexpr may turn out later to use
// a sensor that lanes lack.
template <template <class> class Task>
constexpr bool is_compiled_for_lanes() {
  if constexpr (!CompiledModel<Task>::is_compiled) {
    return false;
  } else if constexpr (requires { typename std::bool_constant<find_lacking_sensor<Task>().any>; }) {
    return !find_lacking_sensor<Task>().any;
  } else {
    return true;
  }
}

// Returns whether lanes compute a task's steps in double.
template <template <class> class Task>
constexpr bool steps_in_double() {
  if constexpr (is_compiled_for_lanes<Task>())
    return CompiledModel<Task>::template Physics<float>::kWide;
  else
    return false;
}

// The path of a task's header, by which drl finds a model beside it. DRL_ROBOT specialises it for users' libraries;
// drl's own models are in its installation.
template <template <class> class Task>
struct TaskHeader {
  static constexpr const char* file = nullptr;
};

// Returns the path of the model that a video shows. It is defined in code that is linked with libmujoco.
template <template <class> class Task>
const char* filmed_model();

template <template <class> class Task, bool = is_compiled_for_lanes<Task>()>
struct PhysicsTask {
  template <class F>
  struct Of {
    using NotCompiled = void;
  };
};
// The task of a robot whose masses, gains and so on differ between environments (--env.dr).
template <template <class> class Task, bool = is_compiled_for_lanes<Task>() && RandomisedModel<Task>::is_compiled>
struct RandomisedTask : PhysicsTask<Task, false> {};

// Why the task of a robot cannot run on GPUs, if it cannot.
template <bool has_height_fields>
struct GpuRefusal {};
template <>
struct GpuRefusal<true> {
  static constexpr const char* why_not_on_gpu = "its robot stands on a height field, which is in the memory of the CPU";
};

// A part of an environment's state, for robots whose models differ between environments: the numbers that it has drawn
// for its model and the constants that follow from them, the controls of its previous step, and the directions of its
// last pushes.
template <class F, int n, int constants_, int nu, int bodies>
struct DrawnNumbers {
  F numbers[n];
  F constants[constants_];
  F controls[nu];
  F pushes[kPushDirection * bodies];
};
template <class F, int constants_, int nu, int bodies>
struct DrawnNumbers<F, 0, constants_, nu, bodies> {};
// The task of a compiled robot. An environment's state consists of the task's own state and the robot's position,
// velocity, time and warm start, and of the numbers of its model that differ between environments.
template <template <class> class Task, class Model>
struct TaskInLanes {
  using Compiled = Model;
  template <class F>
  using RobotOf = PhysicsRobot<F, Compiled, Task<NoRobot>::model.frame_skip>;

  template <class F>
  struct Of : Task<RobotOf<F>>, GpuRefusal<(Compiled::template Physics<F>::kHeightFields > 0)> {
    using Definition = Task<RobotOf<F>>;
    using Params = robot::Params<Definition>;
    using Physics = typename Compiled::template Physics<F>;
    static constexpr int kMetrics = metric_count<Definition>();
    // The numbers of the model that environments draw (Environments::draw_model).
    static constexpr int kModelNumbers = Physics::kRandomised ? Physics::kParameters : 0;
    static constexpr int kModelConstants = physics::at_least_one(Physics::kConstants);
    static constexpr int kMotors = Physics::kMotors;
    static constexpr int kColumnNumbers = physics::WorkSizes<Physics>::kInColumns;

    struct State {
      typename Physics::State physics;
      [[no_unique_address]] DrawnNumbers<F, kModelNumbers, kModelConstants, Physics::nu,
                                         physics::at_least_one(Physics::kPushes)>
          drawn;
      [[no_unique_address]] robot::State<Definition> task;
      template <class V>
      DRL_HD void describe(V& visit) {
        visit("physics/qpos", physics.qpos), visit("physics/qvel", physics.qvel);
        visit("physics/warm_start", physics.warm_start), visit("physics/time", physics.time);
        if constexpr (Physics::kActivations > 0) visit("physics/act", physics.act);
        if constexpr (kModelNumbers > 0) {
          visit("model", drawn.numbers), visit("model_constants", drawn.constants);
          visit("controls", drawn.controls), visit("pushes", drawn.pushes);
        }
        task.describe(visit);
      }
    };
    struct Scratch {
      RobotOf<F> robot;
    };

    static constexpr const char* model_id = Compiled::id;
    // The metrics of the task, and the number of a step's solutions that did not converge.
    static constexpr auto metrics = [] {
      std::array<const char*, kMetrics + 1> names{};
      if constexpr (kMetrics > 0)
        for (int m = 0; m < kMetrics; ++m) names[m] = Definition::metrics[m];
      names[kMetrics] = "unsolved";
      return names;
    }();

    // Computes the constants that follow from the numbers that the environment has drawn. F has one lane.
    DRL_HD static void derive_model(State& s) {
      if constexpr (kModelNumbers > 0) physics::find_constants<Physics>(s.drawn.numbers, s.drawn.constants);
    }
    DRL_HD static void create(State& s, Scratch& scratch, Draws<F>& draws, const Params& p) {
      scratch.robot.begin(s.physics), scratch.robot.forget_motors();
      randomise(s, scratch);
      robot::create<Definition>(s.task, scratch.robot, draws, parts(), p);
    }
    DRL_HD static void reset(State& s, Scratch& scratch, Draws<F>& draws, const Params& p) {
      scratch.robot.begin(s.physics), scratch.robot.forget_motors();
      randomise(s, scratch);
      robot::apply<Definition>(s.task, scratch.robot, parts(), p);
      robot::reset<Definition>(s.task, scratch.robot, draws, parts(), p);
    }
    DRL_HD static auto step(State& s, Scratch& scratch, const F* action, Draws<F>& draws, const Params& p) {
      scratch.robot.take(s.physics);
      randomise(s, scratch);
      if constexpr (kModelNumbers > 0) scratch.robot.push(draws.of(Purpose::model), s.drawn.pushes);
      robot::apply<Definition>(s.task, scratch.robot, parts(), p);
      const auto task_step = robot::step<Definition>(s.task, scratch.robot, action, draws, parts(), p);
      Step<F, reward_term_count<Definition>(), kMetrics + 1, end_count<Definition>()> result;
      result.reward = task_step.reward, result.terminated = task_step.terminated,
      result.truncated = task_step.truncated;
      for (int t = 0; t < reward_term_count<Definition>(); ++t) result.terms[t] = task_step.terms[t];
      for (int m = 0; m < kMetrics; ++m) result.metrics[m] = task_step.metrics[m];
      for (int k = 0; k < end_count<Definition>(); ++k) result.ends[k] = task_step.ends[k];
      result.metrics[kMetrics] = scratch.robot.unsolved();
      const F nan = F(__builtin_nanf(""));
      s.physics.time = math::select(scratch.robot.diverged(), nan, s.physics.time);  // marks it as diverged
      return result;
    }
    DRL_HD_CALLED_ON_GPU static void observe(const State& s, const Scratch& scratch, Draws<F>& draws, const Params& p,
                                             F* obs) {
      robot::observe<Definition>(s.task, scratch.robot, draws, parts(), p, obs);
    }
    DRL_HD_CALLED_ON_GPU static void observe_critic(const State& s, const Scratch& scratch, const Params& p, F* obs) {
      robot::observe_critic<Definition>(s.task, scratch.robot, parts(), p, obs);
    }
    template <class Canvas>
    static void draw(const State& s, const Params& p, Canvas& canvas) {
      double qpos[Physics::nq];
      for (int k = 0; k < Physics::nq; ++k) qpos[k] = static_cast<double>(s.physics.qpos[k]);
      canvas.model(filmed_model<Task>(), qpos, Physics::nq);
      if constexpr (Physics::kHeightFields > 0)
        for (int field = 0; field < Physics::kHeightFields; ++field) canvas.heights(heights_of<Physics>(field));
      robot::draw<Definition>(s.task, p, canvas);
    }

   private:
    DRL_HD static void randomise([[maybe_unused]] State& s, [[maybe_unused]] Scratch& scratch) {
      if constexpr (kModelNumbers > 0) scratch.robot.randomise(s.drawn.numbers, s.drawn.constants, s.drawn.controls);
    }
    DRL_HD static decltype(auto) parts() { return compiled_parts<Definition, Compiled>(); }
  };
};
template <template <class> class Task>
struct PhysicsTask<Task, true> : TaskInLanes<Task, CompiledModel<Task>> {};
template <template <class> class Task>
struct RandomisedTask<Task, true> : TaskInLanes<Task, RandomisedModel<Task>> {};

}  // namespace drl
