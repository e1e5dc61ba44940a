#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A bundle runs with its own libraries and its own configs, after it was moved, from
# another directory, with an empty environment and with junk in LD_LIBRARY_PATH; one
# that lacks a library does not (so the first finding means something).
#
#   test_bundle.sh SOURCE BUILD

set -eu
src=$1 build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$src/scripts/bundle" --help | grep -q 'scripts/bundle \[-b BUILD\] DIR'
for wrong in "" "-x" "-b" "one two"; do
	code=0
	# shellcheck disable=SC2086  # several words
	"$src/scripts/bundle" $wrong >/dev/null 2>&1 || code=$?
	[ "$code" -eq 2 ] || { echo "scripts/bundle $wrong: exit code $code" >&2; exit 1; }
done

"$src/scripts/bundle" -b "$build" "$tmp/made"
mv "$tmp/made" "$tmp/moved there"
at="$tmp/moved there"
cd /
env -i "$at/fivestage" list configs | grep -q "configs in $at/configs"
env -i "$at/fivestage" list variables >/dev/null
for f in BUNDLE LICENSE README.md fivestage.1 fivestage.bash configs/default.ini scripts/quickstart scripts/packages \
	scripts/tell.py scripts/plot.py scripts/plotlib/load.py; do
	[ -s "$at/$f" ] || { echo "$f isn't in the bundle" >&2; exit 1; }
done
# links ROOT: what README.md and the documents link to and isn't there, a line each
links() {
	local f to
	(cd "$1" && for f in README.md CHANGELOG.md CONTRIBUTING.md docs/*.md; do
		grep -oE '\]\([^)#]+' "$f" | sed 's/^](//' | while read -r to; do
			case $to in *://*) continue ;; esac
			[ -e "$(dirname "$f")/$to" ] || echo "$f: $to"
		done
	done)
}
[ -z "$(links "$at")" ] || { echo "links that lead nowhere:" >&2; links "$at" >&2; exit 1; }
mv "$at/docs/method.md" "$tmp/"     # control
[ "$(links "$at" | grep -c method.md)" -gt 0 ]
mv "$tmp/method.md" "$at/docs/"
[ -z "$(find "$at" -type l)" ] || { echo "links lead out of the bundle" >&2; exit 1; }

# Every library of its own comes from the bundle, whatever LD_LIBRARY_PATH offers.
mkdir "$tmp/junk"
for lib in "$at"/lib/*; do : >"$tmp/junk/${lib##*/}"; done
foreign() { LD_LIBRARY_PATH=$tmp/junk ldd "$at/fivestage" | grep -E 'jansson|inih|hwloc' | grep -vc "$at/lib/" || true; }
[ "$(foreign)" -eq 0 ]
env -i LD_LIBRARY_PATH="$tmp/junk" "$at/fivestage" run -o "$tmp/out" issuer=cpu nic=null messages=100 >/dev/null
[ -s "$tmp/out/summary.csv" ]

# The glibc that BUNDLE names is not newer than this one, and is no empty word.
glibc=$(sed -n 's/^glibc: //p' "$at/BUNDLE")
here=$(ldd --version | sed -n '1s/.* //p')
[[ $glibc =~ ^2\.[0-9]+(\.[0-9]+)?$ ]]
[ "$(printf '%s\n' "$glibc" "$here" | sort -V | tail -n 1)" = "$here" ]

# Control: a broken library in the bundle is noticed, since it is the one used; and junk
# that the program would take is noticed too, once its own directory is gone.
for lib in "$at"/lib/libjansson*; do : >"$lib"; done
if env -i "$at/fivestage" --version >/dev/null 2>&1; then
	echo "the program doesn't use the bundle's libraries" >&2
	exit 1
fi
rm "$at"/lib/libjansson*
if env -i LD_LIBRARY_PATH="$tmp/junk" "$at/fivestage" --version >/dev/null 2>&1; then
	echo "the junk doesn't matter, so it shows nothing" >&2
	exit 1
fi

# A directory that is not empty is refused.
if "$src/scripts/bundle" -b "$build" "$tmp" >/dev/null 2>&1; then
	echo "a directory that is not empty was taken" >&2
	exit 1
fi
echo "the bundle stands alone"
