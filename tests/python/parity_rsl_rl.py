"""One update of PPO equals rsl_rl's: advantages, losses, gradients, and parameters after each mini-batch.

rsl_rl's own classes compute the update from drl's rollout. docs/algorithms.md lists the points in which drl differs;
here each of them is handed to rsl_rl, so that all else can be compared:
- a truncated episode's reward includes gamma V of its true last observation,
- each epoch is an update() of its own, with drl's permutation,
- the normaliser of observations is drl's, which does not change during an iteration,
- the first mini-batch of an iteration does not adapt the learning rate.
"""

import contextlib
import unittest
from unittest import mock

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel, RNNModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from parity import Update, expect_close


def their_name(name):
    """Converts drl's name of a parameter: policy/actor/1/weight is the actor's mlp.2.weight."""
    _, net, *rest = name.split("/")
    if net in ("std", "log_std"):
        return "actor", f"distribution.{net}_param"
    if rest[0] == "rnn":
        layer, linear, kind = rest[1:]
        return net, f"rnn.rnn.{kind}_{'ih' if linear == 'input' else 'hh'}_l{layer}"
    return net, f"mlp.{2 * int(rest[0])}.{rest[1]}"


class RslRl:
    """rsl_rl's PPO with the parameters, the optimiser's state and the normaliser that drl had before the iteration."""

    def __init__(self, update, policy, algorithm, normalization=False, rnn=None):
        self.update = update
        self.steps, self.envs, obs_dim = update.rollout["obs"][:-1].shape
        actions = update.rollout["policy_out"].shape[2]
        example = TensorDict({"policy": torch.zeros(self.envs, obs_dim)}, batch_size=[self.envs])
        groups = {"actor": ["policy"], "critic": ["policy"]}
        model = RNNModel if rnn else MLPModel
        common = {"activation": policy["activation"], "obs_normalization": normalization, **(rnn or {})}
        distribution = {"class_name": "rsl_rl.modules.distribution.GaussianDistribution", "std_type": policy["std_type"],
                        "std_range": (1e-3, 100)}
        actor = model(example, groups, "actor", actions, policy["actor"], distribution_cfg=distribution, **common)
        critic = model(example, groups, "critic", 1, policy["critic"], **common)
        storage = RolloutStorage("rl", self.envs, self.steps, example, [actions])
        self.ppo = PPO(actor, critic, storage, num_learning_epochs=1, **algorithm)
        self.parameters = {}
        for name in update.names:
            net, theirs = their_name(name)
            self.parameters[name] = getattr(self.ppo, net).get_parameter(theirs)
        self.load()

    def load(self):
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(self.update.parameters(0)[name])
        steps = int(self.update.before["optimizer/steps"])
        m, v = self.update.moments("m"), self.update.moments("v")
        for name, parameter in self.parameters.items():
            if steps > 0:
                self.ppo.optimizer.state[parameter] = {"step": torch.tensor(float(steps)), "exp_avg": m[name],
                                                       "exp_avg_sq": v[name]}
        for net in (self.ppo.actor, self.ppo.critic):
            net.update_normalization = lambda obs: None
            if net.obs_normalization:
                net.obs_normalizer._mean = self.update.before["normalizer/obs/mean"].float().unsqueeze(0)
                net.obs_normalizer._std = self.update.before["normalizer/obs/variance"].sqrt().float().unsqueeze(0)

    def obs(self, rows):
        return TensorDict({"policy": rows}, batch_size=[len(rows)])

    @torch.no_grad()
    def collect(self):
        """Gives drl's rollout to rsl_rl, and compares what the networks compute for it."""
        r, ppo = self.update.rollout, self.ppo
        if "actor_state" in r:
            ppo.actor.rnn.hidden_state = r["actor_state"].unsqueeze(0).clone()
            ppo.critic.rnn.hidden_state = r["critic_state"].unsqueeze(0).clone()
        truncations = torch.zeros(self.envs, dtype=torch.long)
        for t in range(self.steps):
            ppo.act(self.obs(r["obs"][t]))
            ppo.transition.actions = r["action"][t]
            ppo.transition.actions_log_prob = ppo.actor.get_output_log_prob(r["action"][t]).detach()
            expect_close("means", r["policy_out"][t], ppo.actor.output_mean)
            expect_close("log_prob", r["log_prob"][t], ppo.transition.actions_log_prob)
            expect_close("values", r["value"][t], ppo.transition.values)
            truncated = r["truncated"][t].bool()
            last_obs = r["last_obs"][truncations.clamp(max=len(r["last_obs"]) - 1), torch.arange(self.envs)]
            state = ppo.critic.get_hidden_state()
            last_values = ppo.critic(self.obs(last_obs)).detach().squeeze(1)
            ppo.critic.reset(hidden_state=state)
            rewards = r["reward"][t] + torch.where(truncated, ppo.gamma * last_values, 0)
            truncations += truncated
            ppo.process_env_step(self.obs(r["obs"][t + 1]), rewards, (r["terminated"][t] | truncated).float(), {})
        ppo.compute_returns(self.obs(r["obs"][self.steps]))
        ours = r["advantage"].double()
        expect_close("returns", r["return_target"], ppo.storage.returns)
        if not ppo.normalize_advantage_per_mini_batch:
            expect_close("advantages", (ours - ours.mean()) / ours.std(), ppo.storage.advantages)
        else:
            expect_close("advantages", ours, ppo.storage.advantages)

    def epoch(self, first, count):
        """Runs an epoch, of the mini-batches [first, first + count), and compares all numbers of it."""
        ppo, recorded = self.ppo, []

        def clip(parameters, max_norm):
            if len(recorded) <= clip.calls // 2:
                recorded.append({name: p.grad.clone() for name, p in self.parameters.items()})
            clip.calls += 1
            return real_clip(parameters, max_norm)

        clip.calls = 0
        real_clip = torch.nn.utils.clip_grad_norm_
        after = []
        hook = ppo.optimizer.register_step_post_hook(
            lambda *_: after.append({name: p.detach().clone() for name, p in self.parameters.items()}))
        with mock.patch("torch.nn.utils.clip_grad_norm_", clip), self.order(first, count):
            losses = ppo.update()
        hook.remove()
        assert len(after) == len(recorded) == count
        for k in range(count):
            for name in self.update.names:
                expect_close(f"gradient {first + k} of {name}", self.update.gradient(first + k)[name], recorded[k][name])
                expect_close(f"{name} after {first + k}", self.update.parameters(first + k + 1)[name], after[k][name])
        ours = [self.update.losses(first + k) for k in range(count)]
        for loss in ("surrogate", "value", "entropy"):
            expect_close(loss, sum(o[loss] for o in ours) / count, losses[loss])

    def order(self, first, count):
        """Makes rsl_rl's mini-batches those of drl."""
        rows = torch.cat([self.update.updates[first + k]["rows"] for k in range(count)]).long()
        return mock.patch("torch.randperm", lambda *_, **__: rows)

    def run(self, mini_batches):
        self.collect()
        for first in range(0, len(self.update.updates), mini_batches):
            self.epoch(first, mini_batches)


