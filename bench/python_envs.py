#!/usr/bin/env python3
"""Prints how many environment steps per second drl.make_vec takes on one core, beside env_bench and EnvPool, in turn.

    bench/python_envs.py BUILD TASK... [--num_envs 1024]

BUILD is the build directory of drl, which has bin/env_bench. All get random actions that were drawn in advance. Needs
the package drl and an otherwise idle core. EnvPool is left out if it is not installed or does not have the task. Rates
are medians of three turns.
"""

import argparse
import os
import re
import subprocess
import sys
import time

import drl
import numpy as np

TURNS, SECONDS, ACTIONS = 3, 1.0, 32


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--num_envs", type=int, default=1024)
    given = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ.setdefault("DRL_PREFIX", given.build)
    print("{:24s} {:>12s} {:>12s} {:>12s} {:>6s} {:>12s} {:>6s}".format(
        "task", "make_vec", "next_step", "env_bench", "ratio", "EnvPool", "ratio"))
    for task in given.tasks:
        measures = {"make_vec": stepper(task, given.num_envs, "same_step"),
                    "next_step": stepper(task, given.num_envs, "next_step"),
                    "env_bench": lambda: env_bench(given.build, task, given.num_envs),
                    "envpool": envpool(task, given.num_envs)}
        rates = {name: [] for name, measure in measures.items() if measure}
        for _ in range(TURNS):
            for name, found in rates.items():
                found.append(measures[name]())
        ours, next_step, bench, *peers = (np.median(found) for found in rates.values())
        print(f"{task:24s} {ours:12,.0f} {next_step:12,.0f} {bench:12,.0f} {ours / bench:6.2f}" +
              "".join(f" {peer:12,.0f} {ours / peer:6.1f}" for peer in peers), flush=True)


def rate(envs, num_envs):
    """Returns environment steps per second with new episodes. Actions without bounds are within -1 and 1."""
    space = envs.single_action_space if hasattr(envs, "single_action_space") else envs.action_space
    space.seed(0)
    actions = np.stack([[space.sample() for _ in range(num_envs)] for _ in range(ACTIONS)])
    if hasattr(space, "low") and not np.isfinite(space.low).all():
        actions = np.random.default_rng(0).uniform(-1, 1, actions.shape).astype(np.float32)
    envs.reset()
    steps, begin = 0, time.perf_counter()
    while (seconds := time.perf_counter() - begin) < SECONDS:
        for action in actions:
            envs.step(action)
        steps += ACTIONS * num_envs
    return steps / seconds


def stepper(task, num_envs, autoreset):
    envs = drl.make_vec(task, num_envs, threads=1, autoreset=autoreset, copy=False)
    return lambda: rate(envs, num_envs)


def env_bench(build, task, num_envs):
    words = [f"{build}/bin/env_bench", "--task", task, "--num_envs", str(num_envs), "--device", "cpu"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return 1e6 * float(re.search(r"([0-9.]+) M steps/s", text).group(1))


def envpool(task, num_envs):
    """Returns a measurement of EnvPool with one thread, or None."""
    try:
        import envpool
        envs = envpool.make(task, env_type="gymnasium", num_envs=num_envs, num_threads=1)
    except (ImportError, AssertionError):
        return None
    return lambda: rate(envs, num_envs)


if __name__ == "__main__":
    sys.exit(main())
