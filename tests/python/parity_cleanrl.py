"""One update of PPO with CleanRL's settings equals CleanRL's algorithm, which is written here in PyTorch.

CleanRL (ppo.py and ppo_continuous_action.py) has tanh networks, advantages that are normalised per mini-batch, half the
squared error as value loss, one clipping of the gradient of actor and critic together, Adam with eps 1e-5 and a linear
schedule. In drl these are options (examples/configs/cleanrl.ini). CleanRL does not bootstrap truncated episodes and drl
does, so gamma V of their last observation is added to the rewards here.
"""

import unittest

import torch
from torch import nn

from parity import Update, expect_close

GAMMA, LAMBDA, CLIP, VALUE_COEF, MAX_GRAD_NORM, MINI_BATCHES = 0.99, 0.95, 0.2, 0.5, 0.5, 4
ITERATION, ITERATIONS = 2, 10


def linear_tanh(update, net):
    layers = max(int(name.split("/")[2]) for name in update.names if name.startswith(f"policy/{net}/")) + 1
    modules = []
    for k in range(layers):
        outputs, inputs = update.after[f"policy/{net}/{k}/weight"].shape
        modules += [nn.Linear(inputs, outputs), nn.Tanh()]
    return nn.Sequential(*modules[:-1])


class Agent(nn.Module):
    def __init__(self, update):
        super().__init__()
        self.actor, self.critic = linear_tanh(update, "actor"), linear_tanh(update, "critic")
        self.is_discrete = "policy/log_std" not in update.names
        if not self.is_discrete:
            self.log_std = nn.Parameter(torch.zeros(update.after["policy/log_std"].shape))
        self.by_name = {}
        for name in update.names:
            parts = name.split("/")
            self.by_name[name] = self.log_std if parts[1] == "log_std" else getattr(
                getattr(self, parts[1])[2 * int(parts[2])], parts[3])

    def evaluate(self, obs, action):
        """Returns log-probabilities, entropies and values."""
        out = self.actor(obs)
        if self.is_discrete:
            distribution = torch.distributions.Categorical(logits=out)
            return distribution.log_prob(action), distribution.entropy(), self.critic(obs).squeeze(-1)
        distribution = torch.distributions.Normal(out, self.log_std.exp().expand_as(out))
        return distribution.log_prob(action).sum(-1), distribution.entropy().sum(-1), self.critic(obs).squeeze(-1)


class CleanRl:
    def __init__(self, update, learning_rate, entropy_coef):
        self.update, self.entropy_coef = update, entropy_coef
        self.agent = Agent(update)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), eps=1e-5,
                                          lr=learning_rate * (1 - ITERATION / ITERATIONS))
        m, v = update.moments("m"), update.moments("v")
        with torch.no_grad():
            for name, parameter in self.agent.by_name.items():
                parameter.copy_(update.parameters(0)[name])
                self.optimizer.state[parameter] = {"step": update.before["optimizer/steps"].float(), "exp_avg": m[name],
                                                   "exp_avg_sq": v[name]}

    @torch.no_grad()
    def advantages(self):
        """Returns advantages and returns [T, N]."""
        r = self.update.rollout
        log_prob, _, values = self.agent.evaluate(r["obs"][:-1], r["action"])
        expect_close("log_prob", r["log_prob"], log_prob)
        expect_close("values", r["value"][:-1], values)
        values = torch.cat([values, self.agent.critic(r["obs"][-1]).T])
        last_values = self.agent.critic(r["last_obs"]).squeeze(-1)
        rewards, ended = r["reward"].clone(), (r["terminated"] | r["truncated"]).float()
        for n in range(rewards.shape[1]):
            for k, t in enumerate(r["truncated"][:, n].nonzero()):
                rewards[t, n] += GAMMA * last_values[k, n]
        advantages, advantage = torch.zeros_like(rewards), 0
        for t in reversed(range(len(rewards))):
            delta = rewards[t] + GAMMA * values[t + 1] * (1 - ended[t]) - values[t]
            advantages[t] = advantage = delta + GAMMA * LAMBDA * (1 - ended[t]) * advantage
        return advantages, advantages + values[:-1]

    def run(self):
        r = self.update.rollout
        advantages, returns = self.advantages()
        expect_close("advantages", r["advantage"], advantages)
        expect_close("returns", r["return_target"], returns)
        flat = [x.flatten(0, 1) for x in (r["obs"][:-1], r["action"], r["log_prob"], r["value"][:-1], advantages, returns)]
        for k, update in enumerate(self.update.updates):
            obs, action, old_log_prob, old_value, advantage, target = (x[update["rows"].long()] for x in flat)
            log_prob, entropy, value = self.agent.evaluate(obs, action)
            ratio = (log_prob - old_log_prob).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            surrogate = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            near = old_value + (value - old_value).clamp(-CLIP, CLIP)
            value_loss = 0.5 * torch.max((value - target) ** 2, (near - target) ** 2).mean()
            loss = surrogate - self.entropy_coef * entropy.mean() + VALUE_COEF * value_loss
            self.optimizer.zero_grad()
            loss.backward()
            losses = self.update.losses(k)
            expect_close(f"surrogate {k}", losses["surrogate"], surrogate)
            expect_close(f"value {k}", losses["value"], 2 * value_loss)
            expect_close(f"entropy {k}", losses["entropy"], entropy.mean())
            for name, parameter in self.agent.by_name.items():
                expect_close(f"gradient {k} of {name}", self.update.gradient(k)[name], parameter.grad)
            nn.utils.clip_grad_norm_(self.agent.parameters(), MAX_GRAD_NORM)
            self.optimizer.step()
            for name, parameter in self.agent.by_name.items():
                expect_close(f"{name} after {k}", self.update.parameters(k + 1)[name], parameter)


def update(learning_rate, entropy_coef, epochs, **more):
    return Update(iterations=ITERATION + 1, ppo__learning_rate=learning_rate, ppo__schedule="linear",
                  ppo__schedule_iterations=ITERATIONS, ppo__num_learning_epochs=epochs,
                  ppo__num_mini_batches=MINI_BATCHES, ppo__gamma=GAMMA, ppo__lam=LAMBDA, ppo__clip_param=CLIP,
                  ppo__value_clip=CLIP, ppo__value_loss_coef=VALUE_COEF / 2, ppo__entropy_coef=entropy_coef,
                  ppo__max_grad_norm=MAX_GRAD_NORM, ppo__grad_clip="joint", ppo__adam_eps=1e-5,
                  ppo__normalize_advantage_per_mini_batch="true", policy__activation="tanh", **more)


class Parity(unittest.TestCase):
    def test_continuous_actions(self):
        CleanRl(update(0.003, 0, 10), 0.003, 0).run()

    def test_discrete_actions(self):
        CleanRl(update(0.0025, 0.01, 4, discrete="true", actions=4), 0.0025, 0.01).run()


if __name__ == "__main__":
    unittest.main()
