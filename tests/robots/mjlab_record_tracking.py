#!/usr/bin/env python3
"""Records mjlab's tracking task, for tests/robots/tracking_test.cpp.

    python3 -m venv mjlab && mjlab/bin/pip install mjlab==1.6.0 h5py==3.16.0
    mjlab/bin/python tests/robots/mjlab_record_tracking.py build/release/share/drl/models/g1_exercise.h5 \\
        tests/robots/recordings

The motion is the one that comes with drl. Writes G1-Tracking.txt, in the format of mjlab_record.py, with these lines:
    episode / bias ANGLE... / com X Y Z    as there
    frame FRAME                            the frame to track next, after the start and after each step
    reset QPOS... QVEL...                  the initial state
    contacts FOUND... FORCE...             of both feet (always 0) and of the robot with itself
    step, substep, targets, before, after, pushed    as there
    rewards X...                           the reward's terms without weights
    ends ANCHOR_POS ANCHOR_ORI EE_BODY_POS
    errors X...                            |reference - robot| when the reward is computed: of the anchor's position (m)
                                           and orientation (rad), the bodies' means of these, of all joints' angles
                                           (rad) and velocities (rad/s)
    critic X...                            the critic's observation after the start and after each step
"""

import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.registry import load_env_cfg

STEPS = 14
ARRAYS = ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w")
ERRORS = ("anchor_pos", "anchor_rot", "body_pos", "body_rot", "joint_pos", "joint_vel")


class Recorder:
    def __init__(self, motion, num_envs):
        torch.set_num_threads(1)
        cfg = load_env_cfg("Mjlab-Tracking-Flat-Unitree-G1")
        cfg.scene.num_envs, cfg.seed = num_envs, 5  # all episodes begin before the motion's last frames
        cfg.observations["actor"].enable_corruption = False
        cfg.auto_reset = False
        cfg.commands["motion"].motion_file = motion
        cfg.events["push_robot"].interval_range_s = (0.1, 0.3)  # within the recorded steps
        self.env = ManagerBasedRlEnv(cfg, device="cpu")
        self.motion = self.env.command_manager.get_term("motion")
        self.lines = [[] for _ in range(num_envs)]
        self.going = range(num_envs)

    def write(self, word, rows):
        """Appends a line with a row of numbers for each environment whose episode continues."""
        rows = torch.as_tensor(rows).float().reshape(len(self.lines), -1)
        for i in self.going:
            self.lines[i].append(" ".join([word, *(f"{x:.7g}" for x in rows[i].tolist())]))

    def state(self):
        data = self.env.sim.data
        at = data.qpos[:, :3] - self.env.scene.env_origins
        return torch.cat([at, data.qpos[:, 3:], data.qvel[:]], dim=1)

    def contacts(self):
        own = self.env.scene["self_collision"]._extract_sensor_data()
        zeros = torch.zeros(len(self.lines), 6)
        return torch.cat([zeros[:, :2], own.found, zeros, own.force.flatten(1)], dim=1)

    def run(self, actions):
        env, data = self.env, self.env.sim.data
        step, forward, compute = env.sim.step, env.sim.forward, env.reward_manager.compute
        cfgs = [env.reward_manager.get_term_cfg(name) for name in env.reward_manager.active_terms]
        weights = torch.tensor([c.weight for c in cfgs])

        def recorded_step():
            self.before = self.state()
            step()
            self.write("substep", self.contacts())

        def recorded_rewards(dt):
            self.write("targets", env.scene["robot"].data.joint_pos_target)
            self.write("before", self.before)
            self.after = self.state()
            self.write("after", self.after)
            result = compute(dt)
            self.write("rewards", env.reward_manager._step_reward / weights)
            ends = [env.termination_manager.get_term(name) for name in ("anchor_pos", "anchor_ori", "ee_body_pos")]
            self.write("ends", torch.stack(ends, dim=1))
            self.motion._update_metrics()
            self.write("errors", torch.stack([self.motion.metrics[f"error_{name}"] for name in ERRORS], dim=1))
            return result

        def recorded_forward():
            nq = data.qpos.shape[1]
            if hasattr(self, "after"):
                for i in self.going:
                    if not torch.equal(data.qvel[i], self.after[i, nq:]):
                        self.lines[i].append(" ".join(["pushed", *(f"{x:.7g}" for x in data.qvel[i].tolist())]))
            forward()

        env.sim.step, env.sim.forward, env.reward_manager.compute = recorded_step, recorded_forward, recorded_rewards
        obs, _ = env.reset()
        entity = env.scene["robot"]
        body = entity.indexing.body_ids[entity.find_bodies(("torso_link",))[0][0]]
        for i in self.going:
            self.lines[i].append("episode")
        self.write("bias", entity.data.encoder_bias)
        of_file = torch.tensor(env.sim.mj_model.body_ipos[body], dtype=torch.float32)
        self.write("com", env.sim.model.body_ipos[:, body] - of_file)
        self.write("reset", self.state())
        self.write("contacts", self.contacts())
        self.write("frame", self.motion.time_steps)
        self.write("critic", obs["critic"])
        for t in range(STEPS):
            action = torch.as_tensor(actions(t), dtype=torch.float32)
            self.write("step", action)
            env._manual_reset_pending[:] = False
            obs, _, terminated, _, _ = env.step(action)
            self.write("contacts", self.contacts())
            self.write("frame", self.motion.time_steps)
            self.write("critic", obs["critic"])
            self.going = [i for i in self.going if not terminated[i]]
        names = " ".join(env.reward_manager.active_terms)
        return ["# mjlab 1.6.0, G1: see mjlab_record_tracking.py", f"terms {names}"] + sum(self.lines, [])


def main(motion, directory):
    random = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder, h5py.File(motion) as file:
        npz = Path(folder) / "motion.npz"
        np.savez(npz, fps=[50], **{name: file[name][()] for name in ARRAYS})
        recorder = Recorder(str(npz), num_envs=4)
    joints = recorder.env.action_manager.total_action_dim
    sizes = np.array([[0.2], [1], [4], [12]])  # large enough to reach joint limits, to touch itself and to fall
    lines = recorder.run(lambda t: random.normal(size=(4, joints)) * sizes)
    (Path(directory) / "G1-Tracking.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
