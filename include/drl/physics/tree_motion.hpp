// The kinematics of a robot's bodies in loops over tables. Robots with long chains of joints use these
// functions (src/physics/robot_counts.hpp, uses_loops), because code without loops would become too large.
//
// All quantities are in world axes and relative to the origin of their tree, as in src/physics/trace.hpp; spatial
// vectors are (angular, linear) or (torque, force). Sizes::moving_joint<T>(j) and moving_body<T>(b) are the tables,
// with numbers of the type T: joints are in the order of their bodies, and parents come before their children.
#pragma once

#include "drl/physics/contact_pairs.hpp"
#include "drl/physics/trees.hpp"

namespace drl::inline DRL_ISA::physics {

template <class T>
struct MovingJoint {
  enum Kind { free, ball, slide, hinge };
  int kind, qpos, dof;
  bool moves_origin;  // a slide of a root that comes before the root's first hinge or ball
  T axis[3], pos[3];  // of a hinge or slide, in its body's frame
  T reference;        // the value of qpos in the model's reference pose
};
template <class T>
struct MovingBody {
  int parent, tree;
  int end;  // index behind the body's last joint
  T pos[3], turn[3][3], quat[4];
  T mass, center[3], inertia[6];  // inertia about the centre, in the body's axes: xx, yy, zz, xy, xz, yz
};
template <class Sizes, class F>
DRL_HD const MovingJoint<Scalar<F>>& moving_joint(int j) {
  return Sizes::template moving_joint<Scalar<F>>(j);
}
template <class Sizes, class F>
DRL_HD const MovingBody<Scalar<F>>& moving_body(int b) {
  return Sizes::template moving_body<Scalar<F>>(b);
}

// A geom that may touch others.
template <class T>
struct TreeGeom {
  int body;                          // -1: the world
  int axis, turn;                    // its places in the work's geom_axis and geom_turn, or -1
  T center[3], half[3], axes[3][3];  // in the body
};

// The poses of bodies: the origins of trees in the world; rotations and places of bodies' frames; the motion that a
// unit of each velocity along qvel (in the solver's axes) causes.
template <class F, class Sizes>
struct BodyPoses {
  F origin[Sizes::kTrees][3], turn[Sizes::kTreeBodies][3][3], pos[Sizes::kTreeBodies][3], axis[Sizes::nv][6];
};
// Velocities, and accelerations if qacc is 0, with gravity as an upward acceleration.
template <class F, class Sizes>
struct BodyMotions {
  F velocity[Sizes::kTreeBodies][6], bias[Sizes::kTreeBodies][6];
};

// Returns a' x + y.
template <class A, class F>
DRL_HD F dot_after(const A* a, const F* x, F y) {
  return math::fma(F(a[2]), x[2], math::fma(F(a[1]), x[1], math::fma(F(a[0]), x[0], y)));
}
// Adds a x b to `to`.
template <class F>
DRL_HD void add_cross_product(const F* a, const F* b, F* to) {
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    to[k] = math::fma(a[i], b[j], math::fma(-a[j], b[i], to[k]));
  }
}
// Computes turn * x + from.
template <class X, class F>
DRL_HD void turn_and_add(const F (&turn)[3][3], const X* x, const F* from, F* to) {
  for (int i = 0; i < 3; ++i) to[i] = dot_after(x, turn[i], from[i]);
}
// Adds the rate of change of the motion b that the motion a carries along to `to`.
template <class F>
DRL_HD void add_cross_motion(const F* a, const F* b, F* to) {
  add_cross_product(a, b, to), add_cross_product(a, b + 3, to + 3), add_cross_product(a + 3, b, to + 3);
}

