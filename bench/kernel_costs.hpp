// Memory traffic and floating-point operations of the work that an iteration enqueues on a GPU.
#pragma once

#include <optional>
#include <string>

#include "device/launch_watch.hpp"

namespace drl {

struct Cost {
  double bytes = 0;  // read and written in the GPU's memory, if caches keep nothing from one launch to the next
  double flops = 0;  // of matrix products; those of other work do not limit it
};

// Returns the cost of a launch, nullopt if it is unknown. Memory is read in sectors of 32 bytes, so a number that is
// gathered from a random row costs a whole sector. Parameters and single numbers are left out.
std::optional<Cost> cost_of(const Launch& launch);

// Returns the name of a launch: its function object, the shape of a product, or the task of a step. Launches with the
// same name have the same kernel.
std::string name_of(const Launch& launch);

// The card's limits. 0 if they are unknown.
struct Card {
  double bandwidth = 0;  // bytes/s
  double peak = 0;       // flop/s in float32, without tensor cores
};
// Returns the limits in NVIDIA's data sheets for a card with this name ("NVIDIA H200").
Card card_of(const std::string& name);

// Returns the seconds that `launches` launches of this total cost take at least: the time for their bytes or that for
// their operations, whichever is longer, and 1 us between two kernels of a graph. 0 if the card is unknown.
double least_seconds(const Card& card, const Cost& cost, int64_t launches);

}  // namespace drl
