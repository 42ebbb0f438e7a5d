#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../support/mentions.hpp"
#include "base/check.hpp"

namespace drl {
namespace {

const std::vector<std::string> kTasks = {"Cartpole", "CartPole-v1", "Pendulum-v1", "MountainCar-v0"};

TEST(Nearest, ForgivesMistypedLetters) {
  EXPECT_EQ(nearest("Cartpoel", kTasks), "Cartpole");            // neighbours swapped
  EXPECT_EQ(nearest("Pendulm-v1", kTasks), "Pendulum-v1");       // one left out
  EXPECT_EQ(nearest("MontainCarv0", kTasks), "MountainCar-v0");  // two left out
  EXPECT_EQ(nearest("cartpole-V1", kTasks), "CartPole-v1");      // case is ignored
}

TEST(Nearest, FindsNothingFarAway) {
  EXPECT_EQ(nearest("Ant", kTasks), "");
  EXPECT_EQ(nearest("", kTasks), "");
  EXPECT_EQ(nearest("Cartpole", {}), "");
}

// The limit is a third of the longer name's letters, and at least one letter.
TEST(Nearest, LimitIsAThirdOfTheLetters) {
  EXPECT_EQ(nearest("abcdxx", {"abcdef"}), "abcdef");
  EXPECT_EQ(nearest("abcxxx", {"abcdef"}), "");
  EXPECT_EQ(nearest("ax", {"ab"}), "ab");
  EXPECT_EQ(nearest("xy", {"ab"}), "");
}

TEST(Nearest, ASwapCountsAsOneChangeAndTheFirstOfEqualsWins) {
  EXPECT_EQ(nearest("ba", {"ab"}), "ab");  // two changes would be too far
  EXPECT_EQ(nearest("seex", {"seed", "seek"}), "seed");
  EXPECT_EQ(nearest("seek", {"seed", "seek"}), "seek");
}

TEST(Human, CountsHaveMetricPrefixes) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(512), "512");
  EXPECT_EQ(human_count(0.25), "0.25");
  EXPECT_EQ(human_count(1234567), "1.23 M");
  EXPECT_EQ(human_count(-1500), "-1.50 k");
  EXPECT_EQ(human_count(9500), "9.50 k");
  EXPECT_EQ(human_count(45678), "45.7 k");
  EXPECT_EQ(human_count(456789), "457 k");
  EXPECT_EQ(human_count(535e6), "535 M");
  EXPECT_EQ(human_count(2e9), "2.00 G");
  EXPECT_EQ(human_count(1e16), "10000 T");
  EXPECT_EQ(human_count(std::nan("")), "nan");
}

TEST(Human, CountsThatRoundUpTakeTheNextPrefix) {
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(999.7), "1.00 k");
  EXPECT_EQ(human_count(999499), "999 k");
  EXPECT_EQ(human_count(999600), "1.00 M");
  EXPECT_EQ(human_count(9999), "10.0 k");
  EXPECT_EQ(human_count(99990), "100 k");
}

TEST(Human, BytesHaveBinaryPrefixes) {
  EXPECT_EQ(human_bytes(100), "100 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(3.0 * 1024 * 1024 * 1024), "3.00 GiB");
}

TEST(Human, DurationsAreHoursMinutesAndSeconds) {
  EXPECT_EQ(human_duration(83), "0:01:23");
  EXPECT_EQ(human_duration(0.4), "0:00:00");
  EXPECT_EQ(human_duration(59.6), "0:01:00");
  EXPECT_EQ(human_duration(100 * 3600 + 62), "100:01:02");
  EXPECT_EQ(human_duration(-1), "?");
  EXPECT_EQ(human_duration(INFINITY), "?");
  EXPECT_EQ(human_duration(NAN), "?");
}

TEST(Text, JoinAndSplitKeepEmptyParts) {
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("a,", ','), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
}

TEST(Text, TrimRemovesSpaceAtBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(trim(""), "");
}

// The quoting rules are those of a POSIX shell (Shell Command Language, 2.2 Quoting).
TEST(Text, ShellLineQuotesForThePosixShell) {
  EXPECT_EQ(shell_line({"drl_train", "--task=Cartpole", "./a-b_c:1,2@%+"}), "drl_train --task=Cartpole ./a-b_c:1,2@%+");
  EXPECT_EQ(shell_line({"a b", "", "it's", "$HOME"}), "'a b' '' 'it'\\''s' '$HOME'");
}

TEST(Text, PrintableIsOneShortLine) {
  EXPECT_EQ(printable("a\nb\x1b\x7f"), "a\\x0ab\\x1b\\x7f");
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 5), "abcde...");
  EXPECT_EQ(printable("abc\xc3\xa9", 4), "abc...");  // e with acute accent has two bytes and is not cut
  // Invalid UTF-8 (RFC 3629): a lone byte, a truncated character, "/" in two bytes, a surrogate, beyond U+10FFFF.
  EXPECT_EQ(printable("\xff z\xc3"), "\\xff z\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x82\xac \xf0\x9f\x98\x80"), "\xe2\x82\xac \xf0\x9f\x98\x80");
}

// The marks are those of the Unicode standard, section 23.8.
TEST(Text, PlainTextHasNeitherMarksNorCarriageReturns) {
  EXPECT_EQ(plain_text("\xef\xbb\xbf"
                       "a\r\nb\rc\n",
                       "f"),
            "a\nb\nc\n");
  EXPECT_EQ(plain_text("a\xef\xbb\xbf", "f"), "a\xef\xbb\xbf") << "only at the beginning";
  EXPECT_EQ(plain_text("", "f"), "");
  for (const std::string& text : {std::string("\xff\xfe"
                                              "a\0",
                                              4),
                                  std::string("\xfe\xff\0a", 4)})
    expect_mentions(error_from<UsageError>([&] { plain_text(text, "my.ini"); }), {"my.ini", "UTF-16", "UTF-8"});
}

}  // namespace
}  // namespace drl
