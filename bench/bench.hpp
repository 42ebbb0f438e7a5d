// Shared code of the benchmarks: options, the measured device, times.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/options.hpp"
#include "device/gpu_queue.hpp"
#include "device/queue.hpp"
#include "placement/device.hpp"

namespace drl {

// Returns the processor time of this thread in seconds.
inline double thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
inline double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

// Returns the CUDA index of the GPU selected by --device, or -1 for the CPU. Throws UsageError if it does not exist.
inline int chosen_gpu(const std::string& device) {
  const Environment environment = process_environment();
  const DeviceChoice choice =
      choose_device(device, "", visible_gpus(environment), device == "cpu" ? CudaSupport{} : cuda_support());
  if (!choice.cuda) return -1;
  const int gpu = choice.gpus.indices.front();
  use_gpu(gpu);
  return gpu;
}

// Makes a queue of the GPU that chosen_gpu returned, or of the host for -1.
inline std::unique_ptr<Queue> make_queue(int gpu) {
#ifdef DRL_GPU_SUPPORT
  if (gpu >= 0) return make_gpu_queue(isa_of("auto"));
#endif
  DRL_CHECK(gpu < 0, "a GPU was chosen in a build without GPU support");
  return make_host_queue(isa_of("auto"));
}

// Implements a benchmark's main: reads options from the command line, prints errors in one line, and returns the exit
// codes of drl_train.
template <class Options>
int bench_main(int argc, char** argv, const char* usage, Options options, void (*run)(const Options&)) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a benchmark that is killed leaves the lines that it has printed
  try {
    OptionTable table;
    table.section("", "Benchmark", options);
    table.apply_command_line({argv + 1, argv + argc});
    if (options.help) {
      options.help = false;  // the help text should show the default
      return std::printf("%s\n%s", usage, table.help().c_str()), kDone;
    }
    run(options);
    return kDone;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kFailure;
  }
}

}  // namespace drl
