# shellcheck shell=bash
# Sourced by the scripts that build: if ccache is installed, compilers run under it. Presets, and checkouts of drl on this
# machine, then compile what they have in common once. ccache is used as you have set it up, by default in ~/.cache/ccache.
if command -v ccache >/dev/null && [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]]; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
fi
