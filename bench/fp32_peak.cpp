// Measures multiply-adds per second of one core, an upper bound for the speed of networks.
#include "fp32_peak.hpp"

#include <algorithm>
#include <cstdio>

#include "bench.hpp"
#include "device/array.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

constexpr const char* kHelp =
    "fp32_peak measures how many fp32 multiply-adds per second one core can do in registers. It prints the best of "
    "many\n"
    "short measurements.\n";

struct Fp32PeakOptions {
  std::string isa = "auto";
  double seconds = 0.5;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("isa", isa, "instruction set, as in drl_train");
    v("seconds", seconds, "duration of the measurement", unit("s"), above(0));
    v("help", help, "print this text", letter('h'));
  }
};

void run(const Fp32PeakOptions& options) {
  constexpr int64_t kLanes = 16;      // fills registers of every instruction set
  constexpr int64_t kSteps = 100000;  // take at least 0.1 ms
  const std::unique_ptr<Queue> queue = make_host_queue(isa_of(options.isa));
  Array<float> out(*queue, kLanes);
  double best = 0;
  const double end = steady_seconds() + options.seconds;
  while (steady_seconds() < end) {
    const double start = steady_seconds();
    for_each(*queue, kLanes, MultiplyAdds{0.999f, 0.001f, kSteps, out.data()});
    best = std::max(best, static_cast<double>(kLanes * kSteps * MultiplyAdds::kSums) / (steady_seconds() - start));
  }
  std::printf("%.1f G multiply-adds/s, %s\n", best / 1e9, std::string(name_of(queue->isa())).c_str());
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::bench_main(argc, argv, drl::kHelp, drl::Fp32PeakOptions{}, drl::run); }
