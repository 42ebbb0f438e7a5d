// A browser without a window, controlled through the DevTools protocol.
#pragma once

#include <array>

#include "page_client.hpp"

namespace drl::test {

// Returns the path of Chromium or Chrome, or "".
inline std::string browser_program() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    for (const std::string& folder : split(std::getenv("PATH") ? std::getenv("PATH") : "", ':'))
      if (fs::exists(fs::path(folder) / name)) return fs::path(folder) / name;
  return "";
}

class Browser {
 public:
  explicit Browser(const Words& more = {}) : process_(command() + more + Words{"about:blank"}) {
    const fs::path file = folder_ / "profile" / "DevToolsActivePort";
    EXPECT_TRUE(wait_until([&] { return fs::exists(file) && count_lines(slurp(file)) > 0; })) << process_.err();
    const std::vector<std::string> lines = split(slurp(file), '\n');
    port_ = static_cast<uint16_t>(std::stoi(lines.at(0)));
    std::string target;
    EXPECT_TRUE(wait_until([&] {
      for (const auto& each : nlohmann::json::parse(get("/json")))
        if (each.at("type") == "page") target = each.at("webSocketDebuggerUrl");
      return !target.empty();
    }));
    socket_.next_layer().connect({asio::ip::address_v4::loopback(), port_});
    socket_.read_message_max(0);
    socket_.handshake("127.0.0.1:" + std::to_string(port_), target.substr(target.find("/devtools")));
    for (const char* domain : {"Runtime.enable", "Log.enable", "Page.enable"}) call(domain);
  }
  nlohmann::json call(const std::string& method, const nlohmann::json& params = nlohmann::json::object()) {
    socket_.write(asio::buffer(nlohmann::json({{"id", ++calls_}, {"method", method}, {"params", params}}).dump()));
    for (;;) {
      beast::flat_buffer buffer;
      socket_.read(buffer);
      const auto said = nlohmann::json::parse(beast::buffers_to_string(buffer.data()));
      if (said.value("id", 0) == calls_) return said.value("result", said);
      const std::string event = said.value("method", "");
      const bool is_error = event == "Runtime.exceptionThrown" ||
                            (event == "Log.entryAdded" && said["params"]["entry"]["level"] == "error") ||
                            (event == "Runtime.consoleAPICalled" && said["params"]["type"] == "error");
      if (is_error) errors += said.dump() + "\n";
    }
  }
  // Returns the value of a JavaScript expression; null if it throws.
  nlohmann::json value(const std::string& expression) {
    const nlohmann::json result = call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}});
    return result.at("result").value("value", nlohmann::json());
  }
  bool becomes(const std::string& expression, const nlohmann::json& wanted) {
    return wait_until([&] { return value(expression) == wanted; }, 30);
  }
  void key(const char* type, const char* code, const char* key) {
    call("Input.dispatchKeyEvent", {{"type", type}, {"code", code}, {"key", key}});
  }

  // Drags the mouse with the left button from one point to another, in pixels.
  void drag(std::array<int, 2> from, std::array<int, 2> to, bool with_shift) {
    const auto mouse = [&](const char* type, std::array<int, 2> at, int buttons) {
      call("Input.dispatchMouseEvent", {{"type", type},
                                        {"x", at[0]},
                                        {"y", at[1]},
                                        {"button", "left"},
                                        {"buttons", buttons},
                                        {"clickCount", 1},
                                        {"modifiers", with_shift ? 8 : 0}});
    };
    mouse("mousePressed", from, 1), mouse("mouseMoved", to, 1), mouse("mouseReleased", to, 0);
  }

  std::string errors;  // of the console

 private:
  Words command() const {
    return {browser_program(),
            "--headless=new",
            "--no-sandbox",
            "--use-gl=angle",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--window-size=1000,700",
            "--remote-debugging-port=0",
            "--user-data-dir=" + (folder_ / "profile").string()};
  }
  std::string get(const std::string& target) const {
    asio::io_context context;
    asio::ip::tcp::socket socket(context);
    socket.connect({asio::ip::address_v4::loopback(), port_});
    http::request<http::empty_body> request(http::verb::get, target, 11);
    request.set(http::field::host, "127.0.0.1");
    http::write(socket, request);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::read(socket, buffer, response);
    return response.body();
  }

  TempFolder folder_;
  Process process_;
  uint16_t port_ = 0;
  asio::io_context context_;
  beast::websocket::stream<asio::ip::tcp::socket> socket_{context_};
  int calls_ = 0;
};

}  // namespace drl::test
