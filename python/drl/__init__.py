"""drl from Python: MuJoCo models in vectorised C++. See drl.Batch."""

from drl.batch import Batch, SimulationError
from drl.build import VERSION as __version__
from drl.compiler import UnsupportedModel

__all__ = ["Batch", "SimulationError", "UnsupportedModel"]
