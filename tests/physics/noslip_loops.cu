// Compiles robots with the noslip solver, and with slider-cranks, for GPUs.
#include "crank_robots.hpp"
#include "drl/lanes/gpu_launch.hpp"
#include "noslip_robots.hpp"

namespace drl {

#define DRL_GPU_LOOP(...) template gpu::Status gpu::launch(void*, int64_t, int64_t, const __VA_ARGS__&);
DRL_GPU_LOOP(StepRobots<noslip_robot>)
DRL_GPU_LOOP(StepRobots<noslip_elliptic_robot>)
DRL_GPU_LOOP(StepRobots<gears_robot>)
DRL_GPU_LOOP(StepRobots<crank_robot>)

}  // namespace drl
