// Two geoms of any kinds in libmujoco, whose contacts are the reference for drl/physics/collide.hpp.
#pragma once

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "drl/lanes/philox.hpp"
#include "drl/physics/gjk.hpp"
#include "drl/physics/height_fields.hpp"
#include "drl/physics/mujoco_version.hpp"
#include "drl/physics/shapes.hpp"
#include "physics/mesh_hulls.hpp"

namespace drl::test {

using physics::Shape;
using physics::ShapeContact;
using physics::ShapeKind;
using physics::Vec3;

// A sequence of pseudorandom numbers.
class Draws {
 public:
  explicit Draws(uint32_t stream) : stream_(stream) {}

  double operator()(double low, double high) {
    return low +
           (high - low) * static_cast<double>(uniform01(random_bits(stream_, Purpose::benchmark, draws_++, 0)[0]));
  }
  int below(int n) { return std::min(n - 1, static_cast<int>((*this)(0, n))); }
  Vec3 direction() {
    for (;;) {
      const Vec3 v{(*this)(-1, 1), (*this)(-1, 1), (*this)(-1, 1)};
      if (const double size = length(v); size > 0.1 && size < 1) return 1 / size * v;
    }
  }
  void turn(double* quat) { turn_about(direction(), (*this)(0, 2 * std::numbers::pi), quat); }
  // Draws one of the 24 orientations along the world's axes, turned further by an angle.
  void upright_turn(double angle, double* quat) {
    const Vec3 axes[4] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, direction()};
    quat[0] = 1, quat[1] = quat[2] = quat[3] = 0;
    for (int k = 0; k < 4; ++k) {
      double by[4], before[4];
      mju_copy4(before, quat);
      turn_about(axes[k], k < 3 ? std::numbers::pi / 2 * below(4) : angle, by);
      mju_mulQuat(quat, by, before);
    }
  }

 private:
  static void turn_about(const Vec3& axis, double angle, double* quat) { mju_axisAngle2Quat(quat, axis.at, angle); }

  uint32_t stream_, draws_ = 0;
};

struct GeomPose {
  ShapeKind kind;
  int mesh = 0;  // used if the kind is mesh
  double size[3] = {0, 0, 0};
  Vec3 position{0, 0, 0};
  double quat[4] = {1, 0, 0, 0};
};

// Those of the models, with what depends on MuJoCo's version.
constexpr physics::ConvexOptions kOptions{.capsules_overlap = mujoco::kCapsulesOverlap,
                                          .boxes_clip_faces = mujoco::kBoxesClipFaces,
                                          .by_unit_normals = mujoco::kClipsByUnitNormals,
                                          .planes_touch_faces = mujoco::kPlanesTouchFaces,
                                          .faces_turn_outwards = mujoco::kFacesTurnOutwards,
                                          .boxes_have_eight = mujoco::kBoxesHaveEight,
                                          .is_stable = mujoco::kConvexSearchIsStable,
                                          .sides_touch = mujoco::kSidesTouch};

constexpr int kBoxMesh = 1;  // the mesh that is a box with points inside

class TwoGeoms {
 public:
  TwoGeoms() {
    std::string meshes, geoms;
    for (const auto& [name, vertices] : clouds()) {
      meshes += "<mesh name='" + name + "' inertia='convex' vertex='";
      for (const Vec3& v : vertices)
        for (int k = 0; k < 3; ++k) meshes += std::to_string(v[k]) + " ";
      meshes += "'/>";
      geoms += "<geom type='mesh' mesh='" + name + "'/>";
    }
    const std::string body = "<body><freejoint/><geom size='.1' mass='1'/></body>";
    const std::string text =
        "<mujoco><asset><hfield name='hills' nrow='9' ncol='12' size='0.6 0.5 0.3 0.1'/>" + meshes +
        "</asset><worldbody><geom type='plane' size='1 1 1'/><geom type='hfield' hfield='hills'/>" + body + body +
        "<body>" + geoms + "</body></worldbody></mujoco>";
    char error[1000] = "";
    mjSpec* spec = mj_parseXMLString(text.c_str(), nullptr, error, sizeof(error));
    EXPECT_NE(spec, nullptr) << error;
    model_ = mj_compile(spec, nullptr);
    EXPECT_NE(model_, nullptr) << mjs_getError(spec);
    mj_deleteSpec(spec);
    // The broad phase and the middle phase know the geoms as they were compiled.
    model_->opt.disableflags |= mjDSBL_MIDPHASE;
    for (int k = 0; k < model_->nbvhstatic; ++k) std::fill_n(model_->bvh_aabb + 6 * k + 3, 3, 100.0);
    for (int g = 0; g < model_->ngeom; ++g) std::fill_n(model_->geom_aabb + 6 * g + 3, 3, 100.0);
    std::fill_n(model_->geom_sameframe, model_->ngeom, mjtByte{mjSAMEFRAME_NONE});  // those of the world move
    data_ = mj_makeData(model_), scratch_ = mj_makeData(model_);
    Draws draw(2);
    for (int k = 0; k < model_->nhfielddata; ++k) model_->hfield_data[k] = static_cast<float>(draw(0, 1));
    for (int mesh = 0; mesh < model_->nmesh; ++mesh) {
      hulls_.push_back(robot_compiler::read_hull(*model_, mesh));
      faces_.push_back(robot_compiler::read_faces(*model_, mesh));
    }
    mujoco::set_multiccd(*model_, false);
    for (size_t k = 0; k < hulls_.size(); ++k) {
      views_.push_back(hulls_[k].view());
      views_.back().faces = faces_[k].view();
    }
    for (int g = 0; g < model_->ngeom; ++g) model_->geom_contype[g] = model_->geom_conaffinity[g] = 0;
  }
  ~TwoGeoms() { mj_deleteData(data_), mj_deleteData(scratch_), mj_deleteModel(model_); }
  TwoGeoms(const TwoGeoms&) = delete;
  TwoGeoms& operator=(const TwoGeoms&) = delete;

