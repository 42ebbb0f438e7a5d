// Compiled once per instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "envs/delay_kernels.hpp"
#include "envs/episode_sums.hpp"
#include "envs/group_kernels.hpp"
#include "envs/keep_last.hpp"

namespace drl::DRL_ISA {

DRL_SUM_COLUMNS(LoadEpisodes)
DRL_LOOP(KeepLast)
DRL_LOOP(BeginDelays)
DRL_LOOP(DelayActions)
DRL_LOOP(DelayObservations)
DRL_LOOP(SelectGroups)

}  // namespace drl::DRL_ISA
