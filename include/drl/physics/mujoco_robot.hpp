// Implements the concept Robot (drl/task/robot.hpp) with libmujoco.
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "drl/physics/motor_pass.hpp"
#include "drl/physics/mujoco_model.hpp"
#include "drl/physics/push.hpp"
#include "drl/physics/randomised_model.hpp"
#include "drl/physics/rays.hpp"
#include "drl/task/robot.hpp"

namespace drl {

// Simulates one environment at a time. A thread uses one MujocoRobot, and its mjData, for all its environments.
class MujocoRobot {
 public:
  using F = double;

  // `model` must outlive this object.
  MujocoRobot(const mjModel& model, int frame_skip)
      : model_(&model), data_(check_allocated(mj_makeData(&model))), frame_skip_(frame_skip) {
    reset();
  }

  int nq() const { return static_cast<int>(model_->nq); }
  int nv() const { return static_cast<int>(model_->nv); }
  int nu() const { return static_cast<int>(model_->nu); }
  int nbody() const { return static_cast<int>(model_->nbody); }

  void advance(const double* controls) {
    advance(controls, [] {});
  }
  template <class Watch>
  void advance(const double* controls, const Watch& after_each) {
    for (int a = 0; a < nu(); ++a) data_->ctrl[a] = controls[a];
    if (drawn_ && data_->time == 0) std::copy_n(controls, nu(), last_controls_);
    for (int k = 0; k < frame_skip_; ++k) {
      delay_controls(controls, k);
      limit_motors(), drive_motors();
      mj_step(model_, data_.get());
      after_each();
    }
    if (drawn_) std::copy_n(controls, nu(), last_controls_);
    advanced_ = true, has_forces_ = false;
  }
  void forward() {
    limit_motors();
    mj_forward(model_, data_.get());
    has_forces_ = false;
  }

  double timestep() const { return model_->opt.timestep; }
  double dt() const { return timestep() * frame_skip_; }
  double time() const { return data_->time; }
  double qpos(int k) const { return data_->qpos[k]; }
  double qvel(int k) const { return data_->qvel[k]; }
  double qpos(JointId joint) const { return data_->qpos[joint.qpos]; }
  double qvel(JointId joint) const { return data_->qvel[joint.qvel]; }
  Vec<double, 2> range(JointId joint) const {
    const int index = model_->dof_jntid[joint.qvel];
    return model_->jnt_limited[index] ? row<2>(model_->jnt_range, index) : Vec<double, 2>{};
  }
  double qacc(int k) const { return data_->qacc[k]; }
  double ctrl(int k) const { return data_->ctrl[k]; }
  void set_qpos(int k, double x) { data_->qpos[k] = x; }
  void set_qvel(int k, double x) { data_->qvel[k] = x; }
  void keyframe(const char* name) {
    const int key = find_keyframe(*model_, name);
    for (int k = 0; k < nq(); ++k) data_->qpos[k] = model_->key_qpos[key * nq() + k];
    for (int k = 0; k < nv(); ++k) data_->qvel[k] = model_->key_qvel[key * nv() + k];
    for (int k = 0; k < nu(); ++k) data_->ctrl[k] = model_->key_ctrl[key * nu() + k];
    for (int k = 0; k < model_->na; ++k) data_->act[k] = model_->key_act[key * model_->na + k];
  }

