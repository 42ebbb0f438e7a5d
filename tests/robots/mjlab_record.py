#!/usr/bin/env python3
"""Records mjlab's velocity tasks, for tests/robots/mjlab_test.cpp and tests/python/mjlab_models_test.py.

    python3 -m venv mjlab && mjlab/bin/pip install mjlab==1.6.0
    mjlab/bin/python tests/robots/mjlab_record.py tests/robots/recordings [TASK...]

Writes a file per task, such as Go1-Velocity-Flat.txt, and for a task on flat ground a second one. Go1_model.json has the
fields of the compiled model that affect the physics, by name. TASK.txt has short episodes; its numbers are float32 with
7 digits. Its lines are:
    terms NAME...                          the names of the reward's terms
    ground SIZE... HEIGHT...               on rough ground: MuJoCo's hfield_size [4] and the heights [41, 41], from 0 to 1
    episode                                starts an episode of another environment
    bias ANGLE... / com X Y Z              encoder errors [nu], rad; offset of the centre of mass, m
    reset QPOS... QVEL...                  the initial state
    contacts FOUND... FORCE...             contacts in that state, of each foot with the ground and of the robot with
                                           itself (not Go1 on flat ground): whether there is a contact, and its force
                                           in N. On rough ground, Go1 also has the strongest contact with the ground of
                                           each thigh, of each of the two parts of a calf, and of trunk and head
    step ACTION...
    substep FOUND... FORCE...              contacts after each of the four time steps, computed at the time step's start
    targets ANGLE...                       target angles of the motors, rad
    before QPOS... QVEL...                 the state at the start of the last time step
    after QPOS... QVEL...                  the state at the end of the last time step
    rewards X...                           the reward's terms without weights
    ends FELL_OVER                         of Go1 on rough ground: whether a thigh touched the ground
    pushed QVEL...                         the velocities after a push, if there was one
    command X Y YAW                        the command during this step
    contacts FOUND... FORCE...             contacts in the state after the step
    critic X...                            the critic's observation in that state, which contains the next command
    heading TARGET                         the target heading in rad, if the command keeps a heading
    metrics LINEAR YAW ACC                 |command - velocity| in the plane and of the yaw, in the state after the
                                           step; mean second difference of the actions
Terms with weight 0 are computed too, although mjlab omits them. The contact sensors of the feet are read again for
observations; mjlab does this in every step in which any environment of the batch starts an episode.
"""

import json
import sys
from pathlib import Path

import mujoco
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp.metrics import mean_action_acc
from mjlab.tasks.registry import load_env_cfg
from mjlab.terrains import HfRandomUniformTerrainCfg, TerrainGeneratorCfg

assert mujoco.__version__.startswith("3.11")

TASKS = [f"{robot}-Velocity-{ground}" for ground in ("Flat", "Rough") for robot in ("Go1", "G1")]
STEPS = 14
GRID = 41  # points along each side of the ground


def plain(value):
    return np.asarray(value, dtype=float).tolist()


def model_fields(m):
    """Returns the fields that affect the physics: {kind: {name: {field: numbers}}}."""
    name = lambda kind, k: mujoco.mj_id2name(m, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), k).split("/")[-1]
    first = lambda value: np.atleast_1d(value).flat[0]  # the first coefficient; MuJoCo's higher ones are 0
    fields = {"opt": {"opt": {f: plain(getattr(m.opt, f)) for f in (
        "timestep", "impratio", "tolerance", "ls_tolerance", "iterations", "ls_iterations", "ccd_iterations",
        "integrator", "cone", "solver", "jacobian", "gravity", "disableflags", "enableflags")}}}
    fields["body"] = {name("BODY", k): {f: plain(getattr(m, f"body_{f}")[k]) for f in (
        "mass", "inertia", "pos", "quat", "ipos", "iquat", "subtreemass", "invweight0")} for k in range(1, m.nbody)
        if name("BODY", k) != "terrain"}
    fields["joint"], fields["actuator"] = {}, {}
    for k in range(m.njnt):
        dof = m.jnt_dofadr[k]
        numbers = {f: plain(getattr(m, f"jnt_{f}")[k]) for f in ("type", "axis", "pos", "range", "limited", "solref",
                                                                 "solimp", "margin")}
        numbers["stiffness"] = plain(first(m.jnt_stiffness[k]))
        for f in ("armature", "damping", "frictionloss", "invweight0"):
            numbers[f] = plain(first(getattr(m, f"dof_{f}")[dof]))
        fields["joint"][name("JOINT", k)] = numbers
    for k in range(m.nu):
        joint = name("JOINT", m.actuator_trnid[k, 0])
        fields["actuator"][joint] = {f: plain(getattr(m, f"actuator_{f}")[k]) for f in (
            "gaintype", "biastype", "dyntype", "trntype", "forcelimited", "forcerange", "ctrllimited", "gear")}
        for f in ("gainprm", "biasprm"):
            fields["actuator"][joint][f] = plain(getattr(m, f"actuator_{f}")[k][:3])
    fields["geom"] = {name("GEOM", k).replace("terrain", "floor"): {f: plain(getattr(m, f"geom_{f}")[k]) for f in (
        "type", "size", "pos", "quat", "condim", "contype", "conaffinity", "priority", "friction", "solref", "solimp",
        "solmix", "margin", "gap")} for k in range(m.ngeom) if m.geom_contype[k] or m.geom_conaffinity[k]}
    fields["site"] = {name("SITE", k): {f: plain(getattr(m, f"site_{f}")[k]) for f in ("pos", "quat")}
                      for k in range(m.nsite)}
    fields["exclude"] = {"pairs": {"bodies": sorted(sorted([name("BODY", s >> 16), name("BODY", s & 0xFFFF)])
                                                    for s in m.exclude_signature.tolist())}}
    return fields


