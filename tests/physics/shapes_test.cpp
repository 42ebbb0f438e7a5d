// Compares the contacts of two shapes with those of libmujoco, for every pair of kinds.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "drl/lanes/philox.hpp"
#include "drl/physics/collide.hpp"
#include "physics/mesh_hulls.hpp"

namespace drl {
namespace {

using namespace physics;

constexpr int kTypes[] = {mjGEOM_PLANE,    mjGEOM_SPHERE, mjGEOM_CAPSULE, mjGEOM_ELLIPSOID,
                          mjGEOM_CYLINDER, mjGEOM_BOX,    mjGEOM_MESH};
constexpr const char* kNames[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};

class Draws {
 public:
  explicit Draws(uint32_t stream) : stream_(stream) {}
  // Returns a pseudorandom number from a to b.
  double operator()(double a, double b) {
    return a + (b - a) * static_cast<double>(uniform01(random_bits(stream_, Purpose::benchmark, draws_++, 0)[0]));
  }
  int below(int n) { return std::min(n - 1, static_cast<int>((*this)(0, n))); }
  Vec3 direction() {
    for (;;) {
      const Vec3 v{(*this)(-1, 1), (*this)(-1, 1), (*this)(-1, 1)};
      if (const double size = length(v); size > 0.1 && size < 1) return 1 / size * v;
    }
  }

 private:
  uint32_t stream_, draws_ = 0;
};

// Two bodies, each with a geom whose kind and size are set for each pose, and a plane.
class TwoGeoms {
 public:
  TwoGeoms() {
    std::string meshes, geoms;
    for (const auto& [name, vertices] : clouds()) {
      meshes += "<mesh name=\"" + name + "\" inertia=\"convex\" vertex=\"";
      for (const Vec3& v : vertices)
        for (int k = 0; k < 3; ++k) meshes += std::to_string(v[k]) + " ";
      meshes += "\"/>";
      geoms += "<geom type=\"mesh\" mesh=\"" + name + "\"/>";
    }
    const std::string text = "<mujoco><asset>" + meshes +
                             "</asset><worldbody><geom name=\"plane\" type=\"plane\" size=\"1 1 1\"/>"
                             "<body name=\"a\"><freejoint/><geom size=\".1\" mass=\"1\"/></body>"
                             "<body name=\"b\"><freejoint/><geom size=\".1\" mass=\"1\"/></body>"
                             "<body name=\"meshes\">" +
                             geoms + "</body></worldbody></mujoco>";
    char error[1000] = "";
    mjSpec* spec = mj_parseXMLString(text.c_str(), nullptr, error, sizeof(error));
    EXPECT_NE(spec, nullptr) << error;
    model_ = mj_compile(spec, nullptr);
    EXPECT_NE(model_, nullptr) << mjs_getError(spec);
    mj_deleteSpec(spec);
    data_ = mj_makeData(model_);
    for (int mesh = 0; mesh < model_->nmesh; ++mesh) {
      hulls_.push_back(robot_compiler::read_hull(*model_, mesh));
      radius_.push_back(model_->geom_rbound[3 + mesh]);
    }
    for (const auto& hull : hulls_) views_.push_back(hull.view());
    for (int g = 0; g < model_->ngeom; ++g) model_->geom_contype[g] = model_->geom_conaffinity[g] = 0;
  }
  ~TwoGeoms() { mj_deleteData(data_), mj_deleteModel(model_); }
  TwoGeoms(const TwoGeoms&) = delete;
  TwoGeoms& operator=(const TwoGeoms&) = delete;

  const mjModel& model() const { return *model_; }
  const robot_compiler::MeshHull& hull(int mesh) const { return hulls_[static_cast<size_t>(mesh)]; }
  double radius(int mesh) const { return radius_[static_cast<size_t>(mesh)]; }
  int meshes() const { return static_cast<int>(hulls_.size()); }
  mjModel* raw() { return model_; }
  mjData* data() { return data_; }

