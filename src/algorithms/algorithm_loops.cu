#include "algorithms/algorithm_loops.cpp"
