// Contacts of two shapes of any kinds, with MuJoCo's points in MuJoCo's order: the scalar narrow phase, which runs
// after a broad phase has found the pairs that are near.
//
//   ShapeContact contacts[kMostShapeContacts];
//   int count = collide(a, b, margin, options, contacts, &memory);   a.kind <= b.kind
//
// Pairs of planes, spheres, capsules and boxes, and sphere and cylinder, have closed forms (plane_contacts.hpp,
// round_contacts.hpp, two_boxes.hpp). All others have at most one contact, which GJK and EPA find (gjk.hpp, epa.hpp).
// They agree with MuJoCo's native collision detector without the flag multiccd.
#pragma once

#include "drl/physics/epa.hpp"
#include "drl/physics/plane_contacts.hpp"
#include "drl/physics/round_contacts.hpp"
#include "drl/physics/two_boxes.hpp"

namespace drl {
inline namespace DRL_ISA {
namespace physics {

// Returns a search that starts anew, except that it climbs hulls from where the former one has ended.
DRL_HD Gjk restarted(const Gjk& former, const Supported& a, const Supported& b) {
  Gjk search(a, b, former.options);
  search.a.vertex = former.a.vertex, search.b.vertex = former.b.vertex;
  return search;
}
// Tries whether the centre of a sphere or the axis of a capsule is outside of the other shape. Then the distance of
// these decides alone, without EPA. Returns false if the overlap is deeper.
DRL_HD bool collide_shallow(Gjk& search, double margin, ContactList& list) {
  double grown[2] = {0, 0};
  Supported* shapes[2] = {&search.a, &search.b};
  for (int k = 0; k < 2; ++k)
    if (shapes[k]->is_round())
      grown[k] = shapes[k]->radius + 0.5 * margin, shapes[k]->radius = shapes[k]->inflation = 0;
  search.run(grown[0] + grown[1]);
  if (!(search.distance > search.options.tolerance)) return false;
  const double distance = search.distance - (grown[0] + grown[1]);
  if (!(distance < 0)) return true;
  const Vec3 way = unit(search.on_b - search.on_a);
  const Vec3 on_a = search.on_a + grown[0] * way, on_b = search.on_b - grown[1] * way;
  list.add(0.5 * (on_a + on_b), unit(on_a - on_b), margin + distance);
  return true;
}
// What the next call for a pair of convex shapes can use: how they have been apart. It changes no contacts, but saves
// most of the time as long as they are near each other without touching.
struct PairMemory {
  float apart[3] = {0, 0, 0};  // a direction from b to a along which they have been apart, or 0
  int vertex[2] = {-1, -1};    // the vertices that are farthest in this direction
};
// Returns whether two shapes are still farther apart than the margin.
DRL_HD bool are_apart(const Shape& a, const Shape& b, double margin, PairMemory& memory) {
  const Vec3 direction{double(memory.apart[0]), double(memory.apart[1]), double(memory.apart[2])};
  if (!(dot(direction, direction) > 0.5)) return false;
  const Vec3 way = unit(direction);
  Supported of_a(a, 0), of_b(b, 0);
  of_a.vertex = memory.vertex[0], of_b.vertex = memory.vertex[1];
  of_a.skips_start = of_b.skips_start = false;
  const Vec3 between = of_a.farthest(-way) - of_b.farthest(way);
  memory.vertex[0] = of_a.vertex, memory.vertex[1] = of_b.vertex;
  return dot(way, between) > margin;
}
DRL_HD void remember(const Gjk& search, PairMemory& memory) {
  const Vec3 way = unit(search.apart);
  for (int k = 0; k < 3; ++k) memory.apart[k] = float(way[k]);
  memory.vertex[0] = search.a.vertex, memory.vertex[1] = search.b.vertex;
}

// Both shapes are grown by half of the margin, so that they overlap if they are closer than the margin.
DRL_HD_CALLED void collide_convex(const Shape& a, const Shape& b, const ConvexOptions& options, PairMemory* memory,
                                  ContactList& list) {
  const double margin = list.margin();
  if (memory != nullptr && are_apart(a, b, margin + options.tolerance, *memory)) return;
  const Supported grown_a(a, 0.5 * margin), grown_b(b, 0.5 * margin);
  Gjk search(grown_a, grown_b, options);
  bool is_shallow = false;
  if (grown_a.is_round() || grown_b.is_round()) {
    is_shallow = collide_shallow(search, margin, list);
    if (!is_shallow) search = restarted(search, grown_a, grown_b);
  }
  if (!is_shallow) search.run(0);
  if (memory != nullptr && search.distance == Gjk::kFar) remember(search, *memory);
  if (is_shallow || !(search.distance <= options.tolerance) || search.count < 2) return;
  Polytope polytope(search);
  double depth;
  Vec3 on_a, on_b;
  if (!polytope.run(depth, on_a, on_b) || !(depth > 0)) return;
  list.add(0.5 * (on_a + on_b), unit(on_a - on_b), margin - depth);
}

// Finds the contacts that are closer than the margin and returns their number. `contacts` has room for
// kMostShapeContacts; a.kind <= b.kind. Two planes never touch. `memory` may be null, or is kept for this
// pair from call to call.
DRL_HD_CALLED int collide(const Shape& a, const Shape& b, double margin, const ConvexOptions& options,
                          ShapeContact* contacts, PairMemory* memory = nullptr) {
  ContactList list(margin, contacts);
  using enum ShapeKind;
  if (a.kind == plane)
    collide_plane(a, b, list);
  else if (a.kind == sphere && b.kind == sphere)
    collide_balls(a, a.center(), a.size[0], b, b.center(), b.size[0], list);
  else if (a.kind == sphere && b.kind == capsule)
    collide_sphere_capsule(a, b, list);
  else if (a.kind == sphere && b.kind == cylinder)
    collide_sphere_cylinder(a, b, list);
  else if (a.kind == sphere && b.kind == box)
    collide_sphere_box(a, b, list);
  else if (a.kind == capsule && b.kind == capsule)
    collide_capsules(a, b, list);
  else if (a.kind == capsule && b.kind == box)
    collide_capsule_box(a, b, list);
  else if (a.kind == box && b.kind == box)
    collide_boxes(a, b, list);
  else
    collide_convex(a, b, options, memory, list);
  return list.count();
}

}  // namespace physics
}  // namespace DRL_ISA
}  // namespace drl
