// Rough ground for the velocity tasks, as in mjlab 1.6.0: robots see the ground around them, and patches become more
// difficult for those that walk far. What differs from mjlab is in docs/howto/terrain.md.
#pragma once

#include "drl/robots/velocity.hpp"
#include "drl/terrain.hpp"

namespace drl::velocity {

// A contact sensor of a part of the robot with the ground. `counts_as` is an index into the names of Config::touches.
struct Touch {
  const char* sensor;
  int counts_as;
};

// A robot that walks on flat ground also walks on rough ground, with the model on a height field instead of a plane:
//
//   struct H1Rough : drl::velocity::OnRoughGround<H1> {
//     static constexpr const char* name = "H1-Velocity-Rough";
//     static constexpr drl::RobotModel model{"h1_rough.xml", 4};
//   };
//   template <class R>
//   struct H1VelocityRough : drl::velocity::Rough<R, H1Rough> {};
//   DRL_ROBOT(H1VelocityRough)
//
// Here, an episode ends when the robot falls or leaves the ground, and only feet have contact sensors.
template <class Robot>
struct OnRoughGround : Robot {
  static constexpr EndCause ends[] = {{"fell_over"}, {"out_of_terrain_bounds", EndsAs::time_out}};
  static constexpr bool ends_by_touch = false, follows_ground = false;
  static constexpr int touch_kinds = 0;
  static constexpr std::array<Touch, 0> touches{};
  static constexpr double half = 0.015, far = 0.025980762113533160;  // m, of 0.03 m, at 60 degrees
  static constexpr std::array<Vec<double, 2>, 6> ring{
      {{{0.03, 0}}, {{half, far}}, {{-half, far}}, {{-0.03, 0}}, {{-half, -far}}, {{half, -far}}}};
};

// Config has the following members, besides those that velocity.hpp uses:
// - `ends`: {"fell_over"} or {"illegal_contact"}, then {"out_of_terrain_bounds", EndsAs::time_out};
// - `ends_by_touch`: whether the first kind of touches ends an episode, instead of a fall;
// - `touches`, `touch_kinds`: contact sensors, and the number of their kinds. Each kind but the first is a reward term;
// - `follows_ground`: whether the torso should be parallel to the ground, instead of upright;
// - `ring`: points (x, y) around a foot, in m, at which its height is measured.
template <class Config>
struct RoughGround {
  static constexpr bool is_rough = true;
  static constexpr int along = 17, across = 11, scan = along * across;  // heights that are observed, at 0.1 m
  static constexpr double scan_unit = 5;                                // m
  static constexpr auto& ends = Config::ends;
  static constexpr auto metrics = metric_names("terrain_level");
  static constexpr int touches = std::size(Config::touches), kinds = Config::touch_kinds;
  using Options = TerrainOptions;
  // A mirror reverses the order of the grid's rows, each of which lies along the robot.
  template <class Table>
  static constexpr Table mirror_scan(const Table& table) {
    char row[along + 1] = {};
    for (int k = 0; k < along; ++k) row[k] = '+';
    return table.add(reversed_numbers<across>(), row);
  }

  struct Parts {
    SensorId touch[touches > 0 ? touches : 1];
    template <class Find>
    constexpr void find(Find& find) {
      for (int k = 0; k < touches; ++k) find(touch[k], Config::touches[k].sensor);
    }
  };
  template <class F>
  struct State {
    F level, column;  // the patch
    F walked,
        expected;  // m from the patch's middle, and half of what the command asks for in an episode; -1: no step yet
    F touched[kinds > 0 ? kinds : 1];  // time steps of the last step with a contact of over 10 N
    F up[3];                           // the ground's normal
    template <class V>
    DRL_HD void describe(V& visit) {
      visit("terrain_level", level), visit("terrain_column", column), visit("walked", walked);
      visit("expected", expected), visit("touched", touched), visit("ground_up", up);
    }
  };

