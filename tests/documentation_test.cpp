// Tests the layout of README.md and docs/, that their links lead somewhere, that every page is in the site's
// navigation, and that every heading that a comment or a message mentions exists.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = drl::source(".");

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> pages() {
  std::vector<fs::path> all{kRoot / "README.md", kRoot / "CONTRIBUTING.md", kRoot / "CHANGELOG.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  all.push_back(kRoot / "examples/deploy/README.md");
  return all;
}

// The lines of a page that are not within a block of code.
std::vector<std::string> prose(const fs::path& page) {
  std::vector<std::string> lines;
  std::istringstream text(text_of(page));
  bool in_code = false;
  for (std::string line; std::getline(text, line);) {
    const bool is_fence = line.starts_with("```");
    if (!in_code && !is_fence) lines.push_back(line);
    in_code = in_code != is_fence;
  }
  return lines;
}

std::set<std::string> headings(const fs::path& page) {
  std::set<std::string> all;
  for (const std::string& line : prose(page))
    if (const size_t end = line.find_first_not_of('#'); end > 0 && end != std::string::npos && line[end] == ' ')
      all.insert(line.substr(end + 1));
  return all;
}

// The anchor of a heading, as GitHub and mkdocs make it: lower case, spaces as hyphens, other punctuation left out.
std::string anchor(const std::string& heading) {
  std::string result;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
      result += static_cast<char>(std::tolower(c));
    else if (c == ' ')
      result += '-';
  }
  return result;
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> all;
  std::istringstream text(row.substr(1));
  for (std::string cell; std::getline(text, cell, '|');) all.push_back(cell);
  return all;
}

// The text of a source as one line: comments that span lines and string literals that are written in parts are joined.
std::string joined(const std::string& text) {
  static const std::regex parts(R"re("\s*\n\s*")re"), comment(R"(\n\s*(//|#) ?)"), escaped(R"(\\")");
  std::string result = std::regex_replace(text, parts, "");
  result = std::regex_replace(result, comment, " ");
  return std::regex_replace(result, escaped, "\"");
}

// The other files that developers and users read: path and text of each.
const std::map<std::string, std::string>& sources() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> result;
    for (const char* place : {"src", "include", "tests", "cmake", "batch", "tools", "bench", "modules", "examples"})
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / place)) {
        const std::string name = fs::relative(entry.path(), kRoot).generic_string();
        const bool is_data = name.find("/data/") != std::string::npos || name.find("/recordings/") != std::string::npos;
        if (!entry.is_regular_file() || is_data || name == "tests/documentation_test.cpp") continue;
        if (entry.file_size() < (1 << 20)) result[name] = joined(text_of(entry.path()));
      }
    return result;
  }();
  return all;
}

TEST(Documentation, TheReadmeIsOnePage) {
  const std::string text = text_of(kRoot / "README.md");
  EXPECT_LE(std::ranges::count(text, '\n'), 150);
}

// Returns whether tools/options_page writes the page.
bool is_generated(const fs::path& page) { return page.filename() == "options.md"; }

TEST(Documentation, PagesAreShort) {
  for (const fs::path& page : pages()) {
    if (is_generated(page)) continue;
    std::istringstream text(text_of(page));
    const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0; };
    const auto words = std::count_if(std::istream_iterator<std::string>(text), std::istream_iterator<std::string>(),
                                     [&](const std::string& word) { return std::ranges::any_of(word, is_letter); });
    EXPECT_LE(words, 1500) << page;
  }
}

TEST(Documentation, EveryPageIsInTheNavigationAndOnTheHomePage) {
  const std::string navigation = text_of(kRoot / "mkdocs.yml"), home = text_of(kRoot / "docs/index.md");
  for (const fs::path& page : pages()) {
    const std::string name = fs::relative(page, kRoot / "docs").generic_string();
    if (name.starts_with("..") || name == "index.md") continue;
    EXPECT_NE(navigation.find(name), std::string::npos) << "mkdocs.yml lacks " << name;
    EXPECT_NE(home.find("(" + name + ")"), std::string::npos) << "docs/index.md lacks " << name;
  }
}

