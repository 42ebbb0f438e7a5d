"""Tests drl's environments under the learners of others, and policies and metrics that change between programs.

    learners_test.py VENV PREFIX

VENV is the virtual environment that has the package drl, and PREFIX the directory of drl's programs.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import torch
from rsl_rl.models import MLPModel, RNNModel
from rsl_rl.runners import OnPolicyRunner
from stable_baselines3 import PPO
from tensordict import TensorDict
from wandb.proto import wandb_internal_pb2

VENV, PREFIX = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.append(str(next(VENV.glob("lib/python3*/site-packages"))))
os.environ["DRL_PREFIX"] = str(PREFIX)

import drl
import numpy as np

HIDDEN = [32, 16]


def runner(env, log_dir, rnn=None):
    """Returns rsl_rl's runner with small networks, recurrent ones if `rnn` is their type."""
    recurrent = {"rnn_type": rnn, "rnn_hidden_dim": 24, "rnn_num_layers": 2} if rnn else {}
    model = {
        "class_name": "RNNModel" if rnn else "MLPModel", "hidden_dims": HIDDEN, "activation": "elu",
        "obs_normalization": True, **recurrent
    }
    return OnPolicyRunner(env, {
        "num_steps_per_env": 24, "save_interval": 1000, "seed": 1, "run_name": "", "experiment_name": "",
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]}, "actor": {
            **model, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
        }, "critic": model, "algorithm": {
            "class_name": "PPO", "num_learning_epochs": 5, "num_mini_batches": 4, "clip_param": 0.2, "gamma": 0.99,
            "lam": 0.95, "value_loss_coef": 1.0, "entropy_coef": 0.0, "learning_rate": 1e-3, "max_grad_norm": 1.0,
            "use_clipped_value_loss": True, "schedule": "adaptive", "desired_kl": 0.01
        }
    },
                          log_dir=log_dir,
                          device="cpu")


class RslRl(unittest.TestCase):
    def actor(self, file, rnn):
        example = TensorDict({"policy": torch.zeros(5, 4)}, [5])
        recurrent = {"rnn_type": rnn, "rnn_hidden_dim": 24, "rnn_num_layers": 2} if rnn else {}
        model = (RNNModel if rnn else MLPModel)(
            example, {"actor": ["policy"]},
            "actor",
            1,
            HIDDEN,
            activation="elu",
            obs_normalization=True,
            distribution_cfg={"class_name": "GaussianDistribution", "std_type": "scalar"},
            **recurrent)
        model.load_state_dict(torch.load(file, weights_only=True)["actor_state_dict"])
        return model.eval()

    def test_policies_of_both_programs_act_alike(self):
        for rnn in (None, "gru", "lstm"):
            with tempfile.TemporaryDirectory() as directory:
                env = drl.rsl_rl_env("Cartpole", 16, seed=1)
                theirs = runner(env, directory, rnn)
                theirs.learn(3)
                theirs.save(f"{directory}/model.pt")
                ours = drl.convert.from_rsl_rl(f"{directory}/model.pt", "Cartpole", f"{directory}/ours.h5")
                drl.convert.to_rsl_rl(ours, f"{directory}/back.pt")
                first, back = self.actor(f"{directory}/model.pt", rnn), self.actor(f"{directory}/back.pt", rnn)
                policy = drl.load_policy(ours)
                for observation in np.random.default_rng(0).normal(size=(20, 5, 4)).astype(np.float32):
                    given = TensorDict({"policy": torch.from_numpy(observation)}, [5])
                    with torch.inference_mode():
                        action = first(given).numpy()
                        np.testing.assert_array_equal(back(given).numpy(), action)
                    np.testing.assert_allclose(policy(observation),
                                               np.clip(action, policy.low, policy.high),
                                               atol=1e-6,
                                               rtol=1e-6)
                subprocess.run([PREFIX / "bin/drl_eval", "--checkpoint", ours, "--episodes", "2"],
                               check=True,
                               capture_output=True)
                run = drl.train("Cartpole", "run", directory, num_envs=16, max_iterations=2, init_from=ours).wait()
                self.assertEqual(len(run.metrics["iteration"]), 2)

    def test_files_that_do_not_fit_are_errors(self):
        with tempfile.TemporaryDirectory() as directory:
            theirs = runner(drl.rsl_rl_env("Cartpole", 16), directory)
            theirs.save(f"{directory}/model.pt")
            run = drl.train("Cartpole", "beta", directory, num_envs=16, max_iterations=1, policy={"distribution": "beta"})
            with self.assertRaisesRegex(ValueError, "distribution beta"):
                drl.convert.to_rsl_rl(run.wait(), f"{directory}/theirs.pt")
            with self.assertRaisesRegex(ValueError, "CartPole-v1 are discrete"):
                drl.rsl_rl_env("CartPole-v1", 8)
            with self.assertRaisesRegex(ValueError, "does not fit Pendulum-v1.*mlp.0.weight"):
                drl.convert.from_rsl_rl(f"{directory}/model.pt", "Pendulum-v1", f"{directory}/ours.h5")
            self.assertFalse(pathlib.Path(directory, "ours.h5").exists())

    def test_its_ppo_learns(self):
        torch.manual_seed(1)
        env = drl.rsl_rl_env("Cartpole", 512, seed=1)
        with tempfile.TemporaryDirectory() as directory:
            theirs = runner(env, directory)
            theirs.learn(100)
            theirs.save(f"{directory}/model.pt")
            ours = drl.convert.from_rsl_rl(f"{directory}/model.pt", "Cartpole", f"{directory}/ours.h5")
            policy = drl.load_policy(ours)
        envs = drl.make_vec("Cartpole", 32, autoreset="same_step", seed=5)
        obs, _ = envs.reset()
        for _ in range(300):
            obs, *_ = envs.step(policy(obs))
        self.assertGreater(envs.take_episodes()["length"], 90)  # without a policy, about 30


