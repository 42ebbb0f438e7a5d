"""Tests drl_motion with a small robot: the file that it makes of poses holds what numpy and MuJoCo compute from them,
and input that it cannot use is refused with one message.

    motion_test.py DRL_MOTION
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import mujoco
import numpy as np

DRL_MOTION = sys.argv.pop()
XML = """<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="pelvis"><freejoint name="base"/><geom size="0.1" pos="0.02 0 0.01"/>
    <body name="thigh" pos="0 0.1 -0.1"><joint name="hip_joint" axis="0 1 0" range="-2 2"/><geom size="0.05"/>
      <body name="shank" pos="0 0 -0.3"><joint name="knee_joint" axis="0 1 0.2"/><geom size="0.05" pos="0 0 -0.1"/></body>
    </body>
    <body name="torso" pos="0 0 0.2" quat="0.9 0.1 0 0.2"><joint name="waist_joint" axis="0 0 1"/><geom size="0.1"/>
      <body name="arm" pos="0 0.2 0.1"><joint name="shoulder_joint" axis="1 0 0"/><geom size="0.04" pos="0 0.2 0"/></body>
    </body>
  </body></worldbody></mujoco>"""
ROOT = ["root_x", "root_y", "root_z", "root_qx", "root_qy", "root_qz", "root_qw"]
ARRAYS = ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w")


class Robot:
    def __init__(self):
        self.model = mujoco.MjModel.from_xml_string(XML)
        self.joints = [self.model.joint(j).name for j in range(1, self.model.njnt)]
        self.bodies = [self.model.body(b).name for b in range(1, self.model.nbody)]

    def arrays(self, qpos, rate):
        """Returns what mjlab's csv_to_npz computes from positions [frames, nq] at equal intervals."""
        model, data, frames = self.model, mujoco.MjData(self.model), len(qpos)
        rows = {name: [] for name in ARRAYS}
        turns = np.zeros((frames, 3))
        for f in range(1, frames - 1):  # angular velocities of the root, in the world; MuJoCo's are in its own frame
            qvel = np.zeros(model.nv)
            mujoco.mj_differentiatePos(model, qvel, 2 / rate, qpos[f - 1], qpos[f + 1])
            mujoco.mju_rotVecQuat(turns[f], qvel[3:6], qpos[f - 1, 3:7])
        turns[0], turns[-1] = turns[1], turns[-2]
        for f in range(frames):
            data.qpos[:] = qpos[f]
            data.qvel[:3] = np.gradient(qpos[:, :3], 1 / rate, axis=0)[f]
            data.qvel[6:] = np.gradient(qpos[:, 7:], 1 / rate, axis=0)[f]
            mujoco.mju_rotVecQuat(data.qvel[3:6], turns[f], qpos[f, 3:7] * [1, -1, -1, -1])
            mujoco.mj_forward(model, data)
            rows["joint_pos"].append(data.qpos[7:].copy()), rows["joint_vel"].append(data.qvel[6:].copy())
            rows["body_pos_w"].append(data.xpos[1:].copy()), rows["body_quat_w"].append(data.xquat[1:].copy())
            # The velocity of a body's frame from that of the tree's centre of mass (MuJoCo's cvel).
            turn, at_com = data.cvel[1:, :3], data.cvel[1:, 3:]
            rows["body_ang_vel_w"].append(turn.copy())
            rows["body_lin_vel_w"].append(at_com + np.cross(turn, data.xpos[1:] - data.subtree_com[1]))
        return {name: np.array(numbers) for name, numbers in rows.items()}


ROBOT = Robot()


def poses(frames=40, seed=1):
    """Returns smooth random positions [frames, nq]; orientations are (w, x, y, z)."""
    random, t = np.random.default_rng(seed), np.linspace(0, 1, frames)[:, None]
    wave = lambda n: np.sin(2 * np.pi * (random.uniform(0.3, 1, n) * t + random.uniform(0, 1, n)))
    qpos = np.hstack([0.3 * wave(3) + [0, 0, 0.8], 0.3 * wave(4) + [1.5, 0, 0, 0], 0.2 * wave(len(ROBOT.joints))])
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    return qpos


