#!/usr/bin/env bash
# Installs the Debian package in a clean Debian, starts its service by the command line of its unit, writes and reads over
# loopback, upgrades, and removes the package again. Needs Linux, root, dpkg-deb and debootstrap (or a root that it made).
#
#   tests/package/run.sh [--image] [<package.deb> [<folder of a clean root>]]
#
# With --image it first builds the image of the Dockerfile beside the package, over the same root, and starts a member in it: see image.sh.
# Without a package it takes the one that `cargo xtask package` has made.
# The status is 0 when all is as it should be, 1 when it is not, 2 when something is missing here.
set -euo pipefail

missing() { echo "tests/package: $1" >&2; exit 2; }
failed() { echo "tests/package: FAILED: $1" >&2; exit 1; }

if [[ "${1:-}" == --image ]]; then
  export FILBERT_PACKAGE_IMAGE=1
  shift
fi
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
made=("${CARGO_TARGET_DIR:-$here/../../target}"/package/filbert_*.deb)
deb=$(realpath "${1:-${made[-1]}}")
[[ -f $deb ]] || missing "there is no package at $deb; cargo xtask package makes one"
(( EUID == 0 )) || missing "root is needed, for a root of its own"
command -v dpkg-deb >/dev/null || missing "dpkg-deb is missing"

# Mounts and processes end with this script: it runs in namespaces of its own.
if [[ -z "${FILBERT_PACKAGE_INSIDE:-}" ]]; then
  export FILBERT_PACKAGE_INSIDE=1
  exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi

scratch=$(mktemp -d)
trap 'umount "$scratch/root/proc" 2>/dev/null || true; umount -R "$scratch/root" "$scratch/layers" 2>/dev/null || true; rm -rf --one-file-system "$scratch"' EXIT
mkdir -p "$scratch/root"
if (( $# >= 2 )); then
  # What is written goes to a layer above: the clean root stays clean.
  mkdir -p "$scratch/layers"
  mount -t tmpfs tmpfs "$scratch/layers"
  mkdir "$scratch/layers/upper" "$scratch/layers/work"
  mount -t overlay overlay -o "lowerdir=$(realpath "$2"),upperdir=$scratch/layers/upper,workdir=$scratch/layers/work" "$scratch/root"
else
  command -v debootstrap >/dev/null || missing "debootstrap is missing; or name the folder of a root"
  suite=$(. /etc/os-release; echo "${VERSION_CODENAME:-stable}")
  debootstrap --variant=minbase "$suite" "$scratch/root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$scratch/debootstrap.log" \
    || { tail -n 5 "$scratch/debootstrap.log" >&2; missing "debootstrap failed"; }
fi
root="$scratch/root"
# While the root is still clean.
[[ -z "${FILBERT_PACKAGE_IMAGE:-}" ]] || "$here/image.sh" "$(dirname "$deb")" "$root"
mount -t proc proc "$root/proc"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

hazelcast=127.0.0.1:25701 http=127.0.0.1:28080
unit=/usr/lib/systemd/system/filbert.service
directive() { sed -n "s/^$1=//p" "$root$unit"; }

# Runs the member as systemd would: its user, its folder, its command line.
start() {
  local user folder
  user=$(directive User) folder=$(directive WorkingDirectory)
  # shellcheck disable=SC2046
  inside setpriv --reuid "$user" --regid "$(directive Group)" --init-groups \
    sh -c "cd '$folder' && $(directive ExecStartPre) && exec $(directive ExecStart)" >>"$scratch/member.log" 2>&1 &
  member=$!
  for (( look = 0; look < 600; look++ )); do
    inside filbert ping --address "$http" >/dev/null 2>&1 && return
    kill -0 "$member" 2>/dev/null || { cat "$scratch/member.log" >&2; failed "the member did not start"; }
    sleep 0.1
  done
  cat "$scratch/member.log" >&2
  failed "the member was not ready within a minute"
}

# The process id of the member, by the name of its program.
process() { grep -lx filbert "$root"/proc/[0-9]*/comm 2>/dev/null | sed 's|.*/proc/||;s|/comm||' | head -n 1; }

stop() {
  kill -TERM "$(process)"
  wait "$member" || { cat "$scratch/member.log" >&2; failed "the member did not end well"; }
}

expect() {
  local what=$1 is=$2 should=$3
  [[ "$is" == "$should" ]] || failed "$what is $is, not $should"
}

step() { echo "== $1"; }

step "install"
cp "$deb" "$root/filbert.deb"
inside dpkg -i /filbert.deb
expect "the user's home" "$(inside getent passwd filbert | cut -d: -f6)" /var/lib/filbert
expect "the data directory" "$(inside stat -c '%U:%G %a' /var/lib/filbert)" "filbert:filbert 750"
expect "the settings" "$(inside stat -c '%U:%G %a' /etc/filbert/filbert.toml)" "root:filbert 640"
inside gzip -t /usr/share/man/man1/filbert.1.gz
inside bash -n /usr/share/bash-completion/completions/filbert
inside filbert --version

step "settings of an administrator"
cat >>"$root/etc/filbert/filbert.toml" <<SETTINGS
[hazelcast]
address = "$hazelcast"
[postgres]
address = "127.0.0.1:25433"
[http]
address = "$http"
[map."*".persistence]
fsync = "always"
SETTINGS
sums=$(inside md5sum /etc/filbert/filbert.toml)

step "start, by the command line of the unit"
start
inside filbert map --address "$hazelcast" put cities Oslo 709000 --value-as long >/dev/null
expect "the value" "$(inside filbert map --address "$hazelcast" get cities Oslo)" 709000
expect "the user of the member" "$(awk '/^Uid:/ { print $2 }' "$root/proc/$(process)/status")" "$(inside id -u filbert)"

step "upgrade"
dpkg-deb -R "$deb" "$scratch/next"
sed -i 's/^Version: .*/&+next/' "$scratch/next/DEBIAN/control"
dpkg-deb -Znone -b "$scratch/next" "$root/next.deb" >/dev/null
rm -rf "$scratch/next"
inside dpkg -i /next.deb
expect "the settings after the upgrade" "$(inside md5sum /etc/filbert/filbert.toml)" "$sums"
expect "the rights of the settings" "$(inside stat -c '%U:%G %a' /etc/filbert/filbert.toml)" "root:filbert 640"
stop
start
expect "the value after the upgrade" "$(inside filbert map --address "$hazelcast" get cities Oslo)" 709000

step "remove and purge"
stop
inside dpkg -r filbert
[[ ! -e $root/usr/bin/filbert && ! -e $root$unit ]] || failed "files are left behind"
[[ -f $root/etc/filbert/filbert.toml ]] || failed "the settings went with the program"
inside dpkg -P filbert
[[ ! -e $root/etc/filbert/filbert.toml ]] || failed "the settings survived a purge"
[[ -n $(ls -A "$root/var/lib/filbert") ]] || failed "the data went with the program"

echo "tests/package: all is as it should be"
