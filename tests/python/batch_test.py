"""Tests drl.Batch against MuJoCo's own mujoco.batch, and its errors, cache, threads and copies.

    batch_test.py MODELS [ROBOT...]

MODELS is the directory of drl's models. Without robots, all tests run with small models; else only the comparison.
"""

import copy
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import drl
import mujoco
import numpy as np
from mujoco import batch as mujoco_batch

MODELS = pathlib.Path(sys.argv[1])
ROBOTS = sys.argv[2:]
NSIM = 37  # no multiple of the lanes
CART = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="cart" pos="0 0 .1">
      <joint name="slide" type="slide" axis="1 0 0" damping=".1" range="-1 1" limited="true"/>
      <geom name="box" type="box" size=".1 .1 .05" mass="1"/>
      <body name="pole" pos="0 0 .05">
        <joint name="hinge" axis="0 1 0" damping=".02" armature=".01" stiffness=".3"/>
        <inertial pos="0 .04 .2" mass=".1" diaginertia=".003 .003 .001"/>
        <geom name="rod" type="capsule" fromto="0 0 0 0 .1 .5" size=".02" mass=".1" friction=".7 .1 .1"/>
        <site name="tip" pos="0 0 .5" euler="10 20 30"/>
      </body>
    </body>
    <body name="ball" pos="1 0 1"><freejoint name="free"/><geom name="ball" size=".1"/></body>
  </worldbody>
  <actuator>
    <motor name="push" joint="slide" gear="5"/>
    <position name="servo" joint="hinge" kp="5" kv=".3" forcerange="-3 3"/>
    <general name="filter" joint="hinge" dyntype="filter" dynprm="0.02"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="hinge"/>
    <accelerometer name="imu" site="tip"/>
  </sensor>
  <keyframe>
    <key qpos="0.3 0.5 0 0 2 1 0 0 0" ctrl="0.1 0.2 0.3" act="0.2"/>
    <key qpos="-0.3 0.1 0 1 2 1 0 0 0" ctrl="0 0 0" act="0.1"/>
  </keyframe>
</mujoco>
"""
PENDULUM = """
<mujoco>
  <worldbody><body><joint axis="0 1 0"/><geom size=".1" pos="0 0 .5" mass="1"/></body></worldbody>
</mujoco>
"""


def cart():
    return mujoco.MjModel.from_xml_string(CART)


def converged(model):
    """Returns a copy of a model whose solver runs to convergence, as that of lanes does."""
    model = copy.copy(model)
    model.opt.solver, model.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 1e-26
    model.opt.iterations, model.opt.ls_iterations = 100, 50
    return model


def draw_controls(random, model, shape):
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1, 1]).T
    return random.uniform(low, high, (*shape, model.nu))


def differences(ours, theirs, fields):
    """Returns the largest difference of each simulation in each field, relative to the field's largest value there."""
    errors = {}
    for name in fields:
        x, y = np.asarray(ours.bind(name), float), np.asarray(theirs.bind(name), float)
        if x.size:
            x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
            errors[name] = np.abs(x - y).max(1) / (1 + np.abs(y).max(1))
    return errors


def compare(test, model, dtype, steps, nsim=NSIM, forces=None):
    """Steps both batches from the same states, again and again, along the motion of ours."""
    ours, theirs = drl.Batch(model, nsim, dtype=dtype), mujoco_batch.Batch(converged(model), nsim)
    random, states = np.random.default_rng(0), list(drl.batch.STATE_FIELDS)
    # MuJoCo computes cfrc_ext, like some others, only for sensors.
    fields = sorted(drl.batch.DATA_FIELDS - {"cfrc_ext", "subtree_com", "xfrc_applied"})
    for name in fields:
        ours.bind(name), theirs.bind(name)
    worst, all_errors = 0, {name: [] for name in fields}
    for k in range(steps):
        if k % 200 == 0:
            ours.reset()
            if forces is not None:
                ours.xfrc_applied, theirs.xfrc_applied = forces, forces
        ours.ctrl = draw_controls(random, model, (nsim,))
        for name in states:
            theirs.bind(name)[...] = ours.bind(name)
        call = "forward" if k % 50 == 49 else "step"
        getattr(ours, call)(), getattr(theirs, call)()
        for name, errors in differences(ours, theirs, fields).items():
            all_errors[name].append(errors)
    for name, errors in all_errors.items():
        if errors:
            errors = np.concatenate(errors)
            with test.subTest(name):
                if dtype == np.float64:
                    test.assertLess(errors.max(), 1e-9)
                else:  # errors of forces are those of accelerations, of which the largest are far larger than forces
                    forces = name in ("qfrc_constraint", "sensordata")
                    test.assertLess(np.quantile(errors, 0.99), 1e-2 if forces else 1e-3)
    test.assertEqual(ours.warning[:, :, 1].sum(), 0)


