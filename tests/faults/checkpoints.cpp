// Checkpoints: damaged bytes, and files with a correct checksum that drl_train did not write.
//
// Bytes that change below a correct checksum are not tried: HDF5 itself crashes on some of them, and the checksum,
// which is checked first, keeps accidents from HDF5. Files are expected to come from people whom the user trusts as
// much as their programs.
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "../support/process.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"
#include "store/checkpoint.hpp"
#include "store/crc32c.hpp"
#include "store/file.hpp"
#include "store/hdf5_image.hpp"

namespace drl::faults {
namespace {

namespace fs = std::filesystem;

std::string with_header(const std::string& hdf5) {
  std::string header = fmt::format("drl-checkpoint 1\nbytes {}\ncrc32c {:08x}\n", hdf5.size(), crc32c(bytes_of(hdf5)));
  header.resize(kUserBlock, '\0');
  return header + hdf5;
}

std::string image_of(const Checkpoint& checkpoint) {
  const FileImage image = to_hdf5(checkpoint.attributes, checkpoint.tensors);
  return std::string(reinterpret_cast<const char*>(image.bytes().data()), image.size).substr(kUserBlock);
}

// --- Changes of the content ------------------------------------------------------------------------------------------

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

void change_shape(Tensor& tensor, Random& random) {
  if (random.one_in(2)) tensor.type = static_cast<DType>(random.below(5));
  tensor.shape.clear();
  for (size_t rank = random.below(4); rank > 0; --rank) tensor.shape.push_back(static_cast<int64_t>(random.below(70)));
  tensor.data.resize(count_of(tensor.shape) * size_of(tensor.type));
}

void change_numbers(Tensor& tensor, Random& random) {
  const float odd[] = {std::nanf(""), INFINITY, -INFINITY, 1e38f, -1e38f, 1e-42f};
  for (size_t at = 0; at + 4 <= tensor.data.size(); at += 4 * (1 + random.below(8))) {
    const float value = odd[random.below(std::size(odd))];
    const uint64_t bits = random.below(size_t{1} << 32);
    std::memcpy(tensor.data.data() + at, random.one_in(2) ? static_cast<const void*>(&value) : &bits, 4);
  }
}

void change_attribute(Checkpoint& checkpoint, Random& random) {
  auto found = checkpoint.attributes.begin();
  std::advance(found, static_cast<ptrdiff_t>(random.below(checkpoint.attributes.size())));
  std::string text = random.one_of(odd_values());
  if (const auto* old = std::get_if<std::string>(&found->second); old && random.one_in(2)) {
    text = *old;
    mutate(text, random.one_of(odd_values()), random);
  }
  std::erase(text, '\0');
  switch (random.below(4)) {
    case 0:
      checkpoint.attributes.erase(found);
      break;
    case 1:
      found->second = static_cast<int64_t>(random.one_in(2) ? ~random.below(1000) : random.below(size_t{1} << 62));
      break;
    case 2:
      found->second = random.one_in(2) ? std::nan("") : 1e300 * (random.uniform() - 0.5);
      break;
    default:
      found->second = text;
  }
}

void change_content(Checkpoint& checkpoint, Random& random) {
  const size_t index = random.below(checkpoint.tensors.size());
  Tensor& tensor = checkpoint.tensors[index];
  switch (random.below(6)) {
    case 0:
      checkpoint.tensors.erase(checkpoint.tensors.begin() + static_cast<ptrdiff_t>(index));
      break;
    case 1:
      tensor.name += random.one_in(2) ? "\n\x1b[2J" : "/x";
      break;
    case 2:
      change_shape(tensor, random);
      break;
    case 3:
      change_numbers(tensor, random);
      break;
    default:
      change_attribute(checkpoint, random);
  }
}

// --- Changes of the file's structure ---------------------------------------------------------------------------------

hid_t odd_type(Random& random) {
  const hid_t variable = H5Tcopy(H5T_C_S1), fixed = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  H5Tset_size(fixed, 1 + random.below(5000));
  const hsize_t four = 4;
  const hid_t compound = H5Tcreate(H5T_COMPOUND, 16);
  H5Tinsert(compound, "a", 0, H5T_NATIVE_DOUBLE);
  H5Tinsert(compound, "b", 8, H5T_NATIVE_INT);
  const hid_t all[] = {variable,
                       fixed,
                       compound,
                       H5Tvlen_create(H5T_NATIVE_INT),
                       H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &four),
                       H5Tcreate(H5T_OPAQUE, 1000),
                       H5Tenum_create(H5T_NATIVE_INT),
                       H5T_IEEE_F32BE,
                       H5T_STD_I16LE,
                       H5T_NATIVE_LDOUBLE,
                       H5T_STD_REF_OBJ,
                       H5T_STD_B64LE,
                       H5T_IEEE_F32LE,
                       H5T_STD_I64LE,
                       H5T_STD_U64LE};
  return all[random.below(std::size(all))];
}

hid_t odd_space(Random& random) {
  const hsize_t few = 1 + random.below(3000);
  const hsize_t huge[] = {hsize_t{1} << random.below(40), hsize_t{1} << random.below(34)}, none[] = {0, 5};
  switch (random.below(5)) {
    case 0:
      return H5Screate(H5S_NULL);
    case 1:
      return H5Screate(H5S_SCALAR);
    case 2:
      return H5Screate_simple(1, &few, nullptr);
    case 3:
      return H5Screate_simple(2, none, nullptr);
    default:
      return H5Screate_simple(2, huge, nullptr);
  }
}

hid_t odd_layout(Random& random, const std::string& elsewhere) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk[] = {1024, 16};
  switch (random.below(4)) {
    case 0:
      H5Pset_chunk(creation, 2, chunk);
      H5Pset_deflate(creation, 6);
      break;
    case 1:
      H5Pset_external(creation, elsewhere.c_str(), 0, H5F_UNLIMITED);
      break;
    case 2:
      H5Pset_layout(creation, H5D_COMPACT);
      break;
    default:
      H5Pset_alloc_time(creation, H5D_ALLOC_TIME_LATE);
  }
  return creation;
}

