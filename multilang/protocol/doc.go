// Package protocol is Storm's shell protocol without the pipes: the messages
// that a worker and a child process of a shell spout or bolt send each other,
// as Go types, and their encodings.
//
// Begin at Message, which is all that a child can say, and Encoder, which is
// all that is said to it. A Codec joins both directions of one encoding: JSON
// with an "end" line behind each message, or msgpack, which needs no marks.
//
// A Decoder is fed with whatever a child writes and never gives up: what is no
// message, such as a stray print, comes out as a Stray message, and what is one
// but cannot be used comes out with the reason in Err. Nothing is replaced or
// left out silently. Values keep their kind: 1 is an integer of any size, 1.0 a
// float.
package protocol
