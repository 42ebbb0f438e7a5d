#include "algorithms/distill/distill_loops.cpp"
