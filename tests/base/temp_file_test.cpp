#include "base/temp_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "../support/temp_folder.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

// A TMPDIR for the time of a test.
class Tmpdir {
 public:
  explicit Tmpdir(const std::string& value) {
    if (const char* now = std::getenv("TMPDIR")) before_ = now;
    setenv("TMPDIR", value.c_str(), 1);
  }
  ~Tmpdir() { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(TempFolder, IsTmpdirWhereThatIsThere) {
  const TempFolder folder;
  const std::string there = folder.path(), missing = folder / "missing", file = folder / "file";
  spill(file, "");
  EXPECT_EQ((Tmpdir(there), temp_folder()), there);
  EXPECT_EQ((Tmpdir(missing), temp_folder()), "/tmp");
  EXPECT_EQ((Tmpdir(file), temp_folder()), "/tmp");
  EXPECT_EQ((Tmpdir(""), temp_folder()), "/tmp");
}

TEST(TempFile, IsForItsUserAloneAndGoes) {
  const TempFolder folder;
  const Tmpdir here(folder.path());
  {
    const TempFile file("drl", "a\nb");
    EXPECT_EQ(fs::path(file.path()).parent_path(), folder.path());
    EXPECT_EQ(mode_of(file.path()), 0600u);
    EXPECT_EQ(slurp(file.path()), "a\nb");
    EXPECT_EQ(TempFile("drl").text(), "");
    EXPECT_TRUE(write_own_file(file.path(), "7"));  // as another process of ours does
    EXPECT_EQ(file.text(), "7");
  }
  EXPECT_EQ(folder.names(), Names{});
}

// What another program has put in its place is not ours.
TEST(TempFile, IsReadByWhoMadeItOnly) {
  const TempFolder folder;
  const Tmpdir here(folder.path());
  const TempFile file("drl", "0");
  fs::remove(file.path());
  spill(file.path(), "9");
  EXPECT_EQ(file.text(), "0");
}

TEST(OwnFile, IsNoLink) {
  const TempFolder folder;
  spill(folder / "victim", "precious");
  fs::create_symlink(folder / "victim", folder / "link");
  fs::create_symlink(folder / "nowhere", folder / "dangling");
  for (const char* name : {"link", "dangling"}) {
    EXPECT_FALSE(create_own_file(folder / name, "x"));
    EXPECT_FALSE(write_own_file(folder / name, "x"));
  }
  EXPECT_FALSE(create_own_file(folder / "victim", "x"));
  EXPECT_EQ(slurp(folder / "victim"), "precious");
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  EXPECT_FALSE(write_own_file(folder / "missing", "x"));
  EXPECT_TRUE(create_own_file(folder / "new", "longer"));
  EXPECT_EQ(mode_of(folder / "new"), 0600u);
  EXPECT_TRUE(write_own_file(folder / "new", "x"));
  EXPECT_EQ(slurp(folder / "new"), "x");
}

TEST(OwnFile, IsNotAnotherUsers) {
  const TempFolder folder;
  spill(folder / "theirs", "precious");
  if (chown((folder / "theirs").c_str(), 1, 1) != 0) GTEST_SKIP() << "only root can give a file away";
  EXPECT_FALSE(write_own_file(folder / "theirs", "x"));
  EXPECT_EQ(slurp(folder / "theirs"), "precious");
}

TEST(OwnFolder, IsSharedByProcessesOfOneUser) {
  const TempFolder folder;
  EXPECT_FALSE(OwnFolder(folder / "a", OwnFolder::If::there).is_there());
  const OwnFolder first(folder / "a", OwnFolder::If::missing_create), second(folder / "a", OwnFolder::If::there);
  EXPECT_EQ(mode_of(folder / "a"), 0700u);
  EXPECT_TRUE(first.create("1"));
  EXPECT_TRUE(second.create("2"));
  EXPECT_EQ(first.names().size(), 2u);
  first.remove("2");
  EXPECT_EQ(second.names(), Names{"1"});
  second.remove_if_empty();
  EXPECT_TRUE(fs::exists(folder / "a" / "1"));
  second.remove("1");
  second.remove_if_empty();
  EXPECT_EQ(folder.names(), Names{});
}

TEST(OwnFolder, IsNothingThatAnotherMayHavePlanted) {
  const TempFolder folder;
  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms::all);
  fs::create_directory(folder / "private");
  fs::permissions(folder / "private", fs::perms::owner_all);
  fs::create_directory_symlink(folder / "private", folder / "link");
  spill(folder / "file", "");
  for (const char* name : {"open", "link", "file"}) {
    const OwnFolder planted(folder / name, OwnFolder::If::missing_create);
    EXPECT_FALSE(planted.is_there()) << name;
    EXPECT_FALSE(planted.create("1")) << name;
    EXPECT_TRUE(planted.names().empty());
    planted.remove_if_empty();
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  }
  EXPECT_TRUE(fs::is_empty(folder / "private"));
  if (chown((folder / "private").c_str(), 1, 1) != 0) GTEST_SKIP() << "only root can give a folder away";
  EXPECT_FALSE(OwnFolder(folder / "private", OwnFolder::If::there).is_there());
}

TEST(OwnFolder, FollowsNoLinkInside) {
  const TempFolder folder;
  const OwnFolder own(folder / "own", OwnFolder::If::missing_create);
  fs::create_symlink(folder / "victim", folder / "own" / "1");
  EXPECT_FALSE(own.create("1"));
  EXPECT_FALSE(fs::exists(folder / "victim"));
}

}  // namespace
}  // namespace drl