// Computes the unit quaternion of a free joint or a ball.
template <class F, class QPos>
DRL_HD void unit_quaternion(const QPos& qpos, int first, F* quat) {
  F square = F(0);
  for (int k = 0; k < 4; ++k) quat[k] = qpos[first + k], square = math::fma(quat[k], quat[k], square);
  const F inverse = F(1) / math::sqrt(square);
  for (int k = 0; k < 4; ++k) quat[k] = inverse * quat[k];
}
template <class F>
DRL_HD void rotation_of(const F* q, F (&turn)[3][3]) {
  const F two = F(2);
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    turn[i][i] = math::fma(-two, math::fma(q[1 + j], q[1 + j], q[1 + k] * q[1 + k]), F(1));
    turn[i][j] = two * math::fma(q[1 + i], q[1 + j], -(q[0] * q[1 + k]));
    turn[j][i] = two * math::fma(q[1 + i], q[1 + j], q[0] * q[1 + k]);
  }
}
// Replaces a rotation by its product with another one.
template <class X, class F>
DRL_HD void turn_by(const X (&by)[3][3], F (&turn)[3][3]) {
  for (auto& row : turn) {
    const F old[3] = {row[0], row[1], row[2]};
    for (int k = 0; k < 3; ++k)
      row[k] = math::fma(old[2], F(by[2][k]), math::fma(old[1], F(by[1][k]), old[0] * F(by[0][k])));
  }
}
// Turns about an axis of the body, whose direction in the world is `world`, by Rodrigues' formula.
template <class T, class F>
DRL_HD void turn_about(const T* axis, const F* world, F sine, F cosine, F (&turn)[3][3]) {
  for (int i = 0; i < 3; ++i) {
    const F along = world[i] - cosine * world[i], old[3] = {turn[i][0], turn[i][1], turn[i][2]};
    for (int k = 0; k < 3; ++k) {
      const int next = (k + 1) % 3, last = (k + 2) % 3;
      const F across = math::fma(old[next], F(axis[last]), -(old[last] * F(axis[next])));
      turn[i][k] = math::fma(cosine, old[k], math::fma(along, F(axis[k]), sine * across));
    }
  }
}

// Computes the poses of all bodies. qpos[k] converts to F.
template <class Sizes, class F, class QPos>
DRL_HD_CALLED void place_bodies(const QPos& qpos, BodyPoses<F, Sizes>& bodies) {
  int j = 0;
  for (int b = 0; b < Sizes::kTreeBodies; ++b) {
    const auto& body = moving_body<Sizes, F>(b);
    F(&turn)[3][3] = bodies.turn[b];
    F(&pos)[3] = bodies.pos[b];
    if (body.parent < 0) {
      for (int i = 0; i < 3; ++i) {
        pos[i] = F(0), bodies.origin[body.tree][i] = F(body.pos[i]);
        for (int k = 0; k < 3; ++k) turn[i][k] = F(body.turn[i][k]);
      }
    } else {
      turn_and_add(bodies.turn[body.parent], body.pos, bodies.pos[body.parent], pos);
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) turn[i][k] = bodies.turn[body.parent][i][k];
      turn_by(body.turn, turn);
    }
    for (; j < body.end; ++j) {
      const auto& joint = moving_joint<Sizes, F>(j);
      F(*axis)[6] = bodies.axis + joint.dof;
      if (joint.kind == joint.free) {
        F quat[4];
        for (int k = 0; k < 3; ++k) bodies.origin[body.tree][k] = qpos[joint.qpos + k];
        unit_quaternion(qpos, joint.qpos + 3, quat);
        rotation_of(quat, turn);
        for (int i = 0; i < 6; ++i)
          for (int k = 0; k < 6; ++k) axis[i][k] = F(k == (i + 3) % 6 ? 1 : 0);
        continue;
      }
      F anchor[3], world[3];
      const F none[3] = {F(0), F(0), F(0)};
      turn_and_add(turn, joint.pos, pos, anchor);
      if (joint.kind == joint.ball) {
        F quat[4], by[3][3];
        unit_quaternion(qpos, joint.qpos, quat);
        rotation_of(quat, by);
        turn_by(by, turn);
        for (int k = 0; k < 3; ++k) {
          for (int i = 0; i < 3; ++i) axis[k][i] = turn[i][k];
          cross(anchor, axis[k], axis[k] + 3);
        }
      } else {
        const F moved = F(qpos[joint.qpos]) - F(joint.reference);
        turn_and_add(turn, joint.axis, none, world);
        if (joint.kind == joint.slide) {
          F* place = joint.moves_origin ? bodies.origin[body.tree] : pos;
          for (int k = 0; k < 3; ++k) {
            place[k] = math::fma(moved, world[k], place[k]);
            axis[0][k] = F(0), axis[0][3 + k] = world[k];
          }
          continue;
        }
        turn_about(joint.axis, world, math::wide::sin(moved), math::wide::cos(moved), turn);
        for (int k = 0; k < 3; ++k) axis[0][k] = world[k];
        cross(anchor, world, axis[0] + 3);
      }
      for (int i = 0; i < 3; ++i) pos[i] = anchor[i] - dot_after(joint.pos, turn[i], F(0));
    }
  }
}

