# Bolts and spouts in a plain POSIX shell with jq, for Stormring and for Storm.
# Source this file, define functions and call bolt, basic_bolt or spout:
#
#	. ./stormring.sh
#	process() { for word in $1; do emit "$word"; done; }
#	basic_bolt
#
# One jq reads for the whole life of the component, so that a tuple costs no
# process: some thousands a second. A message is one line, as Stormring and
# Storm send it. What is printed goes to stderr and never into the protocol.
#
# You define:
#   initialize             called once; $conf and $context are JSON
#   process VALUE...       an input of a bolt: strings as they are, all else as
#                          JSON. $id (JSON), $comp, $stream, $task tell more.
#                          With bolt, ack or fail it; basic_bolt anchors what is
#                          emitted and acks, or fails if process returns not 0.
#   process_tick           a tick, by default nothing
#   checkpoint ACTION TXID a step of a checkpoint, by default nothing; ACTION is
#                          prepare before the state is saved, and rollback when
#                          it has gone back: forget what is in variables
#   next_tuple, acked ID, failed ID, activate, deactivate    of a spout; ID is JSON
#
# You call:
#   emit [-s STREAM] [-i ID] [-a ANCHORS] [-t TASK] [-n] [-j] VALUE...
#                          values are strings, or with -j JSON; ID is JSON,
#                          ANCHORS a JSON list. -n waits for the task ids and
#                          puts them into $reply.
#   ack ID, fail ID        ID as in $id
#   log LEVEL TEXT         LEVEL is 0 (trace) to 4 (error)
#   report_error TEXT
#   metric NAME JSON
#   state_get KEY          into $reply, as JSON; null if there is none
#   state_put KEY JSON, state_delete KEY
#                          these three need stateful=1 before bolt

set -f # a word of a text is no pattern
_nl='
'
stateful=
_out=     # messages that are not written yet
_backlog= # lines of jq that came before an awaited answer
reply=
_available= # there is state
_anchors=   # of basic_bolt

# One line of assignments for each message.
_decoder='
def word: @sh | gsub("\n"; "'\''\"$_nl\"'\''");
def text: if type == "string" then . else tojson end;
def numbers: gsub("\"(\\\\.|[^\"\\\\])*\""; "\"\"") | [match("(?<![0-9.eE+-])-?[0-9]{16,}(?![0-9.eE])"; "g").string];
select(. != "end" and . != "")
| . as $line
| fromjson
| if type == "array" then "kind=ids reply=" + (tojson | word)
  elif has("tuple") then
    "kind=tuple id=" + (.id | tojson | word) + " comp=" + (.comp | text | word)
    + " stream=" + (.stream | text | word) + " task=" + (.task | text | word)
    + " _lost=" + ([
        ($line | numbers | .[] | select((tonumber | tojson) != .) | "jq cannot carry the integer " + .),
        (.tuple[] | text | select(explode | index(0)) | "a shell cannot hold a text with NUL")
      ] | first // "" | word)
    + " _values=" + ([.tuple[] | text | word] | join(" ") | word)
  elif has("checkpoint") then "kind=checkpoint action=" + (.checkpoint | text | word) + " txid=" + (.txid | tojson | word)
  elif has("command") then
    "kind=" + (.command | text | word) + " id=" + (.id | tojson | word)
  elif has("conf") then
    "kind=hello _dir=" + (.pidDir | text | word) + " conf=" + (.conf | tojson | word)
    + " context=" + (.context | tojson | word) + " _offered=" + (.stormring // [] | join(" ") | word)
  else "kind=answer reply=" + (.value | tojson | word) + " _problem=" + (.error // "" | text | word)
  end'

# quote TEXT sets $_quoted to the JSON of a string.
quote() {
	case $1 in
	*[\\\"]* | *[[:cntrl:]]*) _quoted=$(jq -cn --arg s "$1" '$s') ;;
	*) _quoted=\"$1\" ;;
	esac
}

# send MESSAGE collects a message; flush writes what is collected.
send() { _out=$_out$1${_nl}end$_nl; }
flush() {
	printf %s "$_out" >&4
	_out=
}

# receive sets what the next line of jq assigns; fails at the end of the input.
receive() {
	if [ -n "$_backlog" ]; then
		_line=${_backlog%%"$_nl"*}
		_backlog=${_backlog#*"$_nl"}
	else
		[ -z "$_out" ] || flush
		IFS= read -r _line || return 1
	fi
	eval "$_line"
}

# await KIND waits for an answer. Nothing else is lost, nor is the tuple that is
# being processed forgotten.
await() {
	flush
	while IFS= read -r _line; do
		case $_line in
		"kind=$1 "*)
			eval "$_line"
			return
			;;
		*) _backlog=$_backlog$_line$_nl ;;
		esac
	done
	exit 0
}

emit() {
	_head= _stream= _want= _json=
	[ -z "$_anchors" ] || _head=,\"anchors\":$_anchors
	OPTIND=1
	while getopts s:i:a:t:nj _option; do
		case $_option in
		s) quote "$OPTARG" && _stream=,\"stream\":$_quoted ;;
		i) _head=$_head,\"id\":$OPTARG ;;
		a) _head=,\"anchors\":$OPTARG ;;
		t) _head=$_head,\"task\":$OPTARG ;;
		n) _want=1 ;;
		j) _json=1 ;;
		*) return 2 ;;
		esac
	done
	shift $((OPTIND - 1))
	_list=
	for _value in "$@"; do
		if [ -n "$_json" ]; then _quoted=$_value; else quote "$_value"; fi
		_list=$_list,$_quoted
	done
	_message='{"command":"emit","tuple":['${_list#,}]$_head$_stream
	if [ -n "$_want" ]; then
		send "$_message}"
		await ids
	else
		send "$_message,\"need_task_ids\":false}"
	fi
}

