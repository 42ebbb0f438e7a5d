"""mjlab's environments (manager-based tasks) on drl's lanes instead of MuJoCo Warp, for machines without a GPU.

    env = drl.mjlab.Env("Mjlab-Velocity-Flat-Unitree-Go1", num_envs=1024)
    python -m drl.mjlab train Mjlab-Velocity-Flat-Unitree-Go1 --env.scene.num-envs 1024

mjlab's managers, sensors and actuators run as they are. Only its class Simulation is another one, whose tensors share
the memory of a drl.Batch. Made for mjlab 1.6.
"""

import contextlib
import functools
import importlib.metadata
import os
import sys
import types

import mujoco
import numpy as np
import torch

from drl import batch, build
from drl.parameters import MODEL_FIELDS

try:
    _needed = ".".join(importlib.metadata.version("mujoco-warp").split(".")[:3])
except importlib.metadata.PackageNotFoundError:
    raise ImportError("drl.mjlab needs mjlab: pip install mjlab==1.6.0 (docs/python.md)") from None
if not mujoco.__version__ == build.MUJOCO_VERSION == _needed:
    raise ImportError(f"MuJoCo Warp needs MuJoCo {_needed}, but {mujoco.__version__} is installed, and drl was built "
                      f"with {build.MUJOCO_VERSION}: give mjlab's environment mujoco=={_needed}, and then 'pip install "
                      "--no-build-isolation --no-deps ./python' in drl's checkout")

import mjlab.sim
import mjlab.tasks  # registers the tasks
import mujoco_warp
import warp
from mjlab.envs import ManagerBasedRlEnv, manager_based_rl_env
from mjlab.sim.sim_data import WarpBridge
from mjlab.tasks.registry import load_env_cfg
from mjlab.utils.lab_api.math import matrix_from_quat
from mjlab.utils.nan_guard import NanGuard

# What mjlab's managers read after a step is computed from the first step on. Other fields are bound when first read.
OUTPUTS = ("qacc", "sensordata", "xpos", "xquat", "xmat", "xipos", "geom_xpos", "site_xpos", "subtree_com", "cvel",
           "actuator_force", "qfrc_actuator")
# Model fields that MuJoCo derives from others, which set_const() does in lanes.
DERIVED = ("body_subtreemass", "dof_invweight0", "body_invweight0", "tendon_length0", "tendon_invweight0",
           "actuator_acc0")
# Model fields that do not change the motion of what lanes simulate.
NOT_PHYSICS = ("cam_", "light_", "mat_", "tex_", "geom_rgba", "geom_matid", "geom_rbound", "geom_aabb", "site_rgba")
ROUNDING = 1e-4  # of model fields that events compute anew, such as principal axes
REMEDY = "use mjlab's own environment, which steps MuJoCo Warp"


class Lanes(batch.Batch):
    """A Batch that is compiled for expand() at once, because nearly all of mjlab's tasks randomise the model."""

    _randomised = True


class Data(WarpBridge):
    """sim.data: fields of mjData as tensors that share the lanes' memory, in the shapes of MuJoCo Warp."""

    def __init__(self, lanes, wp_data):
        super().__init__(wp_data)
        object.__setattr__(self, "_lanes", lanes)
        object.__setattr__(self, "_rotated", {})  # by field, until the next step
        for name in OUTPUTS:
            getattr(self, name)

    def __getattr__(self, name):
        if name not in self._wrapped_cache:
            if name == "nworld":
                return self._lanes.nsim
            if name in ("geom_xmat", "site_xmat"):
                return self._rotate(name)
            if name not in batch.DATA_FIELDS or name == "ximat":  # body_iquat may differ by environment
                instead = batch.INSTEAD.get(name)
                raise AttributeError(f"lanes do not compute sim.data.{name}" + (f" ({instead})" if instead else "")
                                     + f": {REMEDY}")
            self._wrapped_cache[name] = self._tensor(name)
        return self._wrapped_cache[name]

    def _tensor(self, name):
        view = self._lanes.bind(name).view()
        if name in batch.CONSTANT_FIELDS:
            view = view.copy()
        elif name in batch.OUTPUT_FIELDS and name not in OUTPUTS:
            others = {each: self._wrapped_cache[each].clone() for each in OUTPUTS}
            self._lanes.forward()
            for each, values in others.items():  # they stay those of the last call
                self._wrapped_cache[each].copy_(values)
        view.flags.writeable = True  # torch has no read-only tensors
        tensor = torch.from_numpy(view)
        return tensor.unflatten(-1, (3, 3)) if name == "xmat" else tensor

    def _rotate(self, name):
        if name not in self._rotated:
            model, (bodies, quats) = self._lanes.model, batch.ROTATED_FIELDS[name]
            rotations = matrix_from_quat(torch.from_numpy(getattr(model, quats)).float())
            self._rotated[name] = self.xmat[:, getattr(model, bodies)] @ rotations
        return self._rotated[name]

    def forget_rotated(self):
        self._rotated.clear()

    def require_constants(self):
        """Raises ValueError if a field that lanes take from the model has been changed."""
        for name in self._wrapped_cache.keys() & set(batch.CONSTANT_FIELDS):
            changed = ~torch.isclose(self._wrapped_cache[name], torch.from_numpy(self._lanes.bind(name).copy()))
            if changed.any():
                raise ValueError(f"sim.data.{name} of environment {changed.nonzero()[0, 0]} was changed, which lanes "
                                 "take from the model: if it is the place of a fixed base, set scene.env_spacing to 0, "
                                 f"or {REMEDY}")


