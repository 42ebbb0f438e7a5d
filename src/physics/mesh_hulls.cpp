#include "physics/mesh_hulls.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drl/physics/mujoco_model.hpp"
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
          .radius = radius};
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
  for (int local = 0; local < graph.count; ++local) local_of[static_cast<size_t>(place_of(local))] = local;
  for (const int local : local_of) {
    hull.first_neighbour.push_back(static_cast<int>(hull.neighbours.size()));
    if (local < 0) continue;  // inside the hull
    for (const int* n = graph.neighbours + graph.first[local]; *n >= 0; ++n) hull.neighbours.push_back(place_of(*n));
  }
  hull.first_neighbour.push_back(static_cast<int>(hull.neighbours.size()));
  hull.start = place_of(0);
  return hull;
}

std::string emit_hull(const MeshHull& hull, const std::string& name) {
  const auto to_text = [](int k) { return std::to_string(k); };
  const auto row = [](const std::array<float, 3>& v) {
    return "{" + listed(v, [](float x) { return number(x) + "f"; }) + "}";
  };
  const auto line = [](const std::string& text) { return wrapped(text, "  "); };
  const bool has_edges = !hull.first_neighbour.empty();
  std::string text = "  DRL_HD static Hull " + name + "() {\n";
  text += line(table("static constexpr float vertices[][3]", hull.vertices, "{}", row));
  if (has_edges) {
    text += line(table("static constexpr int first_neighbour[]", hull.first_neighbour, "0", to_text));
    text += line(table("static constexpr int neighbours[]", hull.neighbours, "0", to_text));
  }
  text += line("return {vertices, " + std::to_string(hull.vertices.size()) + ", " +
               (has_edges ? "first_neighbour, neighbours" : "nullptr, nullptr") + ", " + std::to_string(hull.start) +
               ", " + (hull.climbs ? "true" : "false") + ", " + number(hull.radius) + "};");
  return text + "  }\n";
}

}  // namespace drl::robot_compiler
