// Gymnasium's two MountainCar tasks share this code: a car is in a valley, whose height is 0.45 sin(3 x) + 0.55.
#pragma once

#include <cmath>

#include "drl/task.hpp"

namespace drl {

template <class Canvas>
void draw_mountain_car(float position, float low, float high, float goal, Canvas& canvas) {
  constexpr int kParts = 48;
  const auto height = [](float x) { return 0.45f * math::sin(3 * x) + 0.55f; };
  canvas.look({0.5f * (low + high), 0, 0.55f}, 2.3f);
  const float width = (high - low) / kParts;
  for (int k = 0; k < kParts; ++k) {  // a road, and the ground below it
    const float x = low + width * (static_cast<float>(k) + 0.5f), z = height(x);
    const float angle = std::atan(1.35f * math::cos(3 * x)), top = z - 0.03f;
    canvas.box({x, -0.1f, 0.5f * top - 0.1f}, {0.5f * width, 0.02f, 0.5f * top + 0.1f}, 0, Canvas::light_grey);
    canvas.box({x + 0.025f * std::sin(angle), 0, z - 0.025f * std::cos(angle)},
               {0.55f * width / std::cos(angle), 0.12f, 0.025f}, -angle, Canvas::grey);
  }
  canvas.capsule({goal, 0.1f, height(goal)}, {goal, 0.1f, height(goal) + 0.25f}, 0.008f, Canvas::black);
  canvas.box({goal - 0.06f, 0.1f, height(goal) + 0.21f}, {0.06f, 0.005f, 0.035f}, 0, Canvas::red);

  const float turn = std::atan(1.35f * math::cos(3 * position)), cosine = std::cos(turn), sine = std::sin(turn);
  // Returns a point of the car, `ahead` along the slope and `above` it.
  const auto place = [&](float ahead, float above) {
    return typename Canvas::Point{position + ahead * cosine - above * sine, 0,
                                  height(position) + ahead * sine + above * cosine};
  };
  canvas.box(place(0, 0.085f), {0.08f, 0.04f, 0.025f}, -turn, Canvas::blue);
  canvas.sphere(place(-0.045f, 0.042f), 0.03f, Canvas::black);
  canvas.sphere(place(0.045f, 0.042f), 0.03f, Canvas::black);
}

// The parameters `p` of its functions have min_position, max_position, max_speed and goal.
template <class F>
struct MountainCar {
  struct State {
    F position, velocity;  // the velocity is per step
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("position", position);
      visit("velocity", velocity);
    }
  };

  static constexpr int obs_dim = 2;
  static constexpr double dt = 1;
  static constexpr Quantity observations[] = {{"position"}, {"velocity"}};

  DRL_HD static void reset(State& s, Draws<F>& draws, const auto&) {
    s.position = draws.uniform(F(-0.6), F(-0.4));
    s.velocity = 0;
  }

  // Moves the car by one step. Returns whether it is at its goal.
  DRL_HD static Mask<F> move(State& s, F push, const auto& p) {
    const F velocity = math::clamp(s.velocity + push, -p.max_speed, p.max_speed);
    s.position = math::clamp(s.position + velocity, p.min_position, p.max_position);
    s.velocity = math::select(s.position == p.min_position, math::max(velocity, F(0)), velocity);  // the wall stops it
    // One comparison for position >= goal and velocity >= 0: GCC does not vectorise the combination of two.
    return math::min(s.position - p.goal, velocity) >= 0;
  }

  template <class Out>
  DRL_HD static void observe(const State& s, Out obs) {
    obs[0] = s.position;
    obs[1] = s.velocity;
  }

  static void draw(const State& s, const auto& p, auto& canvas) {
    draw_mountain_car(s.position, p.min_position, p.max_position, p.goal, canvas);
  }
};

}  // namespace drl
