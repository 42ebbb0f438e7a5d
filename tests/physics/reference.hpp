// Runs libmujoco, with its solver run to convergence, and draws the states for comparisons.
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drl/lanes/philox.hpp"
#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/mujoco_version.hpp"

namespace drl::test {

struct DeleteData {
  void operator()(mjData* data) const { mj_deleteData(data); }
};

struct RobotState {
  std::vector<double> qpos, qvel, warm_start, ctrl, act = {};
};

class Reference {
 public:
  // Loads a model by its path relative to the project's root, or by an absolute path.
  explicit Reference(const std::string& file)
      : model_(load_model((std::filesystem::path(DRL_TEST_DATA) / ".." / file).string())),
        centers_(model_->body_ipos, model_->body_ipos + 3 * model_->nbody),
        data_(mj_makeData(model_.get())),
        evaluated_(mj_makeData(model_.get())) {
    model_->opt.solver = mjSOL_NEWTON, model_->opt.tolerance = mujoco::since(3, 11) ? 1e-26 : 1e-14;
    model_->opt.iterations = 100, model_->opt.ls_iterations = 50;
    // Since MuJoCo 3.9, the noslip solver of each island ends by itself.
    if (mujoco::since(3, 9) && model_->opt.noslip_iterations > 0) model_->opt.disableflags |= mjDSBL_ISLAND;
  }
  const mjModel& model() const { return *model_; }
  // Changes the model. `limit`, if given, is called before each step and evaluation.
  template <class Change>
  void change(const Change& change, std::function<void(mjData&, mjModel&)> limit = {}) {
    change(*model_);
    limit_ = std::move(limit);
  }
  void disable_noslip() { model_->opt.noslip_iterations = 0; }
  // These set the friction of a geom, and shift the centre of mass of a body.
  void set_friction(int geom, const double* friction) { std::copy_n(friction, 3, model_->geom_friction + 3 * geom); }
  // Returns the heights of a height field, which may be changed.
  float* heights(int field) { return model_->hfield_data + model_->hfield_adr[field]; }
  void shift_center_of_mass(int body, const double* by) {
    model_->opt.disableflags |= mjDSBL_MIDPHASE;  // as MujocoRobot does
    for (int k = 0; k < 3; ++k) model_->body_ipos[3 * body + k] = centers_[static_cast<size_t>(3 * body + k)] + by[k];
  }
  // Turns each geom of a moving body about a random axis by at most `angle` (rad): no faces are exactly parallel then.
  void turn_geoms(double angle) {
    for (int g = 0; g < model_->ngeom; ++g) {
      if (model_->body_weldid[model_->geom_bodyid[g]] == 0) continue;
      double* quat = model_->geom_quat + 4 * g;
      for (int k = 0; k < 4; ++k) quat[k] += angle / 4 * draw();
      mju_normalize4(quat);
      model_->geom_sameframe[g] = mjSAMEFRAME_NONE;  // else libmujoco takes the body's frame
    }
  }
  // Returns a pseudorandom number from -1 to 1.
  double draw() { return 2 * static_cast<double>(uniform01(random_bits(3, Purpose::benchmark, draws_++, 0)[0])) - 1; }

  // Returns the next state of a random motion, with a new action every five steps and a new start every 300.
  RobotState next_state() {
    if (steps_ % 300 == 0) start();
    if (steps_++ % 5 == 0) draw_controls(data_->ctrl);
    step(data_.get());
    return state_of(*data_);
  }
  // Returns a state far beyond limits and deep in the floor.
  RobotState extreme_state() {
    start();
    for (int j = 0; j < model_->njnt; ++j) {
      double* qpos = data_->qpos + model_->jnt_qposadr[j];
      if (model_->jnt_type[j] == mjJNT_FREE)
        qpos[2] = 0.35 + 0.15 * draw();
      else if (model_->jnt_limited[j])
        *qpos = model_->jnt_range[2 * j + (draw() < 0 ? 0 : 1)] + 0.2 * draw();
      else
        *qpos += 0.4 * draw();
    }
    return move_fast();
  }

  // Returns a randomly folded state far beyond limits, so that geoms penetrate each other, above the floor or in it.
  RobotState folded_state() {
    start();
    for (int j = 0; j < model_->njnt; ++j) {
      double* qpos = data_->qpos + model_->jnt_qposadr[j];
      if (model_->jnt_type[j] == mjJNT_HINGE) *qpos += 3 * draw();
      if (model_->jnt_type[j] == mjJNT_FREE)
        for (int k = 0; k < 7; ++k) qpos[k] += 0.3 * draw();
    }
    return move_fast();
  }

  // Returns a state near the initial one. In pile.xml all bodies then touch each other.
  RobotState state_near_start() {
    mj_resetData(model_.get(), data_.get());
    for (int k = 0; k < model_->nq; ++k) data_->qpos[k] += 0.05 * draw();
    for (int k = 0; k < model_->nv; ++k) data_->qvel[k] = draw();
    return state_of(*data_);
  }
  // Changes each number x of a state by at most `distance` (1 + |x|).
  RobotState nearby(RobotState state, double distance) {
    for (auto* numbers : {&state.qpos, &state.qvel})
      for (double& x : *numbers) x += distance * draw() * (1 + std::abs(x));
    return state;
  }

