// Plays a policy for the pages of drl_view, and carries out what they ask for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/play_options.hpp"
#include "device/state.hpp"
#include "film/film.hpp"
#include "film/film_library.hpp"
#include "run/evaluator.hpp"
#include "view/server.hpp"

namespace drl {

struct ViewOptions : PlayOptions {
  int port = 0, envs = 1;
  bool follow = false, help = false, version = false;

  void describe(OptionVisitor& v) {
    describe_policy(v);
    v("port", port, "port of the page on 127.0.0.1; 0 = a free one, the first from 8080 on", between(0, 65535));
    v("envs", envs, "number of environments to show; all but the first are transparent", between(1, 100));
    v("follow", follow, "load the newest checkpoint whenever the run saves one; the page can switch this, too",
      only_with("agent", "policy"));
    describe_actions(v);
    describe_task(v);
    v("help", help, "print this text", letter('h'));
    v("version", version, "print version and git hash");
  }
};

class ViewSession {
 public:
  // Loads the policy. Throws UsageError if it, or the task's drawing, cannot be used. `server` must outlive this
  // object.
  ViewSession(const ViewOptions& options, std::vector<NamedValue> task_options, ViewServer& server);

  const std::string& task() const { return played_->policy.task(); }
  const std::string& file() const { return file_; }  // of the checkpoint, or ""
  ViewServer::Events events();

 private:
  // A policy, and the environments in which it acts.
  struct Played {
    Played(const ViewSession& session, const std::string& file);

    EvalPolicy policy;
    Player player;
    StateList state;               // of the environments
    std::vector<float*> terms;     // of the reward, summed over the episode, of environment 0
    std::vector<size_t> commands;  // the places of the command in an observation
  };
  // The settings that pages can change.
  struct Controls {
    bool plays = true, follows = false, shows_contacts = false;
    double speed = 1;
    std::vector<double> command = {};  // empty: the task's own
  };

  void receive(ViewPage& page, std::string_view text);
  void load(const std::string& file);
  void look_for_checkpoints();
  void set_command(const std::vector<double>& numbers);
  bool can_push() const { return played_->policy.setup().robot && picture_.velocities > 0; }
  void push(const std::vector<float>& velocity);
  double work();
  void step();
  std::string facts() const;
  std::string status() const;
  std::string frame();
  uint32_t append_objects(std::string& bytes);
  std::shared_ptr<const std::string> mesh(int id);
  bool is_of_run() const { return std::filesystem::path(file_).parent_path().filename() == "checkpoints"; }
  void show(ViewPage& page);
  double seconds_per_step() const;

  ViewOptions options_;
  std::vector<NamedValue> task_options_;
  ViewServer& server_;
  FilmLibrary library_;
  FilmScene scene_;
  std::string file_, tried_, trouble_;  // the checkpoint, the last one that was to be loaded, why it was not
  std::map<int, std::shared_ptr<const std::string>> meshes_;  // messages, by number; the same for all pages
  std::vector<std::filesystem::path> checkpoints_;            // of the run, newest first
  std::unique_ptr<Played> played_;
  Controls controls_;
  ScenePicture picture_{};
  std::pair<std::string, std::string> texts_;  // names and values that the task writes into its pictures
  std::vector<float> last_terms_;              // in the last step
  double last_reward_ = 0;
  double due_ = 0, status_due_ = 0, look_due_ = 0;  // steady_seconds() of the next step, status, look for checkpoints
  bool is_changed_ = true;                          // since the last status
};

}  // namespace drl
