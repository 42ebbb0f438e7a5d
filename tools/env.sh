# shellcheck shell=bash
# Puts the programs that were built last in this checkout on PATH. Type, in bash or zsh: . tools/env.sh
drl_root=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")/.." && pwd)
drl_newest=
for drl_program in "$drl_root"/build/release/bin/drl_train "$drl_root"/build/cuda/bin/drl_train; do
  if [ -x "$drl_program" ] && { [ -z "$drl_newest" ] || [ "$drl_program" -nt "$drl_newest" ]; }; then drl_newest=$drl_program; fi
done
if [ -n "$drl_newest" ]; then
  PATH=$(dirname "$drl_newest"):$PATH
  export PATH
else
  echo "drl is not built in $drl_root/build: type ./tools/quickstart, or see docs/howto/install.md" >&2
fi
unset drl_root drl_program drl_newest
