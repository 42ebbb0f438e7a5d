# How drl's own tasks and those of task libraries are compiled.

# -ffp-contract=off rounds a*b+c twice, for the same numbers on all machines. The other two options do not change
# numbers, and let loops with sqrt and floor vectorise.
set(DRL_FLOAT_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math)

# The instruction sets of drl/lanes/isa_list.hpp, as namespace=machine=floats per register.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(drl_isas x86_64_v2=x86-64-v2=4 x86_64_v3=x86-64-v3=8 x86_64_v4=x86-64-v4=16)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(drl_isas armv8_a==4)
else()
  set(drl_isas generic==4)
endif()

# For units that take long to compile, and whose speed does not matter.
set(drl_compile_fast "$<$<CONFIG:Release,RelWithDebInfo>:-O1>")

# The instruction sets of robots, whose loops take long to compile.
set(DRL_ISAS native CACHE STRING "Instruction sets of robots: native (this machine's) or all")
set(drl_robot_isas ${drl_isas})
list(LENGTH drl_isas drl_isa_count)
if(NOT DRL_ISAS STREQUAL "all" AND drl_isa_count GREATER 1 AND NOT CMAKE_CROSSCOMPILING)
  if(NOT DEFINED DRL_MACHINE_LEVEL)
    file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/machine_level.cpp
      [[
#define HAS(set) (__builtin_cpu_supports(set) != 0)
int main() {
#if defined(__clang__)  // older ones do not know the names of the levels
  const bool v3 = HAS("avx2") && HAS("fma") && HAS("bmi2");
  const bool v4 = v3 && HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") && HAS("avx512vl");
  return v4 ? 2 : v3 ? 1 : 0;
#else
  return HAS("x86-64-v4") ? 2 : HAS("x86-64-v3") ? 1 : 0;
#endif
}
]])
    try_run(DRL_MACHINE_LEVEL drl_compiles ${CMAKE_BINARY_DIR}/CMakeFiles/machine_level ${CMAKE_BINARY_DIR}/CMakeFiles/machine_level.cpp)
  endif()
  if(DRL_MACHINE_LEVEL MATCHES "^[012]$")  # else it could not be compiled or run
    list(GET drl_isas ${DRL_MACHINE_LEVEL} drl_robot_isas)
  endif()
endif()
# Robots that are compiled for --env.dr take twice the time to compile. Without, libmujoco simulates them with --env.dr.
option(DRL_RANDOMISED "Compile robots for --env.dr too" ON)
# drl_list_isas(LIST ISA...): sets LIST to the value of DRL_COMPILED_ISAS for these instruction sets.
function(drl_list_isas list)
  list(TRANSFORM ARGN REPLACE "=.*" " ")
  string(JOIN "" text ${ARGN})
  set(${list} "${text}" PARENT_SCOPE)
endfunction()
string(JOIN " " DRL_TASK_FLAGS ${DRL_FLOAT_FLAGS})

