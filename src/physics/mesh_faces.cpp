#include "physics/mesh_faces.hpp"

#include "drl/physics/mujoco_model.hpp"
#include "physics/emit_text.hpp"
#include "physics/mesh_hulls.hpp"

namespace drl::robot_compiler {

physics::HullFaces MeshFaces::view() const {
  static_assert(sizeof(std::array<double, 3>) == sizeof(double[3]));
  return {.normals = reinterpret_cast<const double(*)[3]>(normals.data()),
          .first_corner = first_corner.data(),
          .corners = corners.data(),
          .first_face = first_face.data(),
          .faces = faces.data()};
}

MeshFaces read_faces(const mjModel_& model, int mesh) {
  const std::vector<int> vertices = vertices_of_hull(model, mesh);
  std::vector<int> place_of(static_cast<size_t>(model.mesh_vertnum[mesh]), -1);
  for (size_t v = 0; v < vertices.size(); ++v) place_of[static_cast<size_t>(vertices[v])] = static_cast<int>(v);
  MeshFaces all;
  const int first = model.mesh_polyadr[mesh], count = model.mesh_polynum[mesh];
  for (int face = first; face < first + count; ++face) {
    const mjtNum* normal = model.mesh_polynormal + 3 * face;
    all.normals.push_back({normal[0], normal[1], normal[2]});
    all.first_corner.push_back(static_cast<int>(all.corners.size()));
    const int* corners = model.mesh_polyvert + model.mesh_polyvertadr[face];
    for (int k = 0; k < model.mesh_polyvertnum[face]; ++k)
      all.corners.push_back(place_of[static_cast<size_t>(corners[k])]);
  }
  all.first_corner.push_back(static_cast<int>(all.corners.size()));
  for (const int v : vertices) {
    const int at = model.mesh_vertadr[mesh] + v;
    const int* faces = model.mesh_polymap + model.mesh_polymapadr[at];
    all.first_face.push_back(static_cast<int>(all.faces.size()));
    all.faces.insert(all.faces.end(), faces, faces + model.mesh_polymapnum[at]);
  }
  all.first_face.push_back(static_cast<int>(all.faces.size()));
  return all;
}

std::string emit_faces(const MeshFaces& faces, const std::string& name) {
  const auto to_text = [](int k) { return std::to_string(k); };
  const auto row = [](const std::array<double, 3>& v) { return "{" + listed(v, number) + "}"; };
  const auto line = [](const std::string& text) { return wrapped(text, "  "); };
  std::string text = "  DRL_HD static HullFaces " + name + "() {\n";
  text += line(table("static constexpr double normals[][3]", faces.normals, "{}", row));
  const auto add = [&](const std::string& of, const std::vector<int>& numbers) {
    text += line(table("static constexpr int " + of + "[]", numbers, "0", to_text));
  };
  add("first_corner", faces.first_corner), add("corners", faces.corners);
  add("first_face", faces.first_face), add("faces", faces.faces);
  return text + "  return {normals, first_corner, corners, first_face, faces};\n  }\n";
}

}  // namespace drl::robot_compiler
