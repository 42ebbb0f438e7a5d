#!/usr/bin/env python3
"""Prints how many time steps per second drl.Batch and mujoco.batch take, on one core, in turn.

    bench/python_batch.py MODEL.xml... [--dtype float64] [--nsim 1024]

Both get the same random controls, new ones every 4 steps; simulations are reset every 250 calls. Needs the package drl and
an otherwise idle core. Rates are medians of the process's CPU time.
"""

import argparse
import os
import pathlib
import sys
import time

import drl
import mujoco
import numpy as np
from mujoco import batch as mujoco_batch

STEPS, TURNS, SECONDS, RESET = 4, 5, 0.5, 250


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--nsim", type=int, default=1024)
    given = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{'model':24s} {'drl.Batch':>14s} {'mujoco.batch':>14s} {'ratio':>7s}  opened in")
    for file in given.models:
        begin = time.perf_counter()
        ours = drl.Batch(file, given.nsim, dtype=given.dtype)
        opened = time.perf_counter() - begin
        theirs = mujoco_batch.Batch(ours.model, 64, 1)  # more simulations do not make it faster
        rates = {ours: [], theirs: []}
        for _ in range(TURNS):
            for batch, measured in rates.items():
                measured.append(rate(batch))
        x, y = (np.median(measured) for measured in rates.values())
        print(f"{pathlib.Path(file).stem:24s} {x:14,.0f} {y:14,.0f} {x / y:7.1f}  {opened:.1f} s", flush=True)


def rate(batch):
    """Returns time steps per second."""
    model, random = batch.model, np.random.default_rng(0)
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1, 1]).T
    controls = [random.uniform(low, high, (batch.nsim, model.nu)) for _ in range(16)]
    batch.reset()
    begin, calls = time.process_time(), 0
    while (seconds := time.process_time() - begin) < SECONDS:
        if calls % RESET == RESET - 1:
            batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)
        batch.bind("ctrl")[...] = controls[calls % len(controls)]
        batch.step(nstep=STEPS)
        calls += 1
    return calls * STEPS * batch.nsim / seconds


if __name__ == "__main__":
    sys.exit(main())
