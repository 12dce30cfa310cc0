. ./stormring.sh

process() { for word in $1; do emit "$word"; done; }

basic_bolt