def columns(qpos):
    return np.hstack([qpos[:, :3], qpos[:, 4:7], qpos[:, 3:4], qpos[:, 7:]])


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.output = self.folder / "motion.h5"
        self.model = self.folder / "robot.xml"
        self.model.write_text(XML)

    def run_program(self, *words):
        return subprocess.run([DRL_MOTION, *map(str, words), "--model", str(self.model),
                               "--output", str(self.output)],
                              capture_output=True, text=True)

    def convert(self, *words):
        result = self.run_program(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        with h5py.File(self.output) as file:
            return {name: item[()] for name, item in file.items()}, dict(file.attrs)

    def write_csv(self, numbers, name="motion.csv", head=""):
        np.savetxt(self.folder / name, numbers, delimiter=",", fmt="%.9f", header=head, comments="")
        return self.folder / name

    def write_npz(self, save=np.savez, **changed):
        arrays = {"fps": [50], **ROBOT.arrays(poses(), 50), **changed}
        save(self.folder / "motion.npz", **{name: array for name, array in arrays.items() if array is not None})
        return self.folder / "motion.npz"

    def expect_arrays(self, found, qpos, rate, tolerance=1e-5):
        for name, expected in ROBOT.arrays(qpos, rate).items():
            self.assertEqual(found[name].dtype, np.float32)
            np.testing.assert_allclose(found[name], expected, rtol=tolerance, atol=tolerance, err_msg=name)


class Conversion(Folder):
    def test_poses_velocities_and_bodies_are_those_of_mujoco(self):
        qpos = poses()
        found, attributes = self.convert(self.write_csv(columns(qpos)), "--fps", 50)
        self.expect_arrays(found, qpos, 50)
        self.assertEqual(attributes["joint_names"].split("\n"), ROBOT.joints)
        self.assertEqual(attributes["body_names"].split("\n"), ROBOT.bodies)
        self.assertEqual((attributes["fps"], attributes["motion_names"]), (50, "motion"))

    def test_csv_of_windows(self):
        """Editors of Windows write a mark at the beginning, and another end of lines."""
        names = ",".join([*ROOT, *ROBOT.joints])
        path = self.write_csv(columns(poses()), head=names)
        expected, _ = self.convert(path)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        found, _ = self.convert(path)
        for name in ARRAYS:
            np.testing.assert_array_equal(found[name], expected[name])

    def test_frames_are_interpolated(self):
        # On a straight line and about one axis, both at constant speed, interpolation is exact: 31 frames at 30 per
        # second take 1 s, of which mjlab keeps the times 0, 0.02, ..., 0.98 s.
        frames = lambda rate, count: np.arange(count)[:, None] / rate
        def moving(t):
            qpos = np.zeros((len(t), ROBOT.model.nq))
            qpos[:, :3], qpos[:, 7:] = [0, 0, 0.8] + t * [0.5, -0.2, 0.1], 0.3 * t
            qpos[:, 3:7] = np.hstack([np.cos(0.7 * t), np.sin(0.7 * t) * [0.6, 0, 0.8]])
            return qpos
        found, _ = self.convert(self.write_csv(columns(moving(frames(30, 31)))))
        self.expect_arrays(found, moving(frames(50, 50)), 50)

    def test_mjlabs_files_give_the_same_arrays(self):
        found, _ = self.convert(self.write_npz())
        self.expect_arrays(found, poses(), 50)

    def test_mjlabs_files_may_hold_single_precision(self):
        arrays = ROBOT.arrays(poses(), 50)
        found, _ = self.convert(self.write_npz(**{name: array.astype(np.float32) for name, array in arrays.items()}))
        self.expect_arrays(found, poses(), 50, 2e-4)

    def test_columns_may_have_names_and_another_order(self):
        qpos, names = poses(), ROOT + ROBOT.joints[:3]
        qpos[:, 7 + 3:] = 0  # joints that the file lacks
        found, _ = self.convert(self.write_csv(columns(qpos)[:, :10][:, ::-1], head=",".join(names[::-1])), "--fps", 50)
        self.expect_arrays(found, qpos, 50)

    def test_a_file_holds_many_motions(self):
        first, second = poses(30, 1), poses(20, 2)
        found, attributes = self.convert(self.write_csv(columns(first), "a.csv"), self.write_csv(columns(second), "b.csv"),
                                         "--fps", 50)
        self.assertEqual(attributes["motion_names"].split("\n"), ["a", "b"])
        self.assertEqual(found["motion_starts"].tolist(), [0, 30])
        self.expect_arrays({name: array[:30] for name, array in found.items()}, first, 50)
        self.expect_arrays({name: array[30:] for name, array in found.items()}, second, 50)


class Orders(Folder):
    # The model's order is depth first: pelvis, thigh, shank, torso, arm. Breadth first, the torso precedes the shank.
    JOINTS, BODIES = [0, 2, 1, 3], [0, 1, 3, 2, 4]

    def reordered(self, joints, bodies, **more):
        arrays = ROBOT.arrays(poses(), 50)
        return self.write_npz(**{name: array[:, joints if name.startswith("joint") else bodies].copy(order="C")
                                 for name, array in arrays.items()}, **more)

    def expect_read(self, path, *words):
        result = self.run_program(path)
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in words:
            self.assertIn(word, result.stdout)
        with h5py.File(self.output) as file:
            self.expect_arrays({name: item[()] for name, item in file.items()}, poses(), 50)

    def test_breadth_first_is_recognised(self):
        self.expect_read(self.reordered(self.JOINTS, self.BODIES), "breadth first")

    def test_names_give_the_order(self):
        joints, bodies = [3, 1, 0, 2], [4, 0, 2, 1, 3]
        names = lambda all, order: np.array([all[k] for k in order])
        path = self.reordered(joints, bodies, joint_names=names(ROBOT.joints, joints),
                              body_names=names(ROBOT.bodies, bodies))
        self.expect_read(path, "names")

    def test_further_bodies_may_have_names(self):
        arrays = ROBOT.arrays(poses(), 50)
        world = {name: np.insert(arrays[name], 0, 0, axis=1) for name in ARRAYS if name.startswith("body")}
        self.expect_read(self.write_npz(**world, body_names=["world", *ROBOT.bodies]))


class Refusal(Folder):
    def refuse(self, *words, mentions=()):
        result = self.run_program(*words)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("error"), 1, result.stderr)
        for text in mentions:
            self.assertIn(text, result.stderr)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("motion.h5")], "was written")

    def refuse_csv(self, change, mentions, head=""):
        numbers = columns(poses())
        numbers = change(numbers) if change else numbers
        self.refuse(self.write_csv(numbers, head=head), mentions=["motion.csv", *mentions])

    def changed(self, row, column, value):
        def change(numbers):
            numbers[row, column] = value
            return numbers
        return change

    def test_files_that_are_no_motions(self):
        (self.folder / "empty.csv").touch(), (self.folder / "empty.npz").touch()
        (self.folder / "binary.csv").write_bytes(os.urandom(64) + b"\0")
        (self.folder / "text.npz").write_text("1,2,3\n" * 40)
        (self.folder / "walk.bvh").write_text("HIERARCHY")
        (self.folder / "wide.csv").write_text("1,2,3", encoding="utf-16")
        (self.folder / "huge.csv").touch(), os.truncate(self.folder / "huge.csv", 1 << 40)
        (self.folder / "folder.npz").mkdir()
        for name, text in (("huge.csv", "1.00 TiB"), ("folder.npz", "directory"), ("empty.csv", "empty"), ("empty.npz", "empty"), ("binary.csv", "zero bytes"), ("wide.csv", "UTF-16"),
                           ("text.npz", "zip"), ("walk.bvh", ".csv nor .npz"), ("missing.csv", "No such file")):
            self.refuse(self.folder / name, mentions=[name, text])

    def test_damaged_archives(self):
        whole = self.write_npz().read_bytes()
        for size in (10, len(whole) // 2, len(whole) - 30):
            (self.folder / "cut.npz").write_bytes(whole[:size])
            self.refuse(self.folder / "cut.npz", mentions=["cut.npz"])
        random = np.random.default_rng(0)
        for _ in range(40):  # any byte of the directory or of a header may be wrong: no crash, and nothing half-written
            mutant = bytearray(whole)
            for at in random.integers(len(whole) - 700, len(whole), 3):
                mutant[at] = random.integers(256)
            (self.folder / "mutant.npz").write_bytes(mutant)
            result = self.run_program(self.folder / "mutant.npz")
            self.assertIn(result.returncode, (0, 2), result.stderr)
            self.output.unlink(missing_ok=True)

    def test_numbers_that_are_not_finite_or_huge(self):
        self.refuse_csv(self.changed(3, 9, np.nan), ["nan", "line 4", ROBOT.joints[2]])
        self.refuse_csv(self.changed(5, 0, np.inf), ["inf", "line 6", "root_x"])
        self.refuse_csv(self.changed(5, 8, 1e9), ["1000000000", "line 6", ROBOT.joints[1]])
        self.refuse(self.write_npz(joint_pos=np.full((40, 4), np.nan)), mentions=["nan", "frame 0"])

    def test_quaternions_in_another_order(self):
        self.refuse_csv(self.changed(2, slice(3, 7), [0.1, 0.2, 0.1, 0.3]), ["line 3", "orientation"])

    # A hip at 0.2 +- 0.1 rad, and a robot whose lowest point, the shank's, is near the floor.
    def standing(self, frames=40):
        qpos = np.zeros((frames, ROBOT.model.nq))
        t = np.linspace(0, 2 * np.pi, frames)
        qpos[:, 3], qpos[:, 7] = 1, 0.2 + 0.1 * np.sin(t)
        qpos[:, 2] = 0.1 + 0.4 * np.cos(qpos[:, 7]) + 0.05
        return qpos

    def test_standing_is_no_nonsense(self):
        result = self.run_program(self.write_csv(columns(self.standing())))
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_units_and_orders_that_cannot_be_meant(self):
        def refuse(change, *mentions):
            numbers = columns(self.standing())
            change(numbers)
            self.refuse(self.write_csv(numbers), mentions=["motion", *mentions])
        def degrees(numbers):
            numbers[:, 7:] *= 180 / np.pi
        def centimetres(numbers):
            numbers[:, :3] *= 100
        def w_first(numbers):
            numbers[:, 3:7] = np.roll(numbers[:, 3:7], 1, axis=1)
        def buried(numbers):
            numbers[:, 2] -= 3
        def other_joint(numbers):  # the knee has no range, and the hip's is -2 to 2
            numbers[:, 7] += 4
        refuse(degrees, "hip_joint", "frame 10", "-2 to 2", "40 of 40", "rad")  # 0.3 rad are 17.19 degrees
        refuse(degrees, "17.")
        refuse(centimetres, "above the floor", " m")
        refuse(w_first, "w, x, y, z", "root_qw")
        refuse(buried, "lowest point 3 m below the floor")
        refuse(other_joint, "hip_joint", "-2 to 2", "model's order")

    def test_jumps_are_one_warning(self):
        qpos = self.standing()
        qpos[20:, 0] += 5
        result = self.run_program(self.write_csv(columns(qpos)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("warning: "), 1, result.stderr)
        for text in ("150 m/s", "frame 19", "1 frame"):  # 5 m in 1/30 s
            self.assertIn(text, result.stderr)

    def test_names_and_orders_of_npz_files(self):
        names = ROBOT.joints[:3] + ["shoulder_jont"]
        self.refuse(self.write_npz(joint_names=names), mentions=["joint_names", "shoulder_joint", "'shoulder_jont'"])
        self.refuse(self.write_npz(joint_names=names[:3]), mentions=["joint_names", "3 names", "4"])
        self.refuse(self.write_npz(joint_names=np.arange(4)), mentions=["joint_names", "str"])
        turns = ROBOT.arrays(poses(), 50)["body_quat_w"]
        self.refuse(self.write_npz(body_quat_w=np.roll(turns, -1, axis=-1).copy()), mentions=["x, y, z, w", "body_quat_w"])

    def test_lines_that_are_no_frames(self):
        path = self.write_csv(columns(poses()))
        lines = path.read_text().splitlines()
        for broken, mention in ((lines[5][:-20], "line 6"), (lines[5].replace("0.", "zero", 1), "zero")):
            path.write_text("\n".join(lines[:5] + [broken] + lines[6:]))
            self.refuse(path, mentions=[mention])
        path.write_text(lines[0])
        self.refuse(path, mentions=["1 frame"])

    def test_motions_of_other_robots(self):
        self.refuse_csv(lambda numbers: numbers[:, :10], ["10 columns", "11"])
        self.refuse(self.write_npz(joint_pos=np.zeros((40, 3))), mentions=["(40, 3)", "4 joints"])
        self.refuse(self.write_npz(body_pos_w=np.zeros((40, 4, 3))), mentions=["(40, 4, 3)", "bodies: 5"])
        moved = ROBOT.arrays(poses(), 50)["body_pos_w"]
        moved[:, 2] += [0, 0.05, 0]  # a longer leg
        self.refuse(self.write_npz(body_pos_w=moved), mentions=["shank", "0.05"])

    def test_names_that_the_robot_lacks(self):
        names = ROOT + ROBOT.joints
        self.refuse_csv(None, ["kne_joint", "'knee_joint'?"], ",".join(names).replace("knee_joint", "kne_joint"))
        self.refuse_csv(lambda numbers: np.delete(numbers, 6, axis=1), ["root_qw"], ",".join(names).replace("root_qw,", ""))
        self.refuse_csv(None, ["two columns", "hip_joint"], ",".join(names).replace("knee_joint", "hip_joint"))
        self.refuse(self.write_npz(joint_pos=None, joint_poses=np.zeros((40, 4))), mentions=["joint_pos", "joint_poses"])

    def test_compressed_archives(self):
        self.refuse(self.write_npz(np.savez_compressed), mentions=["savez_compressed"])


if __name__ == "__main__":
    unittest.main()
