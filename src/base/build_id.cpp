#include "base/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "base/format.hpp"

namespace drl {
namespace {

constexpr size_t kDigits = 12;

size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }

// The note of type NT_GNU_BUILD_ID (elf(5)), which holds a hash of the program's contents.
std::string build_id_in(const char* notes, size_t size) {
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof(note));
    const size_t name = at + sizeof(note), id = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      std::string digits;
      for (size_t k = 0; k < note.n_descsz && digits.size() < kDigits; ++k)
        digits += fmt::format("{:02x}", static_cast<unsigned char>(notes[id + k]));
      return digits;
    }
    at = id + padded(note.n_descsz);
  }
  return "";
}

struct Search {
  uintptr_t address;
  std::string id;
};

bool holds(const dl_phdr_info& object, uintptr_t address) {
  for (int k = 0; k < object.dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[k];
    if (segment.p_type == PT_LOAD && address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

int look_at(dl_phdr_info* object, size_t, void* search_of) {
  Search& search = *static_cast<Search*>(search_of);
  if (!holds(*object, search.address)) return 0;
  for (int k = 0; k < object->dlpi_phnum && search.id.empty(); ++k) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[k];
    if (segment.p_type == PT_NOTE)
      search.id = build_id_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id_of(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(look_at, &search);
  return search.id;
}

}  // namespace drl