  // Returns actions of random motion, each repeated for five steps.
  std::vector<std::vector<double>> random_controls(int steps) {
    std::vector<std::vector<double>> controls;
    for (int t = 0; t < steps; ++t) {
      if (t % 5 > 0) {
        controls.push_back(controls.back());
        continue;
      }
      draw_controls(controls.emplace_back(static_cast<size_t>(model_->nu)).data());
    }
    return controls;
  }
  // Returns qpos and qvel after each of these controls, starting from a state.
  std::vector<std::vector<double>> run(const RobotState& from, const std::vector<std::vector<double>>& controls) {
    set(from, true);
    std::vector<std::vector<double>> path;
    for (const std::vector<double>& ctrl : controls) {
      std::ranges::copy(ctrl, evaluated_->ctrl);
      step(evaluated_.get());
      path.emplace_back(evaluated_->qpos, evaluated_->qpos + model_->nq);
      path.back().insert(path.back().end(), evaluated_->qvel, evaluated_->qvel + model_->nv);
    }
    return path;
  }

  // Returns the number of contacts that push, of at least these dimensions, between geoms that both move.
  int pair_contacts(const mjData& d, int dimensions = 1) const {
    return static_cast<int>(std::count_if(d.contact, d.contact + d.ncon, [&](const mjContact& c) {
      return c.dim >= dimensions && c.exclude == 0 && moves(c.geom[0]) && moves(c.geom[1]);
    }));
  }
  // Returns the number of contacts that have rows along qvel: of such geoms, or also of other shapes than planes in the
  // world.
  int pair_places(const mjData& d, bool with_world) const {
    return static_cast<int>(std::count_if(d.contact, d.contact + d.ncon, [&](const mjContact& c) {
      return model_->geom_type[c.geom[0]] != mjGEOM_PLANE && c.exclude == 0 &&
             (with_world || (moves(c.geom[0]) && moves(c.geom[1])));
    }));
  }
  // Returns whether the axes of two geoms in contact intersect.
  bool axes_meet(const mjData& d) const {
    return std::any_of(d.contact, d.contact + d.ncon, [&](const mjContact& c) {
      const double radii = model_->geom_size[3 * c.geom[0]] + model_->geom_size[3 * c.geom[1]];
      return moves(c.geom[0]) && moves(c.geom[1]) && c.dist + radii < 1e-12;
    });
  }

  // These return the data after mj_step or mj_forward of a state.
  const mjData& after_step(const RobotState& state, bool with_warm_start = true) {
    set(state, with_warm_start);
    step(evaluated_.get());
    const std::vector<mjtNum> after(evaluated_->qvel, evaluated_->qvel + model_->nv);
    std::ranges::copy(state.qvel, evaluated_->qvel);  // at which forces were computed: armatures of tendons need it
    mj_rnePostConstraint(model_.get(), evaluated_.get());
    std::ranges::copy(after, evaluated_->qvel);
    return *evaluated_;
  }
  const mjData& after_forward(const RobotState& state, bool with_warm_start = true) {
    set(state, with_warm_start);
    if (limit_) limit_(*evaluated_, *model_);
    mj_forward(model_.get(), evaluated_.get());
    mj_rnePostConstraint(model_.get(), evaluated_.get());
    return *evaluated_;
  }

  // Returns the state in libmujoco's data.
  RobotState state_of(const mjData& d) const {
    return {{d.qpos, d.qpos + model_->nq},
            {d.qvel, d.qvel + model_->nv},
            {d.qacc_warmstart, d.qacc_warmstart + model_->nv},
            {d.ctrl, d.ctrl + model_->nu},
            {d.act, d.act + model_->na}};
  }

 private:
  void step(mjData* data) {
    if (limit_) limit_(*data, *model_);
    mj_step(model_.get(), data);
  }
  void draw_controls(double* ctrl) {
    for (int a = 0; a < model_->nu; ++a) ctrl[a] = model_->actuator_ctrlrange[2 * a + 1] * draw();
  }
  RobotState move_fast() {
    for (int k = 0; k < model_->nv; ++k) data_->qvel[k] = 3 * draw();
    draw_controls(data_->ctrl);
    return state_of(*data_);
  }
  bool moves(int geom) const { return model_->body_weldid[model_->geom_bodyid[geom]] != 0; }
  void start() {
    mj_resetData(model_.get(), data_.get());
    for (int k = 0; k < model_->nq; ++k) data_->qpos[k] += 0.1 * draw();
    for (int k = 0; k < model_->nv; ++k) data_->qvel[k] = 0.1 * draw();
  }
  void set(const RobotState& state, bool with_warm_start) {
    mj_resetData(model_.get(), evaluated_.get());
    std::ranges::copy(state.qpos, evaluated_->qpos);
    std::ranges::copy(state.qvel, evaluated_->qvel);
    std::ranges::copy(state.ctrl, evaluated_->ctrl);
    std::ranges::copy(state.act, evaluated_->act);
    if (with_warm_start) std::ranges::copy(state.warm_start, evaluated_->qacc_warmstart);
  }

  std::unique_ptr<mjModel, DeleteModel> model_;
  std::vector<double> centers_;  // centres of mass of bodies in the file
  std::unique_ptr<mjData, DeleteData> data_, evaluated_;
  std::function<void(mjData&, mjModel&)> limit_;
  int64_t steps_ = 0;
  uint64_t draws_ = 0;
};

// Returns max |a - b| / (1 + max |b|).
template <class A>
double difference(const A* a, const double* b, int n) {
  double most = 0, size = 0;
  for (int k = 0; k < n; ++k) {
    most = std::max(most, std::abs(static_cast<double>(a[k]) - b[k]));
    size = std::max(size, std::abs(b[k]));
  }
  return std::isfinite(most) ? most / (1 + size) : INFINITY;
}

}  // namespace drl::test
