# What tasks are compiled with, ours and those of task libraries.

# The same numbers on all machines: a*b+c is rounded twice everywhere. The other two give the same values, and loops with
# sqrt and floor vectorise.
set(DRL_FLOAT_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math)

# Instruction sets that drl/isa_list.hpp lists: namespace=machine=floats in a register.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(drl_isas x86_64_v2=x86-64-v2=4 x86_64_v3=x86-64-v3=8 x86_64_v4=x86-64-v4=16)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(drl_isas armv8_a==4)
else()
  set(drl_isas generic==4)
endif()
string(JOIN " " DRL_TASK_FLAGS ${DRL_FLOAT_FLAGS})

# drl_add_task_library(NAME header.hpp... [MUJOCO]): the shared object libNAME.so of the tasks in these headers (DRL_TASK),
# for --task_library: their loops for all instruction sets, and for GPUs where nvcc is (DRL_TASK_GPU). MUJOCO: of robots
# (DRL_ROBOT), whose MJCF files are looked for beside the CMakeLists.txt too.
function(drl_add_task_library name)
  cmake_parse_arguments(TASKS "MUJOCO" "" "" ${ARGN})
  set(includes "")
  foreach(header ${TASKS_UNPARSED_ARGUMENTS})
    get_filename_component(header ${header} ABSOLUTE)
    string(APPEND includes "#include \"${header}\"\n")
  endforeach()
  set(units ${CMAKE_CURRENT_BINARY_DIR}/${name}_units)
  file(CONFIGURE OUTPUT ${units}/table.cpp @ONLY
    CONTENT "#include \"drl/task_table_unit.hpp\"\n${includes}DRL_TASK_LIBRARY\n")
  add_library(${name} MODULE ${units}/table.cpp)  # first: of what several units hold, the linker takes the first
  target_compile_definitions(${name} PRIVATE "DRL_TASK_FLAGS=\"${DRL_TASK_FLAGS}\"" "DRL_TASK_VERSION=\"${drl_VERSION}\"")
  set(libraries ${name})
  if(TASKS_MUJOCO)
    drl_use_mujoco(${name})
  else()
    drl_add_task_loops()
  endif()
  foreach(library ${libraries})
    target_include_directories(${library} SYSTEM PRIVATE ${drl_INCLUDE_DIR})
    target_compile_options(${library} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${DRL_FLOAT_FLAGS}>")
    set_target_properties(${library} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endforeach()
  target_link_options(${name} PRIVATE LINKER:--build-id)
endfunction()

# Of drl_add_task_library: what steps a task's environments in lanes and on GPUs.
macro(drl_add_task_loops)
  foreach(unit host=loops.cpp gpu=loops.cu)
    string(REGEX MATCH "(.*)=(.*)" pair ${unit})
    file(CONFIGURE OUTPUT ${units}/${CMAKE_MATCH_2} @ONLY
      CONTENT "#include \"drl/task_${CMAKE_MATCH_1}_unit.hpp\"\n${includes}")
  endforeach()
  foreach(isa ${drl_isas})
    string(REGEX MATCH "^([^=]*)=(.*)=(.*)$" matched ${isa})
    set(library ${name}_${CMAKE_MATCH_1})
    add_library(${library} OBJECT ${units}/loops.cpp)
    target_compile_definitions(${library} PRIVATE DRL_ISA=${CMAKE_MATCH_1} DRL_LANES=${CMAKE_MATCH_3})
    target_compile_options(${library} PRIVATE -O3 -Wno-psabi)
    if(CMAKE_MATCH_2)
      target_compile_options(${library} PRIVATE -march=${CMAKE_MATCH_2})
    endif()
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${library}>)
    list(APPEND libraries ${library})
  endforeach()
  if(DRL_TASK_GPU AND CMAKE_CUDA_COMPILER)
    add_library(${name}_gpu OBJECT ${units}/loops.cu)
    target_compile_options(${name}_gpu PRIVATE -O3 -fmad=false --expt-relaxed-constexpr -Xcompiler=-ffp-contract=off)
    set_target_properties(${name}_gpu PROPERTIES CUDA_STANDARD 20 CUDA_SEPARABLE_COMPILATION OFF CUDA_RUNTIME_LIBRARY Shared)
    set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_gpu>)
    list(APPEND libraries ${name}_gpu)
  endif()
endmacro()

# drl_use_mujoco(TARGET): it sees robots behind libmujoco (drl/mujoco.hpp).
include(${CMAKE_CURRENT_LIST_DIR}/DrlMujoco.cmake)
function(drl_use_mujoco target)
  drl_find_mujoco(trouble)
  if(trouble)
    message(FATAL_ERROR "${target} has robots, and ${trouble}")
  endif()
  target_link_libraries(${target} PRIVATE drl::mujoco ${CMAKE_DL_LIBS})
  target_compile_definitions(${target} PRIVATE DRL_MUJOCO)
  if(NOT PROJECT_NAME STREQUAL "drl")  # whose models are where it is built, and where it is installed
    target_compile_definitions(${target} PRIVATE "DRL_MODEL_FOLDER=\"${CMAKE_CURRENT_SOURCE_DIR}\"")
  endif()
endfunction()
