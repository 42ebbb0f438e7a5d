// drl_eval: plays whole episodes with a trained policy.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "apps/eval_policy.hpp"
#include "apps/play_options.hpp"
#include "apps/program.hpp"
#include "apps/replay.hpp"
#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "export/exported_policy.hpp"
#include "film/film.hpp"
#include "launch/child.hpp"
#include "run/evaluator.hpp"
#include "run/gate.hpp"
#include "run/pretrained.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

constexpr const char* kUsage =
    "drl_eval: plays whole episodes with a trained policy.\n"
    "\n"
    "  drl_eval --pretrained T --video walk.gif        a policy that comes with drl\n"
    "  drl_eval runs/Cartpole/latest                   its newest checkpoint, 100\n"
    "                                                  episodes (or --run R)\n"
    "  drl_eval --checkpoint F --record episodes.h5    a given checkpoint; records\n"
    "                                                  the episodes in a file\n"
    "  drl_eval --run R --episodes 1 --video run.mp4   a video of 10 seconds\n"
    "  drl_eval --run R --env.noise 0                  with another value of one of\n"
    "                                                  the task's options\n"
    "  drl_eval --run R --gate                         whether it passes the task's\n"
    "                                                  gate\n"
    "  drl_eval --task T --agent random --video a.gif  a task without a policy\n"
    "  drl_eval --replay_dump rank_0.h5                a step that gave NaN\n"
    "\n"
    "The first line of output is: return mean M std S min A max B.\n"
    "Exit codes: 0 done; 1 failure; 2 wrong usage.\n"
    "\n";

struct EvalOptions : PlayOptions {
  std::string record, save_pretrained, replay_dump;
  int episodes = 100, num_envs = 0, index = 0;
  bool gate = false, json = false, check_video = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    describe_policy(v);
    v("episodes", episodes, "number of episodes; every environment plays an equal share of them, rounded up",
      at_least(1), not_with("gate", "true"));
    v("gate", gate,
      "play the task's gate, 64 episodes with its own options, and compare the policy with what a good one reaches; "
      "exit code 1 if it does not pass",
      only_with("agent", "policy"));
    v("num_envs", num_envs, "number of environments; 0 = one per episode, at most 4096", at_least(0),
      not_with("gate", "true"));
    describe_actions(v);
    v("record", record, "write observations, actions and rewards of each episode to this HDF5 file", as_path);
    v("save_pretrained", save_pretrained,
      "write the policy without the state of its training, with its mean return, to this file", as_path,
      only_with("agent", "policy"));
    v("json", json, "print one JSON object instead of text");
    describe_task(v);
    v("replay_dump", replay_dump,
      "print a step that lost an environment, from a file of drl_train --nan_policy dump; nothing is played", as_path);
    v("index", index, "number of the state in that file, from 0", at_least(0), not_with("replay_dump", ""));
    v("check_video", check_video, "only check whether this machine can record videos, by drawing one empty picture");
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

// Throws UsageError, before anything is played, unless --record may write `file`.
void require_writable(const std::filesystem::path& file) {
  require_output("record", file);
  if (std::error_code ignored; std::filesystem::exists(file, ignored) && !is_recording(file))
    throw UsageError("--record " + file.string() +
                     " exists and is not a recording of episodes (it would be overwritten): give another file");
}

// Throws UsageError, before anything is played, unless --save_pretrained may write its file. The return that it records
// must be that of the policy's own task.
void require_pretrained(const EvalOptions& options, const std::vector<NamedValue>& task_options) {
  const std::filesystem::path file = options.save_pretrained;
  require_output("save_pretrained", file);
  if (!task_options.empty() || options.physics != "run" || !options.xml_file.empty() || options.stochastic)
    throw UsageError(
        "--save_pretrained records the return of the most probable actions with the run's own options (--env. options, "
        "--physics, --xml_file and --stochastic change it): leave those out");
  if (std::error_code ignored; !std::filesystem::exists(file, ignored)) return;
  const auto refuse = [&](const char* what) {
    throw UsageError("--save_pretrained " + file.string() + " exists and is " + what + ": give another file");
  };
  std::optional<Checkpoint> there;
  try {
    there = read_checkpoint(file);
  } catch (const UsageError&) {
    refuse("not a policy that drl_eval has written (it would be overwritten)");
  }
  if (!is_policy_alone(*there)) refuse("a checkpoint of a run, whose optimiser and critic would be lost");
}

// Writes the policy, with its results.
void save_pretrained(const std::filesystem::path& to, Checkpoint alone, const EvalPolicy& policy,
                     const Evaluation& result) {
  describe_policy(alone, policy.spec());
  const Summary returns = summarize(result.returns);
  alone.attributes["episodes"] = static_cast<int64_t>(result.returns.size());
  alone.attributes["return_mean"] = returns.mean;
  alone.attributes["return_std"] = returns.std;
  write_checkpoint(to, alone);
}

EvaluationPlan plan_of(const EvalOptions& options, const EvalPolicy& policy) {
  const int64_t envs = options.num_envs ? options.num_envs : std::min(options.episodes, 4096);
  return {.task = policy.task(),
          .episodes = options.episodes,
          .num_envs = std::min<int64_t>(envs, options.episodes),
          .seed = static_cast<uint64_t>(options.seed),
          .choice = options.choice(),
          .setup = policy.setup(),
          .threads = options.threads,
          .curriculum = policy.curriculum()};
}

// Returns "FILE (iteration 50 of 300)", as far as the checkpoint says so.
std::string described(const std::string& file, const Checkpoint& checkpoint) {
  const auto found = checkpoint.attributes.find("iteration");
  const auto* iteration = found == checkpoint.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  if (!iteration) return file;
  OptionTable table;
  Options options;
  options.add_to(table);
  const auto total = table.value_in(text_or_empty(checkpoint, "options"), file, "max_iterations");
  return fmt::format("{} (iteration {}{})", file, *iteration, total ? " of " + *total : "");
}

void print_lines(const Evaluation& result, const EvalOptions& options, const TaskSpec& task, const std::string& file) {
  const Summary r = summarize(result.returns), l = summarize(result.lengths);
  std::printf("return mean %.6g std %.6g min %.6g max %.6g\n", r.mean, r.std, r.min, r.max);
  std::printf("length mean %.6g std %.6g min %.6g max %.6g\n", l.mean, l.std, l.min, l.max);
  for (size_t m = 0; m < result.metrics.size(); ++m)
    std::printf("%s mean %.6g\n", task.metrics[m].c_str(), result.metrics[m]);
  const std::string who = options.agent != "policy" ? options.agent + " actions"
                          : options.stochastic      ? "sampled actions of " + file
                                                    : "the most probable actions of " + file;
  std::printf("%s with %s\n", counted(static_cast<int64_t>(result.returns.size()), "episode").c_str(), who.c_str());
}

void print_json(const Evaluation& result, const EvalOptions& options, const TaskSpec& task, const std::string& file) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (size_t m = 0; m < result.metrics.size(); ++m) metrics[task.metrics[m]] = result.metrics[m];
  const auto summary = [](const Summary& s) {
    return nlohmann::ordered_json{{"mean", s.mean}, {"std", s.std}, {"min", s.min}, {"max", s.max}};
  };
  const nlohmann::ordered_json json = {{"task", task.name},
                                       {"agent", options.agent},
                                       {"checkpoint", file},
                                       {"episodes", result.returns.size()},
                                       {"lost_environments", result.lost},
                                       {"stochastic", options.stochastic},
                                       {"return", summary(summarize(result.returns))},
                                       {"length", summary(summarize(result.lengths))},
                                       {"metrics", metrics},
                                       {"returns", result.returns},
                                       {"lengths", result.lengths}};
  std::printf("%s\n", json.dump().c_str());
}