  Vec<double, 3> position(BodyId body) const {
    if (body.index >= nbody())  // an option may set the index
      throw std::invalid_argument("the robot's model has no body number " + std::to_string(body.index));
    return row<3>(data_->xpos, body.index);
  }
  Vec<double, 4> orientation(BodyId body) const { return row<4>(data_->xquat, body.index); }
  Vec<double, 3> center_of_mass(BodyId body) const { return row<3>(data_->xipos, body.index); }
  Vec<double, 3> subtree_center_of_mass(BodyId body) const { return row<3>(data_->subtree_com, body.index); }
  double mass(BodyId body) const { return model_->body_mass[body.index]; }
  Vec<double, 10> inertia(BodyId body) const { return row<10>(data_->cinert, body.index); }
  Vec<double, 6> velocity(BodyId body) const { return row<6>(data_->cvel, body.index); }
  Vec<double, 6> external_force(BodyId body) const {
    if (!advanced_) return {};
    if (!has_forces_) mj_rnePostConstraint(model_, data_.get());
    has_forces_ = true;
    return row<6>(data_->cfrc_ext, body.index);
  }
  Vec<double, 3> position(GeomId geom) const { return row<3>(data_->geom_xpos, geom.index); }
  Vec<double, 3> position(SiteId site) const { return row<3>(data_->site_xpos, site.index); }
  double ground_height(double x, double y) const { return physics::height_at(ground(), x, y); }
  double ray(const Vec<double, 3>& from, const Vec<double, 3>& along) const {
    double nearest = -1;
    for (int g = 0; g < model_->ngeom; ++g) {
      if (model_->body_weldid[model_->geom_bodyid[g]] != 0) continue;
      if (model_->geom_type[g] == mjGEOM_PLANE)
        nearest = physics::nearer(nearest, physics::ray_to_plane(plane(g), from.at, along.at));
      if (model_->geom_type[g] == mjGEOM_HFIELD)
        nearest = physics::nearer(nearest, physics::ray_to_field(ground(), from.at, along.at));
    }
    return nearest;
  }
  double size_factor(GeomId geom) const {
    const double* drawn = drawn_of(ModelParameter::size, geom.index);
    return drawn ? drawn[1] : 1;
  }
  bool touches(GeomId a, GeomId b) const {
    for (int k = 0; k < data_->ncon; ++k) {
      const mjContact& contact = data_->contact[k];
      const int first = contact.geom[0], second = contact.geom[1];
      const bool is_pair = (first == a.index && second == b.index) || (first == b.index && second == a.index);
      if (is_pair && contact.exclude == 0) return true;
    }
    return false;
  }
  double actuator_force_along(int k) const { return data_->qfrc_actuator[k]; }
  double constraint_force_along(int k) const { return data_->qfrc_constraint[k]; }
  double force(ActuatorId actuator) const { return data_->actuator_force[actuator.index]; }
  double sensor(SensorId sensor, int k = 0) const { return data_->sensordata[sensor.index + k]; }

  void push(BodyId body, Vec<double, 3> force, Vec<double, 3> torque) {
    double* to = data_->xfrc_applied + 6 * body.index;
    for (int k = 0; k < 3; ++k) to[k] = force[k], to[3 + k] = torque[k];
  }
  void set_friction(GeomId geom, Vec<double, 3> friction) {
    copy_model();
    const double* drawn = drawn_of(ModelParameter::friction, geom.index);
    for (int k = 0; k < 3; ++k)
      own_model_->geom_friction[3 * geom.index + k] = drawn ? friction[k] * drawn[0] : friction[k];
  }
  void shift_center_of_mass(BodyId body, Vec<double, 3> by) {
    const double* file = copy_model().body_ipos + 3 * body.index;
    if (!has_own_center(*model_, body.index))
      throw std::invalid_argument(std::string("body '") + mj_id2name(model_, mjOBJ_BODY, body.index) +
                                  "': " + kNoOwnCenter);
    // MuJoCo's midphase places its bounding volumes relative to the centre of mass, and would miss contacts.
    own_model_->opt.disableflags |= mjDSBL_MIDPHASE;
    const double* drawn = drawn_of(ModelParameter::center_of_mass, body.index);
    for (int k = 0; k < 3; ++k)
      own_model_->body_ipos[3 * body.index + k] = file[k] + (drawn ? by[k] + drawn[k] : by[k]);
  }

  // Sets the numbers of the model that an environment has drawn, [3 * parameters] in their order, for its parameters
  // `changed` (indices). `controls` [nu] are those of its previous step, which advance() replaces. `derived` are those
  // that derive() has computed of the drawn numbers. The arguments must stay valid until the next call.
  void randomise(const std::vector<ModelParameter>& parameters, const std::vector<size_t>& changed, const double* drawn,
                 const double* derived, double* controls) {
    const mjModel& file = copy_model();
    parameters_ = &parameters, changed_ = &changed, drawn_ = drawn, last_controls_ = controls;
    for (const size_t p : changed) change_model(file, parameters[p], drawn + 3 * p, *own_model_);
    each_derived(*own_model_, [&](mjtNum* to, auto count) {
      std::copy_n(derived, count, to);
      derived += count;
    });
  }
  // Computes the numbers that MuJoCo derives from others, of a model with these drawn numbers, [count_derived()].
  void derive(const std::vector<ModelParameter>& parameters, const std::vector<size_t>& changed, const double* drawn,
              double* derived) {
    const mjModel& file = copy_model();
    for (const size_t p : changed) change_model(file, parameters[p], drawn + 3 * p, *own_model_);
    finish_changes(*own_model_);
    each_derived(*own_model_, [&](const mjtNum* from, auto count) { derived = std::copy_n(from, count, derived); });
  }

