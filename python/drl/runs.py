"""Runs of drl_train: starting them, and reading their files."""

import configparser
import csv
import datetime
import fcntl
import io
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import weakref

import numpy as np

from drl.programs import command_line, find_program


def _runs_dir(runs_dir=None):
    return pathlib.Path(runs_dir or os.environ.get("DRL_RUNS_DIR") or "runs")


def find_run(run, runs_dir=None):
    """Returns the directory of a run: of a directory itself, or of a name such as "Cartpole/latest"."""
    for directory in (pathlib.Path(run), _runs_dir(runs_dir) / run):
        for each in (directory, directory / "latest"):
            if (each / "run.json").is_file():
                return each.resolve()
    raise FileNotFoundError(
        f"there is no run in {run} or {_runs_dir(runs_dir) / run}: give a directory that contains run.json")


def find_checkpoint(run, runs_dir=None):
    """Returns a checkpoint's file: `run` itself if it is a file, else the best or the newest one of the run."""
    if pathlib.Path(run).is_file():
        return pathlib.Path(run)
    found = read_run(run, runs_dir)
    if not found.checkpoints:
        raise FileNotFoundError(f"{found.directory} has no checkpoints yet: wait until the run has saved one")
    return found.checkpoints.get("best") or list(found.checkpoints.values())[-1]


class Run:
    """The files of a run's directory. Each property reads its file when it is asked for.

    metrics: a dict of arrays [iterations] by column, such as "iteration", "mean_reward"
    options: a dict of texts, as `train` takes them: options["num_envs"], options["ppo"]["gamma"]
    info: run.json
    checkpoints: a dict of files: iterations in ascending order, then "best" if there is one
    """
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)

    def __repr__(self):
        return f"<drl.Run {self.directory}>"

    def __fspath__(self):
        return str(self.directory)

    @property
    def metrics(self):
        file = self.directory / "metrics.csv"
        text = file.read_text() if file.is_file() else ""
        lines = text[:text.rfind("\n") + 1]  # drl_train may be writing the last one
        rows = list(csv.reader(io.StringIO(lines)))
        if len(rows) < 2:
            return {}
        rows = [row for row in rows if len(row) == len(rows[0])]  # a job that was killed may leave part of one
        columns = np.array(rows[1:], np.float64).reshape(-1, len(rows[0])).T
        return dict(zip(rows[0], columns))

    @property
    def options(self):
        parser = configparser.RawConfigParser(inline_comment_prefixes=("#", ))
        parser.optionxform = str
        parser.read_string("[top]\n" + (self.directory / "options.ini").read_text())
        sections = {name: dict(parser[name]) for name in parser.sections()}
        return sections.pop("top") | sections

    @property
    def info(self):
        return json.loads((self.directory / "run.json").read_text())

    @property
    def is_running(self):
        """Whether drl_train runs: run.json says so, and its lock is held, where the file system has locks."""
        info = self.info
        if info["status"] != "running" or info["lock"] != "file system":
            return info["status"] == "running"
        with open(self.directory / ".lock", "rb") as file:
            asked = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            return struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK

    @property
    def checkpoints(self):
        folder = self.directory / "checkpoints"
        names = filter(None, (re.fullmatch(r"iter_(\d+)\.h5", file.name) for file in folder.glob("iter_*.h5")))
        found = {k: folder / name for k, name in sorted((int(name[1]), name[0]) for name in names)}
        return found | ({"best": folder / "best.h5"} if (folder / "best.h5").is_file() else {})


def read_run(run, runs_dir=None):
    """Returns the `Run` of a directory, or of a name such as "Cartpole/latest" below runs_dir (DRL_RUNS_DIR, runs)."""
    return Run(find_run(run, runs_dir))


class Training(Run):
    """A drl_train that `train` has started. `metrics` are those up to now."""
    def __init__(self, directory, process, messages):
        super().__init__(directory)
        self.process, self._messages, self._stops = process, messages, False
        weakref.finalize(self, os.remove, messages)

    @property
    def is_running(self):
        return self.process.poll() is None

    def stop(self):
        """Asks drl_train to save a checkpoint and to end, and waits for it."""
        if self.is_running:
            self._stops = True
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def wait(self, timeout=None):
        """Waits for the end of the training. Raises RuntimeError with its messages if it failed."""
        code = self.process.wait(timeout)
        if code != 0 and not (self._stops and code == 128 + signal.SIGTERM):
            raise RuntimeError(f"drl_train ended with exit code {code}:\n{self.messages}")
        return self

    @property
    def messages(self):
        """What drl_train has printed: warnings and errors."""
        return pathlib.Path(self._messages).read_text()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


def train(task, run_name=None, runs_dir=None, *, resume=False, **options):
    """Starts drl_train, and returns a `Training` at once.

    Options have the names of drl_train's: train("Cartpole", num_envs=64, ppo={"gamma": 0.98}, ranks=2). The run is named
    by its start time unless it has a name; a named run that exists is resumed.
    """
    if resume and not run_name:
        raise ValueError("resume needs the name of the run: give run_name")
    name = run_name or datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S_%f")
    directory = (_runs_dir(runs_dir) / task / name).absolute()
    words = [
        find_program("drl_train"), "--task", task, "--runs_dir",
        str(_runs_dir(runs_dir)), "--run_name", name, "--quiet", *(["--resume"] if resume else []), *command_line(options)
    ]
    messages, file = tempfile.mkstemp()  # a pipe would stop drl_train if nobody read it
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)
    os.close(messages)
    return Training(directory, process, file)
