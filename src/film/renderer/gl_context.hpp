// OpenGL without a window: of Mesa or of a GPU by EGL, else of OSMesa.
#pragma once

#include <memory>

namespace drl::film {

// For the thread that made it. Libraries are loaded when it is made, and of them only the one that is used: libmujoco
// asks whichever it finds in the process for OpenGL's functions.
class GlContext {
 public:
  // Current when it is made. Throws std::invalid_argument that tells what was tried.
  static std::unique_ptr<GlContext> make(int width, int height);
  virtual ~GlContext() = default;
  // What is drawn from now on is drawn here: a thread may have several, and each that is made or goes changes which is
  // current. False if it is lost.
  virtual bool make_current() = 0;
};

}  // namespace drl::film
