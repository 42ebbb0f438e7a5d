#!/usr/bin/env python3
"""Writes g1_exercise.csv, the motion that G1-Tracking follows by default. The motion was made by hand, for drl.

    pip install numpy==2.4.6 mujoco==3.5.0
    src/robots/motions/g1_exercise.py build/release/share/drl/models/g1.xml src/robots/motions/g1_exercise.csv

The robot squats, spreads its arms and leans to both sides, stands on its left leg, and stands still again. KEYS lists
the poses in between; each number moves from one pose to the next with velocity and acceleration 0 at both. The legs
follow from the poses of the feet and the place of the centre of mass (inverse kinematics), so that a foot on the floor
does not slide, and the centre of mass stays above the feet.

The rows are frames, 30 per second, as in Unitree's retargeted LAFAN1 data set: the root's position (m) and orientation
(quaternion x, y, z, w), then the angles of the 29 joints (rad).
"""

import sys

import mujoco
import numpy as np

RATE = 30  # frames per second
STAND = {"left_hip_pitch": -0.312, "left_knee": 0.669, "left_ankle_pitch": -0.363,
         "right_hip_pitch": -0.312, "right_knee": 0.669, "right_ankle_pitch": -0.363,
         "left_shoulder_pitch": 0.2, "left_shoulder_roll": 0.2, "left_elbow": 0.6,
         "right_shoulder_pitch": 0.2, "right_shoulder_roll": -0.2, "right_elbow": 0.6}
ARMS = {name: angle for name, angle in STAND.items() if "shoulder" in name or "elbow" in name}
LEGS = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")

FORWARD = {"left_shoulder_pitch": -0.8, "right_shoulder_pitch": -0.8, "left_elbow": 0.8, "right_elbow": 0.8}
SPREAD = {"left_shoulder_pitch": 0, "right_shoulder_pitch": 0, "left_shoulder_roll": 1.0, "right_shoulder_roll": -1.0,
          "left_elbow": 1.0, "right_elbow": 1.0}
# Time in s, then what differs from standing: `down` (m), `com` (m to the left of the middle between the feet), `pitch`
# (rad, of the pelvis), `lift` (m, of the right foot), `step` (m, of the right foot, ahead), and angles of joints.
KEYS = [
    (0.0, {}),
    (0.4, {}),
    (1.4, {"down": 0.20, "pitch": 0.15, **FORWARD}),
    (2.4, {}),
    (3.2, SPREAD),
    (4.0, {**SPREAD, "waist_roll": 0.25, "waist_yaw": 0.4, "left_elbow": 0.5, "down": 0.04}),
    (4.9, {**SPREAD, "waist_roll": -0.25, "waist_yaw": -0.4, "right_elbow": 0.5, "down": 0.04}),
    (5.7, {}),
    (6.5, {"com": 0.10, "down": 0.03}),
    (7.1, {"com": 0.102, "down": 0.03, "lift": 0.12, "step": 0.06, "left_shoulder_pitch": -0.4}),
    (7.7, {"com": 0.102, "down": 0.03, "lift": 0.12, "step": -0.02, "right_shoulder_pitch": -0.4}),
    (8.4, {"com": 0.10, "down": 0.03}),
    (9.3, {}),
    (9.9, {}),
]


def ease(x):
    """Returns a value from 0 to 1 whose first two derivatives are 0 at both ends."""
    return x**3 * (10 - 15 * x + 6 * x * x)


def pose_at(time):
    for (begin, old), (end, new) in zip(KEYS, KEYS[1:]):
        if time <= end + 1e-9:
            share = ease((time - begin) / (end - begin))
            names = {*old, *new, *ARMS}
            value = lambda pose, name: pose.get(name, ARMS.get(name, 0))
            return {name: (1 - share) * value(old, name) + share * value(new, name) for name in names}
    raise ValueError(time)


