"""Environments of drl's tasks for learners of others: make_vec() and make()."""

import os
import pathlib

try:
    import gymnasium
except ImportError as error:
    raise ImportError("environments need the Python package gymnasium: pip install gymnasium") from error
import numpy as np
from gymnasium.vector import AutoresetMode

from drl import programs
from drl.named import whole_number

try:
    from drl import _envs
except ImportError as error:
    raise ImportError("this package was built without vector environments, because HDF5's headers were not found: "
                      "install them (Debian: libhdf5-dev), and install the package again") from error

HERE = pathlib.Path(__file__).parent


def _load_libraries(task, libraries):
    """Loads the task libraries of the caller, of DRL_TASK_LIBRARIES and, if the task needs it, of drl itself."""
    given = list(libraries)
    for file in given + [file for file in os.environ.get("DRL_TASK_LIBRARIES", "").split(":") if file]:
        _envs.load_task_library(os.path.abspath(file))
    for folder in filter(None, (HERE, programs.prefix())):
        for file in sorted((folder / "lib/drl/tasks").glob("*.so")) if task not in _envs.task_names() else []:
            _envs.load_task_library(str(file))
    if task not in _envs.task_names() and not (programs.prefix() and (programs.prefix() / "lib/drl/tasks").is_dir()):
        raise ValueError(
            f"there is no task {task} among {', '.join(_envs.task_names())}, and drl's other tasks are not "
            f"found: {programs.HINT}")


