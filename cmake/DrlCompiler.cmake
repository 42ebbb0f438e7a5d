set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Without -DNDEBUG: checks stay on.
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")

add_library(drl_flags INTERFACE)
# drl_cxx_options(TARGET SCOPE OPTION...): options of the C++ compiler, which nvcc does not understand.
function(drl_cxx_options target scope)
  target_compile_options(${target} ${scope} "$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>")
endfunction()

include(DrlTaskLibrary)
drl_cxx_options(drl_flags INTERFACE -Wall -Wextra ${DRL_FLOAT_FLAGS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  drl_cxx_options(drl_flags INTERFACE -Wno-restrict)  # false alarms on "literal" + std::string, GCC bug 105651
endif()
target_include_directories(drl_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

# What is built on a login node runs on compute nodes: a common baseline, and hot loops choose AVX2 or AVX-512 at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  drl_cxx_options(drl_flags INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:DRL_MACHINE>>,-march=$<TARGET_PROPERTY:DRL_MACHINE>,-march=x86-64-v2>)
endif()

if(DRL_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-omit-frame-pointer;-fno-sanitize-recover=undefined;-Wno-maybe-uninitialized>")  # false alarms under sanitizers, which GCC's manual announces
  add_link_options(-fsanitize=address,undefined)
endif()

# Programs find libraries outside the system's folders, and an installed tree can be moved.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
