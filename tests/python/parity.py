"""What the tests of parity share: runs write_update, reads its file, and compares numbers."""

import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import torch

torch.set_num_threads(1)  # the networks are tiny

WRITE_UPDATE = sys.argv.pop() if __name__ != "__main__" else ""
TOLERANCE = 1e-5  # relative to the largest number of an array, or absolute if that is smaller than 1


def arrays(group):
    """Returns all datasets of a group as tensors, by their path in it."""
    found = {}
    group.visititems(lambda name, item: found.__setitem__(name, torch.from_numpy(np.array(item[()])))
                     if isinstance(item, h5py.Dataset) else None)
    return found


class Update:
    """The numbers of drl's last iteration, with these options."""

    def __init__(self, **options):
        arguments = [f"--{name.replace('__', '.')}={value}" for name, value in options.items()]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "update.h5"
            subprocess.run([WRITE_UPDATE, path, *arguments], check=True)
            with h5py.File(path) as file:
                self.names = file.attrs["parameters"].split()
                self.learning_rate = file.attrs["learning_rate"]
                self.rnd_loss = file.attrs.get("rnd_loss")
                self.rollout = arrays(file["rollout"])
                self.before = arrays(file["before"])
                self.after = arrays(file["after/parameters"])
                self.updates = [arrays(file["update"][str(k)]) for k in range(len(file["update"]))]
                self.rnd = [{name.removeprefix("rnd/"): numbers for name, numbers in state.items() if name.startswith("rnd/")}
                            for state in (*self.updates, arrays(file["after"]))]  # before each mini-batch, and at the end

    def parameters(self, k):
        """Returns the parameters before mini-batch k; k = len(updates): after the last."""
        if k == len(self.updates):
            return self.after
        return {name: self.updates[k]["parameters/" + name] for name in self.names}

    def gradient(self, k):
        """Returns the mean gradient of mini-batch k, before clipping."""
        return {name: self.updates[k]["gradient/" + name] / self.updates[k]["sums"][0] for name in self.names}

    def losses(self, k):
        """Returns the means over mini-batch k."""
        samples, kl, surrogate, value, entropy, clipped = self.updates[k]["sums"].tolist()
        return {"kl": kl / samples, "surrogate": surrogate / samples, "value": value / samples,
                "entropy": entropy / samples, "clipped": clipped / samples}

    def moments(self, which):
        """Returns Adam's moments "m" or "v", or SGD's "momentum", before the iteration, by parameter."""
        return by_parameter(self.before["optimizer/" + which], {name: self.after[name] for name in self.names})


def by_parameter(flat, parameters):
    """Divides flat numbers into arrays with the names and shapes of the parameters."""
    parts = flat.split([parameter.numel() for parameter in parameters.values()])
    return {name: part.reshape(parameter.shape) for part, (name, parameter) in zip(parts, parameters.items())}


def expect_close(what, ours, theirs, tolerance=TOLERANCE):
    ours, theirs = torch.as_tensor(ours).double(), torch.as_tensor(theirs).double().detach()
    if ours.numel() != theirs.numel():
        raise AssertionError(f"{what}: {tuple(ours.shape)} and {tuple(theirs.shape)} numbers")
    difference = (ours.flatten() - theirs.flatten()).abs().max().item()
    scale = max(1.0, theirs.abs().max().item())
    if not difference <= tolerance * scale:
        raise AssertionError(f"{what}: differs by {difference:.3g} ({ours.flatten()[:4]} and {theirs.flatten()[:4]})")
