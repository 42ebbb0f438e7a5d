"""drl.Batch: many simulations of one model in lanes, with the interface of mujoco.batch.Batch."""

import copy
import difflib
import functools
import operator
import os
import pathlib

import mujoco
import numpy as np

from drl import _batch, compiler, queries
from drl.named import Named, computed, did_you_mean, whole_number
from drl.parameters import MODEL_FIELDS, Parameters, model_array

# Fields of mjData that bind() takes. A call reads the first ones, which bound arrays change; it writes the others.
STATE_FIELDS = ("time", "qpos", "qvel", "act", "qacc_warmstart", "ctrl")
OUTPUT_FIELDS = ("qacc", "sensordata", "xpos", "xquat", "xmat", "xipos", "geom_xpos", "site_xpos", "subtree_com",
                 "cvel", "cinert", "actuator_force", "qfrc_actuator", "qfrc_constraint", "cfrc_ext")
# Rotation matrices that follow from those of bodies: the body of each row, and its rotation in that body.
ROTATED_FIELDS = {"geom_xmat": ("geom_bodyid", "geom_quat"), "site_xmat": ("site_bodyid", "site_quat"),
                  "ximat": (None, "body_iquat")}
CONSTANT_FIELDS = ("mocap_pos", "mocap_quat", "eq_active")  # what the model has
DATA_FIELDS = frozenset((*STATE_FIELDS, *OUTPUT_FIELDS, *ROTATED_FIELDS, *CONSTANT_FIELDS, "xfrc_applied"))
WRITABLE_FIELDS = frozenset((*STATE_FIELDS, "xfrc_applied"))
# How to get what other fields would give.
INSTEAD = {
    "contact": "add contact sensors to the model, and bind sensordata",
    "qfrc_applied": "add motors to the model, and set their ctrl",
    "cfrc_int": "add force and torque sensors to the model, and bind sensordata",
    "cacc": "add accelerometers to the model, and bind sensordata",
    "energy": "add e_potential and e_kinetic sensors to the model, and bind sensordata",
    "subtree_linvel": "bind subtree_com and cvel",
}
# By the value of `diverged` (include/drl/physics/batch_library.hpp): what, and its warning.
TROUBLES = ("", "position", "velocity", "state after the call")
DIVERGED = np.array([0, mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL,
                     mujoco.mjtWarning.mjWARN_BADQACC], int)
OTHER_ENGINE = 'drl.Batch(..., engine="mujoco") has all fields'
ALIGNMENT = 64  # bytes of a register
PAGE = 4096  # rows that are a multiple of it apart would share few places of the cache


class SimulationError(RuntimeError):
    """Some simulations of a call failed. ids lists them, and Batch.error(sim) has each message."""

    def __init__(self, ids, message):
        self.ids = ids
        shown = ", ".join(map(str, ids[:5])) + (", ..." if len(ids) > 5 else "")
        super().__init__(f"{len(ids)} simulations failed ({shown}); simulation {ids[0]}: {message}")