// Computes a * b; `to` may be one of them.
template <class F>
DRL_HD void multiply_quaternions(const F* a, const F* b, F* to) {
  const F x[4] = {a[0], a[1], a[2], a[3]}, y[4] = {b[0], b[1], b[2], b[3]};
  for (int k = 0; k < 4; ++k) to[k] = x[0] * y[k];
  for (int k = 1; k < 4; ++k) {
    const int i = 1 + k % 3, j = 1 + (k + 1) % 3;
    to[0] = math::fma(-x[k], y[k], to[0]);
    to[k] = math::fma(x[k], y[0], math::fma(x[i], y[j], math::fma(-x[j], y[i], to[k])));
  }
}
// Computes the orientations of all bodies as quaternions, with MuJoCo's sign.
template <class Sizes, class F>
DRL_HD_CALLED void find_quaternions(const F* qpos, F (*quats)[4]) {
  int j = 0;
  for (int b = 0; b < Sizes::kTreeBodies; ++b) {
    const auto& body = moving_body<Sizes, F>(b);
    F* quat = quats[b];
    for (int k = 0; k < 4; ++k) quat[k] = F(body.quat[k]);
    if (body.parent >= 0) multiply_quaternions(quats[body.parent], quat, quat);
    for (; j < body.end; ++j) {
      const auto& joint = moving_joint<Sizes, F>(j);
      F by[4];
      if (joint.kind == joint.free) {
        unit_quaternion(qpos, joint.qpos + 3, quat);
      } else if (joint.kind == joint.ball) {
        unit_quaternion(qpos, joint.qpos, by);
        multiply_quaternions(quat, by, quat);
      } else if (joint.kind == joint.hinge) {
        const F half = F(0.5) * (qpos[joint.qpos] - F(joint.reference)), sine = math::wide::sin(half);
        by[0] = math::wide::cos(half);
        for (int k = 0; k < 3; ++k) by[1 + k] = sine * F(joint.axis[k]);
        multiply_quaternions(quat, by, quat);
      }
    }
  }
}

// Computes the motions of all bodies.
template <class Sizes, class F>
DRL_HD_CALLED void move_bodies(const F* qvel, const BodyPoses<F, Sizes>& bodies, BodyMotions<F, Sizes>& motions) {
  int j = 0;
  for (int b = 0; b < Sizes::kTreeBodies; ++b) {
    const auto& body = moving_body<Sizes, F>(b);
    F *velocity = motions.velocity[b], *bias = motions.bias[b];
    for (int k = 0; k < 6; ++k) {
      velocity[k] = body.parent < 0 ? F(0) : motions.velocity[body.parent < 0 ? 0 : body.parent][k];
      bias[k] = body.parent < 0 ? F(k < 3 ? 0.0 : -Sizes::tree_gravity(k % 3))
                                : motions.bias[body.parent < 0 ? 0 : body.parent][k];
    }
    for (; j < body.end; ++j) {
      const auto& joint = moving_joint<Sizes, F>(j);
      const F* speed = qvel + joint.dof;
      if (joint.kind == joint.free) {
        const F none[3] = {F(0), F(0), F(0)};
        for (int k = 0; k < 3; ++k) velocity[3 + k] = speed[k];
        turn_and_add(bodies.turn[b], speed + 3, none, velocity);
        add_cross_product(velocity + 3, velocity, bias + 3);
        continue;
      }
      F motion[6];
      for (int k = 0; k < 6; ++k) motion[k] = speed[0] * bodies.axis[joint.dof][k];
      for (int i = 1; i < (joint.kind == joint.ball ? 3 : 1); ++i)
        for (int k = 0; k < 6; ++k) motion[k] = math::fma(speed[i], bodies.axis[joint.dof + i][k], motion[k]);
      add_cross_motion(velocity, motion, bias);
      for (int k = 0; k < 6; ++k) velocity[k] = velocity[k] + motion[k];
    }
  }
}