ack() { send "{\"command\":\"ack\",\"id\":$1}"; }
fail() { send "{\"command\":\"fail\",\"id\":$1}"; }
log() { quote "$2" && send "{\"command\":\"log\",\"msg\":$_quoted,\"level\":$1}"; }
report_error() { quote "$1" && send "{\"command\":\"error\",\"msg\":$_quoted}"; }
metric() { quote "$1" && send "{\"command\":\"metrics\",\"name\":$_quoted,\"params\":$2}"; }

# state OPERATION KEY REST
state() {
	if [ -z "$_available" ]; then
		report_error "there is no state: set stateful=1, under a parent that has it"
		return 1
	fi
	quote "$2" && send "{\"command\":\"state\",\"op\":\"$1\",\"key\":$_quoted$3}"
}
state_get() {
	state get "$1" "" && await answer && [ -z "$_problem" ] && return
	[ -z "$_problem" ] || report_error "state: $_problem"
	return 1
}
state_put() { state put "$1" ",\"value\":$2"; }
state_delete() { state delete "$1" ""; }

initialize() { :; }
process_tick() { :; }
checkpoint() { :; }
next_tuple() { :; }
acked() { :; }
failed() { :; }
activate() { :; }
deactivate() { :; }

hello() {
	[ -z "$_dir" ] || : >"$_dir/$$"
	case " $_offered " in *" state "*) _available=$stateful ;; esac
	_out=
	send "{\"pid\":$$${_available:+,\"stormring\":[\"state\"]}}"
	flush
	initialize
}

# take handles an input; what comes with it is in the variables. While it is
# processed, an answer must not change them.
take() {
	if [ "$stream" = __heartbeat ]; then
		send '{"command":"sync"}'
		return
	fi
	_current=$id
	[ -z "$1" ] || _anchors=[$id]
	if [ -n "$_lost" ]; then
		report_error "$_lost"
		fail "$_current"
	elif [ "$stream" = __tick ]; then
		process_tick
		ack "$_current"
	elif eval "process $_values"; then
		[ -z "$1" ] || ack "$_current"
	else
		[ -z "$1" ] || fail "$_current"
	fi
	_anchors=
}

# serve COMPONENT AUTO
serve() {
	exec 3<&0 4>&1 </dev/null >&2
	jq --unbuffered -Rr "$_decoder" <&3 4>&- | {
		while receive; do
			case $1:$kind in
			*:hello) hello ;;
			bolt:tuple) take "$2" ;;
			*:checkpoint)
				checkpoint "$action" "$txid"
				send "{\"command\":\"checkpointed\",\"txid\":$txid}"
				;;
			bolt:activate) activate ;;
			bolt:deactivate) deactivate ;;
			bolt:*) log 1 "a command that this adapter does not know: $kind" ;;
			spout:*) command_ ;;
			esac
		done
		# Nothing that was said before the end is lost.
		[ -z "$_out" ] || flush
	}
}

# command_ answers the parent of a spout.
command_() {
	case $kind in
	next) next_tuple ;;
	ack) acked "$id" ;;
	fail) failed "$id" ;;
	activate) activate ;;
	deactivate) deactivate ;;
	esac
	send '{"command":"sync"}'
}

bolt() { serve bolt ""; }
basic_bolt() { serve bolt auto; }
spout() { serve spout ""; }
