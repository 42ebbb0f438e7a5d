// Variables of launchers and of Slurm jobs, and the output of Slurm's commands.
#include "../support/launchers.hpp"

#include "base/text.hpp"
#include "comm/session.hpp"
#include "fuzz.hpp"
#include "launch/allocation.hpp"
#include "launch/launch_info.hpp"
#include "placement/device.hpp"
#include "placement/relaunch.hpp"

namespace drl::faults {
namespace {

class Launchers : public Kind {
 public:
  // An input has one line NAME=value per variable.
  std::string make(Random& random) override {
    Variables variables = mutated_environment(static_cast<unsigned>(random.below(size_t{1} << 32)));
    for (auto& [name, value] : variables)
      if (random.one_in(6)) mutate(value, random.one_of(odd_values()), random);
    std::string text;
    for (const auto& [name, value] : variables) text += name + "=" + value + "\n";
    return text;
  }

  void read(const std::string& input) override {
    Variables variables;
    for (const std::string& line : split(input, '\n'))
      if (const size_t equals = line.find('='); equals != std::string::npos)
        variables[line.substr(0, equals)] = line.substr(equals + 1);
    const Environment environment = environment_of(variables);
    for (const auto& [name, value] : variables) {
      parse_time_left(value);
      parse_job_state(0, value);
      slurm_version(value);
    }
    allocation(environment);  // never refuses
    in_srun_step(environment);
    host_data_only(environment, true);
    shortage_was_reported(environment);
    if (start_id(environment).find('/') != std::string::npos) throw Finding("a start id with a slash");
    const LaunchInfo info = launch_info(environment);
    if (info.rank < 0 || info.rank >= info.world_size || info.local_rank < 0) throw Finding("ranks that cannot be");
    if (info.job_id.find('/') != std::string::npos) throw Finding("a job id with a slash");
    visible_gpus(environment, "/nowhere");
  }
};

}  // namespace

std::unique_ptr<Kind> make_launchers() { return std::make_unique<Launchers>(); }

}  // namespace drl::faults
