"""rsl_rl's OnPolicyRunner and PPO on drl's Cartpole (src/tasks/cartpole.hpp), as a vectorised environment in torch.

    rsl_rl_cartpole.py --num_envs 4096 --num_steps 16 --hidden 32,32 --threads 1     answers worker.py's protocol
"""

import argparse
import contextlib
import io
import math
import sys

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from worker import answer

GRAVITY, CART, POLE, HALF_LENGTH, DAMPING = 9.81, 1.0, 0.1, 0.5, 10.0
DT, DECIMATION, RAIL, STEP_LIMIT = 1 / 120, 2, 3.0, 300


class Cartpole(VecEnv):
    """Simulates N carts. The state [N, 4] is x, theta, x_dot, theta_dot."""

    def __init__(self, num_envs):
        self.num_envs, self.num_actions, self.max_episode_length = num_envs, 1, STEP_LIMIT
        self.device, self.cfg = "cpu", {}
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
        self.span = torch.tensor([1, math.pi / 4, 0.5, math.pi / 4])
        self.state = self.draw(num_envs)

    def draw(self, count):
        return (2 * torch.rand(count, 4) - 1) * self.span

    def get_observations(self):
        return TensorDict({"policy": self.state.clone()}, batch_size=self.num_envs)

    def move(self, force):
        x, theta, x_dot, theta_dot = self.state.unbind(1)
        cosine, sine = torch.cos(theta), torch.sin(theta)
        mass, moment = CART + POLE, POLE * HALF_LENGTH
        push = (force - DAMPING * x_dot + moment * theta_dot**2 * sine) / mass
        theta_acc = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4 / 3 - POLE * cosine**2 / mass))
        x_dot += DT * (push - moment * theta_acc * cosine / mass)
        theta_dot += DT * theta_acc
        x += DT * x_dot
        theta += DT * theta_dot

    def step(self, actions):
        force = (100 * actions[:, 0]).clamp(-400, 400)
        for _ in range(DECIMATION):
            self.move(force)
        self.episode_length_buf += 1
        x, theta, x_dot, theta_dot = self.state.unbind(1)
        off_rail = x.abs() > RAIL
        terms = 1 - 3 * off_rail.float() - theta**2 - 0.01 * x_dot.abs() - 0.005 * theta_dot.abs()
        reward = DT * DECIMATION * terms
        time_outs = (self.episode_length_buf >= STEP_LIMIT) & ~off_rail
        done = off_rail | time_outs
        to_reset = done.nonzero().flatten()
        self.state[to_reset] = self.draw(len(to_reset))
        self.episode_length_buf[to_reset] = 0
        return self.get_observations(), reward, done.long(), {"time_outs": time_outs}


def runner_settings(num_steps, hidden, gru):
    memory = {"class_name": "RNNModel", "rnn_type": "gru", "rnn_hidden_dim": gru, "rnn_num_layers": 1}

    def network(**more):
        kind = memory if gru else {"class_name": "MLPModel"}
        return {"hidden_dims": hidden, "activation": "elu", "obs_normalization": False, **kind, **more}

    distribution = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
    return {
        "num_steps_per_env": num_steps,
        "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": network(distribution_cfg=distribution),
        "critic": network(),
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": 5,
            "num_mini_batches": 4,
            "clip_param": 0.2,
            "gamma": 0.99,
            "lam": 0.95,
            "value_loss_coef": 1.0,
            "entropy_coef": 0.005,
            "learning_rate": 1e-3,
            "max_grad_norm": 1.0,
            "use_clipped_value_loss": True,
            "schedule": "adaptive",
            "desired_kl": 0.01,
            "rnd_cfg": None,
            "symmetry_cfg": None,
        },
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_envs", type=int, required=True)
    parser.add_argument("--num_steps", type=int, required=True)
    parser.add_argument("--hidden", required=True)
    parser.add_argument("--gru", type=int, default=0, metavar="UNITS", help="0 (the default) for no GRU")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    hidden = [int(width) for width in options.hidden.split(",")]
    with contextlib.redirect_stdout(io.StringIO()):  # rsl_rl prints its networks
        settings = runner_settings(options.num_steps, hidden, options.gru)
        runner = OnPolicyRunner(Cartpole(options.num_envs), settings, device="cpu")
    runner.env.episode_length_buf = torch.randint(STEP_LIMIT, (options.num_envs,))
    answer(runner.learn, options.num_envs * options.num_steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
