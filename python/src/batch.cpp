// The module drl._batch: opens the shared library of a compiled robot (drl/physics/batch_library.hpp), and steps its
// simulations on a team of threads. python/drl/batch.py owns all arrays.
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_team.hpp"
#include "drl/physics/batch_library.hpp"

namespace drl {
namespace {

namespace nb = nanobind;

// --- Threads ---

// Returns the CPUs that this process may use.
std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

// A ThreadTeam that also works in a child process after a fork, which has none of its parent's threads.
class ForkedTeam {
 public:
  explicit ForkedTeam(int threads) : threads_(threads) { start(); }
  ~ForkedTeam() { forget_parent(); }
  ForkedTeam(const ForkedTeam&) = delete;
  ForkedTeam& operator=(const ForkedTeam&) = delete;
  int size() const { return threads_; }
  ThreadTeam& get() {
    forget_parent();
    if (!team_) start();
    return *team_;
  }

 private:
  // Threads stay on CPUs of their own if there is one for each; otherwise other processes may have the same CPUs.
  void start() {
    const std::vector<int> cpus = usable_cpus();
    team_ = std::make_unique<ThreadTeam>(threads_,
                                         static_cast<size_t>(threads_) == cpus.size() ? cpus : std::vector<int>());
    process_ = getpid();
  }
  void forget_parent() {
    if (process_ != getpid()) static_cast<void>(team_.release());  // joining its threads would never end
  }

  int threads_;
  pid_t process_ = 0;
  std::unique_ptr<ThreadTeam> team_;
};

// Lets Python handle signals, such as that of Ctrl-C, in a call without its lock. The thread of the constructor is the
// one that can do so.
class Signals {
 public:
  // Returns whether a signal ends the call.
  bool stop() {
    if (std::this_thread::get_id() == caller_ && !stop_ && std::chrono::steady_clock::now() > next_) {
      const nb::gil_scoped_acquire acquired;
      stop_ = PyErr_CheckSignals() != 0;
      next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    }
    return stop_;
  }
  // Throws the signal's exception.
  void raise() const {
    if (!stop_) return;
    const nb::gil_scoped_acquire acquired;
    throw nb::python_error();
  }

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  std::atomic<bool> stop_{false};
};

// --- Simulations ---

const BatchLibrary& open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw std::runtime_error(std::string("the compiled robot cannot be opened (") + dlerror() +
                             "): delete it, or set DRL_CACHE if another kind of node has compiled it");
  using Get = const BatchLibrary* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(library, "drl_batch_library"));
  if (!get || get()->version != BatchLibrary::kVersion)
    throw std::runtime_error("the compiled robot " + path + " is of another version of drl: delete it");
  return *get();
}

using Array = nb::ndarray<nb::numpy, nb::c_contig, nb::device::cpu>;
using Ids = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Heights = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class Simulations {
 public:
  Simulations(const std::string& library, int count, int threads)
      : library_(open_library(library)),
        count_(count),
        team_(threads),
        columns_(static_cast<size_t>(library_.fields)),
        owners_(columns_.size()) {}

  const BatchLibrary& library() const { return library_; }
  int threads() const { return team_.size(); }

  // Sets the array [numbers, stride] of a field, or removes that of an output. All arrays have the same stride.
  void set_column(size_t field, const std::optional<Array>& array) {
    if (array &&
        (array->ndim() != 2 || array->shape(0) != static_cast<size_t>(library_.field[field].numbers) ||
         array->shape(1) < static_cast<size_t>(count_) || array->itemsize() != static_cast<size_t>(library_.bytes)))
      throw std::invalid_argument(std::string("a wrong array for ") + library_.field[field].name);
    if (array) stride_ = static_cast<int64_t>(array->shape(1));
    owners_.at(field) = array;
    columns_.at(field) = array ? array->data() : nullptr;
  }

  // Steps the simulations `ids`, or all; see BatchCall. A signal's exception, such as KeyboardInterrupt, ends the call
  // when some of them have been stepped.
  void run(const std::optional<Ids>& ids, int steps) {
    const int32_t* list = ids ? ids->data() : nullptr;
    const int64_t n = ids ? static_cast<int64_t>(ids->shape(0)) : count_, lanes = library_.lanes;
    const nb::gil_scoped_release released;
    const int64_t packs = (n + lanes - 1) / lanes, parts = std::min<int64_t>(packs, kPartsPerThread * team_.size());
    Signals signals;
    team_.get().run(parts, [&](int64_t part) {
      for (int64_t pack = packs * part / parts; pack < packs * (part + 1) / parts && !signals.stop(); ++pack)
        run_pack(list, lanes * pack, std::min(lanes, n - lanes * pack), steps);
    });
    signals.raise();
  }
  // Computes the constants that follow from the parameters of the simulations.
  void set_constants(size_t field, const Ids& ids) {
    const nb::gil_scoped_release released;
    team_.get().run(static_cast<int64_t>(ids.shape(0)), [&](int64_t k) {
      library_.set_constants(static_cast<char*>(columns_[field]) + library_.bytes * ids.data()[k], stride_);
    });
  }
  void set_heights(int field, const Heights& heights, const std::vector<double>& size) {
    library_.set_heights(field, static_cast<int>(heights.shape(0)), static_cast<int>(heights.shape(1)), size.data(),
                         heights.data());
  }

 private:
  static constexpr int64_t kPartsPerThread = 8;

  // Runs up to one pack of simulations: those of list[first] on, or, without a list, those from `first` on.
  void run_pack(const int32_t* list, int64_t first, int64_t n, int steps) const {
    if (!list && n == library_.lanes) {
      std::vector<void*>& columns = scratch().columns;
      columns.resize(columns_.size());
      for (size_t f = 0; f < columns_.size(); ++f)
        columns[f] = columns_[f] ? static_cast<char*>(columns_[f]) + library_.bytes * first : nullptr;
      library_.run({.columns = columns.data(), .stride = stride_, .steps = steps});
    } else if (library_.bytes == sizeof(float)) {
      run_copies<float>(list, first, n, steps);
    } else {
      run_copies<double>(list, first, n, steps);
    }
  }
  // Runs copies of the simulations, whose results replace them. Lanes that are left over repeat the last simulation.
  template <class T>
  void run_copies(const int32_t* list, int64_t first, int64_t n, int steps) const {
    const int64_t lanes = library_.lanes;
    const auto simulation = [&](int64_t lane) {
      const int64_t k = first + std::min(lane, n - 1);
      return list ? static_cast<int64_t>(list[k]) : k;
    };
    Scratch& to = scratch();
    const std::vector<void*>& from = columns_;
    size_t numbers = 0;
    for (size_t f = 0; f < from.size(); ++f) numbers += from[f] ? numbers_of(f) : 0;
    to.columns.assign(from.size(), nullptr);
    to.bytes.resize(numbers * static_cast<size_t>(lanes) * sizeof(T));
    T* next = reinterpret_cast<T*>(to.bytes.data());
    for (size_t f = 0; f < from.size(); ++f)
      if (from[f]) {
        to.columns[f] = next;
        if (library_.field[f].role == BatchField::output) {
          next += static_cast<int64_t>(numbers_of(f)) * lanes;
          continue;
        }
        for (size_t k = 0; k < numbers_of(f); ++k)
          for (int64_t lane = 0; lane < lanes; ++lane)
            *next++ = static_cast<const T*>(from[f])[static_cast<int64_t>(k) * stride_ + simulation(lane)];
      }
    library_.run({.columns = to.columns.data(), .stride = lanes, .steps = steps});
    for (size_t f = 0; f < from.size(); ++f)
      if (from[f] && library_.field[f].role != BatchField::input)
        for (size_t k = 0; k < numbers_of(f); ++k)
          for (int64_t lane = 0; lane < n; ++lane)
            static_cast<T*>(from[f])[static_cast<int64_t>(k) * stride_ + simulation(lane)] =
                static_cast<const T*>(to.columns[f])[static_cast<int64_t>(k) * lanes + lane];
  }
  size_t numbers_of(size_t field) const { return static_cast<size_t>(library_.field[field].numbers); }

  // The memory of a thread.
  struct Scratch {
    std::vector<void*> columns;
    std::vector<char> bytes;
  };
  static Scratch& scratch() {
    static thread_local Scratch one;
    return one;
  }

  const BatchLibrary& library_;
  int count_;
  ForkedTeam team_;
  int64_t stride_ = 0;
  std::vector<void*> columns_;  // by field
  std::vector<std::optional<Array>> owners_;
};

