#include "algorithms/ppo/ppo_loops.cpp"
