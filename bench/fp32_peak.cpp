// Multiply-adds per second of one core: what no network can exceed.
#include "fp32_peak.hpp"

#include <algorithm>
#include <cstdio>

#include "bench.hpp"
#include "device/array.hpp"
#include "device/for_each.hpp"

namespace drl {
namespace {

constexpr const char* kHelp =
    "fp32_peak: the most fp32 multiply-adds per second that one core does, in registers alone. The best of many short "
    "parts.\n";

struct Fp32PeakOptions {
  std::string isa = "auto";
  double seconds = 0.5;
  bool help = false;

  void describe(OptionVisitor& v) {
    v("isa", isa, "instruction set, as drl_train takes it");
    v("seconds", seconds, "of the measurement", unit("s"), above(0));
    v("help", help, "this text", letter('h'));
  }
};

void run(const Fp32PeakOptions& options) {
  constexpr int64_t kLanes = 16, kRounds = 100000;  // whole registers of every instruction set; 0.1 ms or more
  const std::unique_ptr<Queue> queue = make_host_queue(isa_of(options.isa));
  Array<float> out(*queue, kLanes);
  double best = 0;
  const double end = now() + options.seconds;
  while (now() < end) {
    const double start = now();
    for_each(*queue, kLanes, MultiplyAdds{0.999f, 0.001f, kRounds, out.data()});
    best = std::max(best, static_cast<double>(kLanes * kRounds * MultiplyAdds::kSums) / (now() - start));
  }
  std::printf("%.1f G multiply-adds/s, %s\n", best / 1e9, std::string(name_of(queue->isa())).c_str());
}

}  // namespace
}  // namespace drl

int main(int argc, char** argv) { return drl::bench_main(argc, argv, drl::kHelp, drl::Fp32PeakOptions{}, drl::run); }
