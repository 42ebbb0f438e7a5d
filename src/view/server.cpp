#include "view/server.hpp"

#include <sys/random.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <cmath>
#include <deque>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "view/page.hpp"

namespace drl {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using Status = http::status;
using Request = http::request<http::empty_body>;
using boost::system::error_code;

constexpr int kFirstPort = 8080, kPorts = 100;
constexpr size_t kMostConnections = 64, kMostPages = 16, kMostMeshes = 1000, kLongestMessage = 4096;

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error("the system gives no random numbers (getrandom failed): they are needed for the page's address");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Compares in a time that does not depend on where the texts differ.
bool are_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k)
    difference |= static_cast<unsigned char>(a[k]) ^ static_cast<unsigned char>(b[k]);
  return difference == 0;
}

// Returns whether a browser that is connected through this machine's loopback address sends this Host. The port may be
// another one, which ssh forwards.
bool is_local(std::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos)
    host = host.substr(0, colon);
  return host == "127.0.0.1" || host == "localhost";
}

std::string page() {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>drl_view</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<style>\n{}</style>\n</head>\n{}<script>\n{}{}</script>\n</html>\n",
      kViewStyle, kViewHtml, kViewDrawing, kViewScript);
}

}  // namespace

struct ViewServer::State {
  class Connection;

  State() : acceptor(context), timer(context) {}

  // Returns what a request gets: ok is the page, switching_protocols the WebSocket.
  Status status_of(const Request& request) const {
    const auto text = [&](http::field name) { return std::string_view(request[name].data(), request[name].size()); };
    const std::string_view target(request.target().data(), request.target().size());
    const std::string_view host = text(http::field::host), origin = text(http::field::origin);
    if (!is_local(host) || (!origin.empty() && origin != "http://" + std::string(host))) return Status::forbidden;
    if (request.method() != http::verb::get || target.size() < root.size() ||
        !are_equal(target.substr(0, root.size()), root))
      return Status::not_found;
    if (target.size() == root.size()) return Status::ok;
    if (target.substr(root.size()) != "socket" || !websocket::is_upgrade(request)) return Status::not_found;
    return pages.size() < kMostPages ? Status::switching_protocols : Status::service_unavailable;
  }
  void listen() {
    auto socket = std::make_shared<tcp::socket>(context);
    acceptor.async_accept(*socket, [this, socket](error_code error) {
      if (!error && connections >= kMostConnections) close_oldest();
      if (!error && connections < 2 * kMostConnections) connect(std::move(*socket));
      if (!error) return listen();
      timer_of_acceptor.emplace(context, std::chrono::milliseconds(200));  // such as too many open files
      timer_of_acceptor->async_wait([this](error_code) { listen(); });
    });
  }
  void connect(tcp::socket socket);
  void close_oldest();
  void work() {
    const double seconds = events.work();
    timer.cancel();
    if (std::isinf(seconds)) return;
    timer.expires_after(std::chrono::microseconds(static_cast<int64_t>(std::max(0.0, seconds) * 1e6)));
    timer.async_wait([this](error_code error) {
      if (!error) work();
    });
  }

  asio::io_context context{1};
  tcp::acceptor acceptor;
  asio::steady_timer timer;
  std::optional<asio::steady_timer> timer_of_acceptor;
  std::string token = random_token(), root = "/" + token + "/";
  Events events;
  std::set<Connection*> pages;
  std::list<Connection*> waiting;  // for their requests, the oldest first: other users' programs may connect, too
  size_t connections = 0;
};

// A connection of a browser, which reads one request, and may become a page's WebSocket. It keeps itself alive in the
// handlers of what it waits for.
class ViewServer::State::Connection final : public ViewPage, public std::enable_shared_from_this<Connection> {
 public:
  Connection(State& state, tcp::socket socket) : state_(state), socket_(std::move(socket)) {
    state_.connections += 1;
    state_.waiting.push_back(this);
    parser_.header_limit(16 << 10), parser_.body_limit(0);
  }
  ~Connection() override { state_.connections -= 1, state_.waiting.remove(this); }
  void close_socket() { beast::close_socket(stream()); }

  void start() {
    stream().expires_after(std::chrono::seconds(20));
    http::async_read(stream(), buffer_, parser_, [self = shared_from_this()](error_code error, size_t) {
      if (!error) self->answer();
    });
  }
  void send(ViewMessage kind, const std::shared_ptr<const std::string>& bytes) override {
    if (kind != ViewMessage::mesh)
      newest_[static_cast<size_t>(kind)] = bytes;
    else if (meshes_.size() < kMostMeshes)
      meshes_.push_back(bytes);
    write();
  }

 private:
  beast::tcp_stream& stream() { return socket_.next_layer(); }