// Computes the part of bodies' accelerations that comes from qacc in the solver's axes. axis: [nv, 6].
template <class Sizes, class F>
DRL_HD_CALLED void add_accelerations(const F* axis, const F* qacc, F (*motion)[6]) {
  int i = 0;
  for (int b = 0; b < Sizes::kTreeBodies; ++b) {
    const int parent = Sizes::tree_parent_body(b);
    for (int k = 0; k < 6; ++k) motion[b][k] = parent < 0 ? F(0) : motion[parent < 0 ? 0 : parent][k];
    for (; i < Sizes::nv && Sizes::tree_body(i) == b; ++i)
      for (int k = 0; k < 6; ++k) motion[b][k] = math::fma(qacc[i], axis[6 * i + k], motion[b][k]);
  }
}
// Writes it to the work, for bodies with contacts.
template <class P, class F = typename P::Number>
DRL_HD void accelerate_touching(typename P::Work& w, const F* qacc) {
  F motion[P::kTreeBodies][6];
  add_accelerations<P>(w.axis, qacc, motion);
  for (int b = 0; b < P::kTreeBodies; ++b)
    if (const int touching = P::tree_touching(b); touching >= 0)
      for (int k = 0; k < 6; ++k) w.body[touching].motion[k] = motion[b][k];
}
// Computes the accelerations of bodies for qacc.
template <class Sizes, class F>
DRL_HD_CALLED void accelerate_bodies(const F* qacc, const BodyPoses<F, Sizes>& bodies,
                                     const BodyMotions<F, Sizes>& motions, F (*acceleration)[6]) {
  F along[Sizes::nv];
  for (int i = 0; i < Sizes::nv; ++i) along[i] = qacc[i];
  for (int j = 0; j < Sizes::kMovingJoints; ++j)
    if (const auto& joint = moving_joint<Sizes, F>(j); joint.kind == joint.free) {
      const F none[3] = {F(0), F(0), F(0)};
      turn_and_add(bodies.turn[Sizes::tree_body(joint.dof)], qacc + joint.dof + 3, none, along + joint.dof + 3);
    }
  add_accelerations<Sizes>(&bodies.axis[0][0], along, acceleration);
  for (int b = 0; b < Sizes::kTreeBodies; ++b)
    for (int k = 0; k < 6; ++k) acceleration[b][k] = acceleration[b][k] + motions.bias[b][k];
}

// Writes the places of geoms that may touch others to the work, relative to the first tree's origin.
template <class P, class F, class Sizes>
DRL_HD_CALLED void place_geoms(const BodyPoses<F, Sizes>& bodies, typename P::Work& w) {
  for (int g = 0; g < P::kTreeGeoms; ++g) {
    const auto& geom = P::template tree_geom<Scalar<F>>(g);
    const int body = geom.body < 0 ? 0 : geom.body;
    const F none[3] = {F(0), F(0), F(0)};
    F axes[3][3];
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) axes[i][k] = geom.body < 0 ? F(i == k ? 1 : 0) : bodies.turn[body][i][k];
    GeomAxis<F>& axis = w.geom_axis[geom.axis];
    turn_and_add(axes, geom.half, none, axis.half);
    turn_and_add(axes, geom.center, geom.body < 0 ? none : bodies.pos[body], axis.center);
    for (int k = 0; k < 3; ++k) {
      const F origin = geom.body < 0 ? F(0) : bodies.origin[moving_body<P, F>(body).tree][k];
      axis.center[k] = (origin - bodies.origin[0][k]) + axis.center[k];
    }
    if constexpr (P::kTurnedGeoms > 0)
      if (geom.turn >= 0) {
        turn_by(geom.axes, axes);
        for (int i = 0; i < 3; ++i)
          for (int k = 0; k < 3; ++k) w.geom_turn[geom.turn].turn[i][k] = axes[i][k];
      }
  }
}

}  // namespace drl::inline DRL_ISA::physics
