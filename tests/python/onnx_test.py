"""Tests that onnxruntime takes the actions that drl_eval recorded, from the models that drl_export writes.

    onnx_test.py BIN TASK...
"""

import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import onnxruntime

BIN, TASKS = pathlib.Path(sys.argv[1]), sys.argv[2:]


def check(task, options):
    with tempfile.TemporaryDirectory() as directory:
        run, folder = f"{directory}/{task}/r", pathlib.Path(directory)
        subprocess.run([BIN / "drl_train", "--task", task, "--num_envs", "16", "--num_steps_per_env", "8", "--max_iterations", "2",
                        "--runs_dir", directory, "--run_name", "r", "--quiet", *options], check=True)
        subprocess.run([BIN / "drl_eval", "--run", run, "--episodes", "5", "--record", folder / "episodes.h5"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([BIN / "drl_export", "--run", run, "--onnx", folder / "policy.onnx"], check=True, stdout=subprocess.DEVNULL)
        session = onnxruntime.InferenceSession(folder / "policy.onnx")
        metadata = session.get_modelmeta().custom_metadata_map
        assert metadata["task"] == task
        worst = steps = 0
        with h5py.File(folder / "episodes.h5") as episodes:
            for episode in episodes.values():
                observations, actions = episode["observations"][:-1], episode["actions"][:]
                assert len(metadata["observation_names"].split(",")) == observations.shape[1]
                (found,) = session.run(None, {"observation": observations})
                worst = max(worst, np.abs(found - actions.reshape(found.shape)).max())
                steps += len(observations)
        assert worst <= 1e-6, (task, options, worst)
        print(f"{task}: {steps} actions differ by at most {worst:.1e}")


for name in TASKS:
    check(name, [])
check("Cartpole", ["--ppo.obs_normalization", "--policy.layer_norm", "--policy.activation", "gelu"])
