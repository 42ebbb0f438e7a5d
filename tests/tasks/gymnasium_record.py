#!/usr/bin/env python3
"""Records trajectories of Gymnasium's classic-control tasks for tests/tasks/gymnasium_test.cpp.

    python3 -m venv venv && venv/bin/pip install gymnasium==1.2.0 numpy==2.2.6
    venv/bin/python tests/tasks/gymnasium_record.py tests/tasks/data

Writes one text file per task. Every number reads back exactly. Lines:
    reset STATE... OBS...
    step ACTION STATE... OBS... REWARD TERMINATED TRUNCATED
STATE is Gymnasium's internal state (float64; float32 for MountainCarContinuous). OBS is the observation (float32).
"""

import sys
from pathlib import Path

import gymnasium
import numpy as np

assert gymnasium.__version__ == "1.2.0" and np.__version__ == "2.2.6"


def random_discrete(count):
    return lambda rng, obs, t: int(rng.integers(count))


def random_continuous(limit):
    return lambda rng, obs, t: np.float32(rng.uniform(-limit, limit))


def balance(rng, obs, t):
    """Keeps CartPole's pole upright for all 500 steps."""
    return int(0.1 * obs[0] + 0.3 * obs[1] + 3 * obs[2] + obs[3] > 0)


def pump_car(rng, obs, t):
    """Pushes MountainCar's car in the direction of its motion."""
    return 2 if obs[1] >= 0 else 0


def pump_car_continuous(rng, obs, t):
    return np.float32((1 if obs[1] >= 0 else -1) * rng.uniform(0.6, 1.0))


def pump_acrobot(rng, obs, t):
    """Pushes the second link against the direction in which the first one swings."""
    return 2 if obs[4] <= 0 else 0


def pump_pendulum(rng, obs, t):
    return np.float32(2.0 if obs[2] >= 0 else -2.0)


# For each task, pairs of (policy, number of episodes).
EPISODES = {
    "CartPole-v1": [(random_discrete(2), 12), (balance, 1)],
    "Pendulum-v1": [(random_continuous(2), 2), (pump_pendulum, 1)],
    "Acrobot-v1": [(random_discrete(3), 1), (pump_acrobot, 2)],
    "MountainCar-v0": [(random_discrete(3), 1), (pump_car, 3)],
    "MountainCarContinuous-v0": [(random_continuous(1), 1), (pump_car_continuous, 3)],
}


def given_action(name, action):
    """Returns the action in the type that Gymnasium documents. Pendulum's is float64 instead, like the state, because
    numpy would round products with a float32 action to float32."""
    if name == "Pendulum-v1":
        return np.array([action], np.float64)
    return np.array([action], np.float32) if isinstance(action, np.float32) else action


def numbers(*arrays):
    """Formats numbers with the fewest digits that read back as the same float64."""
    return " ".join(repr(float(x)) for array in arrays for x in np.ravel(array))


def record_episode(env, name, policy, seed, lines):
    rng = np.random.default_rng(seed)
    obs, _ = env.reset(seed=seed)
    inner = env.unwrapped
    if name == "MountainCarContinuous-v0":  # Gymnasium stores float32 from the first step on
        inner.state = obs.copy()
    lines.append(f"reset {numbers(inner.state)} {short(obs)}")
    for t in range(env.spec.max_episode_steps):
        action = policy(rng, obs, t)
        obs, reward, terminated, truncated, _ = env.step(given_action(name, action))
        lines.append(f"step {numbers(action)} {numbers(inner.state)} {short(obs)} "
                     f"{numbers(reward)} {int(terminated)} {int(truncated)}")
        if terminated or truncated:
            return


def short(obs):
    """Formats an observation with the fewest digits that read back as the same float32."""
    return " ".join(str(x) for x in np.asarray(obs, np.float32))


def main(directory):
    for name, plan in EPISODES.items():
        env = gymnasium.make(name, disable_env_checker=True)
        lines = [f"# {name}, Gymnasium {gymnasium.__version__}, numpy {np.__version__}: see gymnasium_record.py"]
        seed = 0
        for policy, episodes in plan:
            for _ in range(episodes):
                record_episode(env, name, policy, seed, lines)
                seed += 1
        (Path(directory) / f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
