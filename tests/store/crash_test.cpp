// Kills writers and fills disks: the checkpoint must always be either the old one or the new one.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "../support/mentions.hpp"
#include "../support/small_disk.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "samples.hpp"
#include "store/checkpoint.hpp"

namespace drl {
namespace {

// About 400 kB, which is many pages. Two such checkpoints do not fit on the small disk below.
Checkpoint large_checkpoint(int64_t iteration) {
  Checkpoint checkpoint = small_checkpoint(iteration);
  checkpoint.tensors.push_back(counting_tensor("big", DType::u8, {400000}));
  checkpoint.tensors.back().data[0] = static_cast<std::byte>(iteration);
  return checkpoint;
}

// Returns the file's iteration, and expects that its whole content belongs to that iteration.
int64_t iteration_in(const std::filesystem::path& path) {
  const Checkpoint read = read_checkpoint(path);
  const int64_t iteration = std::get<int64_t>(read.attributes.at("iteration"));
  const Checkpoint expected = large_checkpoint(iteration);
  EXPECT_EQ(read.tensors.size(), expected.tensors.size());
  for (const Tensor& tensor : expected.tensors) EXPECT_EQ(*read.find(tensor.name), tensor);
  return iteration;
}

pid_t start_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  work();
  ::_exit(0);
}

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// Limits the size of files. A larger write kills the process, or fails if SIGXFSZ is ignored.
void limit_file_size(rlim_t bytes) {
  const rlimit no_core{0, 0}, limit{bytes, RLIM_INFINITY};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(Crash, AKillAtAnyTimeLeavesTheOldOrTheNewCheckpoint) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "c.h5";
  write_checkpoint(path, large_checkpoint(1));
  for (int kill_number = 0; kill_number < 40; ++kill_number) {
    const pid_t child = start_child([&] {
      for (int64_t iteration = 1;; iteration = 3 - iteration) write_checkpoint(path, large_checkpoint(iteration));
    });
    ::usleep(static_cast<useconds_t>(1000 + 613 * kill_number));  // each time at another moment of the writer's cycle
    ::kill(child, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));
    const int64_t iteration = iteration_in(path);
    EXPECT_TRUE(iteration == 1 || iteration == 2) << iteration;
  }
  write_checkpoint(path, large_checkpoint(7));  // replaces the temporary file that a kill has left
  EXPECT_EQ(iteration_in(path), 7);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"c.h5"});
}

TEST(Crash, AKillDuringAWriteLeavesTheOldCheckpoint) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "c.h5";
  write_checkpoint(path, large_checkpoint(1));
  for (rlim_t bytes : {0, 1, 511, 512, 4096, 100000, 399999}) {
    const pid_t child = start_child([&] {
      limit_file_size(bytes);
      write_checkpoint(path, large_checkpoint(2));
    });
    const int status = status_of(child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    EXPECT_EQ(iteration_in(path), 1);
    EXPECT_EQ(slurp(folder / "c.h5.tmp").size(), bytes);
  }
}

// Other users may guess the temporary file's name and create a link with that name.
TEST(Crash, DoesNotFollowAPlantedLink) {
  const TempFolder folder;
  spill(folder / "victim", "precious");
  std::filesystem::create_symlink(folder / "victim", folder / "c.h5.tmp");
  write_checkpoint(folder / "c.h5", large_checkpoint(1));
  EXPECT_TRUE(slurp(folder / "victim") == "precious");
  EXPECT_EQ(iteration_in(folder / "c.h5"), 1);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"c.h5", "victim"}));
}

// Returns the error of writing a checkpoint to `path`.
std::string failed_write(const std::filesystem::path& path) {
  return error_from<Error>([&] { write_checkpoint(path, large_checkpoint(2)); });
}

TEST(Crash, AFailedWriteKeepsTheOldCheckpointAndRemovesTheTemporaryFile) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "c.h5";
  write_checkpoint(path, large_checkpoint(1));
  const pid_t child = start_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    limit_file_size(100000);
    const std::string message = failed_write(path);
    ::_exit(message.find("File too large") != std::string::npos && message.find("ulimit -f is 97") != std::string::npos
                ? 0
                : 1);
  });
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(iteration_in(path), 1);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"c.h5"});
}

TEST(Crash, AFullDiskKeepsTheOldCheckpointAndRemovesTheTemporaryFile) {
  const TempFolder folder;
  const SmallDisk disk(folder.path(), "600k");
  if (!disk.is_mounted()) GTEST_SKIP() << "cannot mount a small disk: " << std::strerror(errno);
  write_checkpoint(folder / "c.h5", large_checkpoint(1));
  const std::string message = failed_write(folder / "c.h5");
  EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
  EXPECT_EQ(iteration_in(folder / "c.h5"), 1);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"c.h5"});
}

TEST(Crash, AMissingDirectoryIsAnError) {
  const TempFolder folder;
  EXPECT_NE(failed_write(folder.path() / "none" / "c.h5").find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace drl
