if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is GCC ${CMAKE_CXX_COMPILER_VERSION} (drl needs GCC 11 or newer, for C++20): load a module of "
    "a newer one, or install one (dnf install gcc-toolset-12, zypper install gcc12-c++) and set CC and CXX; then configure in an empty directory")
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# There is no -DNDEBUG, so that assertions stay on.
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")

add_library(drl_flags INTERFACE)
# drl_cxx_options(TARGET SCOPE OPTION...): adds options for the C++ compiler, which nvcc would not understand.
function(drl_cxx_options target scope)
  target_compile_options(${target} ${scope} "$<$<COMPILE_LANGUAGE:CXX>:${ARGN}>")
endfunction()

include(DrlTaskLibrary)
drl_cxx_options(drl_flags INTERFACE -Wall -Wextra ${DRL_FLOAT_FLAGS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  drl_cxx_options(drl_flags INTERFACE -Wno-restrict)  # false positives on "literal" + std::string, GCC bug 105651
endif()
target_include_directories(drl_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

# Programs that are built on a login node must run on compute nodes, so they are compiled for a common baseline. Hot
# loops are also compiled for AVX2 and AVX-512, and choose at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  drl_cxx_options(drl_flags INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:DRL_MACHINE>>,-march=$<TARGET_PROPERTY:DRL_MACHINE>,-march=x86-64-v2>)
endif()

if(DRL_SANITIZE STREQUAL "thread")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=thread;-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=thread)
elseif(DRL_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-omit-frame-pointer;-fno-sanitize-recover=undefined;-Wno-maybe-uninitialized>")  # GCC's manual says that this warning has false positives under sanitizers
  add_link_options(-fsanitize=address,undefined)
endif()

# Installed programs find libraries outside the system's directories, and an installation can be moved.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
