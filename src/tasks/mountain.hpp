// Draws the two MountainCar tasks: Gymnasium's valley, whose height is 0.45 sin(3 x) + 0.55.
#pragma once

#include <cmath>

#include "drl/math.hpp"

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

}  // namespace drl
