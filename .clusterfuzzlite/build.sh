#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the fuzzers in $OUT, for OSS-Fuzz and ClusterFuzzLite, which give CC, CXX, their flags and the engine.
# The sanitizers want no FORTIFY_SOURCE.
set -eu
make -j"$(nproc)" BUILD="$WORK/build" HARDENING= fuzz-out
