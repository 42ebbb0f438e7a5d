option(DRL_PCH "Precompile headers, which saves a quarter of the time to compile most units (Release, GCC)" OFF)

# drl_precompile(TARGET OPTIMIZATION HEADER...): lets a target include these headers in precompiled form. Targets with the
# same OPTIMIZATION and headers share them (with another one, GCC 12 crashes). Builds without DRL_PCH find missing #includes.
function(drl_precompile target optimization)
  if(NOT DRL_PCH OR NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  string(MAKE_C_IDENTIFIER "drl_pch${optimization}_${ARGC}" owner)
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${owner}.cpp CONTENT "")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/${owner}.cpp)
    target_link_libraries(${owner} PRIVATE drl_flags)
    if("<gtest/gtest.h>" IN_LIST ARGN)
      target_link_libraries(${owner} PRIVATE GTest::gtest)  # for its definitions
    endif()
    drl_cxx_options(${owner} PRIVATE ${optimization} -fpch-preprocess)
    target_precompile_headers(${owner} PRIVATE ${ARGN})
  endif()
  drl_cxx_options(${target} PRIVATE -fpch-preprocess -fPIC)  # for ccache; as the libraries
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
set(drl_standard_headers <algorithm> <array> <cmath> <cstdint> <cstdlib> <cstring> <filesystem> <fstream> <functional> <map>
  <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <utility> <vector>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND drl_standard_headers <immintrin.h>)
endif()

