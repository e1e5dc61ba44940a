#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `meson install` leaves is all of it, where others look for it, and the
# program there uses the configs there.
#
#   test_install.sh SOURCE BUILD

set -eu
src=$1 build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

DESTDIR=$tmp meson install -C "$build" --no-rebuild >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
root=$(find "$tmp" -type d -path '*/share/fivestage' | head -n 1)
root=${root%/share/fivestage}
[ -n "$root" ] || { echo "nothing was installed"; exit 1; }

# missing ROOT: what isn't there, a line each
missing() {
	local f
	for f in bin/fivestage share/man/man1/fivestage.1 share/bash-completion/completions/fivestage.bash \
		$(cd "$src" && find configs -name '*.ini' | sed 's#^#share/fivestage/#') \
		$(cd "$src" && find scripts -type f ! -name '*.pyc' | sed 's#^#share/fivestage/#'); do
		case $f in
		*/scripts/test | */scripts/bundle) [ ! -e "$1/$f" ] || echo "$f is there and can't run" ;;
		*) [ -s "$1/$f" ] || echo "$f" ;;
		esac
	done
}
[ -z "$(missing "$root")" ] || { echo "not installed:"; missing "$root"; exit 1; }

cd /
"$root/bin/fivestage" list configs | grep -q "configs in $root/bin/../share/fivestage/configs"
"$root/bin/fivestage" list man | cmp - "$root/share/man/man1/fivestage.1"
"$root/bin/fivestage" list completion | cmp - "$root/share/bash-completion/completions/fivestage.bash"
"$root/bin/fivestage" run -o "$tmp/out" issuer=cpu nic=null messages=100 >/dev/null
[ -s "$tmp/out/summary.csv" ]
for f in "$root"/share/fivestage/scripts/*; do
	[ -d "$f" ] || [ -x "$f" ] || [ "${f##*.}" != sh ] || { echo "$f can't be executed"; exit 1; }
done
[ -x "$root/share/fivestage/scripts/targets" ]

# Control: a file that is missing is found to be.
rm "$root/share/man/man1/fivestage.1"
[ "$(missing "$root")" = share/man/man1/fivestage.1 ]
echo "installed: $(find "$root" -type f | wc -l) files"