  // Sets a geom (0 or 1) and its pose. Returns the radius of a ball around it.
  double set(int which, ShapeKind kind, const double* size, int mesh, const Vec3& position, const double* quat) {
    const int type = kTypes[static_cast<int>(kind)], g = geom_[which] = type == mjGEOM_PLANE ? 0 : 1 + which;
    model_->geom_type[g] = type;
    model_->geom_dataid[g] = kind == ShapeKind::mesh ? mesh : -1;
    double radius = 0;
    for (int k = 0; k < 3; ++k) model_->geom_size[3 * g + k] = size[k], radius += size[k];
    if (kind == ShapeKind::mesh) radius = radius_[static_cast<size_t>(mesh)];
    mesh_[which] = mesh;
    model_->geom_rbound[g] = type == mjGEOM_PLANE ? 0 : type == mjGEOM_MESH ? radius : 100;  // switches the filter off
    for (int k = 0; k < 3; ++k) (g == 0 ? model_->geom_pos[k] : data_->qpos[7 * which + k]) = position[k];
    for (int k = 0; k < 4; ++k) (g == 0 ? model_->geom_quat[k] : data_->qpos[7 * which + 3 + k]) = quat[k];
    return radius;
  }
  // Runs libmujoco's collision detection.
  std::vector<ShapeContact> reference(double margin) {
    for (int g = 0; g < 3; ++g) model_->geom_contype[g] = model_->geom_conaffinity[g] = 0, model_->geom_margin[g] = 0;
    for (const int g : geom_) model_->geom_contype[g] = model_->geom_conaffinity[g] = 1;
    model_->geom_margin[geom_[0]] = margin;
    mj_kinematics(model_, data_);
    mj_comPos(model_, data_);
    mj_collision(model_, data_);
    std::vector<ShapeContact> contacts;
    for (int c = 0; c < data_->ncon; ++c) {
      const mjContact& from = data_->contact[c];
      EXPECT_EQ(from.geom[0], geom_[0]);
      if (from.exclude != 0) continue;
      contacts.push_back(
          {{from.pos[0], from.pos[1], from.pos[2]}, {from.frame[0], from.frame[1], from.frame[2]}, from.dist});
    }
    return contacts;
  }
  Shape shape(int which) const {
    const int g = geom_[which];
    Shape s{};
    s.kind = static_cast<ShapeKind>(std::ranges::find(kTypes, model_->geom_type[g]) - kTypes);
    for (int k = 0; k < 3; ++k) s.size[k] = model_->geom_size[3 * g + k], s.position[k] = data_->geom_xpos[3 * g + k];
    for (int k = 0; k < 9; ++k) s.turn[k / 3][k % 3] = data_->geom_xmat[9 * g + k];
    s.hull = s.kind == ShapeKind::mesh ? &views_[static_cast<size_t>(mesh_[which])] : nullptr;
    return s;
  }

 private:
  // A tetrahedron, a box with points inside, a cloud with few points, a stone with 50 points of a sphere, and a prism
  // with flat ends.
  static std::map<std::string, std::vector<Vec3>> clouds() {
    Draws draw(1);
    std::map<std::string, std::vector<Vec3>> all;
    all["1tetrahedron"] = {{0, 0, 0}, {0.3, 0, 0}, {0, 0.2, 0}, {0.1, 0.1, 0.25}};
    for (int k = 0; k < 8; ++k) all["2box"].push_back({k & 1 ? 0.1 : -0.1, k & 2 ? 0.2 : -0.2, k & 4 ? 0.15 : -0.15});
    for (int k = 0; k < 5; ++k) all["2box"].push_back({draw(-0.1, 0.1), draw(-0.2, 0.2), draw(-0.15, 0.15)});
    for (int k = 0; k < 8; ++k) all["3few"].push_back({draw(-0.2, 0.2), draw(-0.2, 0.2), draw(-0.2, 0.2)});
    for (int k = 0; k < 50; ++k) {
      const Vec3 v = draw.direction();
      all["4stone"].push_back({0.3 * v[0], 0.2 * v[1], 0.15 * v[2]});
    }
    for (int k = 0; k < 24; ++k) {
      const double angle = 2 * std::numbers::pi * (k / 2) / 12;
      all["5prism"].push_back({0.15 * std::cos(angle), 0.15 * std::sin(angle), k % 2 == 0 ? 0.1 : -0.1});
    }
    return all;
  }

  mjModel* model_ = nullptr;
  mjData* data_ = nullptr;
  std::vector<robot_compiler::MeshHull> hulls_;
  std::vector<physics::Hull> views_;
  std::vector<double> radius_;
  int geom_[2] = {1, 2}, mesh_[2] = {0, 0};
};

// What a comparison has found.
struct Differences {
  int poses = 0, with_contacts = 0, contacts = 0, other_counts = 0;
  double distance = 0, normal = 0, point = 0;
  std::vector<double> points;

