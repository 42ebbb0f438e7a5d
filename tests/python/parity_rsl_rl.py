"""One update of PPO equals rsl_rl's: advantages, losses, gradients, and parameters after each mini-batch.

rsl_rl's own classes compute the update from drl's rollout. docs/reference/algorithms.md lists the points in which drl differs;
here each of them is handed to rsl_rl, so that all else can be compared:
- a truncated episode's reward includes gamma V of its true last observation,
- each epoch is an update() of its own, with drl's permutation,
- the normaliser of observations is drl's, which does not change during an iteration,
- the first mini-batch of an iteration does not adapt the learning rate.
"""

import ast
import configparser
import contextlib
import copy
import inspect
import math
import pathlib
import unittest
from unittest import mock

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel, RNNModel
from rsl_rl.modules.distribution import BetaDistribution, GaussianDistribution, HeteroscedasticGaussianDistribution
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from parity import Update, by_parameter, expect_close


def their_name(name):
    """Converts drl's name of a parameter: policy/actor/1/weight is the actor's mlp.2.weight."""
    _, net, *rest = name.split("/")
    if net in ("std", "log_std"):
        return "actor", f"distribution.{net}_param"
    if rest[0] == "rnn":
        layer, linear, kind = rest[1:]
        return net, f"rnn.rnn.{kind}_{'ih' if linear == 'input' else 'hh'}_l{layer}"
    return net, f"mlp.{2 * int(rest[0])}.{rest[1]}"


def hidden_state(rnn, state):
    """Converts drl's state [N, layers * (h, c of an LSTM)] to PyTorch's [layers, N, width], one or two of them."""
    parts = 2 if isinstance(rnn, torch.nn.LSTM) else 1
    split = state.reshape(len(state), rnn.num_layers, parts, rnn.hidden_size).permute(2, 1, 0, 3).contiguous()
    return split[0] if parts == 1 else (split[0], split[1])


