# Messages about packages that are not found. Each is one line with the package's names.

# drl_names(OUT PACKAGE): sets OUT to the line for PACKAGE.
function(drl_names out package)
  set(MPI "libopenmpi-dev openmpi-bin" openmpi-devel openmpi4-devel OpenMPI openmpi)
  set(Boost.Program_options libboost-program-options-dev boost-devel libboost_program_options-devel Boost boost)
  set(fmt libfmt-dev fmt-devel fmt-devel fmt fmt)
  set(spdlog libspdlog-dev spdlog-devel spdlog-devel spdlog spdlog)
  set(nlohmann-json nlohmann-json3-dev json-devel nlohmann_json-devel nlohmann_json nlohmann-json)
  set(HDF5 libhdf5-dev hdf5-devel hdf5-devel HDF5 hdf5)
  set(hwloc libhwloc-dev hwloc-devel hwloc-devel hwloc hwloc)
  set(GoogleTest libgtest-dev gtest-devel gtest googletest googletest)
  set(libpng libpng-dev libpng-devel libpng16-devel libpng libpng)
  set(giflib libgif-dev giflib-devel giflib-devel giflib giflib)
  list(GET ${package} 0 apt)
  list(GET ${package} 1 dnf)
  list(GET ${package} 2 zypper)
  list(GET ${package} 3 easybuild)
  list(GET ${package} 4 spack)
  set(${out} "${package}: apt install ${apt} | dnf install ${dnf} | zypper install ${zypper} | module load ${easybuild} (EasyBuild), ${spack} (Spack)" PARENT_SCOPE)
endfunction()

# drl_need(PACKAGE FOUND): if FOUND is false, remembers that PACKAGE is missing.
macro(drl_need package)
  if(NOT (${ARGN}))
    drl_names(line ${package})
    string(APPEND drl_missing "\n  ${line}")
  endif()
endmacro()

# Ends with an error that lists all missing packages.
function(drl_require_packages)
  if(drl_missing)
    message(FATAL_ERROR "packages are missing (or are where CMake does not look): install them, or load their modules, "
      "or add their directories to CMAKE_PREFIX_PATH:${drl_missing}")
  endif()
endfunction()