  const mjModel& model() const { return *model_; }
  // Sets the flag multiccd.
  void enable_multiccd() { mujoco::set_multiccd(*model_, true); }
  int meshes() const { return static_cast<int>(hulls_.size()); }
  const robot_compiler::MeshHull& hull(int mesh) const { return hulls_[static_cast<size_t>(mesh)]; }
  const robot_compiler::MeshFaces& faces(int mesh) const { return faces_[static_cast<size_t>(mesh)]; }
  // Returns about how far a geom extends from its centre.
  double radius(const GeomPose& pose) const {
    if (pose.kind == ShapeKind::plane || pose.kind == ShapeKind::prism) return 0;
    return pose.kind == ShapeKind::mesh ? hull(pose.mesh).radius : pose.size[0] + pose.size[1] + pose.size[2];
  }

  // Returns the contacts that libmujoco includes. Only the first geom may be a plane.
  std::vector<ShapeContact> contacts(const GeomPose& first, const GeomPose& second, double margin) {
    for (const int g : {0, 1, 2, 3})
      model_->geom_contype[g] = model_->geom_conaffinity[g] = 0, model_->geom_margin[g] = 0;
    set(0, first), set(1, second);
    model_->geom_margin[geom_[0]] = margin;
    std::fill_n(model_->body_margin, model_->nbody, margin);
    if (mujoco::kSetConstBoundsGeoms) mj_setConst(model_, mj_copyData(scratch_, model_, data_));
    mj_kinematics(model_, data_), mj_comPos(model_, data_), mj_collision(model_, data_);
    std::vector<ShapeContact> all;
    for (int c = 0; c < data_->ncon; ++c) {
      const mjContact& from = data_->contact[c];
      EXPECT_EQ(from.geom[0], geom_[0]);
      if (from.exclude != 0) continue;
      ShapeContact& to = all.emplace_back();
      to.distance = from.dist;
      for (int k = 0; k < 3; ++k) to.point[k] = from.pos[k], to.normal[k] = from.frame[k];
    }
    return all;
  }
  // Returns libmujoco's distance of the geoms, of at most `most`, and the points that it is between.
  double distance(const GeomPose& first, const GeomPose& second, double most, double* points) {
    set(0, first), set(1, second);
    mj_kinematics(model_, data_);
    return mj_geomDistance(model_, data_, geom_[0], geom_[1], most, points);
  }
  // Moves `b` from a place in this direction, where the geoms are apart, until it overlaps `a` by `depth`.
  void overlap(const GeomPose& a, GeomPose& b, const Vec3& way, double depth) {
    double points[6];
    b.position = a.position + way;
    const double apart = distance(a, b, 10, points);
    for (int k = 0; k < 3; ++k) b.position[k] += (1 + depth / apart) * (points[k] - points[3 + k]);
  }
  // Returns the height field of the latest call of contacts(), which is a first geom of the kind prism.
  physics::HeightField height_field() const {
    const Shape frame = shape(0);
    physics::HeightField field{};
    field.heights = model_->hfield_data, field.rows = model_->hfield_nrow[0], field.columns = model_->hfield_ncol[0];
    for (int k = 0; k < 4; ++k) field.size[k] = model_->hfield_size[k];
    for (int i = 0; i < 3; ++i) {
      field.position[i] = frame.position[i];
      for (int k = 0; k < 3; ++k) field.turn[i][k] = frame.turn[i][k];
    }
    return field;
  }
  // Returns geom 0 or 1 of the latest call of contacts() or distance(), where libmujoco had it.
  Shape shape(int which) const {
    const int g = geom_[which];
    Shape s{};
    s.kind = pose_[which].kind;
    for (int k = 0; k < 3; ++k) s.size[k] = model_->geom_size[3 * g + k], s.position[k] = data_->geom_xpos[3 * g + k];
    for (int k = 0; k < 9; ++k) s.turn[k / 3][k % 3] = data_->geom_xmat[9 * g + k];
    s.hull = s.kind == ShapeKind::mesh ? &views_[static_cast<size_t>(pose_[which].mesh)] : nullptr;
    return s;
  }

