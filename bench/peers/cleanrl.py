"""PPO on Gymnasium's CartPole-v1 with the networks and settings of CleanRL's ppo.py (docs.cleanrl.dev), rewritten with
the same packages. It steps one environment after the other in Python. Prints the number of steps until the mean return
of the latest 100 episodes reaches the target; stops after 500,000 steps.

    cleanrl.py --until 475
"""

import argparse
import sys

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn
from torch.distributions import Categorical

from worker import Recent

ENVS, STEPS, EPOCHS, MINI_BATCHES, ALL_STEPS = 4, 128, 4, 4, 500_000
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2
LEARNING_RATE, ENTROPY, VALUE, LARGEST_NORM = 2.5e-4, 0.01, 0.5, 0.5
SAMPLES = ENVS * STEPS


def mlp(outputs, last_gain):
    layers = [nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, gain in zip(layers[::2], (2**0.5, 2**0.5, last_gain)):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


class Rollout:
    def __init__(self):
        self.obs = torch.zeros(STEPS, ENVS, 4)
        self.action, self.log_prob, self.reward, self.value = (torch.zeros(STEPS, ENVS) for _ in range(4))
        self.begins = torch.zeros(STEPS + 1, ENVS)  # 1 if this observation starts an episode

    @torch.no_grad()
    def advantages(self, last_value):
        advantage, following, value = torch.zeros(STEPS, ENVS), torch.zeros(ENVS), last_value
        for t in reversed(range(STEPS)):
            continues = 1 - self.begins[t + 1]
            delta = self.reward[t] + GAMMA * value * continues - self.value[t]
            advantage[t] = following = delta + GAMMA * LAMBDA * continues * following
            value = self.value[t]
        return advantage


class Training:
    def __init__(self, seed):
        torch.manual_seed(seed)
        np.random.seed(seed)
        self.actor, self.critic, self.rollout, self.recent = mlp(2, 0.01), mlp(1, 1.0), Rollout(), Recent()
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=LEARNING_RATE, eps=1e-5)

        def make():
            return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))

        self.envs = SyncVectorEnv([make] * ENVS, autoreset_mode=AutoresetMode.SAME_STEP)
        self.obs = torch.tensor(self.envs.reset(seed=seed)[0])
        self.begins = torch.zeros(ENVS)

    def collect(self):
        rollout = self.rollout
        for t in range(STEPS):
            rollout.obs[t], rollout.begins[t] = self.obs, self.begins
            with torch.no_grad():
                policy = Categorical(logits=self.actor(self.obs))
                action = policy.sample()
                rollout.log_prob[t], rollout.value[t] = policy.log_prob(action), self.critic(self.obs).flatten()
            rollout.action[t] = action
            obs, reward, terminated, truncated, info = self.envs.step(action.numpy())
            ended = terminated | truncated
            if ended.any():
                self.recent.add(info["final_info"]["episode"]["r"][ended])
            rollout.reward[t] = torch.tensor(reward)
            self.obs, self.begins = torch.tensor(obs), torch.tensor(ended, dtype=torch.float32)
        rollout.begins[STEPS] = self.begins

    def learn(self):
        rollout = self.rollout
        with torch.no_grad():
            advantage = rollout.advantages(self.critic(self.obs).flatten())
        target = (advantage + rollout.value).flatten()
        obs, action, advantage = rollout.obs.reshape(SAMPLES, 4), rollout.action.flatten().long(), advantage.flatten()
        log_prob, value = rollout.log_prob.flatten(), rollout.value.flatten()
        order = np.arange(SAMPLES)
        for _ in range(EPOCHS):
            np.random.shuffle(order)
            for rows in np.split(order, MINI_BATCHES):
                policy, new_value = Categorical(logits=self.actor(obs[rows])), self.critic(obs[rows]).flatten()
                ratio = (policy.log_prob(action[rows]) - log_prob[rows]).exp()
                gain = (advantage[rows] - advantage[rows].mean()) / (advantage[rows].std() + 1e-8)
                surrogate = torch.min(gain * ratio, gain * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                moved = value[rows] + (new_value - value[rows]).clamp(-CLIP, CLIP)
                worse = torch.max((new_value - target[rows]) ** 2, (moved - target[rows]) ** 2)
                loss = VALUE * 0.5 * worse.mean() - surrogate - ENTROPY * policy.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, LARGEST_NORM)
                self.optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--until", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    training = Training(options.seed)
    iterations = ALL_STEPS // SAMPLES
    for iteration in range(iterations):
        training.optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - iteration / iterations)
        training.collect()
        training.learn()
        if training.recent.reached(options.until):
            print((iteration + 1) * SAMPLES, flush=True)
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
