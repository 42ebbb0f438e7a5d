// Films and pictures beside the runs.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "report/page/run_groups.hpp"

namespace drl {

class Films {
 public:
  // Those of at most `largest` bytes are put into the page as long as it stays below kLimitOfPage; others are linked
  // from where the page lies.
  Films(std::filesystem::path page, double largest) : page_(std::move(page)), largest_(largest) {}
  static constexpr double kLimitOfPage = 64e6;  // bytes of films

  // Of each run the newest six, the others as links; "" if these runs have none.
  std::string html(std::span<const RunGroup> groups);

 private:
  std::string figure(const RunRecord& run, const std::filesystem::path& film);
  std::string link(const std::filesystem::path& film) const;

  std::filesystem::path page_;
  double largest_, taken_ = 0;
};

}  // namespace drl
