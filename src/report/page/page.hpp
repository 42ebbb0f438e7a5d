// Generates the report page: one HTML file that needs no other files, no network, and works without scripts.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "report/page/run_groups.hpp"

namespace drl {

struct PageOptions {
  std::string title = "Training";
  std::filesystem::path file = "report.html";  // path of the page, from which videos are linked
  double film_bytes = 8e6;                     // larger videos are linked instead of embedded
  size_t max_points = 600;                     // per curve
};

// Returns the page as HTML. `warnings` are sentences that are shown first. No content of the runs makes it throw.
std::string report_page(const std::vector<RunGroup>& groups, const std::vector<std::string>& warnings,
                        const PageOptions& options);

}  // namespace drl