  // Lets a network drive the motors whose own force is 0 (ModelParameter::network). `memory` is that of the
  // environment's motors, [nu * network->memory]. Without a network, both are null. Both must stay valid until the next
  // call.
  void drive(const MotorNetwork* network, double* memory) { network_ = network, motor_memory_ = memory; }

  // Pushes the robot in this step, if a push is due. `directions` are those of the environment's last pushes, with
  // kPushDirection numbers for each of its parameters.
  void push(Draws<double> draws, double* directions) {
    for (size_t p = 0; p < parameters_->size(); ++p) {
      const ModelParameter& of = (*parameters_)[p];
      if (of.kind != ModelParameter::push) continue;
      double* direction = directions + kPushDirection * p;
      if (!drawn_of(of.kind, of.index) || drawn_[3 * p + 1] <= 0) {
        draws.skip(kPushDraws);
        continue;
      }
      const Push<double> push(drawn_ + 3 * p, data_->time, dt());
      push.draw_direction(draws, direction);
      const double* torque_drawn = drawn_of(ModelParameter::push_torque, of.index);
      const double force = push.lasts ? drawn_[3 * p] : 0, torque = push.lasts && torque_drawn ? torque_drawn[0] : 0;
      this->push(BodyId{of.index}, {{force * direction[0], force * direction[1], 0}},
                 {{torque * direction[2], torque * direction[3], torque * direction[4]}});
    }
  }

  // The state that determines all further steps, [state_size()]: MuJoCo's mjSTATE_INTEGRATION, which begins with time,
  // qpos and qvel.
  int state_size() const { return mj_stateSize(model_, mjSTATE_INTEGRATION); }
  void save(double* state) const { mj_getState(model_, data_.get(), state, mjSTATE_INTEGRATION); }
  void load(const double* state) {
    mj_setState(model_, data_.get(), state, mjSTATE_INTEGRATION);
    advanced_ = true;
    for (mjWarningStat& warning : data_->warning) warning = {};
  }
  // Sets the model file's initial state; all computed numbers are 0.
  void reset() {
    mj_resetData(model_, data_.get());
    advanced_ = false;
  }
  // Returns whether the physics has failed since load() or reset(). MuJoCo resets itself if numbers are not finite or
  // too large, and omits contacts if its memory is full; in both cases it counts a warning.
  bool diverged() const { return !why_diverged().empty(); }
  // Returns MuJoCo's first warning, or "".
  std::string why_diverged() const {
    for (int k = 0; k < mjNWARNING; ++k)
      if (data_->warning[k].number > 0) return mju_warningText(k, static_cast<size_t>(data_->warning[k].lastinfo));
    return "";
  }