class RslRl:
    """rsl_rl's PPO with the parameters, the optimiser's state and the normaliser that drl had before the iteration."""

    def __init__(self, update, policy, algorithm, normalization=False, rnn=None, rnd=None):
        self.update = update
        self.steps, self.envs, obs_dim = update.rollout["obs"][:-1].shape
        actions = update.rollout["action"].shape[2]
        example = TensorDict({"policy": torch.zeros(self.envs, obs_dim)}, batch_size=[self.envs])
        groups = {"actor": ["policy"], "critic": ["policy"]}
        model = RNNModel if rnn else MLPModel
        common = {"activation": policy["activation"], "obs_normalization": normalization, **(rnn or {})}
        self.state_std = update.rollout["policy_out"].shape[2] > actions
        distribution = {"class_name": HeteroscedasticGaussianDistribution if self.state_std else GaussianDistribution, "std_type": policy["std_type"],
                        "std_range": policy.get("std_range", (1e-3, 100))}
        self.bound = policy.get("bound")  # of a Beta distribution
        if self.bound:
            distribution = {"class_name": BetaDistribution, "action_range": (-self.bound, self.bound)}
        actor = model(example, groups, "actor", actions, policy["actor"], distribution_cfg=distribution, **common)
        critic = model(example, groups, "critic", 1, policy["critic"], **common)
        storage = RolloutStorage("rl", self.envs, self.steps, example, [actions])
        if rnd:
            rnd = {"num_states": obs_dim, "obs_groups": {"rnd_state": ["policy"]}, **rnd}
        self.ppo = PPO(actor, critic, storage, num_learning_epochs=1, rnd_cfg=rnd, **algorithm)
        self.critic_norm = None  # the actor's
        self.rnd_losses = []
        self.parameters = {}
        for name in update.names:
            net, theirs = their_name(name)
            self.parameters[name] = getattr(self.ppo, net).get_parameter(theirs)
        self.load()

    def load(self):
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(self.update.parameters(0)[name])
        self.load_optimizer()
        for net in (self.ppo.actor, self.ppo.critic):
            net.update_normalization = lambda obs: None
            if net.obs_normalization:
                net.obs_normalizer._mean = self.update.before["normalizer/obs/mean"].float().unsqueeze(0)
                net.obs_normalizer._std = self.update.before["normalizer/obs/variance"].sqrt().float().unsqueeze(0)

        if self.ppo.rnd:
            self.load_rnd()

    @torch.no_grad()
    def load_rnd(self):
        """Gives rsl_rl the networks, the optimiser's state and the normalisers of random network distillation."""
        rnd, ours, before = self.ppo.rnd, self.update.rnd[0], self.update.before
        for net in ("predictor", "target"):
            for name, parameter in getattr(rnd, net).named_parameters():
                parameter.copy_(ours[self.rnd_name(net, name)])
        if int(ours["optimizer/steps"]) > 0:
            m, v = self.rnd_moments(0, "m"), self.rnd_moments(0, "v")
            for name, parameter in rnd.predictor.named_parameters():
                rnd.optimizer.state[parameter] = {"step": torch.tensor(float(ours["optimizer/steps"])),
                                                  "exp_avg": m[name].clone(), "exp_avg_sq": v[name].clone()}
        rnd.update_counter = int(before["rollout/lifetime_step"])
        rnd.update_normalization = lambda obs: None
        if rnd.state_normalization:
            rnd.state_normalizer._mean = ours["state_normalizer/mean"].float().unsqueeze(0)
            rnd.state_normalizer._std = ours["state_normalizer/variance"].sqrt().float().unsqueeze(0)
        if rnd.reward_normalization:
            rnd.reward_normalizer = torch.nn.Identity()  # as below
            std = ours["reward_normalizer/variance"].sqrt().float()
            rnd.reward_normalizer.forward = lambda reward: reward / std

    def rnd_name(self, net, name):
        layer, kind = name.split(".")
        return f"{net}/{int(layer) // 2}/{kind}"

    def rnd_moments(self, k, which):
        return by_parameter(self.update.rnd[k]["optimizer/" + which], dict(self.ppo.rnd.predictor.named_parameters()))

    def expect_rnd(self, k, after):
        """Compares the predictor and its moments after k mini-batches."""
        for name, (parameter, state) in after.items():
            ours = self.update.rnd[k][self.rnd_name("predictor", name)]
            expect_close(f"predictor's {name} after {k}", ours, parameter)
            expect_close(f"m of {name} after {k}", self.rnd_moments(k, "m")[name], state["exp_avg"])
            expect_close(f"v of {name} after {k}", self.rnd_moments(k, "v")[name], state["exp_avg_sq"])

    def load_optimizer(self):
        steps = int(self.update.before["optimizer/steps"])
        if steps == 0:
            return
        state = self.ppo.optimizer.state
        if "optimizer/momentum" in self.update.before:
            momentum = self.update.moments("momentum")
            for name, parameter in self.parameters.items():
                state[parameter] = {"momentum_buffer": momentum[name]}
            return
        m, v = self.update.moments("m"), self.update.moments("v")
        for name, parameter in self.parameters.items():
            state[parameter] = {"step": torch.tensor(float(steps)), "exp_avg": m[name], "exp_avg_sq": v[name]}

    def use(self, optimizer):
        """Replaces rsl_rl's optimiser."""
        self.ppo.optimizer = optimizer
        self.load_optimizer()
        return self

    def obs(self, rows):
        return TensorDict({"policy": rows}, batch_size=[len(rows)])

    @torch.no_grad()
    def collect(self):
        """Gives drl's rollout to rsl_rl, and compares what the networks compute for it."""
        r, ppo = self.update.rollout, self.ppo
        if "actor_state" in r:
            ppo.actor.rnn.hidden_state = hidden_state(ppo.actor.rnn.rnn, r["actor_state"])
            ppo.critic.rnn.hidden_state = hidden_state(ppo.critic.rnn.rnn, r["critic_state"])
        truncations = torch.zeros(self.envs, dtype=torch.long)
        for t in range(self.steps):
            ppo.act(self.obs(r["obs"][t]))
            ppo.transition.actions = r["action"][t]
            ppo.transition.actions_log_prob = ppo.actor.get_output_log_prob(r["action"][t]).detach()
            if not self.bound:
                expect_close("means", r["policy_out"][t][:, :ppo.actor.output_mean.shape[1]], ppo.actor.output_mean)
            expect_close("log_prob", r["log_prob"][t], ppo.transition.actions_log_prob)
            expect_close("values", r["value"][t], ppo.transition.values)
            truncated = r["truncated"][t].bool()
            last_obs = r["last_obs"][truncations.clamp(max=len(r["last_obs"]) - 1), torch.arange(self.envs)]
            state = copy.deepcopy(ppo.critic.get_hidden_state())
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
            return real_clip(parameters, max_norm if clip.calls % 2 else self.critic_norm or max_norm)

        clip.calls = 0
        real_clip = torch.nn.utils.clip_grad_norm_
        after = []
        hook = ppo.optimizer.register_step_post_hook(
            lambda *_: after.append({name: p.detach().clone() for name, p in self.parameters.items()}))
        rnd_after = []
        if ppo.rnd:
            rnd_hook = ppo.rnd.optimizer.register_step_post_hook(lambda *_: rnd_after.append(copy.deepcopy(
                {name: (p, ppo.rnd.optimizer.state[p]) for name, p in ppo.rnd.predictor.named_parameters()})))
        with mock.patch("torch.nn.utils.clip_grad_norm_", clip), self.order(first, count):
            losses = ppo.update()
        hook.remove()
        if ppo.rnd:
            rnd_hook.remove()
            self.rnd_losses.append(losses["rnd"])
            for k, after_step in enumerate(rnd_after):
                self.expect_rnd(first + k + 1, after_step)
        assert len(after) == len(recorded) == count
        for k in range(count):
            for name in self.update.names:
                expect_close(f"gradient {first + k} of {name}", self.update.gradient(first + k)[name], recorded[k][name])
                expect_close(f"{name} after {first + k}", self.update.parameters(first + k + 1)[name], after[k][name])
        ours = [self.update.losses(first + k) for k in range(count)]
        if self.bound:  # rsl_rl's entropy is that of numbers in [0, 1], before they are scaled to the bounds
            losses["entropy"] += self.update.rollout["action"].shape[2] * math.log(2 * self.bound)
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
        if self.ppo.rnd:
            expect_close("RND loss", self.update.rnd_loss, sum(self.rnd_losses) / len(self.rnd_losses))


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


