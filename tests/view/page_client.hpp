// A page's side of the connection to drl_view.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../apps/programs.hpp"
#include "base/clock.hpp"

namespace drl::test {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

// A drl_view that is ready.
class View : public Process {
 public:
  explicit View(const Words& options) : Process(Words{bin("drl_view")} + options) {
    EXPECT_TRUE(wait_until([&] { return holds(out(), "ssh -L") || !running(); })) << err();
    const std::string text = out(), begin = "http://127.0.0.1:";
    const size_t at = text.find(begin);
    if (at == std::string::npos) throw std::runtime_error("drl_view prints no address: " + text + err());
    address = text.substr(at, text.find('\n', at) - at);
    const size_t slash = address.find('/', begin.size());
    port = address.substr(begin.size(), slash - begin.size()), path = address.substr(slash);
  }
  std::string address, port, path;  // "/TOKEN/"
};

using Headers = std::map<std::string, std::string>;

struct Answer {
  unsigned status;
  std::string body;
};
// Requests `target`, by default from the host and port of the view.
inline Answer request(const View& view, const std::string& target, const Headers& headers = {}) {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(std::stoi(view.port))});
  http::request<http::empty_body> request(http::verb::get, target, 11);
  request.set(http::field::host, "127.0.0.1:" + view.port);
  for (const auto& [name, value] : headers) request.set(name, value);
  http::write(socket, request);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(socket, buffer, response);
  return {response.result_int(), response.body()};
}

// An open page, which receives the messages in the order in which they come.
class Page {
 public:
  // `receive_buffer`: bytes that the system keeps for it, or 0 for the system's own choice.
  explicit Page(const View& view, int receive_buffer = 0) : socket_(context_) {
    socket_.next_layer().open(asio::ip::tcp::v4());
    if (receive_buffer > 0) socket_.next_layer().set_option(asio::socket_base::receive_buffer_size(receive_buffer));
    socket_.next_layer().connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(std::stoi(view.port))});
    socket_.handshake("127.0.0.1:" + view.port, view.path + "socket");
    facts = until([](const Page& page) { return page.text.contains("facts"); }).text;
  }
  void send(const nlohmann::json& message) { socket_.text(true), socket_.write(asio::buffer(message.dump())); }

  // Receives messages until the last one fulfils the condition.
  Page& until(const std::function<bool(const Page&)>& condition) {
    for (const auto end = Clock::now() + std::chrono::seconds(30); Clock::now() < end;) {
      beast::flat_buffer buffer;
      socket_.read(buffer);
      const std::string bytes = beast::buffers_to_string(buffer.data());
      text = socket_.got_text() ? nlohmann::json::parse(bytes) : nlohmann::json::object();
      words.resize(socket_.got_text() ? 0 : bytes.size() / 4);
      std::memcpy(words.data(), bytes.data(), 4 * words.size());
      received += is_frame();
      if (condition(*this)) return *this;
    }
    throw std::runtime_error("the page did not receive the message");
  }
  nlohmann::json status(const std::function<bool(const nlohmann::json&)>& is_it = [](const auto&) { return true; }) {
    return until([&](const Page& page) { return page.text.contains("plays") && is_it(page.text); }).text;
  }
  bool is_frame() const { return !words.empty() && words[0] != ~0u; }
  bool is_mesh() const { return !words.empty() && words[0] == ~0u; }
  uint32_t step() const { return words.at(3); }
  float number(size_t word) const {
    float x;
    std::memcpy(&x, &words.at(word), 4);
    return x;
  }
  // The kind of object k, and where it is.
  uint32_t kind(size_t k) const { return words.at(12 + 13 * k) & 255; }
  std::vector<float> place(size_t k) const {
    const size_t first = 12 + 13 * k + 6;
    return {number(first), number(first + 1), number(first + 2)};
  }

  int received = 0;             // frames
  nlohmann::json facts, text;   // text: of the last message, if it is one
  std::vector<uint32_t> words;  // of the last message, if it is binary

 private:
  asio::io_context context_;
  beast::websocket::stream<asio::ip::tcp::socket> socket_;
};

}  // namespace drl::test
