#include "doctor/rank_facts.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cluster/machine.hpp"
#include "cluster/program_build.hpp"
#include "cluster/topology.hpp"
#include "nets/torch/blas.hpp"

namespace drl {
namespace {

struct Column {
  const char* heading;
  std::string RankFacts::*value;
};

// Columns that rise to a line of their own where all ranks agree.
constexpr Column kColumns[] = {{"GPU", &RankFacts::gpu},       {"UUID", &RankFacts::uuid},
                               {"PCI", &RankFacts::pci},       {"driver", &RankFacts::driver},
                               {"CUDA", &RankFacts::cuda},     {"NCCL", &RankFacts::nccl},
                               {"CPU", &RankFacts::cpu_model}, {"BLAS", &RankFacts::blas},
                               {"MPI", &RankFacts::mpi},       {"MPI threads", &RankFacts::thread_level},
                               {"build", &RankFacts::build}};

using Row = std::vector<std::string>;

std::string padded(std::string text, size_t width) { return text.append(width - std::min(width, text.size()), ' '); }

// "0-3" of first and last.
std::string span(int first, int last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

bool all_equal(const std::vector<RankFacts>& ranks, std::string RankFacts::*value) {
  return std::ranges::all_of(ranks, [&](const RankFacts& rank) { return rank.*value == ranks.front().*value; });
}

bool same_row(const RankFacts& a, const RankFacts& b) {
  if (a.host != b.host || a.device != b.device || a.cores != b.cores || b.rank != a.rank + 1 ||
      b.local_rank != a.local_rank + 1)
    return false;
  return std::ranges::all_of(kColumns, [&](const Column& column) { return a.*column.value == b.*column.value; });
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

std::string lines_of(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t k = 0; k < row.size(); ++k) line += "  " + padded(row[k], widths[k]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

RankFacts facts_of_this_rank(const LaunchInfo& launch, const Placement& placement) {
  const Machine machine = this_machine();
  const BlasLibrary blas = blas_library();
  RankFacts facts;
  facts.rank = launch.rank;
  facts.local_rank = launch.local_rank;
  facts.host = machine.host;
  facts.device = placement.device;
  facts.cpu_model = machine.cpu_model;
  facts.cores = machine.cores;
  facts.cpus = to_text(allowed_cpus());
  facts.blas = blas.name;
  facts.reference_blas = blas.reference;
  facts.mpi = mpi_version();
  facts.thread_level = mpi_thread_level();
  facts.build = program_build();
  return facts;
}

std::string table_of(const std::vector<RankFacts>& ranks) {
  std::vector<Row> common;
  std::vector<Column> columns;
  Row headings = {"ranks", "host", "local", "device", "cores", "CPUs"};
  for (const Column& column : kColumns) {
    if (!all_equal(ranks, column.value)) {
      columns.push_back(column);
      headings.push_back(column.heading);
    } else if (const std::string& value = ranks.front().*column.value; !value.empty()) {
      common.push_back({column.heading, value});
    }
  }
  std::vector<Row> rows = {headings};
  for (size_t first = 0, last; first < ranks.size(); first = last + 1) {
    for (last = first; last + 1 < ranks.size() && same_row(ranks[last], ranks[last + 1]);) ++last;
    rows.push_back(row_of(ranks, first, last, columns));
  }
  return (common.empty() ? "" : lines_of(common) + "\n") + lines_of(rows);
}

std::vector<HostRanks> hosts_of(const std::vector<std::string>& hosts_of_ranks) {
  std::vector<HostRanks> hosts;
  for (size_t rank = 0; rank < hosts_of_ranks.size(); ++rank) {
    auto host = std::ranges::find(hosts, hosts_of_ranks[rank], &HostRanks::name);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), HostRanks{hosts_of_ranks[rank], {}});
    host->ranks.push_back(static_cast<int>(rank));
  }
  return hosts;
}

}  // namespace drl
