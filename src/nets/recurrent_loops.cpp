// Compiled once for each instruction set, and for GPUs (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "nets/net_kernels.hpp"
#include "nets/recurrent_kernels.hpp"

namespace drl::DRL_ISA {

#define DRL_ROW_LOOPS(...)   \
  DRL_HOST_LOOP(__VA_ARGS__) \
  DRL_GPU_LOOP(ByNumber<__VA_ARGS__>)
DRL_ROW_LOOPS(CarryState)
DRL_ROW_LOOPS(CarryGradient)
DRL_ROW_LOOPS(AddToRows)
DRL_ROW_LOOPS(CopyRows)
DRL_ROW_LOOPS(KeepLastStates)
DRL_ROW_LOOPS(CellForward<GruCell>)
DRL_ROW_LOOPS(CellForward<LstmCell>)
DRL_ROW_LOOPS(CellBackward<GruCell>)
DRL_ROW_LOOPS(CellBackward<LstmCell>)
DRL_LOOP(TakeLastRows)

}  // namespace drl::DRL_ISA
