#include "film/renderer/camera.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace drl::film {
namespace {

// In each picture, the camera's height moves by this share of its distance from the robot's height: a hopping robot is
// seen to hop.
constexpr double kHeightFollows = 0.1;

std::string camera_names(const mjModel& model) {
  std::string names = "track, free";
  for (int k = 0; k < model.ncam; ++k)
    if (const char* name = mj_id2name(&model, mjOBJ_CAMERA, k); name && std::string(name) != "track")
      names += std::string(", ") + name;
  return names;
}

// Returns whether the root can leave the picture.
bool roams(const mjModel& model) {
  for (int j = model.body_jntadr[kRoot]; j >= 0 && j < model.body_jntadr[kRoot] + model.body_jntnum[kRoot]; ++j)
    if (model.jnt_type[j] == mjJNT_FREE || (model.jnt_type[j] == mjJNT_SLIDE && !model.jnt_limited[j])) return true;
  return false;
}

// Returns whether the robot moves in a horizontal plane only, so that a view from above shows more.
bool is_flat(const mjModel& model, const mjData& data) {
  for (int j = 0; j < model.njnt; ++j) {
    const double z = std::abs(data.xaxis[3 * j + 2]);
    const bool within = model.jnt_type[j] == mjJNT_HINGE ? z > 0.99 : model.jnt_type[j] == mjJNT_SLIDE && z < 0.01;
    if (!within) return false;
  }
  return true;
}

// Returns the distance from `centre` to the farthest geom of the robot.
double radius(const mjModel& model, const mjData& data, const double* centre) {
  double farthest = 0;
  for (int g = 0; g < model.ngeom; ++g)
    if (model.body_rootid[model.geom_bodyid[g]] == kRoot)
      farthest = std::max(farthest, mju_dist3(data.geom_xpos + 3 * g, centre) + model.geom_rbound[g]);
  return farthest > 0 ? farthest : model.stat.extent / 2;
}

}  // namespace

ModelCamera::ModelCamera(const std::string& name, const mjModel& model, const mjData& data) {
  mjv_defaultFreeCamera(&model, &camera_);
  if (const int id = mj_name2id(&model, mjOBJ_CAMERA, name.c_str()); id >= 0) {
    camera_.type = mjCAMERA_FIXED, camera_.fixedcamid = id;
  } else if (name == "track") {
    *this = ModelCamera(model, data);
  } else if (name != "free") {
    throw std::invalid_argument("unknown camera " + name + " (the model has " + camera_names(model) +
                                "): pass one of these to --camera");
  }
}

ModelCamera::ModelCamera(const mjModel& model, const mjData& data) {
  mjv_defaultFreeCamera(&model, &camera_);
  if (model.nbody > kRoot) look_at_robot(model, data);
}

void ModelCamera::look_at_robot(const mjModel& model, const mjData& data) {
  follows_ = roams(model);
  const double* centre = data.subtree_com + 3 * kRoot;
  std::copy_n(centre, 3, camera_.lookat);
  const double half_fov = model.vis.global.fovy * mjPI / 360;
  const double margin = follows_ ? 1.2 : 1.8;  // a fixed arm swings around
  camera_.distance = margin * radius(model, data, centre) / std::sin(half_fov);
  camera_.azimuth = 90, camera_.elevation = is_flat(model, data) ? -60 : -15;
}

mjvCamera& ModelCamera::follow(const mjData& data) {
  if (!follows_) return camera_;
  const double* centre = data.subtree_com + 3 * kRoot;
  std::copy_n(centre, 2, camera_.lookat);
  camera_.lookat[2] += kHeightFollows * (centre[2] - camera_.lookat[2]);
  return camera_;
}

mjvCamera task_camera(const std::string& name, Point at, float width, double aspect, double fovy) {
  if (name != "track" && name != "free")
    throw std::invalid_argument("unknown camera " + name +
                                " (a task that draws shapes has track and free): pass one of these to --camera");
  mjvCamera camera;
  mjv_defaultCamera(&camera);
  const double side = 0.5 * width / (std::tan(fovy * mjPI / 360) * aspect);
  camera.lookat[0] = at.x, camera.lookat[1] = at.y, camera.lookat[2] = at.z;
  camera.distance = name == "free" ? 1.2 * side : side;
  camera.azimuth = name == "free" ? 60 : 90;
  camera.elevation = name == "free" ? -25 : -8;
  return camera;
}

}  // namespace drl::film
