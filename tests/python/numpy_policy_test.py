"""Tests that the numpy policy in docs/howto/evaluate.md takes the actions that drl_eval recorded, for Gaussian and
categorical policies.

    numpy_policy_test.py BIN PAGE
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

BIN, PAGE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def numpy_policy(checkpoint):
    """Returns `act` from the Python block on PAGE, reading `checkpoint` instead of the file that the block names."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    (block,) = [b for b in blocks if "def act(" in b]
    code, replaced = re.subn(r'h5py\.File\(".*?"\)', f'h5py.File("{checkpoint}")', block)
    assert replaced == 1
    names = {}
    exec(code, names)
    return names["act"]


def check(task, options, matches):
    with tempfile.TemporaryDirectory() as directory:
        run = pathlib.Path(directory) / task / "run"
        subprocess.run([BIN / "drl_train", "--task", task, "--num_envs", "32", "--max_iterations", "4", "--runs_dir", directory,
                        "--run_name", "run", "--quiet", *options], check=True)
        subprocess.run([BIN / "drl_eval", "--run", run, "--episodes", "4", "--record", run / "episodes.h5"], check=True)
        act = numpy_policy(run / "checkpoints" / "iter_000004.h5")
        steps = 0
        with h5py.File(run / "episodes.h5") as episodes:
            for episode in episodes.values():
                for observation, action in zip(episode["observations"][:-1], episode["actions"][:]):
                    assert matches(act(observation), action), (task, observation, act(observation), action)
                    steps += 1
        assert steps >= 20, steps
        print(f"{task}: {steps} actions agree")


check("Cartpole", ["--ppo.obs_normalization"], lambda x, a: np.allclose(np.clip(x, -4, 4), a, rtol=1e-4, atol=1e-5))
check("Cartpole", [], lambda x, a: np.allclose(np.clip(x, -4, 4), a, rtol=1e-4, atol=1e-5))
for activation in "silu", "gelu":
    check("Cartpole", ["--policy.layer_norm", "--policy.activation", activation],
          lambda x, a: np.allclose(np.clip(x, -4, 4), a, rtol=1e-4, atol=1e-5))
check("CartPole-v1", [], lambda x, a: np.argmax(x) == a)
