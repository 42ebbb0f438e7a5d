// A task whose physics is yours: any library, any data structure, one environment at a time. What drl/task.hpp is for
// tasks that are computed in lanes, this is for a simulator that is an object with its own memory; drl keeps the rest
// as for all tasks: ages, step limit, sums over episodes, auto-reset, last observations, random start ages, groups.
//
//   class MySim {
//    public:
//     static constexpr const char* name = "MySim";     and preset, obs_dim, step_limit (0: none), dt, action;
//                                                      reward_terms, truncates, critic_obs_dim where there are any
//     struct Params { float mass = 1; ... };           may be left out; with describe (drl/task.hpp) they are options
//     MySim(const drl::SimulatorConfig&, const Params&);   all environments [0, num_envs) of this rank
//     void create(int64_t env, drl::Draws<float>&);    once in an environment's lifetime; may be left out
//     void reset(int64_t env, drl::Draws<float>&);     the start of an episode
//     drl::Step<float, terms> step(int64_t env, const float* action, [drl::Draws<float>&]);
//     void observe(int64_t env, [drl::Draws<float>&,] float* obs);            obs [obs_dim]
//     void observe_critic(int64_t env, float* obs);    with critic_obs_dim
//     template <class V> void visit_state(V& visit);   visit("q", q.data(), 2): an array [num_envs, 2]
//     void draw(int64_t env, drl::Canvas&);            for films (drl/canvas.hpp); may be left out
//     const char* files() const;                       what it has read, "ant.xml (3fa2c1d09b7e)" with a hash; a run
//                                                      whose ranks differ in it does not start. May be left out
//   };
//   DRL_SIMULATOR(MySim)
//
// create, reset, step and observe may take const Params& behind the draws, which change as the training goes on: their
// Curriculum (drl/task.hpp).
//
// drl calls reset, step and observe of different environments from several threads at once: what they share must not
// change, or be a thread's own (thread_local). All that an environment remembers from one step to the next lies in the
// arrays that visit_state names, which stay where they are, and all chance is drawn from `draws`: then checkpoints,
// resuming, and equal numbers on any number of threads and ranks follow. Those of a library's objects that know more
// than the arrays are set from them at the beginning of a step. observe follows reset or step of its environment at
// once, on the same thread, so that it may look at these objects. An exception ends the run with its text; a
// std::invalid_argument of the constructor tells the user what to correct.
#pragma once

#include <cstdint>
#include <type_traits>

#include "drl/border.hpp"
#include "drl/task.hpp"
#include "drl/task_abi.hpp"
#include "drl/task_loops.hpp"

namespace drl {

struct NoParams {};
template <class Sim>
struct SimulatorParams {
  using Type = NoParams;
};
template <class Sim>
requires requires { typename Sim::Params; }
struct SimulatorParams<Sim> {
  using Type = typename Sim::Params;
};

// What a simulator's visit_state calls.
class SimulatorStateVisitor {
 public:
  using Visit = void (*)(void* context, const SimulatorArray* array);
  SimulatorStateVisitor(Visit visit, void* context) : visit_(visit), context_(context) {}
  // data [num_envs, columns].
  template <class T>
  void operator()(const char* name, T* data, int64_t columns = 1) {
    const SimulatorArray array{name, type_of<T>(), columns, data};
    visit_(context_, &array);
  }

 private:
  template <class T>
  static constexpr SimulatorType type_of() {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> ||
                      std::is_same_v<T, int64_t> || std::is_same_v<T, uint8_t>,
                  "state is an array of float, double, int32_t, int64_t or uint8_t");
    if constexpr (std::is_same_v<T, float>) return SimulatorType::f32;
    if constexpr (std::is_same_v<T, double>) return SimulatorType::f64;
    if constexpr (std::is_same_v<T, int32_t>) return SimulatorType::i32;
    if constexpr (std::is_same_v<T, int64_t>) return SimulatorType::i64;
    return SimulatorType::u8;
  }

  Visit visit_;
  void* context_;
};

// A simulator as a task: its State is the object and the number of an environment.
template <class Sim>
struct SimulatorTask {
  template <class F>
  struct Of : Sim {
    using Params = typename SimulatorParams<Sim>::Type;
    struct State {
      using Simulator = Sim;
      Sim* simulator = nullptr;
      int64_t env = 0;
      template <class V>
      void describe(V&) {}
    };

