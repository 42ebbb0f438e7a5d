"""Tests drl's environments, runs and policies in Python.

    envs_test.py PREFIX

PREFIX is the directory of drl's programs (bin) and task libraries (lib/drl/tasks).
"""

import copy
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import gymnasium
import gymnasium.wrappers.vector
import h5py
import numpy as np

import drl
from gymnasium.utils.env_checker import check_env

PREFIX = pathlib.Path(sys.argv.pop(1))
os.environ["DRL_PREFIX"] = str(PREFIX)
HAS_ROBOTS = (PREFIX / "lib/drl/tasks/drl_robots.so").is_file()
CLASSIC = ["CartPole-v1", "Pendulum-v1", "Cartpole"]
ROBOTS = ["HalfCheetah-v5", "Hopper-v5"] if HAS_ROBOTS else []


class Environments(unittest.TestCase):
    def test_gymnasiums_checker_passes(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it recommends other bounds
            for task in ROBOTS:
                drl.make(task)  # loads the tasks of robots
            for task in drl.envs._envs.task_names():
                try:
                    env = drl.make(task)
                except ValueError as error:
                    self.assertIn("fetch_robots", str(error))  # of a robot that was not downloaded
                    continue
                check_env(env, skip_render_check=True)

    def test_autoreset_modes_differ_only_in_when_an_episode_begins(self):
        """Next-step environments that wait for their next episode stay as they are, whatever their action is."""
        n = 20
        for task, env in [("CartPole-v1", {}), ("Pendulum-v1", {}),
                          *[(t, {"physics": p}) for t in ROBOTS for p in ("lanes", "mujoco")]]:
            later = drl.make_vec(task, n, seed=3, env=env)
            same = drl.make_vec(task, n, seed=3, env=env, autoreset="same_step", threads=2)
            first, at_once = later.reset()[0], same.reset()[0]
            np.testing.assert_array_equal(first, at_once)
            same.action_space.seed(0)
            actions = [same.action_space.sample() for _ in range(300)]
            taken, waits = np.zeros(n, int), np.zeros(n, bool)
            of_later, of_same = [[] for _ in range(n)], [[] for _ in range(n)]  # per environment: observation, reward
            for t in range(300):
                obs, reward, terminated, truncated, _ = later.step(np.stack([actions[taken[k]][k] for k in range(n)]))
                for k in range(n):
                    of_later[k].append((*obs[k], None if waits[k] else reward[k]))
                    if waits[k]:
                        self.assertEqual(reward[k], 0)
                taken += ~waits
                waits = terminated | truncated
                obs, reward, terminated, truncated, infos = same.step(actions[t])
                for k in range(n):
                    if terminated[k] or truncated[k]:
                        of_same[k].append((*infos["final_obs"][k], reward[k]))
                    of_same[k].append((*obs[k], None if terminated[k] or truncated[k] else reward[k]))
            ends = 0
            for k in range(n):  # the random numbers of the second reset depend on its step, which differs
                begins = [i for i, (*_, reward) in enumerate(of_same[k]) if reward is None]
                ends += len(begins)
                until = begins[1] if len(begins) > 1 else 300
                self.assertEqual(of_later[k][:until], of_same[k][:until], (task, env, k))
            self.assertEqual(ends > 0, task != "HalfCheetah-v5", task)

    def test_threads_do_not_change_results(self):
        for task in CLASSIC + ROBOTS:
            results = []
            for threads in (1, 3):
                envs = drl.make_vec(task, 50, seed=1, threads=threads)
                envs.reset()
                envs.action_space.seed(0)
                results.append([envs.step(envs.action_space.sample())[:2] for _ in range(30)])
            for one, other in zip(*results):
                np.testing.assert_array_equal(one[0], other[0])
                np.testing.assert_array_equal(one[1], other[1])

    def test_a_reset_begins_other_episodes_unless_it_has_a_seed(self):
        for envs in (drl.make_vec("Pendulum-v1", 3), drl.make("Pendulum-v1")):
            first, second = envs.reset()[0], envs.reset()[0]
            self.assertTrue((first != second).any())
            np.testing.assert_array_equal(envs.reset(seed=5)[0], envs.reset(seed=5)[0])
            self.assertTrue((envs.reset(seed=5)[0] != envs.reset(seed=6)[0]).any())

    def test_a_forked_process_makes_its_own_threads(self):
        for threads in (1, 2):
            envs = drl.make_vec("Pendulum-v1", 64, threads=threads)
            envs.reset()
            child = os.fork()
            if child == 0:
                try:
                    envs.step(np.zeros((64, 1)))
                    os._exit(0)
                except ValueError as error:
                    del envs
                    os._exit(3 if "threads=1" in str(error) else 4)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0 if threads == 1 else 3)

    def test_episodes_are_summed(self):
        envs = drl.make_vec("CartPole-v1", 64, seed=2, autoreset="same_step")
        envs.reset()
        envs.action_space.seed(0)
        lengths = []
        for _ in range(100):
            *_, infos = envs.step(envs.action_space.sample())
            if "episode_length" in infos:
                lengths += list(infos["episode_length"][infos["_episode_length"]])
                np.testing.assert_array_equal(infos["episode_return"], infos["episode_length"])  # the reward is 1
        sums = envs.take_episodes()
        self.assertEqual(sums["episodes"], len(lengths))
        self.assertAlmostEqual(sums["length"], np.mean(lengths))
        self.assertEqual(envs.take_episodes()["episodes"], 0)

    def test_arrays_are_copies_unless_live_ones_are_asked_for(self):
        for is_copy in (True, False):
            envs = drl.make_vec("Pendulum-v1", 3, copy=is_copy)
            first, _ = envs.reset()
            kept = first.copy()
            envs.step(np.ones((3, 1)))
            self.assertEqual((first == kept).all(), is_copy)

    def test_pictures_show_the_present_state(self):
        for task in ["Pendulum-v1"] + ROBOTS[:1]:
            envs = drl.make_vec(task, 2, render_mode="rgb_array", size=(64, 48), autoreset="same_step", seed=1)
            envs.reset()
            first, again = envs.render(), envs.render()
            self.assertEqual([(x.shape, x.dtype) for x in first], 2 * [((48, 64, 3), np.uint8)])
            np.testing.assert_array_equal(first, again)
            self.assertTrue((first[0] != first[1]).any())
            envs.step(np.ones(envs.action_space.shape, np.float32))
            self.assertTrue((envs.picture(1) != first[1]).any())
        if (child := os.fork()) == 0:
            try:
                envs.picture()
            except ValueError as error:
                del envs
                os._exit(3 if "forked process" in str(error) else 4)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 3)
        env = drl.make("Pendulum-v1", render_mode="rgb_array")
        env.reset()
        self.assertEqual(env.render().shape, (480, 480, 3))
        self.assertIsNone(drl.make("Pendulum-v1").render())

    def test_deleted_environments_free_their_memory(self):
        def size():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def make(times):
            for k in range(times):
                drl.make_vec("CartPole-v1", 256, threads=1 + k % 2).reset()

        make(500)
        before = size()
        make(10_000)
        self.assertLess(size() - before, 10_000 * 1000)  # the environments' arrays alone have more than 10 kB

    def test_critics_observe_what_actors_do(self):
        """A critic's observations begin with the actor's, but for noise, which is off here, and the bias of angles."""
        if not HAS_ROBOTS or not (PREFIX / "share/drl/models/unitree_go1").exists():
            self.skipTest("Go1 is not there")
        for mode in ("next_step", "same_step"):
            envs = drl.make_vec("Go1-Velocity-Flat", 16, autoreset=mode, env={"noise": 0})
            obs, _ = envs.reset()
            speeds = slice(21, 33)  # of joints
            ends = 0
            for _ in range(100):
                obs, _, terminated, truncated, infos = envs.step(np.full(envs.action_space.shape, 5, np.float32))
                np.testing.assert_array_equal(envs.critic_observations[:, speeds], obs[:, speeds])
                if "final_obs" in infos:
                    ended = terminated | truncated
                    np.testing.assert_array_equal(infos["final_critic_obs"][ended][:, speeds],
                                                  infos["final_obs"][ended][:, speeds])
                ends += (terminated | truncated).sum()
            self.assertGreater(ends, 0)

    def test_gymnasiums_wrappers_take_environments(self):
        for mode in ("next_step", "same_step"):
            envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(drl.make_vec("CartPole-v1", 16, autoreset=mode))
            envs.reset(seed=0)
            envs.action_space.seed(0)
            seen = 0
            for _ in range(60):
                *_, infos = envs.step(envs.action_space.sample())
                if "episode" in infos:
                    ended = infos["_episode"]
                    seen += ended.sum()
                    np.testing.assert_array_equal(infos["episode"]["r"][ended], infos["episode_return"][ended])
                    np.testing.assert_array_equal(infos["episode"]["l"][ended], infos["episode_length"][ended])
            self.assertGreater(seen, 16)

    def test_actions_of_environments_that_wait_do_not_count(self):
        envs = drl.make_vec("Pendulum-v1", 8)
        envs.reset()
        ended = np.zeros(8, bool)
        for _ in range(202):  # episodes have 200 steps
            actions = np.where(ended[:, None], np.nan, np.zeros((8, 1)))
            _, _, terminated, ended, _ = envs.step(actions)
            self.assertFalse(terminated.any())
        self.assertEqual(envs.take_episodes()["lost"], 0)

    def test_options_reach_the_task(self):
        """Rewards are linear in the weights of their terms."""
        rewards = []
        for weights in ({}, {name: 0 for name in drl.make_vec("Cartpole").task_spec["reward_terms"]}):
            envs = drl.make_vec("Cartpole", 8, env={"reward": weights})
            envs.reset()
            rewards.append(envs.step(np.zeros((8, 1)))[1])
        self.assertTrue((rewards[0] != 0).all())
        np.testing.assert_array_equal(rewards[1], 0)
        with self.assertRaisesRegex(ValueError, "env.gravitation"):
            drl.make_vec("Pendulum-v1", env={"gravitation": 1})

    def test_mistakes_are_errors(self):
        with self.assertRaisesRegex(ValueError, "CartPole-v2.*CartPole-v1"):
            drl.make_vec("CartPole-v2")
        with self.assertRaisesRegex(ValueError, "autoreset is later"):
            drl.make_vec("CartPole-v1", autoreset="later")
        with self.assertRaisesRegex(ValueError, "render_mode is human"):
            drl.make("CartPole-v1", render_mode="human")
        with self.assertRaisesRegex(ValueError, "num_envs is 0"):
            drl.make_vec("CartPole-v1", 0)
        with self.assertRaisesRegex(TypeError, "seed is 1.5"):
            drl.make_vec("CartPole-v1", seed=1.5)
        with self.assertRaisesRegex(ValueError, "threads is -1"):
            drl.make_vec("CartPole-v1", threads=-1)
        with self.assertRaisesRegex(TypeError, "env is 'gravity=3'"):
            drl.make_vec("Pendulum-v1", env="gravity=3")
        envs = drl.make_vec("CartPole-v1", 4)
        with self.assertRaises(gymnasium.error.ResetNeeded):
            envs.step(np.zeros(4, int))
        envs.reset()
        with self.assertRaisesRegex(ValueError, "(3,).*(4,)"):
            envs.step(np.zeros(3, int))
        with self.assertRaisesRegex(ValueError, "float64.*integers"):
            envs.step(np.zeros(4))
        with self.assertRaisesRegex(ValueError, "below 2"):
            envs.step(np.full(4, 2))
        with self.assertRaisesRegex(TypeError, "make_vec"):
            copy.deepcopy(envs)
        self.assertIsInstance(drl.make_vec(**envs.arguments), gymnasium.vector.VectorEnv)


