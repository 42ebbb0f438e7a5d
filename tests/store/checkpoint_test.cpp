#include "store/checkpoint.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <functional>
#include <limits>

#include "../support/mentions.hpp"
#include "../support/temp_folder.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "samples.hpp"
#include "store/crc32c.hpp"
#include "store/hdf5_image.hpp"

namespace drl {
namespace {

Checkpoint round_trip(const Checkpoint& checkpoint) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", checkpoint);
  return read_checkpoint(folder / "c.h5");
}

class EveryType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryType, ReadsBackEveryShape) {
  Checkpoint written;
  const std::vector<std::vector<int64_t>> shapes = {{}, {0}, {3, 0}, {1}, {7}, {2, 3, 4}, {1000, 701}, {1, 600000}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    written.tensors.push_back(counting_tensor("group/" + std::to_string(i), GetParam(), shapes[i]));
  }
  EXPECT_EQ(round_trip(written).tensors, written.tensors);
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, ::testing::Values(DType::f32, DType::f64, DType::i32, DType::i64, DType::u8),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST(Checkpoint, KeepsAttributes) {
  const std::map<std::string, Attribute> attributes = {
      {"empty", std::string()},
      {"utf8", std::string("Zürich λ")},
      {"long", std::string(200000, 'x')},
      {"lines", std::string("a = 1\n[ppo]\nb = 2\n")},
      {"least", std::numeric_limits<int64_t>::min()},
      {"tiny", std::numeric_limits<double>::denorm_min()},
      {"third", 1.0 / 3.0},
  };
  Checkpoint read = round_trip({attributes, {}});
  EXPECT_EQ(std::get<std::string>(read.attributes.at("format")), "drl-checkpoint");
  EXPECT_EQ(std::get<int64_t>(read.attributes.at("format_version")), 1);
  read.attributes.erase("format");
  read.attributes.erase("format_version");
  EXPECT_EQ(read.attributes, attributes);
}

TEST(Checkpoint, KeepsNanAttribute) {
  const Checkpoint read = round_trip({{{"reward", std::nan("")}}, {}});
  EXPECT_TRUE(std::isnan(std::get<double>(read.attributes.at("reward"))));
}

TEST(Checkpoint, SortsAndFindsTensors) {
  Checkpoint written;
  for (const char* name : {"b", "a/c", "a-b", "a/b/d"})
    written.tensors.push_back(counting_tensor(name, DType::u8, {2}));
  const Checkpoint read = round_trip(written);
  std::vector<std::string> names;
  for (const Tensor& tensor : read.tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a-b", "a/b/d", "a/c", "b"}));
  EXPECT_EQ(read.find("a/c")->name, "a/c");
  EXPECT_EQ(read.find("a"), nullptr);
}

TEST(Checkpoint, EqualContentGivesEqualBytes) {
  const TempFolder folder;
  write_checkpoint(folder / "1.h5", small_checkpoint());
  write_checkpoint(folder / "2.h5", small_checkpoint());
  EXPECT_EQ(slurp(folder / "1.h5"), slurp(folder / "2.h5"));
}

TEST(Checkpoint, RefusesTwoTensorsWithTheSameName) {
  const TempFolder folder;
  const Tensor tensor = counting_tensor("weight", DType::f32, {2});
  expect_mentions(error_from<Error>([&] {
                    write_checkpoint(folder / "c.h5", {{}, {tensor, tensor}});
                  }),
                  {"'weight'", "name already exists"});
  EXPECT_TRUE(folder.names().empty());
}

TEST(Checkpoint, VerifyReturnsCountAndBytes) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", small_checkpoint());
  const CheckpointSize size = verify_arrays(folder / "c.h5");
  EXPECT_EQ(size.tensors, 2u);
  EXPECT_EQ(size.bytes, slurp(folder / "c.h5").size());
}

// ---- Files that are not checkpoints

// Returns the message of the UsageError that reading the file throws. Expects one line that names the file.
std::string error_of_reading(const std::filesystem::path& path) {
  const std::string message = error_from<UsageError>([&] { read_checkpoint(path); });
  expect_mentions(message, {path.string()});
  return message;
}

TEST(BadCheckpoint, IsRefusedWithItsReason) {
  const TempFolder folder;
  write_checkpoint(folder / "good.h5", small_checkpoint());
  const std::string good = slurp(folder / "good.h5");
  spill(folder / "empty.h5", "");
  spill(folder / "text.h5", "iteration,env_steps\n");
  spill(folder / "hdf5.h5", good.substr(512));
  spill(folder / "longer.h5", good + "x");
  spill(folder / "newer.h5", std::string(good).replace(0, 16, "drl-checkpoint 2"));
  write_arrays(folder / "recording.h5", "drl-recording", small_checkpoint());
  for (const auto& [name, reason] : {std::pair{"missing.h5", "No such file"},
                                     {"", "Is a directory"},
                                     {"empty.h5", "is empty"},
                                     {"text.h5", "is not an HDF5 file"},
                                     {"hdf5.h5", "is not a drl-checkpoint"},
                                     {"recording.h5", "is not a drl-checkpoint"},
                                     {"longer.h5", "is damaged"},
                                     {"newer.h5", "format version 2"}})
    expect_mentions(error_of_reading(folder / name), {reason});
}

TEST(BadCheckpoint, IsRefusedIfTruncatedAnywhere) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", small_checkpoint());
  const std::string good = slurp(folder / "c.h5");
  for (size_t length = 0; length < good.size(); length += 1 + length / 64) {
    spill(folder / "cut.h5", good.substr(0, length));
    const std::string message = error_of_reading(folder / "cut.h5");
    if (length < 15) continue;  // shorter than "drl-checkpoint "
    expect_mentions(message, {"is truncated"});
  }
}

