#!/usr/bin/env bash
# Notes every tool that has run. Claude Code's JSON is on standard input.
jq -r '.tool_name' >> "${TMPDIR:-/tmp}/NAME.log"
