#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A bundle runs with its own libraries and its own configs, also after it was
# moved; one that lacks a library does not (so the first finding means something).
#
#   test_bundle.sh SOURCE BUILD

set -eu
src=$1 build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$src/scripts/bundle" -b "$build" "$tmp/made"
mv "$tmp/made" "$tmp/moved"
cd /
env -i "$tmp/moved/fivestage" list configs | grep -q "configs in $tmp/moved/configs"
env -i "$tmp/moved/fivestage" list variables >/dev/null

# Every library of its own comes from the bundle.
taken=$(ldd "$tmp/moved/fivestage" | grep -E 'jansson|inih' | grep -vc "$tmp/moved/lib/" || true)
[ "$taken" -eq 0 ]

# Control: a broken library in the bundle is noticed, since it is the one used.
for lib in "$tmp"/moved/lib/libjansson*; do : >"$lib"; done
if env -i "$tmp/moved/fivestage" --version >/dev/null 2>&1; then
	echo "the program doesn't use the bundle's libraries" >&2
	exit 1
fi

# A directory that is not empty is refused.
if "$src/scripts/bundle" -b "$build" "$tmp" >/dev/null 2>&1; then
	echo "a directory that is not empty was taken" >&2
	exit 1
fi
echo "the bundle stands alone"
