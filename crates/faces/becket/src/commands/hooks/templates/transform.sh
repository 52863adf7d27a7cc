#!/usr/bin/env bash
# Keeps git from opening a pager. What it prints are the new arguments; without output nothing changes.
jq -c 'select(.arguments.command == "git log") | {arguments: (.arguments + {command: "git --no-pager log"})}'
