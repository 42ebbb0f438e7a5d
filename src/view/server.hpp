// Serves one page to browsers of this machine, and exchanges messages with the pages that are open. It listens on
// 127.0.0.1 only, below an address with a random token, and refuses everything else: other paths, and other names of
// this machine, with which a foreign web site could reach it (DNS rebinding).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace drl {

// What a page is sent. If a page receives more slowly than it is sent, only the newest message of each kind is kept;
// meshes are never dropped.
enum class ViewMessage { facts, status, frame, mesh };
constexpr bool is_binary(ViewMessage kind) { return kind == ViewMessage::frame || kind == ViewMessage::mesh; }

// An open page.
class ViewPage {
 public:
  virtual ~ViewPage() = default;
  virtual void send(ViewMessage kind, const std::shared_ptr<const std::string>& bytes) = 0;
  bool is_visible = true;  // a page in a hidden tab is not
};

class ViewServer {
 public:
  // Listens on `port`, or on a free one if it is 0: the first from 8080 on. Throws UsageError if the port is in use.
  explicit ViewServer(int port);
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  int port() const;
  std::string address() const;  // "http://127.0.0.1:8080/TOKEN/"

  struct Events {
    std::function<void(ViewPage&)> opened;
    std::function<void(ViewPage&, std::string_view text)> received;
    // Called after each event, and when as many seconds have passed as it returned last; infinity: never.
    std::function<double()> work;
  };
  // Serves until the process ends. Without an event, it uses no CPU.
  void run(const Events& events);

  // Sends a message to all visible pages.
  void broadcast(ViewMessage kind, std::string bytes);
  bool is_watched() const;  // by a visible page
  int pages() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drl
