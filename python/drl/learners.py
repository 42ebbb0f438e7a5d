"""A task's environments in the forms that rsl_rl and Stable-Baselines3 take. Import it with those packages installed."""

import types

import numpy as np

from drl.envs import Envs


def _make(task, num_envs, arguments):
    """Returns environments in the form that learners need, which keep arrays."""
    for name in ("autoreset", "copy"):
        if name in arguments:
            raise TypeError(f"{name} cannot be given: the learner decides it")
    return Envs(task, num_envs, autoreset="same_step", **arguments)


def rsl_rl_env(task, num_envs, **arguments):
    """Returns environments for rsl_rl's OnPolicyRunner (5.x): see drl.make_vec for the arguments but autoreset and copy.

    Observations are a TensorDict with the group "policy" and, if the task has its critic's own, "critic". After steps in
    which episodes ended, extras["log"] has the means of drl.Envs.take_episodes. Episodes begin at age 0, also with the
    runner's init_at_random_ep_len.
    """
    import torch
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict

    class RslRlEnv(VecEnv):
        device = "cpu"

        def __init__(self):
            self.envs = _make(task, num_envs, arguments)
            self.cfg = types.SimpleNamespace(to_dict=lambda: self.envs.arguments)
            if self.envs.task_spec["discrete"]:
                raise ValueError(f"rsl_rl takes continuous actions, and those of {task} are discrete: give another task")
            self.num_envs, self.num_actions = num_envs, self.envs.single_action_space.shape[0]
            self.max_episode_length = self.envs.task_spec["step_limit"]
            self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
            self.envs.reset()

        def get_observations(self):
            groups = {"policy": self.envs._observations(), "critic": self.envs.critic_observations}
            return TensorDict({name: torch.from_numpy(x) for name, x in groups.items() if x is not None}, [num_envs])

        def step(self, actions):
            _, rewards, terminated, truncated, _ = self.envs.step(actions.detach().numpy())
            dones = torch.from_numpy(terminated | truncated)
            self.episode_length_buf += 1
            self.episode_length_buf[dones] = 0
            extras = {"time_outs": torch.from_numpy(truncated), "log": {}}
            if dones.any() and (means := self.envs.take_episodes())["episodes"]:
                extras["log"] = {f"/{name}": x for name, x in means.items()}
            return self.get_observations(), torch.from_numpy(rewards), dones, extras

    return RslRlEnv()


def sb3_env(task, num_envs, **arguments):
    """Returns environments for Stable-Baselines3: see drl.make_vec for the arguments but autoreset and copy."""
    from stable_baselines3.common.vec_env import VecEnv

    class Sb3Env(VecEnv):
        def __init__(self):
            self.envs = _make(task, num_envs, arguments)
            space = self.envs.single_action_space
            if not self.envs.task_spec["discrete"] and not np.isfinite(space.high).all():
                raise ValueError(f"Stable-Baselines3 needs bounds of actions, which {task} does not have: give another "
                                 "task")
            self.render_mode = None
            super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

        def reset(self):
            seed = next((seed for seed in self._seeds if seed is not None), None)
            self._reset_seeds(), self._reset_options()
            return self.envs.reset(seed=seed)[0]

        def step_async(self, actions):
            self._actions = actions

        def step_wait(self):
            obs, rewards, terminated, truncated, found = self.envs.step(self._actions)
            infos, dones = [{} for _ in range(num_envs)], terminated | truncated
            for k in np.flatnonzero(dones):
                infos[k] = {
                    "terminal_observation": found["final_obs"][k], "TimeLimit.truncated": bool(truncated[k]),
                    "episode": {"r": float(found["episode_return"][k]), "l": int(found["episode_length"][k])}
                }
            return obs, rewards, dones, infos

        def close(self):
            pass

        def _chosen(self, indices):
            return range(num_envs) if indices is None else np.atleast_1d(indices)

        def get_attr(self, attr_name, indices=None):
            return [getattr(self, attr_name) for _ in self._chosen(indices)]

        def set_attr(self, attr_name, value, indices=None):
            raise AttributeError(f"drl's environments are stepped together: {attr_name} cannot be set for some")

        def env_method(self, method_name, *args, indices=None, **kwargs):
            raise AttributeError(f"drl's environments are stepped together: there is no {method_name} for some")

        def env_is_wrapped(self, wrapper_class, indices=None):
            return [False for _ in self._chosen(indices)]

    return Sb3Env()
