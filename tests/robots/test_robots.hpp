// Test robots: one with known physics, and some with errors.
#pragma once

#include "drl/robot.hpp"

namespace drl {

// A box on the floor that the action pulls and random pushes move. Its friction differs between environments.
template <class R>
struct Sled {
  using F = typename R::F;
  static constexpr const char* name = "Sled";
  static constexpr const char* preset = "num_envs = 16\n[ppo]\n";
  static constexpr int obs_dim = 5, critic_obs_dim = 2, step_limit = 30;
  static constexpr double dt = 0.02;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr EndCause ends[] = {{"far"}};
  static constexpr RobotModel model{"sled.xml", 10};

  struct Params {
    Scalar<F> push = 1, far = 3;
    struct Curriculum {
      float start = 0;  // m
      template <class V>
      void describe(V& visit) {
        visit("start", start);
      }
      void update(const TrainingStats&) { start += 1; }
    } curriculum;
    template <class V>
    void describe(V& v) {
      v("push", push, "largest random change of speed", at_least(0), unit("m/s"));
      v("far", far, "position that ends an episode", any_number(), unit("m"));
    }
  };
  struct Parts {
    JointId along;
    GeomId floor, runner;
    SensorId speed;
    template <class Find>
    void find(Find& find) {
      find(along, "along"), find(floor, "floor"), find(runner, "runner"), find(speed, "speed");
    }
  };
  struct State {
    F friction;
    Int<F> steps, pushes[2];  // in this episode; in the environment's lifetime, to the left and to the right
    template <class V>
    void describe(V& visit) {
      visit("friction", friction), visit("steps", steps), visit("pushes", pushes);
    }
  };

  static void create(State& s, R&, Draws<F>& draws, const Parts&, const Params&) {
    s.friction = draws.uniform(F(0.1), F(0.3));
  }
  static void apply(const State& s, R& robot, const Parts& parts, const Params&) {
    robot.set_friction(parts.runner, {{s.friction, F(0), F(0)}});
  }
  static void reset(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params& p) {
    s.steps = 0;
    robot.set_qpos(parts.along.qpos, F(p.curriculum.start));
    robot.set_qvel(parts.along.qvel, draws.uniform(F(-1), F(1)));
    robot.forward();
  }
  static Step<F, 0, 0, 1> step(State& s, R& robot, const F* action, Draws<F>& draws, const Parts& parts,
                               const Params& p) {
    const F by = p.push * draws.uniform(F(-1), F(1));
    s.pushes[by > F(0)] += 1, s.steps += 1;
    robot.set_qvel(parts.along.qvel, robot.qvel(parts.along) + by);
    robot.advance(action);
    Step<F, 0, 0, 1> result;
    result.reward = robot.qpos(parts.along);
    result.ends[0] = robot.qpos(parts.along) > F(p.far);
    return result;
  }
  template <class Out>
  static void observe(const State& s, const R& robot, const Parts& parts, const Params&, Out obs) {
    obs[0] = robot.qpos(parts.along), obs[1] = robot.sensor(parts.speed, 0), obs[2] = s.friction;
    obs[3] = robot.touches(parts.runner, parts.floor) ? F(1) : F(0);
    obs[4] = F(s.steps);
  }
  template <class Out>
  static void observe_critic(const State& s, const R& robot, const Parts&, const Params&, Out obs) {
    obs[0] = F(s.pushes[0] + s.pushes[1]), obs[1] = robot.time();
  }
};

// A minimal robot that can fail. An action of 1 sets a speed that MuJoCo treats as an error; an action of -1 makes the
// reward overflow.
template <class R>
struct Exploding {
  using F = typename R::F;
  static constexpr const char* name = "Exploding";
  static constexpr const char* preset = "num_envs = 16\n[ppo]\n";
  static constexpr int obs_dim = 1, step_limit = 10;
  static constexpr double dt = 0.02;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr RobotModel model{"sled.xml", 10};

