#!/bin/sh
# An aarch64 device on another machine, for tests: Debian's Python and TVM's wheel in QEMU's user
# mode. Needs Debian, qemu-user-static and 0.5 GB.
#
#     sh benchmarks/emulated_aarch64.sh FOLDER
#     sh FOLDER/serve.sh PORT
set -eu
folder=$(realpath -m "$1")
mkdir -p "$folder/lists/partial" "$folder/archives/partial"
: > "$folder/status"
apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State::status="$folder/status" -o Dir::State::lists="$folder/lists" \
        -o Dir::Cache="$folder" -o Debug::NoLocking=1 "$@"
}
apt update
apt install -y --no-install-recommends --download-only python3 libstdc++6
for package in "$folder"/archives/*.deb; do
    dpkg -x "$package" "$folder/root"
done
python=$(readlink "$folder/root/usr/bin/python3")
python -m pip install -q --no-deps --upgrade --target "$folder/site" --only-binary :all: \
    --python-version "${python#python}" --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
    'apache-tvm==0.27.*' 'apache-tvm-ffi>=0.1.14.post0,<0.1.15' \
    cloudpickle ml_dtypes numpy psutil typing_extensions
# The server of `tvm.exec.rpc_server`, which would start a second Python in the emulator.
cat > "$folder/serve.sh" <<END
export TVM_USE_RUNTIME_LIB=1 TVM_NUM_THREADS=2
exec qemu-aarch64-static -L "$folder/root" -E PYTHONPATH="$folder/site" \\
    "$folder/root/usr/bin/$python" -c '
import sys
from tvm.rpc.server import PopenRPCServerState
port = int(sys.argv[1])
PopenRPCServerState("127.0.0.1", port, port + 1).thread.join()' "\$@"
END
echo "ANSOR_BENCH_SERVE_AARCH64='sh $folder/serve.sh'"
