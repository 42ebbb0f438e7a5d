#include "algorithms/off_policy_loops.cpp"
