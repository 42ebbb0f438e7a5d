"""Tests that our models of Unitree's robots equal mjlab's compiled models, as recorded by tests/robots/mjlab_record.py.

    mjlab_models_test.py MODELS RECORDINGS
"""

import json
import pathlib
import sys
import unittest

import mujoco
import numpy as np

RECORDINGS = pathlib.Path(sys.argv.pop())
MODELS = pathlib.Path(sys.argv.pop())


def ours_of(m, kind, name, field):
    """Returns the number that mjlab_record.model_fields records as `field` of the part `name`."""
    if kind == "opt":
        return getattr(m.opt, field)
    if kind == "exclude":
        pairs = [[m.body(s >> 16).name, m.body(s & 0xFFFF).name] for s in m.exclude_signature.tolist()]
        return sorted(sorted(pair) for pair in pairs)
    if kind == "actuator":
        k = next(k for k in range(m.nu) if m.joint(m.actuator_trnid[k, 0]).name == name)
        return getattr(m, f"actuator_{field}")[k][:3] if field.endswith("prm") else getattr(m, f"actuator_{field}")[k]
    k = getattr(m, kind)(name).id
    if kind == "joint" and field in ("armature", "damping", "frictionloss", "invweight0"):
        return getattr(m, f"dof_{field}")[m.jnt_dofadr[k]]
    return getattr(m, f"{'jnt' if kind == 'joint' else kind}_{field}")[k]


def colliding_pairs(m):
    """Returns the number of geom pairs that may collide if no pairs are excluded. Bodies must be different, and not
    parent and child."""
    weld, count = m.body_weldid, 0
    parent = [weld[m.body_parentid[weld[b]]] for b in range(m.nbody)]
    for a in range(m.ngeom):
        for b in range(a):
            x, y = m.geom_bodyid[a], m.geom_bodyid[b]
            may = m.geom_contype[a] & m.geom_conaffinity[b] or m.geom_contype[b] & m.geom_conaffinity[a]
            kin = weld[x] and weld[y] and (weld[x] == parent[y] or weld[y] == parent[x])
            count += bool(may and weld[x] != weld[y] and not kin)
    return count


class Models(unittest.TestCase):
    def compare(self, robot, pairs):
        if not (MODELS / f"unitree_{robot.lower()}").exists():
            self.skipTest("run tools/fetch_robots to download the robot")
        m = mujoco.MjModel.from_xml_path(str(MODELS / f"{robot.lower()}.xml"))
        recorded, differ = json.loads((RECORDINGS / f"{robot}_model.json").read_text()), {}
        for kind, parts in recorded.items():
            for name, fields in parts.items():
                for field, theirs in fields.items():
                    ours = ours_of(m, kind, name, field)
                    if not (ours == theirs if kind == "exclude" else np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)):
                        differ[kind, name, field] = (ours, theirs)
        self.assertEqual(differ, {})
        self.assertEqual({"body": m.nbody - 1, "joint": m.njnt, "actuator": m.nu, "site": m.nsite,
                          "geom": int(((m.geom_contype | m.geom_conaffinity) != 0).sum())},
                         {kind: len(recorded[kind]) for kind in ("body", "joint", "actuator", "site", "geom")})
        self.assertEqual(colliding_pairs(m), pairs)

    def test_go1_equals_the_recording(self):
        self.compare("Go1", 384)

    def test_g1_equals_the_recording(self):
        self.compare("G1", 506)


if __name__ == "__main__":
    unittest.main()
