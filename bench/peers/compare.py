"""Compares drl with its peers on this machine: the same work on the same core, measured alternately, as a table.

drl_train is measured as a user runs it, by the times in metrics.csv from the end of the first iteration to the end of
the last one. Peers are measured without start, compilation and first round. Pairs alternate: drl and the peer, then the
peer and drl. The ratio is the median of the pairs' ratios; the smallest and the largest follow in brackets. The share
of peak is the number of multiply-adds per second that training needs for its networks, divided by the number that the
core can do in registers (fp32_peak, measured before each pair).
"""

import argparse
import csv
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent


@dataclass
class Work:
    """The work of one iteration: `steps` steps of each of `envs` environments, then `epochs` epochs of `mini_batches`
    mini-batches. The networks have 4 inputs."""

    task: str
    envs: int
    steps: int
    hidden: tuple
    outputs: int
    epochs: int
    peer: str
    mini_batches: int = 4
    precision: str = "fp32"  # of drl
    gru: int = 0  # units of a GRU before the hidden layers of actor and critic; 0 for none
    options: tuple = ()  # further options of drl_train

    @property
    def samples(self):
        return self.envs * self.steps

    def name(self):
        gru = f"GRU {self.gru}, " if self.gru else ""
        name = f"{self.task} {self.envs} x {self.steps}, {gru}{'-'.join(map(str, self.hidden))}"
        return name + (f" in {self.precision}" if self.precision != "fp32" else "")

    def drl_options(self, ranks=1):
        """Returns drl_train's options for `ranks` ranks that share the environments."""
        widths = ",".join(map(str, self.hidden))
        gru = ["--policy.rnn_type=gru", f"--policy.rnn_hidden_dim={self.gru}"] if self.gru else []
        return [f"--task={self.task}", f"--num_envs={self.envs // ranks}", f"--num_steps_per_env={self.steps}",
                f"--policy.actor_hidden_dims={widths}", f"--policy.critic_hidden_dims={widths}",
                f"--ppo.num_learning_epochs={self.epochs}", f"--ppo.num_mini_batches={self.mini_batches}",
                f"--precision={self.precision}", *gru, *self.options]

    def products(self, outputs):
        """Returns the multiply-adds of each layer for one row. A GRU has three gates, of its inputs and of its state."""
        inputs = [3 * self.gru * 4, 3 * self.gru * self.gru] if self.gru else []
        widths = (self.gru or 4, *self.hidden, outputs)
        return inputs + [a * b for a, b in zip(widths, widths[1:])]

    def multiply_adds(self):
        """Returns the multiply-adds of the networks in one iteration. Collection takes one forward pass of the actor
        per step, and values take one of the critic per observation, including those after the last step. Learning takes
        a forward pass, gradients of the weights and gradients of the layers' inputs (not needed for the first layer).
        Each of the three takes as many multiply-adds as a forward pass."""
        actor, critic = (self.products(last) for last in (self.outputs, 1))
        learning = sum(3 * sum(layers) - layers[0] for layers in (actor, critic))
        values = sum(critic) * (self.samples + self.envs)
        return sum(actor) * self.samples + values + self.epochs * self.samples * learning


# The settings of PureJaxRL's and CleanRL's ppo.py, and of Isaac Lab's Cartpole.
CLASSIC = ("--policy.activation=tanh", "--ppo.learning_rate=2.5e-4", "--ppo.gamma=0.99", "--ppo.entropy_coef=0.01",
           "--ppo.value_loss_coef=0.5", "--ppo.use_clipped_value_loss=true", "--ppo.max_grad_norm=0.5",
           "--ppo.grad_clip=joint", "--ppo.reward_scale=1",
           "--ppo.normalize_advantage_per_mini_batch=true")
ISAAC = ("--policy.activation=elu", "--ppo.schedule=adaptive", "--ppo.gamma=0.99", "--ppo.clip_param=0.2",
         "--ppo.use_clipped_value_loss=true")
