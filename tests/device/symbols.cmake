# Adds a test for each unit that drl_hot_sources has registered so far.
get_property(units GLOBAL PROPERTY DRL_HOT_UNITS)  # library=namespace
foreach(unit ${units})
  string(REGEX MATCH "(.*)=(.*)" pair ${unit})
  add_test(NAME symbols.${CMAKE_MATCH_1} COMMAND ${CMAKE_CURRENT_LIST_DIR}/symbols_test ${CMAKE_MATCH_2} $<TARGET_OBJECTS:${CMAKE_MATCH_1}> COMMAND_EXPAND_LISTS)
  set_tests_properties(symbols.${CMAKE_MATCH_1} PROPERTIES LABELS cpu)
endforeach()
