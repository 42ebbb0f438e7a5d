// The module drl._envs: a batch of a task's environments, whose arrays NumPy views.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/failure.hpp"
#include "base/options.hpp"
#include "base/thread_team.hpp"
#include "device/array.hpp"
#include "device/isa.hpp"
#include "device/reduce.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "envs/task_params.hpp"
#include "film/film.hpp"
#include "store/checkpoint.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace drl {
namespace {

// The values of the arrays' views are valid until the next step or reset.
class Envs {
 public:
  // `options` are words of a command line, such as --env.gravity 9.8. With `next_step`, environments whose episodes
  // ended wait for a step: their next one only returns the first observation. Throws UsageError.
  Envs(const std::string& task, int64_t num_envs, uint64_t seed, const std::vector<std::string>& options, int threads,
       bool next_step)
      : queue_(make_host_queue(isa_of("auto"))),
        task_(own_task_name(task)),
        team_(std::make_unique<ThreadTeam>(threads)),
        next_step_(next_step) {
    TaskParams params(task_record(task_));
    TaskParams::Rewards rewards = params.rewards();
    OptionTable table;
    table.section("env", "Task", params);
    table.section("env.reward", "Rewards", rewards);
    table.apply_command_line(options);
    params.choose_physics();
    physics_ = params.physics(), why_not_in_lanes_ = params.why_not_in_lanes();
    config_ = {.num_envs = num_envs, .seed = seed, .setup = params.setup(), .threads = threads};
    has_threads_ = config_.setup.record->simulator || task_record(task_).robot;
    envs_ = make_env(task_, config_, *queue_);
    const TaskSpec& spec = envs_->spec();
    const auto n = static_cast<size_t>(num_envs), obs = static_cast<size_t>(spec.obs_dim),
               critic = static_cast<size_t>(spec.critic_obs_dim);
    action_ = Array<int32_t>(*queue_, n * static_cast<size_t>(spec.action.numbers()));
    obs_ = Array<float>(*queue_, n * obs), last_obs_ = Array<float>(*queue_, n * obs);
    critic_obs_ = Array<float>(*queue_, n * critic), last_critic_obs_ = Array<float>(*queue_, n * critic);
    reward_ = Array<float>(*queue_, n), last_count_ = Array<int32_t>(*queue_, n);
    terminated_ = Array<uint8_t>(*queue_, n), truncated_ = Array<uint8_t>(*queue_, n);
    ended_ = Array<uint8_t>(*queue_, n), return_ = Array<double>(*queue_, n), length_ = Array<int64_t>(*queue_, n);
    row_ = {.action = action_.data(),
            .next_obs = obs_.data(),
            .next_critic_obs = critic ? critic_obs_.data() : nullptr,
            .reward = reward_.data(),
            .terminated = terminated_.data(),
            .truncated = truncated_.data(),
            .last_obs = last_obs_.data(),
            .last_critic_obs = critic ? last_critic_obs_.data() : nullptr,
            .last_count = last_count_.data(),
            .last_rows = 1,
            .every_end = true};
  }

  ~Envs() {
    if (getpid() == process_) return;
    // Joining the threads of the parent would never end, nor would closing its OpenGL context.
    static_cast<void>(team_.release()), static_cast<void>(envs_.release()), static_cast<void>(renderer_.release());
  }
  Envs(const Envs&) = delete;
  Envs& operator=(const Envs&) = delete;

  const TaskSpec& spec() const { return envs_->spec(); }
  int64_t num_envs() const { return config_.num_envs; }
  std::string files() const { return envs_->files(); }

