#include "algorithms/off_policy/off_policy_loops.cpp"
