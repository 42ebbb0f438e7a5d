"""The protocol by which compare.py measures a peer: it writes a line with a number of rounds, and the peer answers with
a line with the seconds that they took."""

import contextlib
import io
import json
import sys
import time


def answer(work, steps):
    """Answers compare.py until the input ends. work(rounds) must do `rounds` rounds of `steps` environment steps each.
    One round is done first to warm up (compilation, memory), and its time is reported. Output of the work is
    discarded."""

    def seconds(rounds):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            work(rounds)
        return time.perf_counter() - start

    print(json.dumps({"steps": steps, "first_round": seconds(1)}), flush=True)
    for line in sys.stdin:
        print(seconds(int(line)), flush=True)


class Recent:
    """The returns of the latest 100 episodes."""

    def __init__(self):
        self.returns = []

    def add(self, returns):
        self.returns = (self.returns + [float(value) for value in returns])[-100:]

    def reached(self, target):
        return len(self.returns) == 100 and sum(self.returns) >= 100 * target
