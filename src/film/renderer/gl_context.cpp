#include "film/renderer/gl_context.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace drl::film {
namespace {

// A library with global symbols, which libmujoco looks up once. A library in use must therefore stay loaded.
class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_GLOBAL)) {
    if (!handle_) throw std::invalid_argument(dlerror());
  }
  ~Library() {
    if (handle_ && !stays_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void stay() { stays_ = true; }
  // A function of the library. It converts to any type of function.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function() const {
      return reinterpret_cast<Function>(address);
    }
  };
  Symbol operator[](const char* name) const {
    void* address = dlsym(handle_, name);
    if (!address) throw std::invalid_argument(std::string("the library lacks ") + name);
    return {address};
  }

 private:
  void* handle_;
  bool stays_ = false;
};

// --- EGL: types and constants from its specification (registry.khronos.org/EGL), so that no headers are needed ---

using EglHandle = void*;
using EglInt = int32_t;
using EglWord = intptr_t;
constexpr unsigned kSurfacelessMesa = 0x31DD, kDeviceExt = 0x313F, kOpenGl = 0x30A2;
constexpr EglInt kNone = 0x3038, kWidth = 0x3057, kHeight = 0x3056;

struct Egl {
  Library library{"libEGL.so.1"};
  void* (*get_proc_address)(const char*) = library["eglGetProcAddress"];
  unsigned (*initialize)(EglHandle, EglInt*, EglInt*) = library["eglInitialize"];
  unsigned (*terminate)(EglHandle) = library["eglTerminate"];
  unsigned (*choose_config)(EglHandle, const EglInt*, EglHandle*, EglInt, EglInt*) = library["eglChooseConfig"];
  unsigned (*bind_api)(unsigned) = library["eglBindAPI"];
  EglHandle (*create_context)(EglHandle, EglHandle, EglHandle, const EglInt*) = library["eglCreateContext"];
  EglHandle (*create_pbuffer)(EglHandle, EglHandle, const EglInt*) = library["eglCreatePbufferSurface"];
  unsigned (*make_current)(EglHandle, EglHandle, EglHandle, EglHandle) = library["eglMakeCurrent"];
  unsigned (*destroy_context)(EglHandle, EglHandle) = library["eglDestroyContext"];
  unsigned (*destroy_surface)(EglHandle, EglHandle) = library["eglDestroySurface"];
  EglHandle (*get_platform_display)(unsigned, void*,
                                    const EglWord*) = library["eglGetPlatformDisplay"];  // needs EGL 1.5

  // Returns Mesa's display that needs no device, and then the displays of the devices in order.
  std::vector<EglHandle> displays() const {
    std::vector<EglHandle> all = {get_platform_display(kSurfacelessMesa, nullptr, nullptr)};
    using QueryDevices = unsigned (*)(EglInt, EglHandle*, EglInt*);
    const auto query = reinterpret_cast<QueryDevices>(get_proc_address("eglQueryDevicesEXT"));
    EglHandle devices[64];
    EglInt count = 0;
    if (query && query(64, devices, &count))
      for (EglInt k = 0; k < count; ++k) all.push_back(get_platform_display(kDeviceExt, devices[k], nullptr));
    std::erase(all, nullptr);
    return all;
  }
};

class EglContext final : public GlContext {
 public:
  EglContext(int width, int height) {
    for (EglHandle display : egl_.displays())
      if (make(display, width, height)) {
        egl_.library.stay();
        return;
      }
    throw std::invalid_argument("none of its displays supports OpenGL");
  }
  // Keeps the display, which other contexts may use.
  ~EglContext() override { release(); }

  bool make_current() override { return egl_.make_current(display_, surface_, surface_, context_); }

 private:
  bool make(EglHandle display, int width, int height) {
    constexpr EglInt kAttributes[] = {0x3024, 8,  0x3023, 8,  // red, green
                                      0x3022, 8,  0x3021, 8,  // blue, alpha
                                      0x3025, 24, 0x3026, 8,  // depth, stencil
                                      0x3033, 1,  0x3040, 8,  // pbuffers; OpenGL
                                      kNone};
    const EglInt size[] = {kWidth, width, kHeight, height, kNone};
    if (!egl_.initialize(display, nullptr, nullptr)) return false;
    display_ = display;
    EglHandle config = nullptr;
    EglInt count = 0;
    if (egl_.bind_api(kOpenGl) && egl_.choose_config(display, kAttributes, &config, 1, &count) && count > 0) {
      context_ = egl_.create_context(display, config, nullptr, nullptr);
      surface_ = egl_.create_pbuffer(display, config, size);
    }
    if (context_ && surface_ && make_current()) return true;
    release();
    egl_.terminate(display);
    return false;
  }

  void release() {
    egl_.make_current(display_, nullptr, nullptr, nullptr);
    if (surface_) egl_.destroy_surface(display_, surface_);
    if (context_) egl_.destroy_context(display_, context_);
    surface_ = context_ = nullptr;
  }

  Egl egl_;
  EglHandle display_ = nullptr, context_ = nullptr, surface_ = nullptr;
};

// --- OSMesa, which draws into our memory; constants are those of osmesa.h ---

class OsMesaContext final : public GlContext {
 public:
  OsMesaContext(int width, int height)
      : width_(width), height_(height), pixels_(static_cast<size_t>(width) * height * 4) {
    void* (*create)(unsigned, int, int, int, void*) = library_["OSMesaCreateContextExt"];
    constexpr unsigned kRgba = 0x1908;
    context_ = create(kRgba, 24, 8, 8, nullptr);  // depth, stencil, accumulation
    if (!context_ || !make_current()) throw std::invalid_argument("it cannot create a context");
    library_.stay();
  }
  ~OsMesaContext() override { destroy_(context_); }

  bool make_current() override {
    constexpr unsigned kUnsignedByte = 0x1401;
    return make_current_(context_, pixels_.data(), kUnsignedByte, width_, height_);
  }

 private:
  Library library_{"libOSMesa.so.8"};
  int width_, height_;
  std::vector<uint8_t> pixels_;
  unsigned char (*make_current_)(void*, void*, unsigned, int, int) = library_["OSMesaMakeCurrent"];
  void (*destroy_)(void*) = library_["OSMesaDestroyContext"];
  void* context_ = nullptr;
};

}  // namespace

std::unique_ptr<GlContext> GlContext::make(int width, int height) {
  std::string tried;
  try {
    return std::make_unique<EglContext>(width, height);
  } catch (const std::invalid_argument& error) {
    tried = std::string("EGL: ") + error.what();
  }
  try {
    return std::make_unique<OsMesaContext>(width, height);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("cannot record a video: no OpenGL (" + tried + "; OSMesa: " + error.what() +
                                "): install Mesa's EGL (Debian: libegl1 libegl-mesa0 libgl1-mesa-dri)");
  }
}

}  // namespace drl::film
