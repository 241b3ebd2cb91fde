#!/bin/sh
# Puts the pinned Apache ECharts script beside this file, to be embedded by the next
# build. npm downloads the package, so that the user's npm configuration (mirror,
# proxy) applies. Without npm or a network it prints a warning and succeeds; content
# other than what echarts.lock.json pins is an error.
set -eu
cd "$(dirname "$0")"

pinned() {
	sed -n "s/^ *\"$1\": \"\(.*\)\".*/\1/p" echarts.lock.json
}

# check FILE FIELD: whether the digest of the file is that of the lock.
check() {
	digest=$(node -p 'require("crypto").createHash("sha512").update(require("fs").readFileSync(process.argv[1])).digest("base64")' "$1")
	[ "sha512-$digest" = "$(pinned "$2")" ]
}

without() {
	echo "no offline charts: $1" >&2
	echo "Reports will load $package from the network; their tables do not need it." >&2
	exit 0
}

package=$(pinned name)@$(pinned version)
script=echarts.min.js
command -v npm >/dev/null || without "npm, which fetches $(pinned name), is not installed"
if [ -e $script ] && check $script fileIntegrity; then
	touch $script # newer than the lock, so that make is content
	exit
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
echo "fetching $package with npm" >&2
# In the temporary folder, away from any package.json. npm's own pauses between retries
# would make everybody without a network wait for minutes.
(cd "$tmp" && npm pack --loglevel=error --ignore-scripts --no-update-notifier --fetch-timeout=60000 \
	--fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=1000 "$package") >/dev/null ||
	without "npm pack $package failed"
archive=$(echo "$tmp"/*.tgz)
if ! check "$archive" integrity; then
	echo "fetch: the archive of $package differs from echarts.lock.json" >&2
	exit 1
fi
tar -xzf "$archive" -C "$tmp" "$(pinned file)"
if ! check "$tmp/$(pinned file)" fileIntegrity; then
	echo "fetch: $(pinned file) of $package differs from echarts.lock.json" >&2
	exit 1
fi
cp "$tmp/$(pinned file)" .fetch.part # a name that no build embeds
mv .fetch.part $script
