// What the two MountainCar tasks look like: Gymnasium's valley, of the height 0.45 sin(3 x) + 0.55.
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
  for (int k = 0; k < kParts; ++k) {
    const float a = low + width * k, b = a + width, middle = 0.5f * math::min(height(a), height(b)) - 0.1f;
    canvas.box({0.5f * (a + b), 0.15f, middle}, {0.5f * width, 0.15f, middle + 0.2f}, 0, Canvas::light_grey);
    canvas.capsule({a, 0, height(a)}, {b, 0, height(b)}, 0.012f, Canvas::grey);
  }
  canvas.capsule({goal, 0.05f, height(goal)}, {goal, 0.05f, height(goal) + 0.25f}, 0.008f, Canvas::black);
  canvas.box({goal - 0.06f, 0.05f, height(goal) + 0.21f}, {0.06f, 0.005f, 0.035f}, 0, Canvas::red);

  const float slope = 1.35f * math::cos(3 * position), cosine = 1 / math::sqrt(1 + slope * slope), sine = slope * cosine;
  // Of the car: `ahead` along the slope, `above` it.
  const auto place = [&](float ahead, float above) {
    return typename Canvas::Point{position + ahead * cosine - above * sine, -0.05f,
                                  height(position) + ahead * sine + above * cosine};
  };
  canvas.box(place(0, 0.085f), {0.08f, 0.04f, 0.025f}, -std::atan(slope), Canvas::blue);
  canvas.sphere(place(-0.045f, 0.042f), 0.03f, Canvas::black);
  canvas.sphere(place(0.045f, 0.042f), 0.03f, Canvas::black);
}

}  // namespace drl
