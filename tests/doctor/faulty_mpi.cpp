// Library for LD_PRELOAD that plants the fault named by the environment variable FAULT and replaces the host's name by
// HOST_NAME. If FAULT is the name of an MPI call below, other than MPI_Init_thread and MPI_Finalize, that call fails.
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool fault_is(const char* name) {
  const char* fault = std::getenv("FAULT");
  return fault && std::string(fault) == name;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// FAULT=stop stops the process as soon as MPI has started, as a debugger or a dying node does. FAULT=terminate sends
// SIGTERM while MPI starts.
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (fault_is("terminate")) raise(SIGTERM);
  const int result = real<decltype(MPI_Init_thread)>("MPI_Init_thread")(argc, argv, required, provided);
  if (fault_is("stop")) kill(getpid(), SIGSTOP);
  return result;
}

// FAULT=wrong_sum changes the first number of the data. FAULT=lost waits for a message that nobody sends.
int MPI_Iallreduce(const void* send, void* data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  static int never;
  if (fault_is("MPI_Iallreduce")) return MPI_ERR_OTHER;
  if (fault_is("lost")) return MPI_Irecv(&never, 1, MPI_INT, 0, 4711, comm, request);
  if (fault_is("wrong_sum")) *static_cast<float*>(data) += 1;
  return real<decltype(MPI_Iallreduce)>("MPI_Iallreduce")(send, data, count, type, op, comm, request);
}

int MPI_Allreduce(const void* send, void* data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (fault_is("MPI_Allreduce")) return MPI_ERR_OTHER;
  return real<decltype(MPI_Allreduce)>("MPI_Allreduce")(send, data, count, type, op, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  if (fault_is("MPI_Isend")) return MPI_ERR_OTHER;
  return real<decltype(MPI_Isend)>("MPI_Isend")(data, count, type, to, tag, comm, request);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* there, MPI_Status* status) {
  if (fault_is("MPI_Iprobe")) return MPI_ERR_OTHER;
  return real<decltype(MPI_Iprobe)>("MPI_Iprobe")(from, tag, comm, there, status);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (fault_is("MPI_Recv")) return MPI_ERR_OTHER;
  return real<decltype(MPI_Recv)>("MPI_Recv")(data, count, type, from, tag, comm, status);
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  if (fault_is("MPI_Test")) return MPI_ERR_OTHER;
  return real<decltype(MPI_Test)>("MPI_Test")(request, done, status);
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* group) {
  if (fault_is("MPI_Comm_split")) return MPI_ERR_OTHER;
  return real<decltype(MPI_Comm_split)>("MPI_Comm_split")(comm, colour, key, group);
}

int gethostname(char* name, size_t size) noexcept {
  const char* other = std::getenv("HOST_NAME");
  if (!other) return real<int(char*, size_t)>("gethostname")(name, size);
  std::strncpy(name, other, size);
  return 0;
}

// FAULT=no_end never returns.
int MPI_Finalize() {
  while (fault_is("no_end")) pause();
  return real<decltype(MPI_Finalize)>("MPI_Finalize")();
}

}  // extern "C"
