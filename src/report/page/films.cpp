#include "report/page/films.hpp"

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "report/page/html.hpp"
#include "store/file.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr size_t kShown = 6;  // videos per run

std::string name_in_run(const RunRecord& run, const fs::path& film) {
  return film.lexically_relative(run.path).string();
}

}  // namespace

std::string Films::html(std::span<const RunGroup> groups) {
  std::string html;
  for (const RunGroup& group : groups)
    for (const RunRecord* run : group.runs) {
      std::string figures, more;
      for (size_t k = 0; k < run->films.size(); ++k)
        (k < kShown ? figures : more) += k < kShown
                                             ? figure(*run, run->films[k])
                                             : fmt::format("<li><a href=\"{}\">{}</a></li>\n", link(run->films[k]),
                                                           html_text(name_in_run(*run, run->films[k])));
      if (!figures.empty()) html += "<div class=\"films\">\n" + figures + "</div>\n";
      if (!more.empty())
        html += "<details><summary>" + counted(static_cast<int64_t>(run->films.size() - kShown), "older video") +
                " of " + html_text(run->name) + "</summary><ul>\n" + more + "</ul></details>\n";
    }
  return html.empty() ? "" : "<h3>Videos</h3>\n" + html;
}

std::string Films::figure(const RunRecord& run, const fs::path& film) {
  std::error_code error;
  const auto size = static_cast<double>(fs::file_size(film, error));
  const bool fits = !error && size <= largest_ && taken_ + size <= kLimitOfPage;
  std::string source = link(film), note = fits ? "" : " <small>separate file, " + human_bytes(size) + "</small>";
  if (fits) {
    try {
      source = data_link(film, read_file(film));
      taken_ += size;
    } catch (const Error& problem) {
      log::warn("{}", problem.what());
      note = " <small>cannot be read</small>";
    }
  }
  const std::string name = html_text(run.name + ", " + name_in_run(run, film));
  const std::string shown = film.extension() == ".mp4" ? "<video controls=\"controls\" loop=\"loop\" muted=\"muted\" "
                                                         "playsinline=\"playsinline\" preload=\"metadata\" "
                                                         "src=\"" +
                                                             source + "\"></video>"
                                                       : "<img alt=\"" + name + "\" src=\"" + source + "\"/>";
  return "<figure>" + shown + "<figcaption>" + name + note + "</figcaption></figure>\n";
}

std::string Films::link(const fs::path& film) const {
  std::error_code error;
  const fs::path from = fs::weakly_canonical(page_, error).parent_path(), to = fs::weakly_canonical(film, error);
  const fs::path relative = error ? fs::path() : to.lexically_relative(from);
  return html_text(link_to(relative.empty() ? to : relative));
}

}  // namespace drl
