#!/bin/sh
# Installs Crosstalk without Node, for you alone: the program in ~/.local/lib/crosstalk, and a link to it
# in ~/.local/bin. Nothing else is touched, and nothing is run as root. It needs tar and sha256sum, and
# curl unless you name an archive that is here already, with its .sha256 beside it:
#   sh install.sh [crosstalk-linux-x64.tar.gz]
# CROSSTALK_URL is the folder with both files. The default is where a release will be: there is none yet.
# The checksum shows that the archive came whole; who made it, only the place that you have it from.
set -eu
url=${CROSSTALK_URL:-https://github.com/cordfuse/crosstalk/releases/latest/download}

fail() { echo "install.sh: $*; nothing was changed" >&2; exit 1; }

case ${HOME:-} in /?*) ;; *) fail 'HOME names no folder; set it to yours' ;; esac
lib=$HOME/.local/lib/crosstalk
link=$HOME/.local/bin/crosstalk
case $(uname -s)-$(uname -m) in
  Linux-x86_64) name=crosstalk-linux-x64.tar.gz ;;
  Linux-aarch64) name=crosstalk-linux-arm64.tar.gz ;;
  *) fail "there is no archive for $(uname -s) $(uname -m); install Node, and make the npm package (README.md)" ;;
esac
if [ -e "$link" ] || [ -L "$link" ]; then
  [ "$(readlink "$link")" = "$lib/crosstalk" ] || fail "$link is another program; move it away, and run this again"
fi
if [ -e "$lib" ]; then
  [ -x "$lib/runtime/node" ] && [ -d "$lib/app" ] || fail "$lib is something else; move it away, and run this again"
fi

for folder in "$HOME/.local/lib" "$HOME/.local/bin"; do
  mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ] || fail "cannot write to $folder; make it a folder of yours"
done
# It may be a link to another disk.
real=$(readlink -f "$lib") || fail "$lib leads nowhere; remove this link"
new=$(mktemp -d "$real-new.XXXXXX") || fail "cannot make a folder beside $real"
# The one before stands aside until the new one is in its place.
trap '[ -e "$real" ] || [ ! -e "$new/old" ] || mv "$new/old" "$real"; rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM
if [ $# -gt 0 ]; then
  [ -f "$1" ] && [ -f "$1.sha256" ] || fail "there is no $1, or no $1.sha256 beside it"
  cp -- "$1" "$new/$name"
  cp -- "$1.sha256" "$new/$name.sha256"
else
  for file in "$name" "$name.sha256"; do
    curl --fail --silent --show-error --location --output "$new/$file" "$url/$file" || fail "cannot fetch $url/$file"
  done
fi
wanted=$(cut -d ' ' -f 1 "$new/$name.sha256")
found=$(sha256sum <"$new/$name" | cut -d ' ' -f 1)
[ -n "$found" ] && [ "$found" = "$wanted" ] || fail "$name is not what its checksum says; fetch both anew"

tar -xzf "$new/$name" -C "$new" || fail "cannot unpack $name in $new"
# Also says on which system it cannot run.
version=$("$new/crosstalk/crosstalk" --version) || fail "it does not run here: it needs glibc 2.28 or newer, not musl"
[ ! -e "$real" ] || mv "$real" "$new/old"
mv "$new/crosstalk" "$real" || fail "cannot put it into $real"
ln -sfn "$lib/crosstalk" "$link"
echo "Crosstalk $version: $link"
case :$PATH: in
  *":$HOME/.local/bin:"*) ;;
  *) echo "It is not on your PATH yet: export PATH=\"\$HOME/.local/bin:\$PATH\"" ;;
esac
command -v git >/dev/null || echo 'It needs git 2.34 or newer, which is not on your PATH.'
