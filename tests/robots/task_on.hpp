// A robot's task on libmujoco, for tests that call its functions. Include this before the task's header.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "drl/physics/mujoco.hpp"

namespace drl {
namespace {

using OwnModel = std::unique_ptr<mjModel, DeleteModel>;

// The task, which is compiled for the robot R, with its model, parts, parameters and state.
template <class Task, class R = MujocoRobot>
struct TaskOn {
  explicit TaskOn(const std::string& path = find_model(Task::model, nullptr)) : TaskOn(path, load_model(path)) {}
  // The constructor of R gets `more` after the model and the frame skip.
  template <class... More>
  TaskOn(const std::string& path, OwnModel own, const More&... more)
      : file(path), model(std::move(own)), robot(*model, Task::model.frame_skip, more...) {
    PartFinder find(*model, file);
    parts.find(find);
  }

  std::string file;
  OwnModel model;
  R robot;
  Draws<double> draws{1, 0, 0};
  robot::State<Task> state{};
  robot::Parts<Task> parts{};
  robot::Params<Task> params{};
};

// Skips the test if tools/fetch_robots has not downloaded the robot of this model.
#define DRL_SKIP_WITHOUT(model)                                      \
  try {                                                              \
    find_model(model, nullptr);                                      \
  } catch (const std::invalid_argument&) {                           \
    GTEST_SKIP() << "run tools/fetch_robots to download the robots"; \
  }

}  // namespace
}  // namespace drl