constexpr double kFirstProgress = 2, kProgressInterval = 2;  // seconds until the first message, and between two

// Records a video of environment 0.
void make_film(const FilmOptions& options, int threads, const EvaluationPlan& plan, EvalPolicy& policy) {
  const TaskSpec task = task_spec(plan.task, plan.setup);
  require_draw(task_record(plan.task));
  Film film(options, task.name, task.dt, threads);
  double next_message = steady_seconds() + kFirstProgress;
  watch(plan, policy.actor(), [&](VecEnv& envs, const Moment& moment) {
    if (film.wants(moment.step)) {
      Picture picture;
      picture.write("time", fmt::format("{:.2f} s", static_cast<double>(moment.age) * task.dt));
      picture.write("reward", fmt::format("{:.4g}", moment.reward));
      picture.write("episode", std::to_string(moment.episode + 1));
      envs.draw(0, picture.canvas());
      film.show(picture);
      if (steady_seconds() >= next_message) {
        log::info("video: {} of {} frames", film.frames(), film.plan().frames);
        next_message = steady_seconds() + kProgressInterval;
      }
    }
    return !film.complete();
  });
  film.finish();
}

// Draws one picture and reports the video formats that this machine can record.
int check_video(int threads) {
  const FilmLibrary library(film_library_file());
  FilmRenderer renderer(library, {64, 64, threads, "track"});
  std::vector<uint8_t> rgb;
  renderer.draw(Picture().view(""), rgb);
  std::printf("videos can be recorded here: %s\n",
              is_on_path("ffmpeg") ? "MP4 and GIF" : "GIF (MP4 needs ffmpeg on PATH)");
  return kDone;
}

void warn_of_lost(const Evaluation& result) {
  if (result.lost == 0) return;
  const std::string what =
      counted(result.lost, "episode") + " ended because the state, an observation or the reward was not finite";
  if (result.returns.empty()) throw Error(what + " (no episode is left to evaluate): check the task's step()");
  log::warn("{}; the results do not include them", what);
}

