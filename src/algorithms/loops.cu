#include "algorithms/loops.cpp"
