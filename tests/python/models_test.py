"""Tests that our models of Gymnasium's robots are bit-identical to Gymnasium's own files once compiled, and move alike.

    models_test.py MODELS
"""

import pathlib
import sys
import unittest

import gymnasium
import mujoco
import numpy as np

OURS = pathlib.Path(sys.argv.pop())
THEIRS = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
MODELS = {
    "ant": "ant", "half_cheetah": "half_cheetah", "hopper": "hopper", "humanoid": "humanoid",
    "humanoid_standup": "humanoidstandup", "inverted_double_pendulum": "inverted_double_pendulum",
    "inverted_pendulum": "inverted_pendulum", "pusher": "pusher_v5", "reacher": "reacher", "swimmer": "swimmer",
    "walker2d": "walker2d_v5",
}

# Fields of mjModel that are not compared: names, rendering, notes for other programs, and sizes of memory. All others
# are compared.
NAMES = ("name", "paths", "nnames", "npaths", "text", "ntext", "tuple", "ntuple", "signature")
PICTURE = ("vis", "tex", "ntex", "mat_", "nmat", "light_", "nlight", "cam_", "ncam", "skin", "nskin")
PER_GEOM = tuple(f"{part}_{field}" for part in ("geom", "site", "tendon", "actuator", "body", "jnt", "sensor")
                 for field in ("rgba", "matid", "group", "user"))
NOTES = ("numeric", "nnumeric", "nuser_", "key_", "nkey")  # numbers for other programs, keyframes
MEMORY = ("nbuffer", "narena")
LEFT_OUT = NAMES + PICTURE + PER_GEOM + NOTES + MEMORY


def numbers(structure, left_out=()):
    """Returns every field of a MuJoCo structure that is a number or an array, by name."""
    fields = {name: getattr(structure, name) for name in dir(structure) if not name.startswith(("_", *left_out))}
    return {name: np.asarray(value) for name, value in fields.items() if isinstance(value, (int, float, np.ndarray))}


def physics(model):
    return numbers(model, LEFT_OUT) | {f"{part}.{name}": value for part in ("opt", "stat")
                                       for name, value in numbers(getattr(model, part)).items()}


def moved(model, steps=300):
    """Returns the state after steps with random controls, from small random velocities."""
    random, data = np.random.default_rng(3), mujoco.MjData(model)
    data.qvel[:] = random.uniform(-0.1, 0.1, model.nv)
    for _ in range(steps):
        data.ctrl[:] = random.uniform(-1, 1, model.nu)
        mujoco.mj_step(model, data)
    return data.qpos.tobytes() + data.qvel.tobytes()


class Models(unittest.TestCase):
    def test_every_model_is_compared(self):
        not_gymnasiums = {"scene", "humanoid_common", "go1", "go1_robot", "go1_rough", "g1", "g1_robot", "g1_rough",
                          "go2", "spot", "anymal_c", "h1", "berkeley_humanoid", "push_cube", "reorient"}
        self.assertEqual({file.stem for file in OURS.glob("*.xml")}, set(MODELS) | not_gymnasiums)

    def test_models_are_bit_identical(self):
        for ours, theirs in MODELS.items():
            with self.subTest(ours):
                ours = mujoco.MjModel.from_xml_path(str(OURS / f"{ours}.xml"))
                theirs = mujoco.MjModel.from_xml_path(str(THEIRS / f"{theirs}.xml"))
                found, wanted = physics(ours), physics(theirs)
                self.assertEqual(set(found), set(wanted))
                self.assertGreater(len(found), 400)
                differ = [name for name in wanted if (found[name].dtype, found[name].shape, found[name].tobytes())
                          != (wanted[name].dtype, wanted[name].shape, wanted[name].tobytes())]
                self.assertEqual({name: (found[name], wanted[name]) for name in differ}, {})
                self.assertEqual(moved(ours), moved(theirs))

    def test_all_parts_have_names(self):
        for name in MODELS:
            model = mujoco.MjModel.from_xml_path(str(OURS / f"{name}.xml"))
            counts = {"BODY": model.nbody, "JOINT": model.njnt, "GEOM": model.ngeom, "ACTUATOR": model.nu}
            for kind, count in counts.items():
                names = [mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), k) for k in range(count)]
                self.assertTrue(all(names), (name, kind, names))
            self.assertGreaterEqual(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "track"), 0, name)


if __name__ == "__main__":
    unittest.main()
