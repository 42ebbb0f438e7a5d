#include "envs/task_libraries.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "base/build_id.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "drl/task/abi.hpp"
#include "envs/make_env.hpp"
#include "motion/motion.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRebuild = "rebuild it with drl_add_task_library (find_package(drl)) of this drl";

std::vector<TaskLibraryFile>& loaded() {
  static std::vector<TaskLibraryFile> all;
  return all;
}

[[noreturn]] void refuse(const std::string& file, const std::string& problem, const std::string& why,
                         const std::string& what) {
  throw UsageError("task library " + printable(file) + " " + problem + " (" + why + "): " + what);
}

// Returns this thread's floating-point mode: flush-to-zero, rounding.
unsigned float_mode() {
#if defined(__SSE__)
  return _mm_getcsr() & ~0x3Fu;  // without the exception flags
#else
  return 0;
#endif
}
void set_float_mode([[maybe_unused]] unsigned mode) {
#if defined(__SSE__)
  _mm_setcsr(mode);
#endif
}

void* open_library(const std::string& file) {
  const unsigned before = float_mode();
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const unsigned after = float_mode();
  set_float_mode(before);
  if (!library) {
    const std::string why = dlerror();
    refuse(file, "cannot be loaded", why, "was it built with drl_add_task_library, for this kind of machine?");
  }
  if (before != after) {
    dlclose(library);
    refuse(file, "changes the floating-point mode of the whole program", "it was linked with -ffast-math or -Ofast",
           "build it without this option");
  }
  return library;
}

// Returns "" if the library matches this program, else the mismatch.
std::string mismatch(const TaskLibrary& library) {
  if (library.magic != kTaskMagic) return "its table is not one of drl";
  if (library.abi != kTaskAbi)
    return fmt::format("its ABI version is {}, but this drl has version {}", library.abi, kTaskAbi);
  if (!std::ranges::equal(library.sizes, TaskSizes{}.all)) return "the sizes of its structs differ from this drl's";
  if (library.flags != text_hash(DRL_TASK_FLAGS))
    return "its floating-point compiler options differ from those of this drl";
  if (library.count < 1 || !library.tasks) return "it has no task; does each header end with DRL_TASK?";
  return "";
}

// Returns "" if the task's record is complete, else what is missing.
std::string mismatch(const TaskRecord& r) {
  if (!r.name || !*r.name || !r.preset) return "it has no name or preset";
  const auto missing = [](int32_t count, const void* array) { return count < 0 || (count > 0 && !array); };
  if (r.obs_dim < 1 || r.history < 1 || r.critic_obs_dim < 0 || r.action_size < 1 || r.step_limit < 0)
    return "its dimensions are invalid";
  if (!r.discrete && (!r.action_low || !r.action_high)) return "it has no action bounds";
  if (missing(r.reward_term_count, r.reward_terms) || missing(r.field_count, r.fields) ||
      missing(r.param_count, r.params) || r.params_size < 1 || !r.default_params ||
      missing(r.metric_count, r.metrics) || missing(r.observation_count, r.observations) ||
      missing(r.action_count, r.actions) || missing(r.end_count, r.ends) || missing(r.head_count, r.heads) ||
      missing(r.curriculum_count, r.curriculum_names) || missing(r.curriculum_count, r.curriculum_start) ||
      (r.curriculum_count > 0 && !r.update_curriculum) || !r.mirrored_obs != !r.mirrored_action ||
      (r.mirrored_obs && !r.mirrored_critic_obs != (r.critic_obs_dim == 0)) || !r.action_scale != !r.action_offset)
    return "a list in its record is missing";
  bool has_loops = false;
  for (int k = 0; r.host && k < kIsaCount; ++k) {
    const TaskLoops& loops = r.host[k];
    if (!loops.reset && !loops.step && !loops.reset_ended) continue;  // not compiled for this instruction set
    if (!loops.reset || !loops.step || !loops.reset_ended) return "it lacks some loops";
    has_loops = true;
  }
  if (!has_loops || !r.gpu) return "it has no loops";
  if (r.robot && (!r.robot->inspect || !r.robot->own.model)) return "it has no robot model";
  return r.robot && r.robot->in_lanes ? mismatch(*r.robot->in_lanes) : "";
}

// Returns a hash of the file's contents, for libraries without a build id.
std::string hash_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  uint64_t hash = text_hash("");
  for (char c : text) hash = hash_with(hash, static_cast<unsigned char>(c));
  return fmt::format("{:012x}", hash & 0xffffffffffffull);
}

