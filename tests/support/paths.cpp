#include "paths.hpp"

#include <cstdlib>

namespace drl {
namespace {

std::string or_variable(const char* built, const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : built;
}

}  // namespace

std::string source(const std::string& file) { return or_variable(DRL_SOURCE, "DRL_TEST_SOURCE") + "/" + file; }
std::string test_data(const std::string& file) { return source("tests/" + file); }
std::string built(const std::string& file) { return or_variable(DRL_BUILD, "DRL_TEST_BUILD") + "/" + file; }
std::string bin(const std::string& program) { return built(DRL_TEST_BIN "/" + program); }
std::string mpiexec() { return or_variable(DRL_MPIEXEC, "DRL_TEST_MPIEXEC"); }
std::vector<std::string> mpirun(int ranks) { return {test_data("mpirun_test"), mpiexec(), std::to_string(ranks)}; }

}  // namespace drl
