// Tests rough ground: its heights, by hand, and the height below a point, against libmujoco's rays.
#include <gtest/gtest.h>

#include <boost/crc.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "drl/physics/mujoco.hpp"

namespace drl {
namespace {

TerrainOptions ground(const char* name, int rows = 1, int columns = 1) {
  TerrainOptions options;
  options.terrain =
      static_cast<int32_t>(std::find(kTerrainNames, kTerrainNames + kTerrains, std::string(name)) - kTerrainNames);
  EXPECT_LT(options.terrain, kTerrains) << name;
  options.rows = rows, options.columns = columns, options.level_max = 0;
  return options;
}
// Returns the height at a point of a patch, `x` and `y` in m from the patch's corner, above the flat ground outside.
double height(const TerrainOptions& options, double x, double y, int row = 0, int column = 0) {
  const TerrainHeights field(options);
  const double cell = options.resolution, size = options.size, border = options.border;
  const auto at = [&](double ahead, double left) {
    const auto i = static_cast<size_t>(std::lround(ahead / cell)), k = static_cast<size_t>(std::lround(left / cell));
    return static_cast<double>(field.heights[k * static_cast<size_t>(field.columns) + i]) * field.size[2];
  };
  return at(border + row * size + x, border + column * size + y) - at(0, 0);
}
constexpr double kRounding = 1e-6;  // heights are float

// mjlab's stairs (BoxPyramidStairsTerrainCfg): a border of 1 m, steps of 0.3 m and a platform of 3 m leave room for
// five steps on a patch of 8 m; the platform is one step above the last of them.
TEST(Terrain, HasStairs) {
  TerrainOptions options = ground("stairs", 1, 2);
  ASSERT_EQ(options.kind(0), TerrainKind::stairs_up);
  ASSERT_EQ(options.kind(1), TerrainKind::stairs_down);
  for (const auto& [way, steps] : {std::pair(0.5, 0),
                                   {0.9, 0},
                                   {1.0, 1},
                                   {1.2, 1},
                                   {1.3, 2},
                                   {2.2, 5},
                                   {2.4, 5},
                                   {2.5, 6},
                                   {4.0, 6},
                                   {5.5, 6},
                                   {7.1, 0}}) {
    EXPECT_NEAR(height(options, way, 4, 0, 1), 0.1 * steps, kRounding) << way;
    EXPECT_NEAR(height(options, 4, way, 0, 1), 0.1 * steps, kRounding) << way;
    EXPECT_NEAR(height(options, way, 4, 0, 0), -0.1 * steps, kRounding) << way;
  }
  options.rows = 3;  // difficulties 0, 0.5 and 1
  EXPECT_NEAR(height(options, 4, 4, 0, 1), 0, kRounding);
  EXPECT_NEAR(height(options, 4, 4, 1, 1), 0.3, kRounding);
  EXPECT_NEAR(height(options, 4, 4, 2, 1), 0.6, kRounding);
}
// Along the middle, a slope rises from the rim of 0.25 m with its gradient, until the height of the platform's corner:
// gradient * 3.75 m * (1 - 1 / 3.75)^2.
TEST(Terrain, HasSlopes) {
  TerrainOptions options = ground("slopes", 1, 2);
  options.slope = 0.5;
  EXPECT_NEAR(height(options, 1.3, 4, 0, 1), 0.5 * 1.05, kRounding);
  EXPECT_NEAR(height(options, 4, 4, 0, 1), 0.5 * 3.75 * (11 / 15.0) * (11 / 15.0), kRounding);
  EXPECT_NEAR(height(options, 5, 5, 0, 1), 0.5 * 3.75 * (11 / 15.0) * (11 / 15.0), kRounding);
  EXPECT_NEAR(height(options, 1.3, 4, 0, 0), -0.5 * 1.05, kRounding);
  EXPECT_NEAR(height(options, 0.2, 0.2, 0, 1), 0, kRounding);
}
// Four waves of an amplitude of 0.1 m along each axis on 7.5 m: both are highest 1/4 and 0 of a wave behind the rim.
TEST(Terrain, HasWaves) {
  TerrainOptions options = ground("waves");
  options.resolution = 0.05f;
  EXPECT_NEAR(height(options, 0.25, 0.25), 0.1, kRounding);  // sin 0 + cos 0
  const double turn = 2 * M_PI * 4 / 7.5;
  EXPECT_NEAR(height(options, 1.25, 2.25), 0.1 * (std::sin(turn) + std::cos(2 * turn)), kRounding);
  EXPECT_NEAR(height(options, 0.2, 4), 0, kRounding);
}
TEST(Terrain, HasGapsAndStones) {
  const TerrainOptions gaps = ground("gaps");  // 0.7 m wide, behind 0.8 m of land
  for (const auto& [way, is_gap] :
       {std::pair(4.0, false), {5.0, false}, {5.7, false}, {5.8, true}, {6.4, true}, {6.5, false}, {7.2, false}})
    EXPECT_NEAR(height(gaps, way, 4), is_gap ? -1 : 0, kRounding) << way;
  const TerrainOptions stones = ground("stepping_stones");  // 0.4 m long, 0.4 m apart; one is in the middle
  for (const auto& [way, is_stone] :
       {std::pair(5.2, false), {5.4, true}, {5.6, true}, {5.8, true}, {6.0, false}, {6.1, false}, {6.2, true}})
    EXPECT_NEAR(height(stones, way, 4), is_stone ? 0 : -1, is_stone ? 0.05 : kRounding) << way;
}
// Random heights are multiples of 0.02 m up to 0.1 m, each as often as the others; boxes of 0.4 m are level.
TEST(Terrain, HasRandomHeights) {
  const TerrainOptions rough = ground("random_rough");
  int seen[6] = {};
  for (double x = 0.3; x < 7.7; x += 0.1)
    for (double y = 0.3; y < 7.7; y += 0.4) {
      const double steps = height(rough, x, y) / 0.02;
      ASSERT_NEAR(steps, std::round(steps), 1e-4);
      ASSERT_TRUE(steps > 0.5 && steps < 5.5);
      seen[std::lround(steps)] += 1;
    }
  const int all = std::accumulate(seen, seen + 6, 0);
  for (int k = 1; k <= 5; ++k) EXPECT_NEAR(seen[k], all / 5.0, 4 * std::sqrt(all * 0.16)) << k;
  const TerrainOptions boxes = ground("boxes");
  for (double x = 0; x < 0.35; x += 0.1) EXPECT_EQ(height(boxes, 6.0 + x, 6.0), height(boxes, 6.0, 6.3));
  EXPECT_NE(height(boxes, 6.4, 6.0), height(boxes, 6.0, 6.0));
  EXPECT_NEAR(height(boxes, 4.5, 4.5), 0, kRounding);
}
TEST(Terrain, IsAFunctionOfItsOptions) {
  TerrainOptions options = ground("all", 2, 10);
  const TerrainHeights one(options), same(options);
  EXPECT_EQ(one.heights, same.heights);
  EXPECT_EQ(*std::min_element(one.heights.begin(), one.heights.end()), 0);
  EXPECT_EQ(*std::max_element(one.heights.begin(), one.heights.end()), 1);
  // Without a border of 5 m, 16 m are 160 cells; y has the columns.
  EXPECT_EQ(one.columns, 261);
  EXPECT_EQ(one.rows, 901);
  EXPECT_NEAR(one.size[0], 13, 1e-6);
  EXPECT_NEAR(one.size[1], 45, 1e-5);
  options.seed = 1;
  EXPECT_NE(TerrainHeights(options).heights, one.heights);
  options = ground("flat");
  for (const float height : TerrainHeights(options).heights) ASSERT_EQ(height, 0);
}
TEST(Terrain, SharesItsColumnsAmongItsKinds) {
  TerrainOptions options;
  int columns[kTerrainKinds] = {};
  for (int k = 0; k < options.columns; ++k) columns[static_cast<int>(options.kind(k))] += 1;
  EXPECT_EQ(std::vector<int>(columns, columns + kTerrainKinds), (std::vector<int>{2, 1, 1, 1, 2, 2, 0, 0, 0, 1}));
  for (int t = 0; t < kTerrains; ++t) {
    EXPECT_NEAR(std::accumulate(kTerrainShares[t], kTerrainShares[t] + kTerrainKinds, 0.0), 1, 1e-12);
    options.terrain = t;
    for (options.columns = 1; options.columns < 30; ++options.columns)
      for (int k = 0; k < options.columns; ++k)
        EXPECT_GT(kTerrainShares[t][static_cast<int>(options.kind(k))], 0)
            << t << " " << k << " of " << options.columns;
  }
}
TEST(Terrain, RefusesWhatCannotBe) {
  const auto expect_refused = [](const auto& change, const char* name) {
    TerrainOptions options;
    change(options);
    expect_mentions(error_from<std::invalid_argument>([&] { TerrainHeights heights(options); }), {name});
  };
  expect_refused([](auto& options) { options.size = 8.05f; }, "terrain_size 8.05");
  expect_refused([](auto& options) { options.rows = 1000; }, "terrain_rows");
  expect_refused([](auto& options) { options.level_min = 6; }, "terrain_level_min 6");
}

TEST(Terrain, HasTheHeightThatRaysOfLibmujocoMeet) {
  const TerrainOptions options = ground("all", 2, 10);
  const TerrainHeights field(options);
  FieldHeights heights{0, field.rows, field.columns, {}, field.heights.data()};
  std::copy_n(field.size, 4, heights.size);
  const auto model = load_model(std::string(DRL_TEST_DATA) + "/physics/models/ball_on_ground.xml", {heights});
  ASSERT_EQ(model->nhfielddata, static_cast<int>(field.heights.size()));
  EXPECT_TRUE(std::equal(field.heights.begin(), field.heights.end(), model->hfield_data));
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(model.get()), mj_deleteData);
  mj_forward(model.get(), data.get());
  const MujocoRobot robot(*model, 1);
  const mjtByte is_static = 1;
  for (uint64_t k = 0; k < 5000; ++k) {
    const auto draw = [&](uint32_t n) {
      return 2.0 * static_cast<double>(uniform01(random_bits(7, Purpose::benchmark, k, 0)[static_cast<int>(n)])) - 1;
    };
    const double point[3] = {0.999 * field.size[0] * draw(0), 0.999 * field.size[1] * draw(1), 8}, down[3] = {0, 0, -1};
    int geom = -1;
    const double way = mj_ray(model.get(), data.get(), point, down, nullptr, is_static, 1, &geom, nullptr);
    ASSERT_EQ(geom, 0);
    ASSERT_NEAR(robot.ground_height(point[0], point[1]), 8 - way, 1e-9) << point[0] << " " << point[1];
  }
  // Beside the field, the height is that of its edge, which is flat.
  EXPECT_EQ(robot.ground_height(1000, 0), robot.ground_height(field.size[0], 0));
  EXPECT_EQ(robot.ground_height(1000, 1000), robot.ground_height(-1000, -1000));
}

// Fields with peaks, valleys, plateaus at the least and the largest height, and flat cells; planes that are tilted, and
// one that has an end. Rays begin above, in and below the ground and beside it, in all directions, also along the axes.
// A robot that diverges asks for heights before drl discards it.
TEST(Terrain, HasAHeightAtPlacesThatAreNoNumbers) {
  const float heights[] = {0.25f, 0.5f, 0.75f, 1};
  const HeightMap map{heights, nullptr, 2, 2, {1, 1, 2, 0.1}, 1};
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kFar = std::numeric_limits<double>::infinity();
  EXPECT_EQ(physics::height_at(map, kNan, 1.0), 1.5);
  EXPECT_EQ(physics::height_at(map, kFar, kNan), 1.0);
  EXPECT_EQ(physics::height_at(map, static_cast<float>(kNan), static_cast<float>(kNan)), 0.5f);
}

TEST(Terrain, MeetsRaysWhereLibmujocoDoes) {
  constexpr int kRows = 14, kColumns = 9, kBall = 2;  // kBall: a body
  const auto draw = [](uint64_t k, int n) {
    return 2.0 * static_cast<double>(uniform01(random_bits(9, Purpose::benchmark, k, static_cast<uint64_t>(n))[0])) - 1;
  };
  std::vector<float> heights;
  for (uint64_t k = 0; k < kRows * kColumns; ++k) {
    const double x = 0.8 * draw(k, 100) + 0.5;
    heights.push_back(k % 5 == 0 && k > 40 ? 0.25f : static_cast<float>(std::clamp(x, 0.0, 1.0)));
  }
  const TempFolder folder;
  spill(folder / "ground.xml", R"(<mujoco>
    <asset><hfield name="ground" nrow="14" ncol="9" size="2 3 0.8 0.5"/></asset>
    <worldbody>
      <geom type="hfield" hfield="ground"/>
      <geom type="plane" pos="0 0 -0.6" size="0 0 1"/>
      <body pos="5 0 0" euler="0 -40 10"><geom type="plane" size="2 0 1" pos="0 0 0.1"/></body>
      <body><freejoint/><geom size="0.1" mass="1"/></body>
    </worldbody></mujoco>)");
  FieldHeights field{0, kRows, kColumns, {2, 3, 0.8, 0.5}, heights.data()};
  const auto model = load_model((folder / "ground.xml").string(), {field});
  const std::unique_ptr<mjData, void (*)(mjData*)> data(mj_makeData(model.get()), mj_deleteData);
  mj_forward(model.get(), data.get());
  MujocoRobot robot(*model, 1);
  robot.forward();
  const HeightMap map{heights.data(), nullptr, kRows, kColumns, {2, 3, 0.8, 0.5}, 1};
  int met = 0;
  for (uint64_t k = 0; k < 200000; ++k) {
    double from[3] = {4 * draw(k, 0), 5 * draw(k, 1), 1.5 * draw(k, 2)};
    double along[3] = {draw(k, 3), draw(k, 4), draw(k, 5)};
    if (k % 7 < 3) along[k % 7] = 0;
    if (k % 7 == 3) along[0] = along[1] = 0;
    if (k % 7 == 4) along[1] = along[2] = 0;
    if (k % 11 == 0) from[2] = 0.79 + 0.1 * draw(k, 6), along[2] *= 0.1;
    const mjtByte is_static = 1;
    const double expected = mj_ray(model.get(), data.get(), from, along, nullptr, is_static, kBall, nullptr, nullptr);
    const double x = robot.ray({{from[0], from[1], from[2]}}, {{along[0], along[1], along[2]}});
    ASSERT_NEAR(x, expected, 1e-9 * (1 + std::abs(expected)))
        << k << ": " << from[0] << " " << from[1] << " " << from[2] << ", " << along[0] << " " << along[1] << " "
        << along[2];
    met += x >= 0 ? 1 : 0;
    // In lanes, each is what it is alone.
    using F = Pack<float, 4>;
    const auto lanes = [&](const double* of) {
      float numbers[3][4];
      for (int c = 0; c < 3; ++c)
        for (int l = 0; l < 4; ++l) numbers[c][l] = static_cast<float>(of[c] * (1 - 0.3 * l));
      return Vec<F, 3>{{load<F>(numbers[0]), load<F>(numbers[1]), load<F>(numbers[2])}};
    };
    if (k % 20 != 0) continue;
    const Vec<F, 3> f = lanes(from), a = lanes(along);
    const F all = physics::ray_to_field(map, f.at, a.at);
    for (int l = 0; l < 4; ++l) {
      const float alone_from[3] = {lane(f[0], l), lane(f[1], l), lane(f[2], l)};
      const float alone_along[3] = {lane(a[0], l), lane(a[1], l), lane(a[2], l)};
      ASSERT_EQ(lane(all, l), physics::ray_to_field(map, alone_from, alone_along)) << k << " " << l;
    }
  }
  EXPECT_GT(met, 50000);
  // Numbers that are not finite meet nothing.
  EXPECT_LT(robot.ray({{NAN, 0, 1}}, {{0, 0, -1}}), 0);
}

// Writes bytes as a PNG file has them: the highest first.
void append(std::string& to, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 255);
}
void append_chunk(std::string& to, const std::string& chunk) {
  append(to, static_cast<uint32_t>(chunk.size() - 4));
  boost::crc_32_type sum;
  sum.process_bytes(chunk.data(), chunk.size());
  append(to += chunk, sum.checksum());
}
// Returns a PNG file (ISO/IEC 15948) of grey points of 8 or 16 bits, [rows, columns], in one block that is not
// compressed.
std::string grey_png(int columns, const std::vector<int>& points, int bits = 8) {
  std::string lines;
  for (size_t k = 0; k < points.size(); ++k) {
    if (k % static_cast<size_t>(columns) == 0) lines += '\0';  // no filter
    if (bits == 16) lines += static_cast<char>(points[k] >> 8);
    lines += static_cast<char>(points[k]);
  }
  uint32_t low = 1, high = 0;  // Adler-32
  for (const char c : lines) low = (low + static_cast<uint8_t>(c)) % 65521, high = (high + low) % 65521;
  std::string header = "IHDR", data = std::string("IDAT\x78\x01\x01", 7), file = "\x89PNG\r\n\x1a\n";
  append(header, static_cast<uint32_t>(columns));
  append(header, static_cast<uint32_t>(points.size()) / static_cast<uint32_t>(columns));
  header += std::string({static_cast<char>(bits), 0, 0, 0, 0});
  const auto size = static_cast<uint16_t>(lines.size());
  for (const int part : {size & 255, size >> 8, ~size & 255, ~size >> 8 & 255}) data += static_cast<char>(part);
  append(data += lines, high << 16 | low);
  append_chunk(file, header), append_chunk(file, data), append_chunk(file, "IEND");
  return file;
}
TerrainOptions picture_of(const std::string& name, const std::string& bytes) {
  TerrainOptions options = ground("flat", 1, 1);
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  path.copy(options.file.path, FileName::kSize - 1);
  return options;
}

