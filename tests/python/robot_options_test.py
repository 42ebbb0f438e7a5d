"""Tests that each argument of Gymnasium's robot environments, except those for rendering, is an option with the same
default and the same effect: with all of them changed, both give the same observations, rewards and ends from the same
initial state.

    robot_options_test.py MODELS ROBOT_TASKS
"""

import inspect
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import gymnasium
import numpy as np

ROBOT_TASKS, MODELS = sys.argv.pop(), sys.argv.pop()
STEPS = 60
# Arguments for rendering, one that Gymnasium ignores, and the model, whose file has another name in drl.
OTHERS = {"xml_file", "default_camera_config", "kwargs", "uph_cost_weight"}
NO_LIMIT = 1e30  # where Gymnasium's default is infinite
POSITIONS = {"exclude_current_positions_from_observation": False}
BODIES = {f"include_{part}_in_observation": False for part in ("cinert", "cvel", "qfrc_actuator", "cfrc_ext")}
CHANGED = {
    "InvertedPendulum": {"reset_noise_scale": 0.2},
    "InvertedDoublePendulum": {"healthy_reward": 3.5, "reset_noise_scale": 0.2},
    "Reacher": {"reward_dist_weight": 2.5, "reward_control_weight": 0.3},
    "Swimmer": {"forward_reward_weight": 1.5, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.2, **POSITIONS},
    "Hopper": {"forward_reward_weight": 1.5, "ctrl_cost_weight": 0.3, "healthy_reward": 2.5,
               "terminate_when_unhealthy": False, "healthy_state_range": (-3.0, 3.5), "healthy_z_range": (0.8, 1.26),
               "healthy_angle_range": (-0.3, 0.1), "reset_noise_scale": 0.02, **POSITIONS},
    "Walker2d": {"forward_reward_weight": 1.5, "ctrl_cost_weight": 0.3, "healthy_reward": 2.5,
                 "terminate_when_unhealthy": False, "healthy_z_range": (1.0, 1.25), "healthy_angle_range": (-0.3, 0.1),
                 "reset_noise_scale": 0.02, **POSITIONS},
    "HalfCheetah": {"forward_reward_weight": 1.5, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.2, **POSITIONS},
    "Ant": {"forward_reward_weight": 1.5, "ctrl_cost_weight": 0.3, "contact_cost_weight": 0.02, "healthy_reward": 2.5,
            "main_body": 4, "terminate_when_unhealthy": False, "healthy_z_range": (0.4, 0.7),
            "contact_force_range": (-0.5, 2.0), "reset_noise_scale": 0.05, **POSITIONS,
            "include_cfrc_ext_in_observation": False},
    "Humanoid": {"forward_reward_weight": 1.5, "ctrl_cost_weight": 0.3, "contact_cost_weight": 1e-4,
                 "contact_cost_range": (0.1, 3.0), "healthy_reward": 2.5, "terminate_when_unhealthy": False,
                 "healthy_z_range": (1.1, 1.39), "reset_noise_scale": 0.02, **POSITIONS, **BODIES},
    "HumanoidStandup": {"ctrl_cost_weight": 0.3, "impact_cost_weight": 1e-4, "impact_cost_range": (0.1, 3.0),
                        "reset_noise_scale": 0.02, **POSITIONS, **BODIES},
    "Pusher": {"reward_near_weight": 1.5, "reward_dist_weight": 2.5, "reward_control_weight": 0.3},
}


def robot_tasks(*words, numbers=b""):
    return subprocess.run([ROBOT_TASKS, MODELS, *words], check=True, input=numbers, stdout=subprocess.PIPE).stdout


def as_options(arguments):
    """Converts Gymnasium's arguments to options: a range becomes two options, and infinity becomes NO_LIMIT."""
    options = {}
    for name, value in arguments.items():
        if name.endswith("_range"):
            options[name.replace("_range", "_min")], options[name.replace("_range", "_max")] = value
        else:
            options[name] = value
    return {name: value if isinstance(value, str) else repr(float(np.clip(value, -NO_LIMIT, NO_LIMIT)))
            for name, value in options.items()}


class Options(unittest.TestCase):
    def test_options_have_gymnasiums_defaults(self):
        for task, changed in CHANGED.items():
            known = inspect.signature(type(gymnasium.make(f"{task}-v5").unwrapped)).parameters
            arguments = {name: parameter.default for name, parameter in known.items() if name not in OTHERS}
            self.assertEqual(set(arguments), {*changed, "frame_skip"}, task)
            lines = [line.split() for line in robot_tasks("options", f"{task}-v5").decode().splitlines()]
            found = {name: repr(float(value)) for name, value in lines if name not in OTHERS}
            self.assertEqual(found, as_options(arguments), task)

    @staticmethod
    def cases():
        """Yields all arguments changed at once, and each argument that affects the observation on its own."""
        for task, changed in CHANGED.items():
            yield task, changed
            for name in changed:
                if name.endswith("_observation"):
                    yield task, {name: False}

    @staticmethod
    def slower_models(directory):
        """Writes Gymnasium's own models with another time step."""
        for task in CHANGED:
            default = inspect.signature(type(gymnasium.make(f"{task}-v5").unwrapped)).parameters["xml_file"].default
            model = xml.etree.ElementTree.parse(os.path.join(os.path.dirname(gymnasium.__file__), "envs/mujoco/assets",
                                                             default))
            for option in model.iter("option"):
                option.set("timestep", str(1.5 * float(option.get("timestep"))))
            model.write(f"{directory}/{task}.xml")
            yield task, {"xml_file": f"{directory}/{task}.xml", "frame_skip": 3}

    def test_options_have_gymnasiums_effects(self):
        for task, changed in self.cases():
            self.compare(task, changed)

    def test_another_frame_skip_has_the_same_effect(self):
        for task in CHANGED:
            for frame_skip in (1, 7):
                self.compare(task, {"frame_skip": frame_skip})

    def test_another_model_has_the_same_effect(self):
        with tempfile.TemporaryDirectory() as directory:
            for task, changed in self.slower_models(directory):
                self.compare(task, changed)

    def compare(self, task, changed):
        env = gymnasium.make(f"{task}-v5", **changed).unwrapped
        env.reset(seed=7)
        high, random = env.action_space.high.astype(float), np.random.default_rng(11)
        actions = random.uniform(-high, high, (STEPS, len(high)))
        start = np.concatenate([env.data.qpos, env.data.qvel])
        steps = map(env.step, actions)
        theirs = np.array([np.concatenate([obs, [reward, ended]]) for obs, reward, ended, *_ in steps])
        words = [f"{name}={value}" for name, value in as_options(changed).items()]
        ours = np.frombuffer(robot_tasks("play", f"{task}-v5", *words, numbers=start.tobytes() + actions.tobytes()))
        np.testing.assert_allclose(ours.reshape(STEPS, -1), theirs, rtol=1e-12, atol=1e-12,
                                   err_msg=f"{task} {changed}")


if __name__ == "__main__":
    unittest.main()
