# drl_find_mujoco(TROUBLE): makes the target drl::mujoco from MUJOCO_ROOT (which may be the directory of a Python
# package), CMAKE_PREFIX_PATH, build/mujoco (tools/fetch_mujoco), or the installed drl (drl_MUJOCO_DIR). If MuJoCo is
# not found, or has a version that drl is not tested with, sets TROUBLE to the reason.
set(DRL_MUJOCO_VERSIONS 4.0.0 3.11.0 3.5.0)  # tools/fetch_mujoco gets the first one

macro(drl_find_mujoco trouble)
  set(${trouble} "")
  if(NOT TARGET drl::mujoco)
    set(own ${MUJOCO_ROOT} $ENV{MUJOCO_ROOT})  # first, so that header and library belong together
    set(places ${PROJECT_SOURCE_DIR}/build/mujoco ${drl_MUJOCO_DIR})
    find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h HINTS ${own} PATH_SUFFIXES include NO_DEFAULT_PATH)
    find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h HINTS ${places} PATH_SUFFIXES include)
    set(drl_mujoco_version "")
    if(MUJOCO_INCLUDE_DIR)
      file(STRINGS ${MUJOCO_INCLUDE_DIR}/mujoco/mujoco.h line REGEX "define mjVERSION_HEADER ")
      string(REGEX MATCH "[0-9]+" number "${line}")  # 3011000: 3.11.0
      if(NOT number)
        set(number 0)
      endif()
      math(EXPR major "${number} / 1000000")
      math(EXPR minor "${number} / 1000 % 1000")
      math(EXPR patch "${number} % 1000")
      set(drl_mujoco_version ${major}.${minor}.${patch})
    endif()
    if(NOT EXISTS "${MUJOCO_LIBRARY}")  # tools/fetch_mujoco has replaced it by another version
      unset(MUJOCO_LIBRARY CACHE)
    endif()
    find_library(MUJOCO_LIBRARY NAMES libmujoco.so.${drl_mujoco_version} mujoco HINTS ${own} PATH_SUFFIXES lib . NO_DEFAULT_PATH)
    find_library(MUJOCO_LIBRARY NAMES libmujoco.so.${drl_mujoco_version} mujoco HINTS ${places} PATH_SUFFIXES lib .)
    if(NOT MUJOCO_INCLUDE_DIR OR NOT MUJOCO_LIBRARY)
      set(${trouble} "MuJoCo is not found: run tools/fetch_mujoco, or set MUJOCO_ROOT")
    elseif(NOT drl_mujoco_version IN_LIST DRL_MUJOCO_VERSIONS)
      list(JOIN DRL_MUJOCO_VERSIONS ", " tested)
      set(${trouble} "${MUJOCO_INCLUDE_DIR} is MuJoCo ${drl_mujoco_version}, and drl is tested with ${tested}: set MUJOCO_ROOT")
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
endmacro()
