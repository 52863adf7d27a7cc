#!/usr/bin/env bash
# Keeps git from opening a pager. `updatedInput` holds the new arguments; without output nothing changes.
jq -c 'select(.tool_input.command == "git log") | {hookSpecificOutput: {hookEventName: "PreToolUse",
    permissionDecision: "ask", updatedInput: (.tool_input + {command: "git --no-pager log"})}}'
