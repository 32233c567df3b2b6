#!/usr/bin/env bash
# Fetches the library of DuckDB for the tests of cubes over its tables, outside the checkout: the one in DuckDB's package for Node.js, which is
# the plain libduckdb. Quick when done already; done anew when the pinned version changes.
#   setup.sh            fetches what is missing, prints the path of the library; ends with 3 when npm or a package for this system is missing
#   setup.sh --where    prints the path, fetches nothing
set -euo pipefail
cache="${XDG_CACHE_HOME:-$HOME/.cache}/filbert/duckdb"
library="$cache/libduckdb.so"
version="1.5.6-r.1"

if [[ "${1:-}" == --where ]]; then
  echo "$library"
  exit 0
fi

# The package for this system, and the checksum of its archive.
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64)
    package="@duckdb/node-bindings-linux-x64"
    checksum="1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff"
    ;;
  *)
    echo "setup.sh: no package is pinned for $(uname -s) on $(uname -m); set FILBERT_DUCKDB_LIBRARY to a libduckdb of 1.5 or newer" >&2
    exit 3
    ;;
esac

wanted="$package@$version $checksum"
mkdir -p "$cache"
# Two runs at once must not write the same file.
exec 9>"$cache/setup.lock"
flock -w 600 9 || { echo "setup.sh: another setup has held $cache/setup.lock for 10 minutes" >&2; exit 1; }
# The stamp is written last, so a run that was cut short is done anew.
if [[ "$(cat "$cache/stamp" 2>/dev/null || true)" != "$wanted" || ! -f "$library" ]]; then
  command -v npm >/dev/null \
    || { echo "setup.sh: npm is not installed; it fetches libduckdb (Debian: apt-get install npm)" >&2; exit 3; }
  echo "setup.sh: fetching $package $version into $cache" >&2
  rm -rf "$cache/stamp" "$cache/new"
  mkdir -p "$cache/new"
  archive="$cache/new/$(cd "$cache/new" && npm pack --silent "$package@$version")"
  echo "$checksum  $archive" | sha256sum --check --status \
    || { echo "setup.sh: $package@$version is not what it was: its checksum differs" >&2; exit 1; }
  tar -xzf "$archive" -C "$cache/new" package/libduckdb.so
  # In its place at once: a test may have the old one loaded.
  mv "$cache/new/package/libduckdb.so" "$library"
  rm -rf "$cache/new"
  echo "$wanted" >"$cache/stamp"
fi
echo "$library"
