#include "apps/view_session.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "run/run_directory.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kFrameSeconds = 1.0 / 60, kStatusSeconds = 0.1, kLookSeconds = 2, kNever = INFINITY;
constexpr double kMostLag = 0.25;  // s that playing catches up
constexpr uint32_t kIsMesh = ~0u;  // the first word of a message with a mesh
constexpr uint8_t kGhostAlpha = 56;
constexpr double kMostMeshes = 1e6;

// The words of a frame that precede those of its objects.
struct FrameHead {
  uint32_t objects, terms, actions, step;
  float at[3], distance, azimuth, elevation;
  float time, reward;  // of the last step
};
static_assert(sizeof(FrameHead) == 48 && sizeof(SceneObject) == 52, "view.js reads these words");

template <class T>
void append(std::string& to, const T* from, int64_t count) {
  to.append(reinterpret_cast<const char*>(from), static_cast<size_t>(count) * sizeof(T));
}

// Names may come from other libraries, in any encoding.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

EvalPolicy load_policy(const ViewOptions& options, const TaskChanges& changes, const std::string& file) {
  if (file.empty()) return EvalPolicy(options.task, changes, options.threads);
  return EvalPolicy(read_checkpoint(file), file, changes, options.threads);
}

EvaluationPlan plan_of(const ViewOptions& options, const EvalPolicy& policy) {
  require_draw(task_record(policy.task()));
  return {.task = policy.task(),
          .num_envs = options.envs,
          .seed = static_cast<uint64_t>(options.seed),
          .choice = options.choice(),
          .setup = policy.setup(),
          .threads = options.threads,
          .curriculum = policy.curriculum()};
}

// Returns the option of a task with which a user commands its robot, or null.
const Option* command_option(const OptionTable& table) {
  const auto found = std::ranges::find(table.items(), "env.command", &Option::name);
  return found != table.items().end() && found->length.numbers > 0 && !found->length.is_range ? &*found : nullptr;
}

// Returns the names of the command's numbers, which the option's help lists in capitals: "AHEAD,LEFT,TURN".
std::vector<std::string> command_names(const Option& option) {
  for (std::string word : split(option.help, ' ')) {
    const bool is_list = std::ranges::all_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == ','; });
    std::ranges::transform(word, word.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    std::vector<std::string> names = split(word, ',');
    if (!names.empty() && names.back().empty()) names.pop_back();
    if (is_list && std::ssize(names) == option.length.numbers) return names;
  }
  std::vector<std::string> names;
  for (int k = 0; k < option.length.numbers; ++k) names.push_back("command " + std::to_string(k));
  return names;
}

std::vector<std::string> names_of(const std::vector<NamedNumber>& numbers, int count) {
  std::vector<std::string> names;
  for (int k = 0; k < count; ++k)
    names.push_back(numbers.empty() ? std::to_string(k) : numbers[static_cast<size_t>(k)].name);
  return names;
}

// Returns the checkpoint's place in its own run, for one that is reached through the links in runs/TASK/latest: those
// may soon belong to another run.
std::string in_its_run(const std::string& file) {
  return fs::path(file).parent_path().filename() == "checkpoints" ? fs::canonical(file).string() : file;
}

}  // namespace

ViewSession::Played::Played(const ViewSession& session, const std::string& file)
    : policy(load_policy(session.options_, session.options_.changes(session.task_options_), file)),
      player(plan_of(session.options_, policy), policy.actor()),
      state(list_state([&](StateVisitor& visitor) { player.envs().visit_state(visitor); })) {
  const TaskSpec& task = player.envs().spec();
  for (const std::string& term : task.reward_terms)
    for (const StateField& field : state)
      if (field.name == "env/reward_terms/" + term) terms.push_back(static_cast<float*>(field.data));
  for (size_t k = 0; k < task.observations.size(); ++k)
    if (task.observations[k].name.starts_with("command") && task.observations[k].steps_before == 0)
      commands.push_back(k);
}

