find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(Boost REQUIRED COMPONENTS program_options)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C)

option(DRL_WITH_TORCH "libtorch for --nets torch, for CPUs without fused multiply-add, and as the reference of tests" ON)
if(DRL_WITH_TORCH)
  if(NOT DEFINED TORCH_CUDA_ARCH_LIST AND NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
    set(TORCH_CUDA_ARCH_LIST 9.0)  # else a CUDA libtorch detects this machine's GPU, and fails if there is none
  endif()
  # A CUDA libtorch changes nvcc's options for the whole project. They are restored below.
  set(drl_cuda_flags "${CMAKE_CUDA_FLAGS}")
  set(drl_cuda_architectures "${CMAKE_CUDA_ARCHITECTURES}")
  set(CMAKE_CUDA_ARCHITECTURES)
  set(kineto_LIBRARY c10)  # avoids a warning that PyTorch's wheels lack this static library
  find_package(Torch)
  if(NOT Torch_FOUND)
    message(FATAL_ERROR "libtorch is not found: install it (tools/setup does), or add its directory to CMAKE_PREFIX_PATH, "
      "or build without it (-DDRL_WITH_TORCH=OFF)")
  endif()
  set(CMAKE_CUDA_FLAGS "${drl_cuda_flags}")
  set(CMAKE_CUDA_ARCHITECTURES "${drl_cuda_architectures}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # PyTorch's wheels export the std::filesystem of another GCC, whose remove_all crashes here. Links libstdc++ first.
    add_link_options("$<$<LINK_LANGUAGE:CXX>:LINKER:--push-state,--no-as-needed;-lstdc++;LINKER:--pop-state>")
  endif()
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${TORCH_INSTALL_PREFIX}" NORMALIZE torch_is_here)
endif()

add_library(drl_hdf5 INTERFACE)
target_include_directories(drl_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(drl_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
add_library(drl::hdf5 ALIAS drl_hdf5)

# hwloc has no CMake package, and pkg-config is not always installed.
find_path(HWLOC_INCLUDE_DIR hwloc.h REQUIRED)
find_library(HWLOC_LIBRARY hwloc REQUIRED)
add_library(drl_hwloc INTERFACE)
target_include_directories(drl_hwloc SYSTEM INTERFACE ${HWLOC_INCLUDE_DIR})
target_link_libraries(drl_hwloc INTERFACE ${HWLOC_LIBRARY})
add_library(drl::hwloc ALIAS drl_hwloc)

# Robots need MuJoCo.
set(DRL_WITH_MUJOCO "AUTO" CACHE STRING "Robots, which need MuJoCo: ON, OFF, or AUTO (if it is found)")
set(DRL_MUJOCO OFF)
if(DRL_WITH_MUJOCO)
  drl_find_mujoco(trouble)
  if(NOT trouble)
    set(DRL_MUJOCO ON)
  elseif(DRL_WITH_MUJOCO STREQUAL "AUTO")
    message(STATUS "Robots: none (${trouble})")
  else()
    message(FATAL_ERROR "DRL_WITH_MUJOCO=${DRL_WITH_MUJOCO} is not possible (${trouble})")
  endif()
endif()

# MuJoCo draws the videos of robots and other tasks.
set(DRL_FILMS OFF)
if(DRL_MUJOCO)
  find_package(PNG)
  find_package(GIF)
  if(PNG_FOUND AND GIF_FOUND)
    set(DRL_FILMS ON)
  else()
    message(STATUS "Videos: none (libpng or giflib is not found)")
  endif()
endif()
