#include "envs/env_loops.cpp"