  static void reset(R& robot, Draws<F>&) { robot.forward(); }
  static Step<F> step(R& robot, const F* action) {
    if (action[0] == F(1)) robot.set_qvel(0, F(1e11));
    robot.advance(action);
    return {.reward = action[0] == F(-1) ? F(1e300) : F(1)};
  }
  template <class Out>
  static void observe(const R& robot, Out obs) {
    obs[0] = robot.time();
  }
};

// Robots with models that cannot be used.
#define DRL_FAULTY_ROBOT(Name, file, skip)         \
  template <class R>                               \
  struct Name : Exploding<R> {                     \
    static constexpr const char* name = #Name;     \
    static constexpr RobotModel model{file, skip}; \
  };
DRL_FAULTY_ROBOT(Missing, "nowhere.xml", 10)
DRL_FAULTY_ROBOT(BadSyntax, "bad_syntax.xml", 2)
DRL_FAULTY_ROBOT(NoActuator, "no_actuator.xml", 2)
DRL_FAULTY_ROBOT(TwoActuators, "two_actuators.xml", 2)
DRL_FAULTY_ROBOT(NotFinite, "not_finite.xml", 10)
DRL_FAULTY_ROBOT(WrongStep, "sled.xml", 3)
#undef DRL_FAULTY_ROBOT

// Robots that write more, or fewer, observations than obs_dim.
template <class R>
struct ObservesTooMuch : Exploding<R> {
  static constexpr const char* name = "ObservesTooMuch";
  template <class Out>
  static void observe(const R& robot, Out obs) {
    for (int k = 0; k < 3 * robot.nq(); ++k) *obs++ = robot.qpos(0);
  }
};
template <class R>
struct ObservesTooLittle : Exploding<R> {
  static constexpr const char* name = "ObservesTooLittle";
  static constexpr int obs_dim = 2;
  template <class Out>
  static void observe(const R& robot, Out obs) {
    obs[1] = robot.qpos(0);
  }
};

// A robot whose describe omits a member of State, which would be lost after each step.
template <class R>
struct Forgetful : Exploding<R> {
  using F = typename R::F;
  static constexpr const char* name = "Forgetful";
  struct State {
    F x, y;
    template <class V>
    void describe(V& visit) {
      visit("x", x);
    }
  };
  static void reset(State&, R&, Draws<F>&) {}
  static Step<F> step(State&, R&, const F*) { return {}; }
  template <class Out>
  static void observe(const State&, const R&, Out obs) {
    obs[0] = F(0);
  }
};

// A robot whose model file exists, but not the file that it includes.
template <class R>
struct NotFetched : Exploding<R> {
  static constexpr const char* name = "NotFetched";
  static constexpr RobotModel model{"sled.xml", 10, "parts/sled.stl", "tools/fetch_sleds"};
};

template <class R>
struct WrongPart : Exploding<R> {
  using F = typename R::F;
  static constexpr const char* name = "WrongPart";
  struct Parts {
    JointId along;
    template <class Find>
    void find(Find& find) {
      find(along, "alon");
    }
  };
  static void reset(R&, Draws<F>&, const Parts&) {}
  static Step<F> step(R&, const F*, const Parts&) { return {}; }
  template <class Out>
  static void observe(const R&, const Parts&, Out obs) {
    obs[0] = F(0);
  }
};

}  // namespace drl

DRL_ROBOT(drl::Sled)
DRL_ROBOT(drl::Exploding)
DRL_ROBOT(drl::Missing)
DRL_ROBOT(drl::NotFetched)
DRL_ROBOT(drl::BadSyntax)
DRL_ROBOT(drl::NoActuator)
DRL_ROBOT(drl::TwoActuators)
DRL_ROBOT(drl::NotFinite)
DRL_ROBOT(drl::WrongStep)
DRL_ROBOT(drl::ObservesTooMuch)
DRL_ROBOT(drl::ObservesTooLittle)
DRL_ROBOT(drl::Forgetful)
DRL_ROBOT(drl::WrongPart)
