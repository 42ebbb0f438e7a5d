#include "run/start.hpp"

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "comm/session.hpp"
#include "placement/mpirun.hpp"

namespace drl {

int run_launched(const std::function<int(const LaunchInfo&)>& body) {
  LaunchInfo launch;
  try {
    launch = launch_info();
    log::init(launch.rank, launch.world_size, host_name(), false);
    return body(launch);
  } catch (const Error& error) {
    if (launch.rank == 0) log::write(log::Level::common_error, error.what());
    return report_exit_code(launch.rank, error.exit_code());
  }
}

int run_connected(const LaunchInfo& launch, const std::function<int(Communicator&)>& body) {
  return report_exit_code(launch.rank, run_session(launch, [&](Communicator& comm) {
                            report_begin(comm.rank());
                            return body(comm);
                          }));
}

int start_ranks(int ranks, const std::vector<std::string>& command, const StopRelay& relay) {
  return can_run_under_srun() ? run_under_srun(ranks, job_nodes(), command, relay) : run_under_mpirun(ranks, command);
}

void hint_at_idle_devices(const LaunchInfo& launch, const std::vector<std::string>& command) {
  if (launch.launched()) return;
  if (const std::string hint = idle_devices_hint(process_environment(), command); !hint.empty()) log::info("{}", hint);
}

}  // namespace drl