 private:
  struct DeleteData {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  static mjData* check_allocated(mjData* data) {
    if (!data)
      throw std::invalid_argument(
          "MuJoCo cannot allocate the model's data: reduce <size memory=...> in the model's file");
    return data;
  }
  template <int N>
  static Vec<double, N> row(const double* rows, int k) {
    Vec<double, N> numbers;
    for (int c = 0; c < N; ++c) numbers[c] = rows[N * k + c];
    return numbers;
  }
  // Returns what the environment has drawn for this parameter, or null.
  const double* drawn_of(ModelParameter::Kind kind, int index) const {
    if (drawn_)
      for (const size_t p : *changed_)
        if ((*parameters_)[p].kind == kind && (*parameters_)[p].index == index) return drawn_ + 3 * p;
    return nullptr;
  }
  // Lets motors with a delay receive the previous step's control in time step k of a step (ModelParameter::motor).
  void delay_controls(const double* controls, int k) {
    if (!drawn_) return;
    for (const size_t p : *changed_)
      if (const ModelParameter& of = (*parameters_)[p]; of.kind == ModelParameter::motor)
        data_->ctrl[of.index] = k + 1 <= drawn_[3 * p + 2] ? last_controls_[of.index] : controls[of.index];
  }
  // Limits the torque of motors by their speed (ModelParameter::motor), for the next time step.
  void limit_motors() {
    if (!drawn_) return;
    for (const size_t p : *changed_)
      if (const ModelParameter& of = (*parameters_)[p]; of.kind == ModelParameter::motor) {
        const double* actuator = drawn_of(ModelParameter::actuator, of.index);
        limit_motor(*file_model_, of.index, data_->qvel, drawn_ + 3 * p, actuator ? actuator[2] : 1, *own_model_);
      }
  }
  // Sets the torques of the motors that a network drives, for the next time step.
  void drive_motors() {
    if (!network_ || !drawn_) return;
    for (const size_t p : *changed_) {
      const ModelParameter& of = (*parameters_)[p];
      if (of.kind != ModelParameter::network || drawn_[3 * p] != 0) continue;
      const int a = of.index, joint = model_->actuator_trnid[2 * a];
      const double gear = model_->actuator_gear[6 * a];
      double* memory = motor_memory_ + a * network_->memory;
      own_model_->actuator_biasprm[mjNBIAS * a] =
          motor_torque(*network_, data_->ctrl[a] - gear * data_->qpos[model_->jnt_qposadr[joint]],
                       gear * data_->qvel[model_->jnt_dofadr[joint]], MotorMemory{memory});
    }
  }
  // The memory of one motor, as motor_torque() reads and writes it.
  struct MotorMemory {
    double* numbers;
    double operator()(int k) const { return numbers[k]; }
    void operator()(int k, double x) const { numbers[k] = x; }
  };
  physics::WorldPlane plane(int geom) const {
    physics::WorldPlane plane{};
    std::copy_n(data_->geom_xpos + 3 * geom, 3, plane.pos);
    std::copy_n(data_->geom_xmat + 9 * geom, 9, plane.turn);
    std::copy_n(model_->geom_size + 3 * geom, 2, plane.size);
    return plane;
  }
  // Returns the model's height field, without its tiles.
  const HeightMap& ground() const {
    if (ground_.heights) return ground_;
    const int geom = static_cast<int>(std::find(model_->geom_type, model_->geom_type + model_->ngeom, mjGEOM_HFIELD) -
                                      model_->geom_type);
    constexpr double kUpright[7] = {0, 0, 0, 1, 0, 0, 0};
    if (model_->nhfield != 1 || geom == model_->ngeom || model_->geom_bodyid[geom] != 0 ||
        !std::equal(kUpright, kUpright + 3, model_->geom_pos + 3 * geom) ||
        !std::equal(kUpright + 3, kUpright + 7, model_->geom_quat + 4 * geom))
      throw std::invalid_argument(
          "the task asks for the ground, but the robot's model does not have exactly one height field, "
          "upright at the world's origin: add <geom type=\"hfield\" ...> to its <worldbody>");
    ground_.heights = model_->hfield_data, ground_.rows = model_->hfield_nrow[0];
    ground_.columns = model_->hfield_ncol[0];
    std::copy_n(model_->hfield_size, 4, ground_.size);
    return ground_;
  }
  // Gives this robot its own copy of the model, at the first call, and returns the model as in the file.
  const mjModel& copy_model() {
    if (!own_model_) {
      file_model_ = model_;
      own_model_.reset(mj_copyModel(nullptr, model_));
      ground_.heights = nullptr;
      model_ = own_model_.get();
    }
    return *file_model_;
  }

  const mjModel *model_, *file_model_ = nullptr;
  std::unique_ptr<mjModel, DeleteModel> own_model_;
  std::unique_ptr<mjData, DeleteData> data_;
  const std::vector<ModelParameter>* parameters_ = nullptr;
  const std::vector<size_t>* changed_ = nullptr;
  const double* drawn_ = nullptr;    // [3 * parameters], or null: no number of the model is drawn
  double* last_controls_ = nullptr;  // [nu], those of the previous step
  const MotorNetwork* network_ = nullptr;
  double* motor_memory_ = nullptr;  // [nu * network_->memory]
  int frame_skip_;
  bool advanced_ = false;            // since the reset
  mutable HeightMap ground_ = {};    // heights: null until it is asked for
  mutable bool has_forces_ = false;  // whether cfrc_ext belongs to this step
};
static_assert(Robot<MujocoRobot>);

}  // namespace drl
