#include "algorithms/grpo/grpo_loops.cpp"
