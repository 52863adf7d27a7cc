#!/usr/bin/env bash
# Refuses `rm -rf`. The event is JSON on standard input; exit code 2 refuses, and standard error is the reason.
command=$(jq -r '.arguments.command // ""') || exit 2
if [[ $command == *'rm -rf'* ]]; then
    echo 'rm -rf is not allowed here' >&2
    exit 2
fi