def defaults(of):
    return {name: p.default for name, p in inspect.signature(of.__init__).parameters.items() if p.default is not p.empty}


POLICY = {"activation": "elu", "std_type": "log", "actor": [16, 24], "critic": [32]}
ALGORITHM = {"num_mini_batches": 4, "clip_param": 0.1, "gamma": 0.97, "lam": 0.9, "value_loss_coef": 0.7,
             "entropy_coef": 0.01, "learning_rate": 0.01, "max_grad_norm": 0.5, "schedule": "fixed", "desired_kl": 0.01}


def options(policy=POLICY, algorithm=ALGORITHM, **more):
    names = {f"ppo__{name}": value for name, value in algorithm.items()}
    return {**names, "ppo__value_clip": algorithm["clip_param"], "ppo__num_learning_epochs": 3,
            "policy__activation": policy["activation"], "policy__std_type": policy["std_type"],
            "policy__actor_hidden_dims": ",".join(map(str, policy["actor"])),
            "policy__critic_hidden_dims": ",".join(map(str, policy["critic"])), **more}


class OptionFile(unittest.TestCase):
    def test_has_the_defaults_of_rsl_rl(self):
        file = configparser.ConfigParser(inline_comment_prefixes="#")
        file.read_string("[run]\n" + (pathlib.Path(__file__).parents[2] / "examples/configs/rsl_rl.ini").read_text())
        ppo, policy = file["ppo"], file["policy"]
        for name, default in defaults(PPO).items():
            if name in ppo:
                self.assertEqual(type(default)(ast.literal_eval(ppo[name].capitalize()) if isinstance(default, bool)
                                               else ppo[name]), default, name)
        self.assertEqual(ppo["value_clip"], ppo["clip_param"])
        model, gaussian = defaults(MLPModel), defaults(GaussianDistribution)
        for name in ("actor", "critic"):
            self.assertEqual(ast.literal_eval(policy[name + "_hidden_dims"]), tuple(model["hidden_dims"]))
        self.assertEqual(policy["activation"], model["activation"])
        self.assertEqual(ppo.getboolean("obs_normalization"), model["obs_normalization"])
        self.assertEqual(policy.getfloat("init_std"), gaussian["init_std"])
        self.assertEqual(policy["std_type"], gaussian["std_type"])
        self.assertEqual((policy.getfloat("std_min"), policy.getfloat("std_max")), gaussian["std_range"])


