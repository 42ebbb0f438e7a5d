"""Tests that episodes of the robot tasks start as in Gymnasium: each number of qpos and qvel has the same distribution
(two-sample Kolmogorov-Smirnov test), and the numbers are uncorrelated. The seeds are fixed, and so is the outcome.

    resets_test.py MODELS ROBOT_TASKS
"""

import subprocess
import sys
import unittest

import gymnasium
import numpy as np
from scipy.stats import ks_2samp

ROBOT_TASKS, MODELS = sys.argv.pop(), sys.argv.pop()
COUNT = 1000
TASKS = ["InvertedPendulum", "InvertedDoublePendulum", "Reacher", "Swimmer", "Hopper", "Walker2d", "HalfCheetah", "Ant",
         "Humanoid", "HumanoidStandup", "Pusher"]
# Pairs of positions that are drawn until they lie in an area. Their distance from the centre is compared too.
PAIRS = {"Reacher": (2, 3), "Pusher": (7, 8)}


def our_starts(task):
    command = [ROBOT_TASKS, MODELS, "resets", f"{task}-v5", str(COUNT)]
    return np.frombuffer(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout).reshape(COUNT, -1)


def gymnasium_starts(task):
    env = gymnasium.make(f"{task}-v5").unwrapped
    env.reset(seed=1)
    starts = []
    for _ in range(COUNT):
        env.reset()
        starts.append(np.concatenate([env.data.qpos, env.data.qvel]))
    return np.array(starts)


def with_distance(task, starts):
    pair = PAIRS.get(task)
    return np.column_stack([starts, np.hypot(*starts[:, pair].T)]) if pair else starts


class Resets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.starts = {task: our_starts(task) for task in TASKS}

    def test_starts_have_gymnasiums_distributions(self):
        for task in TASKS:
            ours, theirs = with_distance(task, self.starts[task]), with_distance(task, gymnasium_starts(task))
            self.assertEqual(ours.shape, theirs.shape, task)
            for k in range(ours.shape[1]):
                if np.ptp(theirs[:, k]) == 0:
                    self.assertTrue((ours[:, k] == theirs[:, k]).all(), (task, k))
                else:
                    self.assertGreater(ks_2samp(ours[:, k], theirs[:, k]).pvalue, 1e-4, (task, k))

    def test_pairs_lie_in_their_areas(self):
        reach, push = self.starts["Reacher"][:, 2:4], self.starts["Pusher"][:, 7:9]
        self.assertLess(np.hypot(*reach.T).max(), 0.2)
        self.assertGreater(np.hypot(*push.T).min(), 0.17)

    def test_numbers_are_uncorrelated(self):
        for task in TASKS:
            moving = self.starts[task][:, np.ptp(self.starts[task], axis=0) > 0]
            correlation = np.corrcoef(moving, rowvar=False) - np.eye(moving.shape[1])
            self.assertLess(np.abs(correlation).max(), 5 / np.sqrt(COUNT), task)


if __name__ == "__main__":
    unittest.main()
