#include "doctor/rank_facts.hpp"

#include <algorithm>

#include "base/build_id.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi_library.hpp"
#include "envs/task_libraries.hpp"
#include "gpu/vendor.hpp"
#include "nets/torch/torch_library.hpp"
#include "placement/gpu_vendors.hpp"
#include "placement/topology.hpp"
#include "report/format.hpp"

namespace drl {
namespace {

struct Column {
  const char* heading;
  std::string RankFacts::*value;
};

// Columns that become a line above the table if all ranks agree.
constexpr Column kColumns[] = {{"GPU", &RankFacts::gpu},
                               {"UUID", &RankFacts::uuid},
                               {"PCI", &RankFacts::pci},
                               {"driver", &RankFacts::driver},
                               {kGpuVendor.runtime, &RankFacts::cuda},
                               {kGpuVendor.collectives, &RankFacts::nccl},
                               {"CPU", &RankFacts::cpu_model},
                               {"BLAS", &RankFacts::blas},
                               {"MPI", &RankFacts::mpi},
                               {"MPI threads", &RankFacts::thread_level},
                               {"GTL", &RankFacts::gtl},
                               {"launcher", &RankFacts::launcher},
                               {"build", &RankFacts::build}};

using Row = TextRows::value_type;

// Returns "0-3", or "0" if first and last are equal.
std::string span(int first, int last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

bool same_row(const RankFacts& a, const RankFacts& b) {
  return a.host == b.host && a.device == b.device && a.cores == b.cores && b.rank == a.rank + 1 &&
         b.local_rank == a.local_rank + 1 &&
         std::ranges::all_of(kColumns, [&](const Column& column) { return a.*column.value == b.*column.value; });
}

Row row_of(const std::vector<RankFacts>& ranks, size_t first, size_t last, const std::vector<Column>& columns) {
  CpuSet cpus;
  for (size_t rank = first; rank <= last; ++rank) cpus |= cpus_of_text(ranks[rank].cpus);
  const RankFacts& one = ranks[first];
  Row row = {span(one.rank, ranks[last].rank), one.host,     span(one.local_rank, ranks[last].local_rank), one.device,
             std::to_string(one.cores),        to_text(cpus)};
  for (const Column& column : columns) row.push_back(one.*column.value);
  return row;
}

void add_torch_facts(RankFacts& facts) {
  if (!built_with_torch()) return;
  facts.torch_trouble = caught_usage_error([&] {
    const TorchFacts& torch = torch_library(1).facts();
    facts.blas = torch.blas, facts.reference_blas = torch.reference_blas;
  });
}

}  // namespace

RankFacts facts_of_this_rank(const LaunchInfo& launch, const Placement& placement, double load) {
  const Machine machine = this_machine();
  RankFacts facts;
  facts.rank = launch.rank, facts.local_rank = launch.local_rank;
  facts.host = host_name();
  facts.device = placement.device, facts.visible_gpus = placement.visible_gpus;
  facts.other_gpus = other_gpu_vendor();
  facts.cpu_model = machine.cpu_model;
  facts.cores = machine.cores, facts.cpus = to_text(allowed_cpus());
  add_torch_facts(facts);
  facts.mpi = mpi_version(), facts.thread_level = mpi_thread_level(), facts.gtl = gtl_text(process_environment());
  if (launch.launched()) facts.launcher = launch.launcher + " (" + launch.variables + ")";
  const std::string libraries = task_library_builds();
  facts.build = program_build() + (libraries.empty() ? "" : ", " + libraries);
  facts.load = load;
  return facts;
}

std::string gtl_text(const Environment& environment) {
  const auto value = environment("MPICH_GPU_SUPPORT_ENABLED");
  return value ? (*value == "0" ? "off" : "on") + std::string(" (MPICH_GPU_SUPPORT_ENABLED=") + *value + ")" : "";
}

std::string table_of(const std::vector<RankFacts>& ranks) {
  TextRows common;
  std::vector<Column> columns;
  Row headings = {"ranks", "host", "local", "device", "cores", "CPUs"};
  for (const Column& one : kColumns) {
    const std::string& value = ranks.front().*one.value;
    if (std::ranges::any_of(ranks, [&](const RankFacts& rank) { return rank.*one.value != value; })) {
      columns.push_back(one);
      headings.push_back(one.heading);
    } else if (!value.empty()) {
      common.push_back({one.heading, value});
    }
  }
  TextRows rows = {headings};
  for (size_t first = 0, last; first < ranks.size(); first = last + 1) {
    for (last = first; last + 1 < ranks.size() && same_row(ranks[last], ranks[last + 1]);) ++last;
    rows.push_back(row_of(ranks, first, last, columns));
  }
  return (common.empty() ? "" : table_text(common) + "\n") + table_text(rows);
}

}  // namespace drl
