"""Evaluates the policies of checkpoints in Gymnasium, with deterministic (most probable) or sampled actions.

    tests/python/venv build/venv tests/python/evaluate_in_gymnasium.py [--stochastic] [--episodes 20] CHECKPOINT...

Prints the mean, smallest and largest return of each file, and the mean speed along x of robots.
"""

import argparse
import pathlib
import re

import gymnasium
import h5py
import numpy as np


ACTIVATIONS = {
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}


class Policy:
    def __init__(self, path, stochastic, seed):
        with h5py.File(path) as file:
            self.task = file.attrs["task"]
            self.layers = [(layer["weight"][:], layer["bias"][:]) for _, layer in sorted(file["policy/actor"].items())]
            self.activation = ACTIVATIONS[re.search(r"^activation = (\w+)", file.attrs["options"], re.M).group(1)]
            self.mean, self.variance = file["normalizer/obs/mean"][:], file["normalizer/obs/variance"][:]
            self.std = np.exp(file["policy/log_std"][:]) if stochastic else 0
        self.random = np.random.default_rng(seed)

    def act(self, observation):
        x = np.clip((observation - self.mean) / (np.sqrt(self.variance) + 0.01), -10, 10)
        for weight, bias in self.layers[:-1]:
            x = self.activation(weight @ x + bias)
        weight, bias = self.layers[-1]
        return weight @ x + bias + self.std * self.random.standard_normal(len(bias))


def play(env, policy):
    observation, _ = env.reset()
    total, over, speeds = 0.0, False, []
    while not over:
        action = np.clip(policy.act(observation), env.action_space.low, env.action_space.high)
        observation, reward, terminated, truncated, info = env.step(action)
        total, over = total + reward, terminated or truncated
        speeds.append(info.get("x_velocity", np.nan))
    return total, np.mean(speeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoints", nargs="+", type=pathlib.Path)
    parser.add_argument("--stochastic", action="store_true")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for path in options.checkpoints:
        policy = Policy(path, options.stochastic, options.seed)
        env = gymnasium.make(policy.task, disable_env_checker=True)
        env.reset(seed=options.seed)
        returns, speeds = zip(*(play(env, policy) for _ in range(options.episodes)))
        speed = "" if np.isnan(speeds).any() else f", {np.mean(speeds):.2f} m/s"
        print(f"{policy.task} {path.stem}: {np.mean(returns):.1f} mean, {min(returns):.1f} to {max(returns):.1f}{speed}")
