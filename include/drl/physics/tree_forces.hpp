// The inertias of bodies and the forces that their motions require, in loops over tables, for robots with long chains
// of joints (drl/physics/tree_motion.hpp).
#pragma once

#include "drl/physics/tree_motion.hpp"

namespace drl::inline DRL_ISA::physics {

// A box that stands for a frame in a fluid (MuJoCo, "Computation", fluid forces, inertia model). Its drag in its own
// axes, torque and force, is -(linear + quadratic |x|) x, where x is its velocity relative to the fluid.
template <class T>
struct TreeFluid {
  int body;
  T center[3], turn[3][3];  // in the body
  T linear[6], quadratic[6];
};
// An inertia about the origin of a tree: xx, yy, zz, xy, xz, yz of the rotational inertia, mass times the position of
// the centre, mass.
template <class F>
using TreeInertia = F[10];
// Computes that of a mass with its centre at c, whose inertia about it in the axes `turn` is `own`.
template <class T, class F>
DRL_HD void place_inertia(T mass, const F* c, const F (&turn)[3][3], const T* own, F* inertia) {
  constexpr int kEntry[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}}, kRow[6] = {0, 1, 2, 0, 0, 1},
                kColumn[6] = {0, 1, 2, 1, 2, 2};
  F half[3][3], square = F(0);  // half: turn * own
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      half[i][k] = turn[i][0] * F(own[kEntry[0][k]]);
      for (int l = 1; l < 3; ++l) half[i][k] = math::fma(turn[i][l], F(own[kEntry[l][k]]), half[i][k]);
    }
  for (int k = 0; k < 3; ++k) inertia[6 + k] = F(mass) * c[k], square = math::fma(inertia[6 + k], c[k], square);
  inertia[9] = F(mass);
  for (int s = 0; s < 6; ++s) {
    const int i = kRow[s], k = kColumn[s];
    const F shifted = math::fma(-inertia[6 + i], c[k], s < 3 ? square : F(0));
    inertia[s] = dot_after(half[i], turn[k], shifted);
  }
}
// Computes the momentum of a motion, or the force of an acceleration.
template <class F>
DRL_HD void multiply_inertia(const F* inertia, const F* motion, F* momentum) {
  constexpr int kEntry[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  const F *moment = inertia + 6, mass = inertia[9];
  cross(moment, motion + 3, momentum);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) momentum[i] = math::fma(inertia[kEntry[i][k]], motion[k], momentum[i]);
  for (int k = 0; k < 3; ++k) momentum[3 + k] = mass * motion[3 + k];
  add_cross_product(motion, moment, momentum + 3);
}
// Computes the force that a body's motion requires (Newton and Euler): I a + v x* I v.
template <class F>
DRL_HD void find_required_force(const F* inertia, const F* velocity, const F* acceleration, F* force) {
  F momentum[6];
  multiply_inertia(inertia, acceleration, force);
  multiply_inertia(inertia, velocity, momentum);
  add_cross_product(velocity, momentum, force), add_cross_product(velocity + 3, momentum + 3, force);
  add_cross_product(velocity, momentum + 3, force + 3);
}

// Computes the inertias of bodies, and the forces that their motions require if qacc is 0.
template <class Sizes, class F>
DRL_HD_CALLED void find_required_forces(const BodyPoses<F, Sizes>& bodies, const BodyMotions<F, Sizes>& motions,
                                        TreeInertia<F>* inertia, F (*force)[6]) {
  for (int b = 0; b < Sizes::kTreeBodies; ++b) {
    const auto& body = moving_body<Sizes, F>(b);
    F center[3];
    turn_and_add(bodies.turn[b], body.center, bodies.pos[b], center);
    place_inertia(body.mass, center, bodies.turn[b], body.inertia, inertia[b]);
    find_required_force(inertia[b], motions.velocity[b], motions.bias[b], force[b]);
  }
}
// Subtracts the forces of a fluid from the required forces of bodies.
template <class Sizes, class F>
DRL_HD_CALLED void subtract_fluid_forces(const BodyPoses<F, Sizes>& bodies, const BodyMotions<F, Sizes>& motions,
                                         F (*required)[6]) {
  for (int f = 0; f < Sizes::kTreeFluids; ++f) {
    const auto& box = Sizes::template tree_fluid<Scalar<F>>(f);
    const F(&turn)[3][3] = bodies.turn[box.body];
    const F* velocity = motions.velocity[box.body];
    F center[3], axes[3][3], motion[6], drag[6] = {F(0), F(0), F(0), F(0), F(0), F(0)};
    turn_and_add(turn, box.center, bodies.pos[box.body], center);
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) axes[i][k] = turn[i][k];
    turn_by(box.turn, axes);
    for (int k = 0; k < 3; ++k) motion[k] = velocity[k], motion[3 + k] = velocity[3 + k] - F(Sizes::tree_wind(k));
    add_cross_product(velocity, center, motion + 3);
    for (int k = 0; k < 6; ++k) {
      const F* of = motion + (k < 3 ? 0 : 3);
      const F x = math::fma(axes[2][k % 3], of[2], math::fma(axes[1][k % 3], of[1], axes[0][k % 3] * of[0]));
      const F along = -(math::fma(F(box.quadratic[k]), math::max(x, -x), F(box.linear[k])) * x);
      for (int i = 0; i < 3; ++i) drag[k < 3 ? i : 3 + i] = math::fma(axes[i][k % 3], along, drag[k < 3 ? i : 3 + i]);
    }
    add_cross_product(center, drag + 3, drag);
    for (int k = 0; k < 6; ++k) required[box.body][k] = required[box.body][k] - drag[k];
  }
}
// Adds each body's numbers to its parent's, from the leaves to the roots.
template <class Sizes, int n, class F>
DRL_HD void add_to_parents(F (*of)[n]) {
  for (int b = Sizes::kTreeBodies - 1; b >= 0; --b)
    if (const int parent = Sizes::tree_parent_body(b); parent >= 0)
      for (int k = 0; k < n; ++k) of[parent][k] = of[parent][k] + of[b][k];
}
// Computes the wrench that each degree of freedom needs for a unit acceleration (push [nv, 6]), and subtracts the
// required forces of bodies along qvel. Changes `inertia` and `required` to those of subtrees.
template <class Sizes, class F>
DRL_HD_CALLED void find_pushes(const F (*axis)[6], TreeInertia<F>* inertia, F (*required)[6], F (*push)[6], F* force) {
  add_to_parents<Sizes>(inertia), add_to_parents<Sizes>(required);
  for (int i = 0; i < Sizes::nv; ++i) {
    multiply_inertia(inertia[Sizes::tree_body(i)], axis[i], push[i]);
    force[i] = force[i] - spatial_dot(axis[i], required[Sizes::tree_body(i)]);
  }
}

}  // namespace drl::inline DRL_ISA::physics
