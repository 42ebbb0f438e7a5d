"""Replays recordings of drl_eval in Gymnasium. From a recorded observation, the recorded actions must lead to the
recorded observations and rewards of the next 20 steps; then the state is set again, until the end of the episode.

    replay_test.py BIN
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import gymnasium
import h5py
import numpy as np

BIN = pathlib.Path(sys.argv.pop())


def state_of(task, observation):
    """Returns Gymnasium's internal state that belongs to an observation."""
    if task == "Pendulum-v1":
        cos, sin, speed = observation
        return np.array([np.arctan2(sin, cos), speed], np.float64)
    return np.array(observation, np.float64)


class Replay(unittest.TestCase):
    def record(self, task, directory, options):
        subprocess.run([BIN / "drl_train", "--task", task, "--num_envs", "16", "--max_iterations", "3", "--runs_dir", directory,
                        "--run_name", "r", "--quiet"], check=True)
        file = pathlib.Path(directory) / "episodes.h5"
        subprocess.run([BIN / "drl_eval", "--run", f"{directory}/{task}/r", "--episodes", "4", "--stochastic", "--record", file,
                        *options],
                       check=True, stdout=subprocess.DEVNULL)
        return file

    def replay(self, task, episode):
        observations, actions, rewards = episode["observations"][()], episode["actions"][()], episode["rewards"][()]
        steps = len(rewards)
        env = gymnasium.make(task).unwrapped
        env.reset(seed=0)
        env.state = state_of(task, observations[0])
        for t in range(steps):
            action = int(actions[t]) if actions.ndim == 1 else actions[t]
            observation, reward, terminated, _, _ = env.step(action)
            np.testing.assert_allclose(observation, observations[t + 1], rtol=1e-4, atol=1e-4)
            self.assertAlmostEqual(reward, rewards[t], delta=1e-4 * (1 + abs(reward)))
            self.assertEqual(terminated, bool(episode["terminated"][t]))
            if t % 20 == 19:  # rounding grows exponentially in these unstable systems
                env.state = state_of(task, observations[t + 1])
        limit = gymnasium.spec(task).max_episode_steps
        self.assertEqual(bool(episode["truncated"][-1]), steps == limit)
        self.assertFalse(episode["truncated"][:-1].any())
        self.assertLessEqual(steps, limit)
        return steps

    def check(self, task, shapes, *options):
        shapes = shapes | {"policy_actions": shapes["actions"]}
        with tempfile.TemporaryDirectory() as directory, h5py.File(self.record(task, directory, options)) as file:
            self.assertEqual(list(file), [f"episode_{k:06}" for k in range(4)])
            self.assertEqual(file.attrs["task"], task)
            for episode in file.values():
                steps = self.replay(task, episode)
                found = {name: (dataset.shape, dataset.dtype.name) for name, dataset in episode.items()}
                self.assertEqual(found, {name: ((steps + more, *rest), dtype) for name, (more, rest, dtype) in shapes.items()})

    COMMON = {"rewards": (0, (), "float32"), "terminated": (0, (), "uint8"), "truncated": (0, (), "uint8")}

    def test_discrete_actions_replay(self):
        self.check("CartPole-v1", self.COMMON | {"observations": (1, (4,), "float32"), "actions": (0, (), "int32")})

    def test_continuous_actions_replay(self):
        self.check("Pendulum-v1", self.COMMON | {"observations": (1, (3,), "float32"), "actions": (0, (1,), "float32")})

    def test_delayed_actions_replay(self):
        self.check("Pendulum-v1", self.COMMON | {"observations": (1, (3,), "float32"), "actions": (0, (1,), "float32")},
                   "--env.delay.action", "2")


if __name__ == "__main__":
    unittest.main()
