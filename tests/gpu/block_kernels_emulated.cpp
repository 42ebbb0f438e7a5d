#include "block_kernels.cu"  // for the emulation
