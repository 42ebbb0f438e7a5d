// Robots for tests in lanes: Carrier uses nearly everything that a robot's task can define; Toucher uses a function
// that lanes do not provide. Keyed starts from a keyframe; Clocked uses a sensor that lanes do not compute. Stomper's
// foot is too stiff for float.
#pragma once

#include "drl/robot.hpp"

namespace drl {

// A cart that carries a pole to the left or the right end of the rail. An action of 1 makes it diverge.
template <class R>
struct Carrier {
  using F = typename R::F;
  static constexpr const char* name = "Carrier";
  static constexpr const char* preset = "num_envs = 16\n[ppo]\n";
  static constexpr int obs_dim = 7, critic_obs_dim = 2, step_limit = 40;
  static constexpr double dt = 0.04;
  static constexpr ContinuousAction<1> action{-1, 1};
  static constexpr RewardTerm reward_terms[] = {{"near", 1}, {"height", 0.5}};
  static constexpr const char* metrics[] = {"force"};
  static constexpr EndCause ends[] = {{"fell"}};
  static constexpr RobotModel model{"inverted_pendulum.xml", 2};

  struct Params {
    Scalar<F> far = 1;
    template <class V>
    void describe(V& v) {
      v("far", far, "distance to the goal", at_least(0), unit("m"));
    }
  };
  struct Parts {
    JointId slider, hinge;
    BodyId pole;
    ActuatorId motor;
    template <class Find>
    void find(Find& find) {
      find(slider, "slider"), find(hinge, "hinge"), find(pole, "pole"), find(motor, "slider");
    }
  };
  struct State {
    F goal, seen;  // m; `seen` is the pole's position after the last step
    Int<F> steps;  // in the environment's lifetime
    template <class V>
    void describe(V& visit) {
      visit("goal", goal), visit("seen", seen), visit("steps", steps);
    }
  };

  static void create(State& s, R&, Draws<F>& draws, const Parts&, const Params& p) {
    s.goal = math::select(draws.uniform(F(0), F(1)) < F(0.5), F(-p.far), F(p.far));
    s.steps = Int<F>(0);
  }
  static void reset(State& s, R& robot, Draws<F>& draws, const Parts& parts, const Params&) {
    robot.set_qpos(parts.hinge.qpos, draws.uniform(F(-0.1), F(0.1)));
    robot.forward();
    s.seen = robot.position(parts.pole)[0];
  }
  static Step<F, 2, 1, 1> step(State& s, R& robot, const F* action, Draws<F>& draws, const Parts& parts,
                               const Params&) {
    const Mask<F> explodes = action[0] == F(1);
    robot.set_qvel(parts.slider.qvel, math::select(explodes, F(1e11), robot.qvel(parts.slider)));
    const F control = action[0] + F(0.1) * draws.uniform(F(-1), F(1));
    robot.advance(&control);
    s.steps = s.steps + Int<F>(1);
    s.seen = robot.position(parts.pole)[0];
    Step<F, 2, 1, 1> result;
    result.metrics[0] = robot.force(parts.motor);
    robot.forward();
    result.terms[0] = -math::abs(robot.qpos(parts.slider) - s.goal);
    result.terms[1] = robot.center_of_mass(parts.pole)[2];
    result.ends[0] = math::abs(robot.qpos(parts.hinge)) > F(0.5);
    return result;
  }
  template <class Out>
  static void observe(const State& s, const R& robot, Draws<F>& draws, const Parts& parts, const Params&, Out obs) {
    obs[0] = robot.qpos(parts.slider), obs[1] = robot.qpos(parts.hinge), obs[2] = robot.qvel(parts.slider);
    obs[3] = robot.velocity(parts.pole)[1], obs[4] = s.goal - s.seen;
    obs[5] = robot.constraint_force_along(0);
    obs[6] = robot.time() + F(0.01) * draws.uniform(F(-1), F(1));
  }
  template <class Out>
  static void observe_critic(const State&, const R& robot, const Parts& parts, const Params&, Out obs) {
    obs[0] = robot.mass(parts.pole), obs[1] = robot.qacc(1);
  }
};

// The following robots advance, and get a reward of 1 for each step.
template <class R>
struct Plain {
  using F = typename R::F;
  static constexpr const char* preset = "num_envs = 16\n[ppo]\n";
  static constexpr int step_limit = 40;
  static constexpr double dt = 0.02;
  static constexpr ContinuousAction<1> action{-1, 1};

