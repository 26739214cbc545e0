#!/usr/bin/env bash
# Unpack mail servers that Debian does not install beside Postfix, for the tests of this folder.
#
#     tests/mail_servers/install.sh [FOLDER]
#
# FOLDER (~/.cache/postfinch/mail_servers) becomes the root of a small system with Exim, OpenSMTPD and
# Dovecot, the libraries that they load, and their users. Nothing else of this machine changes. Tests
# copy it and run the servers in there by chroot, since their paths are compiled in.
set -euo pipefail
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/postfinch/mail_servers}
packages=(exim4-daemon-light opensmtpd dovecot-core dovecot-lmtpd dovecot-submissiond)
[[ -e $folder/complete ]] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir "$root"

# What a package needs and this machine lacks comes with it, and what that needs in turn
unpack() {
  local lacking=() library
  for package in "$@"; do mkdir -p "$work/$package"; done
  (cd "$work" && apt-get download -qq "$@" 2>/dev/null)
  for archive in "$work"/*.deb; do
    dpkg -x "$archive" "$root"
    for library in $(dpkg-deb -f "$archive" Depends | tr ',' '\n' | grep -oE '^ *lib[^ :|]+'); do
      dpkg -s "$library" &>/dev/null || [[ -e $work/$library ]] || lacking+=("$library")
    done
    rm "$archive"
  done
  ((${#lacking[@]} == 0)) || unpack "${lacking[@]}"
}
unpack "${packages[@]}"
rm -rf "$root"/usr/share "$root"/etc "$root"/lib/systemd

# The libraries of this machine that the programs load
libraries=$root/usr/lib/dovecot:$root/usr/lib/$(uname -m)-linux-gnu
programs() { find "$root/usr" -type f \( -perm -u+x -o -name '*.so*' \); }
# A script among them makes ldd fail
{ programs | LD_LIBRARY_PATH=$libraries xargs ldd 2>/dev/null || true; } |
  grep -oE '(=> |^\s+)/[^ ]+' | grep -oE '/.*' | grep -v "^$root" | sort -u |
  xargs cp --parents -L -t "$root"

mkdir -p "$root"/{bin,dev,etc,run,tmp,var/mail,var/log/exim4} "$root"/var/lib/opensmtpd/empty
cp --parents -L /bin/sh "$root" # OpenSMTPD runs a command to store a message
ln -s /run "$root"/var/run
touch "$root"/dev/null
chmod 666 "$root"/dev/null
chmod 1777 "$root"/tmp
users=(root:0 postmaster:990 Debian-exim:991 opensmtpd:992 opensmtpq:993 dovecot:994 dovenull:995)
for user in "${users[@]}" nobody:65534; do
  number=${user#*:}
  echo "${user%:*}:x:$number:$number::/:/bin/false" >>"$root"/etc/passwd
  echo "${user%:*}:x:$number:" >>"$root"/etc/group
done
echo "127.0.0.1 localhost" >"$root"/etc/hosts
touch "$root"/complete
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$root" "$folder"
