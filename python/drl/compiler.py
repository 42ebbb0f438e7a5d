"""Compiles a model to a shared library that steps it in lanes, once, and keeps it in a cache on disk.

drl_robot translates the model to C++, and the C++ compiler does the rest. The cache is DRL_CACHE, else
XDG_CACHE_HOME/drl, else ~/.cache/drl. A library's name is a hash of all that it depends on: the compiled model (with
everything that its file includes), drl's headers and programs, the instruction set, the type of numbers.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import mujoco
import numpy as np

from drl import _batch, build

HERE = pathlib.Path(__file__).parent
# By -march: the namespace of an instruction set, and its floats in a register (cmake/DrlTaskLibrary.cmake).
INSTRUCTION_SETS = {"x86-64-v2": ("x86_64_v2", 4), "x86-64-v3": ("x86_64_v3", 8), "x86-64-v4": ("x86_64_v4", 16),
                    "armv8-a": ("armv8_a", 4), "native": ("generic", 4)}
UNIT = """#include "robot.hpp"
{heights}#include "drl/physics/batch.hpp"
DRL_BATCH(drl::{kind}<drl::model_key("{model}")>)
"""


class UnsupportedModel(ValueError):
    """Lanes cannot compute a model. The message says which of its elements are the reason."""


def library(model, name, dtype, randomised=False, march=None):
    """Returns the path of the shared library that steps a model.

    Args:
      model: the MjModel.
      name: what messages call it.
      dtype: np.float32 or np.float64.
      randomised: whether simulations have their own masses, gains and so on.
      march: one of INSTRUCTION_SETS (default: this CPU's best).
    """
    if mujoco.__version__ != build.MUJOCO_VERSION:
        raise ImportError(f"mujoco has version {mujoco.__version__}, and this drl was built with "
                          f"{build.MUJOCO_VERSION}: pip install mujoco=={build.MUJOCO_VERSION}")
    binary = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, binary)
    march = march or _batch.instruction_set()
    namespace, lanes = INSTRUCTION_SETS[march]
    flags = ["-std=c++20", "-O3", "-shared", "-fPIC", "-fvisibility=hidden", *build.FLOAT_FLAGS, "-w",
             f"-march={march}", f"-DDRL_ISA={namespace}", f"-DDRL_LANES={lanes}"]
    flags += ["-DDRL_BATCH_DOUBLE"] * (np.dtype(dtype) == np.float64)
    key = hashlib.sha256(binary)
    key.update(repr((own_hash(), build.MUJOCO_VERSION, flags, randomised)).encode())
    file, cache = f"{key.hexdigest()[:32]}.so", cache_directory()
    if (HERE / "compiled" / file).exists():  # whoever packs drl may fill it by `python -m drl`
        return str(HERE / "compiled" / file)
    path = cache / file
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with lock(path.with_suffix(".lock"), name):
            if not path.exists():
                with tempfile.TemporaryDirectory(dir=cache) as directory:
                    directory = pathlib.Path(directory)
                    stem = re.sub(r"[^A-Za-z0-9_-]", "_", pathlib.Path(name).stem) or "model"
                    binary.tofile(directory / f"{stem}.mjb")
                    begin = time.monotonic()
                    compile_in(directory, f"{stem}.mjb", name, flags, model.nhfield > 0, randomised)
                    os.replace(directory / "robot.so", path)
                say(f"compiled {name} in {time.monotonic() - begin:.0f} s; kept in {cache}")
    return str(path)


def compile_in(directory, model, name, flags, has_heights, randomised):
    """Compiles the file `model` of a directory to robot.so."""
    environment = dict(os.environ)
    libraries = [str(pathlib.Path(mujoco.__file__).parent), environment.get("LD_LIBRARY_PATH", "")]
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))
    compiler = cxx()  # before the first step, so that its absence is told at once
    options = ["--output", "robot.hpp"] + ["--randomised"] * randomised
    status, text = run([HERE / "bin/drl_robot", model, *options], directory, name, environment)
    text = text.strip().removeprefix("error: ").replace(model, name)
    if status not in (0, 2):
        raise RuntimeError(f"drl_robot cannot translate {name} ({text or f'exit status {status}'}): please report it")
    if status == 2:
        text = re.sub(r": change the model, or give --if_possible[^\n]*", "", text)
        raise UnsupportedModel(f'{text}: change the model, or step it with drl.Batch(..., engine="mujoco")')
    unit = UNIT.format(kind="RandomisedRobot" if randomised else "CompiledRobot", model=model,
                       heights='#include "drl/physics/shared_heights.hpp"\n' if has_heights else "")
    (directory / "robot.cpp").write_text(unit)
    includes = [f"-I{HERE / 'include'}", f"-I{pathlib.Path(mujoco.__file__).parent / 'include'}"]
    command = [*compiler, *flags, *faster_flags(compiler), *includes, "robot.cpp", "-o", "robot.so"]
    status, text = run(command, directory, name)
    if status != 0:
        reason = next((line for line in text.splitlines() if "error" in line), text.strip()[-300:])
        raise RuntimeError(f"{compiler[0]} cannot compile {name} ({reason.strip()}): set CXX to GCC 11 or newer")


def run(command, directory, name, environment=None):
    """Runs a command, and shows how long it takes on a terminal. Returns its exit status and its standard error."""
    begin, is_terminal = time.monotonic(), sys.stderr.isatty()
    with subprocess.Popen(list(map(str, command)), cwd=directory, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    text = process.communicate(timeout=1)[1]
                    return process.returncode, text
                if is_terminal:
                    print(f"\rdrl: compiling {name}, once ({time.monotonic() - begin:.0f} s) ", end="", file=sys.stderr,
                          flush=True)
        except BaseException:
            process.kill()
            raise
        finally:
            if is_terminal:
                print("\r\033[K", end="", file=sys.stderr, flush=True)


def say(text):
    print(f"drl: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def lock(path, name):
    """Lets one process at a time compile a model. The lock ends with its process."""
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process, which compiles {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks: processes may compile the same library, and the last one stays
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def cache_directory():
    if given := os.environ.get("DRL_CACHE"):
        return pathlib.Path(given).absolute()
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "drl"


def cxx():
    """Returns the C++ compiler as a list of words."""
    given = shlex.split(os.environ.get("CXX", ""))
    for words in [given] if given else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(words[0]):
            return words
    missing = f"CXX is {given[0]}, which is not found" if given else "none of c++, g++ and clang++ is found"
    raise RuntimeError(f"models are compiled on first use, and there is no C++ compiler ({missing}): install one (apt "
                       "install g++, dnf install gcc-c++, conda install cxx-compiler), load its module, or use a cache "
                       'that was filled elsewhere (DRL_CACHE), or drl.Batch(..., engine="mujoco")')


def faster_flags(compiler):
    """Returns flags that save a quarter of GCC's time, and change neither results nor their speed."""
    text = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False).stdout
    is_gcc = "Free Software Foundation" in text
    return ["-fno-tree-dse", "--param=sccvn-max-alias-queries-per-access=50"] if is_gcc else []


@functools.cache
def own_hash():
    """Returns a hash of drl's headers and of drl_robot."""
    total = hashlib.sha256()
    for file in [HERE / "bin/drl_robot", *sorted((HERE / "include/drl").rglob("*.hpp"))]:
        total.update(file.read_bytes())
    return total.hexdigest()