 private:
  void set(int which, const GeomPose& pose) {
    constexpr int kTypes[] = {mjGEOM_PLANE,    mjGEOM_SPHERE, mjGEOM_CAPSULE, mjGEOM_ELLIPSOID,
                              mjGEOM_CYLINDER, mjGEOM_BOX,    mjGEOM_MESH,    mjGEOM_HFIELD};
    // Without the flag multiccd, bounding spheres are only a filter, which a large one switches off.
    const bool is_bounded = mujoco::has_multiccd(*model_);
    const double everywhere = is_bounded ? bound(pose) : 100;
    const int type = kTypes[static_cast<int>(pose.kind)];
    const int g = type == mjGEOM_PLANE ? 0 : type == mjGEOM_HFIELD ? 1 : 2 + which;
    geom_[which] = g, pose_[which] = pose;
    model_->geom_contype[g] = model_->geom_conaffinity[g] = 1;
    model_->geom_type[g] = type;
    if (g > 1) model_->geom_dataid[g] = type == mjGEOM_MESH ? pose.mesh : -1;
    std::fill_n(model_->geom_aabb + 6 * g + 3, 3, 100.0);  // mj_setConst keeps those of meshes
    model_->geom_rbound[g] = type == mjGEOM_PLANE  ? 0
                             : type == mjGEOM_MESH ? model_->geom_rbound[kFirstMeshGeom + pose.mesh]
                                                   : everywhere;
    for (int k = 0; k < 3; ++k) {
      model_->geom_size[3 * g + k] = pose.size[k];
      (g < 2 ? model_->geom_pos + 3 * g : data_->qpos + 7 * which)[k] = pose.position[k];
    }
    mju_copy4(g < 2 ? model_->geom_quat + 4 * g : data_->qpos + 7 * which + 3, pose.quat);
  }

  // Returns the radius of a sphere around a geom that is no mesh.
  static double bound(const GeomPose& pose) {
    const double* size = pose.size;
    switch (pose.kind) {
      case ShapeKind::box:
        return std::hypot(size[0], size[1], size[2]);
      case ShapeKind::cylinder:
        return std::hypot(size[0], size[1]);
      case ShapeKind::capsule:
        return size[0] + size[1];
      case ShapeKind::ellipsoid:
        return std::max({size[0], size[1], size[2]});
      default:
        return size[0];
    }
  }

  // The vertices of the meshes: a tetrahedron, a box with points inside, a few points, a stone and a prism.
  static std::map<std::string, std::vector<Vec3>> clouds() {
    Draws draw(1);
    std::map<std::string, std::vector<Vec3>> all;
    all["0 tetrahedron"] = {{0, 0, 0}, {0.3, 0, 0}, {0, 0.2, 0}, {0.1, 0.1, 0.25}};
    for (int k = 0; k < 8; ++k) all["1 box"].push_back({k & 1 ? 0.1 : -0.1, k & 2 ? 0.2 : -0.2, k & 4 ? 0.15 : -0.15});
    for (int k = 0; k < 30; ++k) all["1 box"].push_back({draw(-0.09, 0.09), draw(-0.19, 0.19), draw(-0.14, 0.14)});
    for (int k = 0; k < 8; ++k) all["2 few"].push_back({draw(-0.2, 0.2), draw(-0.2, 0.2), draw(-0.2, 0.2)});
    for (int k = 0; k < 50; ++k) {
      const Vec3 v = draw.direction();
      all["3 stone"].push_back({0.3 * v[0], 0.2 * v[1], 0.15 * v[2]});
    }
    for (int k = 0; k < 24; ++k) {
      const double angle = 2 * std::numbers::pi * (k / 2) / 12;
      all["4 prism"].push_back({0.15 * std::cos(angle), 0.15 * std::sin(angle), k % 2 == 0 ? 0.1 : -0.1});
    }
    return all;
  }

  static constexpr int kFirstMeshGeom = 4;  // after the plane, the height field and the two geoms
  mjModel* model_ = nullptr;
  mjData *data_ = nullptr, *scratch_ = nullptr;
  std::vector<robot_compiler::MeshHull> hulls_;
  std::vector<robot_compiler::MeshFaces> faces_;
  std::vector<physics::Hull> views_;
  int geom_[2] = {2, 3};
  GeomPose pose_[2] = {};
};

}  // namespace drl::test