// Changes a bit of every byte in turn: header, HDF5's structures, attributes, datasets, gaps.
TEST(BadCheckpoint, IsRefusedIfOneBitIsChangedAnywhere) {
  const TempFolder folder;
  write_checkpoint(folder / "c.h5", small_checkpoint());
  const std::string good = slurp(folder / "c.h5");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    spill(folder / "bad.h5", bad);
    error_of_reading(folder / "bad.h5");
    if (HasFailure()) FAIL() << "at byte " << i << " of " << good.size();
  }
}

// ---- HDF5 files with drl's header that drl did not write

// Writes the small checkpoint, in which `change` has changed the open HDF5 file, with a correct checksum.
void write_changed(const std::filesystem::path& path, const std::function<void(hid_t)>& change) {
  const FileImage image = to_hdf5(small_checkpoint().attributes, small_checkpoint().tensors);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 16, false);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_file_image(access, image.data.get(), image.size);
  const hid_t file = H5Fopen("changed", H5F_ACC_RDWR, access);
  change(file);
  ASSERT_GE(H5Fflush(file, H5F_SCOPE_GLOBAL), 0);
  std::string hdf5(static_cast<size_t>(H5Fget_file_image(file, nullptr, 0)), '\0');
  H5Fget_file_image(file, hdf5.data(), hdf5.size());
  H5Fclose(file);
  std::string header = fmt::format("drl-checkpoint 1\nbytes {}\ncrc32c {:08x}\n", hdf5.size(), crc32c(bytes_of(hdf5)));
  header.resize(kUserBlock, '\0');
  spill(path, header + hdf5);
}

// Adds the array "odd" of one million times one million numbers.
void add_huge_array(hid_t file, hid_t creation) {
  const hsize_t shape[] = {1 << 20, 1 << 20};
  const hid_t space = H5Screate_simple(2, shape, nullptr);
  ASSERT_GE(H5Dcreate2(file, "odd", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT), 0);
}

TEST(ForeignCheckpoint, IsReadIfItIsOne) {
  const TempFolder folder;
  write_changed(folder / "c.h5", [](hid_t) {});
  EXPECT_EQ(read_checkpoint(folder / "c.h5").tensors.size(), 2u);
}

TEST(ForeignCheckpoint, IsRefusedIfItsLinksLeadElsewhere) {
  const TempFolder folder;
  write_checkpoint(folder / "other.h5", small_checkpoint());
  const std::string other = (folder / "other.h5").string();
  for (const std::function<void(hid_t)>& add : std::vector<std::function<void(hid_t)>>{
           [&](hid_t file) { H5Lcreate_external(other.c_str(), "/step", file, "odd", H5P_DEFAULT, H5P_DEFAULT); },
           [](hid_t file) { H5Lcreate_soft("/step", file, "odd", H5P_DEFAULT, H5P_DEFAULT); },
           [](hid_t file) { H5Lcreate_hard(file, "/", file, "odd", H5P_DEFAULT, H5P_DEFAULT); },
           [](hid_t file) {
             H5Lcreate_hard(file, "/", file, "odd", H5P_DEFAULT, H5P_DEFAULT);
             H5Lcreate_hard(file, "/", file, "policy/odd", H5P_DEFAULT, H5P_DEFAULT);
           }}) {
    write_changed(folder / "c.h5", add);
    expect_mentions(error_of_reading(folder / "c.h5"), {"odd", "link"});
  }
}

TEST(ForeignCheckpoint, IsRefusedIfItsNumbersAreNotInIt) {
  const TempFolder folder;
  const auto expect_refused = [&](const std::function<void(hid_t)>& choose_layout) {
    write_changed(folder / "c.h5", [&](hid_t file) {
      const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
      choose_layout(creation);
      add_huge_array(file, creation);
    });
    expect_mentions(error_of_reading(folder / "c.h5"), {"odd"});
  };
  expect_refused([](hid_t) {});  // no memory of the file is reserved for them
  expect_refused([](hid_t creation) {
    const hsize_t chunk[] = {16, 16};
    H5Pset_chunk(creation, 2, chunk);
  });
  expect_refused([](hid_t creation) { H5Pset_external(creation, "/dev/zero", 0, H5F_UNLIMITED); });
}

TEST(ForeignCheckpoint, IsRefusedIfAnAttributeIsNotOneValue) {
  const TempFolder folder;
  for (const hsize_t count : {0, 1000})
    for (const hid_t type : {H5T_STD_I64LE, H5T_IEEE_F64LE}) {
      write_changed(folder / "c.h5", [&](hid_t file) {
        const hid_t space = count == 0 ? H5Screate(H5S_NULL) : H5Screate_simple(1, &count, nullptr);
        ASSERT_GE(H5Acreate2(file, "odd", type, space, H5P_DEFAULT, H5P_DEFAULT), 0);
      });
      expect_mentions(error_of_reading(folder / "c.h5"), {"odd", "one value"});
    }
}

TEST(ForeignCheckpoint, ItsNamesAreQuotedInPrintableForm) {
  const TempFolder folder;
  write_changed(folder / "c.h5", [](hid_t file) {
    ASSERT_GE(H5Tcommit2(file, "a\nb\x1b", H5Tcopy(H5T_NATIVE_INT), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0);
  });
  expect_mentions(error_of_reading(folder / "c.h5"), {R"(a\x0ab\x1b)"});
}

}  // namespace
}  // namespace drl
