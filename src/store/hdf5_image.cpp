// Uses HDF5's C API and checks every return value. H5Cpp is missing in many builds of HDF5, and its destructors swallow
// errors.
#include "store/hdf5_image.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

// Returns the outermost and the innermost entry of HDF5's error stack, which describe the call that failed.
std::string hdf5_reason() {
  std::vector<std::string> entries;
  const auto collect = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->push_back(entry->desc);
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, collect, &entries);
  if (entries.empty()) return "no reason given";
  return entries.size() == 1 ? entries[0] : entries.front() + ": " + entries.back();
}

// Returns `result`. Throws Error if it is negative, which is how HDF5 reports failure.
template <class T>
T checked(T result, const std::string& what) {
  if (result < 0) throw Error("HDF5 cannot " + what + " (" + hdf5_reason() + "): check names, shapes and free memory");
  return result;
}

// Allows one thread at a time to use HDF5 (often built without thread safety), and keeps HDF5 from printing errors.
class Session {
 public:
  Session() : lock_(mutex_) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Session() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  static inline std::mutex mutex_;
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// Owns an HDF5 object. Closing cannot lose data, because everything is in memory.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(checked(id, what)), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

struct Types {
  DType type;
  hid_t stored, memory;
};

// A function, because HDF5 assigns the numbers of its types at run time.
std::array<Types, 5> all_types() {
  return {{{DType::f32, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT},
           {DType::f64, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE},
           {DType::i32, H5T_STD_I32LE, H5T_NATIVE_INT32},
           {DType::i64, H5T_STD_I64LE, H5T_NATIVE_INT64},
           {DType::u8, H5T_STD_U8LE, H5T_NATIVE_UINT8}}};
}

Types types_of(DType type) {
  const std::array<Types, 5> all = all_types();
  return *std::ranges::find(all, type, &Types::type);
}

Types types_of_dataset(hid_t dataset, const std::string& name) {
  const Handle type(H5Dget_type(dataset), H5Tclose, "read the type of '" + printable(name) + "'");
  for (const Types& candidate : all_types())
    if (checked(H5Tequal(type, candidate.stored), "compare types") > 0) return candidate;
  throw Error("'" + printable(name) + "' has an element type that drl does not write: give a file that drl wrote");
}

Handle string_type() {
  // variable length and UTF-8, which h5py reads as str
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a string type");
  checked(H5Tset_size(type, H5T_VARIABLE), "make a string type");
  checked(H5Tset_cset(type, H5T_CSET_UTF8), "make a string type");
  return type;
}

// The result is at most SIZE_MAX.
size_t bytes_in(const std::vector<hsize_t>& shape, size_t element) {
  size_t bytes = element;
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  for (hsize_t extent : shape)
    bytes = bytes > std::numeric_limits<size_t>::max() / extent ? std::numeric_limits<size_t>::max() : bytes * extent;
  return bytes;
}

Handle make_space(const std::vector<hsize_t>& shape) {
  const hid_t id =
      shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  return Handle(id, H5Sclose, "make a dataspace");
}

void write_tensor(hid_t file, const Tensor& tensor) {
  const std::string what = "write '" + tensor.name + "'";
  const std::vector<hsize_t> shape(tensor.shape.begin(), tensor.shape.end());
  DRL_CHECK(tensor.data.size() == bytes_in(shape, size_of(tensor.type)),
            "size and shape of " + tensor.name + " do not match");
  const Types types = types_of(tensor.type);
  const Handle space = make_space(shape);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, what);
  checked(H5Pset_create_intermediate_group(links, 1), what);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, what);
  checked(H5Pset_obj_track_times(properties, false), what);  // equal content must give equal bytes
  const Handle dataset(H5Dcreate2(file, tensor.name.c_str(), types.stored, space, links, properties, H5P_DEFAULT),
                       H5Dclose, what);
  if (tensor.data.empty()) return;
  checked(H5Dwrite(dataset, types.memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.data.data()), what);
}

