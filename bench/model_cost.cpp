// model_cost MODEL.xml: estimates what a step of the compiled model costs.
#include <cstdio>

#include "physics/trace.hpp"
#include "physics_cost.hpp"

int main(int argc, char** argv) {
  using namespace drl::robot_compiler;
  if (argc != 2) return std::fputs("usage: model_cost MODEL.xml\n", stderr), 2;
  const RobotModel model = read_robot_model(argv[1]);
  Program program;
  trace(model, program);
  const Cost cost = cost_of(model, program);
  std::printf("%d bytes of state and %d bytes of scratch per lane, in %s\n", cost.state_bytes, cost.work_bytes,
              program.is_wide ? "float and double" : "float");
  std::printf("%d operations per step if nothing touches, %d if all points touch a horizontal floor\n", cost.least,
              cost.most);
  std::printf(
      "estimate without contacts of pairs: %.3g to %.3g million steps per second and core, with %d lanes and one "
      "operation per cycle at 3 GHz\n",
      1e-6 * cost.slowest, 1e-6 * cost.fastest, cost.lanes);
}
