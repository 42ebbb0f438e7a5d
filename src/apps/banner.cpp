#include "apps/banner.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "comm/mpi_library.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "placement/mpirun.hpp"
#include "store/hdf5_image.hpp"

namespace drl {
namespace {

std::string layers(const NetSpec& spec) {
  std::vector<std::string> widths;
  for (int width : spec.widths()) widths.push_back(std::to_string(width));
  return join(widths, "-");
}

// Names the hosts, or only the first and the last of more than four.
std::string hosts_text(const std::vector<std::string>& hosts) {
  if (hosts.size() <= 4) return join(hosts, ", ");
  return fmt::format("{} nodes, {} ... {}", hosts.size(), hosts.front(), hosts.back());
}

// "1234 (restart 2), 2 nodes, partition gpu, 0:59:58 left"
std::string job_text(const Allocation& job, const std::string& job_id, std::optional<double> time_left) {
  std::string text = job.job;
  if (job_id != job.job) text += ", continuing job " + job_id;
  if (job.restart_count > 0) text += fmt::format(" (restart {})", job.restart_count);
  if (job.node_count > 0) text += ", " + counted(job.node_count, "node");
  if (!job.partition.empty()) text += ", partition " + job.partition;
  if (time_left) text += std::isinf(*time_left) ? ", no time limit" : ", " + human_duration(*time_left) + " left";
  return text;
}

// MuJoCo's solver seldom converges in fewer iterations. Files for MJX ask for 1 to 4, and expect the error.
constexpr int kFewIterations = 8;

// Returns how a robot's physics differs from what its file asks for, and why it is slower than it could be here.
std::string physics_note(const Options& options, const Workplace& place) {
  if (const std::string& why = options.env->why_not_in_lanes(); !why.empty()) return ", not vectorised: " + why;
  const RobotRecord* robot = task_record(options.train.task).robot;
  if (options.env->physics() != "lanes" || !robot || !robot->in_lanes) return "";
  std::string note;
  if (options.env->robot_facts()->in_double != 0)
    note = ", in double (its constraints are too stiff for float, or it uses noslip)";
  if (const int iterations = options.env->robot_facts()->iterations; iterations < kFewIterations)
    note += fmt::format(", solved to convergence (the model asks for {})", counted(iterations, "iteration"));
  if (place.placement.device != "cpu") {
    if (!is_robot_on_cores(options.env->setup())) return note;
    note += ", on the rank's " + counted(place.placement.threads, "thread");
  }
  const Isa compiled = compiled_isa(*robot->in_lanes, place.isa);
  if (compiled == place.isa || !robot->in_lanes->host[static_cast<int>(compiled)].step) return note;
  return note +
         fmt::format(", with {} instead of {}: build with -DDRL_ISAS=all", name_of(compiled), name_of(place.isa));
}

// The facts, besides the options' values, that decide whether options have an effect.
std::vector<Circumstance> circumstances(const Options& options, const Workplace& place, const RunStart& start) {
  const RunOptions& run = options.run;
  const bool named = !run.run_name.empty() || place.job;
  const bool new_weights = !run.resume && run.load_run.empty() && run.checkpoint.empty() && run.init_from.empty();
  const std::string from_checkpoint = "the weights come from a checkpoint";
  const AlgorithmKind& algorithm = options.algorithm();
  const TaskSpec task = task_spec(options.train.task, options.env->setup());
  const bool has_hidden_layers =
      !options.policy.actor_hidden_dims.empty() || !options.policy.critic_hidden_dims.empty();
  const auto yes = [](bool fact) { return fact ? "yes" : "no"; };
  std::vector<Circumstance> all = algorithm.circumstances();
  std::ranges::copy(options.env->circumstances(), std::back_inserter(all));
  all.insert(all.end(),
             {{"hardware", place.placement.gpu < 0 ? "cpu" : "gpu",
               std::string("this run computes on ") + (place.placement.gpu < 0 ? "the CPU" : "GPUs")},
              {"job", yes(place.job.has_value()), "this is not a Slurm job"},
              {"name", named ? "chosen" : "new", "without --run_name, a run has a new name"},
              {"start", new_weights || start.has_new_critic ? "scratch" : "checkpoint", from_checkpoint},
              {"std", new_weights || start.has_new_std ? "new" : "loaded", from_checkpoint},
              {"actions", task.action.discrete ? "discrete" : "continuous", task.name + " has discrete actions"},
              {"time_limit", yes(task.step_limit > 0), task.name + " has no time limit"},
              {"critic_obs", yes(task.critic_obs_dim > 0), "actor and critic have the same observations"},
              {"hidden_layers", yes(has_hidden_layers), "the networks have no hidden layers"}});
  return all;
}

}  // namespace

RunFacts facts_of(const Settings& settings, const Workplace& place, const std::string& engine, const std::string& files,
                  const RunStart& start) {
  const Placement& placement = place.placement;
  std::map<std::string, std::string> versions = {{"drl", kVersion},
                                                 {"engine", engine},
                                                 {"mpi", mpi_version()},
                                                 {"hdf5", hdf5_version()},
                                                 {"isa", std::string(name_of(place.isa))}};
  if (const std::string library = task_library_build(settings.options.train.task); !library.empty())
    versions["task_library"] = library;
  if (!files.empty()) versions["model"] = files;
  if (const std::string physics = settings.options.env->physics(); !physics.empty()) {
    versions["mujoco"] = settings.options.env->robot_facts()->mujoco;
    versions["physics"] = physics;
  }
  return {.task = settings.options.train.task,
          .run = start.directory.filename().string(),
          .launcher = place.launch.launcher,
          .job_id = place.launch.job_id,
          .device = placement.device,
          .cpu_model = place.machine.cpu_model,
          .world_size = place.world_size,
          .hosts = place.hosts(),
          .rank_hosts = place.rank_hosts,
          .shares_cores = placement.threads > placement.cores ||
                          placement.ranks_on_host * placement.threads > place.machine.host_cores,
          .versions = versions,
          .git_hash = kGitHash,
          .lock = "",
          .job = place.job,
          .origin = origin_of(settings.options.run),
          .origin_option = !settings.options.run.checkpoint.empty()  ? "checkpoint"
                           : !settings.options.run.init_from.empty() ? "init_from"
                                                                     : "",
          .task_library = task_library_file(settings.options.train.task)};
}

std::string banner(const Options& options, const Workplace& place, const RunFacts& facts, const BatchPlan& plan,
                   const PolicySpec& policy, const std::string& directory, std::optional<double> time_left) {
  const AlgorithmKind& algorithm = options.algorithm();
  const int world = place.world_size;
  const int64_t envs = plan.num_envs * world, samples = plan.num_steps * envs;
  std::string text = fmt::format("drl {} ({}): learning {} with {}\n", facts.versions.at("drl"), facts.git_hash,
                                 facts.task, algorithm.title());
  constexpr size_t kIndent = 15;
  const size_t columns = static_cast<size_t>(std::max(terminal_width(), 0));  // 0: standard output is no terminal
  const auto line = [&](const char* name, const std::string& value) {
    const std::string wrapped =
        columns > 2 * kIndent ? wrap(value, columns - kIndent, std::string(kIndent, ' ')) : value;
    text += fmt::format("  {:<13}{}\n", name, wrapped);
  };
  line("run", directory);
  if (facts.job) line("job", job_text(*facts.job, facts.job_id, time_left));
  line("world", counted(world, "rank") + " on " + hosts_text(facts.hosts) +
                    (facts.launcher.empty() ? "" : ", started by " + facts.launcher));
  line("placement", place.placement.text);
  line("device", facts.device + ", " + (place.gpu_model.empty() ? facts.cpu_model : place.gpu_model));
  if (!facts.loaded.empty()) line("weights", "of " + facts.loaded);
  if (!facts.teacher.empty()) line("teacher", facts.teacher);
  line("environments", with_commas(plan.num_envs) + " per rank, " + with_commas(envs) + " in total" +
                           (options.train.deterministic_shards ? fmt::format(", in {} shards", plan.shards) : ""));
  if (const auto physics = facts.versions.find("physics"); physics != facts.versions.end())
    line("physics", physics->second + physics_note(options, place));
  line("iteration", fmt::format("{} steps per environment, {} in total; {}", with_commas(plan.num_steps),
                                with_commas(samples), algorithm.describe_update(plan)));
  const auto net = [&](NetId id) { return layers(policy.layout.net(id)); };
  const RnnSpec& rnn = policy.actor_rnn;
  const std::string recurrent =
      rnn.empty() ? "" : fmt::format("{} x {} {}, then ", rnn.layers.size(), rnn.width, options.policy.rnn_type);
  line("networks", fmt::format("actor {}{}, {}{}{}; {} parameters", recurrent, net(policy.actor),
                               policy.critic >= 0       ? "critic " + recurrent + net(policy.critic) + ", "
                               : policy.separate_critic ? "two critics " + layers(*policy.separate_critic) + ", "
                                                        : "",
                               options.policy.activation, options.policy.layer_norm ? " with layer normalisation" : "",
                               with_commas(policy.layout.count())));
  const auto mujoco = facts.versions.find("mujoco");
  line("libraries", fmt::format("{} loops, {}, {}, HDF5 {}{}", facts.versions.at("isa"), facts.versions.at("engine"),
                                facts.versions.at("mpi"), facts.versions.at("hdf5"),
                                mujoco == facts.versions.end() ? "" : ", MuJoCo " + mujoco->second));
  if (world == 1 && facts.device == "cpu" && place.machine.cores > 1 && place.placement.threads == 1)
    line("cores", fmt::format("1 of {0} is used: --ranks {0} uses all of them", place.machine.cores));
  return text;
}

namespace {

// Returns a warning if libmujoco simulates a compiled robot only because numbers of its model are randomised, else "".
std::string slow_randomisation(const Options& options) {
  const std::string& task = options.train.task;
  const RobotRecord* robot = task_record(task).robot;
  if (!robot || !robot->in_lanes || robot->randomised || options.env->why_not_in_lanes().empty()) return "";
  for (const Circumstance& fact : options.env->circumstances())
    if (fact.name == "randomised" && fact.value == "yes")
      return fmt::format(
          "libmujoco simulates {} because of --env.dr ({}; in lanes, compiled robots were 22 to 282 times as fast on "
          "one core, docs/results/speed.md): see docs/howto/randomisation.md, or leave --env.dr out",
          task, options.env->why_not_in_lanes());
  return "";
}

}  // namespace

std::vector<std::string> warnings_of_effects(const RunPlan& plan, const Workplace& place, const RunStart& start,
                                             int64_t done) {
  const Options& options = plan.options;
  std::vector<std::string> warnings = plan.table.without_effect(plan.chosen, circumstances(options, place, start));
  std::ranges::copy(options.algorithm().warnings(done, options.train.max_iterations), std::back_inserter(warnings));
  if (std::string slow = slow_randomisation(options); !slow.empty()) warnings.push_back(std::move(slow));
  return warnings;
}

std::string resume_command(const Settings& settings, const Workplace& place, const std::string& directory,
                           bool by_ourselves) {
  const std::string ranks = std::to_string(place.world_size), &launcher = place.launch.launcher;
  std::vector<std::string> words = {settings.program, "--task", settings.options.train.task, "--load_run", directory};
  const auto add = [&](bool at_front, const std::vector<std::string>& more) {
    words.insert(at_front ? words.begin() : words.end(), more.begin(), more.end());
  };
  add(false, task_library_option(settings.options.train.task));
  if (const int threads = settings.command.threads) add(false, {"--threads", std::to_string(threads)});
  if (const std::string& hook = settings.options.run.after_checkpoint; !hook.empty())
    add(false, {"--after_checkpoint", hook});
  if (by_ourselves)
    add(false, {"--ranks", ranks});
  else if (launcher == "srun")
    add(true, {"srun", "-N", std::to_string(place.hosts().size()), "-n", ranks});
  else if (launcher == "flux")
    add(true, {"flux", "run", "-n", ranks});
  else if (place.launch.launched())
    add(true, {launcher == "jsrun" || launcher == "mpirun" ? launcher : "mpiexec", "-n", ranks});
  return shell_line(words);
}

}  // namespace drl
