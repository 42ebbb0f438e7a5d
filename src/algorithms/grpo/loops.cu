#include "algorithms/grpo/loops.cpp"
