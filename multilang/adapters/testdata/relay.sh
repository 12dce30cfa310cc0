. ./stormring.sh

stateful=1 # it keeps nothing, but is part of checkpoints
process() { for word in $1; do emit "$word"; done; }

basic_bolt
