"""Jacobians and rays of a Batch's simulations, which libmujoco computes on one thread from their states."""

import mujoco
import numpy as np


def jac(self, body, point, ids=None):
    """Returns the Jacobians of points on bodies: jacp, jacr, (n, 3, nv) each (mj_jac).

    Args:
      body: a body's number, or one for each of the n simulations of the call.
      point: points in world coordinates, which broadcast to (n, 3).
      ids: as in step().
    """
    which = self._which(ids)
    bodies = self._integers(body, (len(which),), 0, self.model.nbody, "body")
    points = np.broadcast_to(np.asarray(point, float), (len(which), 3))
    jacp, jacr = np.zeros((2, len(which), 3, self.model.nv))
    for k, sim in enumerate(which):
        model, data = _frames(self, sim)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jac(model, data, jacp[k], jacr[k], points[k], bodies[k])
    return jacp, jacr


def ray(self, pnt, vec, geomgroup=None, flg_static=True, bodyexclude=-1, ids=None, normal=False):
    """Returns the distances to the first geoms that rays meet (-1: none), and these geoms, (n, nray) each (mj_ray).

    Args:
      pnt, vec: where rays begin, and their directions, which broadcast to (n, nray, 3).
      geomgroup: the groups of geoms that rays can meet, (mjNGROUP,), or None for all.
      flg_static: whether they can meet geoms of the world.
      bodyexclude: a body whose geoms they do not meet, or -1; broadcasts to (n, nray).
      ids: as in step().
      normal: whether to return the surfaces' normals too, (n, nray, 3).
    """
    which = self._which(ids)
    pnt, vec = np.atleast_2d(np.asarray(pnt, float)), np.atleast_2d(np.asarray(vec, float))
    rays = np.broadcast_shapes(pnt.shape[:-1], vec.shape[:-1])[-1]
    pnt, vec = (np.broadcast_to(x, (len(which), rays, 3)) for x in (pnt, vec))
    exclude = self._integers(bodyexclude, (len(which), rays), -1, self.model.nbody, "bodyexclude")
    groups = None if geomgroup is None else np.asarray(geomgroup, np.uint8)
    dist, normals, geomid = np.zeros((len(which), rays)), np.zeros((len(which), rays, 3)), np.zeros(1, np.int32)
    geoms = np.zeros((len(which), rays), np.int32)
    for k, sim in enumerate(which):
        model, data = _frames(self, sim)
        for r in range(rays):
            dist[k, r] = mujoco.mj_ray(model, data, pnt[k, r], vec[k, r], groups, flg_static, exclude[k, r], geomid,
                                       normals[k, r])
            geoms[k, r] = geomid[0]
    return (dist, geoms, normals) if normal else (dist, geoms)


def _frames(batch, sim):
    """Returns a simulation's MjModel and its MjData with the positions of bodies."""
    model, data = batch.get_model(sim), batch.get_data(sim)
    mujoco.mj_kinematics(model, data)
    return model, data
