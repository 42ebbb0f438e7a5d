// The convex hulls of meshes, which collide instead of the meshes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "drl/physics/shapes.hpp"

struct mjModel_;  // mjModel; models are described without MuJoCo's header

namespace drl::robot_compiler {

// Owns the tables of a physics::Hull.
struct MeshHull {
  int mesh = 0;  // MuJoCo's index
  std::vector<std::array<float, 3>> vertices;
  std::vector<int> first_neighbour, neighbours;  // empty if MuJoCo has computed no hull
  int start = 0;
  bool climbs = false;
  double radius = 0;
  bool counts_start = false;
  std::vector<int> starts;  // 27, or none

  // The result must not outlive this object.
  physics::Hull view() const;
};

// Returns the indices of the mesh's vertices that are those of its hull, in the hull's order.
std::vector<int> vertices_of_hull(const mjModel_& model, int mesh);
// Reads the hull of a mesh. Of a mesh for which MuJoCo has computed no hull, because no geom that collides uses it, all
// vertices are read.
MeshHull read_hull(const mjModel_& model, int mesh);

// Writes a function `name` that returns the physics::Hull, for a robot's header. Its tables are inside the function
// because GPU code cannot read tables outside functions.
std::string emit_hull(const MeshHull& hull, const std::string& name);

// The faces of meshes' convex hulls, which decide the contacts of meshes in models with the flag multiccd.

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
