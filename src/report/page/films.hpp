// The page's section of videos and pictures.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "report/page/run_groups.hpp"

namespace drl {

class Films {
 public:
  // Videos of at most `largest` bytes are embedded until the page contains kLimitOfPage bytes of them; others are
  // linked relative to `page`.
  Films(std::filesystem::path page, double largest) : page_(std::move(page)), largest_(largest) {}
  static constexpr double kLimitOfPage = 64e6;  // bytes of embedded videos

  // Returns the section: the newest six videos of each run, and links to the others; "" if the runs have no videos.
  std::string html(std::span<const RunGroup> groups);

 private:
  std::string figure(const RunRecord& run, const std::filesystem::path& film);
  std::string link(const std::filesystem::path& film) const;

  std::filesystem::path page_;
  double largest_, taken_ = 0;
};

}  // namespace drl
