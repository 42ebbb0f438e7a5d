#include "envs/loops.cpp"
