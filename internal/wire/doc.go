// Package wire translates between the nouns of internal/cluster and what is
// said and stored: the generated Thrift structs, payloads of znodes, code and
// configuration of topologies in the blob store, and the messages between a
// worker and its supervisor.
//
// Begin at EncodeTopology and DecodeTopology for how a noun becomes bytes, and
// at BaseToThrift and BaseFromThrift for how it becomes a struct; all others
// are like these. Optional fields that a noun has not set stay unset,
// collections that Storm's own programs take for granted are never missing,
// numbers that are too large for a field become its largest, and the same noun
// becomes the same bytes. What comes from elsewhere is refused with the place
// of what is wrong if it cannot be understood.
package wire