// --- What Python sees ---

// Returns the name of this CPU's best instruction set (drl/compiler.py lists them).
std::string instruction_set() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("x86-64-v4")   ? "x86-64-v4"
         : __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3"
                                               : "x86-64-v2";
#elif defined(__aarch64__)
  return "armv8-a";
#else
  return "native";
#endif
}

nb::list fields_of(const Simulations& simulations) {
  nb::list all;
  const BatchLibrary& library = simulations.library();
  for (int f = 0; f < library.fields; ++f)
    all.append(
        nb::make_tuple(library.field[f].name, library.field[f].numbers, static_cast<int>(library.field[f].role)));
  return all;
}
nb::list parameters_of(const Simulations& simulations) {
  nb::list all;
  const BatchLibrary& library = simulations.library();
  for (int p = 0; p < library.parameters; ++p) {
    const ModelParameter of = library.parameter(p);
    all.append(nb::make_tuple(static_cast<int>(of.kind), of.index,
                              nb::make_tuple(library.start(p, 0), library.start(p, 1), library.start(p, 2))));
  }
  return all;
}
nb::dict lacking_sensors_of(const Simulations& simulations) {
  nb::dict all;
  for (int k = 0; k < simulations.library().lacking_sensors; ++k) {
    const char *name = "", *why = "";
    simulations.library().lacking_sensor(k, &name, &why);
    all[name] = why;
  }
  return all;
}
nb::list height_fields_of(const Simulations& simulations) {
  nb::list all;
  for (int k = 0; k < simulations.library().height_fields; ++k) all.append(simulations.library().height_field(k));
  return all;
}

}  // namespace
}  // namespace drl

NB_MODULE(_batch, module) {
  using namespace drl;
  module.def("instruction_set", instruction_set);
  module.def("cpus", [] { return static_cast<int>(usable_cpus().size()); });
  nb::class_<Simulations>(module, "Simulations")
      .def(nb::init<const std::string&, int, int>())
      .def_prop_ro("lanes", [](const Simulations& s) { return s.library().lanes; })
      .def_prop_ro("constants", [](const Simulations& s) { return s.library().constants; })
      .def_prop_ro("growth", [](const Simulations& s) { return s.library().growth; })
      .def_prop_ro("nthread", &Simulations::threads)
      .def_prop_ro("fields", fields_of)
      .def_prop_ro("parameters", parameters_of)
      .def_prop_ro("lacking_sensors", lacking_sensors_of)
      .def_prop_ro("height_fields", height_fields_of)
      .def("set_column", &Simulations::set_column, nb::arg(), nb::arg().none())
      .def("run", &Simulations::run, nb::arg().none(), nb::arg())
      .def("set_constants", &Simulations::set_constants)
      .def("set_heights", &Simulations::set_heights);
}
