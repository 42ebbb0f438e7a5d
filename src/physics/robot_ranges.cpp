#include "physics/robot_reader.hpp"

namespace drl::robot_compiler {
namespace {

class Reader : PartReader {
 public:
  using PartReader::PartReader;

  std::string read(int s, Sensor& sensor) {
    if (m_.sensor_objtype[s] != mjOBJ_SITE) return "it shows an image of a camera";
    if (m_.sensor_intprm[mjNSENS * s] != 1 << mjRAYDATA_DIST) return "it shows more than a distance";
    const int site = sensor.index, frame = m_.site_bodyid[site];
    std::vector<SensorGeom> met;
    for (int g = 0; g < m_.ngeom; ++g) {
      if (!is_visible(g) || m_.geom_bodyid[g] == frame || is_known(g)) continue;
      SensorGeom geom{.geom = g, .frame = m_.geom_bodyid[g], .size = sizes_of(g), .bound = m_.geom_rbound[g]};
      if (const std::string why = read_kind(g, geom); !why.empty()) return why;
      met.push_back(geom);
    }
    r_.ray_geoms.insert(r_.ray_geoms.end(), met.begin(), met.end());
    sensor.index = static_cast<int>(r_.range_finders.size());
    r_.range_finders.push_back(
        {.frame = frame, .site = r_.sites[site], .number = sensor.first, .cutoff = sensor.cutoff});
    return "";
  }

 private:
  // Rays pass through geoms that are wholly transparent.
  bool is_visible(int g) const {
    const int material = m_.geom_matid[g];
    return (material < 0 ? m_.geom_rgba[4 * g + 3] : m_.mat_rgba[4 * material + 3]) != 0;
  }
  bool is_known(int g) const { return std::ranges::find(r_.ray_geoms, g, &SensorGeom::geom) != r_.ray_geoms.end(); }
  Numbers3 sizes_of(int g) const { return {m_.geom_size[3 * g], m_.geom_size[3 * g + 1], m_.geom_size[3 * g + 2]}; }
  // Returns the index of a mesh among those that rays may meet, and adds the mesh if it is new; or -1 if these would
  // have too many triangles for a header.
  int mesh_of(int mesh) {
    const auto known = std::ranges::find(r_.ray_meshes, mesh, &RayMesh::mesh);
    if (known != r_.ray_meshes.end()) return static_cast<int>(known - r_.ray_meshes.begin());
    size_t count = m_.mesh_facenum[mesh];
    for (const RayMesh& other : r_.ray_meshes) count += other.triangles.size();
    if (count > kMostTriangles) return -1;
    RayMesh& added = r_.ray_meshes.emplace_back(RayMesh{.mesh = mesh});
    for (int f = m_.mesh_faceadr[mesh]; f < m_.mesh_faceadr[mesh] + m_.mesh_facenum[mesh]; ++f) {
      auto& triangle = added.triangles.emplace_back();
      for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 3; ++k)
          triangle[c][k] = m_.mesh_vert[3 * (m_.mesh_vertadr[mesh] + m_.mesh_face[3 * f + c]) + k];
    }
    return static_cast<int>(r_.ray_meshes.size()) - 1;
  }
  // Reads the kind of a geom, or returns why lanes have no rays against it.
  std::string read_kind(int g, SensorGeom& geom) {
    const auto of_kind = [&](const char* kind) {
      return std::string("its ray may meet ") + kind + ", geom '" + name(mjOBJ_GEOM, g) + "'";
    };
    if (m_.geom_type[g] == mjGEOM_MESH) {
      geom.kind = SensorGeom::mesh, geom.data = mesh_of(m_.geom_dataid[g]);
      return geom.data < 0 ? of_kind("meshes of more than 5000 triangles") : "";
    }
    if (m_.geom_type[g] > mjGEOM_MESH) return of_kind("a shape that lanes do not know");
    geom.kind = shape_of(m_.geom_type[g]);
    if (geom.kind != SensorGeom::height_field) return "";
    // Lanes have the heights of those that geoms touch.
    const auto field = std::ranges::find(r_.height_fields, m_.geom_dataid[g], &HeightField::index);
    if (field == r_.height_fields.end()) return of_kind("a height field that nothing touches");
    geom.data = static_cast<int>(field - r_.height_fields.begin());
    return "";
  }

  static constexpr size_t kMostTriangles = 5000;
};

}  // namespace

std::string read_range_finder(const mjModel& model, int sensor, Sensor& to, RobotModel& robot) {
  return Reader(model, robot).read(sensor, to);
}

}  // namespace drl::robot_compiler
