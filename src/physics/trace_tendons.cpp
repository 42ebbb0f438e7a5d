#include <algorithm>
#include <numbers>

#include "drl/physics/mujoco_version.hpp"
#include "physics/trace.hpp"

namespace drl::robot_compiler {

namespace {

struct Vec2 {
  Expr x, y;
};
Vec2 operator+(const Vec2& a, const Vec2& b) { return {a.x + b.x, a.y + b.y}; }
Vec2 operator-(const Vec2& a, const Vec2& b) { return {a.x - b.x, a.y - b.y}; }
Vec2 operator*(const Expr& s, const Vec2& a) { return {s * a.x, s * a.y}; }
Expr dot(const Vec2& a, const Vec2& b) { return a.x * b.x + a.y * b.y; }
Expr cross(const Vec2& a, const Vec2& b) { return a.x * b.y - a.y * b.x; }
Vec2 select_less(const Expr& a, const Expr& b, const Vec2& yes, const Vec2& no) {
  return {select_less(a, b, yes.x, no.x), select_less(a, b, yes.y, no.y)};
}
Vec3 select_less(const Expr& a, const Expr& b, const Vec3& yes, const Vec3& no) {
  Vec3 chosen;
  for (int k = 0; k < 3; ++k) chosen[k] = select_less(a, b, yes[k], no[k]);
  return chosen;
}
Expr length_of(const Vec3& a) { return sqrt(dot(a, a)); }

constexpr double kLeastLength = 1e-15;  // MuJoCo's bound of divisors
// Returns a vector divided by its length, or x if its length is 0, as libmujoco does.
Vec3 normalised(const Vec3& a, const Expr& length) {
  const Expr inverse = Expr(1) / max(length, kLeastLength);
  return select_less(length, kLeastLength, unit_vector(0), inverse * a);
}
// Returns 1 if 0 <= x <= 1, else 0.
Expr is_in_unit(const Expr& x) { return select_less(x, 0, 0, select_less(1, x, 0, 1)); }
// Returns 1 if the lines from a to b and from c to d intersect, else 0.
Expr intersect(const Vec2& a, const Vec2& b, const Vec2& c, const Vec2& d) {
  const Vec2 first = b - a, second = d - c, between = a - c;
  const Expr area = cross(first, second), inverse = Expr(1) / area;
  const Expr both = is_in_unit(cross(second, between) * inverse) * is_in_unit(cross(first, between) * inverse);
  return select_less(max(area, -area), kLeastLength, 0, both);
}
// Returns the angle between two vectors, from 0 to pi.
Expr angle_between(const Vec2& a, const Vec2& b) {
  const Expr across = cross(a, b);
  return arc_tangent(max(across, -across), dot(a, b));
}

// The way around a circle at the origin, between two points.
struct AroundCircle {
  Expr wraps;          // 1, or 0 if the way is a straight line
  Vec2 first, second;  // where the way meets and leaves the circle
  Expr length;         // on the circle
};
// `side` has the length `radius`; the way is on its side, also if it has to move away from a straight line.
AroundCircle around_circle(const Vec2& from, const Vec2& to, const Vec2* side, double radius) {
  AroundCircle way;
  const Expr square = radius * radius, from_square = dot(from, from), to_square = dot(to, to);
  const Vec2 line = to - from;
  const Expr line_square = dot(line, line);
  const Expr share = clamp(-dot(line, from) / max(line_square, kLeastLength), 0, 1);
  const Vec2 nearest = share * line + from;
  const Expr is_free = side ? select_less(dot(*side, nearest), 0, 0, 1) : Expr(1);
  way.wraps = select_less(square, dot(nearest, nearest), Expr(1) - is_free, 1);
  way.wraps = select_less(line_square, kLeastLength, 0, way.wraps);
  way.wraps = select_less(from_square, square, 0, select_less(to_square, square, 0, way.wraps));

  // If the straight line goes through the circle, the ways beside it do not cross, and the one on the nearer side turns
  // by less than pi. Rounding must not decide otherwise where the line nearly touches the circle. Way 0 has the circle
  // on its right, and is the nearer one if the line has, too.
  const Expr goes_through = select_less(dot(nearest, nearest), square, 1, 0);
  const Expr first_root = sqrt(max(from_square - square, 0)), second_root = sqrt(max(to_square - square, 0));
  Vec2 firsts[2], seconds[2];
  Expr quality[2], crosses[2];
  for (int k = 0; k < 2; ++k) {
    const Expr turn = (k == 0 ? 1 : -1) * radius;
    firsts[k] = (Expr(1) / from_square) * (square * from + (turn * first_root) * Vec2{from.y, -from.x});
    seconds[k] = (Expr(1) / to_square) * (square * to + (turn * second_root) * Vec2{-to.y, to.x});
    if (side) {
      const Vec2 middle = firsts[k] + seconds[k];
      quality[k] = dot(middle, *side) / max(sqrt(dot(middle, middle)), kLeastLength);
    } else {
      const Vec2 apart = firsts[k] - seconds[k];
      quality[k] = -dot(apart, apart);
    }
    crosses[k] = select_less(0, goes_through, 0, intersect(from, firsts[k], to, seconds[k]));
    quality[k] = select_less(0, crosses[k], -10000, quality[k]);
  }
  way.first = select_less(quality[1], quality[0], firsts[0], firsts[1]);
  way.second = select_less(quality[1], quality[0], seconds[0], seconds[1]);
  way.wraps = select_less(0, select_less(quality[1], quality[0], crosses[0], crosses[1]), 0, way.wraps);
  const Expr turned = cross(way.second, way.first), angle = angle_between(way.first, way.second);
  const Expr is_long = select_less(quality[1], quality[0], -turned, turned);
  const Expr turn = select_less(0, is_long, Expr(2 * std::numbers::pi) - angle, angle);
  const Expr turns_left = cross(from, to);
  const Expr is_nearer =
      select_less(quality[1], quality[0], select_less(0, turns_left, 0, 1), select_less(0, turns_left, 1, 0));
  way.length = Expr(radius) * select_less(0, goes_through * is_nearer, angle, turn);
  return way;
}

// Returns the angle by which `a` turns into `b`, from -pi to pi.
Expr turn_between(const Vec2& a, const Vec2& b) {
  const Expr angle = angle_between(a, b);
  return select_less(cross(a, b), 0, -angle, angle);
}

// The shortest way between two points that turns about the origin as the two lines over `side` do.
AroundCircle around_circle_over(const Vec2& from, const Vec2& to, const Vec2& side, double radius) {
  const Expr square = radius * radius, from_square = dot(from, from), to_square = dot(to, to);
  const Expr first_root = sqrt(max(from_square - square, 0)), second_root = sqrt(max(to_square - square, 0));
  const Expr turn = turn_between(from, side) + turn_between(side, to), sense = select_less(turn, 0, -1, 1);
  const Expr on_circle = sense * turn - arc_tangent(first_root, radius) - arc_tangent(second_root, radius);
  const Vec2 line = to - from;
  AroundCircle way;
  way.wraps = select_less(0, on_circle, 1, 0);
  way.wraps = select_less(dot(line, line), kLeastLength, 0, way.wraps);
  way.wraps = select_less(from_square, square, 0, select_less(to_square, square, 0, way.wraps));
  const Expr arm = Expr(radius) * sense;
  way.first = (Expr(1) / from_square) * (square * from + (arm * first_root) * Vec2{-from.y, from.x});
  way.second = (Expr(1) / to_square) * (square * to + (arm * second_root) * Vec2{to.y, -to.x});
  way.length = Expr(radius) * on_circle;
  return way;
}

// Returns asin(x) for 0 <= x < 1, with cosine = sqrt(1 - x^2).
Expr arc_sine(const Expr& x, const Expr& cosine) { return angle_between({1, 0}, {cosine, x}); }

// The way that touches a circle from inside, between two points that are outside of it. If Newton's method fails, the
// way touches the circle at the mean angle.
AroundCircle inside_circle(const Vec2& from, const Vec2& to, double radius) {
  constexpr double kMostError = 1e-4, kStart = 1 - 1e-7;
  AroundCircle way;
  const Expr from_square = dot(from, from), to_square = dot(to, to), square = radius * radius;
  const Expr from_length = sqrt(from_square), to_length = sqrt(to_square);
  const Vec2 line = to - from;
  const Expr line_square = dot(line, line), share = -dot(line, from) / max(line_square, kLeastLength);
  const Vec2 nearest = share * line + from;
  const Expr is_between =
      select_less(0, share, select_less(share, 1, select_less(kLeastLength, line_square, 1, 0), 0), 0);
  const Expr is_straight = is_between * select_less(square, dot(nearest, nearest), 0, 1);
  // The sine of an angle z at the centre solves asin(a z) + asin(b z) - 2 asin(z) + angle = 0.
  const Expr a = Expr(radius) / from_length, b = Expr(radius) / to_length;
  const Expr cosine = (from_square + to_square - line_square) / (Expr(2) * from_length * to_length);
  const Expr angle = angle_between(from, to);
  const auto root = [](const Expr& x) { return sqrt(max(Expr(1) - x * x, 0)); };
  const auto error_at = [&](const Expr& z) {
    return arc_sine(a * z, root(a * z)) + arc_sine(b * z, root(b * z)) - Expr(2) * arc_sine(z, root(z)) + angle;
  };
  const Expr touch = touching(a, b, angle), z = mujoco::kInsideWrapsAreExact ? sin(touch) : touch;
  Expr fails = select_less(1 - kLeastLength, cosine, 1, 0);
  if (!mujoco::kInsideWrapsAreExact) {
    const Expr error = error_at(z);
    fails = select_less(1 - kLeastLength, cosine, 1, select_less(0, error_at(kStart), 1, 0));
    fails = select_less(kMostError, max(error, -error), 1, fails);
  }
  const Expr is_left = cross(from, to);
  const Vec2 start = select_less(0, is_left, Expr(1) / from_length * from, Expr(1) / to_length * to);
  const Expr ratio = select_less(0, is_left, a, b);
  // The cosine and the sine of asin(z) - asin(ratio z).
  const Expr large = mujoco::kInsideWrapsAreExact ? cos(touch) : root(z), small = root(ratio * z);
  const Expr turn_cosine = large * small + z * (ratio * z), turn_sine = z * small - large * (ratio * z);
  const Vec2 turned{turn_cosine * start.x - turn_sine * start.y, turn_sine * start.x + turn_cosine * start.y};
  const Vec2 middle = from + to;
  const Vec2 mean = (Expr(1) / max(sqrt(dot(middle, middle)), kLeastLength)) * middle;
  way.first = way.second = Expr(radius) * select_less(fails, 0.5, turned, mean);
  way.wraps = select_less(is_straight, 0.5, 1, 0);
  way.wraps = select_less(cosine, -1 + kLeastLength, 0, way.wraps);
  way.wraps = select_less(radius, from_length, select_less(radius, to_length, way.wraps, 0), 0);
  way.length = 0;
  return way;
}
// A site on whose side a tendon is: its place relative to the geom's centre; whether it is inside the geom.
struct Side {
  Vec3 at;
  Expr is_inside;  // 1 or 0
};
AroundCircle choose_way(const Vec2& from, const Vec2& to, const Side* side, Vec2 on_plane, double radius) {
  if (!side) return around_circle(from, to, nullptr, radius);
  on_plane = (Expr(radius) / max(sqrt(dot(on_plane, on_plane)), kLeastLength)) * on_plane;
  const auto outside_of = [&] {
    return mujoco::kSideSiteIsOnThePath ? around_circle_over(from, to, on_plane, radius)
                                        : around_circle(from, to, &on_plane, radius);
  };
  if (side->is_inside.is(0)) return outside_of();
  const AroundCircle inside = inside_circle(from, to, radius);
  if (side->is_inside.is(1)) return inside;
  const AroundCircle outside = outside_of();
  const auto choose = [&](const auto& a, const auto& b) { return select_less(0, side->is_inside, a, b); };
  return {choose(inside.wraps, outside.wraps), choose(inside.first, outside.first),
          choose(inside.second, outside.second), choose(inside.length, outside.length)};
}

// The way around a geom, relative to its centre.
struct AroundGeom {
  Expr wraps;
  Vec3 first, second;
  Expr length;
};
AroundGeom around_sphere(const Vec3& from, const Vec3& to, const Side* side, double radius) {
  const Expr distance = length_of(from);
  const Vec3 x = normalised(from, distance);
  // If the centre is on the line, libmujoco chooses a plane by the largest component of x.
  const auto size = [&](int k) { return max(x[k], -x[k]); };
  const Expr is_y = select_less(size(0), size(1), select_less(size(2), size(1), 1, 0), 0);
  const Expr is_z = select_less(size(0), size(2), select_less(size(1), size(2), 1, 0), 0);
  const Vec3 normal = cross(from, to), other = cross(x, Vec3{is_y + is_z, Expr(1) - is_y, Expr(1) - is_z});
  const Vec3 chosen = select_less(length_of(normal), kLeastLength, other, normal);
  const Vec3 y = cross(normalised(chosen, length_of(chosen)), x);
  const Vec2 on_plane = side ? Vec2{dot(side->at, x), dot(side->at, y)} : Vec2{};
  const AroundCircle way = choose_way({distance, 0}, {dot(to, x), dot(to, y)}, side, on_plane, radius);
  return {way.wraps, way.first.x * x + way.first.y * y, way.second.x * x + way.second.y * y, way.length};
}
// `turn` has the cylinder's axes.
AroundGeom around_cylinder(const Vec3& from, const Vec3& to, const Side* side, double radius, const Mat3& turn) {
  const Mat3 back = transposed(turn);
  const Vec3 a = back * from, b = back * to;
  const Vec3 at = side ? back * side->at : Vec3{};
  const AroundCircle way = choose_way({a[0], a[1]}, {b[0], b[1]}, side, {at[0], at[1]}, radius);
  const Vec2 before = way.first - Vec2{a[0], a[1]}, after = Vec2{b[0], b[1]} - way.second;
  const Expr first = sqrt(dot(before, before)), last = sqrt(dot(after, after));
  const Expr slope = (b[2] - a[2]) / (first + way.length + last), rise = slope * way.length;
  const Expr low = a[2] + slope * first;
  return {way.wraps, turn * Vec3{way.first.x, way.first.y, low}, turn * Vec3{way.second.x, way.second.y, low + rise},
          sqrt(way.length * way.length + rise * rise)};
}

class PathTracer {
 public:
  PathTracer(const RobotModel& model, const Kinematics& kinematics) : model_(model), k_(kinematics) {
    path.along.resize(model.dofs.size());
  }

