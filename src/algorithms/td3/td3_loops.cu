#include "algorithms/td3/td3_loops.cpp"