  template <class F>
  DRL_HD static F one_of(Draws<F>& draws, F low, F high) {
    return math::min(low + math::floor(draws.uniform(F(0), F(1)) * (high - low + F(1))), high);
  }
  template <class F>
  DRL_HD static F first_level(Draws<F>& draws, const TerrainOptions& o) {
    const int last = o.rows - 1;
    return one_of(draws, F(o.level_min < last ? o.level_min : last), F(o.level_max < last ? o.level_max : last));
  }
  template <class F>
  DRL_HD static void create(State<F>& s, Draws<F>& draws, const TerrainOptions& o) {
    s.level = first_level(draws, o);
    s.column = one_of(draws, F(0), F(o.columns - 1));
    s.walked = s.expected = F(-1);
    s.up[0] = s.up[1] = F(0), s.up[2] = F(1);
  }

  // Chooses the level of the next episode, as mjlab's terrain_levels_vel: up from a patch that the robot left, down if
  // it walked less than half of the way that the command asks for, and a random level after the last.
  template <class F>
  DRL_HD static void choose_level(State<F>& s, Draws<F>& draws, const TerrainOptions& o) {
    const Mask<F> has_walked = s.walked >= F(0), is_up = has_walked & (s.walked > F(0.5 * static_cast<double>(o.size)));
    const Mask<F> is_down = has_walked & !is_up & (s.walked < s.expected);
    const F level = s.level + math::select(is_up, F(1), F(0)) - math::select(is_down, F(1), F(0));
    const F any = one_of(draws, F(0), F(o.rows - 1)), first = first_level(draws, o),
            column = one_of(draws, F(0), F(o.columns - 1));
    if (o.curriculum) {
      s.level = math::select(level >= F(o.rows), any, math::max(level, F(0)));
    } else {
      s.level = first, s.column = column;
    }
  }
  // Moves a robot that was placed at the world's origin to its patch, above the highest point of the ground around it.
  // `at` is the index of its position in qpos.
  template <class R, class F>
  DRL_HD static void place(State<F>& s, R& robot, int at, Draws<F>& draws, const TerrainOptions& o) {
    choose_level(s, draws, o);
    s.walked = s.expected = F(-1);
    const F x = robot.qpos(at) + o.middle_x(s.level), y = robot.qpos(at + 1) + o.middle_y(s.column);
    F ground = robot.ground_height(x, y);
    for (int i = -2; i <= 2; ++i)
      for (int k = -2; k <= 2; ++k) ground = math::max(ground, robot.ground_height(x + F(0.15 * i), y + F(0.15 * k)));
    robot.set_qpos(at, x), robot.set_qpos(at + 1, y), robot.set_qpos(at + 2, robot.qpos(at + 2) + ground);
  }

  template <class F>
  DRL_HD static void begin_step(State<F>& s) {
    for (F& x : s.touched) x = F(0);
  }
  template <class R, class F>
  DRL_HD static void count_touches(State<F>& s, const R& robot, const Parts& parts) {
    F most[kinds > 0 ? kinds : 1];
    for (F& x : most) x = F(0);
    for (int k = 0; k < touches; ++k) {
      const SensorId touch = parts.touch[k];
      const F force[3] = {robot.sensor(touch, 1), robot.sensor(touch, 2), robot.sensor(touch, 3)};
      F& of_kind = most[kind_of(k)];
      of_kind = math::max(of_kind, squares(force, 3));
    }
    for (int k = 0; k < kinds; ++k) s.touched[k] = s.touched[k] + math::select(most[k] > F(100), F(1), F(0));
  }
  // Sets the ends and metrics that only rough ground has. `at` is the root's position.
  template <class F, class Outcome>
  DRL_HD static void end_step(State<F>& s, const Vec<F, 3>& at, const F* command, const TerrainOptions& o,
                              Outcome& result) {
    const F way[2] = {at[0] - o.middle_x(s.level), at[1] - o.middle_y(s.column)};
    s.walked = norm(way, 2);
    s.expected = norm(command, 2) * F(0.5 * 20);
    if constexpr (Config::ends_by_touch) result.ends[0] = s.touched[0] > F(0);
    constexpr double margin = 0.3;  // m
    result.ends[1] = (math::abs(at[0]) > F(o.half_x() - margin)) | (math::abs(at[1]) > F(o.half_y() - margin));
    result.metrics[metrics.size() - 1] = s.level;
  }
  template <class F>
  DRL_HD static void write_terms(const State<F>& s, F* term) {
    for (int k = 1; k < kinds; ++k) *term++ = s.touched[k];
  }
  template <class F>
  DRL_HD static Vec<F, 3> up(const State<F>& s) {
    return {{s.up[0], s.up[1], s.up[2]}};
  }

