#!/bin/sh
# Build CPython against musl, to try the wheels for musl: tools/musl_python.sh SOURCE.tar.xz [FOLDER], 5 minutes.
#
# Needs gcc and Debian's musl-tools, and apt for the sources of zlib and libffi, without which Python has no zlib and no
# ctypes. The interpreter is FOLDER/bin/python3, by default build/wheels/musl. It is linked dynamically, since it loads
# extensions, and needs no root. `make wheeltest` uses it if it is there.
set -eu
source=$(readlink -f "$1")
folder=$(readlink -m "${2:-build/wheels/musl}")
jobs=${JOBS:-$(nproc)}
command -v musl-gcc >/dev/null || { echo "musl-gcc is missing: apt-get install musl-tools" >&2; exit 1; }
rm -rf "$folder" "$folder.build"
mkdir -p "$folder" "$folder.build/apt/lists/partial" "$folder.build/kernel"
cd "$folder.build"

# musl-gcc searches musl's headers only; those of the kernel are the same for each C library. It names the triplet of gcc.
machine=$(gcc -print-multiarch)
for part in linux asm-generic; do ln -s "/usr/include/$part" kernel/; done
ln -s "/usr/include/$machine/asm" kernel/asm
cat >musl-cc <<END
#!/bin/sh
[ "\$*" != --print-multiarch ] || exec echo ${machine%gnu}musl
exec musl-gcc "\$@" -idirafter $PWD/kernel
END
chmod +x musl-cc

# The sources come from the archive that this machine uses, with lists of their own.
sed -n 's/^URIs: */deb-src [trusted=yes] /p; s/^deb \(\[[^]]*\] \)*\([^ ]*\) .*/deb-src [trusted=yes] \2/p' \
  /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | grep -v security | head -1 |
  sed "s/\$/ $(. /etc/os-release && echo "$VERSION_CODENAME") main/" >apt/sources.list
apt="-q -o APT::Sandbox::User=root -o Dir::Etc::sourcelist=$PWD/apt/sources.list -o Dir::Etc::sourceparts=- \
  -o Dir::State::lists=$PWD/apt/lists -o Acquire::Check-Valid-Until=false"
# shellcheck disable=SC2086  # the options are words
apt-get $apt update >apt/log && apt-get $apt source --download-only zlib libffi >>apt/log
mkdir zlib libffi python
tar xf zlib_*.orig.tar.* -C zlib --strip-components=1
tar xf libffi_*.orig.tar.* -C libffi --strip-components=1
tar xf "$source" -C python --strip-components=1

build() {  # FOLDER COMMAND...: the log is FOLDER.log, shown if the command fails
  name=$1; shift
  (cd "$name" && "$@") >>"$name.log" 2>&1 || { tail -30 "$name.log" >&2; exit 1; }
}
export CC="$PWD/musl-cc" CFLAGS="-O2 -fPIC"
build zlib ./configure --static --prefix="$PWD/prefix"
build zlib make -j "$jobs" install
build libffi ./configure --disable-shared --disable-docs --prefix="$PWD/prefix"
build libffi make -j "$jobs" install
export OPT="-DNDEBUG" PKG_CONFIG_LIBDIR=/nowhere
export ZLIB_CFLAGS="-I$PWD/prefix/include" ZLIB_LIBS="-L$PWD/prefix/lib -lz"
export LIBFFI_CFLAGS="-I$PWD/prefix/include" LIBFFI_LIBS="-L$PWD/prefix/lib -lffi"
build python ./configure --prefix="$folder" --with-ensurepip=install --disable-test-modules
build python make -j "$jobs" install
"$folder/bin/python3" -c 'import ctypes, sys, sysconfig, zlib; print(sys.version.split()[0], sysconfig.get_config_var("SOABI"))'