// Failures of these calls do not matter: the file is then closer to the original.
void change_structure(hid_t file, Random& random, const std::string& elsewhere) {
  const std::vector<std::string> names = {"policy/odd",           "odd",    "normalizer/odd", "a\nb",
                                          std::string(2000, 'n'), "\x1b[2J"};
  const std::string name = random.one_of(names);
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  switch (random.below(8)) {
    case 0:  // cycles
      H5Lcreate_hard(file, "/", file, name.c_str(), links, H5P_DEFAULT);
      if (random.one_in(2)) H5Lcreate_hard(file, "/", file, "policy/again", links, H5P_DEFAULT);
      break;
    case 1:
      H5Lcreate_soft(random.one_in(2) ? "/nowhere" : ("/" + name).c_str(), file, name.c_str(), links, H5P_DEFAULT);
      break;
    case 2:
      H5Lcreate_soft("/policy", file, name.c_str(), links, H5P_DEFAULT);
      break;
    case 3:
      H5Lcreate_external(elsewhere.c_str(), "/", file, name.c_str(), links, H5P_DEFAULT);
      break;
    case 4: {  // deep
      std::string path = "deep";
      for (size_t depth = random.below(3000); depth > 0; --depth) path += "/d";
      H5Gclose(H5Gcreate2(file, path.c_str(), links, H5P_DEFAULT, H5P_DEFAULT));
      break;
    }
    case 5:
      H5Acreate2(file, random.one_in(2) ? "iteration2" : name.c_str(), odd_type(random), odd_space(random), H5P_DEFAULT,
                 H5P_DEFAULT);
      break;
    case 6:
      H5Tcommit2(file, name.c_str(), H5Tcopy(H5T_NATIVE_INT), links, H5P_DEFAULT, H5P_DEFAULT);
      break;
    default:
      H5Dcreate2(file, name.c_str(), odd_type(random), odd_space(random), links, odd_layout(random, elsewhere),
                 H5P_DEFAULT);
  }
}

