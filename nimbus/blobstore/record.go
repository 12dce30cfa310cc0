package blobstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// record is what a meta file says. Records are never changed, only replaced.
type record struct {
	Key         string          `json:"key"`
	Version     int64           `json:"version"`
	Size        int64           `json:"size"`
	SHA256      string          `json:"sha256"` // of the content, in hex
	ACL         []AccessControl `json:"acl"`
	Replication int             `json:"replication"`
}

func (r record) meta() Meta {
	return Meta{ACL: slices.Clone(r.ACL), Replication: r.Replication}
}

func (r record) readable() ReadableMeta {
	return ReadableMeta{Meta: r.meta(), Version: r.Version, Size: r.Size}
}

// metaName and dataName are the names of a blob's two files.
func (r record) metaName() string { return stem(r.Key) + metaEnding }
func (r record) dataName() string { return dataName(stem(r.Key), r.Version) }

func dataName(stem string, version int64) string {
	return stem + "." + strconv.FormatInt(version, 10) + dataEnding
}

// seal puts a checksum in front of what is in a small file, on a line of its
// own.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(hex.EncodeToString(sum[:])), []byte("\n"), body, []byte("\n"))
}

// unseal undoes seal.
func unseal(text []byte) ([]byte, error) {
	head, body, ok := bytes.Cut(text, []byte("\n"))
	body, ended := bytes.CutSuffix(body, []byte("\n"))
	if !ok || !ended {
		return nil, errors.New("it is cut off")
	}
	sum := sha256.Sum256(body)
	if string(head) != hex.EncodeToString(sum[:]) {
		return nil, errors.New("its checksum does not match")
	}
	return body, nil
}

func encodeRecord(r record) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return seal(body), nil
}

func decodeRecord(text []byte) (record, error) {
	body, err := unseal(text)
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(body, &r); err != nil {
		return record{}, err
	}
	if err := CheckKey(r.Key); err != nil {
		return record{}, err
	}
	if r.Version <= 0 || r.Size < 0 {
		return record{}, fmt.Errorf("version %d or size %d is out of range", r.Version, r.Size)
	}
	if sum, err := hex.DecodeString(r.SHA256); err != nil || len(sum) != sha256.Size {
		return record{}, fmt.Errorf("%q is not a SHA-256", r.SHA256)
	}
	return r, nil
}
