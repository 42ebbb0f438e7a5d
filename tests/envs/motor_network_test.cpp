// Tests networks that give the torques of motors: by hand, and against recordings of PyTorch with the steps of Isaac
// Lab's ActuatorNetMLP and ActuatorNetLSTM (motor_record.py).
#include "envs/motor_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <span>

#include "../support/mentions.hpp"
#include "../support/paths.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "drl/physics/motor_pass.hpp"

namespace drl {
namespace {

const std::string kRecordings = test_data("envs/recordings/");

template <class F>
struct Memory {
  std::vector<F>* numbers;
  F operator()(int k) const { return (*numbers)[static_cast<size_t>(k)]; }
  void operator()(int k, F x) const { (*numbers)[static_cast<size_t>(k)] = x; }
};
// A motor with its memory, at the start of an episode.
template <class F>
class Motor {
 public:
  explicit Motor(const MotorNetwork& network) : network_(network), memory_(static_cast<size_t>(network.memory)) {}
  F torque(F error, F velocity) { return motor_torque(network_, error, velocity, Memory<F>{&memory_}); }

 private:
  const MotorNetwork& network_;
  std::vector<F> memory_;
};

struct Array {
  std::string name;
  std::vector<int> shape;
  std::vector<float> numbers;
  std::string text = "";  // instead of numbers
};
Array text(const std::string& name, const std::string& value) { return {name, {}, {}, value}; }
Array number(const std::string& name, float value) { return {name, {}, {value}}; }

// Writes what numpy.savez writes.
class Npz {
 public:
  void add(const Array& array) {
    std::string shape;
    for (const int extent : array.shape) shape += std::to_string(extent) + ", ";
    const std::string type = array.text.empty() ? "<f4" : "<U" + std::to_string(array.text.size());
    std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
    std::string npy = std::string("\x93NUMPY\x01\x00", 8);
    put<uint16_t>(npy, header.size()), npy += header;
    for (const float x : array.numbers) npy.append(reinterpret_cast<const char*>(&x), sizeof(x));
    for (const char letter : array.text) put<uint32_t>(npy, static_cast<unsigned char>(letter));
    const std::string name = array.name + ".npy", sizes = sizes_of(npy);
    const auto offset = files_.size();
    put<uint32_t>(files_, 0x04034b50), files_ += std::string(14, 0) + sizes, put<uint16_t>(files_, name.size());
    put<uint16_t>(files_, 0), files_ += name + npy;
    put<uint32_t>(directory_, 0x02014b50), directory_ += std::string(16, 0) + sizes;
    put<uint16_t>(directory_, name.size()), directory_ += std::string(12, 0);
    put<uint32_t>(directory_, offset), directory_ += name, count_ += 1;
  }
  std::string bytes() const {
    std::string end;
    put<uint32_t>(end, 0x06054b50), end += std::string(4, 0), put<uint16_t>(end, count_), put<uint16_t>(end, count_);
    put<uint32_t>(end, directory_.size()), put<uint32_t>(end, files_.size()), end += std::string(2, 0);
    return files_ + directory_ + end;
  }

