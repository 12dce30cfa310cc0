package shard

import "encoding/binary"

// An object is lean if its entries are stored without their hashes, which follow from
// the keys. Hashes do not compress, and among small entries they are most of what is
// left: a word and its count take 7 bytes instead of 15, in two fifths of the time.

const (
	hashSize = 8
	// leanBelow is the bytes that entries have on average, below which objects are lean;
	// above it that saves less than it costs.
	leanBelow = 256
)

// leans tells whether an object with so many entries in so many bytes should be lean.
func leans(entries, raw int) bool { return entries > 0 && raw/entries < leanBelow }

// strip takes the hashes out of an image, in place, and marks it as lean.
func strip(image []byte) []byte {
	to := headerSize
	for off := headerSize; off < len(image); {
		end := off + sizeAt(image, off)
		to += copy(image[to:], image[off+hashSize:end])
		off = end
	}
	image[4], image[7] = leanFormat, layoutLean
	return image[:to]
}

// fill puts the hashes of so many entries back into an image, in place. The lean ones
// are at its end, after a gap that their hashes fill. It fails if they are not what
// strip makes.
func fill(image []byte, entries int) error {
	const head = entryHead - hashSize
	to, from := headerSize, headerSize+entries*hashSize
	for i := range entries {
		if len(image)-from < head {
			return damaged("at byte %d: entry %d of %d has no head", from, i, entries)
		}
		klen, vlen, _ := lengths(image, from-hashSize)
		if klen+vlen > len(image)-from-head {
			return damaged("at byte %d: key of %d and value of %d bytes do not fit", from, klen, vlen)
		}
		size := head + klen + vlen
		binary.LittleEndian.PutUint64(image[to:], Hash(image[from+head:from+head+klen]))
		copy(image[to+hashSize:], image[from:from+size])
		to, from = to+hashSize+size, from+size
	}
	if from != len(image) {
		return damaged("%d bytes after the last of %d entries", len(image)-from, entries)
	}
	return nil
}
