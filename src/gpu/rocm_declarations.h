// Declarations of the parts of two public C interfaces that drl uses: rocBLAS (rocblas/rocblas.h) and RCCL
// (rccl/rccl.h, as of version 2.14). Debian 12 has no packages of these libraries. Only builds that do not find the
// libraries include this file, in order to compile drl's code for AMD GPUs; such a build cannot compute on a GPU.
#pragma once

#include <hip/hip_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

// ---- rocBLAS --------------------------------------------------------------------------------------------------------

typedef struct _rocblas_handle* rocblas_handle;
typedef int32_t rocblas_int;
typedef int64_t rocblas_stride;
typedef enum { rocblas_status_success = 0, rocblas_status_memory_error = 5 } rocblas_status;
typedef enum { rocblas_operation_none = 111, rocblas_operation_transpose = 112 } rocblas_operation;
typedef enum { rocblas_atomics_not_allowed = 0, rocblas_atomics_allowed = 1 } rocblas_atomics_mode;

const char* rocblas_status_to_string(rocblas_status status);
rocblas_status rocblas_create_handle(rocblas_handle* handle);
rocblas_status rocblas_destroy_handle(rocblas_handle handle);
rocblas_status rocblas_set_stream(rocblas_handle handle, hipStream_t stream);
rocblas_status rocblas_set_workspace(rocblas_handle handle, void* memory, size_t bytes);
rocblas_status rocblas_set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode mode);
rocblas_status rocblas_sgemm(rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b, rocblas_int m,
                             rocblas_int n, rocblas_int k, const float* alpha, const float* a, rocblas_int lda,
                             const float* b, rocblas_int ldb, const float* beta, float* c, rocblas_int ldc);
rocblas_status rocblas_sgemm_strided_batched(rocblas_handle handle, rocblas_operation op_a, rocblas_operation op_b,
                                             rocblas_int m, rocblas_int n, rocblas_int k, const float* alpha,
                                             const float* a, rocblas_int lda, rocblas_stride stride_a, const float* b,
                                             rocblas_int ldb, rocblas_stride stride_b, const float* beta, float* c,
                                             rocblas_int ldc, rocblas_stride stride_c, rocblas_int batch_count);

// ---- RCCL -----------------------------------------------------------------------------------------------------------

typedef struct ncclComm* ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;
typedef enum { ncclFloat = 7, ncclDouble = 8 } ncclDataType_t;
typedef enum { ncclSum = 0 } ncclRedOp_t;
typedef struct {
  size_t size;
  unsigned int magic, version;
  int blocking;
} ncclConfig_t;
#define NCCL_CONFIG_INITIALIZER \
  { sizeof(ncclConfig_t), 0xcafebeef, 21400, INT32_MIN }

ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, hipStream_t stream);

#if defined(__cplusplus)
}
#endif
