. ./stormring.sh

stateful=1
initialize() { emit -j "$(printf %s "$conf" | jq -c .greeting)" "$(printf %s "$context" | jq -c .taskid)"; }
checkpoint() { log 2 "$1 $2"; }
process_tick() { log 2 tick; }

process() {
	what=$1
	shift
	case $what in
	echo) emit "$@" ;;
	stream) emit -s other s ;;
	direct) emit -t 7 d ;;
	anchors) emit -a "[$id,\"99\"]" a ;;
	ids)
		emit -n x
		emit -j "$reply"
		;;
	outside) echo "from a child" ;;
	logs)
		for level in 0 1 2 3 4; do log $level $level; done
		metric m '{"n":1}'
		report_error e
		;;
	remember)
		state_get k
		before=$reply
		state_put k '{"n":1}'
		state_delete old
		emit -j "$before"
		;;
	json) emit -j "$@" ;;
	throw) return 1 ;;
	esac
}

basic_bolt