class Recorder:
    def __init__(self, task, num_envs):
        torch.set_num_threads(1)
        self.task, (robot, _, ground) = task, task.split("-")
        cfg = load_env_cfg(f"Mjlab-Velocity-{ground}-Unitree-{robot}")
        cfg.scene.num_envs, cfg.seed = num_envs, 3
        if ground == "Rough":
            hills = HfRandomUniformTerrainCfg(noise_range=(0, 0.08), noise_step=0.02, horizontal_scale=3.999 / GRID)
            cfg.scene.terrain.terrain_generator = TerrainGeneratorCfg(
                seed=5, size=(4.0, 4.0), num_rows=1, num_cols=1, curriculum=True, sub_terrains={"hills": hills})
            cfg.scene.terrain.max_init_terrain_level = 0
            cfg.sim.nconmax = 200
        cfg.observations["actor"].enable_corruption = False
        cfg.auto_reset = False
        self.weights = {name: term.weight for name, term in cfg.rewards.items()}
        for term in cfg.rewards.values():
            term.weight = term.weight or 1.0
        # Pushes and new commands occur within the recorded steps.
        cfg.events["push_robot"].interval_range_s = (0.1, 0.3)
        cfg.commands["twist"].resampling_time_range = (0.15, 0.4)
        cfg.commands["twist"].rel_standing_envs = 0.2
        # Headings are close enough that the command turns slowly.
        cfg.commands["twist"].rel_heading_envs, cfg.commands["twist"].ranges.heading = 0.7, (-1.0, 1.0)
        cfg.events["reset_base"].params["pose_range"]["yaw"] = (-0.5, 0.5)
        self.ends_by = "fell_over" if "fell_over" in cfg.terminations else "illegal_contact"
        self.env = ManagerBasedRlEnv(cfg, device="cpu")
        self.lines = [[] for _ in range(num_envs)]
        self.twist = self.env.command_manager.get_term("twist")

    def write(self, word, rows):
        """Appends a line with a row of numbers for each environment whose episode continues."""
        rows = torch.as_tensor(rows).float().reshape(len(self.lines), -1)
        for i in self.going:
            self.lines[i].append(" ".join([word, *(f"{x:.7g}" for x in rows[i].tolist())]))

    def state(self):
        data = self.env.sim.data
        return torch.cat([data.qpos[:], data.qvel[:]], dim=1)

    def contacts(self):
        feet = self.env.scene["feet_ground_contact"]._extract_sensor_data()
        found, force = [feet.found], [feet.force.flatten(1)]
        # The geoms of each part of which the strongest contact is recorded.
        for name, geoms in (("self_collision", 1), ("thigh_ground_touch", 3), ("shank_ground_touch", 1),
                            ("trunk_ground_touch", 2)):
            if name not in self.env.scene.sensors:
                continue
            of = self.env.scene[name]._extract_sensor_data()
            of_geoms = of.force.reshape(len(self.lines), -1, geoms, 3)
            strongest = of_geoms.norm(dim=3).argmax(dim=2)[:, :, None, None].expand(-1, -1, 1, 3)
            found.append(of.found.reshape(len(self.lines), -1, geoms).amax(dim=2))
            force.append(of_geoms.gather(2, strongest).flatten(1))
        return torch.cat(found + force, dim=1)

    def refresh_contacts(self):
        self.env.scene["feet_ground_contact"]._invalidate_cache()

    def run(self, actions, tilted):
        env, data = self.env, self.env.sim.data
        self.going = range(len(self.lines))
        step, forward, compute = env.sim.step, env.sim.forward, env.reward_manager.compute

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
            self.write("rewards", env.reward_manager._step_reward / self.all_weights)
            self.write("ends", env.termination_manager.get_term(self.ends_by))
            self.write("command", self.twist.command)
            return result

        def recorded_forward():
            nq = data.qpos.shape[1]
            if hasattr(self, "after"):
                for i in self.going:
                    if not torch.equal(data.qvel[i], self.after[i, nq:]):
                        self.lines[i].append(" ".join(["pushed", *(f"{x:.7g}" for x in data.qvel[i].tolist())]))
            forward()
            self.refresh_contacts()

        env.sim.step, env.sim.forward, env.reward_manager.compute = recorded_step, recorded_forward, recorded_rewards
        update = self.twist._update_metrics

        def recorded_metrics():
            for name in ("error_vel_xy", "error_vel_yaw"):
                self.twist.metrics[name].zero_()
            update()
            steps = self.twist.cfg.resampling_time_range[1] / env.step_dt
            errors = [self.twist.metrics[name] * steps for name in ("error_vel_xy", "error_vel_yaw")]
            self.write("metrics", torch.stack([*errors, mean_action_acc(env)], dim=1))

        if tilted:  # these environments start at an angle in rad and a height in m at which they fall over
            reset = env.event_manager.apply

            def tilted_reset(mode, **arguments):
                reset(mode, **arguments)
                if mode == "reset":
                    for i, (angle, lift) in tilted.items():
                        half = 0.5 * angle
                        data.qpos[i, 3:7] = torch.tensor([np.cos(half), np.sin(half), 0, 0], dtype=torch.float32)
                        data.qpos[i, 2] += lift
                        data.qvel[i, 3] = 0.5
            env.event_manager.apply = tilted_reset
        cfgs = [env.reward_manager.get_term_cfg(name) for name in env.reward_manager.active_terms]
        self.all_weights = torch.tensor([c.weight for c in cfgs])
        obs, _ = env.reset()
        self.twist._update_metrics = recorded_metrics
        entity = env.scene["robot"]
        body = entity.find_bodies(env.event_manager.get_term_cfg("base_com").params["asset_cfg"].body_names)[0][0]
        ipos = env.sim.model.body_ipos[:, entity.indexing.body_ids[body]]
        file_ipos = torch.tensor(env.sim.mj_model.body_ipos[entity.indexing.body_ids[body]], dtype=torch.float32)
        for i in self.going:
            self.lines[i].append("episode")
        self.write("bias", entity.data.encoder_bias)
        self.write("com", ipos - file_ipos)
        self.write("reset", self.state())
        self.write("contacts", self.contacts())
        self.write("critic", obs["critic"])
        for t in range(STEPS):
            action = torch.as_tensor(actions(t), dtype=torch.float32)
            self.write("step", action)
            env._manual_reset_pending[:] = False
            obs, _, terminated, _, _ = env.step(action)
            self.write("contacts", self.contacts())
            self.write("critic", obs["critic"])
            for i in self.going:
                if self.twist.is_heading_env[i]:
                    self.lines[i].append(f"heading {self.twist.heading_target[i]:.7g}")
            self.going = [i for i in self.going if not terminated[i]]
        names = " ".join(env.reward_manager.active_terms)
        start = [f"# mjlab 1.6.0, {self.task}: see mjlab_record.py", f"terms {names}"]
        if (m := env.sim.mj_model).nhfield:
            assert m.hfield_nrow[0] == m.hfield_ncol[0] == GRID
            numbers = [*m.hfield_size[0], *m.hfield_data[:GRID * GRID]]
            start.append(" ".join(["ground", *(f"{x:.7g}" for x in numbers)]))
        return start + sum(self.lines, [])


