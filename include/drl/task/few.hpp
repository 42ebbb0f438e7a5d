// Steps the last environments of a range, fewer than a register holds, side by side in one register.
#pragma once

#include <cstdint>

#include "drl/task/kernels.hpp"

namespace drl::inline DRL_ISA {

// True for tasks whose step is so slow that unused lanes cost less than stepping environments one by one.
template <template <class> class Task>
inline constexpr bool kFillsRegisters = requires {
  typename Task<float>::Scratch;
};

// Steps the environments [begin, begin + count), where count < kFloatLanes. It works on copies of their numbers, and
// fills the other lanes with copies of the last environment, whose results are dropped.
template <template <class> class Task>
class FewEnvironments {
  using Step = StepAll<Task, false>;
  using Envs = Environments<Task>;
  static constexpr int kLanes = kFloatLanes, kState = Envs::kColumns + Envs::kHistory,
                       kTerms = Envs::kTerms + Envs::kMetrics;

 public:
  DRL_HD FewEnvironments(const Step& step, int64_t begin, int64_t count) : begin_(begin), count_(count), step_(step) {}

  DRL_HD void run() {
    Step few = step_;
    Envs& envs = few.envs;
    envs.first_global_index += begin_;
    for (int c = 0; c < kState; ++c) envs.state[c] = copy_in(step_.envs.state[c], state_[c]);
    for (int t = 0; t < kTerms; ++t) envs.terms[t] = copy_in(step_.envs.terms[t], terms_[t]);
    envs.age = copy_in(step_.envs.age, age_);
    envs.episode_reward = copy_in(step_.envs.episode_reward, episode_reward_);
    if constexpr (Envs::kEnds > 0) envs.ended_by = copy_in(step_.envs.ended_by, ended_by_);
    if constexpr (Envs::kMotors > 0) copy_motors_in(envs);
    const auto* actions = static_cast<const typename Envs::Action*>(step_.row.action);
    copy_rows_in(actions, Envs::kActions, actions_);
    few.row = {actions_, obs_, critic_obs_, reward_, terminated_, truncated_};

    few.template lanes<Pack<float, kLanes>>(0);

    for (int c = 0; c < kState; ++c) copy_out(state_[c], step_.envs.state[c]);
    for (int t = 0; t < kTerms; ++t) copy_out(terms_[t], step_.envs.terms[t]);
    copy_out(age_, step_.envs.age);
    copy_out(episode_reward_, step_.envs.episode_reward);
    if constexpr (Envs::kEnds > 0) copy_out(ended_by_, step_.envs.ended_by);
    if constexpr (Envs::kMotors > 0) copy_motors_out();
    copy_rows_out(obs_, step_.envs.obs_dim(), step_.row.next_obs);
    if constexpr (Envs::kCriticObs > 0) copy_rows_out(critic_obs_, Envs::kCriticObs, step_.row.next_critic_obs);
    copy_out(reward_, step_.row.reward);
    copy_out(terminated_, step_.row.terminated);
    copy_out(truncated_, step_.row.truncated);
  }

 private:
  // Each lane's value has 1 or 4 bytes.
  template <class T>
  DRL_HD void copy_rows_in(const T* from, int64_t width, T* to) const {
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t i = begin_ + (l < count_ ? l : count_ - 1);
      for (int64_t k = 0; k < width; ++k) to[l * width + k] = from[i * width + k];
    }
  }
  template <class From, class T>
  DRL_HD T* copy_in(const From* from, T* to) const {
    copy_rows_in(reinterpret_cast<const T*>(from), 1, to);
    return to;
  }
  template <class T>
  DRL_HD void copy_rows_out(const T* from, int64_t width, T* to) const {
    for (int64_t k = 0; k < count_ * width; ++k) to[begin_ * width + k] = from[k];
  }
  template <class T, class To>
  DRL_HD void copy_out(const T* from, To* to) const {
    copy_rows_out(from, 1, reinterpret_cast<T*>(to));
  }

  // The memory of motors has a size that is known at run time.
  DRL_HD int64_t motor_rows() const {
    return step_.envs.motor_network ? int64_t{Envs::kMotors} * step_.envs.motor_network->memory : 0;
  }
  // A thread's copy of it. Not a std::vector, whose functions the units of all instruction sets would share.
  class MotorCopy {
   public:
    ~MotorCopy() { delete[] numbers_; }
    float* of_size(int64_t size) {
      if (size > size_) delete[] numbers_, numbers_ = nullptr, numbers_ = new float[size], size_ = size;
      return numbers_;
    }

   private:
    float* numbers_ = nullptr;
    int64_t size_ = 0;
  };
  DRL_HD float* motor_copy() const {
    static thread_local MotorCopy copy;
    return copy.of_size(motor_rows() * kLanes);
  }
  DRL_HD void copy_motors_in(Envs& envs) const {
    envs.motor_memory = motor_copy(), envs.n = kLanes;
    for (int64_t k = 0; k < motor_rows(); ++k)
      copy_in(step_.envs.motor_memory + k * step_.envs.n, envs.motor_memory + k * kLanes);
  }
  DRL_HD void copy_motors_out() const {
    const float* copy = motor_copy();
    for (int64_t k = 0; k < motor_rows(); ++k) copy_out(copy + k * kLanes, step_.envs.motor_memory + k * step_.envs.n);
  }

  int64_t begin_, count_;
  const Step& step_;
  alignas(64) float state_[kState + 1][kLanes], terms_[kTerms + 1][kLanes], episode_reward_[kLanes];
  int32_t age_[kLanes], ended_by_[kLanes];
  typename Envs::Action actions_[kLanes * Envs::kActions];
  float obs_[kLanes * Envs::kObs], critic_obs_[kLanes * (Envs::kCriticObs + 1)], reward_[kLanes];
  uint8_t terminated_[kLanes], truncated_[kLanes];
};

}  // namespace drl::inline DRL_ISA
