#include "envs/task_loops.cpp"