  // Throws UsageError in a child process after a fork, which has none of its parent's threads.
  void require_threads() const {
    if (getpid() != process_ && config_.threads > 1)
      throw UsageError(
          "environments with threads=" + std::to_string(config_.threads) +
          " cannot be used in a forked process (it has no threads yet): make them there, or with threads=1");
  }
  // Starts new episodes in all environments: other ones than before, or with a seed the same each time.
  void reset(std::optional<uint64_t> seed) {
    require_threads();
    if (seed && *seed != config_.seed) {
      config_.seed = *seed;
      envs_ = make_env(task_, config_, *queue_);
    }
    if (seed) step_ = 0;
    envs_->reset(*queue_, row_, {.step = {nullptr, step_++}});
    for (size_t i = 0; i < ended_.size(); ++i) ended_[i] = 0, return_[i] = 0, length_[i] = 0;
  }
  // Steps all environments with the actions in `action`. Waiting ones take extra time. Returns whether episodes ended.
  bool step() {
    const nb::gil_scoped_release release;
    require_threads();
    std::vector<int64_t> waiting;
    for (int64_t i = 0; next_step_ && i < num_envs(); ++i)
      if (ended_[static_cast<size_t>(i)]) waiting.push_back(i);
    const std::vector<std::byte> kept = numbers_of(waiting);
    const auto numbers = static_cast<size_t>(spec().action.numbers());
    for (const int64_t i : waiting)  // their actions do not count, whatever they are
      std::fill_n(action_.data() + static_cast<size_t>(i) * numbers, numbers, 0);
    std::ranges::fill(std::span(last_count_.data(), last_count_.size()), 0);
    const int64_t units = (num_envs() + VecEnv::kRangeUnit - 1) / VecEnv::kRangeUnit,
                  parts = has_threads_ ? 1 : std::min<int64_t>(team_->size(), units);
    team_->run(parts, [&](int64_t part) {
      const int64_t begin = units * part / parts * VecEnv::kRangeUnit,
                    end = std::min(num_envs(), units * (part + 1) / parts * VecEnv::kRangeUnit);
      envs_->step(*queue_, {nullptr, step_}, begin, end - begin, row_);
    });
    ++step_;
    restore(waiting, kept);
    return count_episodes();
  }
  // Returns the number of episodes that ended since the last call, and the sums of their returns, lengths, terms,
  // metrics and ends, in the order of EpisodeSums; then the number of lost environments.
  std::vector<double> take_episodes() {
    const size_t columns = episode_columns(spec());
    Array<double> sums(*queue_, columns), scratch(*queue_, sum_scratch(*queue_, static_cast<int64_t>(columns)));
    envs_->take_episode_sums(*queue_, sums.data(), scratch.data());
    return {sums.data(), sums.data() + columns};
  }
  // Draws environment `env`, and returns rgb [height, width, 3]. The first call decides the settings and the thread.
  const std::vector<uint8_t>& draw(int64_t env, int width, int height, const std::string& camera,
                                   const std::string& library) {
    if (renderer_ && (getpid() != process_ || std::this_thread::get_id() != drawer_))
      throw UsageError(
          "only the thread that drew the first picture can draw others, and no forked process can: make further "
          "environments there, and draw those");
    if (!renderer_) {
      drawer_ = std::this_thread::get_id();
      film_ = std::make_unique<FilmLibrary>(library);
      renderer_ = std::make_unique<FilmRenderer>(
          *film_, FilmSettings{.width = width, .height = height, .threads = 1, .camera = camera.c_str()});
    }
    Picture picture;
    envs_->draw(env, picture.canvas());
    renderer_->draw(picture.view(""), rgb_);
    return rgb_;
  }
  std::vector<StateField> state() const {
    return list_state([this](StateVisitor& visitor) { envs_->visit_state(visitor); });
  }

  std::unique_ptr<Queue> queue_;
  std::string task_, physics_, why_not_in_lanes_;
  Array<int32_t> action_;  // the bits of floats if actions are continuous
  Array<float> obs_, critic_obs_, last_obs_, last_critic_obs_, reward_;
  Array<int32_t> last_count_;
  Array<uint8_t> terminated_, truncated_, ended_;
  Array<double> return_;  // of the present episodes, or of those that ended in the last step
  Array<int64_t> length_;

