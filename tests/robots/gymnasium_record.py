#!/usr/bin/env python3
"""Records episodes of Gymnasium's robots, with Gymnasium's own models, for tests/robots/gymnasium_test.cpp.

    tests/python/venv build/py tests/robots/gymnasium_record.py tests/robots/recordings [TASK...]

Writes one text file per task. Numbers are written so that they can be read back exactly. Environments are always
stepped to the step limit, also after their episode ended. The lines are:
    episode SEED AMPLITUDE
    start QPOS... QVEL...                the initial state
    obs STEP OBS...                      the observation after that step; 0: after the reset
    terms NAME...                        the names of the reward's terms
    step STEP HASH REWARD OBS TERMINATED TRUNCATED TERMS...
HASH is a hash of MuJoCo's integration states up to this step (state_hash), and OBS is the sum of all observed numbers,
each times weight(k). Actions are those of action(): float32 numbers stored as float64, because numpy would compute the
squares of float32 numbers in float32.
"""

import sys
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

assert gymnasium.__version__ == "1.4.0" and mujoco.__version__ == "4.0.0"

TASKS = ["InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5", "Swimmer-v5", "Hopper-v5", "Walker2d-v5",
         "HalfCheetah-v5", "Ant-v5", "Humanoid-v5", "HumanoidStandup-v5", "Pusher-v5"]
EPISODES = [(0, 1.0), (1, 0.25)]  # seed, and the fraction of the bounds that actions use
STEPS = {1, 2, 3, 5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1000}


def pseudo_random(n):
    """Returns the n-th number of a pseudo-random sequence in [-1, 1) with 24 bits."""
    x = n * 0x9E3779B1 & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x85EBCA77 & 0xFFFFFFFF
    x = (x ^ x >> 13) * 0xC2B2AE3D & 0xFFFFFFFF
    return ((x ^ x >> 16) >> 8) * 2.0**-23 - 1


def action(seed, step, high, amplitude):
    """Returns the action [nu] of a step, which counts from 1. high [nu] is the upper bound of actions."""
    n = [pseudo_random((seed * 1000003 + step) * len(high) + k) for k in range(len(high))]
    return (np.float32(n) * (np.float32(amplitude) * high)).astype(np.float64)


def weight(k):
    return pseudo_random(k + 1)


def state_hash(before, model, data):
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    for word in state.view(np.uint64).tolist():
        before = (before ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return before


def numbers(array):
    return " ".join(repr(float(x)) for x in array)


def record(name):
    env = gymnasium.make(name)
    limit, env = env.spec.max_episode_steps, env.unwrapped
    high = env.action_space.high
    assert (env.action_space.low == -high).all()
    lines = [f"# {name}, Gymnasium {gymnasium.__version__}, MuJoCo {mujoco.__version__}, numpy {np.__version__}: see "
             "gymnasium_record.py"]
    for seed, amplitude in EPISODES:
        obs, _ = env.reset(seed=seed)
        lines.append(f"episode {seed} {amplitude}")
        lines.append(f"start {numbers([*env.data.qpos, *env.data.qvel])}")
        if seed == 0:
            lines.append(f"obs 0 {numbers(obs)}")
        digest = state_hash(0xCBF29CE484222325, env.model, env.data)
        for t in range(1, limit + 1):
            obs, reward, terminated, truncated, info = env.step(action(seed, t, high, amplitude))
            terms = {name: x for name, x in info.items() if name.startswith("reward_") or name.endswith("_penalty")}
            if t == 1:
                lines.append("terms " + " ".join(terms))
            digest = state_hash(digest, env.model, env.data)
            if t in STEPS or t == limit:
                obs_sum = sum(weight(k) * float(x) for k, x in enumerate(obs))
                lines.append(f"step {t} {digest:016x} {float(reward)!r} {obs_sum!r} {int(terminated)} {int(truncated)} "
                             + numbers(terms.values()))
            if seed == 0 and t == 30:
                lines.append(f"obs {t} {numbers(obs)}")
    return lines


if __name__ == "__main__":
    for task in sys.argv[2:] or TASKS:
        (Path(sys.argv[1]) / f"{task}.txt").write_text("\n".join(record(task)) + "\n")
        print(task)
