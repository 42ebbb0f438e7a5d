"""Measures how closely a robot follows its commands, from a recording of a velocity task.

    drl_eval --run RUN --env.noise 0 --record episodes.h5
    tests/python/venv build/venv tests/python/evaluate_velocity.py episodes.h5

Prints the mean |command - velocity| of the base in the plane, over all steps, and without the first second after each
new command. The recordings must have no observation noise: their first three observations are the base's velocity.
"""

import argparse
import pathlib

import h5py
import numpy as np


SCAN = 187  # heights that follow the command on rough ground


def commands_of(observations):
    end = observations.shape[1] - (SCAN if observations.shape[1] > SCAN else 0)
    return observations[:-1, end - 3 : end - 1]


def errors_of(observations, dt, settle):
    velocity, command = observations[:-1, 0:2], commands_of(observations)
    error = np.linalg.norm(command - velocity, axis=1)
    changed = np.append(True, (command[1:] != command[:-1]).any(axis=1))
    steps = np.arange(len(error))
    since = steps - np.maximum.accumulate(np.where(changed, steps, 0))
    return error, since * dt >= settle


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("recordings", nargs="+", type=pathlib.Path)
    parser.add_argument("--settle", type=float, default=1, help="seconds left out after each new command")
    options = parser.parse_args()
    for path in options.recordings:
        with h5py.File(path) as file:
            episodes = [episode["observations"][:] for name, episode in file.items() if name.startswith("episode_")]
            all_errors, settled = map(
                np.concatenate, zip(*(errors_of(each, file.attrs["dt"], options.settle) for each in episodes))
            )
            commands = np.concatenate([commands_of(each) for each in episodes])
        print(
            f"{path.stem}: {len(episodes)} episodes, mean |command| {np.linalg.norm(commands, axis=1).mean():.3f} m/s, "
            f"error {all_errors.mean():.3f} m/s, and {all_errors[settled].mean():.3f} m/s without the first "
            f"{options.settle:g} s after new commands"
        )
