// random_robot NUMBER: prints the MJCF file of a random robot that drl_robot can compile with --randomised.
#include <cstdio>
#include <cstdlib>

#include "random_tree.hpp"

int main(int count, char** words) {
  using namespace drl::test;
  using namespace drl::test::kinds;
  if (count != 2) return 2;
  const uint64_t number = std::strtoull(words[1], nullptr, 10);
  constexpr RobotKind kKinds[] = {kEulerPairs, kRungeKuttaPairs, kEulerPairs, kEuler,
                                  kEulerPairs, kEulerPlane,      kRungeKutta};
  RobotKind kind = kKinds[number % std::size(kKinds)];
  if (number % 3 == 1) kind = with_equalities(kind);
  if (number % 3 == 2) kind = with_tendons(kind);
  kind.has_sensors = true;
  std::fputs(random_tree(kind, number).c_str(), stdout);
  return 0;
}
