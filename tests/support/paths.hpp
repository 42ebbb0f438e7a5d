// Paths of the sources and of this build. One unit contains them, so that ccache can share all other tests between
// checkouts. A test program that was copied to another machine (tools/pack_gpu) reads them from the variables
// DRL_TEST_SOURCE, DRL_TEST_BUILD and DRL_TEST_MPIEXEC.
#pragma once

#include <string>
#include <vector>

namespace drl {

// Returns the path of a file of the repository.
std::string source(const std::string& file);

// Returns the path of a file of tests/.
std::string test_data(const std::string& file);

// Returns the path of a file of the build directory.
std::string built(const std::string& file);

// Returns the path of a program of drl.
std::string bin(const std::string& program);

// Returns the MPI library's mpiexec.
std::string mpiexec();

// Returns the beginning of a command that starts a program on this many ranks, also as root and on fewer cores.
std::vector<std::string> mpirun(int ranks);

}  // namespace drl
