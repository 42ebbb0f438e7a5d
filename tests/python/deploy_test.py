"""Tests examples/deploy: replay.c takes the actions that drl_eval recorded, and reports an action that differs. walk.c
compiles, if the directory INCLUDE of MuJoCo is given.

    deploy_test.py BIN EXAMPLES [INCLUDE]
"""

import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

BIN, EXAMPLES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
INCLUDE = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-I."]

with tempfile.TemporaryDirectory() as directory:

    def run(*command):
        return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)

    def replay(rows):
        np.savetxt(f"{directory}/log.csv", rows, delimiter=",", header="observations, then actions")
        return subprocess.run(["./replay", "log.csv"], cwd=directory, capture_output=True, text=True)

    run(BIN / "drl_export", "--checkpoint", "pretrained/Pendulum-v1", "--c", "policy.h")
    run("cc", *FLAGS, EXAMPLES / "replay.c", "-lm", "-o", "replay")
    run(BIN / "drl_eval", "--pretrained", "Pendulum-v1", "--episodes", "2", "--record", "episodes.h5")
    with h5py.File(f"{directory}/episodes.h5") as episodes:
        # Pendulum has no scale: the environment receives the clipped action.
        log = np.concatenate([np.concatenate([e["observations"][:-1], e["actions"][:]], axis=1) for e in episodes.values()])
    assert log.shape == (400, 4), log.shape
    result = replay(log)
    assert result.returncode == 0, result
    lines = result.stdout.splitlines()
    assert len(lines) == 401, len(lines)
    assert np.allclose([float(line) for line in lines[1:]], log[:, 3], atol=1e-4)
    assert replay(log[:, :3]).returncode == 0
    log[7, 3] += 0.01
    assert replay(log).returncode == 1
    assert replay(log[:, :2]).returncode == 2
    if INCLUDE:
        run(BIN / "drl_export", "--checkpoint", "pretrained/Go1-Velocity-Flat", "--c", "policy.h", "--force")
        run("cc", *FLAGS, f"-I{INCLUDE}", "-c", EXAMPLES / "walk.c", "-o", "walk.o")
