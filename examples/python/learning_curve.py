"""Trains a policy, and shows how it learns and what it does.

Cells begin with "# %%", as editors and Jupyter (jupytext) know them. Needs the package drl (docs/python.md), drl_train
in PATH, and matplotlib. Draws learning_curve.png.
"""

# %% Train on all cores of this machine, and watch the reward.
import time

import drl

run = drl.train("Pendulum-v1", num_envs=512, max_iterations=100)
while run.is_running:
    time.sleep(2)
    if run.metrics:
        print(f"iteration {run.metrics['iteration'][-1]:.0f}: mean reward {run.metrics['mean_reward'][-1]:.0f}")
run.wait()

# %% Let the policy act in 64 environments.
import numpy as np

envs = drl.make_vec("Pendulum-v1", 64, autoreset="same_step", render_mode="rgb_array", seed=1)
policy = drl.load_policy(run.directory)
obs, _ = envs.reset()
angles, pictures = [], []
for step in range(150):
    obs, *_ = envs.step(policy(obs))
    angles.append(np.arctan2(obs[:, 1], obs[:, 0]))
    if step % 30 == 0:
        pictures.append(envs.picture(0))

# %% Plot.
import matplotlib.pyplot as plt

figure, (curve, swings, film) = plt.subplots(3, 1, figsize=(7, 9), height_ratios=(3, 3, 2), layout="constrained")
curve.plot(run.metrics["env_steps"], run.metrics["mean_reward"])
curve.set(xlabel="environment steps", ylabel="return", title=f"{run.info['task']} on {run.info['cpu_model']}")
swings.plot(np.arange(150) * envs.task_spec["dt"], np.unwrap(angles, axis=0), color="tab:blue", alpha=0.2)
swings.set(xlabel="time [s]", ylabel="angle [rad]", title="64 episodes of the policy")
film.imshow(np.hstack(pictures))
film.set(title="one of them, every 1.5 s", xticks=[], yticks=[])
figure.savefig("learning_curve.png")