  void compare(const std::vector<ShapeContact>& expected, const ShapeContact* actual, int count) {
    poses += 1, with_contacts += expected.empty() ? 0 : 1;
    if (count != static_cast<int>(expected.size())) {
      other_counts += 1;
      return;
    }
    for (int c = 0; c < count; ++c) {
      contacts += 1;
      const ShapeContact &x = expected[static_cast<size_t>(c)], &y = actual[c];
      double of_point = 0;
      for (int k = 0; k < 3; ++k) {
        normal = std::max(normal, std::abs(x.normal[k] - y.normal[k]));
        of_point = std::max(of_point, std::abs(x.point[k] - y.point[k]));
      }
      point = std::max(point, of_point);
      points.push_back(of_point);
      distance = std::max(distance, std::abs(x.distance - y.distance));
    }
  }
  double share() const { return static_cast<double>(other_counts) / poses; }
  void print(const std::string& what) {
    std::ranges::sort(points);
    std::printf(
        "%-24s %6d poses %6d touch %6d contacts %8.5f%% other counts, distance %.1e normal %.1e point %.1e (99%% "
        "%.1e)\n",
        what.c_str(), poses, with_contacts, contacts, 100 * share(), distance, normal, point,
        points.empty() ? 0 : points[points.size() * 99 / 100]);
  }
};

// How shapes are placed.
enum class Poses { random, upright };

struct Placed {
  Vec3 position;
  double quat[4];
};
void random_quat(Draws& draw, double* quat) {
  const Vec3 axis = draw.direction();
  const double axis_[3] = {axis[0], axis[1], axis[2]};
  mju_axisAngle2Quat(quat, axis_, draw(0, 2 * std::numbers::pi));
}
// One of the 24 orientations along the axes, turned by up to `angle`.
void upright_quat(Draws& draw, double angle, double* quat) {
  double turned[4] = {1, 0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    const double axis[3] = {k == 0 ? 1.0 : 0, k == 1 ? 1.0 : 0, k == 2 ? 1.0 : 0};
    double by[4], product[4];
    mju_axisAngle2Quat(by, axis, std::numbers::pi / 2 * draw.below(4));
    mju_mulQuat(product, by, turned);
    mju_copy4(turned, product);
  }
  const Vec3 axis = draw.direction();
  const double axis_[3] = {axis[0], axis[1], axis[2]};
  double by[4];
  mju_axisAngle2Quat(by, axis_, angle);
  mju_mulQuat(quat, by, turned);
}

Differences compare_kinds(TwoGeoms& world, ShapeKind first, ShapeKind second, Poses poses, int count) {
  Draws draw(100 + 10 * static_cast<uint32_t>(first) + static_cast<uint32_t>(second));
  Differences found;
  ShapeContact contacts[kMostShapeContacts];
  for (int n = 0; n < count; ++n) {
    double radius[2];
    const double margin = n % 3 == 0 ? 0 : n % 3 == 1 ? 0.02 : draw(0, 0.1);
    Vec3 at{0.1, -0.2, 0.3};
    double quats[2][4], size[2][3];
    const int mesh[2] = {draw.below(world.meshes()), draw.below(world.meshes())};
    for (int which = 0; which < 2; ++which) {
      for (double& x : size[which]) x = draw(0.05, 0.3);
      if (poses == Poses::random)
        random_quat(draw, quats[which]);
      else
        upright_quat(draw, n % 4 == 0 ? 0 : n % 4 == 1 ? 1e-9 : n % 4 == 2 ? 1e-5 : 1e-2, quats[which]);
      radius[which] = world.set(which, which == 0 ? first : second, size[which], mesh[which], at, quats[which]);
    }
    Vec3 way = draw.direction();
    double apart = draw(0, 1.1) * (radius[0] + radius[1]) + margin;
    if (first == ShapeKind::plane) {
      double turn[9];
      mju_quat2Mat(turn, quats[0]);
      way = {turn[2], turn[5], turn[8]};
      apart = draw(-0.2, 1.1) * radius[1] + margin;
    }
    if (poses == Poses::upright && first != ShapeKind::plane) {
      // Touching along one axis of the world, shifted along the others.
      const int k = draw.below(3);
      for (int i = 0; i < 3; ++i) way[i] = i == k ? 1 : n % 2 == 0 ? 0 : draw(-1, 1);
      apart = draw(0.2, 0.8) * (radius[0] + radius[1]);
    }
    world.set(1, second, size[1], mesh[1], at + apart * way, quats[1]);
    const std::vector<ShapeContact> expected = world.reference(margin);
    const Shape a = world.shape(0), b = world.shape(1);
    found.compare(expected, contacts, collide(a, b, margin, {}, contacts));
  }
  return found;
}

bool is_closed_form(ShapeKind a, ShapeKind b) {
  using enum ShapeKind;
  return a == plane || (a == sphere && b != ellipsoid && b != mesh) || (a == capsule && (b == capsule || b == box)) ||
         (a == box && b == box);
}

TEST(Shapes, CollideLikeLibmujoco) {
  TwoGeoms world;
  for (const Poses poses : {Poses::random, Poses::upright})
    for (int a = 0; a < 7; ++a)
      for (int b = std::max(a, 1); b < 7; ++b) {
        const auto first = static_cast<ShapeKind>(a), second = static_cast<ShapeKind>(b);
        Differences found = compare_kinds(world, first, second, poses, 4000);
        found.print(std::string(poses == Poses::random ? "" : "upright ") + kNames[a] + "-" + kNames[b]);
        const bool is_closed = is_closed_form(first, second);
        EXPECT_LE(found.share(), 0.001);
        EXPECT_LE(found.distance, is_closed ? 1e-9 : 1e-6);
      }
}

}  // namespace
}  // namespace drl
