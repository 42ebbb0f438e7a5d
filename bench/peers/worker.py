"""How compare.py asks a peer for its speed: a line with a number of rounds in, a line with the seconds they took out."""

import contextlib
import io
import json
import sys
import time


def answer(work, steps):
    """work(rounds) does so many, of `steps` environment steps each. Does one to warm up (compilers, first touch of
    memory), says what it was, and answers until the input ends. What else the work prints is dropped."""

    def seconds(rounds):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            work(rounds)
        return time.perf_counter() - start

    print(json.dumps({"steps": steps, "first_round": seconds(1)}), flush=True)
    for line in sys.stdin:
        print(seconds(int(line)), flush=True)


class Recent:
    """Mean return of the latest 100 episodes."""

    def __init__(self):
        self.returns = []

    def add(self, returns):
        self.returns = (self.returns + [float(value) for value in returns])[-100:]

    def reached(self, target):
        return len(self.returns) == 100 and sum(self.returns) >= 100 * target
