// Compiled once for each instruction set (device/hot_loop.hpp).
#include "device/hot_loop.hpp"
#include "nets/recurrent_kernels.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(CarryState)
DRL_HOST_LOOP(CarryGradient)
DRL_HOST_LOOP(AddToRows)
DRL_HOST_LOOP(CellForward<GruCell>)
DRL_HOST_LOOP(CellForward<LstmCell>)
DRL_HOST_LOOP(CellBackward<GruCell>)
DRL_HOST_LOOP(CellBackward<LstmCell>)

}  // namespace drl::DRL_ISA
