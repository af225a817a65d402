#!/bin/sh
# Tries a wheel on a Debian that has only its Python installed: tools/try_wheel.sh SUITE ARCH [TEST...]
#
# Makes a root file system (mmdebstrap, once), installs there the wheel of dist/ that fits, with NVRTC and its
# other dependencies from PyPI, and runs the README's program, then the named tests of tests/ with pytest. arm64 on
# another processor needs qemu-user 8 or later with binfmt: older ones take minutes to reserve memory.
set -eu
suite=$1 arch=$2
shift 2
here=$(cd "$(dirname "$0")/.." && pwd)
root=$here/build/roots/$suite-$arch
if [ ! -e "$root/usr/bin/python3" ]; then
    mkdir -p "$here/build/roots"
    mmdebstrap --variant=minbase --arch="$arch" --include=python3,python3-venv,python3-pip,ca-certificates \
        "$suite" "$root" http://deb.debian.org/debian
fi
version=$(ls "$root"/usr/bin/python3.* | sed -n 's/.*python3\.\([0-9]*\)$/\1/p')
case $arch in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; esac
rm -rf "$root/wheels" "$root/try"
mkdir -p "$root/wheels" "$root/try"
cp "$here"/dist/pycuda-*-cp3"$version"-*_"$machine".whl "$root/wheels"
platforms="--platform manylinux2014_$machine --platform manylinux_2_27_$machine --platform manylinux_2_28_$machine"
${PIP:-python3 -m pip} download -q --only-binary :all: --python-version "3.$version" $platforms -d "$root/wheels" \
    numpy cuda-pathfinder mako pytest pytest-timeout hypothesis \
    "nvidia-cuda-nvrtc>=13,<14" "nvidia-cuda-runtime>=13,<14" "nvidia-cuda-crt>=13,<14" "nvidia-cuda-cccl>=13,<14"
awk '/^```python/ {inside = 1; next} /^```/ {inside = 0} inside' "$here/README.md" > "$root/try/readme.py"
cp -r "$here/tests" "$here/pyproject.toml" "$root/try"
unshare --mount --pid --fork --net sh -c '
    mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" 2>/dev/null
    root=$1; shift; exec chroot "$root" sh -c "
        set -e
        for compiler in gcc cc c++ nvcc; do
            if command -v \$compiler; then echo \"there is a compiler\" >&2; exit 1; fi
        done
        cd /try && [ -d venv ] || python3 -m venv venv
        venv/bin/pip install -q --no-index --find-links /wheels pycuda nvidia-cuda-nvrtc nvidia-cuda-runtime \
            nvidia-cuda-crt nvidia-cuda-cccl pytest pytest-timeout hypothesis
        export PYCUDA_DEVICE=cpu HOME=/try
        venv/bin/python readme.py
        [ \$# = 0 ] || venv/bin/python -m pytest -p no:cacheprovider \"\$@\"" sh "$@"' sh "$root" "$@"