class Runs(unittest.TestCase):
    def test_policies_act_as_drl_eval_recorded(self):
        cases = [("Cartpole", {}), ("CartPole-v1", {}),
                 ("Cartpole", {"rnn_type": "lstm", "rnn_num_layers": 2, "rnn_hidden_dim": 16}),
                 ("Pendulum-v1", {"rnn_type": "gru", "rnn_hidden_dim": 16}),
                 ("Cartpole", {"state_dependent_std": True}), ("Cartpole", {"distribution": "beta"}),
                 ("Cartpole", {"distribution": "squashed_gaussian", "layer_norm": True, "activation": "gelu"})]
        with tempfile.TemporaryDirectory() as directory:
            for k, (task, policy) in enumerate(cases):
                run = drl.train(task, f"run{k}", directory, num_envs=32, max_iterations=3, policy=policy).wait()
                self.assertEqual(list(run.metrics["iteration"]), [1, 2, 3])
                self.assertEqual(run.options["num_envs"], "32")
                self.assertEqual(run.info["world_size"], 1)
                act = drl.load_policy(run.checkpoints[3])
                record = run.directory / "episodes.h5"
                subprocess.run(
                    [PREFIX / "bin/drl_eval", "--checkpoint", act.file, "--episodes", "3", "--record", record],
                    check=True,
                    capture_output=True)
                with h5py.File(record) as episodes:
                    for episode in episodes.values():
                        act.reset()
                        for observation, action in zip(episode["observations"][:-1], episode["actions"][:]):
                            np.testing.assert_allclose(act(observation),
                                                       action,
                                                       rtol=1e-4,
                                                       atol=1e-5,
                                                       err_msg=str(cases[k]))

    def test_a_recurrent_policy_forgets_ended_episodes(self):
        with tempfile.TemporaryDirectory() as directory:
            run = drl.train("Cartpole", "run", directory, num_envs=32, max_iterations=1,
                            policy={"rnn_type": "gru"}).wait()
            act = drl.load_policy(run.directory)
        observations = np.random.default_rng(0).normal(size=(2, 4))
        first = act(observations)
        act(observations)
        act.reset([True, False])
        third = act(observations)
        np.testing.assert_allclose(third[0], first[0], rtol=1e-6)
        self.assertGreater(abs(third[1] - first[1]), 1e-9)

    def test_trainings_that_fail_say_why(self):
        with tempfile.TemporaryDirectory() as directory:
            with self.assertRaisesRegex(RuntimeError, "(?s)exit code 2.*gamma"):
                drl.train("Cartpole", "run", directory, ppo={"gamma": 2}).wait()
            with drl.train("Cartpole", "run", directory, num_envs=32) as training:
                while not training.metrics and training.is_running:
                    pass
            run = drl.read_run(training)
            self.assertGreaterEqual(len(run.checkpoints), 1)
            self.assertFalse(run.is_running)
            newest = drl.load_policy(training).file
            for name in ("iter_1000000.h5", "iter_000001-mine.h5"):
                shutil.copy(newest, run.directory / "checkpoints" / name)
            self.assertEqual(list(run.checkpoints)[-1 - ("best" in run.checkpoints)], 1_000_000)
            training = drl.train("Cartpole", "killed", directory, num_envs=32)
            while not training.metrics and training.is_running:
                pass
            killed = drl.read_run(training)
            self.assertTrue(killed.is_running)
            training.process.kill()
            training.process.wait()
            self.assertEqual(killed.info["status"], "running")
            self.assertFalse(killed.is_running)
            with self.assertRaisesRegex(FileNotFoundError, "run.json"):
                drl.read_run("Cartpole/other", directory)


if __name__ == "__main__":
    unittest.main()