 private:
  // Adds the last step to the episodes' returns and lengths. Returns whether episodes ended.
  bool count_episodes() {
    uint8_t any = 0;
    for (size_t i = 0; i < ended_.size(); ++i) {
      const bool begins = ended_[i] != 0;
      return_[i] = (begins ? 0 : return_[i]) + reward_[i];
      length_[i] = (begins ? 0 : length_[i]) + (begins && next_step_ ? 0 : 1);
      ended_[i] = terminated_[i] | truncated_[i];
      any |= ended_[i];
    }
    return any != 0;
  }
  // The numbers of these environments in all fields of the state, and in the observations.
  template <class Copy>
  void each_number(const std::vector<int64_t>& of, const Copy& copy) {
    if (of.empty()) return;
    const auto rows = [&](void* data, size_t bytes) {
      for (const int64_t i : of) copy(static_cast<std::byte*>(data) + static_cast<size_t>(i) * bytes, bytes);
    };
    for (const StateField& field : state())
      if (field.sharding == Sharding::per_env) rows(field.data, field.bytes() / static_cast<size_t>(num_envs()));
    const TaskSpec& s = spec();
    rows(obs_.data(), sizeof(float) * static_cast<size_t>(s.obs_dim));
    rows(critic_obs_.data(), sizeof(float) * static_cast<size_t>(s.critic_obs_dim));
  }
  std::vector<std::byte> numbers_of(const std::vector<int64_t>& envs) {
    std::vector<std::byte> numbers;
    each_number(envs, [&](const std::byte* at, size_t bytes) { numbers.insert(numbers.end(), at, at + bytes); });
    return numbers;
  }
  void restore(const std::vector<int64_t>& envs, const std::vector<std::byte>& numbers) {
    const std::byte* from = numbers.data();
    each_number(envs, [&](std::byte* at, size_t bytes) { std::copy_n(from, bytes, at), from += bytes; });
    for (const int64_t i : envs) {
      const auto k = static_cast<size_t>(i);
      reward_[k] = 0, terminated_[k] = truncated_[k] = 0;
    }
  }

  std::unique_ptr<ThreadTeam> team_;
  EnvConfig config_;
  std::unique_ptr<VecEnv> envs_;
  StepRow row_;
  int64_t step_ = 0;  // keys the random numbers of the next step or reset
  const bool next_step_;
  const pid_t process_ = getpid();
  std::unique_ptr<FilmLibrary> film_;
  std::unique_ptr<FilmRenderer> renderer_;
  std::thread::id drawer_;
  std::vector<uint8_t> rgb_;
  bool has_threads_ = false;  // the environments' own (SimulatorEnvs), which step all ranges
};

template <class T>
using View = nb::ndarray<nb::numpy, T>;
template <class T, class Of>
View<T> view(Of* data, std::initializer_list<size_t> shape, nb::handle owner) {
  return View<T>(static_cast<void*>(data), shape.size(), shape.begin(), owner);
}
// Defines a property that is a live view of `array`, [N, numbers of a row].
template <class T, class Member, class Size>
void def_view(nb::class_<Envs>& to, const char* name, Member member, const Size& size) {
  to.def_prop_ro(name, [=](nb::handle_t<Envs> self) {
    Envs& envs = nb::cast<Envs&>(self);
    const auto n = static_cast<size_t>(envs.num_envs());
    const int columns = size(envs.spec());
    return columns < 0 ? view<T>((envs.*member).data(), {n}, self)
                       : view<T>((envs.*member).data(), {n, static_cast<size_t>(columns)}, self);
  });
}

// Writes another checkpoint, in which these tensors have other numbers.
void change_checkpoint(const std::string& from, const std::string& to, const nb::dict& numbers) {
  Checkpoint checkpoint = read_checkpoint(from);
  for (Tensor& tensor : checkpoint.tensors) {
    const nb::str name(tensor.name.c_str());
    if (!numbers.contains(name)) continue;
    const auto bytes = nb::cast<nb::bytes>(numbers[name]);
    DRL_CHECK(bytes.size() == tensor.data.size(), "the numbers do not have the tensor's shape and type");
    std::memcpy(tensor.data.data(), bytes.data(), bytes.size());
  }
  write_checkpoint(to, checkpoint);
}

nb::dict describe(const TaskSpec& s) {
  nb::dict d;
  const auto names = [](const std::vector<NamedNumber>& numbers) {
    nb::list list;
    for (const NamedNumber& number : numbers) list.append(nb::make_tuple(number.name, number.unit));
    return list;
  };
  d["name"] = s.name, d["obs_dim"] = s.obs_dim, d["critic_obs_dim"] = s.critic_obs_dim, d["dt"] = s.dt;
  d["step_limit"] = s.step_limit, d["discrete"] = s.action.discrete, d["action_size"] = s.action.size;
  d["heads"] = s.action.heads, d["low"] = s.action.low, d["high"] = s.action.high;
  d["reward_terms"] = s.reward_terms, d["metrics"] = s.metrics, d["ends"] = s.ends;
  d["observations"] = names(s.observations), d["actions"] = names(s.actions);
  return d;
}

}  // namespace

