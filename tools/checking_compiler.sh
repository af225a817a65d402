#!/bin/sh
# clang-tidy in the form of a compiler, so that ccache keeps which files are clean (lint_c.py). Called as a
# compiler is: flags, -c or -E, a file of C, -o and the output, which after -c says no more than that the file
# was checked. TIDY is clang-tidy with its options.
expands='' before=''
for word; do
    case $word in
    -E) expands=yes ;;
    esac
done
if [ "$expands" ]; then
    # ccache learns from this which headers it must compare. What gcc leaves out, comments and clang's
    # branches, clang-tidy reads: with a last line that is new each time, nothing is found by this text.
    gcc "$@" || exit
    for word; do
        if [ "$before" = -o ]; then exec >>"$word"; fi
        before=$word
    done
    date "+// $$ %s%N"
    exit
fi
left=$#
while [ "$left" -gt 0 ]; do
    word=$1
    shift
    left=$((left - 1))
    case $word in
    -c) ;;
    -o)
        output=$1
        shift
        left=$((left - 1))
        ;;
    *.c) file=$word ;;
    *) set -- "$@" "$word" ;;
    esac
done
$TIDY "$file" -- "$@" >&2 && echo checked >"$output"
