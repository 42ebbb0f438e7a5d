// The faces of meshes' convex hulls, which decide the contacts of meshes in models with the flag multiccd.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "drl/physics/shapes.hpp"

struct mjModel_;  // mjModel; models are described without MuJoCo's header

namespace drl::robot_compiler {

// Owns the tables of a physics::HullFaces.
struct MeshFaces {
  std::vector<std::array<double, 3>> normals;
  std::vector<int> first_corner, corners;  // vertices of the MeshHull
  std::vector<int> first_face, faces;      // of each of these vertices

  // The result must not outlive this object.
  physics::HullFaces view() const;
};

// Reads the faces of the hull that read_hull() returns for this mesh.
MeshFaces read_faces(const mjModel_& model, int mesh);

// Writes a function `name` that returns the physics::HullFaces, as emit_hull() does.
std::string emit_faces(const MeshFaces& faces, const std::string& name);

}  // namespace drl::robot_compiler