NB_MODULE(_envs, m) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const UsageError& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  m.def("load_task_library", &load_task_library, "file"_a);
  m.def("task_names", &task_names);
  m.def("change_checkpoint", &change_checkpoint, "from"_a, "to"_a, "numbers"_a);
  nb::class_<Envs> envs(m, "Envs");
  envs.def(nb::init<const std::string&, int64_t, uint64_t, const std::vector<std::string>&, int, bool>(), "task"_a,
           "num_envs"_a, "seed"_a, "options"_a, "threads"_a, "next_step"_a)
      .def("reset", &Envs::reset, "seed"_a.none(), nb::call_guard<nb::gil_scoped_release>())
      .def("step", &Envs::step)
      .def(
          "draw",
          [](Envs& self, int64_t env, int width, int height, const std::string& camera, const std::string& library) {
            const std::vector<uint8_t>& rgb = self.draw(env, width, height, camera, library);
            return nb::bytes(rgb.data(), rgb.size());
          },
          "env"_a, "width"_a, "height"_a, "camera"_a, "library"_a)
      .def("take_episodes", &Envs::take_episodes)
      .def_prop_ro("spec", [](const Envs& self) { return describe(self.spec()); })
      .def_prop_ro("files", &Envs::files)
      .def_ro("task", &Envs::task_)
      .def_ro("physics", &Envs::physics_)
      .def_ro("why_not_in_lanes", &Envs::why_not_in_lanes_);
  const auto one = [](const TaskSpec&) { return -1; };
  const auto obs = [](const TaskSpec& s) { return s.obs_dim; };
  const auto critic = [](const TaskSpec& s) { return s.critic_obs_dim; };
  def_view<float>(envs, "obs", &Envs::obs_, obs), def_view<float>(envs, "last_obs", &Envs::last_obs_, obs);
  def_view<float>(envs, "critic_obs", &Envs::critic_obs_, critic);
  def_view<float>(envs, "last_critic_obs", &Envs::last_critic_obs_, critic);
  def_view<float>(envs, "reward", &Envs::reward_, one);
  def_view<bool>(envs, "terminated", &Envs::terminated_, one);
  def_view<bool>(envs, "truncated", &Envs::truncated_, one), def_view<bool>(envs, "ended", &Envs::ended_, one);
  def_view<double>(envs, "returns", &Envs::return_, one), def_view<int64_t>(envs, "lengths", &Envs::length_, one);
  const auto numbers = [](const TaskSpec& s) { return s.action.numbers(); };
  def_view<float>(envs, "float_action", &Envs::action_, numbers),
      def_view<int32_t>(envs, "int_action", &Envs::action_, numbers);
}

}  // namespace drl
