"""Writes recordings/*.json, with which exact_test.cpp compares: episodes of Gymnasium's own robot tasks.

    tests/python/venv build/venv tests/robots/record_gymnasium.py

The packages are those of tests/python/requirements.txt. Actions are not stored: they follow from an episode's numbers
(see Actions, which exact_test.cpp has too). They are float32 values handed over as float64, because Gymnasium computes
the cost of controls in the precision that it gets them in. A state is all of MuJoCo's mjSTATE_INTEGRATION, of which the
file has a hash.
"""

import json
import pathlib

import gymnasium
import mujoco
import numpy as np

FOLDER = pathlib.Path(__file__).parent / "recordings"
TASKS = ["InvertedPendulum", "InvertedDoublePendulum", "Reacher", "Swimmer", "Hopper", "Walker2d", "HalfCheetah", "Ant",
         "Humanoid", "HumanoidStandup", "Pusher"]
EPISODES = [{"seed": 1, "scale": 1.0, "hold": 1}, {"seed": 2, "scale": 0.1, "hold": 10}]
WATCHED = [1, 2, 5, 10, 50, 100, 500, 1000]  # and the last step


class Actions:
    """A new action every `hold` steps: bound * scale * k / 128 for bytes k of a linear congruential generator."""

    def __init__(self, seed, scale, hold, high):
        self.word, self.scale, self.hold, self.high, self.steps = seed, np.float32(scale), hold, high, 0

    def byte(self):
        self.word = (1664525 * self.word + 1013904223) % 2**32
        return np.float32((self.word >> 24) - 128)

    def next(self):
        if self.steps % self.hold == 0:
            self.action = np.array([bound * (self.scale * self.byte() / np.float32(128)) for bound in self.high])
            assert self.action.dtype == np.float32
        self.steps += 1
        return self.action.astype(np.float64)


def hash_of(env):
    """FNV-1a, by 64-bit words."""
    state = np.empty(mujoco.mj_stateSize(env.model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(env.model, env.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    value = 0xCBF29CE484222325
    for word in state.view(np.uint64).tolist():
        value = (value ^ word) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def digits(numbers):
    """Enough of them for 1e-12 of each number."""
    return [float(f"{x:.14g}") for x in numbers]


def record(env, limit, episode):
    first, _ = env.reset(seed=100 + episode["seed"])
    start = {"qpos": env.data.qpos.tolist(), "qvel": env.data.qvel.tolist(), "obs": digits(first),
             "state": hash_of(env)}
    actions, steps, ended = Actions(**episode, high=env.action_space.high), [], False
    for t in range(1, limit + 1):
        obs, reward, ended, truncated, info = env.step(actions.next())
        assert not truncated  # the limit is the wrapper's
        terms = {name: float(value) for name, value in info.items() if "reward_" in name or "_penalty" in name}
        step = {"step": t, "state": hash_of(env), "reward": float(reward), "terms": terms}
        if t in WATCHED or ended or t == limit:
            if obs.size < 100 or ended or t == limit:  # the files stay small
                step["obs"] = digits(obs)
            steps.append(step)
        if ended:
            break
    return episode | {"start": start, "steps": steps, "length": t, "terminated": bool(ended)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for task in TASKS:
        env = gymnasium.make(f"{task}-v5")
        episodes = [record(env.unwrapped, env.spec.max_episode_steps, episode) for episode in EPISODES]
        with open(FOLDER / f"{task}-v5.json", "w") as file:
            json.dump({"gymnasium": gymnasium.__version__, "mujoco": mujoco.__version__, "episodes": episodes}, file,
                      separators=(",", ":"))
            file.write("\n")
        print(task, [episode["length"] for episode in episodes])
