"""Policies from and to rsl_rl (5.x): files model_N.pt and drl's checkpoints."""

import pathlib
import tempfile

import h5py
import numpy as np

from drl import _envs
from drl.runs import find_checkpoint, train


def _rsl_rl_name(name):
    """Returns rsl_rl's name of a tensor below policy/ of a checkpoint: "actor/1/weight" is the actor's mlp.2.weight."""
    net, *rest = name.split("/")
    if net in ("std", "log_std"):
        return "actor", f"distribution.{net}_param"
    if rest[0] == "rnn":
        layer, linear, kind = rest[1:]
        return net, f"rnn.rnn.{kind}_{'ih' if linear == 'input' else 'hh'}_l{layer}"
    return net, f"mlp.{2 * int(rest[0])}.{rest[1]}"


def _parameters(checkpoint):
    """Returns the paths and arrays of the networks' parameters in a checkpoint, such as "actor/0/weight"."""
    found = {}
    checkpoint["policy"].visititems(lambda name, item: found.update({name: item[...]}) if isinstance(
        item, h5py.Dataset) and name.split("/")[0] in ("actor", "critic", "std", "log_std") else None)
    return found


def _layers(state, prefix, suffix="weight"):
    return [
        state[name].numpy() for name in sorted((n for n in state if n.startswith(prefix) and n.endswith(suffix)),
                                               key=lambda n: int(n.split(".")[1]))
    ]


def from_rsl_rl(file, task, output, *, activation="elu", **options):
    """Writes a checkpoint of drl from a file that rsl_rl's runner saved, and returns its path.

    drl_eval and load_policy play it, drl_train continues it (--init_from) and takes it as a teacher. The optimiser's
    state is left behind.

    Args:
      file: model_N.pt, of an MLPModel or RNNModel with a Gaussian distribution.
      task: drl's task, whose observations and actions must be those of the training, in the same order and units.
      output: the checkpoint's file (.h5).
      activation: of the hidden layers, which rsl_rl does not save.
      options: of drl_train, which then are the checkpoint's, such as env={...}.
    """
    import torch

    saved = torch.load(file, map_location="cpu", weights_only=True)
    if "actor_state_dict" not in saved:
        raise ValueError(f"{file} has no actor_state_dict: give a file that rsl_rl 5 has saved")
    actor, critic = saved["actor_state_dict"], saved["critic_state_dict"]
    hidden = {
        net: ",".join(str(len(w)) for w in _layers(state, "mlp.")[:-1])
        for net, state in (("actor", actor), ("critic", critic))
    }
    policy = {
        "actor_hidden_dims": hidden["actor"], "critic_hidden_dims": hidden["critic"], "activation": activation,
        "std_type": "log" if "distribution.log_std_param" in actor else "scalar",
        "state_dependent_std": not any(name.startswith("distribution.") for name in actor)
    }
    recurrent = [name for name in actor if name.startswith("rnn.rnn.weight_hh_l")]
    if recurrent:
        gates, width = actor[recurrent[0]].shape
        policy |= {
            "rnn_type": {3: "gru", 4: "lstm"}[gates // width], "rnn_hidden_dim": width, "rnn_num_layers": len(recurrent)
        }
    normalizes = "obs_normalizer._mean" in actor
    with tempfile.TemporaryDirectory() as directory:  # a run with the same networks, whose numbers are then replaced
        run = train(task,
                    "run",
                    directory,
                    num_envs=16,
                    max_iterations=1,
                    algorithm="ppo",
                    policy=policy,
                    ppo={"obs_normalization": normalizes, "obs_normalization_clip": 0},
                    **options).wait()
        template = run.checkpoints[1]
        arrays = {}
        with h5py.File(template) as checkpoint:
            for name, ours in _parameters(checkpoint).items():
                net, theirs = _rsl_rl_name(name)
                values = {"actor": actor, "critic": critic}[net].get(theirs)
                if values is None or values.numel() != ours.size:
                    raise ValueError(
                        f"{file} does not fit {task}: its {net}'s {theirs} has "
                        f"{'no values' if values is None else tuple(values.shape)}, and {ours.shape} is needed")
                arrays[f"policy/{name}"] = values.numpy().reshape(ours.shape)
            for name, state in (("obs", actor), ("critic_obs", critic)):
                if normalizes and f"normalizer/{name}" in checkpoint:
                    mean, std = (state[f"obs_normalizer._{x}"].numpy()[0] for x in ("mean", "std"))
                    arrays |= {
                        f"normalizer/{name}/mean": mean, f"normalizer/{name}/variance": std.astype(np.float64)**2,
                        f"normalizer/{name}/count": state["obs_normalizer.count"].numpy()
                    }
                    if name == "obs":
                        arrays |= {"policy/normalizer/mean": mean, "policy/normalizer/scale": 1 / (std + 0.01)}
            types = {name: checkpoint[name].dtype for name in arrays}
        _envs.change_checkpoint(str(template), str(output),
                                {name: np.ascontiguousarray(x, types[name]).tobytes()
                                 for name, x in arrays.items()})
    return pathlib.Path(output)


def to_rsl_rl(run, file):
    """Writes a file that rsl_rl's runner loads (load_cfg={"actor": True, "critic": True}) from a run or checkpoint.

    The runner's models must have the same layers; an MLPModel or RNNModel, with obs_normalization if the policy has it.
    """
    import torch

    with h5py.File(find_checkpoint(run)) as checkpoint:
        nets, parameters = {"actor": {}, "critic": {}}, _parameters(checkpoint)
        distribution = checkpoint["policy"].attrs["distribution"]
        if distribution != "gaussian" or any("/norm/" in name for name in parameters):
            raise ValueError(f"rsl_rl has no counterpart of the policy of {run} (the distribution {distribution}, or "
                             "layer_norm): only Gaussian policies without layer_norm can be converted")
        for name, values in parameters.items():
            net, theirs = _rsl_rl_name(name)
            nets[net][theirs] = torch.from_numpy(values)
        for net in nets:
            norm = checkpoint.get("normalizer/critic_obs"
                                  if net == "critic" and "normalizer/critic_obs" in checkpoint else "normalizer/obs")
            if norm is not None:
                mean, variance = (torch.from_numpy(norm[x][:]).float()[None] for x in ("mean", "variance"))
                nets[net] |= {
                    "obs_normalizer._mean": mean, "obs_normalizer._var": variance,
                    "obs_normalizer._std": variance.sqrt(), "obs_normalizer.count": torch.tensor(int(norm["count"][()]))
                }
        iteration = int(checkpoint.attrs["iteration"])
    torch.save(
        {"actor_state_dict": nets["actor"], "critic_state_dict": nets["critic"], "iter": iteration, "infos": None},
        file)
    return pathlib.Path(file)
