. ./stormring.sh

n=0
next_tuple() {
	n=$((n + 1))
	emit -i "{\"n\":$n}" -j '"n"' $n
}
acked() { log 2 "acked $(printf %s "$1" | jq .n)"; }
failed() { log 2 "failed $(printf %s "$1" | jq .n)"; }
activate() { log 2 active; }
deactivate() { log 2 inactive; }

spout
