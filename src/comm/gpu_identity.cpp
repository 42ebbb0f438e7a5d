#include "comm/gpu_identity.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "comm/roll_call.hpp"

namespace drl {
namespace {

void refuse_differences(const std::vector<GpuIdentity>& ranks, std::string GpuIdentity::*fact,
                        const std::string& problem, const std::string& remedy) {
  std::vector<std::string> values = column(ranks, fact);
  if (groups_of(values).size() < 2) return;
  std::ranges::replace(values, std::string(), std::string("unknown"));
  throw UsageError(problem + " (" + values_with_ranks(values, column(ranks, &GpuIdentity::host)) + "): " + remedy);
}

// Returns one or two keys of a rank's GPU. Ranks on the same GPU have at least one key in common: two containers on one
// machine may have different host names, and two MIG devices of one GPU have different UUIDs.
std::vector<std::string> gpu_keys(const GpuIdentity& rank) {
  std::vector<std::string> all = {rank.host + '\n' + rank.pci};
  if (!rank.uuid.empty()) all.push_back(rank.uuid);
  return all;
}

void refuse_sharing(const std::vector<GpuIdentity>& ranks) {
  std::map<std::string, std::vector<int>> by_key;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const std::string& key : gpu_keys(ranks[rank])) by_key[key].push_back(static_cast<int>(rank));
  for (const GpuIdentity& gpu : ranks) {
    std::set<int> sharing;
    for (const std::string& key : gpu_keys(gpu)) sharing.insert(by_key[key].begin(), by_key[key].end());
    if (sharing.size() < 2) continue;
    throw UsageError(ranks_text({sharing.begin(), sharing.end()}, column(ranks, &GpuIdentity::host)) +
                     " would compute on the same GPU (" + gpu.gpu + ", " + gpu.pci +
                     (gpu.uuid.empty() ? "" : ", " + gpu.uuid) +
                     "): start one rank per GPU (srun --ntasks-per-node), and let each rank see all GPUs of its host "
                     "(srun --gpu-bind=none; check " +
                     kGpuVendor.slurm_list + ")");
  }
}

}  // namespace

void check_identities(const std::vector<GpuIdentity>& ranks, bool may_share) {
  refuse_differences(ranks, &GpuIdentity::build, "the ranks run different builds of drl",
                     "start the same installation of drl on all hosts");
  refuse_differences(ranks, &GpuIdentity::nccl, "the ranks use different versions of NCCL",
                     "load the same library on all hosts (check module list and LD_LIBRARY_PATH)");
  refuse_differences(ranks, &GpuIdentity::driver, "the hosts have different GPU drivers",
                     "exclude the hosts with one of the drivers (sbatch --exclude=HOST)");
  if (!may_share) refuse_sharing(ranks);
}

std::vector<size_t> first_ranks_of_gpus(const std::vector<GpuIdentity>& ranks) {
  std::vector<size_t> first;
  std::set<std::string> seen;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    bool is_new = true;
    for (const std::string& key : gpu_keys(ranks[rank])) is_new &= seen.insert(key).second;
    if (is_new) first.push_back(rank);
  }
  return first;
}

// The text is "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build"; the version is the
// first word that consists of digits and dots.
std::string driver_version(const std::string& proc_text) {
  std::istringstream words(proc_text);
  for (std::string word; words >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return "";
}

std::string nccl_version_text(int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); }

std::string runtime_version_text(int code, const GpuVendor& vendor) {
  return fmt::format("{}.{}", code / vendor.major_unit, code / vendor.minor_unit % 100);
}

}  // namespace drl