class Torch(unittest.TestCase):
    def test_modules_act_as_policies_in_numpy(self):
        cases = [("CartPole-v1", {}), ("Cartpole", {"rnn_type": "lstm", "rnn_num_layers": 2, "rnn_hidden_dim": 16}),
                 ("Pendulum-v1", {"rnn_type": "gru", "rnn_hidden_dim": 16}), ("Cartpole", {"distribution": "beta"}),
                 ("Cartpole", {"distribution": "squashed_gaussian", "layer_norm": True, "activation": "gelu"})]
        random = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as directory:
            for k, (task, options) in enumerate(cases):
                run = drl.train(task, f"run{k}", directory, num_envs=32, max_iterations=2, policy=options).wait()
                policy = drl.load_policy(run.directory)
                module = policy.to_torch()
                for _ in range(5):
                    observations = random.normal(size=(6, len(policy.observation_names))).astype(np.float32)
                    actions = module(torch.from_numpy(observations))
                    np.testing.assert_allclose(actions.detach().numpy(), policy(observations), rtol=1e-5, atol=1e-6)
                    ended = random.random(6) < 0.3
                    policy.reset(ended), module.reset(ended)
                self.assertEqual(actions.requires_grad, task != "CartPole-v1")
                for count in (3, 1):  # other environments begin anew, in another mode
                    observations = random.normal(size=(count, len(policy.observation_names))).astype(np.float32)
                    with torch.inference_mode():
                        actions = module(torch.from_numpy(observations))
                    np.testing.assert_allclose(actions.numpy(), policy(observations), rtol=1e-5, atol=1e-6)
                    policy.reset([True] * count), module.reset([True] * count)
                one = module.double()(torch.from_numpy(observations[0]).double()).detach().numpy()
                np.testing.assert_allclose(one, policy(observations[0]), rtol=1e-5, atol=1e-6)

    def test_tensors_share_the_environments_memory(self):
        envs = drl.make_vec("Pendulum-v1", 4, copy=False)
        obs = torch.from_dlpack(envs.reset()[0])
        before = obs.clone()
        envs.step(np.ones((4, 1)))
        self.assertTrue((obs != before).any())


class StableBaselines3(unittest.TestCase):
    def test_its_ppo_learns(self):
        env = drl.sb3_env("CartPole-v1", 16, seed=1)
        learner = PPO("MlpPolicy", env, n_steps=128, batch_size=256, seed=1, device="cpu")
        learner.learn(60_000)
        envs = drl.make_vec("CartPole-v1", 20, autoreset="same_step", seed=2)
        obs, _ = envs.reset()
        for _ in range(600):
            obs, *_ = envs.step(learner.predict(obs, deterministic=True)[0].astype(np.int32))
        self.assertGreater(envs.take_episodes()["length"], 200)  # with random actions, about 22


def records(data):
    """Yields the records of a .wandb file: its header, then LevelDB's log format (pieces in blocks of 32 KiB)."""
    at, record = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        record += data[at + 7:at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or its last piece
            yield wandb_internal_pb2.Record.FromString(record)
            record = b""


def logged(file):
    """Returns the rows and the configuration of a .wandb file."""
    rows, config = [], {}
    for record in records(file.read_bytes()):
        if record.HasField("history"):
            rows.append({item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item})
        config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
    return rows, config


class WeightsAndBiases(unittest.TestCase):
    def test_drl_report_logs_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            runs = [drl.train("Cartpole", name, directory, num_envs=32, max_iterations=3) for name in ("a", "b")]
            for run in runs:
                run.wait()
            command = [PREFIX / "bin/drl_report", directory, "--wandb", "mine", "--output", f"{directory}/page.html"]
            subprocess.run(command, check=True, env={**os.environ, "PATH": f"{VENV}/bin:{os.environ['PATH']}"})
            for run in runs:
                rows, _ = logged(next(run.directory.glob("wandb/offline-*/*.wandb")))
                self.assertEqual([row["env_steps"] for row in rows], list(run.metrics["env_steps"]))

    def test_a_runs_metrics_are_logged_while_it_goes_on(self):
        with tempfile.TemporaryDirectory() as directory:
            run = drl.train("Cartpole", "run", directory, num_envs=32, max_iterations=40)
            files = drl.logging.to_wandb(run, name="mine", mode="offline")
            self.assertFalse(run.is_running)
            rows, config = logged(next(files.glob("*.wandb")))
            failed = drl.train("Cartpole", "failed", directory, ppo={"gamma": 2})
            with self.assertRaisesRegex(RuntimeError, "gamma"):
                drl.logging.to_wandb(failed)
            metrics = run.metrics
            self.assertEqual([row["iteration"] for row in rows], list(metrics["iteration"]))
            self.assertEqual([row["_step"] for row in rows], list(metrics["iteration"]))
            self.assertEqual([row["env_steps"] for row in rows], list(metrics["env_steps"]))
            self.assertEqual(config["num_envs"], "32")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
