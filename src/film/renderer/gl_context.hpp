// OpenGL without a window: EGL, from Mesa or a GPU, or else OSMesa.
#pragma once

#include <memory>

namespace drl::film {

// An OpenGL context, to be used only in the thread that made it. make() unloads OpenGL libraries that do not work,
// because libmujoco takes OpenGL's functions from any library that it finds in the process.
class GlContext {
 public:
  // Makes a context, which is then current. Throws std::invalid_argument, with what was tried, if there is no OpenGL.
  static std::unique_ptr<GlContext> make(int width, int height);
  virtual ~GlContext() = default;
  // Makes this context current. A thread may have several contexts; creating or destroying one changes which is
  // current. Returns false if the context is lost.
  virtual bool make_current() = 0;
};

}  // namespace drl::film
