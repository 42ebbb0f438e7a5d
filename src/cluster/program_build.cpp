#include "cluster/program_build.hpp"

#include <elf.h>
#include <link.h>

#include <cstdio>
#include <cstring>

#include "base/version.hpp"

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
      for (size_t k = 0; k < note.n_descsz && digits.size() < kDigits; ++k) {
        char pair[3];
        std::snprintf(pair, sizeof(pair), "%02x", static_cast<unsigned char>(notes[id + k]));
        digits += pair;
      }
      return digits;
    }
    at = id + padded(note.n_descsz);
  }
  return "";
}

// The first object is the program itself.
int look_at_program(dl_phdr_info* object, size_t, void* result) {
  for (int k = 0; k < object->dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[k];
    std::string& id = *static_cast<std::string*>(result);
    if (segment.p_type == PT_NOTE && id.empty())
      id = build_id_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string program_build() {
  std::string id;
  dl_iterate_phdr(look_at_program, &id);
  return std::string(kVersion) + " (" + kGitHash + ")" + (id.empty() ? "" : ", build " + id);
}

}  // namespace drl
