"""Tests mjlab's environments on drl's lanes: against libmujoco, against MuJoCo Warp on the CPU, and under its PPO.

    mjlab_test.py
"""

import copy
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import asdict
from pathlib import Path

os.environ["MJLAB_WARP_QUIET"] = "1"

import drl.mjlab
import mujoco
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp import dr
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.rl import MjlabOnPolicyRunner, RslRlVecEnvWrapper
from mjlab.tasks.registry import load_env_cfg, load_rl_cfg
from mjlab.utils.nan_guard import NanGuard

GO1, G1 = (f"Mjlab-Velocity-Flat-Unitree-{robot}" for robot in ("Go1", "G1"))
STATE = ("qpos", "qvel", "ctrl", "qacc_warmstart")
POSES = ("xpos", "xquat", "xmat", "xipos", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "subtree_com", "cvel",
         "actuator_force", "qfrc_actuator")
ACCELERATIONS = ("qpos", "qvel", "qacc", "sensordata")
# More randomisation than the tasks have.
ROBOT, TRUNK = SceneEntityCfg("robot"), SceneEntityCfg("robot", body_names=("trunk",))
EVENTS = {
    "load": (dr.pseudo_inertia, {"alpha_range": (-0.1, 0.1), "t_range": (-0.02, 0.02), "asset_cfg": TRUNK}),
    "gains": (dr.pd_gains, {"kp_range": (0.8, 1.2), "kd_range": (0.8, 1.2)}),
    "limits": (dr.effort_limits, {"effort_limit_range": (0.7, 1)}),
    "rotors": (dr.joint_armature, {"ranges": (0.8, 1.2), "operation": "scale", "asset_cfg": ROBOT})
}


def config(task, num_envs, events=()):
    cfg = load_env_cfg(task)
    cfg.scene.num_envs, cfg.seed = num_envs, 3
    cfg.observations["actor"].enable_corruption = False  # noise follows the order of a tensor's memory
    for name in events:
        func, params = EVENTS[name]
        cfg.events[name] = EventTermCfg(func=func, mode="startup", params=params)
    return cfg


def actions(env, steps):
    generator = torch.Generator().manual_seed(0)
    return 0.5 * torch.randn(steps, env.num_envs, env.action_manager.total_action_dim, generator=generator)


def exact_model(sim, env):
    """Returns an MjModel that has the fields of an environment, and whose solver converges."""
    model = copy.copy(sim.mj_model)
    for field in sim.expanded_fields:
        getattr(model, field)[...] = getattr(sim.model, field)[env]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    model.opt.iterations, model.opt.ls_iterations, model.opt.tolerance = 100, 50, 1e-10
    return model