// Returns the HDF5 part of a file with the content of `image` and odd objects.
std::string with_odd_objects(const std::string& image, Random& random, const std::string& elsewhere) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  std::string bytes = std::string(kUserBlock, '\0') + image, result;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, size_t{1} << 16, false);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_file_image(access, bytes.data(), bytes.size());
  const hid_t file = H5Fopen("odd", H5F_ACC_RDWR, access);
  for (size_t changes = 1 + random.below(2); changes > 0; --changes) change_structure(file, random, elsewhere);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  result.resize(static_cast<size_t>(std::max<ssize_t>(H5Fget_file_image(file, nullptr, 0), 0)));
  H5Fget_file_image(file, result.data(), result.size());
  H5Fclose(file);
  return result;
}

// --- The inputs ------------------------------------------------------------------------------------------------------

const Words kTiny =
    "--task Cartpole --num_envs 4 --num_steps_per_env 4 --policy.actor_hidden_dims 4 "
    "--policy.critic_hidden_dims 4"_words;

class Checkpoints : public Kind {
 public:
  Checkpoints() {
    const std::string runs = (folder_ / "runs").string();
    const Result made =
        run_program(Words{bin("drl_train"), "--runs_dir", runs} + kTiny + "--max_iterations 2 --run_name r"_words);
    if (made.exit_code != 0) throw Error("drl_train failed: " + made.err);
    file_ = runs + "/Cartpole/r/checkpoints/iter_000002.h5";
    whole_ = slurp(file_);
    checkpoint_ = read_checkpoint(file_);
    fs::rename(file_, elsewhere_ = (folder_ / "elsewhere.h5").string());  // a valid target of external links
    file_ = (folder_ / "c.h5").string();
  }

  std::string make(Random& random) override {
    if (random.one_in(3)) return damaged(random);
    Checkpoint changed = checkpoint_;
    if (!random.one_in(3))
      for (size_t changes = 1 + random.below(3); changes > 0 && !changed.tensors.empty(); --changes)
        change_content(changed, random);
    std::string image;
    try {
      image = image_of(changed);
    } catch (const Error&) {  // two arrays of one name
      image = whole_.substr(kUserBlock);
    }
    return with_header(random.one_in(2) ? with_odd_objects(image, random, elsewhere_) : image);
  }

  void read(const std::string& input) override {
    spill(file_, input);
    const bool has_sum = input.size() > kUserBlock && with_header(input.substr(kUserBlock)) == input;
    read_checkpoint(file_);
    if (!has_sum) throw Finding("a damaged file was accepted");
    if (std::hash<std::string>()(input) % 16 == 0) run_programs();
  }

 private:
  std::string damaged(Random& random) {
    std::string bytes = whole_;
    switch (random.below(4)) {
      case 0:
        bytes.resize(random.below(bytes.size()));
        break;
      case 1:
        bytes[random.below(bytes.size())] ^= static_cast<char>(1 << random.below(8));
        break;
      case 2: {
        std::string header = bytes.substr(0, kUserBlock);
        mutate(header, whole_, random);
        bytes = header + bytes.substr(kUserBlock);
        break;
      }
      default:
        mutate(bytes, whole_, random);
    }
    return bytes;
  }

  void run_programs() const {
    const std::string runs = (folder_ / "again").string();
    const Words train = Words{bin("drl_train"), "--runs_dir", runs} + kTiny + "--quiet --max_iterations 3"_words;
    for (const Words& words : {train + Words{"--checkpoint", file_}, train + Words{"--init_from", file_},
                               Words{bin("drl_eval"), "--checkpoint", file_, "--episodes", "1"},
                               Words{bin("drl_checkpoint"), "show", file_}})
      run_on_input(words);
    fs::remove_all(runs);
  }

  TempFolder folder_;
  std::string file_, elsewhere_, whole_;
  Checkpoint checkpoint_;
};

}  // namespace

std::unique_ptr<Kind> make_checkpoints() { return std::make_unique<Checkpoints>(); }

}  // namespace drl::faults
