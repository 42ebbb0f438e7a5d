#include "cluster/gpu_identity.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "cluster/roll_call.hpp"

namespace drl {
namespace {

using Member = std::string GpuIdentity::*;
constexpr Member kMembers[] = {&GpuIdentity::host,   &GpuIdentity::gpu,  &GpuIdentity::uuid, &GpuIdentity::pci,
                               &GpuIdentity::driver, &GpuIdentity::nccl, &GpuIdentity::build};

std::vector<std::string> hosts_of(const std::vector<GpuIdentity>& ranks) {
  std::vector<std::string> hosts;
  for (const GpuIdentity& rank : ranks) hosts.push_back(rank.host);
  return hosts;
}

// "2.28.9: ranks 0-3 on a; 2.27.3: ranks 4-7 on b"; empty if all have the same.
std::string differences(const std::vector<GpuIdentity>& ranks, Member member) {
  std::vector<std::pair<std::string, std::vector<int>>> by_value;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string& value = ranks[rank].*member;
    auto group = std::ranges::find(by_value, value, [](const auto& g) { return g.first; });
    if (group == by_value.end()) group = by_value.insert(by_value.end(), {value, {}});
    group->second.push_back(static_cast<int>(rank));
  }
  if (by_value.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [value, of_value] : by_value)
    parts.push_back((value.empty() ? "unknown" : value) + ": " + ranks_text(of_value, hosts_of(ranks)));
  return join(parts, "; ");
}

void refuse_differences(const std::vector<GpuIdentity>& ranks, Member member, const std::string& problem,
                        const std::string& remedy) {
  const std::string found = differences(ranks, member);
  if (!found.empty()) throw UsageError(problem + " (" + found + "): " + remedy);
}

// What two ranks on one GPU have in common: two containers of a machine may have different host names, and two parts
// (MIG) of a GPU different UUIDs.
std::vector<std::string> marks(const GpuIdentity& rank) {
  std::vector<std::string> all = {rank.host + '\n' + rank.pci};
  if (!rank.uuid.empty()) all.push_back(rank.uuid);
  return all;
}

void refuse_sharing(const std::vector<GpuIdentity>& ranks) {
  std::map<std::string, std::vector<int>> by_mark;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const std::string& mark : marks(ranks[rank])) by_mark[mark].push_back(static_cast<int>(rank));
  for (const GpuIdentity& gpu : ranks) {
    std::set<int> sharing;
    for (const std::string& mark : marks(gpu)) sharing.insert(by_mark[mark].begin(), by_mark[mark].end());
    if (sharing.size() < 2) continue;
    throw UsageError(ranks_text({sharing.begin(), sharing.end()}, hosts_of(ranks)) +
                     " would compute on the same GPU (" + gpu.gpu + ", " + gpu.pci +
                     (gpu.uuid.empty() ? "" : ", " + gpu.uuid) +
                     "): start as many ranks on a host as it has GPUs (srun --ntasks-per-node), and let each see all "
                     "of them (srun --gpu-bind=none, CUDA_VISIBLE_DEVICES)");
  }
}

}  // namespace

std::string GpuIdentity::to_text() const {
  std::string text;
  for (const Member member : kMembers) text += this->*member + '\n';
  return text;
}

GpuIdentity GpuIdentity::from_text(const std::string& text) {
  GpuIdentity identity;
  std::istringstream lines(text);
  for (const Member member : kMembers) std::getline(lines, identity.*member);
  return identity;
}

void check_identities(const std::vector<GpuIdentity>& ranks, bool may_share) {
  refuse_differences(ranks, &GpuIdentity::build, "the ranks run different builds of drl",
                     "start the same program on all hosts");
  refuse_differences(ranks, &GpuIdentity::nccl, "the ranks use different versions of NCCL",
                     "let all hosts load the same library (modules, LD_LIBRARY_PATH)");
  refuse_differences(ranks, &GpuIdentity::driver, "the hosts have different GPU drivers",
                     "leave out the hosts with one of them (sbatch --exclude)");
  if (!may_share) refuse_sharing(ranks);
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build": the first word of digits and
// dots.
std::string driver_version(const std::string& proc_text) {
  std::istringstream words(proc_text);
  for (std::string word; words >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return "";
}

std::string nccl_version_text(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

std::string cuda_version_text(int code) { return std::to_string(code / 1000) + "." + std::to_string(code / 10 % 100); }

}  // namespace drl
