find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(Boost REQUIRED COMPONENTS program_options)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C)

option(DRL_WITH_TORCH "Networks with layer norm, by libtorch (tests: against its autograd)" ON)
if(DRL_WITH_TORCH)
  if(NOT DEFINED TORCH_CUDA_ARCH_LIST AND NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
    set(TORCH_CUDA_ARCH_LIST 9.0)  # else a CUDA libtorch asks this machine's GPU, and fails on machines without one
  endif()
  # A CUDA libtorch changes what nvcc is told for the whole project.
  set(drl_cuda_flags "${CMAKE_CUDA_FLAGS}")
  set(drl_cuda_architectures "${CMAKE_CUDA_ARCHITECTURES}")
  set(CMAKE_CUDA_ARCHITECTURES)
  set(kineto_LIBRARY c10)  # stands for a static library that PyTorch's wheels lack: its absence is warned of
  find_package(Torch)
  if(NOT Torch_FOUND)
    message(FATAL_ERROR "libtorch is not found: tools/setup installs it, CMAKE_PREFIX_PATH may name another one, "
      "and -DDRL_WITH_TORCH=OFF does without it")
  endif()
  set(CMAKE_CUDA_FLAGS "${drl_cuda_flags}")
  set(CMAKE_CUDA_ARCHITECTURES "${drl_cuda_architectures}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # PyTorch's wheels export std::filesystem of another GCC, in which remove_all crashes: the first library wins.
    add_link_options("$<$<LINK_LANGUAGE:CXX>:LINKER:--push-state,--no-as-needed;-lstdc++;LINKER:--pop-state>")
  endif()
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${TORCH_INSTALL_PREFIX}" NORMALIZE torch_is_here)
endif()

add_library(drl_hdf5 INTERFACE)
target_include_directories(drl_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(drl_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
add_library(drl::hdf5 ALIAS drl_hdf5)

# No CMake package of its own, and pkg-config is not everywhere.
find_path(HWLOC_INCLUDE_DIR hwloc.h REQUIRED)
find_library(HWLOC_LIBRARY hwloc REQUIRED)
add_library(drl_hwloc INTERFACE)
target_include_directories(drl_hwloc SYSTEM INTERFACE ${HWLOC_INCLUDE_DIR})
target_link_libraries(drl_hwloc INTERFACE ${HWLOC_LIBRARY})
add_library(drl::hwloc ALIAS drl_hwloc)

# Robots; their library alone knows libmujoco.
set(DRL_WITH_MUJOCO "AUTO" CACHE STRING "Robots, computed by MuJoCo: AUTO (where it is found), ON or OFF")
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

# Films of robots and other tasks, drawn by MuJoCo.
set(DRL_FILMS OFF)
if(DRL_MUJOCO)
  find_package(PNG)
  find_package(GIF)
  if(PNG_FOUND AND GIF_FOUND)
    set(DRL_FILMS ON)
  else()
    message(STATUS "Films: none (libpng or giflib is not found)")
  endif()
endif()