ViewSession::ViewSession(const ViewOptions& options, std::vector<NamedValue> task_options, ViewServer& server)
    : options_(options),
      task_options_(std::move(task_options)),
      server_(server),
      library_(film_library_file()),
      scene_(library_),
      file_(in_its_run(checkpoint_of(options))),
      tried_(file_),
      played_(std::make_unique<Played>(*this, file_)) {
  if (is_of_run()) look_for_checkpoints();
  controls_.follows = options.follow;
  if (options.follow && checkpoints_.empty())
    throw UsageError("--follow needs a run (it loads the run's newest checkpoint): give --run R, or leave it out");
  frame();  // fails before the page is offered if the task cannot be drawn
}

ViewServer::Events ViewSession::events() {
  return {.opened = [this](ViewPage& page) { show(page); },
          .received = [this](ViewPage& page, std::string_view text) { receive(page, text); },
          .work = [this] { return work(); }};
}

void ViewSession::show(ViewPage& page) {
  page.send(ViewMessage::facts, std::make_shared<const std::string>(facts()));
  page.send(ViewMessage::frame, std::make_shared<const std::string>(frame()));
  is_changed_ = true;
}

void ViewSession::receive(ViewPage& page, std::string_view text) try {
  const Json said = Json::parse(text);
  is_changed_ = true;
  if (!said.contains("visible") && !said.contains("mesh")) trouble_.clear();
  if (said.contains("visible") && (page.is_visible = said["visible"].get<bool>())) show(page);
  if (const double id = said.value("mesh", -1.0); id >= 0 && id < kMostMeshes)
    page.send(ViewMessage::mesh, mesh(static_cast<int>(id)));
  if (said.contains("plays")) controls_.plays = said["plays"].get<bool>();
  if (said.contains("speed")) controls_.speed = std::clamp(said["speed"].get<double>(), 0.1, 4.0);
  if (said.contains("contacts")) controls_.shows_contacts = said["contacts"].get<bool>();
  if (said.contains("command")) set_command(said["command"].get<std::vector<double>>());
  if (said.contains("push")) push(said["push"].get<std::vector<float>>());
  if (said.contains("checkpoint")) {
    const fs::path name = said["checkpoint"].get<std::string>();
    const auto file = std::ranges::find_if(checkpoints_, [&](const fs::path& each) { return each.stem() == name; });
    if (file != checkpoints_.end()) controls_.follows = false, load(file->string());
  }
  if (said.contains("follows") && (controls_.follows = said["follows"].get<bool>())) look_due_ = 0;
  if (said.contains("restart")) played_->player.restart();
  if (said.contains("step")) controls_.plays = false, step();
  if (!controls_.plays) server_.broadcast(ViewMessage::frame, frame());
} catch (const Json::exception&) {  // not a message of our page
} catch (const UsageError& error) {
  trouble_ = error.what();
}

