#include "algorithms/ppo/loops.cpp"
