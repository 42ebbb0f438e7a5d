// Defines a task that wraps a simulator of your own: any library, any data structures, one environment at a time.
// Tasks that compute in lanes use drl/task.hpp; this header is for a simulator that is an object with its own memory.
// drl does the rest, as for all tasks: ages, step limit, episode sums, auto-reset, last observations, random start ages
// and groups.
//
//   class MySim {
//    public:
//     static constexpr const char* name = "MySim";     also preset, obs_dim, step_limit (0: none), dt, action; and
//                                                      optionally reward_terms, truncates, critic_obs_dim
//     struct Params { float mass = 1; ... };           optional; with describe (drl/task.hpp) they are options
//     MySim(const drl::SimulatorConfig&, const Params&);   holds all environments [0, num_envs) of this rank
//     void create(int64_t env, drl::Draws<float>&);    optional; called once in an environment's lifetime
//     void reset(int64_t env, drl::Draws<float>&);     starts an episode
//     drl::Step<float, terms> step(int64_t env, const float* action, [drl::Draws<float>&]);
//     void observe(int64_t env, [drl::Draws<float>&,] float* obs);            obs [obs_dim]
//     void observe_critic(int64_t env, float* obs);    with critic_obs_dim
//     template <class V> void visit_state(V& visit);   visit("q", q.data(), 2): an array [num_envs, 2]
//     void draw(int64_t env, drl::Canvas&);            optional; draws a frame of a video (drl/canvas.hpp)
//     const char* files() const;                       optional; names the files that were read, with a hash:
//                                                      "ant.xml (3fa2c1d09b7e)". A run does not start if its ranks
//                                                      have read different files
//   };
//   DRL_SIMULATOR(MySim)
//
// create, reset, step and observe may take const Params& after the draws. The Curriculum in Params (drl/task.hpp)
// changes during training.
//
// drl calls reset, step and observe of different environments from several threads at the same time. Data that they
// share must be constant or thread_local. Everything that an environment remembers between steps must be in the arrays
// that visit_state visits, which must not move, and every random number must come from `draws`. Then checkpoints,
// resuming, and identical results with any number of threads and ranks need no further code. If a library's objects
// hold more state than these arrays, set them from the arrays at the beginning of each step. observe is called right
// after reset or step of the same environment, on the same thread, so it may read these objects. An exception ends the
// run with its message; the constructor should throw std::invalid_argument for problems that the user can correct.
#pragma once

#include <cstdint>
#include <type_traits>

#include "drl/task.hpp"
#include "drl/task/abi.hpp"
#include "drl/task/border.hpp"
#include "drl/task/loops.hpp"

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

// The argument of a simulator's visit_state.
class SimulatorStateVisitor {
 public:
  using Visit = void (*)(void* context, const SimulatorArray* array);
  SimulatorStateVisitor(Visit visit, void* context) : visit_(visit), context_(context) {}
  // `data` is [num_envs, columns].
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
                  "state must be an array of float, double, int32_t, int64_t or uint8_t");
    if constexpr (std::is_same_v<T, float>) return SimulatorType::f32;
    if constexpr (std::is_same_v<T, double>) return SimulatorType::f64;
    if constexpr (std::is_same_v<T, int32_t>) return SimulatorType::i32;
    if constexpr (std::is_same_v<T, int64_t>) return SimulatorType::i64;
    return SimulatorType::u8;
  }

  Visit visit_;
  void* context_;
};

// Makes a simulator a task. The State of an environment is a pointer to the simulator and the environment's index.
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

    // Returns the same loops for every instruction set: the library is compiled for one.
    static const TaskLoops* host_loops() {
      struct Table {
        TaskLoops loops[kIsaCount];
        Table() {
          for (TaskLoops& each : loops) each = {run_reset, run_step, run_reset_ended, nullptr};
        }
      };
      static const Table table;
      return table.loops;
    }
    static constexpr SimulatorRecord simulator_record = {
        [](const SimulatorConfig* config, const void* params, void** simulator, char* error, int64_t size) {
          return with_error_code(error, size, [&] {
            if constexpr (requires { typename Sim::Params; }) {
              *simulator = new Sim(*config, *static_cast<const Params*>(params));
            } else {
              *simulator = new Sim(*config);
            }
          });
        },
        [](void* simulator) { delete static_cast<Sim*>(simulator); },
        [](void* simulator, SimulatorStateVisitor::Visit visit, void* context, char* error, int64_t size) {
          return with_error_code(error, size, [&] {
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
      return with_error_code(error, size, [&] {
        const auto all = reset_of<SimulatorTask::template Of>(*call);
        for (int64_t i = call->begin; i < call->end; ++i) all(i);
      });
    }
    static int32_t run_step(const LoopCall* call, char* error, int64_t size) {
      return with_error_code(error, size, [&] {
        const auto all = step_of<SimulatorTask::template Of, false>(*call);
        for (int64_t i = call->begin; i < call->end; ++i) all.template lanes<float>(i);
      });
    }
    static int32_t run_reset_ended(const LoopCall* call, char* error, int64_t size) {
      return with_error_code(error, size, [&] {
        using Reset = ResetEnded<SimulatorTask::template Of>;
        const Reset all{Environments<SimulatorTask::template Of>::of(*call), *call->row, call->step, call->begin,
                        call->end};
        for (int64_t k = 0; k * Reset::kEnvs < call->end - call->begin; ++k) all(k);
      });
    }
  };
};

}  // namespace drl

// Write DRL_SIMULATOR(MySim) at the end of the simulator's header. It takes effect only in the translation unit of the
// library's table, which includes drl/task/table_unit.hpp first.
#if defined(DRL_TASK_TABLE_UNIT)
#define DRL_SIMULATOR(...) DRL_TASK(::drl::SimulatorTask<__VA_ARGS__>::template Of)
#else
#define DRL_SIMULATOR(...)
#endif
