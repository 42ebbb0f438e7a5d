// robot_speed MODEL.xml STEPS [stand]: prints the microseconds of one physics step of one environment with random
// controls in libmujoco and in lanes of the instruction set that it was compiled for, their ratio, and the share of
// steps in lanes that did not converge or had too few places. The two take turns; a new episode begins four times. With
// `stand`, controls hold the first keyframe or the initial posture, with small noise. Then it also prints libmujoco's
// contacts in a step, and the root's final height relative to its first one, in libmujoco and in lanes.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "standing.hpp"

namespace drl {
namespace {

using F = Pack<float, DRL_LANES>;
using P = Compiled::Physics<F>;
constexpr int kEpisodes = 4, kStepsPerControl = 10;
constexpr int kHeight = P::nq > 2 ? 2 : 0;  // in qpos, if the root has a free joint

double thread_time() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
template <class Draw>
F random_lanes(const Draw& draw) {
  float numbers[DRL_LANES];
  for (float& x : numbers) x = static_cast<float>(draw());
  return load<F>(numbers);
}

class Lanes {
 public:
  explicit Lanes(test::Reference& draws) : draws_(draws) { physics::begin_parameters<P>(*stage_); }
  // Runs an episode of this many steps from these positions, and returns the seconds of its steps.
  double run(const mjData& start, int steps, const std::vector<Servo>& servos) {
    *state_ = {};
    for (int i = 0; i < P::nq; ++i) state_->qpos[i] = F(static_cast<float>(start.qpos[i]));
    for (int i = 0; i < P::nv; ++i) state_->qvel[i] = random_lanes([&] { return 0.1 * draws_.draw(); });
    double seconds = 0;
    for (int s = 0; s < steps; ++s) {
      for (int a = 0; a < P::nu; ++a) {
        if (s % kStepsPerControl == 0) target_[a] = random_lanes([&] { return servos[a].draw(draws_); });
        ctrl_[a] = servos[a].control(target_[a], state_->qpos, state_->qvel);
      }
      const double from = thread_time();
      physics::step<P>(*state_, ctrl_, *stage_, *work_, false);
      seconds += thread_time() - from;
      for (int l = 0; l < DRL_LANES; ++l) unsolved += lane(stage_->unsolved, l) != 0;
    }
    return seconds;
  }
  double mean_height() const {
    double sum = 0;
    for (int l = 0; l < DRL_LANES; ++l) sum += static_cast<double>(lane(state_->qpos[kHeight], l)) / DRL_LANES;
    return sum;
  }
  int64_t unsolved = 0;

 private:
  test::Reference& draws_;
  std::unique_ptr<P::State> state_ = std::make_unique<P::State>();
  std::unique_ptr<P::Stage> stage_ = std::make_unique<P::Stage>();
  std::unique_ptr<P::Work> work_ = std::make_unique<P::Work>();
  F target_[physics::at_least_one(P::nu)] = {}, ctrl_[physics::at_least_one(P::nu)] = {};
};

double run_libmujoco(const mjModel& m, mjData& d, int steps, test::Reference& draws, const std::vector<Servo>& servos,
                     int64_t& contacts) {
  std::vector<double> targets(servos.size());
  for (int i = 0; i < m.nv; ++i) d.qvel[i] = 0.1 * draws.draw();
  double seconds = 0;
  for (int s = 0; s < steps; ++s) {
    for (size_t a = 0; a < servos.size(); ++a) {
      if (s % kStepsPerControl == 0) targets[a] = servos[a].draw(draws);
      d.ctrl[a] = servos[a].control(targets[a], d.qpos, d.qvel);
    }
    const double from = thread_time();
    mj_step(&m, &d);
    seconds += thread_time() - from;
    contacts += d.ncon;
  }
  return seconds;
}

void run(const std::string& file, int steps, bool stands) {
  const auto model = load_model(file);  // with the solver that the file asks for
  const mjModel& m = *model;
  load_heights<Compiled::Physics<float>>(m);
  const std::unique_ptr<mjData, test::DeleteData> d(mj_makeData(&m));
  test::Reference draws(file);
  Lanes lanes(draws);
  double ours = 0, theirs = 0, height = 0, height_in_lanes = 0;
  int64_t contacts = 0;
  for (int k = 0; k < kEpisodes; ++k) {
    mj_resetData(&m, d.get());
    if (m.nkey > 0) mj_resetDataKeyframe(&m, d.get(), 0);
    mj_forward(&m, d.get());
    const std::vector<Servo> servos = stands ? standing_servos(m, *d) : random_servos(m);
    const double first_height = d->qpos[kHeight];
    ours += lanes.run(*d, steps / kEpisodes, servos);
    theirs += run_libmujoco(m, *d, steps / kEpisodes, draws, servos, contacts);
    height += d->qpos[kHeight] / first_height / kEpisodes,
        height_in_lanes += lanes.mean_height() / first_height / kEpisodes;
  }
  const double each = 1e6 / (steps / kEpisodes * kEpisodes);
  std::printf("%.2f %.2f %.1f %.1e", theirs * each, ours * each / DRL_LANES, theirs / ours * DRL_LANES,
              static_cast<double>(lanes.unsolved) * each * 1e-6 / DRL_LANES);
  if (stands) std::printf(" %.1f %.2f %.2f", static_cast<double>(contacts) * each * 1e-6, height, height_in_lanes);
  std::printf("\n");
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return std::fputs("usage: robot_speed MODEL.xml STEPS [stand]\n", stderr), 2;
  drl::run(argv[1], std::atoi(argv[2]), argc == 4);
}
