// The page: one file that needs no other, no network and no script.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/page/run_groups.hpp"

namespace drl {

struct PageOptions {
  std::string title = "Training";
  std::filesystem::path file = "report.html";  // where the page will lie: films are linked from there
  double film_bytes = 8e6;                     // a larger film is linked, and not put into the page
  size_t max_points = 600;                     // of a curve
};

// `warnings`: one sentence each, shown first. Throws nothing because of what the runs hold.
std::string report_page(const std::vector<RunGroup>& groups, const std::vector<std::string>& warnings,
                        const PageOptions& options);

}  // namespace drl