  // Returns cosine and sine of the direction of a body's x axis in the plane (of the right side, if x is steep).
  template <class F>
  DRL_HD static Vec<F, 2> direction(const Vec<F, 4>& q) {
    const F x[2] = {F(1) - F(2) * (square(q[2]) + square(q[3])), F(2) * (q[1] * q[2] + q[0] * q[3])};
    const F y[2] = {F(2) * (q[1] * q[2] - q[0] * q[3]), F(1) - F(2) * (square(q[1]) + square(q[3]))};
    const F long_x = norm(x, 2), long_y = math::max(norm(y, 2), F(1e-6));
    const Mask<F> is_steep = long_x < F(0.1);
    const F size = math::max(long_x, F(1e-6));
    return {{math::select(is_steep, y[1] / long_y, x[0] / size), math::select(is_steep, -y[0] / long_y, x[1] / size)}};
  }
  // Returns the height of a foot above the highest of the points below it and around it, in [0, 1] m.
  template <class R, class F>
  DRL_HD static F clearance(const R& robot, const Vec<F, 3>& foot, const Vec<F, 4>& orientation) {
    const Vec<F, 2> ahead = direction(orientation);
    F ground = robot.ground_height(foot[0], foot[1]);
    constexpr auto ring = Config::ring;  // a copy, because units of different instruction sets would share the original
    for (const Vec<double, 2>& at : ring)
      ground = math::max(ground, robot.ground_height(foot[0] + F(at[0]) * ahead[0] - F(at[1]) * ahead[1],
                                                     foot[1] + F(at[0]) * ahead[1] + F(at[1]) * ahead[0]));
    return math::clamp(foot[2] - ground, F(0), F(1));
  }
  // Writes read(height) for each point of a grid around the body that turns with it, in units of 5 m: the height of
  // the body above the ground there, at most 5 m.
  template <class R, class Read, class Out>
  DRL_HD static Out scan_heights(const R& robot, BodyId body, const Read& read, Out obs) {
    using F = typename R::F;
    const Vec<F, 3> at = robot.position(body);
    const Vec<F, 2> ahead = direction(robot.orientation(body));
    for (int k = 0; k < scan; ++k) *obs++ = read(height_over(robot, at, ahead, k)) * F(1 / scan_unit);
    return obs;
  }
  // Updates the ground's normal.
  template <class R, class F>
  DRL_HD static void update(State<F>& s, const R& robot, BodyId body) {
    if constexpr (!Config::follows_ground) return;
    constexpr int points = 32, stride = scan / (points - 1);  // every sixth of the grid's points
    const Vec<F, 3> at = robot.position(body);
    const Vec<F, 2> ahead = direction(robot.orientation(body));
    F point[points][3], is_seen[points], count = F(0), middle[3] = {F(0), F(0), F(0)};
    for (int n = 0; n < points; ++n) {
      const int k = n * stride;
      const F height = height_over(robot, at, ahead, k);
      const Vec<double, 2> of_grid = grid_point(k);
      is_seen[n] = math::select(height < F(scan_unit), F(1), F(0));
      point[n][0] = F(of_grid[0]), point[n][1] = F(of_grid[1]), point[n][2] = -height;
      count = count + is_seen[n];
      for (int i = 0; i < 3; ++i) middle[i] = middle[i] + is_seen[n] * point[n][i];
    }
    const F share = F(1) / math::max(count, F(1));
    F spread[3][3] = {};
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) spread[i][j] = F(0);
    for (int n = 0; n < points; ++n)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j <= i; ++j)
          spread[i][j] =
              spread[i][j] + is_seen[n] * (point[n][i] - share * middle[i]) * (point[n][j] - share * middle[j]);
    const Vec<F, 3> normal = thinnest(spread, count >= F(3));
    s.up[0] = ahead[0] * normal[0] - ahead[1] * normal[1];
    s.up[1] = ahead[1] * normal[0] + ahead[0] * normal[1];
    s.up[2] = normal[2];
  }
  // Returns the direction in which points spread least, upwards, from the lower triangle of their covariance: the
  // normal of the plane through them. Returns (0, 0, 1) unless they lie near a plane and spread over it.
  template <class F>
  DRL_HD static Vec<F, 3> thinnest(F (&a)[3][3], Mask<F> is_enough) {
    F axes[3][3] = {{F(1), F(0), F(0)}, {F(0), F(1), F(0)}, {F(0), F(0), F(1)}};  // columns become eigenvectors
    for (int sweep = 0; sweep < 5; ++sweep)                                       // Jacobi's method
      for (int p = 0; p < 2; ++p)
        for (int q = p + 1; q < 3; ++q) rotate(a, axes, p, q);
    Vec<F, 3> normal{{axes[0][0], axes[1][0], axes[2][0]}};
    F least = a[0][0], most = a[0][0], sum = a[0][0] + a[1][1] + a[2][2];
    for (int k = 1; k < 3; ++k) {
      const Mask<F> is_less = a[k][k] < least;
      for (int i = 0; i < 3; ++i) normal[i] = math::select(is_less, axes[i][k], normal[i]);
      least = math::min(least, a[k][k]), most = math::max(most, a[k][k]);
    }
    const F second = sum - least - most;
    const Mask<F> is_plane = is_enough & (least < F(0.1) * second) & (second > F(1e-7 * 1e-6) * most);
    const F sign = math::select(normal[2] < F(0), F(-1), F(1));
    return {{math::select(is_plane, sign * normal[0], F(0)), math::select(is_plane, sign * normal[1], F(0)),
             math::select(is_plane, sign * normal[2], F(1))}};
  }

 private:
  DRL_HD static int kind_of(int touch) {
    constexpr auto all = [] {
      std::array<int, (touches > 0 ? touches : 1)> kinds_of{};
      for (int k = 0; k < touches; ++k) kinds_of[k] = Config::touches[k].counts_as;
      return kinds_of;
    }();
    return all[touch];
  }
  DRL_HD static Vec<double, 2> grid_point(int k) { return {{0.1 * (k % along) - 0.8, 0.1 * (k / along) - 0.5}}; }
  template <class R, class F>
  DRL_HD static F height_over(const R& robot, const Vec<F, 3>& at, const Vec<F, 2>& ahead, int k) {
    const Vec<double, 2> point = grid_point(k);
    const F x = at[0] + F(point[0]) * ahead[0] - F(point[1]) * ahead[1];
    const F y = at[1] + F(point[0]) * ahead[1] + F(point[1]) * ahead[0];
    return math::min(at[2] - robot.ground_height(x, y), F(scan_unit));
  }
  // Makes a[q][p] zero by a rotation (Golub and Van Loan, Matrix Computations, 8.5.2).
  template <class F>
  DRL_HD static void rotate(F (&a)[3][3], F (&axes)[3][3], int p, int q) {
    const F off = a[q][p], is_off = math::select(math::abs(off) > F(0), F(1), F(0));
    const F ratio = (a[q][q] - a[p][p]) / math::select(math::abs(off) > F(0), F(2) * off, F(1));
    const F root = math::sqrt(F(1) + square(math::min(math::abs(ratio), F(1e8))));
    const F t = is_off * math::select(ratio < F(0), F(-1), F(1)) / (math::abs(ratio) + root);
    const F c = F(1) / math::sqrt(F(1) + square(t)), s = t * c;
    a[p][p] = a[p][p] - t * off, a[q][q] = a[q][q] + t * off, a[q][p] = F(0);
    const int r = 3 - p - q;
    F& rp = r > p ? a[r][p] : a[p][r];
    F& rq = r > q ? a[r][q] : a[q][r];
    const F before_p = rp, before_q = rq;
    rp = c * before_p - s * before_q, rq = s * before_p + c * before_q;
    for (int i = 0; i < 3; ++i) {
      const F x = axes[i][p], y = axes[i][q];
      axes[i][p] = c * x - s * y, axes[i][q] = s * x + c * y;
    }
  }
};

template <class R, class Config>
using Rough = Task<R, Config, RoughGround<Config>>;

}  // namespace drl::velocity