class Parity(unittest.TestCase):
    def test_gaussian_with_a_fixed_rate(self):
        RslRl(Update(**options()), POLICY, ALGORITHM).run(4)

    def test_later_iteration_with_the_optimisers_state(self):
        RslRl(Update(iterations=3, **options()), POLICY, ALGORITHM).run(4)

    def test_std_as_parameter_and_advantages_per_mini_batch(self):
        policy = {**POLICY, "std_type": "scalar", "activation": "tanh"}
        algorithm = {**ALGORITHM, "normalize_advantage_per_mini_batch": True, "use_clipped_value_loss": False}
        RslRl(Update(**options(policy, algorithm)), policy, algorithm).run(4)

    def test_std_of_the_state(self):
        for std_type in ("log", "scalar"):
            policy = {**POLICY, "std_type": std_type, "std_range": (0.9, 1.05)}
            more = {"policy__state_dependent_std": "true", "policy__std_min": 0.9, "policy__std_max": 1.05}
            RslRl(Update(iterations=2, **options(policy, **more)), policy, ALGORITHM).run(4)

    def test_beta_distribution(self):
        policy = {**POLICY, "bound": 1.5}
        more = {"policy__distribution": "beta", "bound": 1.5}
        RslRl(Update(iterations=2, **options(policy, **more)), policy, ALGORITHM).run(4)
        algorithm = {**ALGORITHM, "schedule": "adaptive", "learning_rate": 0.003}
        update = Update(**options(policy, algorithm, **more))
        self.run_adaptive(update, algorithm, policy)

    def test_normalised_observations(self):
        more = {"ppo__obs_normalization": "true", "ppo__obs_normalization_clip": 0, "iterations": 2}
        RslRl(Update(**options(**more)), POLICY, ALGORITHM, normalization=True).run(4)

    def test_adaptive_rate(self):
        algorithm = {**ALGORITHM, "schedule": "adaptive", "learning_rate": 0.003}
        self.run_adaptive(Update(**options(algorithm=algorithm)), algorithm)
        update = Update(iterations=3, ppo__desired_kl_end=0.05, ppo__anneal_iterations=4, **options(algorithm=algorithm))
        self.run_adaptive(update, {**algorithm, "desired_kl": 0.01 + (0.05 - 0.01) * 2 / 4})

    def run_adaptive(self, update, algorithm, policy=POLICY):
        theirs = RslRl(update, policy, algorithm)
        theirs.ppo.learning_rate = start = float(update.before["optimizer/learning_rate"])
        for group in theirs.ppo.optimizer.param_groups:
            group["lr"] = start
        theirs.collect()
        real_kl, calls = theirs.ppo.actor.get_kl_divergence, []

        def kl(old, new):
            calls.append(real_kl(old, new))
            expect_close("KL", update.losses(len(calls) - 1)["kl"], calls[-1].mean())
            return calls[-1] if len(calls) > 1 else torch.zeros_like(calls[-1])

        theirs.ppo.actor.get_kl_divergence = kl
        for first in range(0, 12, 4):
            theirs.epoch(first, 4)
        self.assertNotEqual(update.learning_rate, start)
        self.assertAlmostEqual(update.learning_rate, theirs.ppo.learning_rate, 12)

    def test_adamw(self):
        algorithm = {**ALGORITHM, "optimizer": "adamw"}  # with PyTorch's default of weight_decay
        for iterations in (1, 3):
            RslRl(Update(iterations=iterations, **options(algorithm=algorithm)), POLICY, algorithm).run(4)
        update = Update(iterations=2, ppo__weight_decay=0.3, **options(algorithm=algorithm))
        theirs = RslRl(update, POLICY, algorithm)
        theirs.use(torch.optim.AdamW(theirs.parameters.values(), lr=0.01, weight_decay=0.3)).run(4)

    def test_sgd(self):
        algorithm = {**ALGORITHM, "optimizer": "sgd", "learning_rate": 0.1}
        RslRl(Update(**options(algorithm=algorithm)), POLICY, algorithm).run(4)
        for iterations in (1, 3):
            update = Update(iterations=iterations, ppo__momentum=0.9, **options(algorithm=algorithm))
            theirs = RslRl(update, POLICY, algorithm)
            theirs.use(torch.optim.SGD(theirs.parameters.values(), lr=0.1, momentum=0.9)).run(4)

    def test_rate_and_norm_of_the_critic(self):
        update = Update(iterations=2, ppo__critic_learning_rate=0.03, ppo__critic_max_grad_norm=0.2, **options())
        theirs = RslRl(update, POLICY, ALGORITHM)
        theirs.critic_norm = 0.2
        networks = [{"params": theirs.ppo.actor.parameters(), "lr": 0.01},
                    {"params": theirs.ppo.critic.parameters(), "lr": 0.03}]
        theirs.use(torch.optim.Adam(networks)).run(4)

    def test_weight_of_the_entropy_that_changes(self):
        update = Update(iterations=4, ppo__entropy_coef_end=0.07, ppo__anneal_iterations=6, **options())
        RslRl(update, POLICY, {**ALGORITHM, "entropy_coef": 0.01 + (0.07 - 0.01) * 3 / 6}).run(4)

    def test_random_network_distillation(self):
        linear = {"mode": "linear", "initial_step": 2, "final_step": 17, "final_value": 2.5}
        for iterations, rnd in ((1, {}), (3, {"weight_schedule": linear, "state_normalization": True}),
                                (3, {"weight_schedule": {"mode": "step", "final_step": 15, "final_value": 0.1}}),
                                (3, {"reward_normalization": True, "activation": "tanh"})):
            rnd = {"weight": 0.7, "num_outputs": 3, "predictor_hidden_dims": [12, 8], "target_hidden_dims": [20],
                   "learning_rate": 0.005, **rnd}
            more = {}
            for name, value in rnd.items():
                if name == "weight_schedule":
                    more |= {f"ppo__rnd.{part}": number for part, number in value.items() if part != "mode"}
                    value = value["mode"]
                more[f"ppo__rnd.{name}"] = ",".join(map(str, value)) if isinstance(value, list) else value
            update = Update(iterations=iterations, **options(**more))
            RslRl(update, POLICY, ALGORITHM, rnd=rnd).run(4)

    def test_recurrent_policy(self):
        for kind, layers in (("gru", 1), ("gru", 2), ("lstm", 1)):
            rnn = {"rnn_type": kind, "rnn_hidden_dim": 12, "rnn_num_layers": layers}
            more = {f"policy__{name}": value for name, value in rnn.items()}
            update = Update(iterations=2, num_envs=12, **options(**more))
            Recurrent(update, POLICY, ALGORITHM, rnn=rnn).run(4)


if __name__ == "__main__":
    unittest.main()