void write_attribute(hid_t file, const std::string& name, hid_t stored, hid_t memory, const void* value) {
  const std::string what = "write attribute '" + name + "'";
  const Handle space = make_space({});
  const Handle attribute(H5Acreate2(file, name.c_str(), stored, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, what);
  checked(H5Awrite(attribute, memory, value), what);
}

void write_attribute_of(hid_t file, const std::string& name, const Attribute& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    write_attribute(file, name, H5T_STD_I64LE, H5T_NATIVE_INT64, integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    write_attribute(file, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, number);
  } else {
    const std::string& text = std::get<std::string>(value);
    DRL_CHECK(text.find('\0') == std::string::npos, "attribute " + name + " contains a zero byte");
    const char* pointer = text.c_str();
    const Handle type = string_type();
    write_attribute(file, name, type, type, &pointer);
  }
}

// The attribute "policy/activation" belongs to the group `policy`, which must have been written.
void write_attribute(hid_t file, const std::string& name, const Attribute& value) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos) return write_attribute_of(file, name, value);
  const Handle group(H5Gopen2(file, name.substr(0, slash).c_str(), H5P_DEFAULT), H5Gclose,
                     "open the group of '" + name + "'");
  write_attribute_of(group, name.substr(slash + 1), value);
}

// Throws Error unless the numbers are one block within the file, as drl writes them: not in another file, not in chunks
// (which may be compressed, or far smaller than the shape), not missing. The block limits the memory that they need.
void require_block(hid_t dataset, const std::string& name, size_t bytes) {
  if (bytes == 0) return;
  if (H5Dget_offset(dataset) == HADDR_UNDEF || H5Dget_storage_size(dataset) != bytes)
    throw Error("the numbers of '" + printable(name) + "' are not one block of the file: give a file that drl wrote");
}

ArrayPlace place_of(hid_t dataset, const std::string& name, size_t file_bytes) {
  const std::string shown = printable(name), what = "read '" + shown + "'";
  const Handle space(H5Dget_space(dataset), H5Sclose, what);
  std::vector<hsize_t> shape(static_cast<size_t>(checked(H5Sget_simple_extent_ndims(space), what)));
  checked(H5Sget_simple_extent_dims(space, shape.data(), nullptr), what);
  const Types types = types_of_dataset(dataset, name);
  const size_t bytes = bytes_in(shape, size_of(types.type));
  if (bytes > file_bytes) throw Error("'" + shown + "' is larger than its file: give a file that drl wrote");
  require_block(dataset, name, bytes);
  return {name, types.type, {shape.begin(), shape.end()}, bytes > 0 ? size_t{H5Dget_offset(dataset)} : 0, bytes};
}

Tensor read_tensor(hid_t dataset, const std::string& name, size_t file_bytes) {
  ArrayPlace place = place_of(dataset, name, file_bytes);
  Tensor tensor{name, place.type, std::move(place.shape), {}};
  tensor.data.resize(place.bytes);
  if (tensor.data.empty()) return tensor;
  checked(H5Dread(dataset, types_of(place.type).memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.data.data()),
          "read '" + printable(name) + "'");
  return tensor;
}

std::string link_name(hid_t group, hsize_t index) {
  const auto get = [&](char* out, size_t size) {
    return checked(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, index, out, size, H5P_DEFAULT),
                   "list names");
  };
  std::string name(static_cast<size_t>(get(nullptr, 0)), '\0');
  get(name.data(), name.size() + 1);
  return name;
}

std::string read_string(hid_t attribute, const std::string& what) {
  const Handle type = string_type();
  char* text = nullptr;
  checked(H5Aread(attribute, type, &text), what);
  const std::string result = text ? text : "";
  checked(H5free_memory(text), what);
  return result;
}

template <class T>
T read_number(hid_t attribute, hid_t memory, const std::string& what) {
  T value;
  checked(H5Aread(attribute, memory, &value), what);
  return value;
}

