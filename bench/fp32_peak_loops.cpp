#include "device/hot_loop.hpp"
#include "fp32_peak.hpp"

namespace drl::DRL_ISA {

DRL_HOST_LOOP(MultiplyAdds)

}  // namespace drl::DRL_ISA
