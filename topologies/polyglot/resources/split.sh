#!/bin/sh
# Emits each different word of a line, how often it is there, and the line's number.

. ./stormring.sh

LC_ALL=C # white space is sought byte by byte
export LC_ALL

# The bytes of Unicode's white space, as Python has it.
count='
{
	gsub(/\302[\205\240]|\341\232\200|\342\200[\200-\212\250\251\257]|\342\201\237|\343\200\200|[\t-\r\034-\037]/, " ")
	n = split($0, words, " ")
	for (i = 1; i <= n; i++) times[words[i]]++
}
END { for (word in times) print times[word], word }'

process() {
	counts=$(printf '%s\n' "$1" | awk "$count")
	IFS=$_nl
	for entry in $counts; do
		quote "${entry#* }"
		emit -j "$_quoted" "${entry%% *}" "$2"
	done
	unset IFS
}

basic_bolt
