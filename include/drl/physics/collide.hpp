// Contacts of two shapes of any kinds, with MuJoCo's points in MuJoCo's order: the scalar narrow phase, which runs
// after a broad phase has found the pairs that are near.
//
//   ShapeContact contacts[kMostShapeContacts];
//   int count = collide(a, b, margin, options, contacts, &memory);   a.kind <= b.kind
//
// Pairs of planes, spheres, capsules and boxes, and sphere and cylinder, have closed forms (plane_contacts.hpp,
// round_contacts.hpp, two_boxes.hpp). All others have at most one contact, which GJK and EPA find (overlap.hpp).
// They agree with MuJoCo's native collision detector without the flag multiccd. drl/physics/multiccd.hpp has the
// contacts of models with this flag.
#pragma once

#include "drl/physics/overlap.hpp"
#include "drl/physics/plane_contacts.hpp"
#include "drl/physics/round_contacts.hpp"
#include "drl/physics/two_boxes.hpp"

namespace drl::inline DRL_ISA::physics {

// A direction along which a pair of convex shapes was apart in the last call. The next call tries it first. This does
// not change the contacts, but saves most of the time while the shapes are near each other and do not touch. All is 0
// at first.
struct PairMemory {
  float apart[3];  // a direction from b to a along which they have been apart, or 0
  int vertex[2];   // the vertices that are farthest in this direction
  float gap;       // how far they were apart along it when it was tried last, or 0
  KeptFace face;   // that decided how two meshes overlapped
};
// Returns whether two shapes are still farther apart than the margin. Otherwise forgets the direction.
DRL_HD bool are_apart(const Shape& a, const Shape& b, double margin, PairMemory& memory) {
  const Vec3 direction{double(memory.apart[0]), double(memory.apart[1]), double(memory.apart[2])};
  if (!(dot(direction, direction) > 0.5)) return false;
  const Vec3 way = unit(direction);
  Supported of_a(a, 0), of_b(b, 0);
  of_a.vertex = memory.vertex[0], of_b.vertex = memory.vertex[1];
  of_a.skips_start = of_b.skips_start = false;
  const double gap = dot(way, of_a.farthest(-way) - of_b.farthest(way));
  memory.vertex[0] = of_a.vertex, memory.vertex[1] = of_b.vertex;
  memory.gap = gap > margin ? float(gap) : 0;
  if (!(gap > margin)) memory.apart[0] = memory.apart[1] = memory.apart[2] = 0;
  return gap > margin;
}
// Remembers the direction along which a search has found its shapes apart, if this holds.
DRL_HD void remember(const Gjk& search, PairMemory& memory) {
  const Vec3 way = unit(search.apart);
  for (int k = 0; k < 3; ++k) memory.apart[k] = float(way[k]);
  memory.vertex[0] = search.a.vertex, memory.vertex[1] = search.b.vertex;
  are_apart(*search.a.shape, *search.b.shape, 0, memory);
}

// Both shapes are grown by half of the margin, so that they overlap if they are closer than the margin.
DRL_HD_CALLED void collide_convex(const Shape& a, const Shape& b, const ConvexOptions& options, PairMemory* memory,
                                  ContactList& list) {
  const double margin = list.margin();
  if (memory != nullptr && are_apart(a, b, margin + options.tolerance, *memory)) return;
  Gjk search(Supported(a, 0.5 * margin), Supported(b, 0.5 * margin), options);
  Overlap overlap;
  if (find_overlap(search, overlap, nullptr, memory != nullptr ? &memory->face : nullptr))
    list.add(overlap.middle(), overlap.normal(), margin - overlap.depth);
  if (memory != nullptr && search.distance == Gjk::kFar) remember(search, *memory);
}

// Returns whether a pair of kinds, a <= b, has no closed form.
DRL_HD bool is_convex_pair(ShapeKind a, ShapeKind b) {
  using enum ShapeKind;
  if (a == plane || b == box) return a == ellipsoid || a == cylinder;
  return !(a == sphere && b <= cylinder && b != ellipsoid) && !(a == capsule && b == capsule);
}

// Finds the contacts that are closer than the margin and returns their number. `contacts` has room for
// kMostShapeContacts; a.kind <= b.kind. Two planes never touch. `memory` may be null, or is kept for this
// pair from call to call.
DRL_HD_CALLED int collide(const Shape& a, const Shape& b, double margin, const ConvexOptions& options,
                          ShapeContact* contacts, PairMemory* memory = nullptr) {
  ContactList list(margin, contacts);
  using enum ShapeKind;
  if (a.kind == plane)
    collide_plane(a, b, options.planes_touch_faces, list);
  else if (a.kind == sphere && b.kind == sphere)
    collide_balls(a, a.center(), a.size[0], b, b.center(), b.size[0], list);
  else if (a.kind == sphere && b.kind == capsule)
    collide_sphere_capsule(a, b, list);
  else if (a.kind == sphere && b.kind == cylinder)
    collide_sphere_cylinder(a, b, list);
  else if (a.kind == sphere && b.kind == box)
    collide_sphere_box(a, b, list);
  else if (a.kind == capsule && b.kind == capsule)
    collide_capsules(a, b, options.capsules_overlap, list);
  else if (a.kind == capsule && b.kind == box)
    collide_capsule_box(a, b, list);
  else if (a.kind == box && b.kind == box)
    collide_boxes(a, b, options.boxes_clip_faces, options.boxes_have_eight, list);
  else
    collide_convex(a, b, options, memory, list);
  return list.count();
}

}  // namespace drl::inline DRL_ISA::physics