class Lanes(unittest.TestCase):
    def errors(self, task, events=(), envs=8, steps=30):
        """Returns errors of fields after each time step, by field [time steps, envs], relative where above 1.

        libmujoco steps from the same states, with the model fields that mjlab shows.
        """
        env = drl.mjlab.Env(config(task, envs, events))
        sim, errors = env.sim, {field: [] for field in POSES + ACCELERATIONS}
        env.reset()
        models, plain_step = [exact_model(sim, k) for k in range(envs)], sim.step

        def step():
            datas = [mujoco.MjData(model) for model in models]
            for k, (model, data) in enumerate(zip(models, datas)):
                for field in STATE:
                    getattr(data, field)[:] = getattr(sim.data, field)[k]
                mujoco.mj_step(model, data)
            plain_step()
            for field, error in errors.items():
                exact = np.stack([np.ravel(getattr(data, field)) for data in datas])
                difference = np.abs(getattr(sim.data, field).reshape(envs, -1).numpy() - exact)
                error.append((difference / np.maximum(np.abs(exact), 1).max(1, keepdims=True)).max(1))

        sim.step = step
        for action in actions(env, steps):
            env.step(action)
        return {field: np.array(error) for field, error in errors.items()}

    def require(self, errors, fields, largest, typical):
        for field in fields:
            self.assertLess(errors[field].max(), largest, field)
            self.assertLess(np.median(errors[field]), typical, field)

    def test_a_step_of_go1_equals_libmujoco(self):
        errors = self.errors(GO1)
        self.require(errors, POSES, 5e-6, 5e-7)  # float32 has 6e-8
        self.require(errors, ACCELERATIONS, 2e-3, 3e-5)  # contacts divide by small numbers

    def test_a_step_of_a_randomised_go1_equals_libmujoco(self):
        errors = self.errors(GO1, EVENTS)
        self.require(errors, POSES, 5e-6, 5e-7)
        self.require(errors, ACCELERATIONS, 2e-3, 3e-5)

    def test_a_step_of_g1_equals_libmujoco(self):
        errors = self.errors(G1)
        self.require(errors, POSES, 5e-6, 5e-7)
        self.require(errors, ACCELERATIONS, 5e-2, 5e-4)  # 14 capsules share the load; 5e-12 in double

    # --- MuJoCo Warp ---

    def compare_with_warp(self, task, steps, typical):
        """Compares steps from the same seed. Errors grow with each contact, and Warp's solver stops before ours."""
        runs = []
        for make in (drl.mjlab.Env, ManagerBasedRlEnv):
            env = make(config(task, 16), device="cpu")
            first = env.reset()[0]
            runs.append([(first, torch.zeros(16), torch.zeros(16, dtype=torch.bool))])
            for action in actions(env, steps):
                observations, reward, terminated, truncated, _ = env.step(action)
                runs[-1].append((observations, reward.clone(), terminated | truncated))
        for ours, theirs in zip(*runs):
            for group in ("actor", "critic"):
                error = (ours[0][group] - theirs[0][group]).abs().max(1).values
                self.assertLess(error.median(), typical)
                self.assertLess(error.max(), 0.2)
            self.assertLess((ours[1] - theirs[1]).abs().max(), 1e-4)  # of about 0.05
            self.assertTrue(torch.equal(ours[2], theirs[2]))

    def test_go1_equals_warp(self):
        self.compare_with_warp(GO1, steps=10, typical=1e-3)

    def test_g1_equals_warp(self):
        self.compare_with_warp(G1, steps=7, typical=5e-3)

    # --- The rest ---

    def test_randomisation_reaches_the_lanes(self):
        env = drl.mjlab.Env(config(GO1, 32))
        sim, robot = env.sim, env.scene["robot"]
        env.reset()
        feet = [sim.mj_model.geom(f"robot/{leg}_foot_collision").id for leg in ("FR", "FL", "RR", "RL")]
        friction, trunk = sim.lanes.expanded("geom_friction")[:, feet], robot.indexing.root_body_id
        shifts = sim.lanes.expanded("body_ipos")[:, trunk] - sim.mj_model.body_ipos[trunk]
        for values, low, high in ((friction[..., 0], 0.3, 1.5), (friction[..., 1], 1e-4, 2e-2),
                                  (friction[..., 2], 1e-5, 5e-3), (shifts[:, :2], -0.025, 0.025),
                                  (shifts[:, 2], -0.03, 0.03)):
            self.assertGreaterEqual(values.min(), low - 1e-7)
            self.assertLessEqual(values.max(), high + 1e-7)
            self.assertGreater(len(np.unique(values)), 30)
        self.assertGreater(robot.data.encoder_bias.unique().numel(), 30)

    def test_pushes_reach_the_lanes(self):
        cfg = config(GO1, 32)
        cfg.events["push_robot"].interval_range_s = (0.02, 0.02)  # each step
        env = drl.mjlab.Env(cfg)
        env.reset()
        env.step(torch.zeros(32, 12))
        self.assertGreater(env.sim.lanes.qvel[:, :2].std(), 0.2)  # 1 / sqrt(12) m/s
        np.testing.assert_array_equal(env.sim.lanes.qvel, env.sim.data.qvel)

    def test_nan_detection_finds_what_lanes_reset(self):
        env = drl.mjlab.Env(config(GO1, 20))
        env.reset()
        env.sim.data.qvel[3, 0], env.sim.data.qpos[7, 2], env.sim.data.qvel[5, 1] = torch.nan, torch.inf, 1e12
        action = torch.zeros(20, 12)
        action[9] = torch.nan
        for _ in range(2):
            env.step(action)
            self.assertEqual(NanGuard.detect_nans(env.sim.data).nonzero().ravel().tolist(), [3, 5, 7, 9])
        env.reset(env_ids=torch.tensor([9, 7, 3, 5]))
        self.assertFalse(NanGuard.detect_nans(env.sim.data).any())

    def test_what_lanes_lack_is_named(self):
        env = drl.mjlab.Env(config(GO1, 2))
        for field in ("qfrc_smooth", "qfrc_applied", "cam_xpos"):
            with self.assertRaisesRegex(AttributeError, f"sim.data.{field}"):
                getattr(env.sim.data, field)
        for field in ("body_pos", "body_iquat"):
            env.sim.expand_model_fields((field,))
            tensor, before = getattr(env.sim.model, field), getattr(env.sim.model, field)[1, 2].clone()
            env.sim.step()
            tensor[1, 2] = torch.tensor([0.6, 0.8, 0, 0][:len(before)])
            with self.assertRaisesRegex(ValueError, r"(body_pos|body_inertia)\[2\] of environment 1"):
                env.sim.step()
            tensor[1, 2] = before
        with self.assertRaisesRegex(ValueError, "cuda:0"):
            drl.mjlab.Simulation(2, env.cfg.sim, env.sim.mj_model, "cuda:0")
        cube = load_env_cfg("Mjlab-Lift-Cube-Yam")
        with self.assertRaisesRegex(ValueError, "mocap_pos.*env_spacing"):
            drl.mjlab.Env(cube, num_envs=2).reset()

    def test_ppo_learns(self):
        cfg = load_rl_cfg(GO1)
        cfg.num_steps_per_env, cfg.logger, cfg.upload_model = 24, "tensorboard", False
        env = RslRlVecEnvWrapper(drl.mjlab.Env(GO1, num_envs=64))
        with tempfile.TemporaryDirectory() as log_dir:
            runner = MjlabOnPolicyRunner(env, asdict(cfg), log_dir, "cpu")
            before = [p.clone() for p in runner.alg.get_policy().parameters()]
            runner.learn(20)
            after = list(runner.alg.get_policy().parameters())
            self.assertTrue(list(Path(log_dir).glob("model_*.pt")))
        self.assertTrue(all(p.isfinite().all() for p in after))
        self.assertTrue(any((p != q).any() for p, q in zip(before, after)))

    def test_mjlabs_train_runs_on_lanes(self):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([sys.executable, "-m", "drl.mjlab", "train", GO1, "--env.scene.num-envs", "16",
                            "--agent.max-iterations", "1", "--agent.logger", "tensorboard"],
                           cwd=directory, check=True, stdout=subprocess.DEVNULL)
            self.assertTrue(list(Path(directory).rglob("model_*.pt")))

    def test_another_mujoco_is_one_error(self):
        code = "import drl.build; drl.build.MUJOCO_VERSION = '4.0.0'; import drl.mjlab"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        for version in (importlib.metadata.version("mujoco"), "4.0.0"):
            self.assertIn(version, result.stderr.splitlines()[-1])


if __name__ == "__main__":
    torch.set_num_threads(1)  # faster for tensors as small as these
    unittest.main()
