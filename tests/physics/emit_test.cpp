#include "physics/emit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>

#include "base/check.hpp"
#include "physics/emit_text.hpp"

namespace drl::robot_compiler {
namespace {

class Emitted : public testing::Test {
 protected:
  Emitted() {
    p.begin("Adds numbers.", "work(const F* x, F* y)");
    for (int k = 0; k < 9; ++k) x(k);  // operands are written in the order in which they are made
  }
  Expr x(int k) { return p.input(at("x", k), "x_" + std::to_string(k)); }
  FunctionText text() { return emit_function(p, p.functions().back()); }
  // Returns the lines between the braces.
  std::string body() {
    const std::string all = text().text;
    const size_t begin = all.find("{\n") + 2;
    return all.substr(begin, all.rfind("  }\n") - begin);
  }
  Program p;
};

TEST_F(Emitted, SumOfAProductBecomesAMultiplyAdd) {
  p.set("y[0]", x(0) * x(1) + x(2));
  p.set("y[1]", x(3) - x(4) * x(5));
  p.set("y[2]", x(6) * x(7) - x(8));
  EXPECT_EQ(body(),
            "    y[0] = math::fma(x[0], x[1], x[2]);\n"
            "    y[1] = math::fma(-x[4], x[5], x[3]);\n"
            "    y[2] = math::fma(x[6], x[7], -x[8]);\n");
  EXPECT_EQ(text().operations, 3);
  p.set("y[3]", x(3) - (x(0) + x(1)) * x(2));  // a sum, and a multiply-add
  EXPECT_EQ(text().operations, 5);
}

// Statements are written in any order, so they may not depend on each other through memory.
TEST_F(Emitted, TargetsAreSetOnceAndNotRead) {
  p.set("y[0]", x(0));
  p.set("y[1]", p.input("y[0]", "y_0"));
  EXPECT_THROW(text(), std::logic_error);
  p.begin("Sets a number twice.", "again(const F* x, F* y)");
  p.set("y[0]", x(0));
  EXPECT_NO_THROW(text());
  p.set("y[0]", x(1));
  EXPECT_THROW(text(), std::logic_error);
}

// A product that two functions of a group use is rounded in both, as if they were one function.
TEST_F(Emitted, FunctionsOfAGroupFuseTheSameProducts) {
  p.set("y[0]", x(0) * x(1) + x(2));
  p.begin("Adds another number.", "more(const F* x, F* y)");
  p.set("y[1]", x(0) * x(1) + x(3));
  EXPECT_NE(body().find("math::fma(x[0], x[1], x[3])"), std::string::npos) << body();
  p.join_group();
  EXPECT_EQ(body().find("fma"), std::string::npos) << body();
}

// Returns the text without line breaks, and with each name replaced by its value.
std::string inlined(const std::string& body, const std::string& target) {
  std::string text = std::regex_replace(body, std::regex("\\s+"), " ");
  std::map<std::string, std::string> values;
  const std::regex line("(?:const F )?(\\w+(?:\\[\\d+\\])?) = ([^;]*);"), name("\\b[a-z]\\w*\\b(?!\\[|\\(|::)");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const std::string value = (*at)[2];
    std::string replaced;
    auto from = value.begin();
    for (std::sregex_iterator found(value.begin(), value.end(), name); found != end; ++found) {
      const auto known = values.find(found->str());
      replaced.append(from, value.begin() + found->position());
      replaced += known == values.end() ? found->str() : known->second;
      from = value.begin() + found->position() + found->length();
    }
    values[(*at)[1]] = replaced.append(from, value.end());
  }
  return values[target];
}

// Two dot products with the same 300 numbers: written in two lines, all numbers would be live at once.
TEST_F(Emitted, SplitLinesComputeTheSame) {
  constexpr int n = 300;
  Expr first = 0, second = 0;
  std::string expected;
  for (int k = 0; k < n; ++k) {
    const Expr a = p.input(at("x", k), "x_" + std::to_string(k));
    first = first + a * p.input(at("u", k), "u");
    second = second + a * p.input(at("v", k), "v");
    const std::string factors = at("x", k) + (k == 0 ? " * " : ", ") + at("u", k);
    expected = k == 0 ? factors : "math::fma(" + factors + ", " + expected + ")";
  }
  p.set("y[0]", first), p.set("y[1]", second);
  const std::string all = body();
  EXPECT_GT(std::ranges::count(all, '='), n + 2);
  EXPECT_EQ(inlined(all, "y[0]"), expected);
}

// In C++, an octal escape has at most three digits.
TEST(EmittedText, LiteralsEscapeAnyName) {
  EXPECT_EQ(quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("a\n1"), R"("a\0121")");
  EXPECT_EQ(remark("a\nb\\"), R"(// a b\.)");
}

TEST(EmittedText, LiteralsAreNotBrokenAcrossLines) {
  const std::string name(70, 'x'), literal = quoted(name + " \" " + name);
  const std::string lines = wrapped("const char* names[] = {" + literal + ", " + literal + "};", "");
  EXPECT_NE(lines.find("\n    " + literal + "};\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find(literal + ",\n"), std::string::npos) << lines;
}

TEST(EmittedText, NumbersThatAreNotFiniteAreErrors) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_THROW(number(1 / 0.0), Error);
}

TEST_F(Emitted, ReusedValuesAreComputedOnceUnderTheirName) {
  const Expr sum = p.named(x(0) + x(1), "sum");
  p.set("y[0]", sum * sum);
  p.set("y[1]", sqrt(sum));
  EXPECT_EQ(body(),
            "    const F sum = x[0] + x[1];\n"
            "    y[0] = sum * sum;\n"
            "    y[1] = math::sqrt(sum);\n");
}

TEST_F(Emitted, BracketsFollowPrecedence) {
  const Expr sum = x(0) + x(1);
  p.set("y[0]", sum * (x(2) - (x(3) - x(4))));
  const Expr product = x(5) * x(6);
  p.set("y[1]", -product / (x(7) * x(8)));
  EXPECT_EQ(body(),
            "    y[0] = (x[0] + x[1]) * (x[2] - (x[3] - x[4]));\n"
            "    y[1] = -(x[5] * x[6]) / (x[7] * x[8]);\n");
}

// A model's names have any length. Expressions of <regex> would overflow the stack.
TEST_F(Emitted, CommentsHaveAnyLength) {
  const std::string name(1 << 20, 'n');
  p.section(name);
  p.set("y[0]", 0.1);
  EXPECT_NE(text().text.find("work(const F*, F* y)"), std::string::npos);
  EXPECT_NE(text().text.find("// " + name + "\n"), std::string::npos);
}

// A name in a comment, or within another name, is not used.
TEST_F(Emitted, ParametersAreUsedAsWords) {
  p.section("x and y");
  p.set("y_x[0]", 0.1);
  EXPECT_NE(text().text.find("work(const F*, F*)"), std::string::npos) << text().text;
}

TEST_F(Emitted, SectionsBecomeCommentsAndUnusedParametersHaveNoName) {
  p.section("a number");
  p.set("y[0]", 0.1);
  EXPECT_EQ(text().text,
            "  // Adds numbers.\n"
            "  DRL_HD_CALLED static void work(const F*, F* y) {\n"
            "    // a number\n"
            "    y[0] = F(0.1);\n"
            "  }\n");
}

}  // namespace
}  // namespace drl::robot_compiler
