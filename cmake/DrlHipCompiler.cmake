# Compiles units for AMD GPUs with hipcc, which is not a compiler of CMake's. CMake's language HIP is not used: it does not
# accept the directories of Debian's packages, and it inlines all functions, also those that are too large (DRL_HD_CALLED).

# drl_find_hip(TROUBLE): finds hipcc (DRL_HIPCC), the directory of ROCm (drl_rocm_root) and the runtime (DRL_HIP_INCLUDE_DIR,
# DRL_HIP_LIBRARY). Sets TROUBLE to what is missing; "" is nothing.
macro(drl_find_hip trouble)
  find_program(DRL_HIPCC hipcc HINTS ENV ROCM_PATH ENV HIP_PATH PATHS /opt/rocm PATH_SUFFIXES bin)
  set(${trouble} "hipcc is not found")
  if(DRL_HIPCC)
    get_filename_component(drl_rocm_root ${DRL_HIPCC} REALPATH)
    get_filename_component(drl_rocm_root ${drl_rocm_root}/../.. ABSOLUTE)
    find_path(DRL_HIP_INCLUDE_DIR hip/hip_runtime_api.h HINTS ${drl_rocm_root} ENV ROCM_PATH PATH_SUFFIXES include)
    find_library(DRL_HIP_LIBRARY amdhip64 HINTS ${drl_rocm_root} ENV ROCM_PATH PATH_SUFFIXES lib lib64)
    set(${trouble} "")
    if(NOT DRL_HIP_INCLUDE_DIR OR NOT DRL_HIP_LIBRARY)
      set(${trouble} "${DRL_HIPCC} is found, but not HIP's runtime, hip/hip_runtime_api.h and libamdhip64.so")
    endif()
    # Older versions of hipcc inline all functions, unless this option is given. Newer ones do not know it.
    if(NOT DEFINED DRL_HIPCC_CALLS)
      execute_process(COMMAND ${CMAKE_COMMAND} -E env HIP_PLATFORM=amd ${DRL_HIPCC} --hipcc-func-supp -x hip --offload-arch=gfx90a
        -fsyntax-only /dev/null RESULT_VARIABLE drl_result OUTPUT_QUIET ERROR_QUIET)
      set(drl_option "")
      if(drl_result EQUAL 0)
        set(drl_option --hipcc-func-supp)
      endif()
      set(DRL_HIPCC_CALLS "${drl_option}" CACHE INTERNAL "Option of hipcc for functions that are not inlined")
    endif()
  endif()
endmacro()

# drl_hip_objects(OBJECTS TARGET NAME file.cu... [OPTIONS option...] [DEPENDS target...]): sets OBJECTS to the objects of
# these units, compiled with the include directories and definitions of TARGET. Adds the target NAME, which builds them
# after the targets in DEPENDS. Like nvcc, hipcc reads the runtime's header first.
function(drl_hip_objects objects target name)
  cmake_parse_arguments(HIP "" "" "OPTIONS;DEPENDS" ${ARGN})
  set(includes "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>>")
  set(definitions "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>>")
  set(optimization "$<IF:$<CONFIG:Debug>,-O1;-g,$<IF:$<CONFIG:RelWithDebInfo>,-O2;-g,-O3>>")
  list(TRANSFORM DRL_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE architectures)
  separate_arguments(further UNIX_COMMAND "${DRL_HIP_FLAGS}")
  set(all "")
  foreach(file ${HIP_UNPARSED_ARGUMENTS})
    get_filename_component(unit ${file} NAME)
    get_filename_component(file ${file} ABSOLUTE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/${unit}.o)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir)
    add_custom_command(OUTPUT ${object} DEPENDS ${file} ${HIP_DEPENDS} DEPFILE ${object}.d VERBATIM COMMAND_EXPAND_LISTS
      COMMAND ${CMAKE_COMMAND} -E env HIP_PLATFORM=amd ${DRL_HIPCC} -x hip ${architectures} ${DRL_HIPCC_CALLS}
        -include hip/hip_runtime.h "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
        "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "${optimization}" -std=c++20 -fPIC -ffp-contract=off ${HIP_OPTIONS}
        ${further} -MD -MT ${object} -MF ${object}.d -c ${file} -o ${object}
      COMMENT "Building HIP object ${name}.dir/${unit}.o")
    list(APPEND all ${object})
  endforeach()
  add_custom_target(${name} DEPENDS ${all} SOURCES ${HIP_UNPARSED_ARGUMENTS})
  set(${objects} ${all} PARENT_SCOPE)
endfunction()
