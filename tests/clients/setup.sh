#!/usr/bin/env bash
# Installs the clients of Hazelcast and PostgreSQL outside the checkout: a Python environment, a folder of Node.js modules, Go's modules, Java's jars.
# Quick when done already; done anew when a pinned version changes. Prints nothing unless there is something to do.
#   setup.sh            installs what is missing; ends with 3 when Python, Node.js or (where CI=true) a JDK or Go is missing or too old
#   setup.sh --where    prints the folder, installs nothing
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/filbert/clients"
node_client="hazelcast-client@5.6.0"
node_postgres="pg@8.23.1"
# Version and checksum; the CP subsystem is refused by the Java client since 5.5, so its tests use the one before.
java_clients=(
  "5.5.0 cf560b40b988526e780e4fae12cb6fe01c5158bb9e00839882857f32b544a19e"
  "5.4.0 cbcd4de863ee859dd6094fe01752e1bc9986c5240621443fe6609a5e16903f0d"
)
# Hazelcast's JDBC driver: a whole client.
hazelcast_jdbc="com/hazelcast/hazelcast-jdbc/5.5.0/hazelcast-jdbc-5.5.0.jar"
hazelcast_jdbc_checksum="63c72209478dcccbc6f766ff1f72a2a56fe5532f9b69d8ba0b7cb99bdeeab07c"
maven="https://repo1.maven.org/maven2"
# PostgreSQL's JDBC driver.
jdbc="org/postgresql/postgresql/42.7.4/postgresql-42.7.4.jar"
jdbc_checksum="188976721ead8e8627eb6d8389d500dccc0c9bebd885268a3047180274a6031e"

if [[ "${1:-}" == --where ]]; then
  echo "$cache"
  exit 0
fi

missing=0
need() { # command, what to do
  if ! command -v "$1" >/dev/null; then
    echo "setup.sh: $1 is not installed; $2" >&2
    missing=1
  fi
}
need python3 "the Python suite needs Python 3.11 or newer with its venv module (Debian: apt-get install python3 python3-venv)"
need node "the Node.js suite needs Node.js 20 or newer (Debian: apt-get install nodejs npm)"
need npm "npm installs the Node.js client (Debian: apt-get install npm)"
if [[ "${CI:-}" == true ]]; then
  need javac "the Java suite needs a JDK 17 or newer (Debian: apt-get install default-jdk-headless)"
  need go "the suite with pgx needs Go 1.19 or newer (Debian: apt-get install golang-go)"
fi
(( missing == 0 )) || exit 3
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || { echo "setup.sh: python3 is $(python3 -V 2>&1); the asyncio tests need Python 3.11 or newer" >&2; exit 3; }
python3 -c 'import venv, ensurepip' 2>/dev/null \
  || { echo "setup.sh: Python's venv module is missing (Debian: apt-get install python3-venv)" >&2; exit 3; }
node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' \
  || { echo "setup.sh: node is $(node -v); the built-in test runner needs Node.js 20 or newer" >&2; exit 3; }

mkdir -p "$cache"
# Two runs at once must not install into the same folder.
exec 9>"$cache/setup.lock"
flock -w 600 9 || { echo "setup.sh: another setup has held $cache/setup.lock for 10 minutes" >&2; exit 1; }

# A stamp is written last, so a run that was cut short is done anew.
stamp() { cat "$1" 2>/dev/null || true; }

wanted_python="$(python3 -V) $(sha256sum <"$here/requirements.txt")"
if [[ "$(stamp "$cache/python.stamp")" != "$wanted_python" ]]; then
  echo "setup.sh: installing the Python clients into $cache/venv" >&2
  rm -rf "$cache/venv" "$cache/python.stamp"
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  echo "$wanted_python" >"$cache/python.stamp"
fi

wanted_dbt="$(python3 -V) $(sha256sum <"$here/requirements-dbt.txt")"
if [[ "$(stamp "$cache/dbt.stamp")" != "$wanted_dbt" ]]; then
  echo "setup.sh: installing dbt into $cache/dbt" >&2
  rm -rf "$cache/dbt" "$cache/dbt.stamp"
  python3 -m venv "$cache/dbt"
  "$cache/dbt/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements-dbt.txt"
  echo "$wanted_dbt" >"$cache/dbt.stamp"
fi

wanted_node="$node_client $node_postgres"
if [[ "$(stamp "$cache/node.stamp")" != "$wanted_node" ]]; then
  echo "setup.sh: installing the Node.js clients into $cache/node" >&2
  rm -rf "$cache/node" "$cache/node.stamp"
  mkdir -p "$cache/node"
  npm install --prefix "$cache/node" --no-audit --no-fund --no-save --loglevel=error --ignore-scripts "$node_client" "$node_postgres" >/dev/null
  echo "$wanted_node" >"$cache/node.stamp"
fi

# Without Go there are no modules; run.sh says that the suite with pgx is left out.
if command -v go >/dev/null; then
  pgx="$here/postgres/pgx"
  wanted_go="$(go version) $(cat "$pgx/go.mod" "$pgx/go.sum" | sha256sum)"
  if [[ "$(stamp "$cache/go.stamp")" != "$wanted_go" ]]; then
    echo "setup.sh: fetching the modules of Go into $cache/go" >&2
    rm -rf "$cache/go" "$cache/go.stamp"
    # Folders that can be written can be removed.
    (cd "$pgx" && GOMODCACHE="$cache/go" GOFLAGS="${GOFLAGS:-} -modcacherw" go mod download)
    echo "$wanted_go" >"$cache/go.stamp"
  fi
fi

# Without a JDK the jars are of no use; run.sh says that the Java suite is left out.
command -v javac >/dev/null || exit 0
mkdir -p "$cache/java"
fetch() { # name, where Maven Central has it, its checksum
  local jar="$cache/java/$1" checksum="$3"
  if ! echo "$checksum  $jar" | sha256sum --check --status 2>/dev/null; then
    echo "setup.sh: fetching $1 into $cache/java" >&2
    curl --fail --silent --show-error --location --retry 3 --max-time 300 -o "$jar.new" "$maven/$2"
    echo "$checksum  $jar.new" | sha256sum --check --status \
      || { echo "setup.sh: $maven/$2 is not what it was: its checksum differs" >&2; exit 1; }
    mv "$jar.new" "$jar"
  fi
}
for client in "${java_clients[@]}"; do
  read -r version checksum <<<"$client"
  fetch "hazelcast-$version.jar" "com/hazelcast/hazelcast/$version/hazelcast-$version.jar" "$checksum"
done
fetch hazelcast-jdbc.jar "$hazelcast_jdbc" "$hazelcast_jdbc_checksum"
fetch postgresql.jar "$jdbc" "$jdbc_checksum"
