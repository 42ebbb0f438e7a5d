// Checks the project's rules that a compiler cannot check, by reading the sources.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path kSource = drl::source("src");

struct Line {
  std::string file;  // relative to src/
  int number;
  std::string text;
  std::string room() const { return file.substr(0, file.find('/')); }
  std::string where() const { return "src/" + file + ":" + std::to_string(number) + ": " + text; }
};

std::string without_comment(const std::string& line) { return line.substr(0, line.find("//")); }

// Returns all lines of all sources, without comments.
const std::vector<Line>& lines() {
  static const std::vector<Line> all = [] {
    std::vector<Line> result;
    for (const auto& entry : fs::recursive_directory_iterator(kSource)) {
      const std::string type = entry.path().extension().string();
      if (type != ".cpp" && type != ".hpp" && type != ".h" && type != ".cu" && type != ".cuh" && type != ".in")
        continue;
      std::ifstream file(entry.path());
      int number = 0;
      for (std::string text; std::getline(file, text);)
        result.push_back({fs::relative(entry.path(), kSource).generic_string(), ++number, without_comment(text)});
    }
    return result;
  }();
  return all;
}

// Returns the matching lines outside the directories and files `allowed`.
std::vector<std::string> matches(const std::string& pattern, const std::vector<std::string>& allowed) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (const Line& line : lines())
    if (std::ranges::none_of(allowed, [&](const auto& place) { return line.file.starts_with(place); }) &&
        std::regex_search(line.text, regex))
      found.push_back(line.where());
  return found;
}

// Returns the position of each room in src/CMakeLists.txt.
std::map<std::string, int> room_order() {
  std::ifstream file(kSource / "CMakeLists.txt");
  const std::regex regex(R"(^add_(?:subdirectory|cold_room)\((\w+)\))");
  std::map<std::string, int> order;
  std::smatch match;
  for (std::string line; std::getline(file, line);)
    if (std::regex_search(line, match, regex)) order.emplace(match[1], static_cast<int>(order.size()));
  return order;
}

void expect_none(const std::vector<std::string>& found) {
  for (const std::string& line : found) ADD_FAILURE() << line;
}

TEST(Structure, EveryDirectoryIsARoom) {
  const std::map<std::string, int> order = room_order();
  EXPECT_GE(order.size(), 10u);
  for (const auto& entry : fs::directory_iterator(kSource))
    EXPECT_TRUE(!entry.is_directory() || order.count(entry.path().filename().string())) << entry.path();
}

TEST(Structure, NoRoomIncludesUpwards) {
  const std::map<std::string, int> order = room_order();
  const std::regex regex("^\\s*#\\s*include\\s*\"([^\"]*)\"");
  std::smatch match;
  int includes = 0;
  for (const Line& line : lines()) {
    if (!std::regex_search(line.text, match, regex)) continue;
    const std::string path = match[1], room = path.substr(0, path.find('/'));
    if (room == "drl" || path.starts_with('@')) continue;  // include/drl is not a room; a template's own header
    ASSERT_TRUE(order.count(room)) << line.where() << " (includes are written \"room/file.hpp\")";
    EXPECT_LE(order.at(room), order.at(line.room())) << line.where();
    includes += 1;
  }
  EXPECT_GT(includes, 100) << "the sources were not found";
}

// Returns what the headers of include/drl/FOLDER include of drl, without "drl/".
std::vector<std::string> includes_of_headers(const std::string& folder) {
  const std::regex regex("^#include \"drl/([^\"]*)\"");
  std::smatch match;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kSource.parent_path() / "include/drl" / folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (std::regex_search(line, match, regex)) found.push_back(match[1]);
  }
  return found;
}

// Authors of tasks include the headers of include/drl itself, and those of robots/. Of the directories below, lanes/ is
// the lowest, and robots/ the highest.
TEST(Structure, NoInstalledHeaderIncludesUpwards) {
  for (const std::string& path : includes_of_headers("lanes")) EXPECT_TRUE(path.starts_with("lanes/")) << path;
  const std::vector<std::string> of_task = includes_of_headers("task");
  EXPECT_GT(of_task.size(), 20u);
  for (const std::string& path : of_task) EXPECT_FALSE(path.starts_with("physics/") || path == "robot.hpp") << path;
  for (const std::string& path : includes_of_headers("physics")) EXPECT_FALSE(path.starts_with("robots/")) << path;
  std::vector<std::string> authors;
  for (const auto& entry : fs::directory_iterator(kSource.parent_path() / "include/drl"))
    if (entry.is_regular_file()) authors.push_back(entry.path().filename().string());
  std::ranges::sort(authors);
  EXPECT_EQ(authors, (std::vector<std::string>{"canvas.hpp", "math.hpp", "robot.hpp", "simulator.hpp", "task.hpp",
                                               "terrain.hpp"}));
}

TEST(Structure, NoHeaderIncludesItselfThroughOthers) {
  const std::regex regex("^\\s*#\\s*include\\s*\"([^\"]*)\"");
  std::smatch match;
  std::map<std::string, std::vector<std::string>> includes;
  for (const fs::path& root : {kSource, kSource.parent_path() / "include"})
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".hpp") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);)
        if (std::regex_search(line, match, regex))
          includes[fs::relative(entry.path(), root).generic_string()].push_back(match[1]);
    }
  std::map<std::string, bool> is_done;  // false: on the way from the first header to this one
  const std::function<void(const std::string&)> visit = [&](const std::string& header) {
    if (const auto [place, is_new] = is_done.emplace(header, false); !is_new) {
      EXPECT_TRUE(place->second) << header << " includes itself";
      return;
    }
    for (const std::string& next : includes[header]) visit(next);
    is_done[header] = true;
  };
  EXPECT_GT(includes.size(), 300u);
  for (const auto& [header, next] : includes) visit(header);
}

