# SPDX-License-Identifier: MIT
# The completions, in the real shells.
# apt: bash zsh fish
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# Each prints what the shell offers for a command line, a word a line.

complete_bash() {
	bash --norc --noprofile -c '
		source "$0" || exit
		read -ra COMP_WORDS <<<"$1"
		[[ $1 != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_vdsocheck vdsocheck && printf "%s\n" "${COMPREPLY[@]}"
	' "$share/completions/vdsocheck.bash" "$1"
}

# Completes in a terminal of its own, and prints the words that compadd is given; $work/screen has
# what the terminal shows.
complete_zsh() {
	zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -f -i
		zpty -w shell "fpath=(\"$1\" \$fpath); autoload -Uz compinit; compinit -u -d \"$2/zcompdump\""
		zpty -w shell "zstyle \":completion:*\" list-grouped false"
		zpty -w shell "compadd() { local -a found; builtin compadd -O found \"\$@\"; builtin compadd \"\$@\"; print -rl -- \"offer \"\${^found} >>\"$2/zsh\" }"
		zpty -w shell "PS1=rea\"\"dy:" # drawn when it reads keys
		zpty -r shell line "*ready:*"
		: >"$2/zsh"
		zpty -w -n shell "$3"$'"'\\t'"'
		zpty -w -n shell $'"'\\x15'"'"print do\"\"ne"$'"'\\n'"'
		zpty -r shell line "*done*"
		print -r -- "$line" >"$2/screen"
	' zsh "$share/completions" "$work" "$1" >/dev/null 2>&1
	sed -n 's/^offer //p' "$work/zsh" | sort -u
}

complete_fish() {
	HOME=$work XDG_CONFIG_HOME=$work/fish fish --no-config -c '
		source $argv[1]
		complete -C $argv[2] | string replace -r "\t.*" ""
	' "$share/completions/vdsocheck.fish" "$1"
}

# ask LINE: leaves what the shell offers in $out.
ask() {
	status=0
	"complete_$shell" "$1" >"$out" 2>"$err" || status=$?
}

# offers NAME LINE WORDS: the shell offers just these words for the line, in any order.
offers() {
	ask "$2"
	echo "$3" | tr ' ' '\n' | sed '/^$/d' | sort >"$work/expected"
	sed 's/[=/]*$//; /^$/d' "$out" | sort >"$work/offered"
	cp "$work/offered" "$out"
	verify "$shell: $1" 'cmp -s "$work/expected" "$work/offered"'
}

# Those that all commands have are in the help of check, from --format on.
long_options() {
	{
		vdsocheck help "$1"
		vdsocheck help check | sed -n '/--format/,$p'
	} | sed -n 's/^ \{2,6\}\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u
}

check_shell() {
	commands=$(vdsocheck --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
	offers 'offers the commands of --help' 'vdsocheck ' "$commands help version"
	offers 'offers the commands, terms, causes and advice to help' 'vdsocheck help ' \
		"$commands help version causes advice terms $({
			vdsocheck help terms | grep -vE '^  (More|warp) '
			vdsocheck help advice
			for group in $(vdsocheck help causes | sed -n 's/^  \([a-z][a-z0-9]*\) .*/\1/p'); do
				vdsocheck help causes "$group"
			done
		} | sed -n 's/^  \([A-Za-z][A-Za-z0-9-]*\) .*/\1/p')"
	offers "offers the groups of 'help causes' to it" 'vdsocheck help causes ' \
		"$(vdsocheck help causes | sed -n 's/^  \([a-z][a-z0-9]*\) .*/\1/p')"
	for command in $commands; do
		offers "offers the options of 'help $command'" "vdsocheck $command --" "$(long_options "$command")"
	done
	if [ "$shell" = zsh ]; then
		ask 'vdsocheck help '
		cp "$work/screen" "$out"
		verify 'zsh: prints no error while it completes' '! grep -qE "_[a-z]+:[0-9]+: " "$out"'
	fi
	offers 'offers those of check without a command' 'vdsocheck --' "$(long_options check)"
	offers 'offers a command as the first word' 'vdsocheck wa' 'warp'
	offers 'offers no command behind an option' 'vdsocheck -q wa' ''
	offers 'offers the formats of the command' 'vdsocheck warp -q --format ' 'text json'
	offers 'offers what --color takes' 'vdsocheck warp --color ' 'auto always never'
	for when in auto always never; do
		run vdsocheck --color $when --version
		verify "$shell: what it offers for --color is accepted: $when" '[ "$status" -eq 0 ]'
	done
	offers 'offers files to an option' 'vdsocheck --from clo' 'clocks.json'
	offers 'offers folders to an option' 'vdsocheck --sysroot tre' 'tree'
	offers 'offers the one word that an option takes' 'vdsocheck trace --as-if ' 'fallback'
	offers 'offers the paths of a call' 'vdsocheck bench --path ' 'vdso libc syscall'
	offers 'offers the clocksources of this host' 'vdsocheck --require ' \
		"$(cat /sys/devices/system/clocksource/clocksource0/available_clocksource 2>/dev/null)"
	ask 'vdsocheck bench --path vdso,sys'
	verify "$shell: completes the later words of a list" 'grep -qE "^(vdso,)?syscall$" "$out"'
	ask 'vdsocheck bench --call '
	verify "$shell: offers calls" 'grep -qx gettimeofday "$out"'
	ask 'vdsocheck bench --clock '
	verify "$shell: offers clocks" 'grep -qx CLOCK_BOOTTIME "$out"'
	offers 'offers nothing for a number' 'vdsocheck bench --duration ' ''
	ask 'vdsocheck trace slee'
	verify "$shell: offers programs to trace" 'grep -qx sleep "$out"'
	ask 'vdsocheck trace --pid '
	verify "$shell: offers processes to trace" '[ -s "$out" ]' '! grep -qvE "^[0-9]+$" "$out"'
}

mkdir "$work/shells" "$work/shells/tree"
: >"$work/shells/clocks.json"
: >"$work/shells/tree.json"
before=$(pwd)
cd "$work/shells" || exit 1
for shell in bash zsh fish; do
	if has $shell; then
		check_shell
	else
		skip "$shell: completes command lines" "no $shell"
	fi
done
cd "$before" || exit 1
