# Shared by the scripts in this folder; they run in the module's root.

# packages_with KIND lists the packages that have tests of a kind (Test,
# Benchmark, Fuzz), one a line.
packages_with() {
  grep -rlE --include='*_test.go' "^func $1[A-Z_]" . |
    grep -vE '/(testdata|vendor|tools)/|/\.' | xargs -r -n1 dirname | sort -u
}

# fuzz_targets PACKAGE lists the names of its fuzz targets, one a line.
fuzz_targets() {
  sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' "$1"/*_test.go | sort -u
}

# packages_importing MODULE lists the packages whose tests import it.
packages_importing() {
  grep -rlE --include='*_test.go' "^[[:space:]]*(import )?([a-z_.]+ )?\"$1\"\$" . |
    grep -vE '/(testdata|vendor|tools)/|/\.' | xargs -r -n1 dirname | sort -u
}

# step HEADING COMMAND... runs a command under a heading and says how long it
# took.
step() {
  local heading=$1 from=$SECONDS
  shift
  printf '\n== %s\n' "$heading"
  current_step=$heading
  "$@"
  printf -- '-- %s: %d s\n' "$heading" $((SECONDS - from))
}

# race_flag prints -race if the race detector works here. It needs a C
# compiler: as root one is installed, else it does without, which is an error
# where CI is set.
race_flag() {
  local cc
  cc=$(go env CC)
  if ! command -v "${cc%% *}" >/dev/null; then
    echo "The race detector needs a C compiler and there is no ${cc%% *}." >&2
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
      echo "Installing gcc." >&2
      { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends gcc libc6-dev; } >&2 || true
    fi
  fi
  if command -v "${cc%% *}" >/dev/null; then
    echo -race
  elif [[ -n ${CI:-} ]]; then
    echo "CI is set: no tests without the race detector. Install gcc." >&2
    return 1
  else
    echo "WARNING: RUNNING WITHOUT THE RACE DETECTOR. Install gcc, or set CC." >&2
  fi
}