  void add(const Tendon::Part& part) {
    const Point from = point(model_.sites[part.from]), to = point(model_.sites[part.to]);
    if (part.geom < 0)
      add_line(part, from, to);
    else
      add_around(part, from, to);
  }
  // Returns the second derivative of the part's length if qacc is 0.
  Expr bend(const Tendon::Part& part) const {
    const Point from = point(model_.sites[part.from]), to = point(model_.sites[part.to]);
    if (from.body == to.body) return 0;
    const Vec3 line = apart(from, to), velocity = velocity_of(to) - velocity_of(from);
    const Expr length = length_of(line);
    const Vec3 direction = normalised(line, length);
    const Expr speed = dot(direction, velocity);
    const Expr across = (dot(velocity, velocity) - speed * speed) / max(length, kLeastLength);
    return Expr(part.share) * (dot(direction, acceleration_of(to) - acceleration_of(from)) + across);
  }
  TendonPath path;

 private:
  using Point = BodyPoint;
  // The force on a body at a point, if the tendon pulls with 1 N.
  struct Pull {
    int body, frame;
    Spatial wrench;
  };
  static Spatial wrench(const Vec3& arm, const Vec3& force) { return {cross(arm, force), force}; }

  Point point(const Placement& place) const { return point_of(place, k_); }
  int frame_of(int site) const { return model_.sites[site].frame; }
  Vec3 apart(const Point& from, const Point& to) const { return robot_compiler::apart(model_, k_, from, to); }
  Vec3 velocity_of(const Point& point) const { return robot_compiler::velocity_of(k_, point); }
  Vec3 acceleration_of(const Point& point) const { return robot_compiler::acceleration_of(k_, point); }

