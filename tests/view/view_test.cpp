// Tests of drl_view as a browser sees it.
#include "browser.hpp"
#include "page_client.hpp"

namespace drl::test {
namespace {

const Words kCartPole = "--pretrained CartPole-v1"_words, kPole = "--task Pendulum-v1 --agent random"_words;

bool is_moved(const Page& page, uint32_t from) { return page.is_frame() && page.step() > from; }

TEST(View, PlaysWhileAPageIsOpen) {
  View view(kCartPole);
  const Answer html = request(view, view.path);
  EXPECT_EQ(html.status, 200u);
  expect_mentions(html.body, {"<canvas", "WebSocket", "prefers-color-scheme"});
  EXPECT_FALSE(holds(html.body, "https://"));  // everything is in the page
  Page page(view);
  EXPECT_EQ(page.facts.at("task"), "CartPole-v1");
  const uint32_t first = page.until([](const Page& p) { return p.is_frame(); }).step();
  page.until([&](const Page& p) { return is_moved(p, first + 10); });
  EXPECT_EQ(page.words.at(2), 1u);  // one number for each action
  view.signal(SIGTERM);
  EXPECT_EQ(view.wait().exit_code, 0);
}

// An idle view does not step: the next page sees the step at which the last one left, and a paused view stays there.
TEST(View, StandsStillWithoutPagesAndWhilePaused) {
  const View view(kCartPole);
  {
    Page page(view);
    page.until([](const Page& p) { return is_moved(p, 5); });
    page.send({{"plays", false}});
    page.status([](const auto& s) { return s.at("plays") == false; });
  }
  const auto step_after_pause = [&] {
    Page page(view);
    return page.until([](const Page& p) { return p.is_frame(); }).step();
  };
  const uint32_t step = step_after_pause();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(step_after_pause(), step);
  Page page(view);
  {
    Page other(view);
    page.send({{"step", true}});
    page.until([&](const Page& p) { return is_moved(p, step); });
    EXPECT_EQ(page.step(), step + 1);
    other.until([&](const Page& p) { return is_moved(p, step); });
    EXPECT_EQ(other.words, page.words);  // all pages see the same
  }
  page.status([](const auto& s) { return s.at("pages") == 1; });
  page.send({{"visible", false}, {"plays", true}});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  page.send({{"visible", true}, {"plays", false}});
  const auto hidden = page.status([](const auto& s) { return s.at("plays") == false; });
  EXPECT_EQ(hidden.at("step"), step + 1);
  page.send({{"restart", true}});
  const auto next = page.status([&](const auto& s) { return s.at("episode") > hidden.at("episode"); });
  EXPECT_EQ(next.at("step"), step + 1);
  EXPECT_EQ(next.at("age"), 0);
}

TEST(View, RefusesEverythingElse) {
  const View view(kPole);
  EXPECT_EQ(view.path.size(), 34u);  // 128 random bits
  const auto status = [&](const std::string& target, const Headers& headers = {}) {
    return request(view, target, headers).status;
  };
  EXPECT_EQ(status("/"), 404u);
  EXPECT_EQ(status("/favicon.ico"), 404u);
  EXPECT_EQ(status("/" + std::string(32, '0') + "/"), 404u);
  EXPECT_EQ(status(view.path.substr(0, 33)), 404u);
  EXPECT_EQ(status(view.path + "../"), 404u);
  EXPECT_EQ(status(view.path + "socket"), 404u);
  EXPECT_EQ(status(view.path, {{"Host", "evil.example"}}), 403u);
  EXPECT_EQ(status(view.path, {{"Host", "127.0.0.1.evil.example:" + view.port}}), 403u);
  EXPECT_EQ(status(view.path, {{"Origin", "http://evil.example"}}), 403u);
  EXPECT_EQ(status(view.path, {{"Host", "localhost:9000"}, {"Origin", "http://localhost:9000"}}),
            200u);  // ssh -L 9000:
  const Headers upgrade = {{"Connection", "upgrade"},
                           {"Upgrade", "websocket"},
                           {"Sec-WebSocket-Version", "13"},
                           {"Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}};
  const auto socket = [&](Headers more) {
    more.insert(upgrade.begin(), upgrade.end());
    return status(view.path + "socket", more);
  };
  EXPECT_EQ(socket({{"Origin", "http://127.0.0.1:" + view.port}}), 101u);
  EXPECT_EQ(socket({{"Origin", "http://127.0.0.1:1"}}), 403u);
  EXPECT_EQ(socket({{"Origin", "null"}}), 403u);
  EXPECT_EQ(request(view, "/" + std::string(32, 'f') + "/socket", upgrade).status, 404u);
}

// Other users of the machine may connect without the token, and say nothing.
TEST(View, AnswersWhileOthersHoldConnections) {
  const View view(kPole);
  asio::io_context context;
  std::vector<asio::ip::tcp::socket> idle;
  for (int k = 0; k < 200; ++k) {
    idle.emplace_back(context);
    idle.back().connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(std::stoi(view.port))});
  }
  EXPECT_EQ(request(view, view.path).status, 200u);
}

TEST(View, SurvivesMessagesThatItDoesNotKnow) {
  const View view(kPole);
  Page page(view);
  for (const nlohmann::json& message :
       {nlohmann::json(7), nlohmann::json({{"speed", "fast"}}), nlohmann::json({{"mesh", 99}}),
        nlohmann::json({{"mesh", 1e300}}), nlohmann::json({{"push", {1, 2}}}), nlohmann::json({{"command", {1}}}),
        nlohmann::json({{"checkpoint", "x"}})})
    page.send(message);
  page.send({{"speed", 1e9}});
  EXPECT_EQ(page.status([](const auto& s) { return s.at("speed") != 1; }).at("speed"), 4);
}

TEST(View, SaysThatThePortIsInUse) {
  View first(kPole);
  expect_error(run_program(Words{bin("drl_view"), "--port", first.port} + kPole), {"--port " + first.port, "another"});
  View second(kPole);  // finds another port itself
  EXPECT_NE(second.port, first.port);
  first.signal(SIGINT);
  EXPECT_EQ(first.wait().exit_code, 0);
}

TEST(View, RefusesATaskThatCannotBeDrawnOrPlayed) {
  expect_error(run_program({bin("drl_view"), "--task", "NoSuchTask", "--agent", "zero"}), {"NoSuchTask"});
  expect_error(run_program({bin("drl_view"), "--run", "/no/such/run"}), {"/no/such/run"});
  expect_error(run_program(Words{bin("drl_view"), "--follow"} + kCartPole), {"--follow"});
}

// The pole's capsule is at another place in each environment.
TEST(View, ShowsSeveralEnvironments) {
  const View one(kPole), three(kPole + "--envs 3"_words);
  const auto frame = [](const View& view) {
    Page page(view);
    return page.until([](const Page& p) { return p.is_frame(); }).words;
  };
  const size_t objects = frame(one).at(0);
  EXPECT_GT(objects, 0u);
  EXPECT_GT(frame(three).at(0), objects);
}

// While a page does not read, it misses frames; they are not kept for it.
TEST(View, DropsFramesForSlowPages) {
  const View view(kPole + "--envs 100"_words);
  Page slow(view, 4096), fast(view);
  fast.send({{"speed", 4}});
  fast.until([&](const Page& p) { return is_moved(p, 200); });
  const uint32_t step = fast.step();
  slow.until([&](const Page& p) { return p.is_frame() && p.step() >= step; });
  EXPECT_LT(slow.received, fast.received / 2);
}

TEST(View, LoadsOtherCheckpointsOfTheRun) {
  const Runs runs;
  expect_exit(runs.train("--run_name r --max_iterations 4 --save_interval 2"_words), 0);
  const View view(Words{"--run", runs.run("r").string()});
  Page page(view);
  EXPECT_EQ(page.status().at("checkpoint"), "iter_000004");
  page.send({{"checkpoint", "iter_000002"}});
  page.status([](const auto& s) { return s.at("checkpoint") == "iter_000002"; });
  page.send({{"follows", true}});
  page.status([](const auto& s) { return s.at("checkpoint") == "iter_000004"; });
  expect_exit(runs.train("--run_name r --resume --max_iterations 6 --save_interval 2"_words), 0);
  page.status([](const auto& s) { return s.at("checkpoint") == "iter_000006"; });
  page.until([](const Page& p) { return is_moved(p, 3); });
}

// The links in latest then belong to another run.
TEST(View, FollowsItsRunAfterAnotherOneHasStarted) {
  const Runs runs;
  expect_exit(runs.train("--run_name a --max_iterations 2 --save_interval 2"_words), 0);
  const View view(Words{"--follow", "--run", runs.run("latest").string()});
  Page page(view);
  EXPECT_EQ(page.status().at("checkpoint"), "iter_000002");
  expect_exit(runs.train("--run_name b --max_iterations 8 --save_interval 8"_words), 0);
  page.send({{"follows", true}});  // it looks at once
  page.send({{"speed", 2}});
  EXPECT_EQ(page.status([](const auto& s) { return s.at("speed") == 2; }).at("checkpoint"), "iter_000002");
  expect_exit(runs.train("--run_name a --resume --max_iterations 4 --save_interval 2"_words), 0);
  const auto status = page.status([](const auto& s) { return s.at("checkpoint") != "iter_000002"; });
  EXPECT_EQ(status.at("checkpoint"), "iter_000004");
}

#ifdef DRL_MUJOCO
// The command is seen in the observation, whether the robot is in lanes or in libmujoco.
TEST(View, CommandsAndPushesARobot) {
  for (const char* physics : {"lanes", "mujoco"}) {
    const View view(Words{"--pretrained", "Go1-Velocity-Flat", "--physics", physics});
    Page page(view);
    EXPECT_EQ(page.facts.at("command").size(), 3u);
    EXPECT_TRUE(page.facts.at("can_push"));
    const std::vector<double> command = {0.5, -0.25, 1};
    page.send({{"command", command}});
    page.status([&](const auto& s) { return s.at("observed") == nlohmann::json(command); });
    page.send({{"command", {99, 0, 0}}});  // beyond the option's range
    EXPECT_TRUE(holds(page.status([](const auto& s) { return s.at("trouble") != ""; }).at("trouble"), "env.command"));
    page.send({{"command", nlohmann::json::array()}});
    page.status([&](const auto& s) { return s.at("observed") != nlohmann::json(command); });

    page.send({{"plays", false}});
    page.status([](const auto& s) { return s.at("plays") == false; });
    page.send({{"restart", true}});
    const auto frame_after = [&](const nlohmann::json& message) {
      page.send(message);
      return page.until([](const Page& p) { return p.is_frame(); })
          .number(4);  // x of the robot, in the camera's middle
    };
    const float before = frame_after({{"push", {0, 0, 0}}});
    frame_after({{"push", {-3, 0, 0}}});
    page.send({{"step", true}});
    const uint32_t step = page.step();
    EXPECT_LT(page.until([&](const Page& p) { return is_moved(p, step); }).number(4), before - 0.03f) << physics;
  }
}

TEST(View, SendsTheMeshesOfARobot) {
  const View view("--pretrained Go1-Velocity-Flat"_words);
  Page page(view);
  page.until([](const Page& p) { return p.is_frame(); });
  int meshes = 0;
  for (size_t k = 0; k < page.words.at(0); ++k) meshes += page.kind(k) == 6;
  EXPECT_GT(meshes, 5);
  page.send({{"mesh", 0}});
  page.until([](const Page& p) { return p.is_mesh(); });
  const uint32_t points = page.words.at(2), corners = page.words.at(3);
  ASSERT_EQ(page.words.size(), 4 + 6 * points + corners);
  EXPECT_EQ(corners % 3, 0u);
  for (uint32_t k = 0; k < points; ++k) {
    float square = 0;
    for (size_t n = 3; n < 6; ++n) square += page.number(4 + 6 * k + n) * page.number(4 + 6 * k + n);
    ASSERT_NEAR(square, 1, 1e-3) << "the normal of point " << k;
  }
  for (uint32_t k = 0; k < corners; ++k) ASSERT_LT(page.words.at(4 + 6 * points + k), points);
}

TEST(ViewInBrowser, ShowsNumbersWithoutWebGl) {
  if (browser_program().empty()) GTEST_SKIP() << "neither Chromium nor Chrome is installed";
  const View view("--pretrained Go1-Velocity-Flat"_words);
  Browser browser({"--disable-3d-apis"});
  browser.call("Page.navigate", {{"url", view.address}});
  EXPECT_TRUE(browser.becomes("frame.step > 20 && recent.length > 5", true));
  EXPECT_TRUE(browser.becomes("$('reward').textContent.endsWith('in the last step')", true));
  EXPECT_TRUE(browser.becomes("$('notice').textContent.includes('WebGL')", true));
  EXPECT_EQ(browser.errors, "");
}

TEST(ViewInBrowser, CommandsARobotByKeys) {
  if (browser_program().empty()) GTEST_SKIP() << "neither Chromium nor Chrome is installed";
  View view("--pretrained Go1-Velocity-Flat --envs 2"_words);
  Browser browser;
  browser.call("Page.navigate", {{"url", view.address}});
  EXPECT_TRUE(browser.becomes("frame.step > 20 && recent.length > 5", true));
  EXPECT_TRUE(browser.becomes("drawing.meshes.size > 3 && [...drawing.meshes.values()].every(Boolean)", true));
  browser.key("keyDown", "KeyW", "w");
  EXPECT_TRUE(browser.becomes("status.observed", {1, 0, 0})) << browser.value("status");
  browser.key("keyDown", "KeyE", "e");
  EXPECT_TRUE(browser.becomes("status.observed", {1, 0, -1}));
  browser.key("keyUp", "KeyW", "w"), browser.key("keyUp", "KeyE", "e");
  EXPECT_TRUE(browser.becomes("status.observed", {0, 0, 0}));
  EXPECT_TRUE(browser.becomes("document.querySelector('#sliders output').textContent", "0.00"));

  browser.drag({500, 300}, {560, 320}, false);
  EXPECT_TRUE(browser.becomes("turn.azimuth < -5 && turn.elevation < -3", true));
  browser.value("globalThis.sendIt = send, globalThis.log = [], send = m => { log.push(m); sendIt(m); }, 0");
  browser.drag({300, 300}, {360, 300}, true);
  // A push to the right of the picture, which is horizontal.
  EXPECT_TRUE(browser.becomes("log.some(m => m.push && m.push[2] === 0 && Math.hypot(...m.push) > 0.1)", true));

  browser.key("keyDown", "Space", " ");
  EXPECT_TRUE(browser.becomes("$('play').textContent", "Play"));
  browser.value("$('contacts').click()");
  EXPECT_TRUE(browser.becomes("status.contacts", true));
  // The picture has the robot, its ghost, shadows and squares, in many shades.
  EXPECT_GT(browser.value(R"((() => {
    drawing.draw(frame.data, camera(), colors);
    const gl = drawing.gl, pixels = new Uint8Array(4 * 400 * 300);
    gl.readPixels(150, 150, 400, 300, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    return new Set(new Uint32Array(pixels.buffer)).size;
  })())"),
            100);
  browser.call("Emulation.setDeviceMetricsOverride",
               {{"width", 390}, {"height", 844}, {"deviceScaleFactor", 2}, {"mobile", true}});
  EXPECT_TRUE(browser.becomes("document.documentElement.scrollWidth <= innerWidth", true));
  EXPECT_EQ(browser.errors, "");
  view.signal(SIGTERM);
  EXPECT_EQ(view.wait().exit_code, 0);
  EXPECT_TRUE(browser.becomes("$('notice').hidden", false));  // the page says that the connection is lost
}
#endif

}  // namespace
}  // namespace drl::test
