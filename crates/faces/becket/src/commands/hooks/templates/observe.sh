#!/usr/bin/env bash
# Notes every tool that has run. The event is JSON on standard input.
jq -r '.tool_name' >> "${TMPDIR:-/tmp}/NAME.log"