  void add_line(const Tendon::Part& part, const Point& from, const Point& to) {
    const Vec3 line = apart(from, to);
    const Expr length = length_of(line);
    path.length += Expr(part.share) * length;
    const Vec3 direction = normalised(line, length);
    add_pulls({{from.body, frame_of(part.from), wrench(from.arm, Expr(-1) * direction)},
               {to.body, frame_of(part.to), wrench(to.arm, direction)}},
              part.share);
  }
  void add_around(const Tendon::Part& part, const Point& from, const Point& to) {
    const Placement& geom = model_.geoms[part.geom];
    const Point center = point(geom);
    const Mat3 turn = geom.body < 0 ? known(geom.turn) : k_.turn[geom.body] * known(geom.turn);
    const Vec3 start = apart(center, from), end = apart(center, to), straight = end - start;
    Side side;
    if (part.side >= 0) side = side_of(part, geom, center);
    const Side* on_side = part.side >= 0 ? &side : nullptr;
    const AroundGeom way = part.is_around_sphere ? around_sphere(start, end, on_side, part.radius)
                                                 : around_cylinder(start, end, on_side, part.radius, turn);
    const Vec3 before = way.first - start, after = end - way.second;
    const Expr length = length_of(straight), first = length_of(before), last = length_of(after);
    path.length += Expr(part.share) * select_less(0, way.wraps, first + way.length + last, length);
    const auto choose = [&](const Vec3& wrapped, const Vec3& otherwise) {
      return select_less(0, way.wraps, wrapped, otherwise);
    };
    const Vec3 direction = normalised(straight, length), none;
    const Vec3 onto = normalised(before, first), off = normalised(after, last);
    const Vec3 at_geom = choose(cross(center.arm + way.first, onto) - cross(center.arm + way.second, off), none);
    add_pulls({{from.body, frame_of(part.from), wrench(from.arm, Expr(-1) * choose(onto, direction))},
               {center.body, geom.frame, {at_geom, choose(onto - off, none)}},
               {to.body, frame_of(part.to), wrench(to.arm, choose(off, direction))}},
              part.share);
  }
  Side side_of(const Tendon::Part& part, const Placement& geom, const Point& center) const {
    const Placement& site = model_.sites[part.side];
    const Expr square = part.radius * part.radius;
    const Vec3 in_body = known(site.pos) - known(geom.pos), at = apart(center, point(site));
    const Vec3& away = site.body == geom.body ? in_body : at;  // a known distance if they are on one body
    return {at, select_less(robot_compiler::dot(away, away), square, 1, 0)};
  }
  // Degrees of freedom that move all of the bodies do not change the length.
  void add_pulls(const std::vector<Pull>& pulls, double share) {
    if (mujoco::kLoadsHaveWeldsAndTendons)
      for (const Pull& pull : pulls) path.wrenches.emplace_back(pull.frame, Expr(share) * pull.wrench);
    for (size_t i = 0; i < model_.dofs.size(); ++i) {
      const auto is_moved = [&](const Pull& pull) { return moves(model_, i, pull.body); };
      if (std::ranges::all_of(pulls, is_moved)) continue;
      for (const Pull& pull : pulls)
        if (is_moved(pull)) path.along[i] += Expr(share) * robot_compiler::dot(k_.axis[i], pull.wrench);
    }
  }

