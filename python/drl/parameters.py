"""Model fields that differ between simulations: Batch.expand() and xfrc_applied.

A randomised robot (drl_robot --randomised) reads the numbers of its model from a column of parameters, three for each
entry (include/drl/physics/parameter.hpp). The classes below translate arrays of mjModel's fields to them.
"""

import mujoco
import numpy as np

# The names of ModelParameter::Kind, in its order.
KINDS = ("friction", "center_of_mass", "mass", "joint", "spring", "actuator", "motor", "gravity", "push", "network",
         "push_torque", "range", "site_position", "site_turn", "size")
# The fields that lanes can change, by kind of the parameters that they follow from.
FIELDS = {
    "friction": ("geom_friction",),
    "center_of_mass": ("body_ipos",),
    "mass": ("body_mass", "body_inertia"),
    "joint": ("dof_damping", "dof_armature", "dof_frictionloss"),
    "spring": ("jnt_stiffness",),
    "actuator": ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange"),
    "gravity": ("opt.gravity",),
    "range": ("jnt_range",),
    "site_position": ("site_pos",),
    "size": ("geom_size",),
}
MODEL_FIELDS = frozenset(field for fields in FIELDS.values() for field in fields)
# What lanes can change nevertheless.
HINTS = {field: hint for kind, hint in (
    ("mass", ", but the three numbers of body_inertia by one factor, of bodies that joints move"),
    ("actuator", ", but the gains on position, those on velocity and forcerange by one factor each"),
    ("joint", ", but what is not 0 in the model, of hinges and slides"),
    ("spring", ", but what is not 0 in the model, of hinges and slides"),
    ("size", ", but all sizes of a geom that moves, except meshes, by one factor, and radii by another, up to 1.5"),
    ("center_of_mass", ", but of bodies with an <inertial>")) for field in FIELDS[kind]}
MOST_GROWTH = 1.5  # ModelParameter::kMostGrowth
GROWTH_ROUNDING = 1.0001  # of ModelConstant::growth
ROUNDING = 1e-6  # of values that lanes compute from factors
REMEDY = 'drl.Batch(..., engine="mujoco") has no such limit'


def model_array(model, name):
    """Returns the array of a field of mjModel, or of mjOption ("opt.gravity")."""
    return np.asarray(getattr(model.opt, name[4:]) if name.startswith("opt.") else getattr(model, name))


def ratio(values, file):
    """Returns values / file, and 1 where both are 0."""
    return np.divide(values, file, out=np.ones(np.broadcast_shapes(values.shape, file.shape)), where=file != 0)


