#!/usr/bin/env python3
"""Records networks of motors with PyTorch, for motor_network_test.cpp: motor_record.py writes recordings/motor_*.

The steps are those of Isaac Lab's ActuatorNetMLP and ActuatorNetLSTM: histories of position errors and velocities are
rolled by a step, their numbers at input_idx are scaled and joined, and the output is scaled to a torque. Written for
PyTorch 2.11 and NumPy 2.4.
"""

import pathlib

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).parent / "recordings"
STEPS = 40


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(2, 8, num_layers=2, batch_first=True)
        self.out = torch.nn.Linear(8, 1)

    def forward(self, x, state):
        y, state = self.lstm(x, state)
        return self.out(y[:, -1]), state


def save(name, network, **settings):
    np.savez(FOLDER / f"{name}.npz", **{k: v.numpy() for k, v in network.state_dict().items()}, **settings)


def record(name, torques):
    generator = np.random.default_rng(5)
    lines = []
    for error, velocity in zip(generator.normal(0, 0.3, STEPS), generator.normal(0, 4, STEPS)):
        torque = torques(float(error), float(velocity))
        lines.append(f"{error!r} {velocity!r} {torque!r}".replace("np.float64(", "").replace(")", ""))
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n")


def record_mlp(name, activation, activation_name, order, input_idx):
    inputs = 2 * len(input_idx)
    network = torch.nn.Sequential(
        torch.nn.Linear(inputs, 16), activation, torch.nn.Linear(16, 6), activation, torch.nn.Linear(6, 1)
    )
    scales = {"pos_scale": -1.5, "vel_scale": 0.25, "torque_scale": 20.0}
    save(name, network, activation=activation_name, input_order=order, input_idx=input_idx, **scales)
    network.double()
    history = torch.zeros(2, max(input_idx) + 1, dtype=torch.float64)

    def torque(error, velocity):
        history[:] = history.roll(1, 1)
        history[0, 0], history[1, 0] = error, velocity
        pos = history[0, input_idx] * scales["pos_scale"]
        vel = history[1, input_idx] * scales["vel_scale"]
        x = torch.cat([pos, vel] if order == "pos_vel" else [vel, pos])
        return (network(x) * scales["torque_scale"]).item()

    record(name, torque)


def record_lstm(name):
    network = Lstm()
    save(name, network, torque_scale=30.0)
    network.double()
    state = [torch.zeros(2, 1, 8, dtype=torch.float64), torch.zeros(2, 1, 8, dtype=torch.float64)]

    def torque(error, velocity):
        y, new = network(torch.tensor([[[error, velocity]]], dtype=torch.float64), tuple(state))
        state[:] = new
        return (y * 30.0).item()

    record(name, torque)


with torch.no_grad():
    torch.manual_seed(3)
    record_mlp("motor_softsign", torch.nn.Softsign(), "softsign", "pos_vel", [0, 1, 2])
    record_mlp("motor_elu", torch.nn.ELU(), "elu", "vel_pos", [0, 3])
    record_mlp("motor_tanh", torch.nn.Tanh(), "tanh", "pos_vel", [2, 0])
    record_lstm("motor_lstm")