    static void create(State& s, Draws<F>& draws, const Params& p) {
      if constexpr (requires { s.simulator->create(s.env, draws, p); }) {
        s.simulator->create(s.env, draws, p);
      } else if constexpr (requires { &Sim::create; }) {
        s.simulator->create(s.env, draws);
      }
    }
    static void reset(State& s, Draws<F>& draws, const Params& p) {
      if constexpr (requires { s.simulator->reset(s.env, draws, p); }) {
        s.simulator->reset(s.env, draws, p);
      } else {
        s.simulator->reset(s.env, draws);
      }
    }
    static auto step(State& s, const F* action, Draws<F>& draws, const Params& p) {
      if constexpr (requires { s.simulator->step(s.env, action, draws, p); }) {
        return s.simulator->step(s.env, action, draws, p);
      } else if constexpr (requires { s.simulator->step(s.env, action, draws); }) {
        return s.simulator->step(s.env, action, draws);
      } else {
        return s.simulator->step(s.env, action);
      }
    }
    static void observe(const State& s, Draws<F>& draws, const Params& p, F* obs) {
      if constexpr (requires { s.simulator->observe(s.env, draws, p, obs); }) {
        s.simulator->observe(s.env, draws, p, obs);
      } else if constexpr (requires { s.simulator->observe(s.env, draws, obs); }) {
        s.simulator->observe(s.env, draws, obs);
      } else {
        s.simulator->observe(s.env, obs);
      }
    }
    static void observe_critic(const State& s, const Params& p, F* obs) {
      if constexpr (requires { s.simulator->observe_critic(s.env, p, obs); }) {
        s.simulator->observe_critic(s.env, p, obs);
      } else {
        s.simulator->observe_critic(s.env, obs);
      }
    }
    template <class AnyCanvas>
    static void draw(const State& s, const Params& p, AnyCanvas& canvas) requires requires {
      s.simulator->draw(s.env, p, canvas);
    } || requires {
      s.simulator->draw(s.env, canvas);
    }
    {
      if constexpr (requires { s.simulator->draw(s.env, p, canvas); }) {
        s.simulator->draw(s.env, p, canvas);
      } else {
        s.simulator->draw(s.env, canvas);
      }
    }

    // The same on every instruction set: the library's compiler has chosen one.
    static const TaskLoops* host_loops() {
      struct Table {
        TaskLoops loops[kIsaCount];
        Table() {
          for (TaskLoops& each : loops) each = {run_reset, run_step, run_nothing, nullptr};
        }
      };
      static const Table table;
      return table.loops;
    }
    static constexpr SimulatorRecord simulator_record = {
        [](const SimulatorConfig* config, const void* params, void** simulator, char* error, int64_t size) {
          return at_the_border(error, size, [&] {
            if constexpr (requires { typename Sim::Params; }) {
              *simulator = new Sim(*config, *static_cast<const Params*>(params));
            } else {
              *simulator = new Sim(*config);
            }
          });
        },
        [](void* simulator) { delete static_cast<Sim*>(simulator); },
        [](void* simulator, SimulatorStateVisitor::Visit visit, void* context, char* error, int64_t size) {
          return at_the_border(error, size, [&] {
            SimulatorStateVisitor visitor(visit, context);
            static_cast<Sim*>(simulator)->visit_state(visitor);
          });
        },
        [](void* simulator) -> const char* {
          if constexpr (requires(const Sim& sim) { sim.files(); }) return static_cast<Sim*>(simulator)->files();
          return "";
        }};

   private:
    static int32_t run_reset(const LoopCall* call, char* error, int64_t size) {
      return at_the_border(error, size, [&] {
        const auto all = reset_of<SimulatorTask::template Of>(*call);
        for (int64_t i = call->begin; i < call->end; ++i) all(i);
      });
    }
    static int32_t run_step(const LoopCall* call, char* error, int64_t size) {
      return at_the_border(error, size, [&] {
        const auto all = step_of<SimulatorTask::template Of, true>(*call);
        for (int64_t i = call->begin; i < call->end; ++i) all.template lanes<float>(i);
      });
    }
    static int32_t run_nothing(const LoopCall*, char*, int64_t) { return 0; }
  };
};

}  // namespace drl

// Ends the simulator's header. It means something in the unit of a library's table alone (task_table_unit.hpp), which
// comes before.
#if defined(DRL_TASK_TABLE_UNIT)
#define DRL_SIMULATOR(...) DRL_TASK(::drl::SimulatorTask<__VA_ARGS__>::template Of)
#else
#define DRL_SIMULATOR(...)
#endif
