"""Tests drl's environments under rsl_rl's runner, and policies that change between the two programs.

    learners_test.py VENV PREFIX

VENV is the virtual environment that has the package drl, and PREFIX the directory of drl's programs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from rsl_rl.models import MLPModel, RNNModel
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

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
            with self.assertRaisesRegex(ValueError, "does not fit Pendulum-v1.*mlp.0.weight"):
                drl.convert.from_rsl_rl(f"{directory}/model.pt", "Pendulum-v1", f"{directory}/ours.h5")
            self.assertFalse(pathlib.Path(directory, "ours.h5").exists())

    def test_its_ppo_learns(self):
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
        self.assertGreater(envs.take_episodes()["length"], 150)  # without a policy, about 30


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