class Simulation(mjlab.sim.Simulation):
    """Steps lanes (the drl.Batch `lanes`) where mjlab's Simulation steps MuJoCo Warp.

    mujoco_warp.Model remains, for model fields by environment, and a mujoco_warp.Data that has only the poses of geoms,
    for rays. An environment whose state is not finite, or beyond 1e10, is set to the model's default state, as by
    libmujoco; sim.data.qacc then is NaN until mjlab resets it, so that its nan_detection and nan_guard find it.
    """

    def __init__(self, num_envs, cfg, model=None, device="cpu", *, spec=None, variant_info=None, nthread=0):
        if torch.device(device).type != "cpu":
            raise ValueError(f"the device is {device}, and lanes are on the CPU: give device='cpu'")
        if variant_info:
            raise ValueError(f"lanes have one mesh for all environments (variants of {variant_info[0][0]}): {REMEDY}")
        self._nthread = nthread
        super().__init__(num_envs, cfg, model, device, spec=spec)

    def _finish_init(self):
        self.lanes = Lanes(self._mj_model, self.num_envs, self._nthread)
        self.lanes._parameters.told = set()
        if lacking := self.lanes._simulations.lacking_sensors:
            name, why = next(iter(lacking.items()))
            raise ValueError(f"lanes do not compute the sensor '{name}' ({why}): delete it in the scene's spec_fn, or "
                             + REMEDY)
        self._geoms = mujoco_warp.put_data(self._mj_model, mujoco.MjData(self._mj_model), nworld=self.num_envs,
                                           nconmax=1, njmax=1)
        self._model_bridge = WarpBridge(self._wp_model, nworld=self.num_envs)
        self._data_bridge = Data(self.lanes, self._geoms)
        self._sensor_context, self.use_cuda_graph = None, False
        self._randomised = {}  # by model field: its tensor, and the version that the lanes have
        self._stale_constants = np.zeros(self.num_envs, bool)  # whether set_const() is due
        self._diverged = torch.zeros(self.num_envs, dtype=torch.bool)
        self.create_graph()
        self.nan_guard = NanGuard(self.cfg.nan_guard, self.num_envs, self._mj_model)

    @property
    def wp_data(self):
        raise AttributeError(f"lanes have no mujoco_warp.Data; sim.data has the fields that lanes compute: {REMEDY}")

    # --- Calls ---

    def step(self):
        self._write()
        with self.nan_guard.watch(self.data):
            with contextlib.suppress(batch.SimulationError):  # status says which environments diverge even anew
                self.lanes.step()
            self._diverged |= torch.from_numpy(self.lanes.status != 0)
            self._finish_run()

    def forward(self):
        self._write()
        self.lanes.forward()
        self._finish_run()

    def reset(self, env_ids=None):
        mask = np.zeros(self.num_envs, bool)
        mask[slice(None) if env_ids is None else env_ids.numpy()] = True
        self.lanes.reset(mask, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self._diverged[torch.from_numpy(mask)] = False

    def _finish_run(self):
        self.data.forget_rotated()
        if self._diverged.any():
            self.data.qacc[self._diverged] = torch.nan

    # --- Randomisation ---

    def expand_model_fields(self, fields):
        super().expand_model_fields(tuple(field for field in fields if field not in DERIVED
                                          and getattr(self._mj_model, field).size))
        for field in self._expanded_fields:
            if not field.startswith(NOT_PHYSICS):
                self._randomised[field] = [getattr(self.model, field), None]

    def recompute_constants(self, level):
        self._write()
        self.lanes.set_const(np.flatnonzero(self._stale_constants))
        self._stale_constants[:] = False

    def _write(self):
        """Writes model fields that events have changed to the lanes."""
        self.data.require_constants()
        for field, state in self._randomised.items():
            tensor, version = state
            if tensor._version != version:
                if field in ("body_inertia", "body_iquat"):
                    self._write_field("body_inertia", self._scaled_inertia())
                else:
                    self._write_field(field, tensor.numpy())
                state[1] = tensor._version

    def _write_field(self, field, new):
        if field in MODEL_FIELDS:
            values = self.lanes.expand(field)
            self._stale_constants |= (values != new).reshape(self.num_envs, -1).any(1)
            values[:] = new
            self.lanes._parameters.told.add(field)
        else:
            file = getattr(self._mj_model, field)
            self._require_same(field, ~np.isclose(new, file, rtol=ROUNDING, atol=ROUNDING))

    def _scaled_inertia(self):
        """Returns body_inertia in the frames of the model, if that is the model's inertia times a factor by body."""
        model = self._mj_model
        now = _inertia(self.model.body_inertia[:], self.model.body_iquat[:])
        file = _inertia(torch.from_numpy(model.body_inertia), torch.from_numpy(model.body_iquat))
        sizes = [matrix.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None] for matrix in (now, file)]
        factor = torch.where(sizes[1] > 0, sizes[0] / sizes[1], 1)
        self._require_same("body_inertia", ((now - factor * file).abs() > ROUNDING * sizes[0]).numpy())
        return factor[..., 0].numpy() * model.body_inertia

    def _require_same(self, field, differs):
        if differs.any():
            env, element = np.argwhere(differs)[0, :2]
            by = ", but by one factor for each body" if field == "body_inertia" else ""
            raise ValueError(f"an event has changed {field}[{element}] of environment {env} (lanes cannot change it{by}"
                             f"): remove the event, or {REMEDY}")

    # --- Rays ---

    def set_sensor_context(self, ctx):
        if ctx.has_cameras:
            raise ValueError(f"lanes do not compute the poses of cameras (camera sensors): {REMEDY}")
        super().set_sensor_context(ctx)

    def _sense_kernel(self):
        """Casts rays by MuJoCo Warp, which needs the poses of the geoms that move and that rays may hit."""
        geoms = self._sensor_context.render_context.enabled_geom_ids.numpy()
        moving = geoms[self._mj_model.body_weldid[self._mj_model.geom_bodyid[geoms]] > 0]
        if len(moving):
            for name in ("geom_xpos", "geom_xmat"):
                warp.to_torch(getattr(self._geoms, name))[:, moving] = getattr(self.data, name)[:, moving]
        mjlab.sim.Simulation._sense_kernel(types.SimpleNamespace(
            _sensor_context=self._sensor_context, wp_model=self.wp_model, wp_data=self._geoms))