class AgainstMujoco(unittest.TestCase):
    def test_robots(self):
        for name in ROBOTS or ["half_cheetah"]:
            model = mujoco.MjModel.from_xml_path(str(MODELS / f"{name}.xml"))
            for dtype in (np.float64, np.float32):
                with self.subTest(name, dtype=dtype.__name__):
                    compare(self, model, dtype, steps=1000 if ROBOTS else 400)


@unittest.skipIf(ROBOTS, "only robots are compared")
class BatchTest(unittest.TestCase):
    def test_every_field_of_a_small_model(self):
        compare(self, cart(), np.float64, steps=400)

    def test_applied_forces(self):
        forces = np.zeros((NSIM, 4, 6))
        forces[:, 1:] = np.random.default_rng(1).uniform(-1, 1, (NSIM, 3, 6))
        compare(self, cart(), np.float64, steps=100, forces=forces)
        batch = drl.Batch(cart(), 3)
        batch.xfrc_applied[1, 0, 2] = 1
        with self.assertRaisesRegex(ValueError, "xfrc_applied of body 0 .* simulation 1"):
            batch.step()

    def test_height_fields(self):
        heights = " ".join(f"{x:.2f}" for x in np.random.default_rng(5).uniform(0, 1, 36))
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><asset><hfield name="hills" nrow="6" ncol="6" size="2 2 .5 .1" elevation="{heights}"/></asset>'
            '<worldbody><geom type="hfield" hfield="hills"/><body pos=".1 .2 .5"><freejoint/><geom size=".2"/></body>'
            "</worldbody></mujoco>")
        compare(self, model, np.float64, steps=300)

    def test_a_model_may_be_a_path_a_spec_or_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "my cart.xml"
            path.write_text(CART)
            batches = [drl.Batch(model, 3) for model in (path, str(path), mujoco.MjSpec.from_string(CART), cart())]
        for batch in batches:
            batch.step(nstep=5)
            np.testing.assert_array_equal(batch.qpos, batches[0].qpos)

    def test_views_are_live(self):
        batch = drl.Batch(cart(), NSIM)
        model, qpos, xpos, xmat = batch.model, batch.bind("qpos"), batch.bind("xpos"), batch.bind("geom_xmat")
        self.assertEqual(batch.bind("time").shape, (NSIM,))
        self.assertEqual(qpos.shape, (NSIM, model.nq))
        self.assertEqual(xpos.shape, (NSIM, model.nbody, 3))
        self.assertIs(batch.qpos, qpos)
        qpos[:, 0] = np.linspace(-0.5, 0.5, NSIM)
        batch.forward()
        np.testing.assert_array_equal(xpos[:, 1, 0], qpos[:, 0])
        with self.assertRaises(ValueError):
            xpos[0, 0, 0] = 1
        with self.assertRaises(ValueError):
            xmat[0, 0, 0] = 1
        expected = qpos.copy()
        del batch
        np.testing.assert_array_equal(qpos, expected)

    def test_named_views(self):
        model, batch = cart(), drl.Batch(cart(), 5, dtype=np.float64)
        batch.reset(keyframe=0)
        batch.joint("hinge").qpos = np.arange(5).reshape(5, 1) * 0.1
        batch.actuator("push").ctrl = 0.5
        elements = [("joint", "hinge", "qpos"), ("joint", "free", "qvel"), ("joint", "free", "qpos"),
                    ("body", "pole", "xpos"), ("site", "tip", "xmat"), ("sensor", "imu", "data"),
                    ("actuator", "servo", "force")]
        views = [getattr(getattr(batch, kind)(key), attribute) for kind, key, attribute in elements]
        batch.forward()
        for sim in range(5):
            data = batch.get_data(sim)
            mujoco.mj_forward(model, data)
            for (kind, key, attribute), view in zip(elements, views):
                expected = getattr(getattr(data, kind)(key), attribute)
                np.testing.assert_allclose(view[sim], expected, rtol=1e-9, atol=1e-9, err_msg=f"{key} {attribute}")
        np.testing.assert_array_equal(batch.body("pole").mass, np.full((5, 1), model.body("pole").mass))
        self.assertEqual(batch.joint("hinge").id, 1)

    def test_sensors_that_lanes_lack(self):
        batch = drl.Batch(mujoco.MjModel.from_xml_string(
            '<mujoco><worldbody><camera name="eye" pos="0 0 2" resolution="10 10"/><body><joint name="hinge"/>'
            '<geom size=".1"/><site name="here"/></body></worldbody><sensor><jointpos name="angle" joint="hinge"/>'
            '<camprojection name="seen" site="here" camera="eye"/></sensor></mujoco>'), 3)
        batch.qpos = 0.5
        batch.bind("sensordata")
        batch.forward()
        np.testing.assert_array_equal(batch.sensor("angle").data, np.full((3, 1), 0.5))
        self.assertTrue(np.isnan(batch.sensordata[:, 1:]).all())
        with self.assertRaisesRegex(ValueError, "'seen'.*engine"):
            batch.sensor("seen").data

    def test_reset_and_ids(self):
        batch = drl.Batch(cart(), NSIM)
        batch.step(nstep=7)
        before = batch.state.copy()
        batch.step([3, 20, 36], nstep=2)
        batch.reset([0, 5], keyframe=[1, -1])
        same = np.setdiff1d(np.arange(NSIM), [0, 3, 5, 20, 36])
        np.testing.assert_array_equal(batch.state[same], before[same])
        np.testing.assert_allclose(batch.qpos[0], cart().key_qpos[1], rtol=1e-6)
        np.testing.assert_allclose(batch.act[0], cart().key_act[1], rtol=1e-6)
        np.testing.assert_allclose(batch.qpos[5], cart().qpos0, rtol=1e-6)
        self.assertAlmostEqual(batch.time[3] / batch.time[1], 9 / 7, places=5)
        batch.step(np.arange(NSIM) == 1)
        self.assertAlmostEqual(batch.time[1] / batch.time[2], 8 / 7, places=5)
        batch.step([])

    def test_results_depend_only_on_a_simulations_own_state(self):
        states = {}
        for nsim, nthread in ((64, 1), (64, 2), (64, 5), (23, 2), (1, 1)):
            random, batch = np.random.default_rng(2), drl.Batch(MODELS / "half_cheetah.xml", nsim, nthread)
            self.assertEqual(batch.nthread, nthread)
            for _ in range(50):
                batch.ctrl = draw_controls(random, batch.model, (64,))[:nsim]
                batch.step(nstep=2)
            states[nsim, nthread] = batch.state.copy()
        for (nsim, _), state in states.items():
            np.testing.assert_array_equal(state, states[64, 1][:nsim])

    def test_rollout(self):
        model, random = cart(), np.random.default_rng(3)
        control, ids = draw_controls(random, model, (3, 6)), np.array([0, 2, 20])
        batch, other = drl.Batch(model, NSIM), drl.Batch(model, NSIM)
        recorded = batch.rollout(6, control, record=("qpos", "sensordata", "xmat"), ids=ids)
        self.assertEqual(recorded["xmat"].shape, (3, 6, model.nbody, 9))
        other.bind("sensordata")
        for k in range(6):
            other.ctrl[ids] = control[:, k]
            other.step(ids)
            np.testing.assert_array_equal(recorded["qpos"][:, k], other.qpos[ids])
            np.testing.assert_array_equal(recorded["sensordata"][:, k], other.sensordata[ids])
        self.assertEqual(batch.time[1], 0)
        with self.assertRaisesRegex(ValueError, "out.*qpos"):
            batch.rollout(2, out={"qpos": np.zeros((1, 2, 3))})

    def test_diverged_simulations_are_reset_and_counted(self):
        batch, fresh = drl.Batch(cart(), NSIM), drl.Batch(cart(), 1)
        batch.step(nstep=3)
        batch.qvel[4, 0], batch.qpos[20, 1], batch.ctrl[7, 0] = np.inf, np.nan, 1e30
        batch.step(nstep=2), fresh.step(nstep=2)
        kinds = {4: mujoco.mjtWarning.mjWARN_BADQVEL, 20: mujoco.mjtWarning.mjWARN_BADQPOS,
                 7: mujoco.mjtWarning.mjWARN_BADQACC}
        for sim, kind in kinds.items():
            self.assertEqual(batch.warning[sim, kind, 1], 1)
            np.testing.assert_array_equal(batch.state[sim], fresh.state[0])
            self.assertIn("reset", batch.error(sim))
        self.assertEqual(batch.warning[:, :, 1].sum(), 3)
        self.assertEqual(set(np.flatnonzero(batch.status)), set(kinds))
        self.assertEqual(batch.error(0), "")
        self.assertTrue(np.isfinite(batch.state).all())
        batch.qvel[4, 0] = np.inf
        time = batch.rollout(4, record=("time",), ids=[3, 4])["time"]
        self.assertTrue((np.diff(time[0]) > 0).all())
        self.assertTrue((np.diff(time[1]) == 0).all())
        self.assertEqual(batch.unsolved.shape, (NSIM,))
        batch.expand("opt.gravity")[5, 2] = -1e38
        with self.assertRaisesRegex(drl.SimulationError, r"1 simulations failed \(5\)"):
            batch.step(nstep=20)

    def test_jacobians_and_rays(self):
        ours, theirs = drl.Batch(cart(), 6, dtype=np.float64), mujoco_batch.Batch(cart(), 6)
        for batch in (ours, theirs):
            batch.bind("qpos")[:, :2] = np.linspace(-0.5, 0.5, 12).reshape(6, 2)
        bodies, point = np.array([1, 2, 3, 2, 1, 2]), np.random.default_rng(6).uniform(-1, 1, (6, 3))
        ours_found = [*ours.jac(bodies, point), *ours.jac(2, point[:2], ids=[1, 4])]
        theirs_found = [*theirs.jac(bodies, point), *theirs.jac(2, point[:2], ids=[1, 4])]
        start = np.array([[0, -1, 0.1], [0.2, -1, 0.12], [0, 0, 3]])
        along = np.array([[0, 1, 0], [0, 1, 0], [0, 0, -1]])
        ours_found += [*ours.ray(start, along, normal=True, bodyexclude=[1, -1, 2]),
                       *ours.ray(start[0], along[0], ids=[2])]
        theirs_found += [*theirs.ray(start, along, normal=True, bodyexclude=[1, -1, 2]),
                         *theirs.ray(start[0], along[0], ids=[2])]
        for found, expected in zip(ours_found, theirs_found):
            np.testing.assert_array_equal(found, expected)
        self.assertTrue((ours.ray(start, along)[1] >= 0).any())
        with self.assertRaisesRegex(ValueError, r"body must be in \[0, 4\), got 4"):
            ours.jac(4, point)

    def test_expanded_fields(self):
        random, model = np.random.default_rng(4), cart()
        ours, theirs = drl.Batch(model, NSIM, dtype=np.float64), mujoco_batch.Batch(converged(model), NSIM)
        pole, servo = model.body("pole").id, model.actuator("servo").id
        draw = lambda low, high: random.uniform(low, high, NSIM)
        mass, gain, damping, friction, gravity = draw(0.5, 2), draw(0.5, 2), draw(0, 3), draw(0.3, 1), draw(-12, -8)
        shift, limit = draw(-0.05, 0.05), draw(0.2, 1)
        inertia, armature, stiffness = draw(0.5, 2), draw(0.5, 2), draw(0.5, 2)
        for batch in (ours, theirs):
            batch.expand("body_mass")[:, pole] *= mass
            batch.expand("body_inertia")[:, pole] *= inertia[:, None]
            batch.expand("body_mass")[:, 1] *= inertia  # without its inertia
            batch.expand("body_ipos")[:, pole, 2] += shift
            batch.expand("actuator_gainprm")[:, servo, 0] *= gain
            batch.expand("actuator_biasprm")[:, servo, 1] *= gain
            batch.expand("actuator_forcerange")[:, servo] *= limit[:, None]
            batch.expand("dof_damping")[:, :2] *= damping[:, None]
            batch.expand("dof_armature")[:, 1] *= armature
            batch.joint("hinge").stiffness = batch.joint("hinge").stiffness * stiffness[:, None]
            batch.expand("geom_friction")[:, :, 0] = friction[:, None]
            batch.expand("opt.gravity")[:, 2] = gravity
            batch.expand("jnt_range")[:, 0] = np.stack([-limit, 0.5 * limit], 1)
            batch.reset(keyframe=1)
            batch.set_const()
        fields = ("qpos", "qvel", "sensordata", "qacc", "actuator_force")
        for name in fields:
            ours.bind(name), theirs.bind(name)
        for k in range(300):
            ours.ctrl = draw_controls(random, model, (NSIM,))
            for name in drl.batch.STATE_FIELDS:
                theirs.bind(name)[...] = ours.bind(name)
            ours.step(), theirs.step()
            for name, errors in differences(ours, theirs, fields).items():
                self.assertLess(errors.max(), 1e-9, f"{name}, step {k}")
        self.assertEqual(ours.get_model(3).body_mass[pole], theirs.get_model(3).body_mass[pole])
        np.testing.assert_allclose(ours.get_model(3).dof_invweight0, theirs.get_model(3).dof_invweight0, rtol=1e-12)
        self.assertIsNone(ours.expanded("site_pos"))

    def test_sizes_of_geoms(self):
        model = mujoco.MjModel.from_xml_string(
            '<mujoco><worldbody><geom type="plane" size="2 2 .1"/>'
            '<body pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".1 .08 .1"/></body>'
            '<body pos=".26 0 .1"><freejoint/><geom name="ball" size=".1"/></body>'
            '<body pos="-.3 0 .1"><freejoint/><geom name="rod" type="capsule" size=".05 .12" euler="90 0 0"/></body>'
            "</worldbody></mujoco>")
        reference = converged(model)
        reference.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE  # whose bounds are those of the file
        ours, theirs = drl.Batch(model, NSIM, dtype=np.float64), mujoco_batch.Batch(reference, NSIM)
        box, ball, rod = (model.geom(name).id for name in ("box", "ball", "rod"))
        factors = np.random.default_rng(7).uniform(0.7, 1.45, (4, NSIM))
        for batch in (ours, theirs):
            size = batch.expand("geom_size")
            size[:, box] *= factors[0][:, None]
            size[:, ball, 0] *= factors[1]
            size[:, rod, 0] *= factors[2] * np.minimum(factors[3], 1)
            size[:, rod, 1] *= factors[3]
        bounds, size = theirs.expand("geom_rbound"), theirs.expand("geom_size")
        bounds[:, box], bounds[:, ball] = np.linalg.norm(size[:, box], axis=1), size[:, ball, 0]
        bounds[:, rod] = size[:, rod, 0] + size[:, rod, 1]
        theirs.set_const()  # which refits MuJoCo's bounding volumes
        for k in range(200):
            for name in drl.batch.STATE_FIELDS:
                theirs.bind(name)[...] = ours.bind(name)
            ours.step(), theirs.step()
            for name, errors in differences(ours, theirs, ("qpos", "qvel", "qacc_warmstart")).items():
                self.assertLess(errors.max(), 1e-9, f"{name}, step {k}")
        ours.expand("geom_size")[2, ball] *= 2.2
        with self.assertRaisesRegex(ValueError, "geom_size.*simulation 2.*1.5"):
            ours.step()

    def test_values_that_lanes_cannot_change(self):
        batch = drl.Batch(cart(), 3)
        batch.expand("body_inertia")[1, 2] *= 2
        batch.step()
        batch.expand("body_inertia")[1, 2, 0] *= 2
        with self.assertRaisesRegex(ValueError, r"body_inertia\[2, 0\].*simulation 1.*one factor"):
            batch.step()
        batch.expand("body_inertia")[1, 2, 1:] *= 2
        batch.step()
        batch.expand("actuator_forcerange")[:, 0] = [-7, 7]  # without effect
        batch.step()
        batch.expand("body_mass")[2, 2] = 0
        with self.assertRaisesRegex(drl.SimulationError, r"\(2\).*mass"):
            batch.set_const()
        batch.expand("body_mass")[2, 2] = 1
        batch.expand("dof_damping")[2, 3] = 0.1  # of the free joint
        with self.assertRaisesRegex(ValueError, r"dof_damping\[3\] is 0.1 in simulation 2"):
            batch.step()

    def test_copies(self):
        batch = drl.Batch(cart(), NSIM)
        batch.step(nstep=3)
        batch.qpos[:, 0] = 1.1  # beyond its limit, whose force depends on what set_const() computes
        plain = pickle.loads(pickle.dumps(batch))
        batch.expand("opt.gravity")[:, 2] = -5
        batch.expand("body_mass")[:, 1] *= 2
        batch.set_const()
        batch.xfrc_applied[:, 1, 0] = 1
        changed = copy.deepcopy(batch)
        for each in (plain, changed):
            np.testing.assert_array_equal(each.state, batch.state)
        changed.step(), batch.step()
        np.testing.assert_array_equal(changed.state, batch.state)

    def test_a_child_process_steps_on_after_a_fork(self):
        batch = drl.Batch(cart(), NSIM, nthread=2)
        batch.step()
        receive, send = multiprocessing.Pipe(duplex=False)
        if (child := os.fork()) == 0:
            batch.step()
            send.send(batch.state.copy())
            del batch
            os._exit(0)
        batch.step()
        np.testing.assert_array_equal(receive.recv(), batch.state)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_ctrl_c_ends_a_call(self):
        batch = drl.Batch(cart(), 4096, nthread=2)
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            batch.step(nstep=100_000)
        timer.join()
        self.assertTrue((batch.time == 0).any())
        batch.reset()
        batch.step()
        np.testing.assert_allclose(batch.time, batch.model.opt.timestep)

    def test_engine_mujoco(self):
        batch = drl.Batch(cart(), 4, engine="mujoco")
        batch.bind("ctrl")[:] = 0.5
        batch.step(nstep=3)
        self.assertEqual(batch.bind("qpos").shape, (4, 9))
        self.assertIsInstance(batch, mujoco_batch.Batch)

    def test_bad_input(self):
        batch = drl.Batch(cart(), 8)
        cases = [
            (lambda: batch.bind("qpso"), "did you mean 'qpos'"),
            (lambda: batch.bind("body_mass"), r"expand\('body_mass'\)"),
            (lambda: batch.bind("timestep"), r"expand\('opt.timestep'\)"),
            (lambda: batch.bind("qfrc_applied"), "motors.*engine"),
            (lambda: batch.bind("efc_force"), "arena"),
            (lambda: batch.expand("xpos"), r"bind\('xpos'\)"),
            (lambda: batch.expand("body_mas"), "did you mean 'body_mass'"),
            (lambda: batch.expand("mesh_vert"), "asset"),
            (lambda: batch.rollout(1, record=("qpso",)), "did you mean 'qpos'"),
            (lambda: batch.joint("hinge").qpso, "did you mean 'qpos'"),
            (lambda: batch.body("leg"), "leg"),
            (lambda: batch.step([0, 8]), r"\[0, 8\), got 8"),
            (lambda: batch.step([2, 1]), "2 before 1"),
            (lambda: batch.step([0.5]), "float"),
            (lambda: batch.step(np.ones(9, bool)), r"\(8,\)"),
            (lambda: batch.step(nstep=0), "nstep is 0"),
            (lambda: batch.reset(keyframe=2), r"keyframe.*\[-1, 2\), got 2"),
            (lambda: batch.get_data(8), "got 8"),
            (lambda: setattr(batch, "xpos", 0), "computed"),
            (lambda: setattr(batch, "qpos", np.zeros((8, 3))), "broadcast"),
            (lambda: batch.body_mass, r"expand\('body_mass'\)"),
            (lambda: drl.Batch("missing.xml", 1), "missing.xml"),
            (lambda: drl.Batch(cart(), 0), "nsim is 0"),
            (lambda: drl.Batch(cart(), 1.5), "nsim is 1.5"),
            (lambda: drl.Batch(cart(), 1, -1), "nthread is -1"),
            (lambda: drl.Batch(cart(), 1, dtype=np.int32), "int32"),
            (lambda: drl.Batch(cart(), 1, engine="warp"), "'warp'.*lanes"),
            (lambda: drl.Batch(5, 1), "int.*path"),
        ]
        for call, message in cases:
            with self.subTest(message):
                errors = (ValueError, TypeError, IndexError, KeyError, AttributeError, OSError)
                with self.assertRaisesRegex(errors, message):
                    call()

    def test_a_model_that_lanes_refuse(self):
        model = mujoco.MjModel.from_xml_string(
            '<mujoco><worldbody><flexcomp name="cloth" type="grid" count="4 4 1" spacing=".1 .1 .1" radius=".01"/>'
            "</worldbody></mujoco>")
        with self.assertRaisesRegex(drl.UnsupportedModel, 'flex.*engine="mujoco"'):
            drl.Batch(model, 2)
        drl.Batch(model, 2, engine="mujoco").step()


