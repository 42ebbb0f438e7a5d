"""PPO on gymnax's CartPole-v1 in one compiled program, with the steps, networks and settings of PureJaxRL's ppo.py
(github.com/luchris429/purejaxrl). It is rewritten with the same packages, because PureJaxRL is on no package registry.

    purejaxrl.py --num_envs 2048 --num_steps 32     answers worker.py's protocol; compilation is not measured
    purejaxrl.py --until 475                        4 x 128; prints the steps until the mean return is reached
"""

import argparse
import sys
from typing import NamedTuple

import distrax
import flax.linen as nn
import gymnax
import jax
import jax.numpy as jnp
import optax
from flax.linen.initializers import orthogonal
from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper

from worker import Recent, answer

GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2
EPOCHS, MINI_BATCHES = 4, 4
LEARNING_RATE, ENTROPY, VALUE, LARGEST_NORM = 2.5e-4, 0.01, 0.5, 0.5


class Mlp(nn.Module):
    outputs: int
    last_gain: float

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.tanh(nn.Dense(64, kernel_init=orthogonal(2**0.5))(x))
        return nn.Dense(self.outputs, kernel_init=orthogonal(self.last_gain))(x)


class ActorCritic(nn.Module):
    actions: int

    def setup(self):
        self.actor, self.critic = Mlp(self.actions, 0.01), Mlp(1, 1.0)

    def __call__(self, obs):
        return distrax.Categorical(logits=self.actor(obs)), self.critic(obs)[..., 0]


class Sample(NamedTuple):  # samples of a rollout, [steps, envs, ...]
    obs: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array


class State(NamedTuple):  # the state of training
    params: dict
    optimizer: tuple
    envs: tuple
    obs: jax.Array
    key: jax.Array


def make_training(num_envs, num_steps, updates):
    """Returns begin(key) -> State, and update(State, None) -> State, (episode ended, its return), each [num_steps,
    num_envs]. The learning rate falls to 0 in `updates` updates."""
    env, env_params = gymnax.make("CartPole-v1")
    env = LogWrapper(FlattenObservationWrapper(env))
    network = ActorCritic(env.action_space(env_params).n)
    rate = optax.linear_schedule(LEARNING_RATE, 0, updates * EPOCHS * MINI_BATCHES)
    optimizer = optax.chain(optax.clip_by_global_norm(LARGEST_NORM), optax.adam(rate, eps=1e-5))

    def begin(key):
        key, net_key, env_key = jax.random.split(key, 3)
        params = network.init(net_key, jnp.zeros(env.observation_space(env_params).shape))
        obs, envs = jax.vmap(env.reset, (0, None))(jax.random.split(env_key, num_envs), env_params)
        state = State(params, optimizer.init(params), envs, obs, key)
        # Converts the state to the types that it has after a step, so that nothing is compiled twice.
        after = jax.eval_shape(step, state, None)[0]
        return jax.tree.map(lambda x, like: jax.lax.convert_element_type(x, like.dtype), state, after)

    def step(state, _):
        key, action_key, env_key = jax.random.split(state.key, 3)
        policy, value = network.apply(state.params, state.obs)
        action, log_prob = policy.sample_and_log_prob(seed=action_key)
        keys = jax.random.split(env_key, num_envs)
        obs, envs, reward, done, info = jax.vmap(env.step, (0, 0, 0, None))(keys, state.envs, action, env_params)
        sample = Sample(state.obs, action, log_prob, value, reward, done)
        episodes = info["returned_episode"], info["returned_episode_returns"]
        return state._replace(envs=envs, obs=obs, key=key), (sample, episodes)

    def advantages_of(rollout, last_value):
        def back(carry, sample):
            advantage, next_value = carry
            continues = 1 - sample.done
            delta = sample.reward + GAMMA * continues * next_value - sample.value
            advantage = delta + GAMMA * LAMBDA * continues * advantage
            return (advantage, sample.value), advantage

        return jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), rollout, reverse=True, unroll=16)[1]

    def loss(params, batch):
        sample, advantage, target = batch
        policy, value = network.apply(params, sample.obs)
        moved = sample.value + jnp.clip(value - sample.value, -CLIP, CLIP)
        value_loss = 0.5 * jnp.maximum((value - target) ** 2, (moved - target) ** 2).mean()
        ratio = jnp.exp(policy.log_prob(sample.action) - sample.log_prob)
        gain = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        surrogate = jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * gain).mean()
        return VALUE * value_loss - surrogate - ENTROPY * policy.entropy().mean()

    def learn(carry, batch):
        params, moments = carry
        value, gradient = jax.value_and_grad(loss)(params, batch)
        change, moments = optimizer.update(gradient, moments, params)
        return (optax.apply_updates(params, change), moments), value

    def update(state, _):
        state, (rollout, episodes) = jax.lax.scan(step, state, None, num_steps)
        advantage = advantages_of(rollout, network.apply(state.params, state.obs)[1])
        samples = num_envs * num_steps
        flat = jax.tree.map(
            lambda x: x.reshape((samples,) + x.shape[2:]), (rollout, advantage, advantage + rollout.value)
        )

        def epoch(carry, key):
            order = jax.random.permutation(key, samples)
            batches = jax.tree.map(lambda x: x[order].reshape((MINI_BATCHES, -1) + x.shape[1:]), flat)
            return jax.lax.scan(learn, carry, batches)

        key, *keys = jax.random.split(state.key, EPOCHS + 1)
        (params, moments), _ = jax.lax.scan(epoch, (state.params, state.optimizer), jnp.stack(keys))
        return state._replace(params=params, optimizer=moments, key=key), episodes

    return begin, update


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_envs", type=int, default=4)
    parser.add_argument("--num_steps", type=int, default=128)
    parser.add_argument("--until", type=float)
    options = parser.parse_args()
    steps = options.num_envs * options.num_steps
    updates = 500_000 // steps if options.until else 1_000_000
    chunk = 10 if options.until else max(1, 65536 // steps)  # updates per call
    begin, update = make_training(options.num_envs, options.num_steps, updates)
    train = jax.jit(lambda state: jax.lax.scan(update, state, None, chunk), donate_argnums=0)
    state = jax.jit(begin)(jax.random.PRNGKey(30))

    if options.until:
        recent = Recent()
        for done in range(chunk, updates + 1, chunk):
            state, (ended, returns) = train(state)
            recent.add(jax.device_get(returns)[jax.device_get(ended)])
            if recent.reached(options.until):
                print(done * steps, flush=True)
                return 0
        return 1

    def work(rounds):
        nonlocal state
        for _ in range(rounds):
            state, episodes = train(state)
        jax.block_until_ready((state, episodes))

    answer(work, chunk * steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
