// OpenGL without a window: of Mesa or of a GPU by EGL, else of OSMesa.
#pragma once

#include <memory>

namespace drl::film {

// Current in the thread that made it, until it goes. Libraries are loaded when it is made, and of them only the one
// that is used: libmujoco asks whichever it finds in the process for OpenGL's functions.
class GlContext {
 public:
  // Throws UserError that tells what was tried.
  static std::unique_ptr<GlContext> make(int width, int height);
  virtual ~GlContext() = default;
};

}  // namespace drl::film