// A patch of 8 m: the picture's three columns are 4 m apart along x, its two rows 8 m along y, the upper one at the
// higher y. The darkest point is the lowest; the brightest is terrain_file_height above it.
TEST(TerrainPicture, IsStretchedOverThePatches) {
  TerrainOptions options = picture_of("ground.png", grey_png(3, {50, 50, 250, 50, 150, 250}));
  options.file_height = 0.4f;
  const TerrainHeights field(options, read_terrain_picture(options));
  const auto height_of = [&](double x, double y) {  // from the corner of the patch
    const auto i = static_cast<size_t>(std::lround((5 + x) / 0.1)), k = static_cast<size_t>(std::lround((5 + y) / 0.1));
    return static_cast<double>(field.heights[k * static_cast<size_t>(field.columns) + i]) * field.size[2];
  };
  EXPECT_NEAR(height_of(0, 0), 0, kRounding);
  EXPECT_NEAR(height_of(4, 0), 0.2, kRounding);
  EXPECT_NEAR(height_of(4, 8), 0, kRounding);
  EXPECT_NEAR(height_of(8, 3), 0.4, kRounding);
  EXPECT_NEAR(height_of(2, 4), 0.05, kRounding);
  EXPECT_NEAR(height_of(-3, -3), 0, kRounding);  // the border is as high as the nearest point
  EXPECT_NEAR(height_of(11, 4), 0.4, kRounding);
}
// Points that differ only in their lower bytes. MuJoCo, which reads the upper ones, sees none of this.
TEST(TerrainPicture, MayHave16Bits) {
  const TerrainPicture picture =
      read_terrain_picture(picture_of("ground16.png", grey_png(2, {0x1200, 0x1210, 0x1208, 0x1240}, 16)));
  EXPECT_EQ(picture.rows, 2);
  EXPECT_EQ(picture.columns, 2);
  EXPECT_EQ(picture.heights, std::vector<float>({0.125f, 1, 0, 0.25f}));  // from the bottom
  const TerrainPicture even = read_terrain_picture(picture_of("even16.png", grey_png(2, {300, 300, 300, 300}, 16)));
  EXPECT_EQ(even.heights, std::vector<float>(4));
}
// Made by Python's zlib, with dynamic codes and all filters of PNG: the point (x, y) is 997 x + 613 y (x mod 5) modulo
// 60000.
TEST(TerrainPicture, Of16BitsMayBeCompressed) {
  constexpr std::string_view kHex =
      "89504e470d0a1a0a0000000d49484452000000140000001210000000002e2b7d8f000000af4944415478da6d913d4bc4401086d77c6d76"
      "3122b988c8711cdea978d536220849156cecec522957a40a12b0cb2f904b1d1bbbbbff717fe044b0d3ceca4ef00304af109cdd8df93cb6"
      "d8976766ded9d95111525f8dc03ca3de3adb186c3a3676965b6fdb173be75dbf77dc3fdced0ead7d74f0a522a43f1b147b24fe1d698191"
      "62cf04a50725d3533c37df7922081293d9f2c5480d4074f673096973332603cea0149806ad43ddc18c669f2325d4179811ff438d64f80f"
      "000000b049444154309351a76490a8845a821392a05b80a0a8504da6f0445e4333e1bd3019c956b135846c9f9f8ebfb892b70daae34b7a"
      "5fb0c291e4d5d2a7eec8951cc682875be8342f7145e2759d09472d77acfa34995609f7c0fba9515230d9dac52e89d004bc5d68e8a2499b"
      "49c7298ef2874f85e3779bc1f70c0d796ec675b557637233118ea0cd03f880a2111aab5cb12aab0e7302e1477c571ba660caff97cab006"
      "eb2abfb9ca94f616c88acdf48ffe00fea89a38cca36de20000000049454e44ae426082";
  constexpr size_t kColumns = 20, kRows = 18;
  std::vector<uint8_t> file;
  for (size_t k = 0; k < kHex.size(); k += 2)
    file.push_back(static_cast<uint8_t>(std::stoi(std::string(kHex.substr(k, 2)), nullptr, 16)));
  const std::vector<uint16_t> points = png_points_of_16_bits(file, kColumns * kRows);
  ASSERT_EQ(points.size(), kColumns * kRows);
  for (size_t k = 0; k < points.size(); ++k) {
    const size_t x = k % kColumns, y = k / kColumns;
    EXPECT_EQ(points[k], (997 * x + 613 * y * (x % 5)) % 60000) << x << ", " << y;
  }
  EXPECT_THROW(png_points_of_16_bits(file, kColumns * kRows - 1), std::invalid_argument);
  file.resize(file.size() / 2);
  EXPECT_THROW(png_points_of_16_bits(file, kColumns * kRows), std::invalid_argument);
  EXPECT_TRUE(png_points_of_16_bits({}, 1).empty());
}
// MuJoCo's binary format: the numbers of rows and of columns, then the heights.
TEST(TerrainPicture, MayBeMujocosBinaryFormat) {
  const int size[2] = {2, 2};
  const float heights[4] = {1, 2, 3, 5};
  std::string bytes(reinterpret_cast<const char*>(size), sizeof(size));
  bytes.append(reinterpret_cast<const char*>(heights), sizeof(heights));
  const TerrainPicture picture = read_terrain_picture(picture_of("ground.bin", bytes));
  EXPECT_EQ(picture.rows, 2);
  EXPECT_EQ(picture.heights, std::vector<float>({0, 0.25, 0.5, 1}));
}
TEST(TerrainPicture, IsRefusedIfItCannotBeRead) {
  EXPECT_THROW(read_terrain_picture(picture_of("empty.png", "")), std::invalid_argument);
  EXPECT_THROW(read_terrain_picture(picture_of("text.png", "no picture")), std::invalid_argument);
  TerrainOptions nowhere = ground("flat");
  std::string("/nowhere/ground.png").copy(nowhere.file.path, FileName::kSize - 1);
  EXPECT_THROW(read_terrain_picture(nowhere), std::invalid_argument);
  const int size[2] = {2, 2};
  const float heights[4] = {1, 2, NAN, 5};
  std::string bytes(reinterpret_cast<const char*>(size), sizeof(size));
  bytes.append(reinterpret_cast<const char*>(heights), sizeof(heights));
  EXPECT_THROW(read_terrain_picture(picture_of("nan.bin", bytes)), std::invalid_argument);
}

}  // namespace
}  // namespace drl
