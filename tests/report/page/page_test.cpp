#include "report/page/page.hpp"

#include <gtest/gtest.h>

#include "../../support/mentions.hpp"
#include "report/page/chart.hpp"
#include "report/page/html.hpp"
#include "runs.hpp"

namespace drl {
namespace {

using test::record_of;

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Html, EscapesSpecialCharacters) {
  EXPECT_EQ(html_text("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c'");
  EXPECT_EQ(html_text("Zürich → 日本 😀\n\t"), "Zürich → 日本 😀\n\t");
}

TEST(Html, ReplacesInvalidCharacters) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(html_text(std::string("a\0b\x1b\x7f", 5)), "a" + bad + "b" + bad + bad);
  EXPECT_EQ(html_text("\xFFz\xC3"), bad + "z" + bad);
  EXPECT_EQ(html_text("\xC0\xAF"), bad + bad);                                // "/" in two bytes
  EXPECT_EQ(html_text("\xED\xA0\x80"), bad + bad + bad);                      // half of a surrogate pair
  EXPECT_EQ(html_text("\xF4\x90\x80\x80<"), bad + bad + bad + bad + "&lt;");  // beyond U+10FFFF
}

TEST(Html, LinksEscapeSpecialBytes) {
  EXPECT_EQ(link_to("a b/c#1?.mp4"), "./a%20b/c%231%3F.mp4");
  EXPECT_EQ(link_to("javascript:x"), "./javascript%3Ax");
  EXPECT_EQ(link_to("/r/\"f"), "file:///r/%22f");
}

// The test vectors are those of RFC 4648, section 10.
TEST(Html, DataIsBase64) {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, code] : vectors)
    EXPECT_EQ(data_link("x.gif", std::as_bytes(std::span(std::string_view(text)))),
              std::string("data:image/gif;base64,") + code);
}

TEST(Chart, TicksAreAtRoundNumbers) {
  EXPECT_EQ(round_marks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_marks(-7, 5, 4), (std::vector<double>{-5, 0, 5}));
  EXPECT_EQ(round_marks(1e6, 1e7, 3), (std::vector<double>{5e6, 1e7}));
  EXPECT_LE(round_marks(1, 1 + 1e-15, 5).size(), 11u);
}

// The drawing spans x from 50 to 408 and y from 196 to 10; the values 0 to 2 have a margin of 4 % on both sides.
TEST(Chart, PathsMatchTheNumbers) {
  const Chart chart{
      .title = "t", .note = "", .hover = "", .series = {{0, 3, "", {{0, 2, NAN, 1}, {0, 2, NAN, 1}, {0, 2, NAN, 1}}}}};
  const std::string svg = chart_figure(chart, {{0, 1, 2, 3}}, "x", 7);
  EXPECT_NE(svg.find("<path class=\"line c3 g0\" d=\"M50.0,189.1h0L169.3,16.9M408.0,103.0h0\"/>"), svg.npos) << svg;
  EXPECT_EQ(svg.find("class=\"band"), svg.npos);
  EXPECT_EQ(chart_numbers(chart)["series"][0].dump(),
            R"({"group":0,"color":3,"filled":false,"mean":[0.0,2.0,null,1.0]})");
}

TEST(Chart, DrawsARangeAsAnArea) {
  const Chart chart{.title = "t", .note = "", .hover = "", .series = {{0, 0, "", {{1, 1}, {0, 1}, {2, 1}}}}};
  const std::string svg = chart_figure(chart, {{5, 6}}, "x", 0);
  EXPECT_NE(svg.find("class=\"band c0 g0\" d=\"M50.0,16.9L408.0,103.0L408.0,103.0L50.0,189.1Z\""), svg.npos) << svg;
}

std::string page_of(const std::vector<RunRecord>& runs, PageOptions options = {}) {
  return report_page(group_runs(runs), {}, options);
}

TEST(Page, ExplainsHowCurvesAreThinned) {
  const std::vector<RunRecord> runs = {record_of(std::vector<double>(1000, 1.0))};
  expect_mentions(page_of(runs), {"600 points", "2 iterations"});
  expect_mentions(page_of({record_of({1, 2})}), {"Every iteration"});
}

TEST(Page, EscapesNamesOfRunsAndOptions) {
  std::vector<RunRecord> runs = {record_of({1, 2}, {{"x", "</script><script>alert(1)"}}), record_of({1, 2})};
  runs[0].task = runs[1].task = "<b>&\"";
  runs[0].name = runs[0].status = runs[0].devices = "<img src=x onerror=alert(1)>";
  const std::string page = page_of(runs);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_EQ(count(page, "</script"), 2u);
  EXPECT_EQ(count(page, "<b>"), 0u);
}

TEST(Page, AcceptsARunWithoutRowsOrColumns) {
  EXPECT_NE(page_of({record_of({})}).find("</html>"), std::string::npos);
  RunRecord run = record_of({1, 2});
  run.metrics.columns = {"a", "kl"};  // the iteration is the only axis
  const std::string page = page_of({run});
  EXPECT_EQ(count(page, "<figure"), 2u);
  EXPECT_NE(page.find("\"label\":\"iteration\""), std::string::npos);
  EXPECT_EQ(page.find("\"label\":\"environment steps\""), std::string::npos);
}

TEST(Page, ShowsTheEnergyOfGpusIfItIsKnown) {
  std::vector<RunRecord> runs = {record_of({1, 2}), record_of({1, 2})};
  EXPECT_EQ(count(page_of(runs), "energy"), 0u);
  runs[1].gpu_joules = 1.5e6;
  runs[1].joules_per_million_steps = 317;
  const std::string page = page_of(runs);
  EXPECT_EQ(count(page, "GPU energy</th>"), 1u);
  EXPECT_EQ(count(page, ">1.50 MJ<"), 1u);
  EXPECT_EQ(count(page, ">317<"), 1u);
}

TEST(Page, EmbedsSmallVideosAndLinksLargeOnes) {
  const TempFolder folder;
  RunRecord run = record_of({1});
  run.path = folder / "runs/r";
  std::filesystem::create_directories(run.path);
  for (const char* name : {"small.gif", "large one.mp4"}) run.films.push_back(run.path / name);
  spill(run.films[0], "foo");
  spill(run.films[1], std::string(2000, 'x'));
  const std::string page = page_of({run}, {.file = folder / "out.html", .film_bytes = 1000});
  EXPECT_NE(page.find("src=\"data:image/gif;base64,Zm9v\""), page.npos);
  EXPECT_NE(page.find("src=\"./runs/r/large%20one.mp4\""), page.npos);
}

}  // namespace
}  // namespace drl
