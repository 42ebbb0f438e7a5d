# Sets DRL_CUDA to ON or OFF. By default, drl is built with GPU support if nvcc and NCCL are found.
set(DRL_WITH_CUDA AUTO CACHE STRING "Compute on NVIDIA GPUs: ON, OFF, or AUTO (if nvcc and NCCL are found)")
set(DRL_CUDA_ARCHITECTURES "" CACHE STRING "GPU generations to compile for, e.g. 80;90 (default: 80, 90, 100, 120, and later ones by PTX)")

set(DRL_CUDA OFF)
if(DRL_WITH_CUDA AND NOT DRL_HIP)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)  # looks again, because a module may have been loaded in the meantime
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit QUIET)
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV NCCL_ROOT PATH_SUFFIXES include)
    find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ENV NCCL_ROOT PATH_SUFFIXES lib lib64)
  endif()
  set(trouble "")
  if(NOT CMAKE_CUDA_COMPILER)
    set(trouble "nvcc is not found")
  elseif(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cublas)
    set(trouble "${CMAKE_CUDA_COMPILER} is found, but not its toolkit with cuBLAS")
  elseif(CUDAToolkit_VERSION VERSION_LESS 12)
    set(trouble "CUDA is ${CUDAToolkit_VERSION}, but C++20 needs CUDA 12")
  elseif(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
    set(trouble "NCCL is not found")
  endif()
  if(NOT trouble)
    set(DRL_CUDA ON)
  elseif(DRL_WITH_CUDA STREQUAL "AUTO")
    list(APPEND drl_notes "No GPU support, because ${trouble} (-DDRL_WITH_CUDA=ON requires it, OFF removes this line)")
  else()
    message(FATAL_ERROR "DRL_WITH_CUDA=${DRL_WITH_CUDA} is not possible (${trouble}): load the modules of CUDA and NCCL, or set "
      "CMAKE_CUDA_COMPILER and NCCL_ROOT, or build for CPUs with -DDRL_WITH_CUDA=OFF")
  endif()
endif()

if(DRL_CUDA)
  if(NOT DRL_CUDA_ARCHITECTURES)
    # Compiles code for A100, H100, B200 and RTX 5090, as far as nvcc knows them, and PTX of H100 and of the newest GPU
    # that nvcc knows. The driver compiles PTX for later GPUs.
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX MATCHALL "[0-9]+" known "${known}")
    list(SORT known COMPARE NATURAL)
    list(GET known -1 newest)
    set(DRL_CUDA_ARCHITECTURES 80-real 90)
    foreach(gpu 100 120)
      if(gpu IN_LIST known)
        list(APPEND DRL_CUDA_ARCHITECTURES ${gpu}-real)
      endif()
    endforeach()
    list(APPEND DRL_CUDA_ARCHITECTURES ${newest}-virtual)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${DRL_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # CMake would also link the static runtime, so that a program had two runtimes
  enable_language(CUDA)
  message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION}, for ${DRL_CUDA_ARCHITECTURES}; NCCL: ${NCCL_LIBRARY}")
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # older CMake does not know that nvcc supports C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3")
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -g -lineinfo")
  # -fmad=false and -ffp-contract=off: a*b+c is rounded twice, as on the host.
  target_compile_options(drl_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;--expt-relaxed-constexpr;-Werror=cross-execution-space-call;-Xcompiler=-Wall,-Wextra,-Wno-parentheses,-ffp-contract=off>")

  add_library(drl_cuda INTERFACE)
  target_include_directories(drl_cuda SYSTEM INTERFACE ${NCCL_INCLUDE_DIR})
  target_link_libraries(drl_cuda INTERFACE CUDA::cudart)
  target_compile_definitions(drl_cuda INTERFACE DRL_GPU_SUPPORT=1)
  add_library(drl::gpu_runtime ALIAS drl_cuda)
  set(DRL_GPU_LIBRARIES CUDA::cublas ${NCCL_LIBRARY})  # which src/gpu/plugin.cpp links
endif()

# DRL_GPU is ON if drl is built for GPUs, of NVIDIA or AMD. drl::gpu_runtime is the runtime library of these GPUs.
set(DRL_GPU OFF)
if(DRL_CUDA OR DRL_HIP)
  set(DRL_GPU ON)
endif()
