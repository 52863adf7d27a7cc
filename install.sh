#!/bin/sh
# Installs becket for one user, from a release's folder or address, and takes it away again.
#
#   install.sh [--from FOLDER|URL] [--version VERSION] [--prefix FOLDER]
#   install.sh --uninstall [--prefix FOLDER]
#
# Without --from it takes the archive that lies beside this script. The archive is verified with the SHA256SUMS beside
# it before anything is written. Needs: sh, tar, xz, sha256sum, and curl or wget for an address.
set -eu

from=$(dirname "$0")
prefix=${HOME:-/root}/.local
version=
uninstall=

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "$0"
}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --from | --prefix | --version)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
                --from) from=$2 ;;
                --prefix) prefix=$2 ;;
                --version) version=$2 ;;
            esac
            shift
            ;;
        --uninstall) uninstall=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) fail "unknown option $1; see --help" ;;
    esac
    shift
done

case $prefix in
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac
# The list of what was installed, so that nothing else is ever removed.
list=$prefix/share/becket/installed

if [ -n "$uninstall" ]; then
    [ -f "$list" ] || fail "nothing is installed in $prefix: there is no $list"
    while IFS= read -r file; do
        rm -f "$prefix/$file"
    done <"$list"
    rm -f "$list"
    rmdir "$prefix/share/becket/doc" "$prefix/share/becket" 2>/dev/null || :
    echo "removed becket from $prefix; what you made with it stays: see docs/install.md"
    exit 0
fi

case $(uname -s) in
    Linux) ;;
    *) fail "there is no archive for $(uname -s); build it from source: see docs/install.md" ;;
esac
processor=$(uname -m)
case $processor in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no archive for the processor $processor; build it from source: see docs/install.md" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Brings a file of the release here.
get() {
    case $from in
        https://* | http://127.0.0.1* | http://localhost*)
            if command -v curl >/dev/null 2>&1; then
                curl --fail --silent --show-error --location --output "$work/$1" "$from/$1"
            else
                wget -q -O "$work/$1" "$from/$1"
            fi || fail "cannot get $from/$1"
            ;;
        http://*) fail "only https is trusted, not $from" ;;
        *) cp "$from/$1" "$work/$1" 2>/dev/null || fail "there is no $from/$1" ;;
    esac
}

get SHA256SUMS
# The newest archive for this processor, or the one of the version that is wanted.
pattern="becket-${version:-[0-9][^ ]*}-$processor-unknown-linux-\(musl\|gnu\)\.tar\.xz"
archive=$(sed -n "s/^[0-9a-f]\{64\}  \($pattern\)\$/\1/p" "$work/SHA256SUMS" | tail -n 1)
[ -n "$archive" ] || fail "the release has no archive for $processor${version:+ of version $version}"
get "$archive"
(cd "$work" && grep "  $archive\$" SHA256SUMS | sha256sum -c - >/dev/null) ||
    fail "$archive is not the one that SHA256SUMS names; nothing was installed"
(cd "$work" && xz -dc "$archive" | tar -xf -) || fail "cannot unpack $archive"
tree=$work/${archive%.tar.xz}

# Puts a file at its place, and notes it. A program that runs is replaced, not written into.
put() {
    mkdir -p "$prefix/$(dirname "$3")"
    cp "$tree/$2" "$prefix/$3.new"
    chmod "$1" "$prefix/$3.new"
    mv -f "$prefix/$3.new" "$prefix/$3"
    printf '%s\n' "$3" >>"$work/installed"
}

put 755 becket bin/becket
put 755 becket-hook bin/becket-hook
put 755 becket-jq bin/becket-jq
put 755 becket-sandbox bin/becket-sandbox
put 644 completions/becket share/bash-completion/completions/becket
put 644 completions/_becket share/zsh/site-functions/_becket
put 644 completions/becket.fish share/fish/vendor_completions.d/becket.fish
for page in "$tree"/man/*.1; do
    put 644 "man/${page##*/}" "share/man/man1/${page##*/}"
done
for text in README.md CHANGELOG.md THIRD-PARTY.md LICENSE-MIT LICENSE-APACHE; do
    put 644 "$text" "share/becket/doc/$text"
done
# What an earlier version installed and this one does not is removed.
if [ -f "$list" ]; then
    while IFS= read -r file; do
        grep -qxF "$file" "$work/installed" || rm -f "$prefix/$file"
    done <"$list"
fi
mkdir -p "$prefix/share/becket"
cp "$work/installed" "$list"

echo "installed $("$prefix/bin/becket" -V) in $prefix"
case :${PATH:-}: in
    *:"$prefix/bin":*) ;;
    *) echo "$prefix/bin is not in your PATH; add it to use becket by its name" ;;
esac