TEST(Structure, LibtorchIsIncludedOnlyInItsPlugin) {
  expect_none(matches(R"(^\s*#\s*include\s*[<"](torch|ATen|c10)/)", {"nets/torch/plugin.cpp"}));
}

TEST(Structure, MujocoAndImageLibrariesAreIncludedOnlyInTheRenderer) {
  expect_none(matches(R"(^\s*#\s*include\s*[<"](mujoco/|png\.h|gif_lib\.h|EGL/|GL/))", {"film/renderer/"}));
}

TEST(Structure, MpiAndNcclAreCalledOnlyInComm) {
  expect_none(matches(R"(^\s*#\s*include\s*[<"]mpi\w*\.h|\bMPI_\w+\s*\(|\bgpuccl[A-Z]\w*\s*\()", {"comm/"}));
}

// drl can be compiled for CUDA and HIP because one installed header contains the names of the device runtime, and a few
// headers of drl those of its libraries. No file works around them. hd.hpp asks which compiler compiles it.
TEST(Structure, OnlyOneHeaderContainsNamesOfTheDeviceRuntime) {
  const std::string include = R"(^\s*#\s*include\s*[<"](cuda|hip|cublas|nccl|nv|roc|rccl)\w*[./])",
                    call = R"(\b((cuda|hip|cublas|nccl)[A-Z]|rocblas_)\w*)",
                    compiler = "__(CUDA|CUDACC|HIP|NVCC)\\w*__";
  expect_none(
      matches(include + "|" + call + R"(\()", {"gpu/cuda_names.hpp", "gpu/rocm_names.hpp", "gpu/rocm_declarations.h"}));
  expect_none(matches(compiler, {}));
  const std::regex any(include + "|" + call + "|" + compiler);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kSource.parent_path() / "include/drl")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name == "gpu_runtime.hpp" || name == "hd.hpp") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      EXPECT_FALSE(std::regex_search(without_comment(line), any)) << entry.path() << ": " << line;
    files += 1;
  }
  EXPECT_GT(files, 50);
}

// Algorithms are the directories in src/algorithms, and have their names in the table. The presets of tasks are made
// for PPO, and advice in messages may name its options.
TEST(Structure, AnAlgorithmIsNamedOnlyInItsDirectoryAndTheTable) {
  int algorithms = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "algorithms")) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    std::string camel = name, upper = name;
    camel[0] = static_cast<char>(std::toupper(camel[0]));
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    std::vector<std::string> allowed = {"algorithms/" + name + "/", "algorithms/make_algorithm.cpp"};
    if (name == "ppo")
      for (const char* place : {"tasks/", "robots/", "apps/new_task/", "apps/habits.cpp", "envs/check_task.cpp"})
        allowed.push_back(place);
    expect_none(matches("\\b" + name + "(\\b|_)|\\b" + camel + "|\\b" + upper + "\\b", allowed));
    EXPECT_EQ(matches("#include \"algorithms/" + name + "/" + name + ".hpp\"", {"algorithms/" + name + "/"}).size(),
              1u);
    algorithms += 1;
  }
  EXPECT_GE(algorithms, 3);
}

// Otherwise a policy could act in one way during training and in another when it is evaluated or filmed.
TEST(Structure, OnlyTheActorChoosesActions) { expect_none(matches("ChooseActions|most_probable<", {"policy/"})); }

TEST(Structure, LauncherVariablesAreReadOnlyInLaunchPlacementAndComm) {
  expect_none(matches("\"(SLURM|OMPI|PMI|PMIX|PALS|MPI)_", {"launch/", "placement/", "comm/"}));
}

// Ranks that see only one GPU each cannot map the others' memory (CUDA IPC), so no text may suggest --gpus-per-task.
TEST(Structure, NoTextSuggestsBindingGpusToTasks) {
  const fs::path top = kSource.parent_path();
  const std::regex regex(R"(--gpus-per-task[= ]*[0-9$"{])");
  int files = 0;
  for (const char* place : {"src", "batch", "docs", "modules", "tools", "README.md"}) {
    std::vector<fs::path> paths;
    if (fs::is_directory(top / place))
      for (const auto& entry : fs::recursive_directory_iterator(top / place)) paths.push_back(entry.path());
    else
      paths.push_back(top / place);
    for (const fs::path& path : paths) {
      if (!fs::is_regular_file(path)) continue;
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);)
        EXPECT_FALSE(std::regex_search(line, regex)) << path << ": " << line;
      files += 1;
    }
  }
  EXPECT_GT(files, 200);
}

// All random numbers come from include/drl/lanes/philox.hpp, and are pure functions of their key.
TEST(Structure, AllRandomNumbersComeFromPhilox) {
  expect_none(
      matches(R"((torch|at)::(rand|normal|multinomial|bernoulli|dropout|poisson)\w*|manual_seed|::Generator\b)", {}));
  expect_none(matches(R"((\.|->)(normal|uniform|random|bernoulli|exponential|cauchy|geometric|dropout)_\()", {}));
  expect_none(matches(
      R"(\b(s?rand|d?rand48|random)\s*\(|std::(mt19937|minstd|random_device|default_random_engine|ranlux|shuffle|\w+_distribution))",
      {}));
  expect_none(matches(R"(#\s*include\s*<(random|curand\w*)(\.h)?>)", {}));
}

}  // namespace
