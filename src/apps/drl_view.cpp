// drl_view: shows a policy at work in a browser.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "apps/play_options.hpp"
#include "apps/program.hpp"
#include "apps/view_session.hpp"
#include "base/host.hpp"
#include "base/version.hpp"
#include "envs/task_libraries.hpp"

namespace drl {
namespace {

constexpr char kUsage[] =
    "drl_view: shows a policy at work in a browser, live, also over ssh.\n"
    "\n"
    "  drl_view --pretrained Go1-Velocity-Flat    a policy that comes with drl\n"
    "  drl_view runs/Ant-v5/latest --follow       a run; loads each new checkpoint\n"
    "  drl_view --run R --envs 20                 20 environments at once\n"
    "  drl_view --task T --agent random           a task without a policy\n"
    "\n"
    "It prints an address to open in a browser, and the line for ssh that makes it\n"
    "reachable from another machine. It computes only while a page is open.\n"
    "Ctrl-C ends it. Exit codes: 0 ended; 1 failure; 2 wrong usage.\n"
    "\n";

int run(const std::vector<std::string>& arguments) {
  ViewOptions options;
  OptionTable table;
  table.section("", "Options", options);
  table.defer_section("env");
  const auto [given, task_options] = parse_play_options(table, "drl_view shows", arguments);
  load_task_libraries(options.task_library);
  if (options.version) return std::printf("drl %s (%s)\n", kVersion, kGitHash), kDone;
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  if (!is_only_rank("drl_view")) return ExitCode::kUsage;
  for (const std::string& sentence : table.without_effect(given, {})) throw UsageError(sentence);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { _exit(kDone); });  // it has nothing to save
  ViewServer server(options.port);
  ViewSession session(options, task_options, server);
  std::printf("%s%s%s: open this address in a browser, and end with Ctrl-C\n  %s\n", session.task().c_str(),
              session.file().empty() ? "" : ", ", session.file().c_str(), server.address().c_str());
  std::printf("from another machine, run this there first\n  ssh -L %d:127.0.0.1:%d %s\n", server.port(), server.port(),
              host_name().c_str());
  std::fflush(stdout);
  server.run(session.events());
  return kDone;
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