class Envs(gymnasium.vector.VectorEnv):
    """Environments of a task, stepped together in lanes of the CPU's vector registers.

    Observations, rewards and flags are arrays of the environments [num_envs, ...]. They are copies; with copy=False they
    are live views, which the next step changes; those of "next_step" show no final observations, which step() returns.

    Args:
      task: a task's name, such as "Humanoid-v5" (drl_train --list_tasks).
      num_envs: how many; multiples of 16 per thread are fastest.
      seed: keys all random numbers until reset(seed=...) gives another.
      threads: how many threads step; results do not depend on it. 0: all cores that this process may use.
      autoreset: "next_step" (Gymnasium's default: after an episode's end, the next step ignores its action and returns
        the first observation of the next episode), or "same_step" (the step that ends an episode returns that first
        observation, and infos["final_obs"] has the last one). "same_step" is faster.
      task_libraries: files of further task libraries (drl_add_task_library).
      env: options of the task, as drl_train's section env: {"gravity": 9.8, "reward": {"alive": 2}}.
      render_mode: "rgb_array": render() returns pictures [height, width, 3].
      size: (width, height) of pictures.
      camera: "track" (follows the robot), "free" (shows everything), or the name of a camera of the model.

    After each step in which episodes ended, infos has "episode_return" and "episode_length" [num_envs] of those, and
    "_episode_return": which environments ended one.
    """
    def __init__(self,
                 task,
                 num_envs=1,
                 *,
                 seed=0,
                 threads=0,
                 autoreset="next_step",
                 copy=True,
                 task_libraries=(),
                 env=None,
                 render_mode=None,
                 size=(480, 480),
                 camera="track"):
        num_envs, seed = whole_number(num_envs, "num_envs", 1), whole_number(seed, "seed", 0)
        threads = whole_number(threads, "threads", 0)
        if isinstance(task_libraries, (str, os.PathLike)):
            task_libraries = [task_libraries]
        if env is not None and not isinstance(env, dict):
            raise TypeError(f"env is {env!r}: give a dict of the task's options, such as {{'reward': {{'alive': 2}}}}")
        width, height = (whole_number(x, "size", 1) for x in (size if np.ndim(size) else (size, size)))
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {render_mode}: give 'rgb_array', or leave it out")
        _load_libraries(task, task_libraries)
        threads = threads or len(os.sched_getaffinity(0))
        modes = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP}
        autoreset = {mode: name for name, mode in modes.items()}.get(autoreset, autoreset)
        if autoreset not in modes:
            raise ValueError(f"autoreset is {autoreset}, and drl resets environments by itself: give next_step or "
                             "same_step")
        self.autoreset_mode = modes[autoreset]
        self.arguments = dict(task=task,
                              num_envs=num_envs,
                              seed=seed,
                              threads=threads,
                              autoreset=autoreset,
                              copy=copy,
                              task_libraries=tuple(map(os.fspath, task_libraries)),
                              env=dict(env or {}),
                              render_mode=render_mode,
                              size=(width, height),
                              camera=camera)
        self._envs = _envs.Envs(task, num_envs, seed, list(programs.command_line(self.arguments["env"], "env.")),
                                min(threads, num_envs), autoreset == "next_step")
        spec = self.task_spec = self._envs.spec
        self.num_envs, self._copy = num_envs, copy
        self.render_mode, self._has_begun = render_mode, False
        self.metadata = {
            "autoreset_mode": self.autoreset_mode, "render_modes": ["rgb_array"], "render_fps": round(1 / spec["dt"])
        }
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (spec["obs_dim"], ), np.float32)
        if spec["discrete"]:
            heads = spec["heads"]
            self._low, self._high = 0, np.asarray(heads or spec["action_size"]) - 1
            self.single_action_space = (gymnasium.spaces.MultiDiscrete(heads, dtype=np.int32)
                                        if heads else gymnasium.spaces.Discrete(spec["action_size"], dtype=np.int32))
        else:
            self.single_action_space = gymnasium.spaces.Box(np.float32(spec["low"]),
                                                            np.float32(spec["high"]),
                                                            dtype=np.float32)
            self._low, self._high = self.single_action_space.low, self.single_action_space.high
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self._action = self._envs.int_action if spec["discrete"] else self._envs.float_action

    def __getstate__(self):
        raise TypeError("environments cannot be pickled or copied: make others with the same arguments, "
                        "drl.make_vec(**envs.arguments)")

    def __repr__(self):
        return f"<drl.Envs {self.task_spec['name']}, {self.num_envs} environments, {self.autoreset_mode.value}>"

    @property
    def physics(self):
        """Of a robot: "lanes" or "libmujoco"; else ""."""
        return self._envs.physics

    def _observations(self):
        return self._envs.obs.copy() if self._copy else self._envs.obs

    @property
    def critic_observations(self):
        """The critic's own observations [num_envs, numbers], of the same states, or None if it gets the actor's."""
        envs = self._envs
        if self.task_spec["critic_obs_dim"] == 0:
            return None
        if self.autoreset_mode == AutoresetMode.NEXT_STEP and envs.ended.any():
            return np.where(envs.ended[:, None], envs.last_critic_obs, envs.critic_obs)
        return envs.critic_obs.copy() if self._copy else envs.critic_obs

    def reset(self, *, seed=None, options=None):
        """Starts new episodes in all environments: other ones than before, or with a seed the same each time."""
        if options and options.get("reset_mask") is not None:
            raise ValueError("drl resets all environments together: reset() takes no reset_mask")
        if isinstance(seed, (list, tuple, np.ndarray)):
            raise ValueError("one seed keys all environments: give an int")
        self._envs.reset(None if seed is None else whole_number(seed, "seed", 0))
        self._has_begun = True
        return self._observations(), {}

    def step(self, actions):
        """Steps all environments with actions [num_envs, ...], which are clipped to the action space."""
        if not self._has_begun:
            raise gymnasium.error.ResetNeeded("step() was called before reset(): call reset() first")
        actions = np.asarray(actions)
        shape = self.action_space.shape
        if actions.shape != shape:
            raise ValueError(f"actions have the shape {actions.shape}, and {self.task_spec['name']} takes {shape}")
        if self.task_spec["discrete"]:
            if actions.dtype.kind not in "iu":
                raise ValueError(f"actions have the type {actions.dtype}, and {self.task_spec['name']} takes integers")
            if (actions < self._low).any() or (actions > self._high).any():
                raise ValueError(f"actions of {self.task_spec['name']} are at least 0 and below {self._high + 1}")
            self._action[:] = actions.reshape(self._action.shape)
        else:
            np.clip(actions, self._low, self._high, out=self._action, casting="same_kind")
        envs = self._envs
        any_ended = envs.step()
        results = [envs.obs, envs.reward, envs.terminated, envs.truncated]
        if self._copy:
            results = [result.copy() for result in results]
        infos = {}
        if any_ended:
            ended = envs.ended.copy()
            infos |= {
                "episode_return": np.where(ended, envs.returns, 0), "_episode_return": ended,
                "episode_length": np.where(ended, envs.lengths, 0), "_episode_length": ended
            }
            if self.autoreset_mode == AutoresetMode.NEXT_STEP:
                results[0] = np.where(ended[:, None], envs.last_obs, results[0])
            else:
                infos["final_obs"], infos["_final_obs"] = envs.last_obs.copy(), ended
                if self.task_spec["critic_obs_dim"]:
                    infos["final_critic_obs"], infos["_final_critic_obs"] = envs.last_critic_obs.copy(), ended
        return *results, infos

    def picture(self, env=0):
        """Returns a picture [height, width, 3] of an environment's present state: after an episode's end, that of the
        next episode's beginning. Always the same thread must call this."""
        if not 0 <= env < self.num_envs:
            raise IndexError(f"env is {env}: give one of 0 to {self.num_envs - 1}")
        (width, height), library = self.arguments["size"], HERE / "lib/drl/drl_film.so"
        if not library.is_file() and programs.prefix():
            library = programs.prefix() / "lib/drl/drl_film.so"
        rgb = self._envs.draw(env, width, height, self.arguments["camera"], str(library))
        return np.frombuffer(rgb, np.uint8).reshape(height, width, 3)

    def render(self):
        """Returns pictures of all environments, or None without a render_mode."""
        return tuple(map(self.picture, range(self.num_envs))) if self.render_mode else None

    def take_episodes(self):
        """Returns the means over the episodes that ended since the last call, as a dict: "episodes" (their number),
        "return", "length", and by name the task's reward terms, metrics and the shares of the causes of the ends."""
        spec = self.task_spec
        names = [
            "return", "length", *(f"reward/{x}" for x in spec["reward_terms"]),
            *(f"metric/{x}" for x in spec["metrics"]), *(f"end/{x}" for x in spec["ends"])
        ]
        count, *sums, lost = self._envs.take_episodes()
        return {
            "episodes": count, "lost": lost, **{name: x / count if count else np.nan
                                                for name, x in zip(names, sums)}
        }


def make_vec(task, num_envs=1, **arguments):
    """Returns `num_envs` environments of a task as a gymnasium.vector.VectorEnv: see Envs for the arguments."""
    return Envs(task, num_envs, **arguments)


class Env(gymnasium.Env):
    """One environment of a task. Its steps are as slow as those of sixteen: learners should take make_vec()."""

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, task, **arguments):
        self._envs = Envs(task, 1, autoreset="same_step", threads=1, **arguments)
        self.render_mode, self.metadata = self._envs.render_mode, self._envs.metadata
        self.observation_space, self.action_space = self._envs.single_observation_space, self._envs.single_action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._envs.reset(seed=seed)[0][0], {}

    def step(self, action):
        observations, rewards, terminated, truncated, infos = self._envs.step(np.asarray(action)[None])
        observation = infos["final_obs"][0] if "final_obs" in infos else observations[0]
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}

    def render(self):
        """Returns a picture [height, width, 3], or None without a render_mode. After an episode's end, it is of the next
        episode's beginning."""
        return self._envs.picture() if self.render_mode else None


def make(task, **arguments):
    """Returns one environment of a task as a gymnasium.Env: see Envs for the arguments."""
    return Env(task, **arguments)
