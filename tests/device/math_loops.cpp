#include "math_loops.hpp"

#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(test::MathOf)
DRL_LOOP(test::MultiplyAdd)
DRL_SUM_COLUMNS(test::FewColumns)
DRL_SUM_COLUMNS(test::SomeColumns)
DRL_LOOP(test::RandomBits)
DRL_LOOP(test::CopyRows<1>)
DRL_LOOP(test::CopyRows<3>)
DRL_LOOP(test::CopyRows<4>)
DRL_LOOP(test::CopyRows<6>)
DRL_LOOP(test::CopyRows<8>)
DRL_LOOP(test::CopyRows<11>)
DRL_LOOP(test::Quotients)
DRL_LOOP(test::LaneOperations)

}  // namespace drl::DRL_ISA
