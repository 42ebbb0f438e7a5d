// Positions and rotations of the parts of a model.
#pragma once

#include <array>
#include <string>

namespace drl::robot_compiler {

using Numbers3 = std::array<double, 3>;
using Rotation = std::array<Numbers3, 3>;  // rows
using Quaternion = std::array<double, 4>;  // w, x, y, z

// The position and rotation of a geom or a site.
struct Placement {
  std::string name;
  int body = 0;
  Numbers3 pos{};
  Rotation turn{};
  int site = -1, frame = 0;  // MuJoCo's indices of the site (of a geom: -1) and of its body
};

}  // namespace drl::robot_compiler