class Robot:
    def __init__(self, file):
        self.model = mujoco.MjModel.from_xml_path(file)
        self.data = mujoco.MjData(self.model)
        self.feet = [self.model.body(f"{side}_ankle_roll_link").id for side in ("left", "right")]
        self.legs = [[self.model.joint(f"{side}_{name}_joint").dofadr[0] for name in LEGS] for side in ("left", "right")]
        for name, angle in STAND.items():
            self.set(name, angle)
        self.forward()
        lowest = min(self.data.geom_xpos[g][2] - self.lowness(g) for g in range(self.model.ngeom)
                     if self.model.geom_bodyid[g] in self.feet and self.model.geom_contype[g])
        self.data.qpos[2] -= lowest
        self.forward()
        self.start = [(self.data.xpos[f].copy(), self.data.xquat[f].copy()) for f in self.feet]
        self.middle = 0.5 * (self.start[0][0] + self.start[1][0])
        self.ahead = self.data.subtree_com[0][0] - self.middle[0]
        self.height = self.data.qpos[2]

    def lowness(self, geom):  # of a capsule
        radius, half = self.model.geom_size[geom][:2]
        return radius + half * abs(self.data.geom_xmat[geom][8])

    def set(self, name, angle):
        self.data.qpos[self.model.joint(f"{name}_joint").qposadr[0]] = angle

    def forward(self):
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def follow(self, foot, position, orientation):
        """Takes a step of Newton's method towards a pose of a foot; returns the error before."""
        jacobian = np.zeros((6, self.model.nv))
        mujoco.mj_jacBody(self.model, self.data, jacobian[:3], jacobian[3:], self.feet[foot])
        inverse, relative, turn = np.zeros(4), np.zeros(4), np.zeros(3)
        mujoco.mju_negQuat(inverse, self.data.xquat[self.feet[foot]])
        mujoco.mju_mulQuat(relative, orientation, inverse)
        mujoco.mju_quat2Vel(turn, relative, 1)
        error = np.concatenate([position - self.data.xpos[self.feet[foot]], turn])
        columns = jacobian[:, self.legs[foot]]
        change = columns.T @ np.linalg.solve(columns @ columns.T + 1e-8 * np.eye(6), error)
        for dof, by in zip(self.legs[foot], change):
            self.data.qpos[dof + 1] += by
        return np.abs(error).max()

    def take(self, pose):
        """Moves to a pose and returns qpos."""
        for name, angle in pose.items():
            if name not in ("down", "com", "pitch", "lift", "step"):
                self.set(name, angle)
        half = 0.5 * pose.get("pitch", 0)
        self.data.qpos[3:7] = np.cos(half), 0, np.sin(half), 0
        self.data.qpos[2] = self.height - pose.get("down", 0)
        targets = [np.array(at) for at, _ in self.start]
        targets[1] += np.array([pose.get("step", 0), 0, pose.get("lift", 0)])
        for _ in range(100):
            self.forward()
            com = self.middle[:2] + np.array([self.ahead, pose.get("com", 0)]) - self.data.subtree_com[0][:2]
            error = max(np.abs(com).max(), *(self.follow(f, targets[f], self.start[f][1]) for f in (0, 1)))
            self.data.qpos[:2] += com
            if error < 1e-6:
                return self.data.qpos.copy()
        raise ValueError(f"no pose of the legs was found (error {error:g})")


def main(model, output):
    robot = Robot(model)
    rows = []
    for frame in range(round(KEYS[-1][0] * RATE) + 1):
        qpos = robot.take(pose_at(min(frame / RATE, KEYS[-1][0])))
        rows.append(np.concatenate([qpos[:3], qpos[4:7], qpos[3:4], qpos[7:]]))
    low, high = robot.model.jnt_range[1:, 0], robot.model.jnt_range[1:, 1]
    angles = np.array(rows)[:, 7:]
    margin = np.minimum(angles - low, high - angles).min(axis=0)
    assert margin.min() > 0, [robot.model.joint(k + 1).name for k in np.flatnonzero(margin <= 0)]
    with open(output, "w") as file:
        for row in rows:
            file.write(",".join(f"{x + 0.0:.5f}" for x in row) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
