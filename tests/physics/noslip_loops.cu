// Compiles robots with the noslip solver, and with slider-cranks, for GPUs.
#include "drl/lanes/gpu_launch.hpp"
#include "drl/physics/loop.hpp"
#include "physics/crank.hpp"
#include "physics/gears.hpp"
#include "physics/noslip.hpp"
#include "physics/noslip_elliptic.hpp"

namespace drl {

#define DRL_GPU_LOOP(...) template gpu::Status gpu::launch(void*, int64_t, int64_t, const __VA_ARGS__&);
DRL_GPU_LOOP(StepRobots<noslip_robot>)
DRL_GPU_LOOP(StepRobots<noslip_elliptic_robot>)
DRL_GPU_LOOP(StepRobots<gears_robot>)
DRL_GPU_LOOP(StepRobots<crank_robot>)

}  // namespace drl
