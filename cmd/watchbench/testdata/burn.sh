#!/bin/sh
# A watcher with so many busy loops beside it, which end with it: burn.sh LOOPS WATCHER ARGS...
me=$$ loops=$1
shift
while [ "$loops" -gt 0 ]; do
	(while kill -0 "$me" 2>/dev/null; do :; done) &
	loops=$((loops - 1))
done
exec "$@"
