#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# On a fresh Debian, quickstart brings all that is missing, and ends with a figure in
# four minutes; again, with everything there and no network, in one. A bundle that
# was made outside runs there before anything is installed. scripts/test passes.
#
#   test_fresh.sh SOURCE BUILD SUITE      bookworm, trixie, ...: what apt's mirror has
#
# Makes a root file system in a temporary directory (in a mount namespace of its
# own, so that nothing stays mounted), and removes it. 77, with the reason, where that
# can't be done.

set -u
src=$1 build=$2 suite=$3
install_limit=240 again_limit=60

skip() { echo "fresh $suite: $*"; exit 77; }
die() { echo "fresh $suite: $*" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || skip "a root file system is made by root alone"
for p in debootstrap unshare chroot git; do
	command -v "$p" >/dev/null || skip "there is no $p here"
done
# shellcheck disable=SC2016  # apt's own variables
mirror=$(apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' 2>/dev/null |
	sed -nE '/security/d; s/^(Debian|Ubuntu) //p' | head -n 1)
[ -n "$mirror" ] || skip "this machine's apt names no mirror"
[ -e "/usr/share/debootstrap/scripts/$suite" ] || skip "debootstrap here doesn't know $suite"

if [ "${FRESH_INSIDE-}" != 1 ]; then
	unshare -m --propagation private true 2>/dev/null || skip "no mount namespaces here"
	tmp=$(mktemp -d /tmp/fivestage-fresh-XXXXXX) || exit 1
	# Mounts end with their namespace; what they hid is not removed with it.
	trap 'rm -rf --one-file-system "$tmp"' EXIT
	FRESH_INSIDE=1 FRESH_TMP=$tmp unshare -m --propagation private --kill-child -p -f bash "$0" "$@"
	exit
fi

root=$FRESH_TMP/root
mkdir "$root"
timeout 600 debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$FRESH_TMP/log" 2>&1 || {
	tail -n 3 "$FRESH_TMP/log"
	grep -qE "Failed getting release|Couldn't download|Couldn't resolve|Temporary failure" "$FRESH_TMP/log" && skip "the mirror doesn't give $suite"
	grep -qE 'mount|mknod|Operation not permitted' "$FRESH_TMP/log" && skip "no rights to make it"
	die "debootstrap failed"
}
if ! mount -t proc proc "$root/proc" || ! mount --rbind /dev "$root/dev" || ! mount --rbind /sys "$root/sys"; then
	skip "no rights to mount"
fi

# Network as here: names, certificates, and what apt is told of proxies.
cp -L /etc/resolv.conf "$root/etc/" 2>/dev/null
cp /etc/hosts "$root/etc/" 2>/dev/null
cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2>/dev/null &&
	chroot "$root" update-ca-certificates >/dev/null 2>&1
apt-config dump | grep -E '^Acquire::(http|https)::Proxy' >"$root/etc/apt/apt.conf.d/99proxy"

# The tree as it would be cloned: what is committed, and what isn't yet.
mkdir -p "$root/home/fivestage"
(cd "$src" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read) |
	tar -x -C "$root/home/fivestage" || die "the tree can't be copied"

inside() { # inside SECONDS COMMAND
	timeout -k 10 "$1" chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		bash -c "cd /home/fivestage && $2" </dev/null >"$FRESH_TMP/log" 2>&1
}

# said: of the last run, whether it ended with sentences about a figure that is there and not empty
said() {
	local figure
	figure=$(sed -n 's/^In \([^ ]*\.svg\) .*one 8-byte message takes.*/\1/p' "$FRESH_TMP/log")
	[ -n "$figure" ] && [ "$(stat -c %s "$root/home/fivestage/$figure" 2>/dev/null || echo 0)" -gt 10000 ] &&
		[ "$(grep -c '<use' "$root/home/fivestage/$figure")" -gt 5 ] &&
		[ "$(stat -c %s "$root/home/fivestage/${figure%svg}png" 2>/dev/null || echo 0)" -gt 10000 ]
}

timed() { # timed LIMIT WHAT COMMAND: the seconds in $took
	local start
	start=$(date +%s%N)
	inside "$(($1 * 2))" "$3" || { code=$?; tail -n 40 "$FRESH_TMP/log"; die "$2: exit code $code"; }
	took=$((($(date +%s%N) - start) / 100000000))
	took=$((took / 10)).$((took % 10))
	echo "fresh $suite: $2: $took s (limit $1)"
	[ "${took%.*}" -lt "$1" ] || die "$2 took too long"
}

# ---- a bundle from outside, where nothing is installed ----
bundle=none
if "$src/scripts/bundle" -b "$build" "$root/opt/bundle" >"$FRESH_TMP/log" 2>&1; then
	needs=$(sed -n 's/^glibc: //p' "$root/opt/bundle/BUNDLE")
	has=$(chroot "$root" ldd --version | sed -n '1s/.* //p')
	if [ "$(printf '%s\n' "$needs" "$has" | sort -V | head -n 1)" = "$needs" ]; then
		inside 120 "/opt/bundle/fivestage run -o /tmp/bundled issuer=cpu nic=soft messages=1000 && [ -s /tmp/bundled/summary.csv ]" ||
			{ tail -n 20 "$FRESH_TMP/log"; die "the bundle doesn't run"; }
		bundle="needs glibc $needs, runs with $has"
	else
		bundle="needs glibc $needs, and $has is here"
	fi
fi
echo "fresh $suite: bundle made outside: $bundle"

# Control: here nothing is installed yet, which is seen, and no figure is.
inside 60 "scripts/quickstart --no-install" && die "it built without a compiler"
grep -q 'still missing; who may can install it with: apt-get install .*meson' "$FRESH_TMP/log" || die "it doesn't say what is missing"
said && die "a figure was found where there can be none"

timed "$install_limit" "quickstart, with installing" scripts/quickstart
said || { tail -n 20 "$FRESH_TMP/log"; die "no figure"; }
tail -n 6 "$FRESH_TMP/log"

# Again, offline: no network but the loopback, and none is asked for.
timed "$again_limit" "quickstart again, offline" "unshare -n scripts/quickstart"
said || { tail -n 20 "$FRESH_TMP/log"; die "no figure the second time"; }
grep -q '^missing' "$FRESH_TMP/log" && die "something is still missing"
[ "$(find "$root/home/fivestage/results" -path '*20*/summary.csv' -newer "$root/opt" | wc -l)" -ge 2 ] || die "two runs, but not two directories"

timed 1500 "scripts/test --quick" "scripts/test --quick"
tail -n 1 "$FRESH_TMP/log"
echo "fresh $suite: all of it works"