  template <class... More>
  static void reset(R& robot, Draws<F>&, const More&...) {
    robot.forward();
  }
  template <class... More>
  static Step<F> step(R& robot, const F* action, const More&...) {
    robot.advance(action);
    return {.reward = F(1)};
  }
};

template <class R>
struct Toucher : Plain<R> {
  using F = typename R::F;
  static constexpr const char* name = "Toucher";
  static constexpr int obs_dim = 1;
  static constexpr double dt = 0.04;
  static constexpr RobotModel model{"inverted_pendulum.xml", 2};

  template <class Out>
  static void observe(const R& robot, Out obs) {
    obs[0] = math::select(robot.touches(GeomId{0}, GeomId{1}), F(1), F(0));
  }
};

// Starts from a keyframe, which the parameter `back` selects, and observes it.
template <class R>
struct Keyed : Plain<R> {
  using F = typename R::F;
  static constexpr const char* name = "Keyed";
  static constexpr int obs_dim = 7;
  static constexpr RobotModel model{"models/keyed.xml", 1};

  struct Params {
    bool back = false;
    template <class V>
    void describe(V& v) {
      v("back", back, "start from the keyframe 'bent back'");
    }
  };
  struct Parts {
    SensorId turning;
    ActuatorId servo;
    template <class Find>
    constexpr void find(Find& find) {
      find(turning, "turning"), find(servo, "servo");
    }
  };
  static void reset(R& robot, Draws<F>&, const Parts&, const Params& p) {
    robot.keyframe(p.back ? "bent back" : "home");
    robot.forward();
  }
  template <class Out>
  static void observe(const R& robot, const Parts& parts, const Params&, Out obs) {
    obs[0] = robot.qpos(0), obs[1] = robot.qpos(1), obs[2] = robot.qvel(0), obs[3] = robot.qvel(1);
    obs[4] = robot.ctrl(0), obs[5] = robot.sensor(parts.turning, 1), obs[6] = robot.force(parts.servo);
  }
};

// Uses a sensor that lanes do not compute.
template <class R>
struct Clocked : Plain<R> {
  static constexpr const char* name = "Clocked";
  static constexpr int obs_dim = 1;
  static constexpr RobotModel model{"models/keyed.xml", 1};

  struct Parts {
    SensorId reading;
    template <class Find>
    constexpr void find(Find& find) {
      find(reading, "reading");
    }
  };
  template <class Out>
  static void observe(const R& robot, const Parts& parts, Out obs) {
    obs[0] = robot.sensor(parts.reading, 0);
  }
};

// Starts from a keyframe that its model lacks.
template <class R>
struct Unkeyed : Plain<R> {
  using F = typename R::F;
  static constexpr const char* name = "Unkeyed";
  static constexpr int obs_dim = 1;
  static constexpr RobotModel model{"models/keyed.xml", 1};

  static void reset(R& robot, Draws<F>&) { robot.keyframe("hone"), robot.forward(); }
  template <class Out>
  static void observe(const R& robot, Out obs) {
    obs[0] = robot.qpos(0);
  }
};

// Stands on a foot that is too stiff for float.
template <class R>
struct Stomper : Plain<R> {
  using F = typename R::F;
  static constexpr const char* name = "Stomper";
  static constexpr int obs_dim = 6;
  static constexpr RobotModel model{"models/stomper.xml", 4};

  template <class Out>
  static void observe(const R& robot, Out obs) {
    obs[0] = robot.qpos(0), obs[1] = robot.qvel(0), obs[2] = robot.external_force(BodyId{2})[5];
    // The trunk's height by its position, and by rays along its own axis and along the world's.
    const Vec<F, 4> turn = robot.orientation(BodyId{1});
    const F cosine = F(1) - F(2) * turn[2] * turn[2];
    obs[3] = robot.position(BodyId{1})[2];
    obs[4] = cosine * ray_from(robot, BodyId{1}, {{F(0), F(0), F(0)}}, {{F(0), F(0), F(-1)}});
    obs[5] = F(2) * robot.ray(robot.position(BodyId{1}), {{F(0), F(0), F(-2)}});
  }
};

}  // namespace drl

DRL_ROBOT(drl::Carrier)
DRL_ROBOT(drl::Toucher)
DRL_ROBOT(drl::Keyed)
DRL_ROBOT(drl::Clocked)
DRL_ROBOT(drl::Unkeyed)
DRL_ROBOT(drl::Stomper)
