. ./stormring.sh

initialize() { todo=$(printf %s "$conf" | jq '."test.lines"'); }
next_tuple() {
	[ "$todo" -gt 0 ] || return
	emit -i "$todo" 'the cow jumped over the moon'
	todo=$((todo - 1))
}

spout