int try_gate(const EvalOptions& options, EvalPolicy& policy, const TaskSpec& task, const std::string& source) {
  EvaluationPlan plan = plan_of(options, policy);
  plan.episodes = plan.num_envs = kGateEpisodes, plan.curriculum.clear();
  const GateResult result = judge(task, evaluate(plan, policy.actor()));
  if (options.json) {
    nlohmann::ordered_json bounds = nlohmann::ordered_json::array();
    for (const GateResult::Line& line : result.lines)
      bounds.push_back({{"quantity", line.bound.quantity},
                        {"value", line.value},
                        {"least", line.bound.least},
                        {"most", line.bound.most},
                        {"passed", line.passed}});
    std::printf(
        "%s\n",
        nlohmann::ordered_json{{"task", task.name}, {"passed", result.passed}, {"gate", bounds}}.dump().c_str());
  } else {
    for (const GateResult::Line& line : result.lines) std::printf("%s\n", line.text.c_str());
    std::printf("gate %s by %s\n", result.passed ? "passed" : "not passed", source.c_str());
  }
  return result.passed ? kDone : kFailure;
}

int evaluate(const EvalOptions& options, const FilmOptions& film, const std::vector<NamedValue>& task_options) {
  const std::string file = checkpoint_of(options);
  require_different({{"record", options.record}, {"video", film.video}, {"save_pretrained", options.save_pretrained}});
  if (!options.record.empty()) require_writable(options.record);
  if (!options.save_pretrained.empty()) require_pretrained(options, task_options);
  Checkpoint checkpoint = file.empty() ? Checkpoint() : read_checkpoint(file);
  TaskChanges changes = options.changes(task_options);
  if (options.gate) {
    if (!task_options.empty() || options.stochastic || !options.record.empty() || !options.save_pretrained.empty() ||
        !film.video.empty())
      throw UsageError(
          "--gate only plays the task's gate, with the most probable actions and its own options: leave out "
          "--stochastic, --record, --video, --save_pretrained and options of the task");
    load_task_of(checkpoint, file);
    const TaskSpec task = task_spec(attribute<std::string>(checkpoint, file, "task"));
    require_gate(task);
    changes.options = gate_options(task);
  }
  EvalPolicy policy = file.empty() ? EvalPolicy(options.task, changes, options.threads)
                                   : EvalPolicy(checkpoint, file, changes, options.threads);
  Checkpoint alone;
  if (!options.save_pretrained.empty()) alone = policy_alone(checkpoint, file);
  const std::string source = described(file, checkpoint);
  checkpoint = {};  // frees the state of the environments
  const TaskSpec task = task_spec(policy.task(), policy.setup());
  if (options.gate) return try_gate(options, policy, task, source);
  Recording recording({{"task", policy.task()}, {"dt", task.dt}, {"checkpoint", file}});
  std::function<void(const Episode&)> record;
  if (!options.record.empty()) record = [&](const Episode& episode) { recording.add(episode); };
  const EvaluationPlan plan = plan_of(options, policy);
  if (!film.video.empty()) make_film(film, options.threads, plan, policy);
  const Evaluation result = evaluate(plan, policy.actor(), record);
  warn_of_lost(result);
  if (record) recording.write(options.record);
  if (!options.save_pretrained.empty()) save_pretrained(options.save_pretrained, std::move(alone), policy, result);
  options.json ? print_json(result, options, task, file) : print_lines(result, options, task, source);
  if (!film.video.empty() && !options.json) std::printf("the video of environment 0 is in %s\n", film.video.c_str());
  return kDone;
}

int replay(const EvalOptions& options, const std::vector<NamedValue>& given,
           const std::vector<NamedValue>& task_options) {
  for (const NamedValue& option : given)
    if (option.name != "replay_dump" && option.name != "index" && option.name != "task_library")
      throw UsageError("--" + option.name +
                       " has no effect with --replay_dump (which prints one step of the file): " + "leave it out");
  replay_dump(options.replay_dump, options.index, task_options);
  return kDone;
}

int run(const std::vector<std::string>& arguments) {
  EvalOptions options;
  FilmOptions film;
  OptionTable table;
  table.section("", "Evaluation", options);
  table.section("", "Video", film);
  table.defer_section("env");
  auto [given, task_options] = parse_play_options(table, "drl_eval evaluates", arguments);
  load_task_libraries(options.task_library);
  if (options.version) return std::printf("drl %s (%s)\n", kVersion, kGitHash), kDone;
  if (std::exchange(options.help, false)) return std::printf("%s%s", kUsage, table.help().c_str()), kDone;
  if (!is_only_rank("drl_eval")) return ExitCode::kUsage;
  if (options.check_video) return check_video(options.threads);
  for (const NamedValue& option : given)  // such as --record "$UNSET"
    if (option.value.empty() && contains({"record", "save_pretrained", "video"}, option.name))
      require_output(option.name, "");
  const bool is_sheet = !film.video.empty() && film_plan(film).format == FilmFormat::png;
  for (const std::string& sentence :
       table.without_effect(given, {{"format", is_sheet ? "png" : "", "a PNG file has 12 pictures"}}))
    throw UsageError(sentence);
  if (!options.replay_dump.empty()) return replay(options, given, task_options);
  return evaluate(options, film, task_options);
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::run_program(argc, argv, drl::run); }