def _inertia(moments, quats):
    """Returns matrices (..., 3, 3) of inertia in the bodies' frames, from moments about principal axes."""
    axes = matrix_from_quat(quats.double())
    return axes @ torch.diag_embed(moments.double()) @ axes.mT


@contextlib.contextmanager
def lanes(nthread=0):
    """Lets mjlab's environments that are constructed within step lanes, on nthread threads (0: as in drl.Batch)."""
    before = manager_based_rl_env.Simulation
    manager_based_rl_env.Simulation = functools.partial(Simulation, nthread=nthread)
    try:
        yield
    finally:
        manager_based_rl_env.Simulation = before


class Env(ManagerBasedRlEnv):
    """A ManagerBasedRlEnv that steps lanes.

    Args:
      cfg: the name of one of mjlab's tasks, or a ManagerBasedRlEnvCfg.
      device, render_mode, kwargs: as in ManagerBasedRlEnv.
      num_envs: replaces cfg.scene.num_envs.
      play: whether a task's name means its configuration for playing.
      nthread: the number of threads (0: one for each CPU that the process may use).
    """

    def __init__(self, cfg, device="cpu", render_mode=None, *, num_envs=None, play=False, nthread=0, **kwargs):
        if isinstance(cfg, str):
            cfg = load_env_cfg(cfg, play)
        if num_envs is not None:
            cfg.scene.num_envs = num_envs
        with lanes(nthread):
            super().__init__(cfg, device, render_mode, **kwargs)


def main():
    """Runs one of mjlab's scripts on lanes."""
    if len(sys.argv) < 2 or sys.argv[1] not in ("train", "play"):
        sys.exit("usage: python -m drl.mjlab train|play TASK [OPTION...]    (as mjlab's own scripts)")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # by which the scripts choose the CPU, where lanes are
    script = importlib.import_module(f"mjlab.scripts.{sys.argv.pop(1)}")
    with lanes():
        script.main()


if __name__ == "__main__":
    main()