class Recurrent(RslRl):
    """rsl_rl takes mini-batches of consecutive environments: orders the environments of the storage as drl does."""

    def order(self, first, count):
        storage = self.ppo.storage
        if first == 0:
            self.collected = {name: getattr(storage, name) for name in
                              ("observations", "actions", "values", "advantages", "returns", "actions_log_prob", "dones")}
            self.parameters_of_actions = storage.distribution_params
            self.states = [[s.clone() for s in storage.saved_hidden_state_a], [s.clone() for s in storage.saved_hidden_state_c]]
        envs = torch.cat([self.update.updates[first + k]["rows"][:self.envs // count] for k in range(count)]).long()
        for name, numbers in self.collected.items():
            setattr(storage, name, numbers[:, envs])
        storage.distribution_params = tuple(p[:, envs] for p in self.parameters_of_actions)
        storage.saved_hidden_state_a, storage.saved_hidden_state_c = ([s[:, :, envs] for s in states]
                                                                      for states in self.states)
        return contextlib.nullcontext()


POLICY = {"activation": "elu", "std_type": "log", "actor": [16, 24], "critic": [32]}
ALGORITHM = {"num_mini_batches": 4, "clip_param": 0.1, "gamma": 0.97, "lam": 0.9, "value_loss_coef": 0.7,
             "entropy_coef": 0.01, "learning_rate": 0.01, "max_grad_norm": 0.5, "schedule": "fixed", "desired_kl": 0.01}


def options(policy=POLICY, algorithm=ALGORITHM, **more):
    names = {f"ppo__{name}": value for name, value in algorithm.items()}
    return {**names, "ppo__value_clip": algorithm["clip_param"], "ppo__num_learning_epochs": 3,
            "policy__activation": policy["activation"], "policy__std_type": policy["std_type"],
            "policy__actor_hidden_dims": ",".join(map(str, policy["actor"])),
            "policy__critic_hidden_dims": ",".join(map(str, policy["critic"])), **more}


class Parity(unittest.TestCase):
    def test_gaussian_with_a_fixed_rate(self):
        RslRl(Update(**options()), POLICY, ALGORITHM).run(4)

    def test_later_iteration_with_the_optimisers_state(self):
        RslRl(Update(iterations=3, **options()), POLICY, ALGORITHM).run(4)

    def test_std_as_parameter_and_advantages_per_mini_batch(self):
        policy = {**POLICY, "std_type": "scalar", "activation": "tanh"}
        algorithm = {**ALGORITHM, "normalize_advantage_per_mini_batch": True, "use_clipped_value_loss": False}
        RslRl(Update(**options(policy, algorithm)), policy, algorithm).run(4)

    def test_normalised_observations(self):
        more = {"ppo__obs_normalization": "true", "ppo__obs_normalization_clip": 0, "iterations": 2}
        RslRl(Update(**options(**more)), POLICY, ALGORITHM, normalization=True).run(4)

    def test_adaptive_rate(self):
        algorithm = {**ALGORITHM, "schedule": "adaptive", "learning_rate": 0.003}
        update = Update(**options(algorithm=algorithm))
        theirs = RslRl(update, POLICY, algorithm)
        theirs.collect()
        real_kl, calls = theirs.ppo.actor.get_kl_divergence, []

        def kl(old, new):
            calls.append(real_kl(old, new))
            expect_close("KL", update.losses(len(calls) - 1)["kl"], calls[-1].mean())
            return calls[-1] if len(calls) > 1 else torch.zeros_like(calls[-1])

        theirs.ppo.actor.get_kl_divergence = kl
        for first in range(0, 12, 4):
            theirs.epoch(first, 4)
        self.assertNotEqual(update.learning_rate, 0.003)
        self.assertAlmostEqual(update.learning_rate, theirs.ppo.learning_rate, 12)

    def test_recurrent_policy(self):
        rnn = {"rnn_type": "gru", "rnn_hidden_dim": 12, "rnn_num_layers": 1}
        more = {f"policy__{name}": value for name, value in rnn.items()}
        update = Update(iterations=2, num_envs=12, **options(**more))
        Recurrent(update, POLICY, ALGORITHM, rnn=rnn).run(4)


if __name__ == "__main__":
    unittest.main()