Attribute read_value(hid_t attribute, const std::string& what) {
  const Handle space(H5Aget_space(attribute), H5Sclose, what);
  if (checked(H5Sget_simple_extent_npoints(space), what) != 1)
    throw Error("cannot " + what + " (it is not one value): give a file that drl wrote");
  const Handle type(H5Aget_type(attribute), H5Tclose, what);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return read_number<int64_t>(attribute, H5T_NATIVE_INT64, what);
    case H5T_FLOAT:
      return read_number<double>(attribute, H5T_NATIVE_DOUBLE, what);
    case H5T_STRING:
      return read_string(attribute, what);
    default:
      throw Error("cannot " + what + " (neither a number nor a string): give a file that drl wrote");
  }
}

void read_attributes(hid_t group, const std::string& prefix, std::map<std::string, Attribute>& attributes) {
  H5O_info_t info;
  checked(H5Oget_info_by_name2(group, ".", &info, H5O_INFO_NUM_ATTRS, H5P_DEFAULT), "count attributes");
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    const Handle attribute(H5Aopen_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose, "open an attribute");
    std::string name(static_cast<size_t>(checked(H5Aget_name(attribute, 0, nullptr), "read a name")), '\0');
    checked(H5Aget_name(attribute, name.size() + 1, name.data()), "read a name");
    attributes[prefix + name] = read_value(attribute, "read attribute '" + printable(prefix + name) + "'");
  }
}

using TakeDataset = std::function<void(hid_t dataset, const std::string& name)>;

// Reads all arrays of a file, and with `attributes` also the attributes of its groups. Follows only links to objects in
// the file: other links may lead to other files. Links may form cycles, so the number of objects and their depth are
// limited.
class GroupReader {
 public:
  GroupReader(size_t file_bytes, const TakeDataset& take, std::map<std::string, Attribute>* attributes)
      : file_bytes_(file_bytes), take_(take), attributes_(attributes) {}

  void read(hid_t group, const std::string& prefix, int depth = 0) {
    if (attributes_) read_attributes(group, prefix, *attributes_);
    H5G_info_t info;
    checked(H5Gget_info(group, &info), "list '" + printable(prefix) + "'");
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const std::string link = link_name(group, i), name = prefix + link, shown = printable(name);
      H5L_info_t kind;
      checked(H5Lget_info(group, link.c_str(), &kind, H5P_DEFAULT), "read the link '" + shown + "'");
      if (kind.type != H5L_TYPE_HARD)
        throw Error("'" + shown + "' is a link to another place: give a file that drl wrote");
      if (++objects_ > file_bytes_ / kObjectBytes || depth > kMostGroups)
        throw Error("'" + shown + "' is within too many groups (links may form a cycle): give a file that drl wrote");
      const Handle object(H5Oopen(group, link.c_str(), H5P_DEFAULT), H5Oclose, "open '" + shown + "'");
      if (H5Iget_type(object) == H5I_GROUP)
        read(object, name + "/", depth + 1);
      else
        take_(object, name);
    }
  }

 private:
  static constexpr size_t kObjectBytes = 16;  // each object needs more than these bytes of its file
  static constexpr int kMostGroups = 16;      // one within the other; drl writes fewer

  const size_t file_bytes_;
  const TakeDataset& take_;
  std::map<std::string, Attribute>* attributes_;
  size_t objects_ = 0;
};

// The buffer of a file in memory. Its callbacks avoid the copies that HDF5 would make of the whole file.
class Memory {
 public:
  Memory() = default;  // for writing: the buffer grows
  explicit Memory(std::span<const std::byte> file) : borrowed_(const_cast<std::byte*>(file.data())) {}

  void use(hid_t access) {
    H5FD_file_image_callbacks_t callbacks = {
        [](size_t, H5FD_file_image_op_t, void* self) -> void* { return of(self).borrowed_; },
        [](void* to, const void*, size_t, H5FD_file_image_op_t, void*) { return to; },
        [](void* data, size_t size, H5FD_file_image_op_t, void* self) { return of(self).grow(data, size); },
        [](void*, H5FD_file_image_op_t, void*) -> herr_t { return 0; },
        [](void* self) { return self; },
        [](void*) -> herr_t { return 0; },
        this};
    checked(H5Pset_file_image_callbacks(access, &callbacks), "keep a file in memory");
  }
  FileImage take(size_t size) { return {std::move(grown_), size}; }