  void answer() {
    state_.waiting.remove(this);
    const Request& request = parser_.get();
    const Status status = state_.status_of(request);
    if (status == Status::switching_protocols) return accept();
    response_ = {status, request.version()};
    response_.keep_alive(false);
    response_.set(http::field::cache_control, "no-store");
    response_.set("Referrer-Policy", "no-referrer"), response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Content-Security-Policy",
                  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
                  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    response_.set(http::field::content_type, status == Status::ok ? "text/html; charset=utf-8" : "text/plain");
    response_.body() = status == Status::ok ? page() : std::string(http::obsolete_reason(status)) + "\n";
    response_.prepare_payload();
    http::async_write(stream(), response_, [self = shared_from_this()](error_code, size_t) {
      error_code ignored;
      self->stream().socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }
  void accept() {
    stream().expires_never();
    error_code ignored;
    stream().socket().set_option(tcp::no_delay(true), ignored);
    stream().socket().set_option(tcp::socket::send_buffer_size(1 << 17), ignored);  // old frames do not wait in it
    socket_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
    socket_.read_message_max(kLongestMessage);
    socket_.async_accept(parser_.get(), [self = shared_from_this()](error_code error) {
      if (error) return;
      self->is_open_ = true;
      self->state_.pages.insert(self.get());
      self->state_.events.opened(*self);
      self->state_.work();
      self->read();
    });
  }
  void read() {
    buffer_.clear();
    socket_.async_read(buffer_, [self = shared_from_this()](error_code error, size_t) {
      if (error) return self->close();
      const auto bytes = self->buffer_.data();
      self->state_.events.received(*self, {static_cast<const char*>(bytes.data()), bytes.size()});
      self->state_.work();
      self->read();
    });
  }
  void write() {
    if (!is_open_ || is_writing_) return;
    ViewMessage kind = ViewMessage::facts;
    const auto take = [&](ViewMessage of) {
      kind = of;
      return std::exchange(newest_[static_cast<size_t>(of)], nullptr);
    };
    (sent_ = take(ViewMessage::facts)) || (sent_ = take(ViewMessage::status));
    if (!sent_ && !meshes_.empty()) kind = ViewMessage::mesh, sent_ = meshes_.front(), meshes_.pop_front();
    if (!sent_) sent_ = take(ViewMessage::frame);
    if (!sent_) return;
    is_writing_ = true;
    socket_.binary(is_binary(kind));
    socket_.async_write(asio::buffer(*sent_), [self = shared_from_this()](error_code error, size_t) {
      self->is_writing_ = false;
      if (!error) self->write();
    });
  }
  void close() {
    is_open_ = false;
    state_.pages.erase(this);
    state_.work();
  }

  State& state_;
  websocket::stream<beast::tcp_stream> socket_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
  std::array<std::shared_ptr<const std::string>, 3> newest_;  // that wait to be sent: facts, status, frame
  std::deque<std::shared_ptr<const std::string>> meshes_;
  std::shared_ptr<const std::string> sent_;
  bool is_open_ = false, is_writing_ = false;
};

void ViewServer::State::connect(tcp::socket socket) { std::make_shared<Connection>(*this, std::move(socket))->start(); }
void ViewServer::State::close_oldest() {
  if (waiting.empty()) return;
  Connection* oldest = waiting.front();
  waiting.pop_front();
  oldest->close_socket();
}

ViewServer::ViewServer(int port) : state_(std::make_unique<State>()) {
  tcp::acceptor& acceptor = state_->acceptor;
  error_code error;
  // Two programs may bind one port at the same time; only one of them can then listen on it.
  const auto listens_on = [&](int to) {
    acceptor = tcp::acceptor(state_->context, tcp::v4());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind({asio::ip::address_v4::loopback(), static_cast<uint16_t>(to)}, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    return !error;
  };
  bool listens = port > 0 && listens_on(port);
  if (port > 0 && !listens)
    throw UsageError(fmt::format("--port {} cannot be used ({}): give another one, or leave it out", port,
                                 error == asio::error::address_in_use ? "another program uses it" : error.message()));
  for (int next = kFirstPort; !listens && next <= kFirstPort + kPorts; ++next)
    listens = listens_on(next < kFirstPort + kPorts ? next : 0);
  if (!listens) throw Error("no port of 127.0.0.1 is free: try again later");
}

ViewServer::~ViewServer() = default;

int ViewServer::port() const { return state_->acceptor.local_endpoint().port(); }
std::string ViewServer::address() const { return fmt::format("http://127.0.0.1:{}{}", port(), state_->root); }

void ViewServer::run(const Events& events) {
  state_->events = events;
  state_->listen();
  state_->context.run();
}

void ViewServer::broadcast(ViewMessage kind, std::string bytes) {
  const auto shared = std::make_shared<const std::string>(std::move(bytes));
  for (State::Connection* each : state_->pages)
    if (each->is_visible) each->send(kind, shared);
}

bool ViewServer::is_watched() const {
  return std::ranges::any_of(state_->pages, [](const State::Connection* each) { return each->is_visible; });
}

int ViewServer::pages() const { return static_cast<int>(state_->pages.size()); }

}  // namespace drl
