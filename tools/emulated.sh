#!/bin/sh
# Run a command in a Debian tree of another processor, under qemu-user: tools/emulated.sh TREE COMMAND...
#
# Needs a kernel with binfmt_misc in user namespaces (6.7) and a static qemu-user, best of version 11: for Debian's
# programs, which sign their pointers, 7.2 takes ten times as long. The namespace is private: the handler for the
# processor's programs is not registered for the machine. The current folder is there under the same path.
#
# A tree of interpreters (arm64 packages are unpacked, their scripts not run), with apt's lists for arm64 in place:
#   apt-get -d install coreutils:arm64 dash:arm64 python3.14-venv:arm64 ...
#   for package in *.deb; do dpkg-deb -x $package TREE; done
# Tests that compile something need gcc, libc6-dev and python3.14-dev, too, and no TREE/usr/lib/*/libasan*: its search for
# leaks does not work under emulation.
set -eu
tree=$(readlink -f "$1")
shift
mkdir -p "$tree/proc" "$tree/dev" "$tree/tmp" "$tree$PWD"
cp -L /etc/resolv.conf /etc/hosts "$tree/etc/"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
exec unshare -Umr sh -c '
  tree=$1 here=$2 qemu=$3; shift 3
  magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
  mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
  mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
  printf "%s" ":aarch64:M::$magic:$mask:$qemu:F" >/proc/sys/fs/binfmt_misc/register
  mount --rbind /proc "$tree/proc"; mount --rbind /dev "$tree/dev"; mount --rbind "$here" "$tree$here"
  exec chroot "$tree" /usr/bin/env -C "$here" PATH=/usr/local/bin:/usr/bin:/bin "$@"
' sh "$tree" "$PWD" "$qemu" "$@"
