"""Where drl's programs and task libraries are."""

import os
import pathlib
import shutil

HINT = "install drl (docs/howto/install.md), and set PATH or DRL_PREFIX to the installation"


def prefix():
    """Returns the directory of drl's installation or build: DRL_PREFIX, or that of drl_train in PATH; or None."""
    if os.environ.get("DRL_PREFIX"):
        return pathlib.Path(os.environ["DRL_PREFIX"])
    found = shutil.which("drl_train")
    return pathlib.Path(found).resolve().parent.parent if found else None


def find_program(name):
    """Returns the path of one of drl's programs."""
    folder = prefix()
    if folder is None or not (folder / "bin" / name).is_file():
        raise FileNotFoundError(f"{name} is not in {folder / 'bin' if folder else 'PATH'}: {HINT}")
    return str(folder / "bin" / name)


def command_line(options, section=""):
    """Returns options as words of a command line: {"num_envs": 64, "ppo": {"gamma": 0.98}}, in this section."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from command_line(value, f"{section}{name}.")
        elif value is True:
            yield f"--{section}{name}"
        elif value is False:
            yield f"--{section}{name}=false"
        elif value is not None:
            text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            yield from (f"--{section}{name}", text)