bool is_loaded(const std::string& file) {
  return std::ranges::find(loaded(), file, &TaskLibraryFile::file) != loaded().end();
}

std::vector<std::string> installed() {
  std::error_code ignored;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(installation() / "lib/drl/tasks", ignored))
    if (entry.path().extension() == ".so") files.push_back(fs::weakly_canonical(entry.path(), ignored).string());
  std::ranges::sort(files);
  return files;
}

}  // namespace

void load_task_library(const std::string& given) {
  std::error_code trouble;
  const fs::path path = fs::canonical(given, trouble);
  if (trouble || !fs::is_regular_file(path, trouble))
    refuse(given, "does not exist", trouble ? trouble.message() : "it is not a file",
           "pass its path, on a file system that all nodes share");
  const std::string file = path.string();
  if (is_loaded(file)) return;
  void* handle = open_library(file);
  const auto table = reinterpret_cast<DrlTaskLibraryFunction>(dlsym(handle, DRL_TASK_LIBRARY_SYMBOL));
  if (!table) {
    dlclose(handle);
    refuse(file, "is not a task library", std::string("it has no symbol ") + DRL_TASK_LIBRARY_SYMBOL,
           "build it with drl_add_task_library");
  }
  const TaskLibrary* library = table();
  if (const std::string why = library ? mismatch(*library) : "it returns no table"; !why.empty())
    refuse(file, "does not match this drl", why, kRebuild);
  TaskLibraryFile entry{file, "", library->compiler ? library->compiler : "", {}};
  for (int k = 0; k < library->count; ++k) {
    const TaskRecord* record = library->tasks[k];
    if (const std::string why = record ? mismatch(*record) : "its record is empty"; !why.empty())
      refuse(file, fmt::format("has a task that cannot be used, number {}", k), why, kRebuild);
    entry.tasks.emplace_back(record->name);
  }
  const std::string id = build_id_of(library);
  entry.build = path.filename().string() + " (build " + (id.empty() ? hash_of(file) : id) + ")";
  if (library->motion_reader) *library->motion_reader = read_motion_file;
  register_tasks(*library, file);
  loaded().push_back(std::move(entry));
}

void load_task_libraries(const std::vector<std::string>& given) {
  for (const std::string& file : given) load_task_library(file);
  if (const char* list = std::getenv("DRL_TASK_LIBRARIES"))
    for (const std::string& file : split(list, ':'))
      if (!file.empty()) load_task_library(typed_path("DRL_TASK_LIBRARIES", file));
}

void load_installed_task_libraries() {
  static bool done = false;
  if (done) return;
  done = true;
  for (const std::string& file : installed()) load_task_library(file);
}

void load_recorded_library(const std::string& task, const std::string& file) {
  if (file.empty() || contains(task_names(), task)) return;
  const auto is_own = [](const fs::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid()) &&
           (status.st_mode & 022) == 0;
  };
  const std::string problem = !fs::exists(file) ? "it does not exist"
                              : !is_own(file) || !is_own(fs::path(file).parent_path())
                                  ? "others can change it, so it is not loaded without being named"
                                  : "";
  if (!problem.empty())
    throw UsageError("the run's task " + printable(task) + " is in the task library " + printable(file, 500) + " (" +
                     problem + "): give --task_library FILE");
  load_task_library(file);
}

const std::vector<TaskLibraryFile>& task_libraries() { return loaded(); }

const TaskLibraryFile* task_library_of(const std::string& task) {
  const auto found = std::ranges::find_if(loaded(), [&](const auto& library) { return contains(library.tasks, task); });
  return found == loaded().end() ? nullptr : &*found;
}

std::string task_library_build(const std::string& task) {
  const TaskLibraryFile* library = task_library_of(task);
  return library ? library->build : "";
}

std::string task_library_file(const std::string& task) {
  const TaskLibraryFile* library = task_library_of(task);
  return !library || contains(installed(), library->file) ? "" : library->file;
}

std::vector<std::string> task_library_option(const std::string& task) {
  const std::string file = task_library_file(task);
  return file.empty() ? std::vector<std::string>{} : std::vector<std::string>{"--task_library", file};
}

std::string task_library_builds() {
  std::vector<std::string> builds;
  for (const TaskLibraryFile& library : loaded()) builds.push_back(library.build);
  return join(builds, ", ");
}

}  // namespace drl
