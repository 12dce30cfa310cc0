#!/bin/sh
# Emits each different word of a line, how often it is there, and the line's number.

. ./stormring.sh

LC_ALL=C # white space is sought byte by byte
export LC_ALL

# The bytes of Unicode's white space, as Python has it. Words are printed as JSON.
count='
function swap(text, old, new,    parts, n, i, out) {
	n = split(text, parts, "[" old "]")
	out = parts[1]
	for (i = 2; i <= n; i++) out = out new parts[i]
	return out
}
function quote(text,    c) {
	if (text !~ /[\001-\037"\\]/) return "\"" text "\""
	text = swap(swap(text, "\\\\", "\\\\"), "\"", "\\\"")
	for (c = 1; c < 32; c++) text = swap(text, sprintf("%c", c), sprintf("\\u%04x", c))
	return "\"" text "\""
}
{
	gsub(/\302[\205\240]|\341\232\200|\342\200[\200-\212\250\251\257]|\342\201\237|\343\200\200|[\t-\r\034-\037]/, " ")
	n = split($0, words, " ")
	for (i = 1; i <= n; i++) times[words[i]]++
}
END { for (word in times) print times[word], quote(word) }'

process() {
	IFS=$_nl
	for entry in $(printf '%s\n' "$1" | awk "$count"); do
		emit -j "${entry#* }" "${entry%% *}" "$2"
	done
	unset IFS
}

basic_bolt
