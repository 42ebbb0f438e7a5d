"""Policies of checkpoints, computed with NumPy."""

import math
import pathlib

import h5py
import numpy as np

from drl.runs import find_checkpoint

_erf = np.vectorize(math.erf, otypes=[np.float32])
_ACTIVATIONS = {
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x * (1 + _erf(x / np.float32(math.sqrt(2)))) / 2,
}


def _sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def load_policy(run):
    """Returns the policy of a run, or of one of its checkpoints, as a callable `Policy`.

    `run` is a run's directory, its name such as "Cartpole/latest", or a checkpoint's file. Of a run, the best
    checkpoint is taken, or the newest one if there is no best.
    """
    return Policy(find_checkpoint(run))


class Policy:
    """A policy that turns observations [obs] or [n, obs] into its most probable actions [actions] or [n, actions].

    The actions are those that the task's environments take: within `low` and `high`, before the task's own `scale` and
    `offset`; of discrete actions, their numbers. A recurrent policy keeps the state of n environments between calls;
    call `reset()` before the first step, and `reset(ended)` with a mask [n] of the environments whose episodes ended.
    """
    def __init__(self, file):
        self.file = pathlib.Path(file)
        if not h5py.is_hdf5(file):
            raise ValueError(f"{file} is no HDF5 file: give a checkpoint that drl_train has written")
        with h5py.File(file) as checkpoint:
            if "policy" not in checkpoint or "task" not in checkpoint["policy"].attrs:
                raise ValueError(f"{file} does not describe its policy: give a checkpoint that drl_train has written")
            policy = checkpoint["policy"]
            names = lambda what: policy.attrs[what + "_names"].split("\n")
            self.task, self.dt = policy.attrs["task"], float(policy.attrs["seconds_per_step"])
            self.observation_names, self.action_names = names("observation"), names("action")
            self.distribution = policy.attrs["distribution"]
            self.activation = policy.attrs["activation"]
            read = lambda name: policy[name][:] if name in policy else None
            self.layers = [{name: read(f"actor/{k}/{name}")
                            for name in ("weight", "bias", "norm/weight", "norm/bias")}
                           for k in range(policy.attrs["layers"])]
            self.rnn_type = policy.attrs.get("rnn_type", "none")
            self.recurrent = [{
                f"{kind}_{what}": read(f"actor/rnn/{k}/{what}/{kind}")
                for what in ("input", "hidden")
                for kind in ("weight", "bias")
            } for k in range(policy.attrs.get("rnn_layers", 0))]
            self.mean, self.inverse_std = read("normalizer/mean"), read("normalizer/scale")
            self.clip = float(policy.attrs.get("normalizer_clip", math.inf))
            self.low, self.high, self.choices = read("action/low"), read("action/high"), read("action/choices")
            self.scale, self.offset = read("action/scale"), read("action/offset")
        self._state = None

    @property
    def is_recurrent(self):
        return self.rnn_type != "none"

    def reset(self, ended=None):
        """Begins new episodes: of all environments, or of those for which `ended` [n] is true."""
        if ended is None:
            self._state = None
        elif self._state is not None:
            self._state[:, np.asarray(ended, bool)] = 0

    def to_torch(self):
        """Returns a torch.nn.Module that computes the same actions from tensors, for other devices or to train it on."""
        from drl.torch_policy import TorchPolicy
        return TorchPolicy(self)

    def outputs(self, observations):
        """Returns the outputs of the last layer [n, outputs], such as means or logits, for observations [n, obs]."""
        x = observations.astype(np.float32)
        if self.mean is not None:
            x = np.clip((x - self.mean) * self.inverse_std, -self.clip, self.clip)
        if self.is_recurrent:
            x = self._step_recurrent(x)
        for layer in self.layers[:-1]:
            x = x @ layer["weight"].T + layer["bias"]
            if layer["norm/weight"] is not None:
                x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5))
                x = x * layer["norm/weight"] + layer["norm/bias"]
            x = _ACTIVATIONS[self.activation](x)
        return x @ self.layers[-1]["weight"].T + self.layers[-1]["bias"]

    def __call__(self, observation):
        observations = np.asarray(observation)
        if observations.shape[-1:] != (len(self.observation_names), ) or observations.ndim > 2:
            raise ValueError(f"the policy of {self.task} takes {len(self.observation_names)} numbers for each "
                             f"environment, and the observations have the shape {observations.shape}")
        x = self._actions(self.outputs(np.atleast_2d(observations)))
        return x if observations.ndim == 2 else x[0]

    def _actions(self, x):
        if self.choices is not None:
            heads = np.split(x, np.cumsum(self.choices)[:-1], axis=1)
            numbers = np.stack([head.argmax(1) for head in heads], axis=1).astype(np.int32)
            return numbers if len(self.choices) > 1 else numbers[:, 0]
        x = x[:, :len(self.low)] if self.distribution != "beta" else x
        if self.distribution == "squashed_gaussian":
            return self.low + (self.high - self.low) * (1 + np.tanh(x)) / 2
        if self.distribution == "beta":  # the mean
            a, b = np.split(1 + np.logaddexp(0, x), 2, axis=1)
            return self.low + (self.high - self.low) * a / (a + b)
        return np.clip(x, self.low, self.high)

    def _step_recurrent(self, x):
        width = self.recurrent[0]["weight_hidden"].shape[1]
        states = 2 if self.rnn_type == "lstm" else 1
        if self._state is None or self._state.shape[1] != len(x):
            self._state = np.zeros((len(self.recurrent) * states, len(x), width), np.float32)
        for k, layer in enumerate(self.recurrent):
            h = self._state[k * states]
            from_x = x @ layer["weight_input"].T + layer["bias_input"]
            from_h = h @ layer["weight_hidden"].T + layer["bias_hidden"]
            if self.rnn_type == "gru":
                (x_r, x_z, x_n), (h_r, h_z, h_n) = np.split(from_x, 3, 1), np.split(from_h, 3, 1)
                r, z = _sigmoid(x_r + h_r), _sigmoid(x_z + h_z)
                x = (1 - z) * np.tanh(x_n + r * h_n) + z * h
            else:
                i, f, g, o = np.split(from_x + from_h, 4, 1)
                c = _sigmoid(f) * self._state[k * states + 1] + _sigmoid(i) * np.tanh(g)
                x, self._state[k * states + 1] = _sigmoid(o) * np.tanh(c), c
            self._state[k * states] = x
        return x