PUREJAXRL, RSL_RL, CLEANRL = "PureJaxRL", "rsl_rl", "CleanRL"
WORKS = [
    Work("CartPole-v1", 2048, 32, (64, 64), 2, 4, PUREJAXRL, options=CLASSIC),
    Work("CartPole-v1", 4, 128, (64, 64), 2, 4, PUREJAXRL, options=CLASSIC),
    Work("CartPole-v1", 2048, 32, (64, 64), 2, 4, PUREJAXRL, precision="bf16", options=CLASSIC),
    Work("Cartpole", 4096, 16, (32, 32), 1, 5, RSL_RL, options=ISAAC),
    Work("Cartpole", 4096, 32, (64, 64), 1, 5, RSL_RL, options=ISAAC),
    Work("Cartpole", 4096, 16, (512, 256, 128), 1, 5, RSL_RL, options=ISAAC),
    Work("Cartpole", 1024, 32, (64, 64), 1, 5, RSL_RL, gru=64, options=ISAAC),
]


def on_cores(cores):
    return lambda: os.sched_setaffinity(0, cores)


class Drl:
    """Runs drl_train from start to end for each measurement."""

    def __init__(self, bin_dir, options, cores):
        self.command = [bin_dir / "drl_train", *options, f"--ranks={len(cores)}", "--quiet", "--run_name=bench"]
        self.cores, self.iterations = cores, None

    def run(self, *options):
        """Runs drl_train. Returns the rows of metrics.csv and the seconds that the process took."""
        with tempfile.TemporaryDirectory() as runs:
            command = [*self.command, f"--runs_dir={runs}", *options]
            start = time.perf_counter()
            subprocess.run(command, check=True, preexec_fn=on_cores(self.cores), stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
            [table] = Path(runs).glob("*/bench/metrics.csv")
            with open(table, newline="") as file:
                return list(csv.DictReader(file)), seconds

    def steps_per_second(self, seconds):
        """Measures iterations for about `seconds` seconds, at least one after the first."""
        if not self.iterations:
            rows, _ = self.run("--max_iterations=2")
            self.iterations = 1 + math.ceil(seconds / float(rows[-1]["iteration_time"]))
        rows, _ = self.run(f"--max_iterations={self.iterations}")
        first, last = rows[0], rows[-1]
        return (float(last["env_steps"]) - float(first["env_steps"])) / (
            float(last["elapsed_time"]) - float(first["elapsed_time"]))


class Peer:
    """Runs a script of this directory that answers worker.py's protocol."""

    SCRIPTS = {PUREJAXRL: "purejaxrl.py", RSL_RL: "rsl_rl_cartpole.py", CLEANRL: "cleanrl.py"}

    def __init__(self, work, cores):
        options = [f"--num_envs={work.envs}", f"--num_steps={work.steps}"]
        if work.peer == RSL_RL:
            options += [f"--hidden={','.join(map(str, work.hidden))}", f"--gru={work.gru}", f"--threads={len(cores)}"]
        self.process = start_peer(work.peer, options, cores, stdin=subprocess.PIPE)
        first_line = self.process.stdout.readline()
        if not first_line:
            sys.exit(f"{work.peer} did not start: see its output above")
        self.facts, self.rounds = json.loads(first_line), None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def seconds(self, rounds):
        print(rounds, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def steps_per_second(self, seconds):
        if not self.rounds:
            self.rounds = 1 if self.facts["first_round"] > 10 * seconds else math.ceil(seconds / self.seconds(1))
        return self.facts["steps"] * self.rounds / self.seconds(self.rounds)


def start_peer(peer, options, cores, **pipes):
    threads = str(len(cores))
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen([sys.executable, HERE / Peer.SCRIPTS[peer], *options], preexec_fn=on_cores(cores), text=True,
                            stdout=subprocess.PIPE, env=environment, **pipes)


def peak(bin_dir, core):
    """Returns the multiply-adds per second of the core."""
    done = subprocess.run([bin_dir / "fp32_peak", "--seconds=0.2"], check=True, capture_output=True, text=True,
                          preexec_fn=on_cores([core]))
    return float(done.stdout.split()[0]) * 1e9


def in_turn(pairs, a, b, before=lambda: None):
    """Returns [(before(), a(), b())] for `pairs` pairs. The order of a and b alternates."""
    result = []
    for k in range(pairs):
        first = before()
        if k % 2 == 0:
            x, y = a(), b()
        else:
            y, x = b(), a()
        result.append((first, x, y))
    return result


@dataclass
class Result:
    work: str
    peer: str
    unit: str
    drl: list
    peers: list
    peaks: list = field(default_factory=list)
    multiply_adds_per_step: float = 0
    note: str = ""

    def ratios(self):
        """Returns how many times as fast drl is: for each pair or, if seconds were measured, for the medians."""
        if self.unit == "s":
            return [median(self.peers) / median(self.drl)] if self.peers else []
        return [a / b for a, b in zip(self.drl, self.peers)]

    def share_of_peak(self):
        return median(rate * self.multiply_adds_per_step / top for rate, top in zip(self.drl, self.peaks))

    def as_json(self):
        ratios = self.ratios()
        row = {"work": self.work, "peer": self.peer, "unit": self.unit, "drl": self.drl, "peer_measured": self.peers,
               "ratio": {"median": median(ratios), "min": min(ratios), "max": max(ratios)} if ratios else None,
               "note": self.note}
        if self.peaks:
            row |= {"multiply_adds_per_step": self.multiply_adds_per_step, "peak_multiply_adds_per_second": self.peaks,
                    "share_of_peak": self.share_of_peak()}
        return row

    def line(self):
        def short(values):
            if not values:
                return "-"
            return f"{median(values):.2f} s" if self.unit == "s" else f"{median(values) / 1e3:.1f} k"

        ratios = self.ratios()
        ratio = f"{median(ratios):.2f}" if ratios else "-"
        if len(ratios) > 1:
            ratio += f" ({min(ratios):.2f} to {max(ratios):.2f})"
        share = f"{100 * self.share_of_peak():.0f} %" if self.peaks else ""
        return f"| {self.work} | {self.peer} | {short(self.drl)} | {short(self.peers)} | {ratio} | {share} | {self.note} |"


HEAD = "| work | peer | drl | peer | drl / peer | drl's share of peak | note |\n|---|---|---|---|---|---|---|"


class Comparison:
    def __init__(self, options):
        self.options = options
        self.cores = [int(core) for core in options.cores.split(",")]

    def drl(self, drl_options, ranks=1):
        return Drl(self.options.bin, drl_options, self.cores[:ranks])

    def in_turn(self, a, b, **more):
        seconds = self.options.seconds
        return in_turn(self.options.pairs, lambda: a.steps_per_second(seconds), lambda: b.steps_per_second(seconds), **more)

    def compare_with_peer(self, work, cores=1):
        """Compares steps per second with the peer's. On two cores, two ranks of drl share the work, and the peer uses
        two threads."""
        with Peer(work, self.cores[:cores]) as peer:
            measured = self.in_turn(self.drl(work.drl_options(cores), cores), peer,
                                    before=lambda: peak(self.options.bin, self.cores[0]))
        peaks, ours, theirs = map(list, zip(*measured))
        return Result(work.name() + (", two cores" if cores > 1 else ""), work.peer, "steps/s", ours, theirs,
                      [cores * top for top in peaks], work.multiply_adds() / work.samples)

    def two_ranks(self, work):
        """Compares two ranks with one rank, each with the same work per rank."""
        one = self.drl(work.drl_options())
        two = self.drl(work.drl_options(), ranks=2)
        _, ours, alone = map(list, zip(*self.in_turn(two, one)))
        return Result(f"{work.name()} a rank, two ranks on two cores", "one rank", "steps/s", ours, alone)

    def drl_solves(self):
        """Returns how many seconds drl_train ran until it reported a mean of 475, for each seed that reaches it."""
        seeds = (self.drl(["--task=CartPole-v1", f"--seed={seed}", "--target_reward=475"]).run()
                 for seed in range(self.options.seeds))
        return [seconds for rows, seconds in seeds if float(rows[-1]["mean_reward"]) >= 475]

    def peer_solves(self, peer):
        """Returns the seconds from process start until the peer reports 475, or nothing if it never does, and the
        steps."""
        start = time.perf_counter()
        process = start_peer(peer, ["--until=475"], self.cores[:1])
        steps = process.stdout.readline().strip()
        seconds = time.perf_counter() - start
        process.wait()
        return [seconds] if steps else [], steps

    def solved(self):
        ours = self.drl_solves()
        reached = f"{len(ours)} of {self.options.seeds} seeds" + (f", {min(ours):.2f} to {max(ours):.2f} s" if ours else "")
        for peer in (PUREJAXRL, CLEANRL):
            theirs, steps = self.peer_solves(peer)
            note = f"{reached}; peer one seed, {steps} steps" if steps else f"{reached}; peer not in 500,000 steps"
            yield Result("CartPole-v1, process start to a reported mean of 475", peer, "s", ours, theirs, note=note)

    def rows(self):
        """Yields (name, function that returns results)."""
        for work in WORKS:
            yield f"{work.name()} {work.peer}", lambda work=work: [self.compare_with_peer(work)]
        yield "CartPole-v1 475", self.solved
        if len(self.cores) > 1:
            for work in WORKS[:2]:
                yield f"{work.name()} two ranks", lambda work=work: [self.two_ranks(work)]
            for work in WORKS[3:]:
                yield f"{work.name()} {work.peer} two cores", lambda work=work: [self.compare_with_peer(work, 2)]


def cpu_model():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())


def machine(options):
    release = platform.freedesktop_os_release()["PRETTY_NAME"]
    version = subprocess.run([options.bin / "drl_train", "--version"], check=True, capture_output=True, text=True).stdout
    packages = (HERE / "requirements.txt").read_text().split()
    named = ("jax", "flax", "optax", "distrax", "gymnax", "torch", "rsl-rl-lib", "gymnasium")
    return {"cpu": cpu_model(), "cores": os.cpu_count(), "system": release, "drl": version.splitlines()[0],
            "load_average": os.getloadavg(), "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "packages": [package for package in packages if package.split("==")[0] in named]}


def main():
    cores = sorted(os.sched_getaffinity(0))[:2]
    parser = argparse.ArgumentParser(prog="tools/benchmark --peers", usage="%(prog)s [OPTION...]", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements to this file")
    parser.add_argument("--rows", default="", metavar="WORD",
                        help="measure only rows whose name contains WORD, such as rsl_rl or 475")
    parser.add_argument("--seconds", type=float, default=1.5,
                        help="approximate duration of each measurement (default 1.5)")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of measurements of each row (default 3)")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of drl for the mean of 475 (default 20)")
    parser.add_argument("--cores", metavar="0,1", default=",".join(map(str, cores)),
                        help="one or two cores to measure on (default: the first two)")
    options = parser.parse_args()
    for program in ("drl_train", "fp32_peak"):
        if not (options.bin / program).exists():
            parser.error(f"{options.bin / program} does not exist: build it (cmake --build), or set BIN to its "
                         "directory")
    facts = machine(options)
    print(f"{facts['cpu']}, {facts['system']}; {facts['drl']}; load {facts['load_average'][0]:.1f}; "
          f"{' '.join(facts['packages'])}\n\n{HEAD}", flush=True)
    results = []
    for name, measure in Comparison(options).rows():
        if options.rows not in name:
            continue
        for result in measure():
            results.append(result)
            print(result.line(), flush=True)
    facts["load_average_at_end"] = os.getloadavg()
    if options.json:
        options.json.write_text(json.dumps({"machine": facts, "rows": [result.as_json() for result in results]}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
