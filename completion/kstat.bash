# Completion of kstat and kstatlua in bash: `kstatlua --complete` says what may follow. SPDX-License-Identifier: MIT
_kstat()
{
	local line=${COMP_LINE:0:COMP_POINT} words=() word gap i
	# Bash separates words at colons, too; here they are one word up to a blank.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		gap=${line%%[![:space:]]*}
		line=${line#"$gap"}
		word=${line:0:${#COMP_WORDS[i]}}
		line=${line:${#word}}
		if ((i == 0)) || [[ -n $gap ]]; then
			words+=("$word")
		else
			words[-1]+=$word
		fi
	done

	# What bash takes for the current word begins behind the last colon or equals sign, unless that is in quotes.
	local raw=${words[-1]} breaks=${COMP_WORDBREAKS//[^:=]/} before=
	words=("${words[@]//[\'\"\\]/}")
	if [[ -n $breaks && $raw != [\'\"]* ]]; then
		before=${words[-1]%"${words[-1]##*["$breaks"]}"}
	fi

	local program=${1%kstat*}kstatlua more=true
	type "$program" >/dev/null 2>&1 || program=kstatlua
	COMPREPLY=()
	while IFS= read -r line; do
		word=${line%%$'\t'*}
		if [[ -z $word ]]; then
			compopt -o default
			return
		fi
		[[ $word == *[:=] ]] || more=false
		word=${word#"$before"}
		# Readline closes an open quote, but does not quote what a name could do in it or to it.
		if [[ $raw != [\'\"]* ]]; then
			printf -v word %q "$word"
		elif [[ $word == *[\'\"\`\$\\!]* ]]; then
			continue
		fi
		COMPREPLY+=("$word")
	done < <("$program" --complete "${words[@]}" 2>/dev/null)
	# Readline would close an open quote behind a single candidate; of two it inserts what both begin with.
	if $more && [[ ${#COMPREPLY[@]} == 1 && $raw == [\'\"]* ]]; then
		COMPREPLY+=("$COMPREPLY*")
	fi
	! $more || compopt -o nospace
}
complete -F _kstat kstat kstatlua