 private:
  static Memory& of(void* self) { return *static_cast<Memory*>(self); }
  void* grow(void* data, size_t size) {
    if (data != grown_.get()) return nullptr;  // a borrowed buffer cannot grow
    void* larger = std::realloc(data, size);
    if (!larger) return nullptr;
    (void)grown_.release();
    grown_.reset(static_cast<std::byte*>(larger));
    return larger;
  }

  std::byte* borrowed_ = nullptr;
  std::unique_ptr<std::byte, FileImage::Free> grown_;
};

// Returns the access properties for files in memory. Sets the version bounds, because their default depends on the
// version of HDF5.
Handle memory_access(Memory& memory) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make file properties");
  checked(H5Pset_fapl_core(access, size_t{1} << 20, /*backing_store=*/false), "keep a file in memory");
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18), "set the format's version");
  memory.use(access);
  return access;
}

// Calls take(dataset, name) for all arrays of a file, and with `attributes` reads its attributes, too.
void for_each_dataset(std::span<const std::byte> bytes, const TakeDataset& take,
                      std::map<std::string, Attribute>* attributes = nullptr) {
  const Session session;
  Memory memory(bytes);
  const Handle access = memory_access(memory);
  checked(H5Pset_file_image(access, const_cast<std::byte*>(bytes.data()), bytes.size()), "use a file in memory");
  const Handle file(H5Fopen("in memory", H5F_ACC_RDONLY, access), H5Fclose, "open the file");
  GroupReader(bytes.size(), take, attributes).read(file, "");
}

}  // namespace

FileImage to_hdf5(const std::map<std::string, Attribute>& attributes, const std::vector<Tensor>& tensors) {
  const Session session;
  Memory memory;
  const Handle access = memory_access(memory);
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "make file properties");
  checked(H5Pset_userblock(creation, kUserBlock), "set the user block");
  checked(H5Pset_obj_track_times(creation, false), "turn off time stamps");
  ssize_t size = 0;  // of the HDF5 part; the memory is larger
  {
    const Handle file(H5Fcreate("in memory", H5F_ACC_TRUNC, creation, access), H5Fclose, "make a file");
    for (const Tensor& tensor : tensors) write_tensor(file, tensor);
    for (const auto& [name, value] : attributes) write_attribute(file, name, value);
    checked(H5Fflush(file, H5F_SCOPE_GLOBAL), "finish the file");
    size = checked(H5Fget_file_image(file, nullptr, 0), "measure the file");
  }
  return memory.take(kUserBlock + static_cast<size_t>(size));
}

Checkpoint from_hdf5(std::span<const std::byte> bytes) {
  Checkpoint content;
  for_each_dataset(
      bytes,
      [&](hid_t dataset, const std::string& name) {
        content.tensors.push_back(read_tensor(dataset, name, bytes.size()));
      },
      &content.attributes);
  std::ranges::sort(content.tensors, {}, &Tensor::name);
  return content;
}

std::vector<ArrayPlace> places_in_hdf5(std::span<const std::byte> bytes, std::map<std::string, Attribute>& attributes) {
  std::vector<ArrayPlace> places;
  for_each_dataset(
      bytes, [&](hid_t dataset, const std::string& name) { places.push_back(place_of(dataset, name, bytes.size())); },
      &attributes);
  return places;
}

bool has_same_tensors(std::span<const std::byte> bytes, const std::vector<Tensor>& tensors) {
  size_t equal = 0, all = 0;
  for_each_dataset(bytes, [&](hid_t dataset, const std::string& name) {
    const Tensor tensor = read_tensor(dataset, name, bytes.size());
    const auto written = std::ranges::find(tensors, tensor.name, &Tensor::name);
    equal += written != tensors.end() && *written == tensor;
    all += 1;
  });
  return equal == tensors.size() && all == tensors.size();
}

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace drl
