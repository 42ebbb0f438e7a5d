// Loaded before MPI (LD_PRELOAD): one fault, which FAULT names, and another host's name, HOST_NAME.
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

// stop: the process stops as soon as MPI has started, as in a debugger or on a dying node.
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = real<decltype(MPI_Init_thread)>("MPI_Init_thread")(argc, argv, required, provided);
  if (fault_is("stop")) kill(getpid(), SIGSTOP);
  return result;
}

// wrong_sum: another first number takes part. lost: what never comes is waited for.
int MPI_Iallreduce(const void* send, void* data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  static int never;
  if (fault_is("lost")) return MPI_Irecv(&never, 1, MPI_INT, 0, 4711, comm, request);
  if (fault_is("wrong_sum")) *static_cast<float*>(data) += 1;
  return real<decltype(MPI_Iallreduce)>("MPI_Iallreduce")(send, data, count, type, op, comm, request);
}

// no_groups: the call fails.
int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* group) {
  if (fault_is("no_groups")) return MPI_ERR_OTHER;
  return real<decltype(MPI_Comm_split)>("MPI_Comm_split")(comm, colour, key, group);
}

int gethostname(char* name, size_t size) noexcept {
  const char* other = std::getenv("HOST_NAME");
  if (!other) return real<int(char*, size_t)>("gethostname")(name, size);
  std::strncpy(name, other, size);
  return 0;
}

// no_end
int MPI_Finalize() {
  while (fault_is("no_end")) pause();
  return real<decltype(MPI_Finalize)>("MPI_Finalize")();
}

}  // extern "C"