 private:
  template <class T>
  static void put(std::string& to, size_t value) {
    const T number = static_cast<T>(value);
    to.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  static std::string sizes_of(const std::string& npy) {
    std::string sizes;
    put<uint32_t>(sizes, npy.size()), put<uint32_t>(sizes, npy.size());
    return sizes;
  }
  std::string files_, directory_;
  size_t count_ = 0;
};

class MotorNetworks : public testing::Test {
 protected:
  std::string file(const std::vector<Array>& arrays) {
    Npz npz;
    for (const Array& array : arrays) npz.add(array);
    const auto path = folder_ / ("network" + std::to_string(++files_) + ".npz");
    spill(path, npz.bytes());
    return path.string();
  }
  std::string error_of(const std::vector<Array>& arrays) { return error_of_file(file(arrays)); }
  static std::string error_of_file(const std::string& path) {
    return error_from<UsageError>([&] { motor_network(path); });
  }
  TempFolder folder_;
  int files_ = 0;
};

// Torques of up to 30 N m; the activations have relative errors of 4e-7.
TEST_F(MotorNetworks, AgreeWithRecordingsOfPyTorch) {
  for (const std::string name : {"motor_softsign", "motor_elu", "motor_tanh", "motor_lstm"}) {
    const MotorNetwork& network = motor_network(kRecordings + name + ".npz");
    Motor<double> motor(network);
    Motor<float> in_float(network);
    Motor<Pack<float, 4>> in_lanes(network);
    std::ifstream lines(kRecordings + name + ".txt");
    int count = 0;
    for (double error = 0, velocity = 0, torque = 0; lines >> error >> velocity >> torque; ++count) {
      EXPECT_NEAR(motor.torque(error, velocity), torque, 2e-5) << name << " " << count;
      const float e = static_cast<float>(error), v = static_cast<float>(velocity), alone = in_float.torque(e, v);
      EXPECT_NEAR(alone, torque, 1e-4) << name << " " << count;
      EXPECT_EQ(lane(in_lanes.torque(Pack<float, 4>(e), Pack<float, 4>(v)), 2), alone) << name << " " << count;
    }
    EXPECT_EQ(count, 40);
  }
}

// 10 * (2 * 0.5 e0 + 3 * 0.5 e2 - 0.25 * 4 v0 + 0.125 * 4 v2 + 1), where 0 and 2 are time steps before.
TEST_F(MotorNetworks, OneLayerIsASumOverTheHistory) {
  Motor<double> motor(motor_network(file({{"0.weight", {1, 4}, {2, 3, -0.25F, 0.125F}},
                                          {"0.bias", {1}, {1}},
                                          {"input_idx", {2}, {0, 2}},
                                          number("pos_scale", 0.5F),
                                          number("vel_scale", 4),
                                          number("torque_scale", 10)})));
  EXPECT_DOUBLE_EQ(motor.torque(1, 2), 10 * (1 - 2 + 1));
  EXPECT_DOUBLE_EQ(motor.torque(3, 1), 10 * (3 - 1 + 1));
  EXPECT_DOUBLE_EQ(motor.torque(0, 0), 10 * (1.5 + 1 + 1));
  EXPECT_DOUBLE_EQ(motor.torque(0, 0), 10 * (4.5 + 0.5 + 1));
  EXPECT_DOUBLE_EQ(motor.torque(0, 0), 10);
}
TEST_F(MotorNetworks, ReluAndSigmoid) {
  const auto net = [&](const std::string& activation) {
    return file({{"a.weight", {2, 2}, {1, 0, 0, 1}},
                 {"a.bias", {2}, {0, 0}},
                 {"b.weight", {1, 2}, {1, 10}},
                 {"b.bias", {1}, {0}},
                 text("activation", activation)});
  };
  EXPECT_DOUBLE_EQ(Motor<double>(motor_network(net("relu"))).torque(-2, 3), 30);
  EXPECT_NEAR(Motor<double>(motor_network(net("sigmoid"))).torque(0, 100), 0.5 + 10, 1e-6);
}

TEST_F(MotorNetworks, RefuseOtherFiles) {
  const Array weight{"0.weight", {1, 2}, {1, 2}}, bias{"0.bias", {1}, {0}};
  EXPECT_EQ(error_of({weight, bias}), "no error");
  expect_mentions(error_of_file("/nowhere/net.npz"), {"--env.dr.motor_network", "/nowhere/net.npz"});
  expect_mentions(error_of_file(folder_.path().string()), {"is not a file"});
  spill(folder_ / "empty.npz", "");
  expect_mentions(error_of_file((folder_ / "empty.npz").string()), {"empty"});
  spill(folder_ / "text.npz", std::string(100, 'x'));
  expect_mentions(error_of_file((folder_ / "text.npz").string()), {"not an .npz file"});
  expect_mentions(error_of({number("pos_scale", 1)}), {"no linear layer"});
  expect_mentions(error_of({weight}), {"no array", "0.bias"});
  expect_mentions(error_of({{"0.weight", {1, 3}, {1, 2, 3}}, bias}), {"0.weight", "[1, 3]", "[1, 2]"});
  expect_mentions(error_of({{"0.weight", {2, 2}, {1, 2, 3, 4}}, {"0.bias", {2}, {0, 0}}}), {"2 outputs"});
  expect_mentions(error_of({{"0.weight", {1, 2}, {1, NAN}}, bias}), {"0.weight", "not finite"});
  expect_mentions(error_of({weight, bias, {"extra", {1}, {0}}}), {"extra", "not part"});
  expect_mentions(error_of({weight, bias, text("activation", "gelu")}), {"activation", "gelu", "softsign"});
  expect_mentions(error_of({weight, bias, text("input_order", "posvel")}), {"input_order", "posvel", "pos_vel"});
  expect_mentions(error_of({weight, bias, number("input_idx", -1)}), {"input_idx", "-1"});
  expect_mentions(error_of({weight, bias, number("pos_scale", INFINITY)}), {"pos_scale"});
  expect_mentions(error_of({{"0.weight", {1, 2}, {1, 2}}, bias, {"2.weight", {1, 1}, {1}}, {"2.bias", {1}, {0}}}),
                  {"activation", "softsign"});
  expect_mentions(error_of({{"0.weight", {400, 2}, std::vector<float>(800)}, {"0.bias", {400}, {}}}), {"400", "256"});
}

}  // namespace
}  // namespace drl
