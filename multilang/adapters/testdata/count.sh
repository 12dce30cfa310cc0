. ./stormring.sh

stateful=1
process() {
	state_get "$1" || return
	[ "$reply" != null ] || reply=0
	n=$((reply + 1))
	state_put "$1" $n
	quote "$1"
	emit -j "$_quoted" $n
}

basic_bolt