// A checkpoint that cannot be loaded, such as one that the run has just deleted, changes nothing.
void ViewSession::load(const std::string& file) {
  tried_ = file;
  try {
    auto next = std::make_unique<Played>(*this, file);
    played_ = std::move(next), file_ = file, trouble_.clear();
    if (!controls_.command.empty()) set_command(controls_.command);
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  server_.broadcast(ViewMessage::facts, facts());
  due_ = 0, is_changed_ = true;
}

// Lists the checkpoints of the run, and loads the newest one if it should follow the run.
void ViewSession::look_for_checkpoints() {
  const fs::path folder = fs::path(file_).parent_path();
  std::vector<fs::path> files = list_checkpoints(folder.parent_path());
  if (files != checkpoints_) checkpoints_ = std::move(files), is_changed_ = true;
  if (controls_.follows && !checkpoints_.empty() && checkpoints_.front() != tried_) load(checkpoints_.front().string());
}

// `numbers` may be empty: then the task draws its commands itself.
void ViewSession::set_command(const std::vector<double>& numbers) {
  OptionTable table = played_->policy.task_options();
  const Option* option = command_option(table);
  if (!option) return;
  std::vector<std::string> words;
  for (const double number : numbers) words.push_back(fmt::format("{}", number));
  table.set(option->name, numbers.empty() ? "none" : join(words, ","));
  played_->player.envs().set_params(played_->policy.setup().params);
  controls_.command = numbers;
}

// Changes the velocity of the robots' roots (m/s).
void ViewSession::push(const std::vector<float>& velocity) {
  const auto is_sensible = [](float x) { return std::abs(x) <= 20; };
  if (!can_push() || velocity.size() != 3 || !std::ranges::all_of(velocity, is_sensible)) return;
  std::vector<double> change(static_cast<size_t>(picture_.velocities));
  scene_.push(velocity.data(), change.data());
  const auto envs = static_cast<size_t>(options_.envs), positions = static_cast<size_t>(picture_.positions);
  for (const StateField& field : played_->state)
    for (size_t k = 0; k < change.size(); ++k) {
      const std::string number = change.size() > 1 ? "/" + std::to_string(k) : "";
      if (field.name == "env/state/physics/qvel" + number)  // in lanes
        for (size_t env = 0; env < envs; ++env) static_cast<float*>(field.data)[env] += static_cast<float>(change[k]);
      if (field.name == "env/state/physics")  // libmujoco: time, qpos, qvel and others of each environment
        for (size_t env = 0, row = static_cast<size_t>(field.count()) / envs; env < envs; ++env)
          static_cast<double*>(field.data)[env * row + 1 + positions + k] += change[k];
    }
}

double ViewSession::seconds_per_step() const {
  return std::min(played_->player.envs().spec().dt, kLongestStep) / controls_.speed;
}

// Steps the environments as far as time has passed. Returns the seconds until it wants to be called again.
double ViewSession::work() {
  const double now = steady_seconds();
  double next = kNever;
  if (is_of_run() && server_.is_watched()) {
    if (now >= look_due_) look_for_checkpoints(), look_due_ = now + kLookSeconds;
    next = look_due_;
  }
  if (controls_.plays && server_.is_watched()) {
    if (now - due_ > kMostLag) due_ = now;  // it was paused, or is too slow
    bool has_moved = false;
    for (; due_ <= now && steady_seconds() < now + kFrameSeconds; due_ += seconds_per_step()) step(), has_moved = true;
    if (has_moved) server_.broadcast(ViewMessage::frame, frame());
    next = std::min(next, std::max(due_, now + kFrameSeconds));
  }
  if (is_changed_ && now >= status_due_) {
    server_.broadcast(ViewMessage::status, status());
    is_changed_ = false, status_due_ = now + kStatusSeconds;
  }
  if (is_changed_) next = std::min(next, status_due_);
  return next - steady_seconds();
}

void ViewSession::step() {
  for (float* term : played_->terms) *term = 0;
  const double before = played_->player.moment().age > 0 ? played_->player.moment().reward : 0;
  played_->player.step();
  const Moment& moment = played_->player.moment();
  last_terms_.clear();
  for (const float* term : played_->terms) last_terms_.push_back(*term);
  if (moment.age > 0) last_reward_ = moment.reward - before;
  is_changed_ = true;
}

std::string ViewSession::facts() const {
  const TaskSpec& task = played_->player.envs().spec();
  Json facts = {{"facts", true},
                {"task", task.name},
                {"dt", task.dt},
                {"envs", options_.envs},
                {"terms", task.reward_terms},
                {"actions", names_of(task.actions, task.action.numbers())},
                {"can_push", can_push()},
                {"follows_robot", picture_.follows != 0}};
  const OptionTable table = played_->policy.task_options();
  if (const Option* option = command_option(table)) {
    const bool are_units_known = std::ssize(played_->commands) == option->length.numbers;
    Json command = Json::array();
    for (const std::string& name : command_names(*option))
      command.push_back(
          {{"name", name},
           {"unit", are_units_known ? task.observations[played_->commands[command.size()]].unit : std::string()}});
    facts["command"] = command;
    facts["range"] = {std::max(option->range.low, -2.0), std::min(option->range.high, 2.0)};
  }
  return text_of(facts);
}

std::string ViewSession::status() const {
  const Moment& moment = played_->player.moment();
  Json status = {{"plays", controls_.plays},
                 {"speed", controls_.speed},
                 {"contacts", controls_.shows_contacts},
                 {"follows", controls_.follows},
                 {"command", controls_.command},
                 {"step", moment.step},
                 {"episode", moment.episode + 1},
                 {"age", moment.age},
                 {"return", moment.reward},
                 {"pages", server_.pages()},
                 {"names", texts_.first},
                 {"values", texts_.second},
                 {"trouble", trouble_}};
  Json observed = Json::array(), files = Json::array();
  for (const size_t k : played_->commands) observed.push_back(played_->player.observations()[k]);
  for (const fs::path& file : checkpoints_) files.push_back(file.stem().string());
  status["observed"] = observed, status["checkpoints"] = files;
  status["checkpoint"] = fs::path(file_).stem().string();
  return text_of(status);
}

// Appends the objects of all environments, and returns their number.
uint32_t ViewSession::append_objects(std::string& bytes) {
  uint32_t count = 0;
  for (int64_t env = options_.envs - 1; env >= 0; --env) {  // the first one last: picture_ is then its own
    Picture picture;
    played_->player.envs().draw(env, picture.canvas());
    const FilmView view = picture.view("");
    picture_ = scene_.place(view, controls_.shows_contacts && env == 0);
    texts_ = {view.names, view.values};
    for (SceneObject object : std::span(picture_.objects, static_cast<size_t>(picture_.count))) {
      if (env > 0 && object.is_fixed) continue;
      if (env > 0) object.rgba[3] = std::min(object.rgba[3], kGhostAlpha);
      append(bytes, &object, 1), count += 1;
    }
  }
  return count;
}

std::string ViewSession::frame() {
  const TaskSpec& task = played_->player.envs().spec();
  std::string objects;
  const uint32_t count = append_objects(objects);
  const Moment& moment = played_->player.moment();
  const int actions = task.action.numbers();
  FrameHead head{.objects = count,
                 .terms = static_cast<uint32_t>(last_terms_.size()),
                 .actions = static_cast<uint32_t>(moment.step > 0 ? actions : 0),
                 .step = static_cast<uint32_t>(moment.step),
                 .at = {},
                 .distance = picture_.distance,
                 .azimuth = picture_.azimuth,
                 .elevation = picture_.elevation,
                 .time = static_cast<float>(static_cast<double>(moment.age) * task.dt),
                 .reward = static_cast<float>(last_reward_)};
  std::copy_n(picture_.at, 3, head.at);
  std::string bytes;
  append(bytes, &head, 1), bytes += objects, append(bytes, last_terms_.data(), std::ssize(last_terms_));
  const void* received = played_->player.received_actions();
  for (int k = 0; k < static_cast<int>(head.actions); ++k) {
    const float action = task.action.discrete ? static_cast<float>(static_cast<const int32_t*>(received)[k])
                                              : static_cast<const float*>(received)[k];
    append(bytes, &action, 1);
  }
  return bytes;
}

std::shared_ptr<const std::string> ViewSession::mesh(int id) {
  std::shared_ptr<const std::string>& known = meshes_[id];
  if (known) return known;
  const SceneMesh mesh = scene_.mesh(id);
  const uint32_t head[4] = {kIsMesh, static_cast<uint32_t>(id), static_cast<uint32_t>(mesh.point_count),
                            static_cast<uint32_t>(mesh.corner_count)};
  std::string bytes;
  append(bytes, head, 4), append(bytes, mesh.points, 6 * mesh.point_count);
  append(bytes, mesh.corners, mesh.corner_count);
  return known = std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace drl
