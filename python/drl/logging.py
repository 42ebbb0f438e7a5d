"""Metrics of a run in the trackers of others.

    python -m drl.logging RUN

logs a run to Weights & Biases until it ends, as a training script with --logger wandb does. `drl_report --wandb` logs
runs as they are now.
"""

import argparse
import hashlib
import os
import pathlib
import time

import numpy as np

from drl.runs import Run, Training, find_run

SECONDS = 2  # between two looks at a run that goes on


def to_wandb(run, project="drl", *, follow=True, **arguments):
    """Logs the metrics and options of a run to Weights & Biases, and returns the directory of wandb's files.

    The files are written below the run's directory, and `wandb sync` uploads them later, from a node with network. With
    mode="online", or WANDB_MODE=online, they are uploaded at once. Logging a run again updates the same run there.

    Args:
      run: a drl.Run, such as drl.train() returns, or a run's directory or name, such as "Cartpole/latest".
      project: the project at Weights & Biases.
      follow: if the run goes on, also logs its further metrics, and returns when it ends, also if it is requeued.
      arguments: further ones of wandb.init, such as entity, name and tags.
    """
    try:
        import wandb
    except ImportError as error:
        raise ImportError("logging to Weights & Biases needs its Python package: pip install wandb") from error
    run = run if isinstance(run, Run) else Run(find_run(run))
    while isinstance(run, Training) and not run.metrics and run.is_running:
        time.sleep(SECONDS)
    if not (run.directory / "run.json").is_file():
        run.wait()  # raises what drl_train said
    info = run.info
    name = f"{info['task']}/{info['run']}"
    arguments = {
        "mode": os.environ.get("WANDB_MODE", "offline"), "project": project, "name": name, "group": info["task"],
        "id": hashlib.sha256(f"{name} {info['first_started']}".encode()).hexdigest()[:16], "resume": "allow",
        "dir": str(run.directory), **arguments
    }
    logged = 0
    with wandb.init(config=run.options, **arguments) as theirs:
        while True:
            goes_on = follow and run.is_running
            metrics = run.metrics
            count = len(metrics.get("iteration", ()))
            for k in range(logged, count):
                if metrics["iteration"][k] < theirs.step:  # uploaded before
                    continue
                row = {key: values[k] for key, values in metrics.items() if not np.isnan(values[k])}
                theirs.log(row, step=int(row["iteration"]))
            logged = count
            if not goes_on:
                break
            time.sleep(SECONDS)
        theirs.summary["status"] = run.info["status"]
        return pathlib.Path(theirs.dir).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's directory or name, such as Cartpole/latest")
    parser.add_argument("--project", default="drl", help="the project at Weights & Biases")
    parser.add_argument("--once", action="store_true", help="do not wait for runs that go on")
    given = parser.parse_args()
    for run in given.runs:
        print(f"drl: logged in {to_wandb(run, given.project, follow=not given.once)}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except (FileNotFoundError, ImportError) as error:
        raise SystemExit(f"drl: {error}") from None
