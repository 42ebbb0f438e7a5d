// A small file system, to be filled.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace drl {

// Only this process and its children see the file system. Only root can mount it.
class SmallDisk {
 public:
  explicit SmallDisk(const std::filesystem::path& folder, const std::string& size = "4m")
      : folder_(folder), size_("size=" + size) {
    std::filesystem::create_directories(folder);
    mounted_ =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && mount(0);
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return mounted_; }
  // Mounts it again with other flags, such as MS_RDONLY. Returns false, with the reason in errno, if that fails.
  bool remount(unsigned long flags) const { return mount(MS_REMOUNT | flags); }
  void fill() const {
    const std::string page(4096, 'x');
    for (std::ofstream file(folder_ / "filler"); file << page << std::flush;) {
    }
  }
  void free() const { std::filesystem::remove(folder_ / "filler"); }

 private:
  bool mount(unsigned long flags) const { return ::mount("none", folder_.c_str(), "tmpfs", flags, size_.c_str()) == 0; }

  std::filesystem::path folder_;
  std::string size_;
  bool mounted_ = false;
};

}  // namespace drl
