"""Tests that onnxruntime, the C header and, if drl was built with libtorch, the TorchScript module take the actions that
drl_eval recorded, and that the names of a robot's numbers and its controllers' gains are those of its MuJoCo model.

    onnx_test.py BIN TASK...      at least 1000 steps of each task
    onnx_test.py BIN all          of all tasks
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import mujoco
import numpy as np
import onnxruntime

BIN, TASKS = pathlib.Path(sys.argv[1]), sys.argv[2:]
RUN_SCRIPT = BIN / "../tests/export/run_script"
MODELS = {"HalfCheetah-v5": "half_cheetah", "Humanoid-v5": "humanoid", "HumanoidStandup-v5": "humanoid_standup",
          "Go1-Velocity-Flat": "go1", "G1-Velocity-Flat": "g1"}


def check_names(task, metadata, description):
    """Compares names and gains with the MuJoCo model, which knows the order of its joints, bodies and motors."""
    model = mujoco.MjModel.from_xml_path(str(BIN / f"../share/drl/models/{MODELS[task]}.xml"))
    motors = range(model.nu)
    joints = [model.joint(model.actuator_trnid[k, 0]).name for k in motors]
    actions = description["actions"]
    assert [action["name"] for action in actions] == joints, (task, joints)
    if "joint_names" in metadata:  # position controllers
        numbers = {key: np.array(metadata[key].split(","), float) for key in ("joint_stiffness", "joint_damping", "action_scale")}
        assert metadata["joint_names"].split(",") == joints
        assert np.array_equal(numbers["joint_stiffness"], model.actuator_gainprm[:, 0])
        assert np.array_equal(numbers["joint_damping"], -model.actuator_biasprm[:, 2])
        assert np.allclose(numbers["action_scale"], model.actuator_forcerange[:, 1] / model.actuator_gainprm[:, 0] / 4)
        # mjlab's names (tasks/velocity/velocity_env_cfg.py)
        assert metadata["command_names"] == "twist"
        assert metadata["observation_names"] == "base_lin_vel,base_ang_vel,projected_gravity,joint_pos,joint_vel,actions,command"
    else:  # motors: the torque is gear * action
        assert [action["value"]["scale"] for action in actions] == list(model.actuator_gear[:, 0])
    names = [observation["name"] for observation in description["observations"]]
    all_joints = [model.joint(k).name for k in range(model.njnt) if model.jnt_type[k] == mujoco.mjtJoint.mjJNT_HINGE]
    bodies = [model.body(k).name for k in range(1, model.nbody)]
    for first, wanted in {"qpos.": all_joints, "qvel.": all_joints, "qfrc_actuator.": all_joints, "cinert.": bodies,
                          "cvel.": bodies, "cfrc_ext.": bodies}.items():
        found = dict.fromkeys(re.split(r"[.\[]", name)[1] for name in names if name.startswith(first))
        found = [name for name in found if name not in ("height", "orientation", "linear", "angular")]
        assert not found or found == wanted, (task, first, found, wanted)
    assert (names[0] == "qpos.height") == task.startswith("Humanoid")


def check(task, options):
    with tempfile.TemporaryDirectory() as directory:
        run, folder = f"{directory}/{task}/r", pathlib.Path(directory)
        subprocess.run([BIN / "drl_train", "--task", task, "--num_envs", "16", "--num_steps_per_env", "8", "--max_iterations", "2",
                        "--runs_dir", directory, "--run_name", "r", "--quiet", *options], check=True)
        subprocess.run([BIN / "drl_export", "--run", run, "--onnx", folder / "policy.onnx", "--json", folder / "policy.json"],
                       check=True, stdout=subprocess.DEVNULL)
        length, episodes = 0, 5
        while length * episodes < 1000:
            episodes = max(5, int(np.ceil(1500 / length))) if length else 5
            evaluation = subprocess.run([BIN / "drl_eval", "--run", run, "--episodes", str(episodes), "--record",
                                         folder / "episodes.h5", "--json"], check=True, capture_output=True)
            length = json.loads(evaluation.stdout)["length"]["mean"]
        session = onnxruntime.InferenceSession(folder / "policy.onnx")
        metadata = session.get_modelmeta().custom_metadata_map
        assert metadata["task"] == task
        if task in MODELS:
            check_names(task, metadata, json.loads((folder / "policy.json").read_text()))
        worst = steps = 0
        rows, taken = [], []
        with h5py.File(folder / "episodes.h5") as episodes:
            for episode in episodes.values():
                observations, actions = episode["observations"][:-1], episode["actions"][:]
                assert len(metadata["observations"].split(",")) == observations.shape[1]
                (found,) = session.run(None, {"observation": observations})
                worst = max(worst, np.abs(found - actions.reshape(found.shape)).max())
                steps += len(observations)
                rows.append(observations)
                taken.append(actions.reshape(found.shape))
        verified = subprocess.run([BIN / "drl_export", "--run", run, "--verify", folder / "episodes.h5"], check=True,
                                  capture_output=True, text=True).stdout
        differences = {"ONNX": worst, "C": float(re.search(r"^C: .* at most (\S+)", verified, re.M).group(1))}
        if RUN_SCRIPT.exists():
            subprocess.run([BIN / "drl_export", "--run", run, "--torchscript", folder / "policy.pt"], check=True,
                           stdout=subprocess.DEVNULL)
            observations = np.concatenate(rows)
            text = "\n".join(" ".join(f"{x:.9g}" for x in row) for row in observations)
            output = subprocess.run([RUN_SCRIPT, folder / "policy.pt", str(observations.shape[1])], input=text, check=True,
                                    capture_output=True, text=True).stdout
            actions = np.concatenate(taken)
            differences["TorchScript"] = np.abs(np.array(output.split(), float).reshape(actions.shape) - actions).max()
        assert steps >= 1000, steps
        assert max(differences.values()) <= 1e-6, (task, options, differences)
        print(f"{task}: {steps} actions differ by at most", ", ".join(f"{x:.1e} ({name})" for name, x in differences.items()))


if TASKS == ["all"]:
    listed = subprocess.run([BIN / "drl_train", "--list_tasks"], check=True, capture_output=True, text=True).stdout
    TASKS = re.findall(r"^([^#\s]\S*) ", listed, re.M)
for name in TASKS:
    check(name, [])
for distribution in ("beta", "squashed_gaussian"):
    check("Pendulum-v1", ["--policy.distribution", distribution])
check("Cartpole", ["--ppo.obs_normalization", "--policy.layer_norm", "--policy.activation", "gelu"])
