#include "device/reduce_loops.cpp"
