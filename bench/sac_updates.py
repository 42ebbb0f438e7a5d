#!/usr/bin/env python3
"""sac_updates.py OBSERVATIONS ACTIONS BATCH UPDATES: prints how many updates of SAC PyTorch makes a second on one thread,
with networks of 256-256, in the order of CleanRL's sac_continuous_action. Compare with the steps per second of
drl_train --algorithm sac --ranks 1 on the same core (taskset -c 0)."""

import sys
import time

import torch
from torch import nn

OBS, ACTIONS, BATCH, UPDATES = (int(word) for word in sys.argv[1:5])
TRANSITIONS, GAMMA, TAU, DELAY = 100_000, 0.99, 0.005, 2


def layers(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, outputs))


class Sac:
    def __init__(self):
        self.actor = layers(OBS, 2 * ACTIONS)
        self.critics, self.targets = ([layers(OBS + ACTIONS, 1) for _ in range(2)] for _ in range(2))
        self.log_temperature = torch.zeros(1, requires_grad=True)
        self.adam_of_actor = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.adam_of_critics = torch.optim.Adam([p for c in self.critics for p in c.parameters()], lr=1e-3)
        self.adam_of_temperature = torch.optim.Adam([self.log_temperature], lr=1e-3)
        self.temperature = 1.0
        self.obs, self.next_obs = torch.randn(2, TRANSITIONS, OBS)
        self.action = torch.rand(TRANSITIONS, ACTIONS) * 2 - 1
        self.reward = torch.randn(TRANSITIONS, 1)

    def draw(self, obs):
        """Returns actions and their log-probabilities."""
        mean, raw = self.actor(obs).chunk(2, 1)
        normal = torch.distributions.Normal(mean, (-5 + 3.5 * (torch.tanh(raw) + 1)).exp())
        x = normal.rsample()
        u = torch.tanh(x)
        return u, (normal.log_prob(x) - torch.log(1 - u**2 + 1e-6)).sum(1, keepdim=True)

    @staticmethod
    def smaller(critics, obs, action):
        x = torch.cat([obs, action], 1)
        return torch.min(critics[0](x), critics[1](x))

    @staticmethod
    def step(adam, loss):
        adam.zero_grad()
        loss.backward()
        adam.step()

    def update(self, number):
        rows = torch.randint(TRANSITIONS, (BATCH,))
        obs = self.obs[rows]
        with torch.no_grad():
            action, log_prob = self.draw(self.next_obs[rows])
            soft = self.smaller(self.targets, self.next_obs[rows], action) - self.temperature * log_prob
            target = self.reward[rows] + GAMMA * soft
        x = torch.cat([obs, self.action[rows]], 1)
        self.step(self.adam_of_critics, sum(nn.functional.mse_loss(critic(x), target) for critic in self.critics))
        for _ in range(DELAY if number % DELAY == 0 else 0):
            action, log_prob = self.draw(obs)
            self.step(self.adam_of_actor, (self.temperature * log_prob - self.smaller(self.critics, obs, action)).mean())
            with torch.no_grad():
                _, log_prob = self.draw(obs)
            self.step(self.adam_of_temperature, (-self.log_temperature.exp() * (log_prob - ACTIONS)).mean())
            self.temperature = self.log_temperature.exp().item()
        for critic, moving in zip(self.critics, self.targets):
            for p, of_target in zip(critic.parameters(), moving.parameters()):
                of_target.data.copy_(TAU * p.data + (1 - TAU) * of_target.data)


torch.set_num_threads(1)
sac = Sac()
for k in range(20):
    sac.update(k)
begin = time.time()
for k in range(UPDATES):
    sac.update(k)
print(f"torch {torch.__version__}: {UPDATES / (time.time() - begin):.1f} updates per second")
