#!/usr/bin/env bash
# Builds the image of packaging/Dockerfile from an archive over a clean root, without a registry and without a daemon, starts a member in
# it, and asks it whether it is ready. Needs Linux, root, and buildah.
#
#   tests/package/image.sh <folder with filbert-*-linux.tar.gz and Dockerfile> <folder of a clean root>
#
# The status is 0 when all is as it should be, 1 when it is not. Without buildah it says that it skips, and fails where CI is set.
set -euo pipefail

missing() {
  echo "tests/package: skipped the image: $1"
  [[ -z "${CI:-}" ]] && exit 0
  exit 2
}
failed() { echo "tests/package: FAILED: $1" >&2; exit 1; }

(( $# == 2 )) || failed "image.sh takes the folder of the archive and that of a clean root"
context=$(realpath "$1") root=$(realpath "$2")
command -v buildah >/dev/null || missing "buildah is missing"
(( EUID == 0 )) || missing "root is needed"
command -v pgrep >/dev/null || missing "pgrep is missing"

scratch=$(mktemp -d)
# Of its own, so that nothing of it is left behind: images, containers, and what they mount.
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
build() { buildah --root "$scratch/store" --runroot "$scratch/run" "$@"; }
http=127.0.0.1:$(( 20000 + RANDOM % 10000 ))
running() { pgrep --newest --full -- "filbert start .*--http-port ${http##*:}"; }
trap 'process=$(running) && kill -KILL "$process"; build rm --all >/dev/null 2>&1 || true; rm -rf --one-file-system "$scratch"' EXIT

build from --name base scratch >/dev/null
build add base "$root" / >/dev/null
build commit --quiet base localhost/base >/dev/null
build build --pull-never --quiet --format docker --build-arg BASE=localhost/base --tag filbert "$context" >"$scratch/log" 2>&1 \
  || { tail -n 20 "$scratch/log" >&2; failed "the Dockerfile does not build"; }

settings=$(build inspect --type image --format '{{.Docker.Config.User}} {{.Docker.Config.StopSignal}}' filbert)
[[ $settings == "filbert SIGTERM" ]] || failed "the image has as user and stop signal: $settings"

build from --pull-never --name member filbert >/dev/null
build run member -- filbert start --port 0 --postgres-port 0 --http-port "${http##*:}" --config /etc/filbert/filbert.toml >"$scratch/member" 2>&1 &
member=$!
for (( look = 0; look < 600; look++ )); do
  if build run member -- filbert ping --live --address "$http" >/dev/null 2>&1; then
    [[ $(build run member -- id -un) == filbert ]] || failed "the member is not run by the user filbert"
    process=$(running) || failed "the member is ready, and there is no such process"
    kill -TERM "$process"
    wait "$member" || { cat "$scratch/member" >&2; failed "the member did not end well"; }
    echo "tests/package: the image is as it should be"
    exit 0
  fi
  kill -0 "$member" 2>/dev/null || break
  sleep 0.1
done
cat "$scratch/member" >&2
failed "the member in the image was not ready within a minute"