def gait(task, num_envs, joints):
    """Returns a function of the step t that gives actions [num_envs, joints]: the two groups of legs swing in turn, with
    noise. The noise of the second environment is large enough to reach joint limits; that of the third makes a robot
    on rough ground touch itself."""
    random = np.random.default_rng(7)
    third = 1 if task.endswith("Flat") else 6
    lift = np.zeros((2, joints))  # actions that lift each group of legs
    if task.startswith("Go1"):
        for leg, group in enumerate((0, 1, 1, 0)):
            lift[group, 3 * leg + 1], lift[group, 3 * leg + 2] = 1.2, -3
    else:
        for leg in range(2):
            lift[leg, 6 * leg], lift[leg, 6 * leg + 3], lift[leg, 6 * leg + 4] = -0.8, 1.5, -0.5

    def actions(t):
        phase = np.sin(2 * np.pi * t / 10)
        swing = max(phase, 0) * lift[0] + max(-phase, 0) * lift[1]
        noise = random.normal(size=(num_envs, joints)) * np.array([[0.2], [4], [third], [4]])[:num_envs]
        return swing + noise
    return actions


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    for task in sys.argv[2:] or TASKS:
        # On rough ground, Go1 does not fall over: one environment starts on its back, another on its side.
        tilted = {2: (3.0, -0.16), 3: (1.3, -0.08)} if task == "Go1-Velocity-Rough" else {2: (1.15, 0.25)}
        num_envs = 1 + max(tilted)
        recorder, robot = Recorder(task, num_envs), task.split("-")[0]
        if task.endswith("Flat"):
            kinds = [f'"{kind}": {json.dumps(parts)}' for kind, parts in model_fields(recorder.env.sim.mj_model).items()]
            (directory / f"{robot}_model.json").write_text("{" + ",\n".join(kinds) + "}\n")
        lines = recorder.run(gait(task, num_envs, recorder.env.action_manager.total_action_dim), tilted)
        (directory / f"{task}.txt").write_text("\n".join(lines) + "\n")
        print(task)
