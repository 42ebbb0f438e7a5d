# drl_compile_robot(model.xml header.hpp [OPTION...]): drl_robot compiles the physics of this MJCF file to a header of
# vectorised C++ (drl/physics/support.hpp).
function(drl_compile_robot model header)
  get_filename_component(stem ${model} NAME_WLE)
  get_filename_component(beside ${model} DIRECTORY)
  file(GLOB included CONFIGURE_DEPENDS ${beside}/*.xml ${beside}/*/*.xml)
  add_custom_command(OUTPUT ${header} DEPENDS drl_robot ${included} VERBATIM
    COMMAND drl_robot ${model} --output ${header} ${ARGN} COMMENT "Compiling the robot ${stem}")
endfunction()

# drl_add_robot(NAME model.xml... [OPTIONS OPTION...]): adds the header-only library NAME with a physics/<model>.hpp for
# each MJCF file. drl_robot gets the options.
function(drl_add_robot name)
  cmake_parse_arguments(PARSE_ARGV 1 robot "" "" OPTIONS)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}/physics)
  file(MAKE_DIRECTORY ${folder})
  set(headers "")
  foreach(model ${robot_UNPARSED_ARGUMENTS})
    get_filename_component(model ${model} ABSOLUTE)
    get_filename_component(stem ${model} NAME_WLE)
    drl_compile_robot(${model} ${folder}/${stem}.hpp ${robot_OPTIONS})
    list(APPEND headers ${folder}/${stem}.hpp)
  endforeach()
  add_custom_target(${name}_headers DEPENDS ${headers})
  add_library(${name} INTERFACE)
  target_include_directories(${name} INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/${name})
  add_dependencies(${name} ${name}_headers)
endfunction()