# drl_add_task_library(NAME header.hpp... [MUJOCO] [MODELS header.hpp=model.xml...] [FETCHED model.xml=file...]
# [RANDOMISED [header.hpp...]] [CPU_ONLY header.hpp...]): adds the shared library libNAME.so of the tasks in these headers (DRL_TASK), for
# --task_library. It has their loops for all instruction sets (for robots, those of DRL_ISAS), and for GPUs if nvcc (for
# AMD GPUs: hipcc) is found and DRL_TASK_GPU is ON. With MUJOCO, the headers may contain robots (DRL_ROBOT). MODELS lists
# their MJCF files; a header that it does not list has the model of its own name (ant.hpp: ant.xml). Models are looked for
# beside the header, beside CMakeLists.txt, and among drl's models. FETCHED lists files that models include and that have
# to be fetched (the third member of RobotModel): such a model is found when that file is there too. Two models cannot have the same file name. drl_robot
# compiles the physics of the models that it supports. libmujoco can simulate all of them. The robots in the headers
# after RANDOMISED, or in all headers if none follows, are compiled once more, with numbers of the model that differ
# between environments (--env.dr), unless DRL_RANDOMISED is OFF. Those in the headers after CPU_ONLY, which lack DRL_HD,
# are not compiled for GPUs.
function(drl_add_task_library name)
  cmake_parse_arguments(TASKS "MUJOCO" "" "MODELS;FETCHED;RANDOMISED;CPU_ONLY" ${ARGN})
  foreach(list UNPARSED_ARGUMENTS RANDOMISED CPU_ONLY)
    set(absolute "")
    foreach(header ${TASKS_${list}})
      get_filename_component(header ${header} ABSOLUTE)
      list(APPEND absolute ${header})
    endforeach()
    set(TASKS_${list} ${absolute})
  endforeach()
  set(headers ${TASKS_UNPARSED_ARGUMENTS})
  if(NOT DRL_RANDOMISED)
    set(TASKS_RANDOMISED "")
  elseif("RANDOMISED" IN_LIST TASKS_KEYWORDS_MISSING_VALUES)
    set(TASKS_RANDOMISED ${headers})
  endif()
  set(units ${CMAKE_CURRENT_BINARY_DIR}/${name}_units)
  add_library(${name} MODULE ${units}/table.cpp)  # first: the linker keeps the first copy of a function
  target_compile_definitions(${name} PRIVATE "DRL_TASK_FLAGS=\"${DRL_TASK_FLAGS}\"" "DRL_TASK_VERSION=\"${drl_VERSION}\"")
  set(libraries ${name})
  set(physics "")  # headers that drl_robot writes
  if(TASKS_MUJOCO)
    drl_use_mujoco(${name})
    drl_add_robot_loops()
  else()
    drl_add_task_loops()
  endif()
  drl_write_unit(table.cpp task/table_unit ${physics} ${headers} DRL_TASK_LIBRARY)
  foreach(library ${libraries})
    if(library STREQUAL ${name}_gpu)  # nvcc would suppress its warnings about calls in system headers
      target_include_directories(${library} PRIVATE ${drl_INCLUDE_DIR})
    else()
      target_include_directories(${library} SYSTEM PRIVATE ${drl_INCLUDE_DIR})
    endif()
    target_compile_options(${library} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${DRL_FLOAT_FLAGS}>")
    set_target_properties(${library} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endforeach()
  target_link_options(${name} PRIVATE LINKER:--build-id)
endfunction()

# Part of drl_add_task_library: writes a translation unit that includes drl/UNIT.hpp and then the following arguments,
# which are absolute paths of headers or lines of code. Paths are relative to the unit, or to DRL_TASK_INCLUDE_DIR if that
# is set, so that ccache knows the unit in another checkout. A header that looks for models beside itself needs its path.
macro(drl_write_unit file unit)
  set(text "#include \"drl/${unit}.hpp\"\n")
  foreach(line ${ARGN})
    if(IS_ABSOLUTE ${line})
      string(REPLACE "${units}/" "" line "${line}")
      if(DRL_TASK_INCLUDE_DIR)
        string(REPLACE "${DRL_TASK_INCLUDE_DIR}/" "" line "${line}")
      endif()
      string(APPEND text "#include \"${line}\"\n")
    else()
      string(APPEND text "${line}\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${units}/${file} @ONLY CONTENT "${text}")
endmacro()

# Part of drl_add_task_library: compiles the given units, which step environments in lanes, for each instruction set in
# the list `isas`.
macro(drl_add_host_loops)
  foreach(isa ${isas})
    string(REGEX MATCH "^([^=]*)=(.*)=(.*)$" matched ${isa})
    set(library ${name}_${CMAKE_MATCH_1})
    add_library(${library} OBJECT ${ARGN})
    target_compile_definitions(${library} PRIVATE DRL_ISA=${CMAKE_MATCH_1} DRL_LANES=${CMAKE_MATCH_3})
    target_compile_options(${library} PRIVATE -O3 -Wno-psabi)
    if(CMAKE_MATCH_2)
      target_compile_options(${library} PRIVATE -march=${CMAKE_MATCH_2})
    endif()
    target_include_directories(${library} PRIVATE $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${library}>)
    list(APPEND libraries ${library})
  endforeach()
endmacro()

# Part of drl_add_task_library: compiles the given units for GPUs. In these units, calling a function without DRL_HD is an error.
macro(drl_add_gpu_loops)
  if(DRL_TASK_GPU AND DRL_HIPCC)
    set(before "")
    if(TARGET ${name}_physics)
      set(before ${name}_physics)
    endif()
    drl_hip_objects(objects ${name} ${name}_gpu ${ARGN} DEPENDS ${before}
      OPTIONS -fvisibility=hidden -fvisibility-inlines-hidden -Wno-bitwise-instead-of-logical)
    target_sources(${name} PRIVATE ${objects})
    target_link_libraries(${name} PRIVATE ${DRL_HIP_LIBRARY})
    add_dependencies(${name} ${name}_gpu)
  elseif(DRL_TASK_GPU AND CMAKE_CUDA_COMPILER)
    add_library(${name}_gpu OBJECT ${ARGN})
    target_compile_options(${name}_gpu PRIVATE -O3 -fmad=false --expt-relaxed-constexpr
      -Werror=cross-execution-space-call -Xcompiler=-ffp-contract=off)
    set_target_properties(${name}_gpu PROPERTIES CUDA_STANDARD 20 CUDA_SEPARABLE_COMPILATION OFF CUDA_RUNTIME_LIBRARY Shared)
    set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
    target_include_directories(${name}_gpu PRIVATE $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_gpu>)
    list(APPEND libraries ${name}_gpu)
  endif()
endmacro()

# Part of drl_add_task_library: adds the loops of tasks.
macro(drl_add_task_loops)
  set(isas ${drl_isas})
  drl_write_unit(task_loops.cpp task/host_unit ${headers})
  drl_write_unit(task_loops.cu task/gpu_unit ${headers})
  drl_add_host_loops(${units}/task_loops.cpp)
  drl_add_gpu_loops(${units}/task_loops.cu)
endmacro()

# Part of drl_add_task_library: adds the loops of robots whose models are found. Each header is a unit, because these
# take long to compile.
macro(drl_add_robot_loops)
  set(loops "")
  set(exact "")
  set(on_gpu "")
  foreach(header ${headers})
    drl_find_models(models ${header})
    set(own "")
    foreach(model ${models})
      get_filename_component(stem ${model} NAME_WLE)
      set(written ${units}/physics/${stem}.hpp)
      if(written IN_LIST physics AND NOT model STREQUAL model_of_${stem})
        message(FATAL_ERROR "${name} has two models called ${stem}, ${model_of_${stem}} and ${model} (a library holds "
          "one model of a name): rename one of them, or put its header into another library")
      endif()
      set(model_of_${stem} ${model})
      if(NOT written IN_LIST physics)
        file(MAKE_DIRECTORY ${units}/physics)
        drl_compile_robot(${model} ${written} --if_possible)
        list(APPEND physics ${written})
      endif()
      list(APPEND own ${written})
    endforeach()
    if(own)
      get_filename_component(stem ${header} NAME_WLE)
      drl_add_robot_units(${stem} ${own} ${header})
      if(header IN_LIST TASKS_RANDOMISED)
        foreach(model ${models})
          get_filename_component(robot ${model} NAME_WLE)
          set(written ${units}/physics/${robot}_randomised.hpp)
          if(NOT written IN_LIST physics)
            drl_compile_robot(${model} ${written} --if_possible --randomised)
            list(APPEND physics ${written})
          endif()
          list(APPEND own ${written})
        endforeach()
        drl_add_robot_units(${stem}_randomised "#define DRL_ROBOT_RANDOMISED" ${own} ${header})
      endif()
    endif()
  endforeach()
  if(physics)
    add_custom_target(${name}_physics DEPENDS ${physics})
    set(isas ${drl_robot_isas})
    drl_list_isas(compiled ${isas})
    target_compile_definitions(${name} PRIVATE "DRL_COMPILED_ISAS=\"${compiled}\"")
    drl_add_host_loops(${loops})
    if(on_gpu)
      drl_add_gpu_loops(${on_gpu})
    endif()
    add_library(${name}_exact OBJECT ${exact})
    # Only drl_check_task runs the exact units, and libmujoco takes nearly all of the time of what is in table.cpp.
    target_compile_options(${name}_exact PRIVATE ${drl_compile_fast})
    set_source_files_properties(${units}/table.cpp PROPERTIES COMPILE_OPTIONS "${drl_compile_fast}")
    target_include_directories(${name}_exact PRIVATE $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_exact>)
    list(APPEND libraries ${name}_exact)
    foreach(library ${libraries})
      add_dependencies(${library} ${name}_physics)
      if(DRL_SANITIZE AND NOT library STREQUAL name)
        target_compile_options(${library} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=all>)  # as for all hot units
      endif()
    endforeach()
  endif()
endmacro()

# Part of drl_add_robot_loops: adds the units of the header's robots, which include the following arguments.
macro(drl_add_robot_units unit)
  drl_write_unit(loops_${unit}.cpp task/host_unit ${ARGN})
  drl_write_unit(exact_${unit}.cpp task/exact_unit ${ARGN})
  list(APPEND loops ${units}/loops_${unit}.cpp)
  list(APPEND exact ${units}/exact_${unit}.cpp)
  if(NOT header IN_LIST TASKS_CPU_ONLY)
    drl_write_unit(loops_${unit}.cu task/gpu_unit ${ARGN})
    list(APPEND on_gpu ${units}/loops_${unit}.cu)
  endif()
endmacro()

# Part of drl_add_task_library: sets MODELS to the files of a header's models, without those that are not found.
macro(drl_find_models models header)
  get_filename_component(stem ${header} NAME_WLE)
  get_filename_component(beside ${header} DIRECTORY)
  set(listed "")
  foreach(entry ${TASKS_MODELS})
    string(REGEX MATCH "^([^=]*)=(.*)$" matched ${entry})
    set(model ${CMAKE_MATCH_2})
    get_filename_component(of ${CMAKE_MATCH_1} ABSOLUTE)
    if(of STREQUAL ${header})
      list(APPEND listed ${model})
    endif()
  endforeach()
  if(NOT listed)
    set(listed ${stem}.xml)
  endif()
  set(${models} "")
  foreach(model ${listed})
    set(fetched "")
    foreach(entry ${TASKS_FETCHED})
      if(entry MATCHES "^${model}=(.*)$")
        set(fetched ${CMAKE_MATCH_1})
      endif()
    endforeach()
    set(exists FALSE)
    foreach(folder ${beside} ${CMAKE_CURRENT_SOURCE_DIR} ${drl_MODEL_DIR})
      get_filename_component(file ${model} ABSOLUTE BASE_DIR ${folder})
      get_filename_component(folder ${file} DIRECTORY)
      if(EXISTS ${file} AND EXISTS "${folder}/${fetched}")
        set(exists TRUE)
        if(TARGET drl_robot OR NOT drl_BIN_DIR)
          list(APPEND ${models} ${file})
        endif()
        break()
      endif()
    endforeach()
    if(NOT exists AND NOT PROJECT_NAME STREQUAL "drl")  # drl's own models may have to be fetched
      message(WARNING "${header}: the model ${model} was not found, so this build does not compile its physics "
        "(libmujoco simulates the robot, which is much slower): put it beside the header and configure again, or give the "
        "file's name after MODELS")
    endif()
  endforeach()
endmacro()

# drl_use_mujoco(TARGET): compiles and links TARGET with libmujoco (drl/physics/mujoco.hpp).
include(${CMAKE_CURRENT_LIST_DIR}/DrlRobot.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/DrlMujoco.cmake)
function(drl_use_mujoco target)
  drl_find_mujoco(trouble)
  if(trouble)
    message(FATAL_ERROR "${target} has robots, which need MuJoCo, but ${trouble}")
  endif()
  target_link_libraries(${target} PRIVATE drl::mujoco ${CMAKE_DL_LIBS})
  target_compile_definitions(${target} PRIVATE DRL_MUJOCO)
  if(NOT PROJECT_NAME STREQUAL "drl")  # drl itself finds its models in its build or installation
    target_compile_definitions(${target} PRIVATE "DRL_MODEL_FOLDER=\"${CMAKE_CURRENT_SOURCE_DIR}\"")
  endif()
endfunction()