# drl_room(NAME [SOURCES file...] [DEPENDS target...]): adds the library drl_NAME of the directory src/NAME.
function(drl_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS" ${ARGN})
  if(ROOM_SOURCES)
    add_library(drl_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(drl_${name} PUBLIC drl_flags ${ROOM_DEPENDS})
    drl_precompile(drl_${name} ${CMAKE_CXX_FLAGS_RELEASE} ${drl_standard_headers})
  else()
    add_library(drl_${name} INTERFACE)
    target_link_libraries(drl_${name} INTERFACE drl_flags ${ROOM_DEPENDS})
  endif()
endfunction()

# drl_hot_sources(TARGET file...): adds translation units of loops over lanes, compiled once for each instruction set in
# drl/lanes/isa_list.hpp, or only for those in drl_isas_of_TARGET. They must contain no other functions: see
# device/hot_loop.hpp.
function(drl_hot_sources target)
  if(NOT DEFINED drl_isas_of_${target})
    set(drl_isas_of_${target} ${drl_isas})
  endif()
  foreach(isa ${drl_isas_of_${target}})
    string(REGEX MATCH "^([^=]*)=(.*)=(.*)$" matched ${isa})
    set(library ${target}_${CMAKE_MATCH_1})
    add_library(${library} OBJECT ${ARGN})
    target_link_libraries(${library} PRIVATE drl_flags)
    target_compile_definitions(${library} PRIVATE DRL_ISA=${CMAKE_MATCH_1} DRL_LANES=${CMAKE_MATCH_3})
    set_property(GLOBAL APPEND PROPERTY DRL_HOT_UNITS ${library}=${CMAKE_MATCH_1})
    set_target_properties(${library} PROPERTIES DRL_MACHINE "${CMAKE_MATCH_2}")
    if(DRL_SANITIZE)  # these take minutes to compile; the sanitizers check the same functions in tests/gpu
      drl_cxx_options(${library} PRIVATE -fno-sanitize=all)
    endif()
    drl_cxx_options(${library} PRIVATE -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized -Wdouble-promotion)  # GCC bug 105593
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
endfunction()

# drl_hot_sources_use(TARGET library...): links the hot sources of TARGET with these libraries too.
function(drl_hot_sources_use target)
  foreach(isa ${drl_isas})
    string(REGEX MATCH "^([^=]*)=" matched ${isa})
    if(TARGET ${target}_${CMAKE_MATCH_1})
      target_link_libraries(${target}_${CMAKE_MATCH_1} PRIVATE ${ARGN})
    endif()
  endforeach()
endfunction()

# drl_robot_sources(TARGET file...): like drl_hot_sources. With DRL_ISAS=native, however, the units are only compiled for
# this machine's instruction set, because robots take long to compile.
function(drl_robot_sources target)
  set(drl_isas_of_${target} ${drl_robot_isas})
  drl_hot_sources(${target} ${ARGN})
  drl_list_isas(compiled ${drl_robot_isas})
  target_compile_definitions(${target} PRIVATE "DRL_COMPILED_ISAS=\"${compiled}\"")
endfunction()

# drl_gpu_sources(TARGET file...): adds units for the GPU's compiler (.cu) to a target. An object library passes those of
# hipcc on to the targets that link it.
function(drl_gpu_sources target)
  if(DRL_CUDA)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  drl_hip_objects(objects ${target} ${target}_hip ${ARGN}
    OPTIONS -Wall -Wextra -Wno-parentheses -Wno-bitwise-instead-of-logical)
  get_target_property(type ${target} TYPE)
  set(scope PRIVATE)
  if(type STREQUAL "OBJECT_LIBRARY")
    set(scope INTERFACE)
  endif()
  target_sources(${target} ${scope} ${objects})
  add_dependencies(${target} ${target}_hip)
endfunction()

# drl_literals(TARGET ROOM/HEADER.hpp NAME=FILE...): TARGET can include this header, in which each NAME is the text of a file.
function(drl_literals target header)
  set(text "#pragma once\n\nnamespace drl {\n\n")
  foreach(entry ${ARGN})
    string(REPLACE "=" ";" entry ${entry})
    list(POP_FRONT entry name file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    string(APPEND text "inline constexpr char ${name}[] = R\"DRL_FILE(${content})DRL_FILE\";\n")
  endforeach()
  string(APPEND text "\n}  // namespace drl\n")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/literals/${header} CONTENT "@text@" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/literals)
endfunction()

# drl_program(NAME SOURCES file... [DEPENDS target...]): adds a program and installs it.
set(DRL_TEST_BIN ${PROJECT_BINARY_DIR}/bin)  # where tests find programs
if(CMAKE_CROSSCOMPILING_EMULATOR)
  set(DRL_TEST_BIN ${PROJECT_BINARY_DIR}/emulated)  # scripts that start the programs in the emulator and have their names
endif()
function(drl_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE ${PROGRAM_DEPENDS})
  drl_precompile(${name} ${CMAKE_CXX_FLAGS_RELEASE} ${drl_standard_headers})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_property(GLOBAL APPEND PROPERTY DRL_PROGRAMS ${name})
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    string(JOIN " " emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
    file(GENERATE OUTPUT ${DRL_TEST_BIN}/$<TARGET_FILE_NAME:${name}> CONTENT "#!/bin/sh\nexec ${emulator} $<TARGET_FILE:${name}> \"\$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
endfunction()

# drl_optimize_test(NAME): compiles a test program with DRL_TEST_OPTIMIZATION, which saves time and changes no numbers.
function(drl_optimize_test name)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    drl_cxx_options(${name} PRIVATE ${DRL_TEST_OPTIMIZATION})
  endif()
endfunction()

# drl_without_sanitizers(NAME): for tests that only start programs. The sanitizers check the programs, and the test itself
# compiles in a third of the time without them. Defines DRL_SANITIZER, the name of the programs' sanitizer.
function(drl_without_sanitizers name)
  if(DRL_SANITIZE)
    drl_cxx_options(${name} PRIVATE -fno-sanitize=all)
    target_compile_definitions(${name} PRIVATE DRL_SANITIZER="${DRL_SANITIZE}")
  endif()
endfunction()

# drl_test(NAME LABEL [EACH] [RANKS n...] [SHARDS n] [WITHOUT pattern] SOURCES file... [DEPENDS target...] [PROGRAMS target...]): adds
# a GoogleTest program, and runs its cases as drl_cases(NAME LABEL [EACH]) does, except those that match WITHOUT. With
# RANKS, the suites whose names contain OnRanks run only on these numbers of MPI ranks. PROGRAMS are built with it.
function(drl_test name label)
  cmake_parse_arguments(TEST "EACH" "WITHOUT;SHARDS" "RANKS;SOURCES;DEPENDS;PROGRAMS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  if(TEST_RANKS)
    target_link_libraries(${name} PRIVATE drl_mpi_main)
    list(APPEND TEST_WITHOUT "*OnRanks*")
  endif()
  target_link_libraries(${name} PRIVATE ${TEST_DEPENDS} drl_test_paths GTest::gtest GTest::gtest_main)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(physics|robots)$")
    target_compile_definitions(${name} PRIVATE DRL_TEST_DATA="${PROJECT_SOURCE_DIR}/tests" DRL_BIN="${DRL_TEST_BIN}")
  endif()
  drl_optimize_test(${name})
  if(TEST_DEPENDS MATCHES "drl_" AND NOT "torch" IN_LIST TEST_DEPENDS)  # else it has other flags or definitions
    drl_precompile(${name} ${DRL_TEST_OPTIMIZATION} ${drl_standard_headers} <gtest/gtest.h>)
  endif()
  if(TEST_PROGRAMS)
    add_dependencies(${name} ${TEST_PROGRAMS})
  endif()
  if(label STREQUAL gpu)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  set(each "")
  if(TEST_EACH)
    set(each EACH)
  endif()
  string(JOIN ":" without ${TEST_WITHOUT})
  drl_cases(${name} ${label} ${each} SHARDS "${TEST_SHARDS}" FILTER "-${without}")
  if(NOT TEST_RANKS)
    return()
  elseif(NOT label STREQUAL gpu)
    set(label mpi)
  endif()
  drl_cases(${name} ${label} RANKS ${TEST_RANKS} FILTER "*OnRanks*")
endfunction()

# drl_cases(NAME LABEL [EACH] [RANKS n...] [SHARDS n] [AS name] [PROCESSORS n] FILTER pattern): ctest runs the cases of the program
# NAME that match FILTER. By default it runs all of them in one process, because starting a program takes longer than
# most cases. With SHARDS, this many processes share them, which can run at once. With EACH, every case is a test of
# ctest: for cases that start programs, or change what others read. With RANKS, they run once for each of these numbers of
# MPI ranks. AS: the name of the test in ctest, by default NAME.
function(drl_cases name label)
  cmake_parse_arguments(CASES "EACH" "AS;PROCESSORS;SHARDS;FILTER" "RANKS" ${ARGN})
  set(seconds 120)
  if(DRL_SANITIZE)
    set(seconds 900)  # emulated kernels are 10 times as slow with sanitizers
  endif()
  math(EXPR all_seconds "5 * ${seconds}")
  add_dependencies(${label}_tests ${name})
  if(NOT CASES_AS)
    set(CASES_AS ${name})
  endif()
  if(NOT CASES_PROCESSORS)
    set(CASES_PROCESSORS 1)
  endif()
  set(arguments --gtest_brief=1 "--gtest_filter=${CASES_FILTER}")
  foreach(ranks ${CASES_RANKS})
    add_test(NAME ${CASES_AS}.${ranks}_ranks COMMAND ${PROJECT_SOURCE_DIR}/tests/mpirun_test ${MPIEXEC_EXECUTABLE} ${ranks}
      $<TARGET_FILE:${name}> ${arguments})
    set_tests_properties(${CASES_AS}.${ranks}_ranks PROPERTIES LABELS ${label} PROCESSORS ${ranks} TIMEOUT ${seconds})
  endforeach()
  if(CASES_EACH)
    gtest_discover_tests(${name} TEST_PREFIX ${CASES_AS}. TEST_FILTER "${CASES_FILTER}" PROPERTIES LABELS ${label}
      PROCESSORS ${CASES_PROCESSORS} TIMEOUT ${seconds} DISCOVERY_TIMEOUT 60)
  elseif(CASES_SHARDS)
    math(EXPR last "${CASES_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${CASES_AS}.${shard} COMMAND ${name} ${arguments})
      set_tests_properties(${CASES_AS}.${shard} PROPERTIES LABELS ${label} PROCESSORS ${CASES_PROCESSORS} TIMEOUT ${all_seconds}
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${CASES_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  elseif(NOT CASES_RANKS)
    add_test(NAME ${CASES_AS} COMMAND ${name} ${arguments})
    set_tests_properties(${CASES_AS} PROPERTIES LABELS ${label} PROCESSORS ${CASES_PROCESSORS} TIMEOUT ${all_seconds})
  endif()
endfunction()

include(GoogleTest)
