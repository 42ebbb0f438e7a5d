// fuzz: reads mutated inputs of one kind. See fuzz.hpp.
#include <fstream>
#include <iterator>

#include "arguments.hpp"
#include "fuzz.hpp"

namespace drl::faults {
namespace {

constexpr const char* kUsage =
    "fuzz: reads mutated inputs of one kind, and checks that each is accepted or\n"
    "refused with one line.\n"
    "\n"
    "  fuzz --kind configs --count 100000 --seed 7\n"
    "  fuzz --kind checkpoints --count 1 --first 1234 --seed 7    input 1234 again\n"
    "  fuzz --kind checkpoints --input FILE                       a kept input\n";

struct Options {
  std::string kind = "configs", input, keep;
  int64_t count = 1000, first = 0, seed = 1;
  double seconds = 60;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("kind", kind, "the kind of input",
      one_of({"commands", "configs", "launchers", "checkpoints", "pairs", "models"}));
    v("count", count, "number of inputs", at_least(1));
    v("first", first, "index of the first input", at_least(0));
    v("seed", seed, "key of all inputs", at_least(0));
    v("seconds", seconds, "time that one input may take", at_least(1));
    v("keep", keep, "directory for inputs with findings");
    v("input", input, "read only this file, in this process");
    v("help", help, "print this text", letter('h'));
  }
};

std::unique_ptr<Kind> kind_of(const std::string& name) {
  return name == "commands"      ? make_commands()
         : name == "configs"     ? make_configs()
         : name == "launchers"   ? make_launchers()
         : name == "checkpoints" ? make_checkpoints()
         : name == "pairs"       ? make_pairs()
                                 : make_models();
}

int run(const Options& options) {
  const std::unique_ptr<Kind> kind = kind_of(options.kind);
  if (!kind) throw Error("this build has no MuJoCo (configure it with DRL_WITH_MUJOCO): choose another kind", 77);
  if (!options.input.empty()) {
    std::ifstream file(options.input, std::ios::binary);
    read_one(*kind, std::string(std::istreambuf_iterator<char>(file), {}));
    return 0;
  }
  return fuzz(options.kind, *kind,
              {options.first, options.count, static_cast<uint64_t>(options.seed), options.seconds, options.keep});
}

}  // namespace
}  // namespace drl::faults

int main(int argc, char** argv) { return drl::faults::program(argc, argv, drl::faults::kUsage, drl::faults::run); }
