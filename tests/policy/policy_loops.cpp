#include "policy_loops.hpp"

#include "device/hot_loop.hpp"

namespace drl::DRL_ISA {

DRL_LOOP(test::Sample<Gaussian>)
DRL_LOOP(test::Sample<Categorical>)
DRL_LOOP(test::Sample<Beta>)
DRL_LOOP(test::Sample<SquashedGaussian>)
DRL_LOOP(test::MostProbable<Gaussian>)
DRL_LOOP(test::MostProbable<Categorical>)
DRL_LOOP(test::MostProbable<Beta>)
DRL_LOOP(test::MostProbable<SquashedGaussian>)
DRL_SUM_ROWS(test::Differentiate<Gaussian>)
DRL_SUM_ROWS(test::Differentiate<StateGaussian>)
DRL_SUM_ROWS(test::Differentiate<Categorical>)
DRL_SUM_ROWS(test::Differentiate<Beta>)
DRL_SUM_ROWS(test::Differentiate<SquashedGaussian>)

}  // namespace drl::DRL_ISA
