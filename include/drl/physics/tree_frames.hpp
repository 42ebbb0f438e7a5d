// The quantities that tasks read of a robot's frames (the bodies of its model file), in loops over tables, for robots
// with long chains of joints (drl/physics/tree_motion.hpp). Sizes::tree_frame<T>(f) is the table; frame 0 is the world.
#pragma once

#include "drl/physics/tree_forces.hpp"

namespace drl::inline DRL_ISA::physics {

template <class T>
struct TreeFrame {
  int body;  // -1: the world
  int parent, root;
  int touching;             // its index among those with contacts, or -1
  T pos[3], quat[4];        // in the body
  T center[3], inertia[6];  // in the body's axes
  T mass, subtree_mass;     // subtree_mass: 0 if it is negligible
};
// A geom or a site.
template <class T>
struct TreePoint {
  int frame;  // with the same axes as its body; -1 for the world
  T pos[3];   // in the body
};
template <class Sizes, class F>
DRL_HD const TreeFrame<Scalar<F>>& tree_frame(int f) {
  return Sizes::template tree_frame<Scalar<F>>(f);
}

// Computes a point of a frame's body relative to the origin of its tree (of the world: to the world's origin).
template <class T, class F, class Sizes>
DRL_HD void point_in_tree(const BodyPoses<F, Sizes>& bodies, int body, const T* point, F* to) {
  if (body < 0)
    for (int k = 0; k < 3; ++k) to[k] = F(point[k]);
  else
    turn_and_add(bodies.turn[body], point, bodies.pos[body], to);
}
// Returns a coordinate of the origin of a body's tree, or 0 for the world.
template <class F, class Sizes>
DRL_HD F origin_of(const BodyPoses<F, Sizes>& bodies, int body, int k) {
  return body < 0 ? F(0) : bodies.origin[moving_body<Sizes, F>(body < 0 ? 0 : body).tree][k];
}

// Writes xpos, xipos and xquat.
template <class Sizes, class F, class Derived>
DRL_HD void write_frames(const BodyPoses<F, Sizes>& bodies, const F (*quats)[4], Derived& derived) {
  for (int f = 0; f < Sizes::nbody; ++f) {
    const auto& frame = tree_frame<Sizes, F>(f);
    point_in_tree(bodies, frame.body, frame.pos, derived.xpos[f]);
    point_in_tree(bodies, frame.body, frame.center, derived.xipos[f]);
    F* quat = derived.xquat[f];
    for (int k = 0; k < 4; ++k) quat[k] = F(frame.quat[k]);
    if (frame.body < 0) continue;
    for (int k = 0; k < 3; ++k) {
      const F origin = origin_of(bodies, frame.body, k);
      derived.xpos[f][k] = origin + derived.xpos[f][k], derived.xipos[f][k] = origin + derived.xipos[f][k];
    }
    multiply_quaternions(quats[frame.body], quat, quat);
  }
}

// Writes the positions of the points [first, first + count) of the robot's table from the frames.
template <class Sizes, class F, class Derived>
DRL_HD void write_points(const Derived& derived, int first, int count, F (*positions)[3]) {
  for (int p = 0; p < count; ++p) {
    const auto& point = Sizes::template tree_point<Scalar<F>>(first + p);
    F* to = positions[p];
    for (int k = 0; k < 3; ++k) to[k] = F(point.pos[k]);
    if (point.frame < 0) continue;
    F turn[3][3];
    rotation_of(derived.xquat[point.frame], turn);
    turn_and_add(turn, point.pos, derived.xpos[point.frame], to);
  }
}

// Computes the moments (mass times position) of all frames with their subtrees about the origins of their trees.
template <class Sizes, class F>
DRL_HD_CALLED void find_moments(const BodyPoses<F, Sizes>& bodies, F (*moment)[3]) {
  for (int k = 0; k < 3; ++k) moment[0][k] = F(0);
  for (int f = 1; f < Sizes::nbody; ++f) {
    const auto& frame = tree_frame<Sizes, F>(f);
    point_in_tree(bodies, frame.body, frame.center, moment[f]);
    for (F& x : moment[f]) x = F(frame.mass) * x;
  }
  for (int f = Sizes::nbody - 1; f > 0; --f) {
    const auto& frame = tree_frame<Sizes, F>(f);
    // The world's moment is about the world's origin, so each tree's moment is shifted.
    const bool leaves = frame.body >= 0 && tree_frame<Sizes, F>(frame.parent).body < 0;
    for (int k = 0; k < 3; ++k) {
      const F shift = leaves ? F(frame.subtree_mass) * origin_of(bodies, frame.body, k) : F(0);
      moment[frame.parent][k] = moment[frame.parent][k] + (moment[f][k] + shift);
    }
  }
}
// Computes a frame's subtree_com from the moments.
template <class Sizes, class F>
DRL_HD void center_of_subtree(const BodyPoses<F, Sizes>& bodies, const F (*moment)[3], int f, F* center) {
  const auto& frame = tree_frame<Sizes, F>(f);
  const bool has_mass = frame.subtree_mass > 0;
  if (!has_mass) point_in_tree(bodies, frame.body, frame.center, center);
  for (int k = 0; k < 3; ++k)
    center[k] = origin_of(bodies, frame.body, k) +
                (has_mass ? F(1 / (has_mass ? frame.subtree_mass : 1)) * moment[f][k] : center[k]);
}
// Writes subtree_com.
template <class Sizes, class F, class Derived>
DRL_HD void write_centers(const BodyPoses<F, Sizes>& bodies, Derived& derived) {
  F moment[Sizes::nbody][3];
  find_moments<Sizes>(bodies, moment);
  for (int f = 0; f < Sizes::nbody; ++f) center_of_subtree<Sizes>(bodies, moment, f, derived.subtree_com[f]);
}
// Computes the point to which a frame's cvel, cinert and cfrc_ext refer, relative to the origin of its tree.
template <class Sizes, class F>
DRL_HD void center_of_tree(const BodyPoses<F, Sizes>& bodies, const F (*moment)[3], int f, F* center) {
  const int body = tree_frame<Sizes, F>(f).body, root = tree_frame<Sizes, F>(f).root;
  const auto& of_root = tree_frame<Sizes, F>(root);
  for (int k = 0; k < 3; ++k) {
    center[k] = F(0);
    if (of_root.subtree_mass > 0) center[k] = F(1 / of_root.subtree_mass) * moment[root][k];
    if (of_root.subtree_mass > 0 && of_root.body < 0) center[k] = center[k] - origin_of(bodies, body, k);
  }
}

// Computes a frame's inertia with its centre shifted by -`from`.
template <class Sizes, class F>
DRL_HD void inertia_of_frame(const BodyPoses<F, Sizes>& bodies, int f, const F* from, F* inertia) {
  const auto& frame = tree_frame<Sizes, F>(f);
  F center[3], turn[3][3];
  point_in_tree(bodies, frame.body, frame.center, center);
  for (int i = 0; i < 3; ++i) {
    center[i] = center[i] - from[i];
    for (int k = 0; k < 3; ++k)
      turn[i][k] = frame.body < 0 ? F(i == k ? 1 : 0) : bodies.turn[frame.body < 0 ? 0 : frame.body][i][k];
  }
  place_inertia(frame.mass, center, turn, frame.inertia, inertia);
}
// Writes cinert and cvel.
template <class Sizes, class F, class Derived>
DRL_HD void write_motion(const BodyPoses<F, Sizes>& bodies, const BodyMotions<F, Sizes>& motions, Derived& derived) {
  F moment[Sizes::nbody][3];
  find_moments<Sizes>(bodies, moment);
  for (int f = 1; f < Sizes::nbody; ++f) {
    const int body = tree_frame<Sizes, F>(f).body;
    F center[3], *velocity = derived.cvel[f - 1];
    center_of_tree<Sizes>(bodies, moment, f, center);
    inertia_of_frame(bodies, f, center, derived.cinert[f - 1]);
    for (int k = 0; k < 6; ++k) velocity[k] = body < 0 ? F(0) : motions.velocity[body < 0 ? 0 : body][k];
    add_cross_product(velocity, center, velocity + 3);
  }
}

// Computes the wrenches of contacts on all frames.
template <class P, class F>
DRL_HD void find_external_wrenches(const F (*wrench)[6], F (*external)[6]) {
  for (int f = 0; f < P::nbody; ++f)
    for (int k = 0; k < 6; ++k) {
      const int touching = tree_frame<P, F>(f).touching;
      external[f][k] = touching < 0 ? F(0) : wrench[touching < 0 ? 0 : touching][k];
    }
}
// Writes cfrc_ext: wrenches about the origin of each frame's tree (of static frames: of the first tree) become those
// about the tree's centre.
template <class Sizes, class F, class Derived>
DRL_HD void write_forces(const BodyPoses<F, Sizes>& bodies, const F (*external)[6], Derived& derived) {
  F moment[Sizes::nbody][3];
  find_moments<Sizes>(bodies, moment);
  for (int f = 1; f < Sizes::nbody; ++f) {
    const auto& frame = tree_frame<Sizes, F>(f);
    F center[3], *force = derived.cfrc_ext[f - 1];
    if (frame.body < 0) {
      center_of_subtree<Sizes>(bodies, moment, frame.root, center);
      for (int k = 0; k < 3; ++k) center[k] = center[k] - bodies.origin[0][k];
    } else {
      center_of_tree<Sizes>(bodies, moment, f, center);
    }
    for (int k = 0; k < 6; ++k) force[k] = external[f][k];
    add_cross_product(force + 3, center, force);
  }
}

// Computes the forces of contacts along qvel in the solver's axes. axis: [nv, 6].
template <class P, class F>
DRL_HD_CALLED void project_wrenches(const F* axis, const F (*wrench)[6], F* along) {
  F carried[P::kTreeBodies][6];
  for (auto& of_body : carried)
    for (F& x : of_body) x = F(0);
  for (int f = 1; f < P::nbody; ++f)
    if (const auto& frame = tree_frame<P, F>(f); frame.body >= 0 && frame.touching >= 0)
      for (int k = 0; k < 6; ++k) carried[frame.body][k] = carried[frame.body][k] + wrench[frame.touching][k];
  add_to_parents<P>(carried);
  for (int i = 0; i < P::nv; ++i) along[i] = spatial_dot(axis + 6 * i, carried[P::tree_body(i)]);
}

// Computes what each frame's parent exerts on it, about the origin of its tree (of static frames: of the first tree):
// what moves it and its subtree, less the external wrenches on these, as in mj_rnePostConstraint. On entry, `loads`
// holds these wrenches.
template <class Sizes, class F>
DRL_HD_CALLED void find_loads_of_frames(const BodyPoses<F, Sizes>& bodies, const BodyMotions<F, Sizes>& motions,
                                        const F (*acceleration)[6], F (*loads)[6]) {
  for (int f = 0; f < Sizes::nbody; ++f)
    for (F& x : loads[f]) x = -x;
  for (int f = Sizes::nbody - 1; f > 0; --f) {
    const auto& frame = tree_frame<Sizes, F>(f);
    const bool moves = frame.body >= 0;
    F inertia[10], from[3], at_rest[6], still[6], force[6];
    for (int k = 0; k < 3; ++k) {
      from[k] = moves ? F(0) : bodies.origin[0][k];
      at_rest[k] = still[k] = still[3 + k] = F(0), at_rest[3 + k] = F(-Sizes::tree_gravity(k));
    }
    inertia_of_frame(bodies, f, from, inertia);
    const int body = moves ? frame.body : 0;
    find_required_force(inertia, moves ? motions.velocity[body] : still, moves ? acceleration[body] : at_rest, force);
    F *load = loads[f], *of_parent = loads[frame.parent];
    for (int k = 0; k < 6; ++k) load[k] = load[k] + force[k], of_parent[k] = of_parent[k] + load[k];
    if (moves && tree_frame<Sizes, F>(frame.parent).body < 0) {
      for (int k = 0; k < 3; ++k) from[k] = origin_of(bodies, frame.body, k) - bodies.origin[0][k];
      add_cross_product(from, load + 3, of_parent);
    }
  }
}

}  // namespace drl::inline DRL_ISA::physics
