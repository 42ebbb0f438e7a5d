"""Policies of checkpoints as torch modules."""

import torch
from torch import nn

_ACTIVATIONS = {"elu": nn.ELU, "relu": nn.ReLU, "tanh": nn.Tanh, "silu": nn.SiLU, "gelu": nn.GELU}


class TorchPolicy(nn.Module):
    """A drl.Policy whose weights are parameters, so that its actions can be differentiated.

    forward() takes observations [obs] or [n, obs], and returns actions, or the numbers of discrete actions. A
    recurrent policy keeps its state between calls, without its gradients; call reset() as of a drl.Policy.
    """
    def __init__(self, policy):
        super().__init__()
        self.distribution, self.clip = policy.distribution, policy.clip
        self.choices = None if policy.choices is None else policy.choices.tolist()
        for name in ("mean", "inverse_std", "low", "high"):
            value = getattr(policy, name)
            self.register_buffer(name, None if value is None else torch.tensor(value))
        self.rnn, self.state = None, None
        if policy.is_recurrent:
            hidden, inputs = policy.recurrent[0]["weight_hidden"].shape[1], policy.recurrent[0]["weight_input"].shape[1]
            kind = {"gru": nn.GRU, "lstm": nn.LSTM}[policy.rnn_type]
            self.rnn = kind(inputs, hidden, len(policy.recurrent))
            for k, layer in enumerate(policy.recurrent):
                for name, theirs in (("weight_input", "weight_ih"), ("weight_hidden", "weight_hh"),
                                     ("bias_input", "bias_ih"), ("bias_hidden", "bias_hh")):
                    _set(getattr(self.rnn, f"{theirs}_l{k}"), layer[name])
        modules = []
        for layer in policy.layers:
            modules += [nn.Linear(*reversed(layer["weight"].shape))]
            _set(modules[-1].weight, layer["weight"]), _set(modules[-1].bias, layer["bias"])
            if layer["norm/weight"] is not None:
                modules += [nn.LayerNorm(len(layer["norm/weight"]))]
                _set(modules[-1].weight, layer["norm/weight"]), _set(modules[-1].bias, layer["norm/bias"])
            modules += [_ACTIVATIONS[policy.activation]()]
        self.layers = nn.Sequential(*modules[:-1])

    def reset(self, ended=None):
        """Begins new episodes: of all environments, or of those for which `ended` [n] is true."""
        if ended is None:
            self.state = None
        elif self.state is not None:
            mask = torch.as_tensor(ended, dtype=torch.bool, device=self.state[0].device)[:, None]
            self.state = tuple(state.masked_fill(mask, 0) for state in self.state)

    def outputs(self, observations):
        """Returns the outputs of the last layer [n, outputs], such as means or logits."""
        x = observations
        if self.mean is not None:
            x = ((x - self.mean) * self.inverse_std).clamp(-self.clip, self.clip)
        if self.rnn is not None:
            state, is_lstm = self.state, isinstance(self.rnn, nn.LSTM)
            if state is not None:  # copies, for another device, type or mode; other environments start anew
                state = tuple(s.to(x).clone() for s in state) if state[0].shape[1] == len(x) else None
            x, state = self.rnn(x[None], state if is_lstm or state is None else state[0])
            self.state, x = tuple(s.detach() for s in (state if is_lstm else [state])), x[0]
        return self.layers(x)

    def forward(self, observations):
        if observations.ndim == 1:
            return self(observations[None])[0]
        x = self.outputs(observations)
        if self.choices is not None:
            numbers = torch.stack([head.argmax(1) for head in x.split(self.choices, 1)], 1)
            return numbers if len(self.choices) > 1 else numbers[:, 0]
        x = x if self.distribution == "beta" else x[:, :len(self.low)]
        if self.distribution == "squashed_gaussian":
            return self.low + (self.high - self.low) * (1 + x.tanh()) / 2
        if self.distribution == "beta":  # the mean
            a, b = (1 + nn.functional.softplus(x)).chunk(2, 1)
            return self.low + (self.high - self.low) * a / (a + b)
        return torch.clamp(x, self.low, self.high)


def _set(parameter, values):
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(values))
