// Activations of hidden layers on the CPU: the same bits on every machine, and several times faster than libtorch's.
#pragma once

#include <cstdint>

#include "learn/network.hpp"

namespace drl {

// x [n] := f(x). elu(x) = x for x > 0, else exp(x) - 1.
void activate(Activation activation, float* x, int64_t n);

// d [n] := d * f'(x), from y = f(x) [n].
void activation_backward(Activation activation, const float* y, float* d, int64_t n);

}  // namespace drl
