#include "base/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "base/format.hpp"
#include "base/version.hpp"

namespace drl {
namespace {

constexpr size_t kDigits = 12;

size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }

// Returns the first digits of the note NT_GNU_BUILD_ID (elf(5)), a hash of the program's contents; "" without one.
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

bool contains_address(const dl_phdr_info& object, uintptr_t address) {
  for (int k = 0; k < object.dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[k];
    if (segment.p_type == PT_LOAD && address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

// Called by dl_iterate_phdr for each loaded object; returns 1 to end the iteration.
int visit_object(dl_phdr_info* object, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (!contains_address(*object, search.address)) return 0;
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
  dl_iterate_phdr(visit_object, &search);
  return search.id;
}

std::string program_build() {
  const std::string id = build_id_of(reinterpret_cast<const void*>(&program_build));
  return std::string(kVersion) + " (" + kGitHash + ")" + (id.empty() ? "" : ", build " + id);
}

}  // namespace drl
