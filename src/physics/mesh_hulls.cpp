#include "physics/mesh_hulls.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "physics/emit_text.hpp"

namespace drl::robot_compiler {

namespace {

// MuJoCo's table of a hull (mjModel's mesh_graph): two counts, where the neighbours of each vertex start, the vertices'
// indices in the mesh, and the neighbours' indices in this table, which end with -1.
struct Graph {
  int count;
  const int *first, *vertex, *neighbours;
  explicit Graph(const int* table)
      : count(table[0]), first(table + 2), vertex(table + 2 + count), neighbours(table + 2 + 2 * count) {}
};

// Returns whether MuJoCo climbs along the edges of a mesh's hull.
bool climbs(const mjModel_& model, int mesh) {
  constexpr int kLeastToClimb = 10;  // vertices of the mesh, below which MuJoCo tries all of them
  return model.mesh_graphadr[mesh] >= 0 && model.mesh_vertnum[mesh] >= kLeastToClimb;
}

}  // namespace

physics::Hull MeshHull::view() const {
  static_assert(sizeof(std::array<float, 3>) == sizeof(float[3]));
  return {.vertices = reinterpret_cast<const float(*)[3]>(vertices.data()),
          .count = static_cast<int>(vertices.size()),
          .first_neighbour = first_neighbour.empty() ? nullptr : first_neighbour.data(),
          .neighbours = first_neighbour.empty() ? nullptr : neighbours.data(),
          .start = start,
          .climbs = climbs,
          .radius = radius,
          .counts_start = counts_start,
          .starts = starts.empty() ? nullptr : starts.data()};
}

std::vector<int> vertices_of_hull(const mjModel_& model, int mesh) {
  std::vector<int> kept(static_cast<size_t>(model.mesh_vertnum[mesh]));
  std::iota(kept.begin(), kept.end(), 0);
  if (climbs(model, mesh)) {
    const Graph graph(model.mesh_graph + model.mesh_graphadr[mesh]);
    kept.assign(graph.vertex, graph.vertex + graph.count);
    std::ranges::sort(kept);  // the mesh's order decides between equally far vertices
  }
  return kept;
}

MeshHull read_hull(const mjModel_& model, int mesh) {
  const float* all = model.mesh_vert + 3 * model.mesh_vertadr[mesh];
  const int graph_at = model.mesh_graphadr[mesh];
  const std::vector<int> kept = vertices_of_hull(model, mesh);
  MeshHull hull;
  hull.mesh = mesh;
  hull.climbs = climbs(model, mesh);
  double widest[3] = {0, 0, 0};
  for (const int v : kept) {
    hull.vertices.push_back({all[3 * v], all[3 * v + 1], all[3 * v + 2]});
    for (int k = 0; k < 3; ++k) widest[k] = std::max(widest[k], std::abs(static_cast<double>(all[3 * v + k])));
  }
  hull.radius = std::hypot(widest[0], widest[1], widest[2]);
  if (graph_at < 0) return hull;
  const Graph graph(model.mesh_graph + graph_at);
  const auto place_of = [&](int local) {
    return static_cast<int>(std::ranges::lower_bound(kept, graph.vertex[local]) - kept.begin());
  };
  std::vector<int> local_of(kept.size(), -1);
  const bool are_confused = mujoco::kConfusesSmallMeshes && !hull.climbs;
  for (int local = 0; local < graph.count; ++local) local_of[are_confused ? local : place_of(local)] = local;
  for (const int local : local_of) {
    hull.first_neighbour.push_back(static_cast<int>(hull.neighbours.size()));
    if (local < 0) continue;  // inside the hull
    for (const int* n = graph.neighbours + graph.first[local]; *n >= 0; ++n) hull.neighbours.push_back(place_of(*n));
  }
  hull.first_neighbour.push_back(static_cast<int>(hull.neighbours.size()));
  hull.start = place_of(0);
  hull.counts_start = mujoco::kClimbCountsStart;
#if mjVERSION_HEADER >= 3012000
  if (hull.climbs)
    for (int k = 0; k < 27; ++k) hull.starts.push_back(place_of(std::max(0, model.mesh_extrema[27 * mesh + k])));
#endif
  return hull;
}

std::string emit_hull(const MeshHull& hull, const std::string& name) {
  const auto line = [](const std::string& text) { return wrapped(text, "  "); };
  const bool has_edges = !hull.first_neighbour.empty();
  std::string text = "  DRL_HD static Hull " + name + "() {\n";
  text += line(array("static constexpr float vertices[][3]", hull.vertices, "{}"));
  if (has_edges)
    text += line(array("static constexpr int first_neighbour[]", hull.first_neighbour)) +
            line(array("static constexpr int neighbours[]", hull.neighbours, "0"));
  if (!hull.starts.empty()) text += line(array("static constexpr int starts[]", hull.starts));
  std::string counts;  // before MuJoCo 3.11, nothing
  if (hull.counts_start) counts = hull.starts.empty() ? ", true" : ", true, starts";
  return text +
         line("return " +
              braced("vertices", hull.vertices.size(), has_edges ? "first_neighbour, neighbours" : "nullptr, nullptr",
                     hull.start, hull.climbs, number(hull.radius) + counts) +
              ";") +
         "  }\n";
}

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
  for (size_t v = 0; v < vertices.size(); ++v) place_of[vertices[v]] = static_cast<int>(v);
  MeshFaces all;
  const int first = model.mesh_polyadr[mesh], count = model.mesh_polynum[mesh];
  for (int face = first; face < first + count; ++face) {
    const mjtNum* normal = model.mesh_polynormal + 3 * face;
    all.normals.push_back({normal[0], normal[1], normal[2]});
    all.first_corner.push_back(static_cast<int>(all.corners.size()));
    const int* corners = model.mesh_polyvert + model.mesh_polyvertadr[face];
    for (int k = 0; k < model.mesh_polyvertnum[face]; ++k) all.corners.push_back(place_of[corners[k]]);
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
  const auto line = [](const std::string& declaration, const auto& list, const char* empty) {
    return wrapped(array("static constexpr " + declaration, list, empty), "  ");
  };
  return "  DRL_HD static HullFaces " + name + "() {\n" + line("double normals[][3]", faces.normals, "{}") +
         line("int first_corner[]", faces.first_corner, "0") + line("int corners[]", faces.corners, "0") +
         line("int first_face[]", faces.first_face, "0") + line("int faces[]", faces.faces, "0") +
         "  return {normals, first_corner, corners, first_face, faces};\n  }\n";
}

}  // namespace drl::robot_compiler
