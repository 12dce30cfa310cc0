package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// CompatibleVersion chooses the release of Storm whose workers run what was made with
// another: as Storm does, the next one from there on of the same major number, else
// the one before. What does not say what it was made with gets the newest.
func CompatibleVersion(made string, have []string) (string, bool) {
	have = slices.Clone(have)
	slices.SortFunc(have, compareVersions)
	if made == "" {
		if len(have) == 0 {
			return "", false
		}
		return have[len(have)-1], true
	}
	have = slices.DeleteFunc(have, func(v string) bool { return majorOf(v) != majorOf(made) })
	if len(have) == 0 {
		return "", false
	}
	i, _ := slices.BinarySearchFunc(have, made, compareVersions)
	return have[min(i, len(have)-1)], true
}

// compareVersions goes by numbers as far as they go; 2.8.3-rc1 comes before 2.8.3.
func compareVersions(a, b string) int {
	x, y := strings.FieldsFunc(a, isSeparator), strings.FieldsFunc(b, isSeparator)
	for i := range min(len(x), len(y)) {
		m, merr := strconv.Atoi(x[i])
		n, nerr := strconv.Atoi(y[i])
		switch {
		case merr == nil && nerr == nil && m != n:
			return cmp.Compare(m, n)
		case merr == nil && nerr != nil:
			return 1
		case merr != nil && nerr == nil:
			return -1
		case merr != nil && x[i] != y[i]:
			return cmp.Compare(x[i], y[i])
		}
	}
	longer, sign := x, 1
	if len(y) > len(x) {
		longer, sign = y, -1
	}
	if rest := longer[min(len(x), len(y)):]; len(rest) > 0 {
		if _, err := strconv.Atoi(rest[0]); err != nil {
			return -sign
		}
		return sign
	}
	return 0
}

func isSeparator(r rune) bool { return r == '.' || r == '-' || r == '_' }

func majorOf(version string) string {
	major, _, _ := strings.Cut(version, ".")
	return major
}