class Batch:
    """nsim simulations of a model, on nthread threads (0: one for each CPU that the process may use).

    The arguments are those of mujoco.batch.Batch, and so are bind(), step(), forward(), reset(), rollout(), named views
    and errors. A model is compiled when it is used first; that takes seconds to minutes (see drl.compiler).

        batch = drl.Batch("humanoid.xml", nsim=1024)
        qpos, ctrl = batch.bind("qpos"), batch.bind("ctrl")
        for _ in range(1000):
            ctrl[:] = policy(qpos)
            batch.step(nstep=5)

    Args:
      model: the path of a file that MuJoCo reads, an MjSpec, or an MjModel. It is not copied: do not change it.
      nsim: the number of simulations.
      nthread: the number of threads. Results do not depend on it.
      persistent: has no effect, because all fields of all simulations persist.
      dtype: np.float32, or np.float64, which takes about three times as long and agrees with MuJoCo to 1e-9.
      engine: "lanes", or "mujoco", which makes a mujoco.batch.Batch (always np.float64) for any model.
    """

    _randomised = False  # whether to compile the model for expand() at once

    def __new__(cls, model, nsim, nthread=0, persistent=False, *, dtype=np.float32, engine="lanes"):
        if engine == "mujoco":
            return mujoco_batch(as_model(model)[0], whole_number(nsim, "nsim", 1), _threads(nthread), persistent)
        if engine != "lanes":
            raise ValueError(f"engine is {engine!r}: give 'lanes' or 'mujoco'")
        return super().__new__(cls)

    def __init__(self, model, nsim, nthread=0, persistent=False, *, dtype=np.float32, engine="lanes"):
        self.model, self._name = as_model(model)
        self.nsim, self.nthread = whole_number(nsim, "nsim", 1), _threads(nthread)
        self.persistent, self.dtype = bool(persistent), np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype is {self.dtype}: give np.float32 or np.float64")
        self._data = mujoco.MjData(self.model)  # for shapes and default states
        self._columns, self._views, self._rotations = {}, {}, {}  # by field
        self._parameters, self._has_constants = None, False  # of a randomised robot
        self._status = np.zeros(self.nsim, np.int32)
        self.warning = np.zeros((self.nsim, mujoco.mjtWarning.mjNWARNING, 2), np.int32)
        self._open(self._randomised)
        self._diverged = self._columns["diverged"][0, :self.nsim]
        self.reset(stage=mujoco.mjtStage.mjSTAGE_NONE)

    def _open(self, randomised):
        path = compiler.library(self.model, self._name, self.dtype, randomised)
        self._simulations = _batch.Simulations(path, self.nsim, self.nthread)
        self._fields = {name: (k, numbers) for k, (name, numbers, _) in enumerate(self._simulations.fields)}
        if not self._columns:  # states are next to each other, for the property `state`
            self._state = self._array(sum(self._fields[name][1] for name in STATE_FIELDS))
            first = 0
            for name in STATE_FIELDS:
                self._columns[name] = self._state[first:first + self._fields[name][1]]
                first += self._fields[name][1]
            for name in ("unsolved", "diverged"):
                self._columns[name] = self._array(1)
        if numbers := self._fields["parameters"][1]:  # also of some robots that are not randomised
            self._columns["parameters"] = self._array(numbers)
            parameters = Parameters(self.model, self._simulations, self._columns["parameters"], self.nsim)
            self._parameters = parameters if randomised else None
        for name, column in self._columns.items():
            self._simulations.set_column(self._fields[name][0], column)
        for k, field in enumerate(self._simulations.height_fields):
            m, first = self.model, self.model.hfield_adr[field]
            heights = m.hfield_data[first:first + m.hfield_nrow[field] * m.hfield_ncol[field]]
            self._simulations.set_heights(k, heights.reshape(m.hfield_nrow[field], -1), list(m.hfield_size[field]))

    def _randomise(self):
        """Changes to a robot whose parameters differ by simulation. Returns them."""
        if self._parameters is None:
            self._open(randomised=True)
        return self._parameters

    def _array(self, numbers):
        """Returns zeros [numbers, stride], aligned, of which each row holds a number of all simulations."""
        size, per_register = self.dtype.itemsize, ALIGNMENT // self.dtype.itemsize
        stride = -(-self.nsim // per_register) * per_register
        stride += per_register if stride * size % PAGE == 0 else 0
        memory = np.zeros(numbers * stride + per_register, self.dtype)
        first = -memory.ctypes.data % ALIGNMENT // size
        return memory[first:first + numbers * stride].reshape(numbers, stride)

    # --- Fields ---

    def bind(self, name):
        """Returns a live (nsim, ...) array of a field of mjData, one of DATA_FIELDS.

        Simulations start their next call from what is written to time, qpos, qvel, act, qacc_warmstart, ctrl and
        xfrc_applied. Other fields are read-only; each call computes them for the simulations that it runs, at the state
        before the last time step (as mj_step does). They are 0 until then.
        """
        if name not in self._views:
            self._views[name] = self._bind(name)
        return self._views[name]

    def _bind(self, name):
        if name not in DATA_FIELDS:
            raise self._no_field(name)
        if name == "sensordata" and (lacking := self._simulations.lacking_sensors):
            which, why = next(iter(lacking.items()))
            compiler.say(f"the sensor '{which}' shows NaN, because lanes do not compute it ({why})"
                         + (f"; nor {len(lacking) - 1} others" if len(lacking) > 1 else ""))
        shape = (self.nsim, *np.shape(getattr(self._data, name)))
        if name == "xfrc_applied":
            view = self._randomise().forces = np.zeros(shape, self.dtype)
        elif name in CONSTANT_FIELDS:
            mujoco.mj_resetData(self.model, self._data)
            view = np.broadcast_to(getattr(self._data, name), shape).astype(self.dtype)
        elif name in ROTATED_FIELDS:
            self.bind("xmat")
            bodies, quats = ROTATED_FIELDS[name]
            rotations = np.array([_matrix(quat) for quat in getattr(self.model, quats)], self.dtype).reshape(-1, 3, 3)
            bodies = slice(None) if bodies is None else getattr(self.model, bodies)
            self._rotations[name] = bodies, rotations
            view = np.zeros(shape, self.dtype)
        else:
            column = self._columns.get(name)
            if column is None:
                k, numbers = self._fields[name]
                column = self._array(int(np.prod(shape[1:])))
                column[numbers:] = np.nan  # sensors behind the last one that lanes compute
                self._columns[name] = column[:numbers]
                self._simulations.set_column(k, self._columns[name])
            view = column[:, :self.nsim].T.reshape(shape)
        if name not in WRITABLE_FIELDS:
            view = view.view()
            view.flags.writeable = False
        return view

    def _no_field(self, name):
        if hasattr(self.model, name) and not hasattr(self._data, name):
            return ValueError(f"{name} is an MjModel field: use expand('{name}')")
        if hasattr(self.model.opt, name):
            return ValueError(f"{name} is an MjOption field: use expand('opt.{name}')")
        if not hasattr(self._data, name):
            return ValueError(f"{name} is not a field of mjData" + did_you_mean(name, DATA_FIELDS))
        instead = INSTEAD.get(name)
        if instead is None:
            close = difflib.get_close_matches(name, DATA_FIELDS, 1, 0.7)
            instead = f"the nearest field is {close[0]}" if close else "drl.batch.DATA_FIELDS lists those that are"
        arena = " is in the arena, whose size changes, and" if name.startswith(("efc_", "iefc_")) else ""
        return ValueError(f"{name}{arena} is not computed by lanes: {instead}; {OTHER_ENGINE}")

    def __getattr__(self, name):
        if name in DATA_FIELDS:
            return self.bind(name)
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"'Batch' object has no attribute {name!r}; {self._no_field(name)}")

    def __setattr__(self, name, value):
        if name in DATA_FIELDS:  # sets all simulations
            if name in CONSTANT_FIELDS:
                raise ValueError(f"{name} cannot be written (lanes take it from the model); {OTHER_ENGINE}")
            if name not in WRITABLE_FIELDS:
                raise computed(name)
            self.bind(name)[...] = value
        else:
            object.__setattr__(self, name, value)

    @property
    def state(self):
        """A live (nsim, nstate) array of time, qpos, qvel, act, qacc_warmstart and ctrl, in this order."""
        return self._state[:, :self.nsim].T

    @property
    def nstate(self):
        return len(self._state)

    # --- Fields of the model ---

    def expand(self, name):
        """Gives a field of the model values of its own in each simulation. Returns them, live, as (nsim, ...) array.

        The first call compiles the model once more. Fields of drl.parameters.MODEL_FIELDS can be expanded. If lanes
        cannot change one of the values, the next call of step(), forward() or reset() raises ValueError. After a change
        of masses, inertias, centres of mass or armature, call set_const(), as in MuJoCo.
        """
        if name in DATA_FIELDS:
            raise ValueError(f"{name} is an MjData field: use bind('{name}')")
        if name not in MODEL_FIELDS:
            if hasattr(self.model.opt, name):
                raise ValueError(f"{name} is an MjOption field: use expand('opt.{name}')")
            known = hasattr(self.model.opt, name[4:]) if name.startswith("opt.") else hasattr(self.model, name)
            what = "asset data, or lanes cannot change it" if known else "not a field of mjModel"
            raise ValueError(f"{name} is {what}{did_you_mean(name, MODEL_FIELDS)}" + f"; {OTHER_ENGINE}" * known)
        return self._randomise().expand(name)

    def expanded(self, name):
        """Returns a field's read-only values by simulation, or None if it is not expanded."""
        if name not in MODEL_FIELDS:
            return self.expand(name)  # raises the error
        values = self._parameters.expanded.get(name) if self._parameters else None
        if values is not None:
            values = values.view()
            values.flags.writeable = False
        return values

    def set_const(self, ids=None):
        """Computes what MuJoCo derives from expanded fields (mj_setConst), for simulations `ids` (None: all).

        Raises SimulationError if a body that moves has no mass.
        """
        if self._parameters:
            ids = self._which(ids)
            self._parameters.write()
            massless = self._parameters.massless()[ids]
            self._simulations.set_constants(self._fields["parameters"][0], ids[~massless])
            self._has_constants = True
            if massless.any():
                raise SimulationError(ids[massless], "a body that moves has no mass")

    # --- Errors ---

    @property
    def status(self):
        """0 for each simulation that the last call has not reset, (nsim,), read-only."""
        status = self._status.view()
        status.flags.writeable = False
        return status

    @property
    def unsolved(self):
        """For each simulation, how many solutions of its last call did not converge, (nsim,)."""
        return self._columns["unsolved"][0, :self.nsim]

    def error(self, sim):
        """Returns why the last call has reset a simulation, or that solutions did not converge, or ''."""
        sim = self._simulation(sim)
        if self._status[sim]:
            return f"its {TROUBLES[self._status[sim]]} was not finite or beyond 1e10, so that it was reset"
        count = int(self.unsolved[sim])
        return f"{count} solutions did not converge" if count else ""

    # --- Calls ---

    def step(self, ids=None, nstep=1, stage=mujoco.mjtStage.mjSTAGE_NONE):
        """Advances simulations by nstep time steps.

        A simulation whose position or velocity is not finite, or beyond 1e10, before or after these steps, is reset,
        stepped again and counted in `warning`, as in MuJoCo. Raises SimulationError if it diverges even then.

        Args:
          ids: sorted unique numbers of simulations, or a mask (nsim,), or None for all.
          nstep: number of time steps.
          stage: other than mjSTAGE_NONE, also computes all fields at the new state, as forward() does.
        """
        ids = _ids(ids, self.nsim)
        self._run(ids, whole_number(nstep, "nstep", 1))
        if stage != mujoco.mjtStage.mjSTAGE_NONE:
            self._run(ids, 0)

    def forward(self, ids=None, stage=mujoco.mjtStage.mjSTAGE_ACC):
        """Computes all bound fields at the present state, as mj_forward does (at any stage)."""
        self._run(_ids(ids, self.nsim), 0)

    def reset(self, ids=None, keyframe=-1, stage=mujoco.mjtStage.mjSTAGE_ACC):
        """Resets simulations to the model's default state, or to keyframes, and computes all bound fields.

        Args:
          ids: as in step().
          keyframe: a keyframe for all of them, or one for each (-1: the default state).
          stage: mjSTAGE_NONE does not compute fields.
        """
        ids = _ids(ids, self.nsim)
        which = self._which(ids)
        keys = self._integers(keyframe, (len(which),), -1, self.model.nkey, "keyframe")
        for key in np.unique(keys):
            if key < 0:
                mujoco.mj_resetData(self.model, self._data)
            else:
                mujoco.mj_resetDataKeyframe(self.model, self._data, int(key))
            for name in STATE_FIELDS:
                self.bind(name)[which[keys == key]] = getattr(self._data, name)
            if "xfrc_applied" in self._views:
                self.xfrc_applied[which[keys == key]] = 0
        if stage != mujoco.mjtStage.mjSTAGE_NONE:
            self._run(ids, 0)

    def rollout(self, nstep, control=None, record=("qpos",), ids=None, out=None):
        """Advances simulations by nstep time steps, and records fields after each.

        Args:
          nstep: number of time steps.
          control: None, or ctrl of each time step, which broadcasts to (n, nstep, nu) for n simulations.
          record: names of fields, or mjtState values, for states in the order of mj_getState.
          ids: as in step().
          out: arrays to record into, by item of `record`, of the shapes that this call returns.

        Returns:
          A dict of (n, nstep, ...) arrays, by item. Simulations with a warning stop, and repeat their last record.
        """
        if isinstance(record, str):
            raise TypeError(f"record is {record!r}: give a tuple, ({record!r},)")
        ids, nstep = _ids(ids, self.nsim), whole_number(nstep, "nstep", 0)
        which = self._which(ids)
        parts = {item: [self.bind(item)] if isinstance(item, str) else self._components(item) for item in record}
        recorded = {item: self._record(item, views, (len(which), nstep), (out or {}).get(item))
                    for item, views in parts.items()}
        if control is not None:
            control = np.broadcast_to(control, (len(which), nstep, self.model.nu))
        runs, before = np.ones(len(which), bool), self.warning[which, :, 1].sum(1)
        for k in range(nstep):
            if control is not None:
                self.ctrl[which[runs]] = control[runs, k]
            self._run(ids if runs.all() else which[runs].astype(np.int32), 1)
            for item, views in parts.items():
                if isinstance(item, str):
                    recorded[item][:, k] = views[0][which]
                else:
                    np.concatenate([view[which].reshape(len(which), -1) for view in views], 1, out=recorded[item][:, k])
            runs &= self.warning[which, :, 1].sum(1) == before
        return recorded

    def _components(self, spec):
        """Returns the views of an mjtState's components, in its order."""
        views = []
        for bit in range(int(mujoco.mjtState.mjNSTATE)):
            component = int(spec) & 1 << bit
            if component and mujoco.mj_stateSize(self.model, component):
                name = mujoco.mjtState(component).name.removeprefix("mjSTATE_").lower()
                views.append(self.bind({"warmstart": "qacc_warmstart"}.get(name, name)))
        return views

    def _record(self, item, views, shape, given):
        shape = (*shape, *(views[0].shape[1:] if isinstance(item, str) else [sum(view[0].size for view in views)]))
        dtype = bool if item == "eq_active" else self.dtype
        if given is None:
            return np.empty(shape, dtype)
        if not isinstance(given, np.ndarray) or given.shape != shape or given.dtype != dtype:
            raise ValueError(f"out[{item!r}] must be an array of type {np.dtype(dtype)} and shape {shape}")
        return given

    def _run(self, ids, steps):
        if ids is not None and not len(ids):
            return
        if self._parameters:
            self._parameters.write()
        self._simulations.run(ids, steps)
        self._status[:] = 0
        if steps > 0 and self._diverged.any():
            self._repeat_diverged(ids, steps)
        for name, view in self._views.items():
            if name in ROTATED_FIELDS:
                self._rotate(name, view)

    def _repeat_diverged(self, ids, steps):
        """Resets simulations that have diverged, and steps them from there."""
        diverged = np.flatnonzero(self._diverged)
        diverged = (diverged if ids is None else np.intersect1d(diverged, ids)).astype(np.int32)
        if not len(diverged):
            return
        self._status[diverged] = self._diverged[diverged]
        self.warning[diverged, DIVERGED[self._status[diverged]], 1] += 1
        self.reset(diverged, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self._simulations.run(diverged, steps)
        if self._diverged[diverged].any():
            again = diverged[self._diverged[diverged] > 0]
            raise SimulationError(again, "it diverges from the model's default state within this call")

    def _rotate(self, name, view):
        bodies, rotations = self._rotations[name]
        xmat = self.bind("xmat").reshape(self.nsim, -1, 3, 3)[:, bodies]
        view.flags.writeable = True
        np.matmul(xmat, rotations, out=view.reshape(xmat.shape))
        view.flags.writeable = False

    # --- Single simulations ---

    jac, ray = queries.jac, queries.ray

    def get_model(self, sim, model=None):
        """Returns an MjModel with the expanded fields of a simulation."""
        sim = self._simulation(sim)
        model = copy.copy(self.model) if model is None else model
        for name, values in (self._parameters.expanded if self._parameters else {}).items():
            model_array(model, name)[...] = values[sim]
        if self._has_constants:
            mujoco.mj_setConst(model, mujoco.MjData(model))
        return model

    def get_data(self, sim, data=None):
        """Returns an MjData with the state of a simulation. mujoco.mj_forward computes its other fields."""
        sim = self._simulation(sim)
        data = mujoco.MjData(self.model) if data is None else data
        for name in STATE_FIELDS:
            if name == "time":
                data.time = self.time[sim]
            else:
                getattr(data, name)[:] = self.bind(name)[sim]
        if "xfrc_applied" in self._views:
            data.xfrc_applied[:] = self.xfrc_applied[sim]
        return data

    def _which(self, ids):
        ids = _ids(ids, self.nsim)
        return np.arange(self.nsim, dtype=np.int32) if ids is None else ids

    @staticmethod
    def _integers(value, shape, low, high, name):
        value = np.asarray(value)
        if not np.issubdtype(value.dtype, np.integer):
            raise ValueError(f"{name} must be whole numbers, got {value.dtype}")
        bad = value[(value < low) | (value >= high)]
        if bad.size:
            raise ValueError(f"{name} must be in [{low}, {high}), got {bad.flat[0]}")
        return np.broadcast_to(value, shape)

    def _simulation(self, sim):
        if not 0 <= operator.index(sim) < self.nsim:
            raise IndexError(f"sim must be in [0, {self.nsim}), got {sim}")
        return sim

    # --- Copies ---

    def __reduce__(self):
        changes = self._parameters and (self._parameters.expanded, self._parameters.forces, self._has_constants)
        return _restored, (self.model, self._name, self.nsim, self.nthread, self.persistent, self.dtype,
                           self.state.copy(), changes)


for _kind in ("actuator", "body", "camera", "equality", "geom", "joint", "keyframe", "light", "material", "numeric",
              "pair", "sensor", "site", "tendon"):  # batch.joint("knee")
    setattr(Batch, _kind, functools.partialmethod(Named, _kind))


def _restored(model, name, nsim, nthread, persistent, dtype, state, changes):
    batch = Batch(model, nsim, nthread, persistent, dtype=dtype)
    batch._name = name
    batch.state[:] = state
    if changes:
        expanded, forces, has_constants = changes
        for field, values in expanded.items():
            batch.expand(field)[:] = values
        if forces is not None:
            batch.xfrc_applied = forces
        if has_constants:
            batch.set_const()
    return batch


def as_model(model):
    """Returns an MjModel, and what messages call it."""
    if isinstance(model, mujoco.MjSpec):
        model = model.compile()
    if isinstance(model, mujoco.MjModel):
        return model, f"the model {model.names.split(bytes(1))[0].decode()}".strip()
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model is a {type(model).__name__}: give the path of a file, an MjSpec or an MjModel")
    path = pathlib.Path(model)
    if not path.exists():
        raise FileNotFoundError(f"the model {path} does not exist: correct its path")
    load = mujoco.MjModel.from_binary_path if path.suffix == ".mjb" else mujoco.MjModel.from_xml_path
    return load(str(path)), path.name


def mujoco_batch(*arguments):
    """Returns MuJoCo's own Batch, which steps libmujoco on a thread pool."""
    try:
        from mujoco.batch import Batch as MujocoBatch
    except ImportError:
        raise ImportError(f'engine="mujoco" needs MuJoCo 3.17 or newer, and mujoco {mujoco.__version__} is installed: '
                          "pip install --upgrade mujoco") from None
    return MujocoBatch(*arguments)


def _threads(nthread):
    return whole_number(nthread, "nthread", 0) or _batch.cpus()


def _matrix(quat):
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quat)
    return matrix


def _ids(ids, nsim):
    """Returns int32 numbers of simulations, or None for all. Takes sorted unique numbers or a mask."""
    if ids is None:
        return None
    ids = np.asarray(ids)
    if ids.dtype == bool:
        if ids.shape != (nsim,):
            raise ValueError(f"a mask of simulations must have shape ({nsim},), got {ids.shape}")
        return None if ids.all() else np.flatnonzero(ids).astype(np.int32)
    if ids.ndim != 1:
        raise ValueError(f"ids must have one dimension, got {ids.ndim}")
    if not len(ids):
        return np.zeros(0, np.int32)
    if not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"ids must be whole numbers, got {ids.dtype}")
    for bad in (ids[ids < 0], ids[ids >= nsim]):
        if len(bad):
            raise ValueError(f"ids must be in [0, {nsim}), got {bad[0]}")
    unsorted = np.flatnonzero(ids[1:] <= ids[:-1])
    if len(unsorted):
        raise ValueError(f"ids must be sorted and unique, got {ids[unsorted[0]]} before {ids[unsorted[0] + 1]}")
    return np.ascontiguousarray(ids, np.int32)