@unittest.skipIf(ROBOTS, "only robots are compared")
class Cache(unittest.TestCase):
    SCRIPT = "import drl, sys; drl.Batch(sys.argv[1], 2).step()"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "pendulum.xml").write_text(PENDULUM)

    def start(self, **environment):
        return subprocess.Popen([sys.executable, "-c", self.SCRIPT, "pendulum.xml"], cwd=self.path, text=True,
                                stderr=subprocess.PIPE,
                                env={**os.environ, "DRL_CACHE": str(self.path / "cache"), **environment})

    def test_processes_that_start_at_once_compile_once(self):
        texts = [process.communicate()[1] for process in [self.start() for _ in range(3)]]
        self.assertEqual(sum("compiled pendulum.xml" in text for text in texts), 1, texts)
        self.assertEqual([file.suffix for file in (self.path / "cache").iterdir()], [".so"])
        process = self.start(CXX="/bin/false")
        self.assertEqual((process.communicate()[1], process.returncode), ("", 0))

    def test_content_decides_not_the_name(self):
        self.start().communicate()
        (self.path / "pendulum.xml").write_text(PENDULUM.replace('mass="1"', 'mass="1.5"'))
        self.assertIn("compiled", self.start().communicate()[1])
        self.assertEqual(len(list((self.path / "cache").glob("*.so"))), 2)

    def test_the_default_is_in_the_home_directory(self):
        environment = {"DRL_CACHE": "", "XDG_CACHE_HOME": "", "HOME": str(self.path / "home")}
        self.start(**environment).communicate()
        self.assertEqual(len(list((self.path / "home/.cache/drl").glob("*.so"))), 1)

    def test_the_cache_can_be_filled_for_other_cpus(self):
        environment = {**os.environ, "DRL_CACHE": str(self.path / "cache")}
        for march, status in (("x86-64-v2", 0), ("x86-64-v3", 0), ("x86-64-v9", 2)):
            command = [sys.executable, "-m", "drl", "pendulum.xml", "--march", march]
            result = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True,
                                    check=False)
            self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(len(list((self.path / "cache").glob("*.so"))), 2)
        missing = subprocess.run([sys.executable, "-m", "drl", "leg.xml"], cwd=self.path, env=environment,
                                 capture_output=True, text=True, check=False)
        self.assertEqual((missing.returncode, missing.stderr[:18]), (1, "error: the model l"))

    def test_without_a_compiler(self):
        process = self.start(CXX="/nowhere/g++ -O2")
        text = process.communicate()[1]
        self.assertIn("/nowhere/g++", text)
        self.assertIn("install", text)
        self.assertEqual(list((self.path / "cache").iterdir()), [])

    def test_a_compiler_that_fails(self):
        self.assertIn("false cannot compile pendulum.xml", self.start(CXX="/bin/false").communicate()[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