TEST(Documentation, TableCellsAreShort) {
  for (const fs::path& page : pages()) {
    if (is_generated(page)) continue;
    for (const std::string& line : prose(page)) {
      if (!line.starts_with("|")) continue;
      for (const std::string& cell : cells(line)) EXPECT_LE(cell.size(), 102u) << page << ": " << cell;
    }
  }
}

bool is_in_docs(const fs::path& file) {
  return !fs::weakly_canonical(file)
              .lexically_relative(fs::weakly_canonical(kRoot / "docs"))
              .native()
              .starts_with("..");
}

TEST(Documentation, LinksLeadSomewhere) {
  static const std::regex link(R"(\]\(([^)\s]*)\))");
  int count = 0;
  for (const fs::path& page : pages())
    for (const std::string& line : prose(page))
      for (std::sregex_iterator match(line.begin(), line.end(), link), end; match != end; ++match) {
        const std::string target = (*match)[1];
        if (target.starts_with("http")) continue;
        const size_t hash = target.find('#');
        const fs::path file = hash == 0 ? page : page.parent_path() / target.substr(0, hash);
        ++count;
        ASSERT_TRUE(fs::exists(file)) << page << " links to " << target;
        EXPECT_TRUE(!is_in_docs(page) || is_in_docs(file))
            << page << " links to " << target << ", which the site lacks";
        if (hash == std::string::npos) continue;
        std::set<std::string> anchors;
        for (const std::string& heading : headings(file)) anchors.insert(anchor(heading));
        EXPECT_TRUE(anchors.contains(target.substr(hash + 1))) << page << " links to " << target;
      }
  EXPECT_GT(count, 20);
}

TEST(Documentation, SourcesMentionOnlyExistingHeadings) {
  static const std::regex page(R"re((README\.md|docs/[A-Za-z_/]+\.md)(?:, "([^"]+)")?)re");
  static const std::regex heading_without_page(R"re((README|DESIGN)(?:'s)?,? ?(?:section )?"[A-Z])re");
  int count = 0;
  for (const auto& [name, text] : sources()) {
    for (std::sregex_iterator match(text.begin(), text.end(), page), end; match != end; ++match) {
      const std::string file = (*match)[1], heading = (*match)[2];
      EXPECT_TRUE(fs::exists(kRoot / file)) << name << " names " << file;
      if (heading.empty()) continue;
      ++count;
      EXPECT_TRUE(headings(kRoot / file).contains(heading)) << name << " names " << match->str();
    }
    EXPECT_FALSE(std::regex_search(text, heading_without_page)) << name << " names a heading without its page";
    EXPECT_EQ(text.find("DESIGN"), std::string::npos) << name << " names a page that does not exist";
  }
  EXPECT_GT(count, 2);
}

// docs/reference/messages.md quotes messages in its table of problems. "..." in a quotation stands for text that
// varies.
TEST(Documentation, QuotedMessagesOccurInTheSources) {
  std::vector<std::string> quotations;
  bool in_section = false;
  for (const std::string& line : prose(kRoot / "docs/reference/messages.md")) {
    if (line.starts_with("#")) in_section = line == "## When something is wrong";
    static const std::regex quoted(R"(^\| `([^`]+)`)");
    std::smatch match;
    if (in_section && std::regex_search(line, match, quoted)) quotations.push_back(match[1]);
  }
  EXPECT_GT(quotations.size(), 20u);
  static const std::regex dots(R"( ?\.\.\. ?)");
  for (const std::string& quotation : quotations) {
    for (std::sregex_token_iterator part(quotation.begin(), quotation.end(), dots, -1), end; part != end; ++part) {
      const std::string words = *part;
      const bool is_in_sources =
          words.empty() || std::ranges::any_of(sources(), [&](const auto& source) {
            return !source.first.starts_with("tests/") && source.second.find(words) != std::string::npos;
          });
      EXPECT_TRUE(is_in_sources) << "no program prints: " << words;
    }
  }
}

}  // namespace
