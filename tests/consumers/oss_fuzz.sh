# SPDX-License-Identifier: MIT
# OSS-Fuzz and ClusterFuzzLite: .clusterfuzzlite/build.sh, run with the variables that their builders set, and
# clang's own engine as an archive, as theirs is. Their image is in no registry that is reached here.
# apt-by-name: clang zip unzip
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

check_oss_fuzz() {
	mkdir "$work/fuzz_out" "$work/fuzz_work" "$work/fuzz_corpus"
	status=0
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -C "$here/../.." OUT="$work/fuzz_out" WORK="$work/fuzz_work" \
		CC=clang CXX=clang++ CFLAGS="-O1 -gline-tables-only $1" CXXFLAGS="-O1 $1" LIB_FUZZING_ENGINE="$engine" \
		.clusterfuzzlite/build.sh >"$out" 2>"$err" || status=$?
	verify 'oss-fuzz: build.sh makes each fuzzer, its corpus and its limits' '[ "$status" -eq 0 ]' \
		'[ "$(cd "$work/fuzz_out" && echo *.options)" = "$(
			cd "$here/../fuzz" && echo *_fuzz.c | sed "s/_fuzz\.c/.options/g")" ]' \
		'[ "$(lines "$work/fuzz_out/text.options")" -eq 2 ]'
	for options in "$work/fuzz_out"/*.options; do
		fuzzer=${options%.options}
		name=${fuzzer##*/}
		ldd "$fuzzer" >"$work/loaded"
		unzip -q -d "$work/fuzz_corpus/$name" "${fuzzer}_seed_corpus.zip"
		run timeout 60 "$fuzzer" -runs=1000 "$work/fuzz_corpus/$name"
		verify "oss-fuzz: $name runs, and needs no library of ours" '[ "$status" -eq 0 ]' \
			'! grep -qE "lib(seccomp|jansson|cpuid|cmocka)" "$work/loaded"'
	done
}

engine=$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null)
[ -e "$engine" ] || engine=$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-$(uname -m).a
if [ -z "$named" ]; then
	skip 'oss-fuzz: build.sh makes the fuzzers' 'takes minutes: CONSUMER=oss_fuzz'
elif ! has clang || ! has zip || ! has unzip || [ ! -e "$engine" ]; then
	skip 'oss-fuzz: build.sh makes the fuzzers' "no clang with its runtime's archive, zip or unzip"
else
	check_oss_fuzz '-fsanitize=address,fuzzer-no-link'
	rm -r "$work/fuzz_out" "$work/fuzz_work" "$work/fuzz_corpus"
fi
