# The session in the README, one command per line. `cargo xtask generate` runs it in an empty home.
becket --hooks examples/guard.toml "Run: rm -rf build"
becket -C push --yes --hooks examples/first-hook.toml "Run: echo hello > notes.txt then Run: git push" >/dev/null