class Parameters:
    """Writes expanded fields and applied forces to the column of parameters [numbers, stride]."""

    def __init__(self, model, simulations, column, nsim):
        self._model, self._column, self._nsim, self._growth = model, column, nsim, simulations.growth
        entries = simulations.parameters
        self._rows, self._indices = {}, {}  # by kind: first rows of its parameters, and MuJoCo's indices
        for k, (kind, index, start) in enumerate(entries):
            self._rows.setdefault(KINDS[kind], []).append(3 * k)
            self._indices.setdefault(KINDS[kind], []).append(index)
            column[3 * k:3 * k + 3] = np.reshape(start, (3, 1))
        column[3 * len(entries):] = 1  # ratios of constants
        self.expanded, self._written = {}, {}  # by field: (nsim, ...), and what the column is about
        self.told = None  # names of expanded fields that have changed, if write() need not look for changes
        self.forces = None  # (nsim, nbody, 6), if xfrc_applied is bound

    def expand(self, name):
        if name not in self.expanded:
            file = model_array(self._model, name)
            self.expanded[name] = np.broadcast_to(file, (self._nsim, *file.shape)).astype(float)
        return self.expanded[name]

    def massless(self):
        """Returns whether masses of bodies that have one in the model are not positive, (nsim,)."""
        if "body_mass" not in self.expanded:
            return np.zeros(self._nsim, bool)
        return (self.expanded["body_mass"][:, self._indices.get("mass", [])] <= 0).any(1)

    def write(self):
        """Writes the arrays that have changed since the last call."""
        for kind, fields in FIELDS.items():
            arrays = {field: self.expanded[field] for field in fields if field in self.expanded}
            self._write_changed(arrays, lambda kind=kind, fields=fields: self._write(kind, fields))
        if self.forces is not None:
            self._write_changed({"xfrc_applied": self.forces}, self._write_forces)
        if self.told:
            self.told.clear()

    def _write_changed(self, arrays, write):
        if any(self._has_changed(name, array) for name, array in arrays.items()):
            write()
            self._written.update({name: array.copy() for name, array in arrays.items()})

    def _has_changed(self, name, array):
        if self.told is not None and name in self.expanded:
            return name in self.told
        return not np.array_equal(array, self._written.get(name))

    def _write(self, kind, fields):
        """Writes the parameters of a kind. Raises ValueError if a field has values that they cannot represent."""
        index = np.array(self._indices.get(kind, []), int)
        values = [self.expanded.get(field, model_array(self._model, field)[None]) for field in fields]
        files = [model_array(self._model, field) for field in fields]
        numbers, represented = getattr(self, f"_{kind}")(index, values, files)
        for field, value, new in zip(fields, values, represented):
            self._require(field, value, new)
        for number, array in numbers.items():
            rows = np.array(self._rows.get(kind, []), int) + number
            self._column[rows, :self._nsim] = np.broadcast_to(array, (self._nsim, len(rows))).T

    def _require(self, field, value, represented):
        value = np.broadcast_to(value, represented.shape)
        bad = ~np.isclose(value, represented, rtol=ROUNDING, atol=0)
        if bad.any():
            where = tuple(np.argwhere(bad)[0])
            element = ", ".join(map(str, where[1:]))
            raise ValueError(f"{field}[{element}] is {value[where]:g} in simulation {where[0]} (lanes cannot change it"
                             f"{HINTS.get(field, '')}); {REMEDY}")

    # --- Each returns the parameters' numbers {0, 1, 2: (nsim, entries)}, and the fields that these represent ---

    def _friction(self, index, values, files):
        return {k: values[0][:, index, k] for k in range(3)}, [values[0]]  # other geoms cannot touch

    def _center_of_mass(self, index, values, files):
        shifts = values[0][:, index] - files[0][index]
        return {k: shifts[..., k] for k in range(3)}, [self._replaced(files[0], index, values[0][:, index])]

    def _mass(self, index, values, files):
        mass = ratio(values[0][:, index], files[0][index])
        inertia = ratio(values[1][:, index].sum(-1), files[1][index].sum(-1))
        return {0: mass, 2: ratio(inertia, mass) - 1}, [
            self._replaced(files[0], index, files[0][index] * mass),
            self._replaced(files[1], index, files[1][index] * inertia[..., None])]

    def _joint(self, index, values, files):
        factors = [ratio(value[:, index], file[index]) for value, file in zip(values, files)]
        return dict(enumerate(factors)), [self._replaced(file, index, file[index] * factor)
                                          for file, factor in zip(files, factors)]

    def _spring(self, index, values, files):
        factor = ratio(values[0][:, index], files[0][index])
        return {0: factor}, [self._replaced(files[0], index, files[0][index] * factor)]

    def _actuator(self, index, values, files):
        gains, biases, ranges = (value[:, index] for value in values)
        gain, bias, range_ = (file[index] for file in files)
        kp = np.where(gain[:, 0] != 0, ratio(gains[..., 0], gain[:, 0]), ratio(biases[..., 1], bias[:, 1]))
        kv = np.where(bias[:, 2] != 0, ratio(biases[..., 2], bias[:, 2]), ratio(gains[..., 2], gain[:, 2]))
        limit = np.where(range_[:, 1] != 0, ratio(ranges[..., 1], range_[:, 1]), ratio(ranges[..., 0], range_[:, 0]))
        kp, kv, limit = np.broadcast_arrays(kp, kv, limit)
        new_gain, new_bias = (np.broadcast_to(of, (*kp.shape, of.shape[1])).copy() for of in (gain, bias))
        new_gain[..., :2] *= kp[..., None]
        new_gain[..., 2] *= kv
        new_bias[..., 1] *= kp
        new_bias[..., 2] *= kv
        return {0: kp, 1: kv, 2: limit}, [self._replaced(files[0], index, new_gain),
                                          self._replaced(files[1], index, new_bias),
                                          self._effective(values[2], self._model.actuator_forcelimited,
                                                          self._replaced(files[2], index, range_ * limit[..., None]))]

    def _gravity(self, index, values, files):
        return {k: (values[0] - files[0])[:, k:k + 1] for k in range(3)}, [values[0]]

    def _range(self, index, values, files):
        now, file = values[0][:, index], files[0][index]
        width = ratio(now[..., 1] - now[..., 0], file[:, 1] - file[:, 0])
        return {0: width, 1: now.mean(-1) - file.mean(-1)}, [
            self._effective(values[0], self._model.jnt_limited, self._replaced(files[0], index, now))]

    def _size(self, index, values, files):
        sphere, capsule = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE
        kind, now, file = self._model.geom_type[index], values[0][:, index], files[0][index]
        factors = ratio(now, file)
        size = np.where(kind == sphere, 1, np.where(kind == capsule, factors[..., 1], factors[..., 0]))
        radius = np.where((kind == sphere) | (kind == capsule), factors[..., 0] / size, 1)
        growth = np.minimum(size * np.maximum(radius, 1), MOST_GROWTH)
        growth = growth.max(1, initial=1)
        if self._growth >= 0:  # a bound for the contacts that are looked for
            self._column[self._growth, :self._nsim] = np.where(growth > 1, GROWTH_ROUNDING * growth ** 2, 1)
        new = file * np.minimum(size, MOST_GROWTH)[..., None]
        new[..., 0] *= np.minimum(radius, MOST_GROWTH / size)
        can_touch = (self._model.geom_contype | self._model.geom_conaffinity) != 0
        return {0: radius, 1: size}, [self._effective(values[0], can_touch, self._replaced(files[0], index, new))]

    def _site_position(self, index, values, files):
        return self._center_of_mass(index, values, files)

    def _effective(self, value, is_effective, represented):
        """Returns what is represented, and any value of elements where it has no effect."""
        return np.where(is_effective[:, None] != 0, represented, value)

    def _replaced(self, file, index, rows):
        """Returns the file's array for each simulation, with rows (nsim, entries, ...) in the places of entries."""
        new = np.broadcast_to(file, (len(rows), *file.shape)).copy()
        new[:, index] = rows
        return new

    def _write_forces(self):
        bodies = np.array(self._indices.get("push", []), int)
        others = np.setdiff1d(np.arange(self._model.nbody), bodies)
        if self.forces[:, others].any():
            sim, body, _ = np.argwhere(self.forces[:, others])[0]
            raise ValueError(f"xfrc_applied of body {others[body]} is not 0 in simulation {sim} (lanes push bodies "
                             f"with a joint and a mass): apply it to the body that this one is welded to; {REMEDY}")
        for kind, first in (("push", 0), ("push_torque", 3)):
            rows = np.array(self._rows.get(kind, []), int)
            for k in range(3):
                self._column[rows + k, :self._nsim] = self.forces[:, bodies, first + k].T
