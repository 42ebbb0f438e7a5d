"""drl from Python: MuJoCo models and drl's tasks in vectorised C++. See drl.Batch, drl.make_vec and drl.train."""

import importlib

from drl.batch import Batch, SimulationError
from drl.build import VERSION as __version__
from drl.compiler import UnsupportedModel

# Their modules need further packages (the extra "envs"), and are imported when they are first used.
_LATER = {
    "Envs": "envs", "make": "envs", "make_vec": "envs", "rsl_rl_env": "learners", "sb3_env": "learners",
    "Policy": "policy", "load_policy": "policy", "Run": "runs", "Training": "runs", "read_run": "runs", "train": "runs"
}
__all__ = ["Batch", "SimulationError", "UnsupportedModel", *_LATER]


def __getattr__(name):
    if name in ("convert", "logging", "mjlab"):
        return importlib.import_module(f"drl.{name}")
    if name not in _LATER:
        raise AttributeError(f"module drl has no attribute {name}")
    return getattr(importlib.import_module(f"drl.{_LATER[name]}"), name)
