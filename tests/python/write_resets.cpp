// write_resets MODELS COUNT FOLDER: COUNT starts of each of Gymnasium's robot tasks, as FOLDER/TASK: qpos and qvel in
// doubles, start by start. For resets_test.py.
#include <cstdlib>
#include <fstream>
#include <string>

#include "robots/ant.hpp"
#include "robots/half_cheetah.hpp"
#include "robots/hopper.hpp"
#include "robots/humanoid.hpp"
#include "robots/humanoid_standup.hpp"
#include "robots/inverted_double_pendulum.hpp"
#include "robots/inverted_pendulum.hpp"
#include "robots/pusher.hpp"
#include "robots/reacher.hpp"
#include "robots/swimmer.hpp"
#include "robots/walker2d.hpp"

namespace {

struct Arguments {
  std::string models;
  uint64_t count;
  std::string folder;
};

template <template <class> class Definition>
void write(const Arguments& arguments) {
  using Task = Definition<drl::MujocoRobot>;
  const std::string file = arguments.models + "/" + Task::model.file;
  const auto model = drl::load_model(file);
  drl::MujocoRobot robot(*model, Task::model.frame_skip);
  drl::robot::State<Task> state{};
  drl::robot::Parts<Task> parts{};
  const drl::robot::Params<Task> params{};
  drl::PartFinder find(*model, file);
  parts.find(find);
  std::ofstream out(arguments.folder + "/" + Task::name, std::ios::binary);
  const auto put = [&](double x) { out.write(reinterpret_cast<const char*>(&x), sizeof(x)); };
  for (uint64_t env = 0; env < arguments.count; ++env) {
    drl::Draws<double> draws(/*seed=*/5, env, /*step=*/0);
    robot.reset();
    drl::robot::reset<Task>(state, robot, draws, parts, params);
    for (int k = 0; k < robot.nq(); ++k) put(robot.qpos(k));
    for (int k = 0; k < robot.nv(); ++k) put(robot.qvel(k));
  }
}

}  // namespace

int main(int, char** argv) {
  const Arguments arguments{argv[1], std::strtoull(argv[2], nullptr, 10), argv[3]};
  write<drl::InvertedPendulum>(arguments);
  write<drl::InvertedDoublePendulum>(arguments);
  write<drl::Reacher>(arguments);
  write<drl::Swimmer>(arguments);
  write<drl::Hopper>(arguments);
  write<drl::Walker2d>(arguments);
  write<drl::HalfCheetah>(arguments);
  write<drl::Ant>(arguments);
  write<drl::Humanoid>(arguments);
  write<drl::HumanoidStandup>(arguments);
  write<drl::Pusher>(arguments);
}
