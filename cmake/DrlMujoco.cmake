# drl_find_mujoco(TROUBLE): makes the target drl::mujoco from MUJOCO_ROOT (which may be the directory of a Python
# package), CMAKE_PREFIX_PATH, build/mujoco (tools/fetch_mujoco), or the installed drl (drl_MUJOCO_DIR). If MuJoCo is
# not found, or has another version, sets TROUBLE to the reason.
set(DRL_MUJOCO_VERSION 3.5.0)

macro(drl_find_mujoco trouble)
  set(${trouble} "")
  if(NOT TARGET drl::mujoco)
    set(own ${MUJOCO_ROOT} $ENV{MUJOCO_ROOT})  # first, so that header and library belong together
    find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h HINTS ${own} PATH_SUFFIXES include NO_DEFAULT_PATH)
    find_library(MUJOCO_LIBRARY NAMES mujoco libmujoco.so.${DRL_MUJOCO_VERSION} HINTS ${own} PATH_SUFFIXES lib . NO_DEFAULT_PATH)
    set(places ${PROJECT_SOURCE_DIR}/build/mujoco ${drl_MUJOCO_DIR})
    find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h HINTS ${places} PATH_SUFFIXES include)
    find_library(MUJOCO_LIBRARY NAMES mujoco libmujoco.so.${DRL_MUJOCO_VERSION} HINTS ${places} PATH_SUFFIXES lib .)
    if(NOT MUJOCO_INCLUDE_DIR OR NOT MUJOCO_LIBRARY)
      set(${trouble} "MuJoCo ${DRL_MUJOCO_VERSION} is not found: run tools/fetch_mujoco, or set MUJOCO_ROOT")
    else()
      file(STRINGS ${MUJOCO_INCLUDE_DIR}/mujoco/mujoco.h line REGEX "define mjVERSION_HEADER ")
      string(REGEX MATCH "([0-9]+)00([0-9])00([0-9])" number "${line}")
      if(NOT "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}" STREQUAL DRL_MUJOCO_VERSION)
        set(${trouble} "${MUJOCO_INCLUDE_DIR} is not MuJoCo ${DRL_MUJOCO_VERSION}, the only version that drl is tested with: set MUJOCO_ROOT")
        unset(MUJOCO_INCLUDE_DIR CACHE)  # looks again when MUJOCO_ROOT is set
        unset(MUJOCO_LIBRARY CACHE)
      else()
        file(REAL_PATH ${MUJOCO_LIBRARY} file)
        add_library(drl_mujoco SHARED IMPORTED GLOBAL)
        set_target_properties(drl_mujoco PROPERTIES IMPORTED_LOCATION ${file}
          INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${MUJOCO_INCLUDE_DIR} INTERFACE_INCLUDE_DIRECTORIES ${MUJOCO_INCLUDE_DIR})
        add_library(drl::mujoco ALIAS drl_mujoco)
      endif()
    endif()
  endif()
endmacro()