  const RobotModel& model_;
  const Kinematics& k_;
};

}  // namespace

TendonPath trace_tendon(const RobotModel& model, int tendon, const Kinematics& kinematics, Program& p) {
  const Tendon& of = model.tendons[tendon];
  const std::string name = identifier(of.name) + "_tendon";
  PathTracer tracer(model, kinematics);
  for (const Tendon::Part& part : of.path) tracer.add(part);
  TendonPath& path = tracer.path;
  for (const Tendon::Term& term : of.terms) {
    const Joint& joint = model.joints[term.joint];
    path.length += Expr(term.factor) * p.input(at("qpos", joint.qpos), "");
    path.along[joint.dof] += Expr(term.factor);
  }
  if (of.ball >= 0) {
    const Joint& joint = model.joints[of.ball];
    const Vec3 turn = rotation_vector(trace_quaternion(joint, p));
    path.length = length_of(turn);
    const Vec3 axis = normalised(turn, path.length);
    for (int k = 0; k < 3; ++k) path.along[joint.dof + k] = axis[k];
  }
  for (size_t i = 0; i < path.along.size(); ++i) path.velocity += path.along[i] * kinematics.qvel[i];
  p.named(path.length, name + "_length"), p.named(path.velocity, name + "_velocity");
  return path;
}
Expr trace_bend(const RobotModel& model, int tendon, const Kinematics& kinematics) {
  const PathTracer tracer(model, kinematics);
  Expr sum = 0;
  for (const Tendon::Part& part : model.tendons[tendon].path) sum += tracer.bend(part);
  return sum;
}

void add_outer_product(const RobotModel& model, const std::vector<Expr>& along, const Expr& strength, Entries entries,
                       TreeMatrix& m) {
  for (size_t i = 0; i < along.size(); ++i) {
    if (along[i].is(0)) continue;
    const Expr scaled = strength * along[i];
    m.diagonal[i] += scaled * along[i];
    const Dof& dof = model.dofs[i];
    for (size_t a = 0; a < dof.ancestors.size(); ++a) {
      const auto ancestor = static_cast<size_t>(dof.ancestors[a]);
      const bool is_full = entries == Entries::of_damping && model.turns_implicitly(dof.body);
      const bool is_there =
          entries == Entries::all || ((!dof.is_simple || is_full) && moves(model, ancestor, dof.body));
      if (is_there) m.ancestors[i][a] += scaled * along[ancestor];
    }
  }
}

const std::vector<Expr>& along_of(const RobotModel& model, const Kept& kept, int tendon) {
  const std::vector<int> tendons = tendons_with_rows(model);
  return kept.tendon_along[std::ranges::find(tendons, tendon) - tendons.begin()];
}

void trace_tendon_rows(const RobotModel& model, const Kept& kept, Program& p) {
  if (kept.tendon_along.empty()) return;
  p.begin("Computes the part of the accelerations of tendons with limits or dry friction that comes from qacc.",
          "tendons(const Work& w, const F* qacc, F* acceleration)");
  for (size_t t = 0; t < kept.tendon_along.size(); ++t) {
    Expr sum = 0;
    const std::vector<Expr> qacc = read_along_qvel(model, "qacc", p);
    for (size_t i = 0; i < qacc.size(); ++i) sum += kept.tendon_along[t][i] * qacc[i];
    p.set(at("acceleration", t), sum);
  }
}

}  // namespace drl::robot_compiler
