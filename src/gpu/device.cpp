#include "gpu/device.hpp"

#include <thread>

#include "base/text.hpp"

namespace drl::gpu {

void check(gpuError_t status, const char* call) {
  if (status == gpuSuccess) return;
  throw Error(std::string("the GPU failed (") + gpuGetErrorName(status) + ": " + gpuGetErrorString(status) + ", in " +
              call + "): drl_doctor examines the node's GPUs; the last checkpoint is from before");
}

void check(gpublasStatus_t status, const char* call) {
  if (status == GPUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string("the GPU's matrix product failed (") + gpublasGetStatusString(status) + ", in " + call +
              "): drl_doctor examines the node's GPUs; the last checkpoint is from before");
}

void* allocate(size_t bytes) {
  void* memory = nullptr;
  if (gpuMalloc(&memory, bytes) == gpuSuccess) return memory;
  (void)gpuGetLastError();
  size_t free = 0, total = 0;
  (void)gpuMemGetInfo(&free, &total);
  throw Error(
      "no GPU memory for " + human_bytes(static_cast<double>(bytes)) + " (" + human_bytes(static_cast<double>(free)) +
      " of " + human_bytes(static_cast<double>(total)) +
      " are free): use fewer environments (--num_envs) or shorter rollouts (--num_steps_per_env), or a GPU that "
      "no other program uses");
}

bool has_ended(gpuError_t status, const char* call) {
  if (status == gpuErrorNotReady) {
    (void)gpuGetLastError();  // some versions keep it, and the next launch would be blamed
    return false;
  }
  check(status, call);
  return true;
}

void synchronize(const Stream& stream) {
  while (!has_ended(gpuStreamQuery(stream.get()), "gpuStreamQuery")) std::this_thread::yield();
}

void Graph::begin(const Stream& stream) {
  DRL_GPU(gpuStreamBeginCapture(stream.get(), gpuStreamCaptureModeThreadLocal));
}

void Graph::abandon(const Stream& stream) {
  gpuGraph_t graph{};
  (void)gpuStreamEndCapture(stream.get(), &graph);
  if (graph) (void)gpuGraphDestroy(graph);
  (void)gpuGetLastError();
}

void Graph::end(const Stream& stream) {
  gpuGraph_t graph{};
  DRL_GPU(gpuStreamEndCapture(stream.get(), &graph));
  clear();
  const gpuError_t status = gpuGraphInstantiateWithFlags(&graph_, graph, 0);
  (void)gpuGraphDestroy(graph);
  check(status, "gpuGraphInstantiateWithFlags");
  captured_ = true;
}

void Graph::clear() {
  if (captured_) (void)gpuGraphExecDestroy(graph_);
  captured_ = false;
}

void StateMirror::fetch(const Stream& stream, Sharding sharding) {
  for (Block& block : blocks_)
    if (block.sharding == sharding)
      copy_to_host(stream, block.host.data(), static_cast<const std::byte*>(block.device), block.host.size());
}

void StateMirror::push(const Stream& stream) {
  for (Block& block : blocks_)
    copy_to_device(stream, static_cast<std::byte*>(block.device), block.host.data(), block.host.size());
}

}  // namespace drl::gpu
