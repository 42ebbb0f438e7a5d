#include "policy/actor_loops.cpp"
