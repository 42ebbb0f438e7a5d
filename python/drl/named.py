"""Views of one element's fields: batch.joint("knee").qpos is (nsim, 1), as data.joint("knee").qpos is (1,)."""

import difflib
import operator

import numpy as np

from drl.parameters import MODEL_FIELDS


class Named:
    """The slices of fields that belong to a body, joint, geom, site, actuator, sensor or the like.

    It has the attributes of MuJoCo's views of mjData and mjModel. Those of mjData bind their field. Those of mjModel
    are read-only, unless their field is expanded; an assignment expands it.
    """

    def __init__(self, batch, kind, key):
        of_model = getattr(batch.model, kind)(key)
        of_data = getattr(batch._data, kind)(key) if hasattr(batch._data, kind) else None
        object.__setattr__(self, "_batch", batch)
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_views", (of_data, of_model))
        object.__setattr__(self, "id", of_model.id)
        object.__setattr__(self, "name", of_model.name)

    def __getattr__(self, attribute):
        return self._slice(attribute, write=False)

    def __setattr__(self, attribute, value):
        if attribute in ("id", "name"):
            raise AttributeError(f"{attribute} is read-only")
        self._slice(attribute, write=True)[...] = value

    def _slice(self, attribute, write):
        for view, owner in zip(self._views, (self._batch._data, self._batch.model)):
            part = getattr(view, attribute, None)
            if isinstance(part, np.ndarray):
                return self._slice_of(owner, attribute, part, write)
        names = [name for view in self._views for name in dir(view) if not name.startswith("_")]
        raise AttributeError(f"{attribute} is not a field of a {self._kind}" + did_you_mean(attribute, names))

    def _slice_of(self, owner, attribute, part, write):
        batch = self._batch
        if not part.size:
            return np.broadcast_to(part, (batch.nsim, *part.shape))
        field = _containing(owner, part)
        if field is None:
            raise AttributeError(f"{self._kind} {attribute} is not a slice of a field")
        if owner is batch._data:
            if field == "sensordata" and self.name in batch._simulations.lacking_sensors:
                why = batch._simulations.lacking_sensors[self.name]
                raise ValueError(f"lanes do not compute the sensor '{self.name}' ({why}): "
                                 'step the model with drl.Batch(..., engine="mujoco")')
            values = batch.bind(field)
            if write and not values.flags.writeable:
                raise computed(f"{self._kind} {attribute}")
        elif write or (field in MODEL_FIELDS and batch.expanded(field) is not None):
            values = batch.expand(field)
        else:
            return np.broadcast_to(part, (batch.nsim, *part.shape))
        full = np.asarray(getattr(owner, field))
        first = (part.ctypes.data - full.ctypes.data) // full.itemsize
        rows = _rows(full, part, first)
        return values[(slice(None), *rows)].reshape(batch.nsim, *part.shape)


def did_you_mean(name, names):
    close = difflib.get_close_matches(name, names, 3)
    return f" (did you mean {', '.join(map(repr, close))}?)" if close else ""


def whole_number(value, name, least):
    """Returns the argument `name` as an int of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: give a whole number") from None
    if number < least:
        raise ValueError(f"{name} is {number}: give at least {least}")
    return number


def computed(name):
    return ValueError(f"{name} is computed by every call and cannot be written: write state fields (qpos, ctrl, ...)")


def _containing(owner, part):
    """Returns the name of the field of mjData or mjModel whose memory holds an array."""
    for name in dir(owner):
        if name.startswith("_"):
            continue
        full = getattr(owner, name, None)
        if isinstance(full, np.ndarray) and full.size and full.dtype == part.dtype:
            offset = part.ctypes.data - full.ctypes.data
            if 0 <= offset and offset + part.nbytes <= full.nbytes:
                return name
    return None


def _rows(full, part, first):
    """Returns the indices of a part that begins at number `first` of an array, as basic indices, which copy nothing."""
    if full.ndim == 1:
        return (slice(first, first + part.size),)
    width = full[0].size
    return (slice(first // width, first // width + max(part.size // width, 1)),)
