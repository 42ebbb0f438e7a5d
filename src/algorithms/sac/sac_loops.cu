#include "algorithms/sac/sac_loops.cpp"
