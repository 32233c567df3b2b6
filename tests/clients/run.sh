#!/usr/bin/env bash
# Tests with the official Hazelcast clients, against a Filbert member. See README.md.
#   run.sh                          set up, build the test member if FILBERT_BIN is not set, run all suites
#   run.sh --python | --node        one of them; what follows `--` goes to pytest or node --test
#   run.sh --java-client            our suite with the Java client; what follows `--` is a part of the names of tests
#   run.sh --postgres               the PostgreSQL door: psycopg 2 and 3, asyncpg, pg8000, ADBC, SQLAlchemy, pandas, polars, connectorx, node-postgres,
#                                   JDBC, pgx, tokio-postgres, dbt
#   run.sh --own-tests <checkout>   the Python client's own tests, through the remote controller: a table, file by file
#          [--json <file>|-]        the same as JSON
#          [--group core|structures|cp|sql|connections|all] [--least <percent>] [name ...]
#   run.sh --java <jars> ...        a real Hazelcast instead of Filbert: the oracle (hazelcast.jar[:hazelcast-tests.jar])
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

suites=(python node java postgres)
checkout=""
own=()
extra=()
while (( $# > 0 )); do
  case "$1" in
    --python) suites=(python); shift ;;
    --node) suites=(node); shift ;;
    --java-client) suites=(java); shift ;;
    --postgres) suites=(postgres); shift ;;
    --own-tests) checkout="${2:?--own-tests takes the path of a checkout of hazelcast-python-client}"; shift 2 ;;
    --java) export HAZELCAST_JARS="${2:?--java takes the path of hazelcast.jar}"; shift 2 ;;
    --json | --group | --least | --folder) own+=("$1" "${2:?$1 takes a value}"); shift 2 ;;
    --help | -h) sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --) shift; extra=("$@"); break ;;
    -*) echo "run.sh: there is no option $1; --help lists them" >&2; exit 2 ;;
    *) own+=("$1"); shift ;;
  esac
done
if [[ -z "$checkout" ]] && (( ${#own[@]} > 0 )); then
  echo "run.sh: ${own[*]}: only with --own-tests" >&2
  exit 2
fi

"$here/setup.sh"
cache="$("$here/setup.sh" --where)"
python="$cache/venv/bin/python"
export PYTHONDONTWRITEBYTECODE=1

if [[ -z "${HAZELCAST_JARS:-}${FILBERT_ADDRESS:-}${FILBERT_BIN:-}" ]]; then
  # As `cargo test` builds it: a build for release would take longer than all tests.
  cargo test --workspace --no-run --quiet --manifest-path "$here/../../Cargo.toml"
  target="${CARGO_TARGET_DIR:-$here/../../target}"
  export FILBERT_BIN="$target/debug/filbert-test-member"
fi

if [[ -n "$checkout" ]]; then
  if [[ -n "${HAZELCAST_JARS:-}" ]]; then own+=(--java "$HAZELCAST_JARS"); fi
  exec "$python" "$here/remote_controller/own_tests.py" "$checkout" "${own[@]}"
fi

failed=0
for suite in "${suites[@]}"; do
  case "$suite" in
    python)
      "$python" -m pytest -q -p no:cacheprovider --timeout=120 -W "ignore::DeprecationWarning" \
        --rootdir "$here/python" "$here/python" "${extra[@]}" || failed=1
      ;;
    node)
      NODE_PATH="$cache/node/node_modules" "$python" "$here/with_member.py" \
        node --test --test-concurrency=1 --test-timeout=120000 --test-reporter=spec "${extra[@]}" \
        "$here"/node/*.test.js || failed=1
      ;;
    java)
      if ! command -v javac >/dev/null; then
        echo "run.sh: SKIPPED the java suite: there is no JDK (Debian: apt-get install default-jdk-headless)" >&2
        [[ "${CI:-}" != true ]] || failed=1
        continue
      fi
      classes="$(mktemp -d)"
      if javac -cp "$cache/java/hazelcast-5.5.0.jar" -d "$classes" "$here"/java/*.java; then
        "$python" "$here/with_member.py" java -cp "$classes:$cache/java/hazelcast-5.5.0.jar" Suite "${extra[@]}" || failed=1
        if [[ -z "${HAZELCAST_JARS:-}" ]] && (( ${#extra[@]} == 0 )); then
          "$python" "$here/with_member.py" java -cp "$classes:$cache/java/hazelcast-5.4.0.jar" Suite "CP:" || failed=1
        fi
      else
        failed=1
      fi
      # A member of Hazelcast runs SQL only with its jar for it.
      if (( ${#extra[@]} == 0 )) && [[ "${HAZELCAST_JARS:-hazelcast-sql}" == *hazelcast-sql* ]]; then
        { javac -cp "$cache/java/hazelcast-jdbc.jar" -d "$classes/jdbc" "$here"/java/jdbc/*.java \
          && "$python" "$here/with_member.py" java -cp "$classes/jdbc:$cache/java/hazelcast-jdbc.jar" HazelcastJdbcSuite; } || failed=1
      fi
      rm -rf "$classes"
      ;;
    postgres)
      if [[ -n "${HAZELCAST_JARS:-}" ]]; then
        echo "run.sh: SKIPPED the postgres suite: a Hazelcast member has no PostgreSQL door" >&2
        continue
      fi
      "$python" -m pytest -q -p no:cacheprovider --timeout=120 --rootdir "$here/postgres" "$here/postgres" "${extra[@]}" || failed=1
      NODE_PATH="$cache/node/node_modules" "$python" "$here/postgres/with_door.py" \
        node --test --test-timeout=120000 --test-reporter=spec "$here"/postgres/*.test.js || failed=1
      if command -v javac >/dev/null; then
        classes="$(mktemp -d)"
        { javac -cp "$cache/java/postgresql.jar" -d "$classes" "$here/postgres/JdbcSuite.java" \
          && "$python" "$here/postgres/with_door.py" java -cp "$classes:$cache/java/postgresql.jar" JdbcSuite; } || failed=1
        rm -rf "$classes"
      else
        echo "run.sh: SKIPPED the JDBC suite: there is no JDK (Debian: apt-get install default-jdk-headless)" >&2
        [[ "${CI:-}" != true ]] || failed=1
      fi
      if command -v go >/dev/null; then
        (cd "$here/postgres/pgx" && GOMODCACHE="$cache/go" GOFLAGS="${GOFLAGS:-} -modcacherw" CGO_ENABLED=0 \
          "$python" ../with_door.py go test -count=1 -timeout=5m ./...) || failed=1
      else
        echo "run.sh: SKIPPED the suite with pgx: there is no Go (Debian: apt-get install golang-go)" >&2
        [[ "${CI:-}" != true ]] || failed=1
      fi
      "$python" "$here/postgres/with_door.py" "$cache/dbt/bin/python" "$here/postgres/dbt_suite.py" || failed=1
      "$python" "$here/postgres/with_door.py" \
        cargo run --quiet --manifest-path "$here/tokio_postgres/Cargo.toml" --target-dir "$cache/tokio_postgres" || failed=1
      ;;
  esac
done
exit "$failed"
